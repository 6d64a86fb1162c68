#include "shim_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "info.h"
#include "live_format.h"
#include "reader.h"

void shim_run_init(struct shim_run *run)
{
	memset(run, 0, sizeof(*run));
	snprintf(run->dir, sizeof(run->dir), "/tmp/vramscope-test.XXXXXX");
	assert_non_null(mkdtemp(run->dir));
}

static int remove_one(const char *path, const struct stat *file, int type, struct FTW *where)
{
	(void)file;
	(void)type;
	(void)where;
	return remove(path);
}

void shim_run_fini(struct shim_run *run)
{
	if (run->is_mounted)
		umount2(run->dir, MNT_DETACH);
	nftw(run->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_done;
}

/* Disks that only this process and its children see. Root needs no users of its own for that. */
static bool enter_namespace(void)
{
	unsigned uid = getuid(), gid = getgid();
	char map[64];

	if (unshare(CLONE_NEWNS) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return false;
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		if (!write_file("/proc/self/uid_map", map))
			return false;
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		if (!write_file("/proc/self/setgroups", "deny") ||
		    !write_file("/proc/self/gid_map", map))
			return false;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool shim_run_mount(struct shim_run *run, const char *options)
{
	static int has_namespace = -1;

	if (has_namespace < 0)
		has_namespace = enter_namespace();
	run->is_mounted = has_namespace && mount("none", run->dir, "tmpfs", 0, options) == 0;
	return run->is_mounted;
}

void shim_run_add_env(struct shim_run *run, const char *text)
{
	for (size_t i = 0; i < sizeof(run->env) / sizeof(run->env[0]); i++) {
		if (run->env[i])
			continue;
		run->env[i] = text;
		return;
	}
	fail_msg("too many variables");
}

static const char *need(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set: run it by ctest", name);
	return value;
}

/*
 * For hosts of a sanitized build; others take no notice. The shim stands before the sanitizer's
 * runtime, as in a sanitized program of a stranger's. A SIGSEGV is the host's own business.
 * Findings go into files, because the drain thread has no stderr.
 */
#define FINDINGS "findings"
#define COMMON   ":handle_segv=0:log_path=" FINDINGS
static const char *const sanitizer_env[] = {
	"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1" COMMON,
	"TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0" COMMON,
};

/* In the child. */
static void become_host(const struct shim_run *run, const char *const *args, int out, int err)
{
	char path[PATH_MAX], preload[2 * PATH_MAX], asan_options[256];
	const char *env[32] = {NULL};
	size_t nr = 0;

	snprintf(path, sizeof(path), "%s/%s", need("VS_TEST_HOSTS"), args[0]);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", need("VS_TEST_SHIM"));
	if (run->also_loaded)
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s:%s",
			 run->is_second ? run->also_loaded : need("VS_TEST_SHIM"),
			 run->is_second ? need("VS_TEST_SHIM") : run->also_loaded);
	snprintf(asan_options, sizeof(asan_options),
		 "ASAN_OPTIONS=verify_asan_link_order=0:detect_stack_use_after_return=1"
		 ":detect_leaks=%d" COMMON,
		 !run->is_parent);
	if (!run->is_plain)
		env[nr++] = preload;
	/* The first of two settings counts. */
	for (size_t i = 0; run->env[i]; i++)
		env[nr++] = run->env[i];
	env[nr++] = asan_options;
	for (size_t i = 0; i < sizeof(sanitizer_env) / sizeof(sanitizer_env[0]); i++)
		env[nr++] = sanitizer_env[i];
	if (chdir(run->dir) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	close(out);
	close(err);
	if (run->prepare)
		run->prepare(run);
	execve(run->program ? run->program : path, (char *const *)(uintptr_t)args,
	       (char *const *)(uintptr_t)env);
	_exit(127);
}

/* A file without a name: a pipe could fill up. */
static int make_sink(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void read_sink(int fd, char *text, size_t size)
{
	ssize_t nr = pread(fd, text, size - 1, 0);

	text[nr > 0 ? nr : 0] = '\0';
	close(fd);
}

/* What a sanitizer had to say of the host or one of its children. */
static void assert_no_findings(const struct shim_run *run)
{
	char path[2 * PATH_MAX] = "", text[16384];
	DIR *dir = opendir(run->dir);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, FINDINGS ".", sizeof(FINDINGS)) == 0)
			snprintf(path, sizeof(path), "%s/%s", run->dir, entry->d_name);
	closedir(dir);
	if (!path[0])
		return;
	read_sink(open(path, O_RDONLY | O_CLOEXEC), text, sizeof(text));
	fail_msg("%s", text);
}

void shim_run_host(struct shim_run *run, const char *const *args)
{
	int out = make_sink(), err = make_sink();
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		become_host(run, args, out, err);
	run->pid = pid;
	if (run->meanwhile)
		run->meanwhile(run, pid);
	while (waitpid(pid, &run->status, 0) < 0)
		assert_int_equal(errno, EINTR);
	read_sink(out, run->out, sizeof(run->out));
	read_sink(err, run->err, sizeof(run->err));
	assert_no_findings(run);
}

void shim_run_assert_fine(const struct shim_run *run)
{
	if (run->err[0] || !WIFEXITED(run->status) || WEXITSTATUS(run->status) != 0)
		fail_msg("status %x, stderr: %s", (unsigned)run->status, run->err);
}

void shim_run_assert_one_line(const struct shim_run *run, const char *text)
{
	const char *end = strchr(run->err, '\n');

	if (!WIFEXITED(run->status) || WEXITSTATUS(run->status) != 0)
		fail_msg("status %x, stderr: %s", (unsigned)run->status, run->err);
	if (strncmp(run->err, "vramscope: ", 11) != 0 || !strstr(run->err, text) || !end || end[1])
		fail_msg("not one line with '%s': %s", text, run->err);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

unsigned shim_run_list(const struct shim_run *run, const char *end, char names[][NAME_MAX + 1],
		       unsigned max)
{
	DIR *dir = opendir(run->dir);
	struct dirent *entry;
	unsigned nr = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		size_t size = strlen(entry->d_name), end_size = strlen(end);

		if (size < end_size || strcmp(entry->d_name + size - end_size, end) != 0)
			continue;
		assert_true(nr < max);
		memcpy(names[nr++], entry->d_name, size + 1);
	}
	closedir(dir);
	qsort(names, nr, sizeof(names[0]), compare_names);
	return nr;
}

bool shim_run_has_file(const struct shim_run *run, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", run->dir, name);
	return access(path, F_OK) == 0;
}

bool shim_run_has_shared_log(const struct shim_run *run)
{
	DIR *dir = opendir("/dev/shm");
	struct vs_live_header header;
	struct dirent *entry;
	bool has_log = false;

	while (dir && (entry = readdir(dir))) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		has_log |= strncmp(entry->d_name, "vramscope-", 10) == 0 &&
			   pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
			   header.pid == (uint32_t)run->pid;
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	return has_log;
}

/* Which numbers have been defined so far. */
struct known {
	bool names[65536];
	bool stacks[65536];
	bool pools[8192];
	bool threads[65536];
	struct {
		uint64_t start, end;
	} modules[64];
	unsigned nr_modules;
};

static void check_frames(struct shim_trace *trace, const struct known *known,
			 const struct vs_stack *stack)
{
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		bool is_placed = false;

		for (unsigned j = 0; j < known->nr_modules; j++)
			is_placed |= stack->frames[i] > known->modules[j].start &&
				     stack->frames[i] <= known->modules[j].end;
		trace->nr_unplaced += !is_placed;
	}
}

static void count_block(struct shim_trace *trace, const struct vs_block_alloc *block)
{
	uint32_t thread = (uint32_t)(block->address >> 32);
	uint32_t number = (uint32_t)block->address;

	trace->stack_of_block = block->stack;
	trace->nr_empty += block->stack == VS_NO_ID;
	if (thread >= SHIM_NR_THREADS || number >= SHIM_NR_EVENTS)
		return;
	trace->seen[thread][number]++;
	if (number <= trace->last[thread] && number > 0)
		trace->is_out_of_order = true;
	trace->last[thread] = number;
}

static void count_record(struct shim_trace *trace, struct known *known,
			 const struct vs_record *record)
{
	trace->nr[record->type]++;
	if (record->type >= VS_RECORD_ALLOC && record->type <= VS_RECORD_LOST)
		trace->nr_undefined += !known->threads[record->thread];
	switch (record->type) {
	case VS_RECORD_NAME:
		known->names[record->name.id] = true;
		break;
	case VS_RECORD_MODULE:
		assert_true(known->nr_modules < 64);
		known->modules[known->nr_modules].start = record->module.start;
		known->modules[known->nr_modules++].end = record->module.end;
		break;
	case VS_RECORD_STACK:
		known->stacks[record->stack.id] = record->stack.nr_frames > 0;
		check_frames(trace, known, &record->stack);
		if (record->stack.nr_frames < trace->min_frames || !trace->min_frames)
			trace->min_frames = record->stack.nr_frames;
		if (record->stack.nr_frames > trace->max_frames)
			trace->max_frames = record->stack.nr_frames;
		break;
	case VS_RECORD_POOL:
		known->pools[record->pool.id] = true;
		break;
	case VS_RECORD_THREAD:
		known->threads[record->thread_name.id] = true;
		break;
	case VS_RECORD_BLOCK_ALLOC:
		trace->nr_undefined +=
			!known->pools[record->block_alloc.pool] ||
			(record->block_alloc.stack && !known->stacks[record->block_alloc.stack]);
		count_block(trace, &record->block_alloc);
		break;
	case VS_RECORD_MARK:
		trace->nr_undefined += !known->names[record->mark.name];
		break;
	case VS_RECORD_STEP:
		trace->steps = trace->steps << 4 | record->step.number % 16;
		break;
	case VS_RECORD_FREE:
		trace->nr_blocks_before_free = trace->nr[VS_RECORD_BLOCK_ALLOC];
		break;
	case VS_RECORD_LOST:
		trace->nr_told += record->lost.nr_events;
		break;
	default:
		break;
	}
}

static void copy_info(struct vs_reader *reader, const char *key, char *to, size_t size)
{
	const char *value = vs_reader_get_info(reader, key);

	snprintf(to, size, "%s", value ? value : "");
}

/* All that is in it, and what the reader then knows. */
static void read_all(struct vs_reader *reader, struct shim_trace *trace)
{
	struct known *known = calloc(1, sizeof(*known));
	struct vs_reader_state state;
	struct vs_record record;
	int err;

	assert_non_null(known);
	while ((err = vs_reader_next(reader, &record)) == 1)
		count_record(trace, known, &record);
	trace->is_damaged = err < 0;
	vs_reader_get_state(reader, &state);
	trace->is_complete = state.is_complete;
	trace->used_log = state.used_log;
	trace->is_damaged |= state.is_damaged;
	trace->is_running = state.is_running;
	trace->nr_lost = state.nr_lost;
	copy_info(reader, VS_INFO_LIVE, trace->info_live, sizeof(trace->info_live));
	copy_info(reader, VS_INFO_COMMAND, trace->info_command, sizeof(trace->info_command));
	free(known);
}

static int open_trace(const struct shim_run *run, const char *name, struct vs_reader **reader)
{
	char names[64][NAME_MAX + 1], path[2 * PATH_MAX];

	if (!name) {
		if (shim_run_list(run, ".vscope", names, 64) != 1)
			return -VS_ERR_INVALID;
		name = names[0];
	}
	snprintf(path, sizeof(path), "%s/%s", run->dir, name);
	return vs_reader_open(reader, path);
}

struct shim_trace *shim_run_try_read(const struct shim_run *run, const char *name)
{
	struct shim_trace *trace;
	struct vs_reader *reader;

	if (open_trace(run, name, &reader))
		return NULL;
	trace = calloc(1, sizeof(*trace));
	assert_non_null(trace);
	read_all(reader, trace);
	vs_reader_close(reader);
	return trace;
}

struct shim_trace *shim_run_read(const struct shim_run *run, const char *name)
{
	struct shim_trace *trace = shim_run_try_read(run, name);

	if (!trace)
		fail_msg("no trace can be read in %s", run->dir);
	return trace;
}
