#include "lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "compose.h"
#include "delegation.h"
#include "drain.h"
#include "facts.h"
#include "futex.h"
#include "hot.h"
#include "memory_info.h"
#include "message.h"
#include "modules.h"
#include "names.h"
#include "nvtx_path.h"
#include "private_library.h"
#include "python_code.h"
#include "recorder.h"
#include "ring.h"
#include "session.h"
#include "stack.h"
#include "stack_table.h"
#include "thread.h"
#include "usual.h"

enum state {
	STATE_OFF,     /* not started, switched off, or failed */
	STATE_READY,   /* no event yet */
	STATE_OPENING, /* one thread makes the files, others that have events wait for it */
	STATE_ON,
	STATE_DONE, /* the program ends */
};

/* Where the mark lies before there is a page for it: not begun. */
static _Atomic uint32_t no_mark;
VS_HOT_DATA _Atomic uint32_t *vs_lifecycle_mark = &no_mark;

VS_HOT_DATA static _Atomic uint32_t state;
VS_HOT_DATA static _Atomic uint32_t recording;
static atomic_bool is_without_thread;
static atomic_flag is_beginning = ATOMIC_FLAG_INIT;

/* Written by the thread that begins, before the mark is set. */
static bool has_started;
static struct vs_settings settings;
static char exe[PATH_MAX];
static struct vs_session_plan plan;
static pid_t owner; /* process that the recording is of */

/* First and last byte of the library; set by the linker, private to it. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* ---- Start ----------------------------------------------------------------------------------- */

static void find_exe(void)
{
	ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *name = (const char *)getauxval(AT_EXECFN);

	if (size > 0)
		exe[size] = '\0';
	else if (name)
		strncpy(exe, name, sizeof(exe) - 1);
}

/* What lies in the page that children find empty. */
struct wiped {
	_Atomic uint32_t mark;
	_Atomic uint64_t usual;
};

/* Sets the mark in such a page. */
static void set_mark(void)
{
	long page_size = sysconf(_SC_PAGESIZE);
	struct wiped *wiped = NULL;

	if (vs_lifecycle_mark == &no_mark) {
		void *page = mmap(NULL, (size_t)page_size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page != MAP_FAILED) {
			/* Refused before Linux 4.14: the fork handler has to do then. */
			madvise(page, (size_t)page_size, MADV_WIPEONFORK);
			wiped = page;
			vs_lifecycle_mark = &wiped->mark;
		}
	}
	vs_usual_begin(wiped ? &wiped->usual : NULL);
	atomic_store_explicit(vs_lifecycle_mark, 1, memory_order_release);
}

static void start_clock(void)
{
	vs_clock_get_instant(&plan.start);
	plan.settings = &settings;
	plan.exe = exe;
	plan.start_wall_ns = vs_clock_wall_ns();
	owner = getpid();
}

static void begin_in_child(void);

/* What the launcher changed in the program, for whoever reads the trace. */
static void tell_changes(void)
{
	char text[128];
	struct vs_compose value;

	if (!settings.jax_allocator[0])
		return;
	vs_compose_init(&value, text, sizeof(text));
	vs_compose_add(&value, settings.jax_allocator);
	vs_compose_add(&value, ", set by --jax-allocator: another than without vramscope");
	vs_facts_add("jax.allocator", text);
}

static void start(int argc, char **argv, char **environment)
{
	vs_message_init();
	vs_settings_read(&settings, argc, argv, environment);
	if (settings.is_off || vs_names_init())
		return;
	/* Without them stacks are not known; that is no reason to do without the rest. */
	if (vs_stack_table_init() || vs_delegation_init())
		settings.no_stacks = true;
	tell_changes();
	find_exe();
	vs_thread_init();
	vs_private_library_open(!settings.no_stacks);
	vs_stack_init((uintptr_t)__ehdr_start, (uintptr_t)_end, settings.stack_depth);
	vs_python_init(settings.no_stacks || settings.no_python || vs_python_code_init());
	vs_python_find();
	vs_modules_init(exe);
	vs_nvtx_path_offer(settings.cwd);
	pthread_atfork(NULL, NULL, begin_in_child);
	start_clock();
	atomic_store_explicit(&recording, 1, memory_order_relaxed);
	atomic_store_explicit(&state, STATE_READY, memory_order_release);
}

static void begin(int argc, char **argv, char **environment)
{
	int saved = errno;

	/* In a program that starts or a child that was just forked there is one thread. */
	if (atomic_flag_test_and_set(&is_beginning))
		return;
	if (!has_started) {
		start(argc, argv, environment);
		has_started = true;
		set_mark();
	}
	atomic_flag_clear(&is_beginning);
	errno = saved;
}

/* The loader calls it with what main gets. 101 is taken by what it needs. */
__attribute__((constructor(102))) static void begin_with_program(int argc, char **argv,
								 char **environment)
{
	begin(argc, argv, environment);
}

/* ---- Fork ------------------------------------------------------------------------------------ */

/*
 * The child of a fork. It must not touch the parent's log, trace or index, and inherits neither the
 * drain nor anything half done.
 */
static void begin_in_child(void)
{
	int saved = errno;

	vs_session_detach();
	vs_drain_forget();
	vs_memory_info_forget();
	atomic_store_explicit(&is_without_thread, false, memory_order_relaxed);
	vs_recorder_clear();
	vs_stack_begin_in_child();
	vs_python_begin_in_child();
	start_clock();
	atomic_fetch_add_explicit(&recording, 1, memory_order_relaxed);
	if (atomic_load_explicit(&state, memory_order_relaxed) != STATE_OFF)
		atomic_store_explicit(&state, settings.no_children ? STATE_OFF : STATE_READY,
				      memory_order_relaxed);
	atomic_flag_clear(&is_beginning);
	set_mark();
	vs_message_begin_in_child();
	errno = saved;
}

