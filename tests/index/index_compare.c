#include "index_compare.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "command.h"
#include "reader.h"

#define MAX_WORDS 16

/* What a command says; the caller's to free. Complaints are not looked at, only the status. */
static char *run(const char *const *words, bool with_index, int *status)
{
	char *argv[MAX_WORDS + 2] = {0};
	int argc = 0, complaints = dup(STDERR_FILENO), nothing = open("/dev/null", O_WRONLY);
	char *said;

	for (; *words; words++)
		argv[argc++] = (char *)*words; /* only their order changes */
	if (!with_index)
		argv[argc++] = (char *)"--no-index";
	dup2(nothing, STDERR_FILENO);
	vs_capture_begin(STDOUT_FILENO);
	*status = vs_command_find(argv[0])->run(argc, argv);
	said = strdup(vs_capture_end());
	dup2(complaints, STDERR_FILENO);
	close(complaints);
	close(nothing);
	return said;
}

/* Whether there is an index is the one thing that may differ: in `info`. */
static void hide_index(char *said)
{
	char *line = strstr(said, "\nindex "), *end;

	if (!line)
		line = strstr(said, "\n  \"index\":");
	if (!line)
		return;
	end = strstr(line + 1, line[1] == ' ' ? "\n  \"run\"" : "\n");
	assert_non_null(end);
	memmove(line, end, strlen(end) + 1);
}

void assert_same_output(const char *const *words)
{
	int with_status, without_status;
	char *with = run(words, true, &with_status), *without = run(words, false, &without_status);

	if (!strcmp(words[0], "info")) {
		hide_index(with);
		hide_index(without);
	}
	if (strcmp(with, without) != 0)
		for (size_t i = 0; words[i]; i++)
			fprintf(stderr, "%s ", words[i]);
	assert_string_equal(with, without);
	assert_int_equal(with_status, without_status);
	free(with);
	free(without);
}

static void compare_everything(const char *trace)
{
	static const char *const lines[][4] = {
		{"report"},
		{"report", "--json"},
		{"peak"},
		{"peak", "--json"},
		{"retained"},
		{"retained", "--json"},
		{"frag"},
		{"frag", "--json"},
		{"sites"},
		{"sites", "--json"},
		{"map"},
		{"map", "--json"},
		{"info"},
		{"info", "--json"},
		{"map", "--at", "end"},
		{"map", "--at", "peak"},
		{"map", "--at", "oom"},
		{"frag", "--at", "end"},
		{"frag", "--at", "peak"},
		{"frag", "--at", "oom"},
		{"peak", "--at", "oom"},
		{"peak", "--at", "end"},
		{"report", "--at", "end"},
		{"report", "--at", "peak"},
		{"report", "--json", "--at", "peak"},
		{"report", "--at", "oom"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *words[6] = {0};
		size_t nr = 0;

		for (; nr < 4 && lines[i][nr]; nr++)
			words[nr] = lines[i][nr];
		words[nr] = trace;
		assert_same_output(words);
	}
}

static uint64_t find_end(const char *trace)
{
	struct vs_reader *reader;
	struct vs_record record;
	uint64_t end_ns = 0;

	assert_int_equal(vs_reader_open(&reader, trace), 0);
	while (vs_reader_next(reader, &record) == 1)
		if (record.time_ns > end_ns)
			end_ns = record.time_ns;
	vs_reader_close(reader);
	return end_ns;
}

static void compare_instant(const char *trace, const char *at)
{
	assert_same_output((const char *[]){"map", "--json", "--at", at, trace, NULL});
	assert_same_output((const char *[]){"frag", "--json", "--at", at, trace, NULL});
	assert_same_output((const char *[]){"peak", "--json", "--at", at, trace, NULL});
	assert_same_output((const char *[]){"report", "--at", at, trace, NULL});
	assert_same_output((const char *[]){"map", "--at", at, trace, NULL});
}

static void compare_window(const char *trace, const char *from, const char *to, const char *at)
{
	assert_same_output(
		(const char *[]){"report", "--json", "--from", from, "--to", to, trace, NULL});
	assert_same_output((const char *[]){"report", "--from", from, trace, NULL});
	assert_same_output((const char *[]){"sites", "--json", "--from", from, trace, NULL});
	assert_same_output(
		(const char *[]){"retained", "--json", "--from", from, "--to", to, trace, NULL});
	assert_same_output((const char *[]){"peak", "--json", "--to", to, trace, NULL});
	assert_same_output((const char *[]){"map", "--json", "--from", from, "--to", to, "--at", at,
					    trace, NULL});
	assert_same_output((const char *[]){"frag", "--json", "--to", to, trace, NULL});
}

void assert_index_changes_nothing(const char *trace, unsigned int seed, unsigned int nr_instants)
{
	uint64_t end_ns = find_end(trace), span = end_ns + end_ns / 8 + 2;
	char *index, from[32], to[32], at[32];
	struct stat st;

	assert_true(asprintf(&index, "%s.index", trace) > 0);
	unlink(index);
	compare_everything(trace);
	assert_int_equal(stat(index, &st), 0);
	for (unsigned int i = 0; i < nr_instants; i++) {
		uint64_t one = ((uint64_t)rand_r(&seed) << 31 | (uint64_t)rand_r(&seed)) % span;
		uint64_t other = ((uint64_t)rand_r(&seed) << 31 | (uint64_t)rand_r(&seed)) % span;

		snprintf(from, sizeof(from), "%" PRIu64 "ns", one < other ? one : other);
		snprintf(to, sizeof(to), "%" PRIu64 "ns", one < other ? other : one);
		snprintf(at, sizeof(at), "%" PRIu64 "ns", rand_r(&seed) % 2 ? one : other);
		compare_instant(trace, at);
		compare_window(trace, from, to, at);
	}
	assert_int_equal(stat(index, &st), 0);
	free(index);
}
