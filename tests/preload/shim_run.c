#include "shim_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "info.h"
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
	nftw(run->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
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

/* In the child. */
static void become_host(const struct shim_run *run, const char *const *args, int out, int err)
{
	char path[PATH_MAX], preload[PATH_MAX];
	const char *env[32] = {NULL};
	size_t nr = 0;

	snprintf(path, sizeof(path), "%s/%s", need("VS_TEST_HOSTS"), args[0]);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", need("VS_TEST_SHIM"));
	if (!run->is_plain)
		env[nr++] = preload;
	for (size_t i = 0; run->env[i]; i++)
		env[nr++] = run->env[i];
	if (chdir(run->dir) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	close(out);
	close(err);
	if (run->prepare)
		run->prepare(run);
	execve(path, (char *const *)(uintptr_t)args, (char *const *)(uintptr_t)env);
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

void shim_run_host(struct shim_run *run, const char *const *args)
{
	int out = make_sink(), err = make_sink();
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		become_host(run, args, out, err);
	while (waitpid(pid, &run->status, 0) < 0)
		assert_int_equal(errno, EINTR);
	read_sink(out, run->out, sizeof(run->out));
	read_sink(err, run->err, sizeof(run->err));
}

void shim_run_assert_fine(const struct shim_run *run)
{
	if (run->err[0] || !WIFEXITED(run->status) || WEXITSTATUS(run->status) != 0)
		fail_msg("status %x, stderr: %s", (unsigned)run->status, run->err);
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

/* Which numbers have been defined so far. */
struct known {
	bool names[65536];
	bool stacks[65536];
	bool pools[8192];
	bool threads[65536];
};

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
	case VS_RECORD_STACK:
		known->stacks[record->stack.id] = true;
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

struct shim_trace *shim_run_read(const struct shim_run *run, const char *name)
{
	char names[64][NAME_MAX + 1], path[2 * PATH_MAX];
	struct shim_trace *trace = calloc(1, sizeof(*trace));
	struct known *known = calloc(1, sizeof(*known));
	struct vs_reader_state state;
	struct vs_reader *reader;
	struct vs_record record;
	int err;

	assert_non_null(trace);
	assert_non_null(known);
	if (!name) {
		assert_int_equal(shim_run_list(run, ".vscope", names, 64), 1);
		name = names[0];
	}
	snprintf(path, sizeof(path), "%s/%s", run->dir, name);
	err = vs_reader_open(&reader, path);
	if (err)
		fail_msg("%s %s", path, vs_error_text(err));
	while ((err = vs_reader_next(reader, &record)) == 1)
		count_record(trace, known, &record);
	trace->is_damaged = err < 0;
	vs_reader_get_state(reader, &state);
	trace->is_complete = state.is_complete;
	trace->used_log = state.used_log;
	trace->is_damaged |= state.is_damaged;
	trace->nr_lost = state.nr_lost;
	copy_info(reader, VS_INFO_LIVE, trace->info_live, sizeof(trace->info_live));
	copy_info(reader, VS_INFO_COMMAND, trace->info_command, sizeof(trace->info_command));
	vs_reader_close(reader);
	free(known);
	return trace;
}
