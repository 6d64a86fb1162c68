#include "memory_info.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "compose.h"
#include "futex.h"
#include "lifecycle.h"
#include "own_thread.h"
#include "recorder.h"
#include "session.h"
#include "thread.h"

#define NR_DEVICES    128u
#define MAX_PROCESSES 256u
#define MAX_ERRORS    3 /* in a row; then NVML is left alone */
#define NO_CONTEXT    UINT64_MAX
#define NR_TRIES      4
#define SETTLE_US     1000 /* in which a call that NVML saw the end of is in the books as well */

enum state {
	STATE_NONE,
	STATE_RUNNING,
	STATE_STOPPING,
	STATE_ENDED, /* for good */
};

/* name: written by whoever takes the row, before is_set (release). */
static struct row {
	atomic_bool is_taken;
	atomic_bool is_set;
	atomic_bool has_failed;        /* a request did, and no sample tells of it yet */
	_Atomic uint64_t used_size;    /* as NVML said last; UINT64_MAX: nothing */
	_Atomic uint64_t context_size; /* NO_CONTEXT: not known */
	atomic_bool is_busy;           /* somebody reads or writes this: */
	struct vs_memory_sampled last; /* what NVML said last; without a device: nothing */
	bool has_last;
	struct vs_nvml_name name;
	void *device; /* NVML's; the sampler's own */
} rows[NR_DEVICES];

static _Atomic uint32_t state;
static _Atomic uint32_t bell;        /* rung at each question */
static atomic_bool has_alarm;        /* a request failed, and nobody rang yet */
static _Atomic uint32_t nr_asked;    /* questions */
static _Atomic uint32_t nr_answered; /* the last one that is answered */
static atomic_bool is_calling;       /* the thread is in NVML or the loader */
static atomic_bool is_held;          /* it must not go there: somebody forks */
static atomic_bool is_late;          /* it was once waited for in vain */
static atomic_bool is_told;          /* a sample is in the trace */
static atomic_bool is_due;           /* there is a trace or a device that it does not know */
static atomic_bool is_prepared;      /* for forks */

/* The sampler's own. */
static bool is_open;
static bool has_exit_handler;
static unsigned nr_errors;
static uint64_t nr_records; /* after the last sample */

static struct row *find_row(uint32_t device)
{
	struct row *row = device < NR_DEVICES ? &rows[device] : NULL;

	return row && atomic_load_explicit(&row->is_set, memory_order_acquire) ? row : NULL;
}

