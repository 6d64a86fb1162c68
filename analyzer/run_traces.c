#include "run_traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "fold.h"
#include "info.h"
#include "reader.h"
#include "replay.h"
#include "run_environment.h"
#include "run_left.h"

/* Traces that are named one by one; of more, only the largest. */
#define MAX_NAMED 8

/*
 * A trace without an END block (it is still being written) whose headers say nothing: above this
 * size its events are not counted, because that would make the user wait.
 */
#define MAX_READ (32u << 20)

#define INDEX_NAME "traces" /* in a folder of ours */

/*
 * From here on the headers of the blocks are believed, which count the few events that tell of
 * modules and of losses as well: to read so many takes as long as to write them did, and the user
 * waits for it.
 */
#define MANY_EVENTS 100000u

struct trace {
	char *path;
	uint64_t size;
	bool is_running; /* a process that outlives the command */
};

struct list {
	struct trace *traces;
	size_t nr_traces;
	size_t capacity;
	bool has_refused; /* a recorder could not make its trace, and has said so */
};

/* Our number and the time: no other run has both. */
static void name_run(void)
{
	const char *run = getenv("VRAMSCOPE_RUN");
	struct timespec now;
	char name[64];

	if (run && *run)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), "%ld.%lld%09ld", (long)getpid(), (long long)now.tv_sec,
		 now.tv_nsec);
	/* Without memory for it, traces are not tied together. */
	setenv("VRAMSCOPE_RUN", name, 1);
}

/* A folder of its own: a process that outlives us finds no place to make the file again. */
static bool make_index(char index[PATH_MAX])
{
	const char *parent = getenv("TMPDIR");
	char folder[PATH_MAX];
	int fd;

	if (vs_run_environment_get_absolute(folder, parent && *parent ? parent : "/tmp") ||
	    strlen(folder) + sizeof("/vramscope.XXXXXX/" INDEX_NAME) > PATH_MAX)
		return false;
	strcat(folder, "/vramscope.XXXXXX");
	if (!mkdtemp(folder))
		return false;
	strcat(strcpy(index, folder), "/" INDEX_NAME);
	fd = open(index, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		rmdir(folder);
		return false;
	}
	close(fd);
	return true;
}

void vs_run_traces_open(struct vs_run_traces *traces)
{
	const char *outer = getenv("VRAMSCOPE_INDEX");

	name_run();
	snprintf(traces->outer, sizeof(traces->outer), "%s", outer ? outer : "");
	if (!make_index(traces->index)) {
		traces->index[0] = '\0';
		/* That of another run would get our traces. */
		unsetenv("VRAMSCOPE_INDEX");
		return;
	}
	if (vs_run_environment_set("VRAMSCOPE_INDEX", traces->index))
		vs_run_traces_close(traces);
}

void vs_run_traces_close(struct vs_run_traces *traces)
{
	if (traces->index[0]) {
		unlink(traces->index);
		*strrchr(traces->index, '/') = '\0';
		rmdir(traces->index);
	}
	traces->index[0] = '\0';
}

static bool has_trace(const struct list *list, const char *path)
{
	size_t i;

	for (i = 0; i < list->nr_traces; i++)
		if (!strcmp(list->traces[i].path, path))
			return true;
	return false;
}

/* False without memory. Names twice, and what is not there any more, are left out. */
static bool add_trace(struct list *list, const char *path)
{
	struct trace *more;
	struct stat info;

	if (has_trace(list, path) || stat(path, &info) < 0)
		return true;
	if (list->nr_traces == list->capacity) {
		list->capacity = list->capacity * 2 + 16;
		more = realloc(list->traces, list->capacity * sizeof(*more));
		if (!more)
			return false;
		list->traces = more;
	}
	list->traces[list->nr_traces] = (struct trace){strdup(path), (uint64_t)info.st_size, false};
	return list->traces[list->nr_traces++].path != NULL;
}

static int read_index(struct list *list, const char *index)
{
	FILE *file = fopen(index, "re");
	size_t capacity = 0;
	char *line = NULL;
	ssize_t size;
	int err = 0;

	if (!file)
		return -VS_ERR_IO;
	while (!err && (size = getline(&line, &capacity, file)) > 0) {
		if (line[size - 1] == '\n')
			line[size - 1] = '\0';
		if (line[0] == VS_INFO_INDEX_REFUSED)
			list->has_refused = true;
		else if (!add_trace(list, line))
			err = -VS_ERR_NO_MEMORY;
	}
	free(line);
	fclose(file);
	return err;
}

/* Not made if it is not there: whoever wanted it has ended. */
static void tell_outer_run(const struct list *list, const char *outer)
{
	int fd = open(outer, O_WRONLY | O_APPEND | O_CLOEXEC);
	size_t i;

	if (fd < 0)
		return;
	/* A line in one call: others write to it, too. */
	for (i = 0; i < list->nr_traces; i++)
		dprintf(fd, "%s\n", list->traces[i].path);
	close(fd);
}

static void free_list(struct list *list)
{
	size_t i;

	for (i = 0; i < list->nr_traces; i++)
		free(list->traces[i].path);
	free(list->traces);
}

/* False: that would take long. */
static bool count_events(const struct trace *trace, uint64_t *nr_events)
{
	struct vs_reader_survey survey;
	struct vs_reader *reader;
	struct vs_record record;
	bool has_survey;
	int got;

	if (vs_reader_open(&reader, trace->path))
		return true;
	has_survey = vs_reader_survey(reader, &survey) == 1;
	if (has_survey && survey.nr_events >= MANY_EVENTS)
		*nr_events += survey.nr_events;
	else if (has_survey || trace->size <= MAX_READ)
		while ((got = vs_reader_next(reader, &record)) > 0)
			*nr_events += vs_replay_is_event(&record);
	vs_reader_close(reader);
	return has_survey || trace->size <= MAX_READ;
}

