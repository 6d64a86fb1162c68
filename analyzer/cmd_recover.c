#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "fold.h"
#include "info.h"
#include "live.h"
#include "options.h"
#include "siblings.h"
#include "trace_open.h"
#include "units.h"

enum {
	OWN_OUTPUT
};

/* A trace that was named, by itself or by its log. */
struct patient {
	const char *name;   /* as given, for messages */
	char *path;         /* of the trace, without links: the folded one takes its place */
	const char *log;    /* the name, if it is the log's */
	char *expected_log; /* where the log should be */
	char identity[64];  /* empty: the trace has none */
	struct vs_reader_state state;
	const char *output; /* NULL: in place */
};

/* ---- Which files ----------------------------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* All of it, as it is: what is lost and what is damaged. */
static int read_through(struct vs_reader *reader, struct vs_reader_state *state)
{
	struct vs_record record;
	int got;

	do {
		got = vs_reader_next(reader, &record);
	} while (got > 0 || got == -VS_ERR_CORRUPT || got == -VS_ERR_TRUNCATED);
	vs_reader_get_state(reader, state);
	return got;
}

static int name_files(struct patient *patient, struct vs_reader *reader)
{
	const char *path = vs_reader_get_path(reader);
	const char *identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);
	const char *live = vs_reader_get_info(reader, VS_INFO_LIVE);

	snprintf(patient->identity, sizeof(patient->identity), "%s", identity ? identity : "");
	if (strcmp(path, patient->name) != 0)
		patient->log = patient->name;
	patient->path = realpath(path, NULL);
	if (!patient->path)
		return errno == ENOMEM ? -VS_ERR_NO_MEMORY : -VS_ERR_IO;
	if (patient->log || live)
		patient->expected_log = strdup(patient->log ? patient->log : live);
	else if (asprintf(&patient->expected_log, "%s" VS_LIVE_SUFFIX, patient->path) < 0)
		patient->expected_log = NULL;
	return patient->expected_log ? 0 : -VS_ERR_NO_MEMORY;
}

static void forget(struct patient *patient)
{
	free(patient->path);
	free(patient->expected_log);
}

/* What is there under the name of the output must be something that may be replaced. */
static int check_output(const struct patient *patient)
{
	struct stat info;

	if (!patient->output || stat(patient->output, &info) < 0)
		return VS_EXIT_DONE;
	if (S_ISDIR(info.st_mode))
		return vs_command_fail_text(patient->output, "%s", strerror(EISDIR));
	if (!S_ISREG(info.st_mode))
		return vs_command_fail_text(patient->output, "is no regular file");
	if (is_same_file(patient->output, patient->path) ||
	    is_same_file(patient->output, patient->expected_log))
		return vs_command_fail_text(
			patient->output, "is to be recovered itself: leave out -o to replace it");
	return VS_EXIT_DONE;
}

/* ---- What is said ---------------------------------------------------------------------------- */

/* There is no log, or none that can be used: why. */
static int fail_without_log(const struct patient *patient)
{
	struct vs_live *live;
	int err;

	errno = 0;
	err = vs_live_open(&live, patient->expected_log, patient->identity);
	if (!err) /* it has come meanwhile */
		vs_live_close(live);
	if (!err || (err == -VS_ERR_IO && errno == ENOENT))
		return vs_command_fail_text(
			patient->name, "ends in the middle, and there is no log to go on with");
	if (err == -VS_ERR_NOT_A_TRACE)
		return vs_command_fail_text(patient->name,
					    "ends in the middle, and %s is not its log",
					    patient->expected_log);
	if (err == -VS_ERR_IO)
		return vs_command_fail_text(patient->name,
					    "ends in the middle, and its log cannot be read: %s",
					    strerror(errno));
	return vs_command_fail_text(patient->name, "ends in the middle, and %s %s",
				    patient->expected_log, vs_error_text(err));
}

static int fail(const struct patient *patient, const struct vs_fold_result *result, int err)
{
	switch (err) {
	case -VS_ERR_RUNNING:
		return vs_command_fail_text(patient->name,
					    "is still being written, as far as can be told from "
					    "here: recover it when the program has ended");
	case -VS_ERR_TRUNCATED:
		return fail_without_log(patient);
	case -VS_ERR_NEWER:
		return vs_command_fail_text(patient->name,
					    "its log was written by a newer vramscope");
	default:
		return vs_command_fail(result->has_no_output && patient->output ? patient->output
										: patient->name,
				       err);
	}
}

static void put_count(const char *before, uint64_t count, const char *what, const char *plural)
{
	char number[VS_UNITS_MAX];

	printf("%s%s %s%s", before, vs_units_put_number(number, count, true), what,
	       count == 1 ? "" : plural);
}