static bool is_wanted(void)
{
	return !vs_lifecycle_settings()->no_meminfo && !vs_lifecycle_is_without_thread();
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* When whoever waits for the thread gives up. */
static uint64_t get_deadline(void)
{
	return vs_clock_now_ns() + UINT64_C(1000000) * vs_lifecycle_settings()->meminfo_ms;
}

/* True: the question was answered in time. */
static bool wait_for_answer(uint32_t question)
{
	uint64_t end_ns = get_deadline();
	uint32_t answered;

	for (;;) {
		answered = atomic_load_explicit(&nr_answered, memory_order_acquire);
		if ((int32_t)(answered - question) >= 0)
			return true;
		if (vs_clock_now_ns() >= end_ns || !vs_memory_info_is_running())
			return false;
		vs_futex_wait(&nr_answered, answered, 10);
	}
}

/* The number of a new question. */
static uint32_t ask(void)
{
	uint32_t question = atomic_fetch_add_explicit(&nr_asked, 1, memory_order_acq_rel) + 1;

	atomic_store_explicit(&bell, 1, memory_order_release);
	vs_futex_wake_all(&bell);
	return question;
}

/* Nobody is in NVML or the loader while the process is copied. */
static void hold(void)
{
	int saved = errno;
	uint64_t end_ns = get_deadline();

	atomic_store(&is_held, true);
	while (atomic_load(&is_calling) && !atomic_load(&is_late) && vs_clock_now_ns() < end_ns)
		usleep(100);
	if (atomic_load(&is_calling))
		atomic_store(&is_late, true);
	errno = saved;
}

static void let_go(void)
{
	atomic_store(&is_held, false);
}

static void begin_call(void)
{
	vs_thread_self()->base.is_inside = true; /* what NVML does is nothing of the program's */
	for (;;) {
		atomic_store(&is_calling, true);
		if (!atomic_load(&is_held))
			return;
		atomic_store(&is_calling, false);
		usleep(1000);
	}
}

static void end_call(void)
{
	atomic_store(&is_calling, false);
	vs_thread_self()->base.is_inside = false;
}

/* ---- One sample ------------------------------------------------------------------------------ */

/* Name of a process, by number; VS_NO_ID: not known. */
static uint32_t find_name(uint32_t pid)
{
	char path[32], name[32];
	struct vs_compose text;
	ssize_t size;
	int fd;

	vs_compose_init(&text, path, sizeof(path));
	vs_compose_add(&text, "/proc/");
	vs_compose_add_number(&text, pid);
	vs_compose_add(&text, "/comm");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return VS_NO_ID;
	size = read(fd, name, sizeof(name) - 1);
	close(fd);
	if (size <= 0)
		return VS_NO_ID;
	name[size - (name[size - 1] == '\n')] = '\0';
	return name[0] ? vs_recorder_keep_name(name) : VS_NO_ID;
}

/* Puts a process among the largest. */
static void add_holder(struct vs_memory_sampled *sampled, const struct vs_nvml_process *process)
{
	uint32_t i = sampled->nr_holders;

	if (i == VS_MEMORY_HOLDERS_MAX && process->size <= sampled->holders[i - 1].size)
		return;
	if (i == VS_MEMORY_HOLDERS_MAX)
		i--;
	else
		sampled->nr_holders++;
	for (; i > 0 && sampled->holders[i - 1].size < process->size; i--)
		sampled->holders[i] = sampled->holders[i - 1];
	sampled->holders[i] = (struct vs_memory_holder){
		.device = sampled->info.device, .pid = process->pid, .size = process->size};
}

/*
 * Who holds the memory. The numbers of processes mean something only if ours is among them: in a
 * container they are those outside of it.
 */
static void find_holders(struct vs_memory_sampled *sampled, void *device)
{
	static struct vs_nvml_process processes[MAX_PROCESSES];
	int nr = vs_nvml_get_processes(device, processes, MAX_PROCESSES);
	uint32_t own = (uint32_t)getpid();

	for (int i = 0; i < nr && i < (int)MAX_PROCESSES; i++) {
		if (processes[i].pid != own)
			continue;
		sampled->own.flags |= VS_MEMORY_OWN_LISTED;
		sampled->own.own_size = processes[i].size;
	}
	if (!(sampled->own.flags & VS_MEMORY_OWN_LISTED))
		return;
	for (int i = 0; i < nr && i < (int)MAX_PROCESSES; i++) {
		if (processes[i].pid == own)
			continue;
		sampled->own.nr_others++;
		sampled->own.others_size += processes[i].size;
		add_holder(sampled, &processes[i]);
	}
}

/* False: NVML does not tell. */
static bool ask_nvml(struct row *row, uint32_t device, struct vs_memory_sampled *sampled)
{
	memset(sampled, 0, sizeof(*sampled));
	sampled->info.device = device;
	sampled->own.device = device;
	if (!row->device)
		row->device = vs_nvml_find(&row->name);
	if (!row->device || !vs_nvml_get_memory(row->device, &sampled->info)) {
		row->device = NULL;
		return false;
	}
	find_holders(sampled, row->device);
	return true;
}

/*
 * Asks until nothing was recorded meanwhile, nor right after: the books of then are those of the
 * record.
 */
static bool ask_quietly(struct row *row, uint32_t device, struct vs_memory_sampled *sampled)
{
	struct vs_live_log *log = vs_lifecycle_peek_log();
	uint64_t before;

	for (int i = 0;; i++) {
		before = log ? vs_live_log_count_records(log) : 0;
		if (!ask_nvml(row, device, sampled))
			return false;
		if (!log || i == NR_TRIES)
			return true;
		usleep(SETTLE_US);
		if (vs_live_log_count_records(log) == before)
			return true;
	}
}

static void keep(struct row *row, const struct vs_memory_sampled *sampled)
{
	if (atomic_exchange_explicit(&row->is_busy, true, memory_order_acquire))
		return;
	row->last = *sampled;
	row->has_last = true;
	atomic_store_explicit(&row->is_busy, false, memory_order_release);
}

static void add_context_size(const struct row *row, struct vs_memory_sampled *sampled)
{
	uint64_t size = atomic_load_explicit(&row->context_size, memory_order_acquire);

	if (size == NO_CONTEXT)
		return;
	sampled->own.flags |= VS_MEMORY_OWN_CONTEXT;
	sampled->own.context_size = size;
}

static void sample(struct row *row, uint32_t device)
{
	struct vs_memory_sampled sampled;
	bool has_failed, is_good;

	/* Before the question: what fails from here on is told by the next one. */
	has_failed = atomic_exchange_explicit(&row->has_failed, false, memory_order_acq_rel);
	begin_call();
	is_good = ask_quietly(row, device, &sampled);
	end_call();
	nr_errors = is_good ? 0 : nr_errors + 1;
	atomic_store_explicit(&row->used_size, is_good ? sampled.info.used_size : UINT64_MAX,
			      memory_order_release);
	if (!is_good)
		return;
	for (uint32_t i = 0; i < sampled.nr_holders; i++)
		sampled.holders[i].name = find_name(sampled.holders[i].pid);
	keep(row, &sampled);
	add_context_size(row, &sampled);
	if (has_failed)
		sampled.info.flags |= VS_MEMORY_INFO_FAILURE;
	if (vs_recorder_add_memory(&vs_thread_self()->base, &sampled))
		atomic_store_explicit(&is_told, true, memory_order_release);
	else if (has_failed)
		atomic_store_explicit(&row->has_failed, true, memory_order_release);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void stop_at_exit(void)
{
	vs_memory_info_stop();
}

/* Loads NVML, or says why not. */
static bool open_nvml(void)
{
	static const char off[] = "off: ";
	char what[256];
	bool is_good;

	memcpy(what, off, sizeof(off));
	begin_call();
	is_good = vs_nvml_open(what + sizeof(off) - 1, sizeof(what) - sizeof(off) + 1);
	/* Behind the handlers of NVML, and so before them. */
	if (is_good && !has_exit_handler)
		has_exit_handler = atexit(stop_at_exit) == 0;
	end_call();
	vs_recorder_add_fact("nvml", is_good ? what + sizeof(off) - 1 : what);
	return is_good;
}

static void answer(uint32_t question)
{
	atomic_store_explicit(&nr_answered, question, memory_order_release);
	vs_futex_wake_all(&nr_answered);
}

/* All devices that are in use. False: NVML is not there, or tells nothing any more. */
static bool sample_all(void)
{
	uint32_t question = atomic_load_explicit(&nr_asked, memory_order_acquire);

	if (!is_open)
		is_open = open_nvml();
	for (uint32_t i = 0; i < NR_DEVICES; i++) {
		if (!find_row(i))
			continue;
		if (is_open)
			sample(&rows[i], i);
		else
			atomic_store_explicit(&rows[i].used_size, UINT64_MAX, memory_order_release);
	}
	if (is_open && nr_errors && nr_errors <= MAX_ERRORS)
		is_open = false; /* somebody shut it down once too often, or the card is gone */
	answer(question);
	return is_open || (nr_errors && nr_errors <= MAX_ERRORS);
}

/* Whether anything was recorded since the last sample. */
static bool has_events(void)
{
	struct vs_live_log *log = vs_lifecycle_peek_log();

	return log && vs_live_log_count_records(log) != nr_records;
}

/* The state it leaves: it may be started again, or it is of no use. */
static enum state work(void)
{
	while (atomic_load_explicit(&state, memory_order_acquire) == STATE_RUNNING) {
		bool is_asked;

		vs_futex_wait(&bell, 0, VS_MEMORY_INFO_TICK_MS);
		is_asked = atomic_exchange_explicit(&bell, 0, memory_order_acq_rel) != 0;
		if (!is_asked && !vs_lifecycle_is_open())
			return STATE_NONE;
		if (!is_asked && !has_events())
			continue;
		if (!sample_all())
			return STATE_ENDED;
		nr_records =
			vs_lifecycle_is_open() ? vs_live_log_count_records(vs_session_log()) : 0;
	}
	return STATE_ENDED;
}

static void *run(void *unused)
{
	enum state left;

	(void)unused;
	prctl(PR_SET_NAME, VS_FORMAT_OWN_THREAD);
	is_open = false;
	nr_errors = 0;
	left = work();
	/* What was asked in the last moment is not left without an answer. */
	answer(atomic_load_explicit(&nr_asked, memory_order_acquire));
	atomic_store_explicit(&state, left, memory_order_release);
	vs_futex_wake_all(&state);
	return NULL;
}

/* There is a thread, or it is on its way. */
static bool have_thread(void)
{
	uint32_t now = STATE_NONE;

	if (!is_wanted())
		return vs_memory_info_is_running();
	if (!atomic_compare_exchange_strong_explicit(&state, &now, STATE_RUNNING,
						     memory_order_acq_rel, memory_order_acquire))
		return now == STATE_RUNNING;
	if (!atomic_exchange(&is_prepared, true))
		(void)pthread_atfork(hold, let_go, NULL);
	if (vs_own_thread_create(run) == 0)
		return true;
	atomic_store_explicit(&state, STATE_ENDED, memory_order_release);
	return false;
}

/* ---- Interface ------------------------------------------------------------------------------- */

bool vs_memory_info_has_device(uint32_t device)
{
	return device >= NR_DEVICES || find_row(device);
}

void vs_memory_info_add_device(uint32_t device, const struct vs_nvml_name *name)
{
	struct row *row = device < NR_DEVICES ? &rows[device] : NULL;

	if (!row || atomic_exchange_explicit(&row->is_taken, true, memory_order_relaxed))
		return;
	row->name = *name;
	atomic_store_explicit(&row->used_size, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&row->context_size, NO_CONTEXT, memory_order_relaxed);
	atomic_store_explicit(&row->is_set, true, memory_order_release);
	if (vs_lifecycle_is_open())
		vs_memory_info_start();
}

bool vs_memory_info_look(uint32_t device, uint64_t *used_size)
{
	struct row *row = find_row(device);
	int saved = errno;
	bool is_known = false;

	if (row && !atomic_load_explicit(&is_late, memory_order_relaxed) && have_thread()) {
		if (wait_for_answer(ask())) {
			*used_size = atomic_load_explicit(&row->used_size, memory_order_acquire);
			is_known = *used_size != UINT64_MAX;
		} else if (vs_memory_info_is_running()) {
			atomic_store_explicit(&is_late, true, memory_order_relaxed);
		}
	}
	errno = saved;
	return is_known;
}

void vs_memory_info_add_context(uint32_t device, uint64_t size)
{
	struct row *row = find_row(device);
	uint64_t known;

	if (!row)
		return;
	known = atomic_load_explicit(&row->context_size, memory_order_relaxed);
	atomic_store_explicit(&row->context_size, known == NO_CONTEXT ? size : known + size,
			      memory_order_release);
}

void vs_memory_info_tell(struct vs_thread *self, uint32_t device)
{
	struct vs_memory_sampled sampled;
	struct row *row = find_row(device);
	bool has_any;

	if (!row || atomic_exchange_explicit(&row->is_busy, true, memory_order_acquire))
		return;
	has_any = row->has_last;
	if (has_any)
		sampled = row->last;
	atomic_store_explicit(&row->is_busy, false, memory_order_release);
	if (!has_any)
		return;
	add_context_size(row, &sampled);
	if (vs_recorder_add_memory(self, &sampled))
		atomic_store_explicit(&is_told, true, memory_order_release);
}

void vs_memory_info_forget_contexts(uint32_t device)
{
	struct row *row = find_row(device);

	if (row)
		atomic_store_explicit(&row->context_size, NO_CONTEXT, memory_order_release);
}

void vs_memory_info_note_failure(uint32_t device)
{
	bool has_any = false;

	for (uint32_t i = 0; i < NR_DEVICES; i++) {
		if ((device != VS_NO_DEVICE && device != i) || !find_row(i))
			continue;
		atomic_store_explicit(&rows[i].has_failed, true, memory_order_release);
		has_any = true;
	}
	if (has_any)
		atomic_store_explicit(&has_alarm, true, memory_order_release);
}

void vs_memory_info_pass_on(void)
{
	bool is_needed = atomic_exchange_explicit(&has_alarm, false, memory_order_acq_rel);

	if (atomic_exchange_explicit(&is_due, false, memory_order_acq_rel) &&
	    !atomic_load_explicit(&is_told, memory_order_acquire))
		is_needed = true;
	if (is_needed && vs_memory_info_is_running())
		(void)ask();
}

void vs_memory_info_start(void)
{
	if (vs_lifecycle_settings()->no_meminfo)
		vs_recorder_add_fact("nvml", "off: not wanted");
	for (uint32_t i = 0; i < NR_DEVICES; i++)
		if (find_row(i) && have_thread()) {
			atomic_store_explicit(&is_due, true, memory_order_release);
			return;
		}
}

/* Something that must be told is not yet. */
static bool has_pending(void)
{
	if (!vs_lifecycle_is_open())
		return false;
	for (uint32_t i = 0; i < NR_DEVICES; i++)
		if (find_row(i) && atomic_load_explicit(&rows[i].has_failed, memory_order_acquire))
			return true;
	return !atomic_load_explicit(&is_told, memory_order_acquire);
}

void vs_memory_info_stop(void)
{
	uint64_t end_ns = get_deadline();
	uint32_t now = STATE_RUNNING;
	int saved = errno;

	if (vs_memory_info_is_running() && !atomic_load(&is_late) && has_pending())
		(void)wait_for_answer(ask());
	if (atomic_compare_exchange_strong_explicit(&state, &now, STATE_STOPPING,
						    memory_order_acq_rel, memory_order_relaxed)) {
		atomic_store_explicit(&bell, 1, memory_order_release);
		vs_futex_wake_all(&bell);
		while (atomic_load_explicit(&state, memory_order_acquire) == STATE_STOPPING &&
		       !atomic_load(&is_late) && vs_clock_now_ns() < end_ns)
			vs_futex_wait(&state, STATE_STOPPING, 10);
	}
	errno = saved;
}

bool vs_memory_info_is_running(void)
{
	uint32_t now = atomic_load_explicit(&state, memory_order_acquire);

	return now == STATE_RUNNING || now == STATE_STOPPING;
}

void vs_memory_info_forget(void)
{
	atomic_store_explicit(&state, STATE_NONE, memory_order_relaxed);
	atomic_store_explicit(&bell, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_answered, atomic_load_explicit(&nr_asked, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store(&is_calling, false);
	atomic_store(&is_held, false);
	atomic_store(&is_late, false);
	atomic_store(&is_told, false);
	atomic_store(&is_due, false);
	atomic_store(&has_alarm, false);
	nr_records = 0;
	for (uint32_t i = 0; i < NR_DEVICES; i++) {
		atomic_store_explicit(&rows[i].has_failed, false, memory_order_relaxed);
		atomic_store_explicit(&rows[i].context_size, NO_CONTEXT, memory_order_relaxed);
		atomic_store_explicit(&rows[i].used_size, UINT64_MAX, memory_order_relaxed);
		atomic_store_explicit(&rows[i].is_busy, false, memory_order_relaxed);
		rows[i].has_last = false;
		rows[i].device = NULL;
	}
}