/* 48210 as "48 210". */
static void put_grouped(char out[32], uint64_t number)
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number), i;

	for (i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			*out++ = ' ';
		*out++ = digits[i];
	}
	*out = '\0';
}

/* A path as one would type it here: from the current folder, quoted if a shell needs that. */
static void put_name(FILE *out, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_./%+,:@=-";
	char here[PATH_MAX];
	size_t size;

	if (getcwd(here, sizeof(here))) {
		size = strlen(here);
		if (!strncmp(path, here, size) && path[size] == '/' && path[size + 1])
			path += size + 1;
	}
	/* Not to be taken for an option. */
	if (path[0] == '-')
		fputs("./", out);
	if (!path[strspn(path, plain)]) {
		fputs(path, out);
		return;
	}
	fputc('\'', out);
	for (; *path; path++)
		fputs(*path == '\'' ? "'\\''" : (char[]){*path, '\0'}, out);
	fputc('\'', out);
}

/* "48 210 events", or the size of traces that would take long to count. */
static void put_amount(FILE *out, const struct list *list)
{
	uint64_t size = 0, nr_events = 0;
	bool is_counted = true;
	char number[32];
	size_t i;

	for (i = 0; i < list->nr_traces; i++) {
		size += list->traces[i].size;
		is_counted = is_counted && count_events(&list->traces[i], &nr_events);
	}
	if (!is_counted) {
		fprintf(out, "%llu MiB", (unsigned long long)(size >> 20));
		return;
	}
	put_grouped(number, nr_events);
	fprintf(out, "%s event%s", number, nr_events == 1 ? "" : "s");
}

static const char *find_largest(const struct list *list)
{
	const struct trace *largest = list->traces;
	size_t i;

	for (i = 1; i < list->nr_traces; i++)
		if (list->traces[i].size > largest->size)
			largest = &list->traces[i];
	return largest->path;
}

static size_t count_running(const struct list *list)
{
	size_t nr_running = 0, i;

	for (i = 0; i < list->nr_traces; i++)
		nr_running += list->traces[i].is_running;
	return nr_running;
}

static void put_traces(FILE *out, const struct list *list)
{
	size_t nr_running = count_running(list), i;

	put_amount(out, list);
	fputs(" in ", out);
	if (list->nr_traces == 1)
		put_name(out, list->traces[0].path);
	else
		fprintf(out, "%zu traces", list->nr_traces);
	if (nr_running)
		fprintf(out, " (%zu still being written)", nr_running);
	if (list->has_refused)
		fputs(" (not all could be made)", out);
	fputs("; next: vramscope report", out);
	if (list->nr_traces > MAX_NAMED) {
		fputc(' ', out);
		put_name(out, find_largest(list));
		fputs(" (the largest; --run adds the others)", out);
		return;
	}
	for (i = 0; i < list->nr_traces; i++) {
		fputc(' ', out);
		put_name(out, list->traces[i].path);
	}
}

/* Why there is no trace at all. */
static void tell_none(const struct vs_run_traces *traces, const struct list *list, bool is_recorded)
{
	uint32_t nr_left = vs_run_left_count(traces->index);

	if (list->has_refused)
		vs_command_note(NULL, "nothing was recorded: no trace could be made");
	else if (nr_left)
		vs_command_note(NULL,
				"no CUDA call was seen so far; %u process%s of the command still "
				"run%s, and will have a trace with the first one",
				nr_left, nr_left == 1 ? "" : "es", nr_left == 1 ? "s" : "");
	else
		vs_command_note(NULL, is_recorded ? "no CUDA call was seen, so nothing was recorded"
						  : "nothing was recorded");
}

/* Where that fails, the pair of files stays, and every reader takes both. */
static void fold_traces(struct list *list)
{
	struct trace *trace = list->traces;
	struct stat info;
	size_t i;

	for (i = 0; i < list->nr_traces; i++, trace++) {
		trace->is_running = vs_fold_trace(trace->path) == -VS_ERR_RUNNING;
		if (stat(trace->path, &info) == 0)
			trace->size = (uint64_t)info.st_size;
	}
}

void vs_run_traces_tell(const struct vs_run_traces *traces, bool is_recorded)
{
	struct list list = {NULL, 0, 0, false};
	char *text = NULL;
	size_t size;
	FILE *out;
	int err;

	if (!traces->index[0]) {
		vs_command_note(NULL, "the folder for temporary files cannot be written, so it is "
				      "not known which traces there are");
		return;
	}
	err = read_index(&list, traces->index);
	out = open_memstream(&text, &size);
	if (err || !out) {
		vs_command_fail(traces->index, err ? err : -VS_ERR_NO_MEMORY);
	} else if (!list.nr_traces) {
		tell_none(traces, &list, is_recorded);
	} else {
		fold_traces(&list);
		put_traces(out, &list);
		tell_outer_run(&list, traces->outer);
	}
	if (out)
		fclose(out);
	if (text && *text)
		vs_command_note(NULL, "%s", text);
	free(text);
	free_list(&list);
}

char **vs_run_traces_get_paths(const struct vs_run_traces *traces)
{
	struct list list = {NULL, 0, 0, false};
	char **paths = NULL;
	size_t i;

	if (traces->index[0] && !read_index(&list, traces->index))
		paths = calloc(list.nr_traces + 1, sizeof(*paths));
	for (i = 0; paths && i < list.nr_traces; i++) {
		paths[i] = list.traces[i].path;
		list.traces[i].path = NULL;
	}
	free_list(&list);
	return paths;
}

void vs_run_traces_free_paths(char **paths)
{
	size_t i;

	for (i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}