/* "; damaged: 2 blocks, 1 gap between blocks": true if there is anything to say. */
static bool put_damage(const struct vs_reader_state *state)
{
	const char *before = "; damaged: ";

	if (state->nr_bad_blocks) {
		put_count(before, state->nr_bad_blocks, "block", "s");
		before = ", ";
	}
	if (state->nr_gaps) {
		put_count(before, state->nr_gaps, "gap", "s");
		fputs(" between blocks", stdout);
		before = ", ";
	}
	if (state->nr_bad_in_log) {
		put_count(before, state->nr_bad_in_log, "place", "s");
		fputs(" in the log", stdout);
		before = ", ";
	}
	/* Totals that do not fit have no place. */
	if (state->is_damaged && *before == ';')
		fputs("; damaged (see: vramscope check)", stdout);
	return state->is_damaged;
}

static int tell(const struct patient *patient, const struct vs_fold_result *result)
{
	const struct vs_reader_state *state = &patient->state;
	bool is_damaged;

	printf("%s: ", patient->name);
	if (result->had_end) {
		fputs("nothing to do", stdout);
	} else {
		put_count("", result->nr_events, "event", "s");
		put_count(" from the log, ", state->nr_lost, "lost", "");
		put_count(", ", state->nr_unfinished, "unfinished", "");
	}
	if (patient->output)
		printf("; %s %s", result->had_end ? "copied to" : "in", patient->output);
	is_damaged = put_damage(state);
	putchar('\n');
	return is_damaged ? VS_EXIT_DAMAGED : VS_EXIT_DONE;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int recover_named(const struct patient *patient)
{
	const struct vs_fold_request request = {patient->path, patient->log, patient->output};
	struct vs_fold_result result;
	int status = check_output(patient), err;

	if (status)
		return status;
	errno = 0;
	err = vs_fold_recover(&request, &result);
	return err ? fail(patient, &result, err) : tell(patient, &result);
}

static int recover(const char *name, const char *output)
{
	struct patient patient = {.name = name, .output = output};
	struct vs_reader *reader;
	int status, err;

	if (vs_trace_open_reader(&reader, name))
		return VS_EXIT_FAILED;
	errno = 0;
	err = name_files(&patient, reader);
	/* Once more where the name was a link: the log is not beside that. */
	if (!err && !patient.log) {
		vs_reader_close(reader);
		reader = NULL;
		err = vs_reader_open(&reader, patient.path);
	}
	if (!err)
		err = read_through(reader, &patient.state);
	vs_reader_close(reader);
	status = err ? vs_command_fail(name, err) : recover_named(&patient);
	forget(&patient);
	return status;
}

/* `recover *` names the pair: the log goes with its trace. */
static bool is_named_with_trace(const struct vs_options *options, const char *name)
{
	size_t size = strlen(name), suffix_size = sizeof(VS_LIVE_SUFFIX) - 1, i;

	if (size <= suffix_size || strcmp(name + size - suffix_size, VS_LIVE_SUFFIX) != 0)
		return false;
	size -= suffix_size;
	for (i = 0; i < options->nr_traces; i++)
		if (!strncmp(options->traces[i], name, size) && !options->traces[i][size])
			return true;
	return false;
}

static int recover_all(const struct vs_options *options)
{
	int status = VS_EXIT_DONE, told;
	size_t i;

	for (i = 0; i < options->nr_traces; i++) {
		if (is_named_with_trace(options, options->traces[i]))
			continue;
		told = recover(options->traces[i], options->own[OWN_OUTPUT]);
		/* A failure outweighs a damaged trace. */
		if (told == VS_EXIT_FAILED || status == VS_EXIT_DONE)
			status = told;
	}
	return status;
}

static int run_recover(int argc, char **argv)
{
	struct vs_siblings siblings = {0};
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_recover, argc, argv, &status))
		return status;
	if (options.own[OWN_OUTPUT] && !*options.own[OWN_OUTPUT])
		return vs_command_fail_usage(&vs_cmd_recover, "-o needs the name of a file");
	if (options.own[OWN_OUTPUT] && (options.nr_traces > 1 || options.run))
		return vs_command_fail_usage(&vs_cmd_recover, "-o takes one trace");
	if (options.run && vs_siblings_gather(&siblings, &options))
		status = vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
	else
		status = recover_all(&options);
	vs_siblings_fini(&siblings);
	return status;
}

static const struct vs_option own_options[] = {
	[OWN_OUTPUT] = {"output", 'o', "FILE", "into another file; the pair stays as it is"},
	{NULL, 0, NULL, NULL},
};

const struct vs_command vs_cmd_recover = {
	.name = "recover",
	.summary = "Make one file of a trace and the log of a program that was killed",
	.usage = "[-o FILE] TRACE...",
	.details =
		"A program that is killed leaves its newest events in TRACE.live. Every command reads\n"
		"both; this one puts them together, and removes the log. vramscope run does so by\n"
		"itself. What is damaged is left out, counted, and makes the exit status 3.",
	.takes = VS_TAKES_TRACES,
	.options = own_options,
	.run = run_recover,
};