/*
 * The child of a raw clone, which libc knows nothing of: any lock of any library, malloc's too, may
 * be held by a thread that is not there. So nothing here may take one: no thread, no compression,
 * nothing of libunwind.
 */
static void begin_in_bare_child(void)
{
	begin_in_child();
	vs_stack_do_without();
	plan.is_bare = true;
	atomic_store_explicit(&is_without_thread, true, memory_order_relaxed);
}

void vs_lifecycle_begin(void)
{
	char *argv[] = {program_invocation_name, NULL};

	if (has_started)
		begin_in_bare_child(); /* libc would have begun already */
	else
		begin(1, argv, environ); /* some other library's constructor was faster */
}

/* ---- First event ----------------------------------------------------------------------------- */

/* A thread of the program writes files for us: it must not be sent SIGXFSZ for that. */
struct shield {
	sigset_t old;
	bool was_pending;
};

static void raise_shield(struct shield *shield)
{
	sigset_t all, pending;

	sigfillset(&all);
	shield->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
	pthread_sigmask(SIG_SETMASK, &all, &shield->old);
}

static void lower_shield(const struct shield *shield)
{
	static const struct timespec at_once;
	sigset_t size_set;

	sigemptyset(&size_set);
	sigaddset(&size_set, SIGXFSZ);
	if (!shield->was_pending)
		sigtimedwait(&size_set, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &shield->old, NULL);
}

static int open_session(void)
{
	struct shield shield;
	int err;

	raise_shield(&shield);
	vs_ring_init();
	err = vs_session_open(&plan);
	lower_shield(&shield);
	return err;
}

static void open_recording(void)
{
	int err = open_session();

	if (!err && !atomic_load_explicit(&is_without_thread, memory_order_relaxed) &&
	    vs_drain_start())
		vs_message_print("no thread can be had: the log keeps what fits", NULL);
	if (!err && vs_nvtx_path_is_taken())
		vs_message_print("another tool has NVTX (NVTX_INJECTION64_PATH): its ranges are "
				 "not recorded as phases",
				 NULL);
	/* Before the state, which the end of the program waits for: what it closes stays closed. No
	 * thread has a ticket yet. */
	if (!err && !settings.no_hooks)
		vs_usual_open(vs_lifecycle_recording());
	atomic_store_explicit(&state, err ? STATE_OFF : STATE_ON, memory_order_release);
	vs_futex_wake_all(&state);
	if (!err)
		vs_memory_info_start();
}

/* Everybody but the opener comes here only if two threads have their first events at once. */
static void wait_for_opener(void)
{
	uint64_t end_ns = vs_clock_now_ns() + UINT64_C(1000000) * VS_LIFECYCLE_OPEN_MS;

	while (atomic_load_explicit(&state, memory_order_acquire) == STATE_OPENING &&
	       vs_clock_now_ns() < end_ns)
		vs_futex_wait(&state, STATE_OPENING, 100);
}

struct vs_live_log *vs_lifecycle_get_log(void)
{
	uint32_t now = atomic_load_explicit(&state, memory_order_acquire);

	if (__builtin_expect(now == STATE_ON, 1))
		return vs_session_log();
	/* A child of vfork is gone in a moment, with the thread that it would start for its parent.
	 */
	if (now == STATE_READY && getpid() != owner)
		return NULL;
	if (now == STATE_READY &&
	    atomic_compare_exchange_strong_explicit(&state, &now, STATE_OPENING,
						    memory_order_acquire, memory_order_acquire))
		open_recording();
	else if (now == STATE_OPENING)
		wait_for_opener();
	vs_message_flush();
	return vs_lifecycle_peek_log();
}

bool vs_lifecycle_is_open(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == STATE_ON;
}

struct vs_live_log *vs_lifecycle_peek_log(void)
{
	return vs_lifecycle_is_open() ? vs_session_log() : NULL;
}

void vs_lifecycle_do_without_thread(void)
{
	int saved = errno;

	atomic_store_explicit(&is_without_thread, true, memory_order_relaxed);
	vs_memory_info_stop();
	vs_drain_park();
	errno = saved;
}

bool vs_lifecycle_is_without_thread(void)
{
	return atomic_load_explicit(&is_without_thread, memory_order_relaxed);
}

/* ---- End ------------------------------------------------------------------------------------- */

/* There is no thread of ours to do it. */
static void finish_session(void)
{
	struct shield shield;

	raise_shield(&shield);
	vs_session_finish();
	lower_shield(&shield);
}

/* exit() only: a program that ends otherwise leaves the trace and its log, which is all there is.
 */
__attribute__((destructor)) static void end_with_program(void)
{
	uint32_t now = STATE_ON;
	int saved = errno;

	/* The child of a raw clone that never met a hook: nothing here is its own. */
	if (!vs_lifecycle_is_begun())
		return;
	vs_memory_info_stop();
	if (atomic_compare_exchange_strong_explicit(&state, &now, STATE_DONE, memory_order_acq_rel,
						    memory_order_relaxed)) {
		vs_usual_clear(VS_USUAL_OPEN);
		if (vs_drain_is_running())
			vs_drain_stop();
		else
			finish_session();
	}
	vs_message_flush();
	errno = saved;
}

bool vs_lifecycle_is_recording(void)
{
	uint32_t now = atomic_load_explicit(&state, memory_order_relaxed);

	return now >= STATE_READY && now <= STATE_ON;
}

uint32_t vs_lifecycle_recording(void)
{
	return atomic_load_explicit(&recording, memory_order_relaxed);
}

const struct vs_settings *vs_lifecycle_settings(void)
{
	return &settings;
}
