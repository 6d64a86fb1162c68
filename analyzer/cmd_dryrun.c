#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "dryrun.h"
#include "dryrun_json.h"
#include "dryrun_text.h"
#include "run_child.h"
#include "run_environment.h"
#include "run_launch.h"
#include "run_notes.h"
#include "run_softgpu.h"

/* Behind those of run. */
enum {
	REPORT = VS_RUN_NR_OWN,
	FITS,
	NR_OWN
};

/* With --fits; 1, 2, 126 and 127 mean that nothing was started. */
enum {
	STATUS_FITS = 0,
	STATUS_TOO_BIG = 4,
	STATUS_NOT_KNOWN = 5
};

static const struct vs_option own_options[] = {
	VS_RUN_LAUNCH_OPTIONS,
	[VS_RUN_CARD] = {"gpu", 0, "CARD",
			 "the card: its name (rtx4090; `list` shows them all), several of them\n"
			 "(h100-80gx8), with figures of one's own (a100-80g,memory=40G), or\n"
			 "just a size (24G)"},
	[REPORT] = {"report", 0, "FILE", "write the report there, and not to stderr"},
	[FITS] = {"fits", 0, NULL,
		  "let the exit status be the answer: 0 it fits, 4 it does not, 5 not\n"
		  "known"},
	[NR_OWN] = {NULL, 0, NULL, NULL},
};

static int list_cards(void)
{
	char libdir[PATH_MAX];
	int status = vs_run_launch_find_libdir(libdir);

	return status ? status : vs_run_softgpu_list(libdir);
}

/* Whether it can be written; what is there stays until there is something new. */
static int check_report(const char *path)
{
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return vs_command_fail_text(path, "the report cannot be written: %s",
					    strerror(errno));
	close(fd);
	return 0;
}

static int tell_text(struct vs_dryrun *dryrun, const struct vs_options *options,
		     const struct vs_run_notes *notes, const struct vs_run_launch *launch,
		     char **paths, FILE *file)
{
	struct vs_text_style style = {file, options->width, options->ascii, options->color};
	int err = vs_dryrun_init(dryrun, options, notes, launch->wait_status, paths, NULL);

	if (!err)
		vs_dryrun_text_put(dryrun, &style);
	return err;
}

static int tell_json(struct vs_dryrun *dryrun, const struct vs_options *options,
		     const struct vs_run_notes *notes, const struct vs_run_launch *launch,
		     char **paths, FILE *file)
{
	struct vs_json json;
	int err;

	vs_json_init(&json, file);
	vs_json_begin_object(&json, NULL);
	vs_json_put_text(&json, "schema", "vramscope.dryrun/0");
	err = vs_dryrun_init(dryrun, options, notes, launch->wait_status, paths, &json);
	if (!err)
		vs_dryrun_json_put(dryrun, &json);
	while (json.depth)
		vs_json_end(&json);
	return err;
}

/* The verdict; VS_DRYRUN_UNKNOWN after one line on stderr if it cannot be told. */
static enum vs_dryrun_verdict tell(const struct vs_options *options, struct vs_run_notes *notes,
				   const struct vs_run_launch *launch)
{
	const char *path = options->own[REPORT];
	enum vs_dryrun_verdict verdict = VS_DRYRUN_UNKNOWN;
	FILE *file = path ? fopen(path, "we") : stderr;
	char **paths = vs_run_traces_get_paths(&launch->traces);
	struct vs_dryrun dryrun;
	int err = vs_run_notes_read(notes);

	if (!file) {
		vs_command_fail_text(path, "%s", strerror(errno));
		vs_run_traces_free_paths(paths);
		return verdict;
	}
	if (!err && options->json)
		err = tell_json(&dryrun, options, notes, launch, paths, file);
	else if (!err)
		err = tell_text(&dryrun, options, notes, launch, paths, file);
	if (err) {
		vs_command_fail(NULL, err);
	} else {
		verdict = dryrun.verdict;
		vs_dryrun_fini(&dryrun);
	}
	vs_run_traces_free_paths(paths);
	if (path && fclose(file) != 0) {
		vs_command_fail_text(path, "%s", strerror(errno));
		verdict = VS_DRYRUN_UNKNOWN;
	}
	return verdict;
}

static int answer(enum vs_dryrun_verdict verdict)
{
	switch (verdict) {
	case VS_DRYRUN_FITS:
		return STATUS_FITS;
	case VS_DRYRUN_TOO_BIG:
		return STATUS_TOO_BIG;
	default:
		return STATUS_NOT_KNOWN;
	}
}

/* A mistake that is found before anything is started; 0: none. */
static int check(struct vs_options *options)
{
	if (!options->own[VS_RUN_CARD] || !*options->own[VS_RUN_CARD])
		return vs_command_fail_usage(&vs_cmd_dryrun,
					     "--gpu is missing: a card, or a size (--gpu list "
					     "shows the cards)");
	if (!options->nr_traces)
		return vs_command_fail_usage(&vs_cmd_dryrun, "no program given");
	/* A file is no terminal, wherever stderr goes. */
	if (options->own[REPORT])
		options->color = false;
	return check_report(options->own[REPORT]);
}

/*
 * Every value that a kernel should have computed reads as zero, and not as what happened to be
 * copied to that place before: a number of found elements, or "an infinity was seen".
 */
static int set_values(void)
{
	static const char *const settings[][2] = {{"SOFTGPU_BACKING", "zero"},
						  {"SOFTGPU_EXACT_BELOW", "0"},
						  {"SOFTGPU_BOOL", "guess"}};
	int status = 0;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && !status; i++)
		if (!getenv(settings[i][0]))
			status = vs_run_environment_set(settings[i][0], settings[i][1]);
	return status;
}

static int run_dryrun(int argc, char **argv)
{
	enum vs_dryrun_verdict verdict;
	struct vs_run_launch launch;
	struct vs_run_notes notes;
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_dryrun, argc, argv, &status))
		return status;
	if (options.own[VS_RUN_CARD] && !strcmp(options.own[VS_RUN_CARD], "list"))
		return list_cards();
	status = check(&options);
	if (!status)
		status = set_values();
	if (status)
		return status;
	vs_run_notes_open(&notes);
	status = vs_run_launch_do(&launch, &options);
	if (status) {
		vs_run_notes_close(&notes);
		return status;
	}
	vs_run_traces_tell(&launch.traces, launch.is_recorded);
	verdict = tell(&options, &notes, &launch);
	vs_run_notes_close(&notes);
	vs_run_traces_close(&launch.traces);
	if (options.own[FITS])
		return answer(verdict);
	vs_run_child_end_as(launch.wait_status);
}

const struct vs_command vs_cmd_dryrun = {
	.name = "dryrun",
	.summary =
		"Run a program on a simulated card: does it fit, what is left, where does it fail",
	.usage = "--gpu CARD [OPTION...] [--] PROGRAM [ARGUMENT...]",
	.details =
		"As `run --softgpu=CARD`, and then a report on stderr: stdout is the program's own. The\n"
		"trace stays, for report and the others. Kernels do not run: what is allocated is real,\n"
		"what is computed is not (docs/dry-run.md).\n\n"
		"The exit status is the program's, as for run; --fits makes it the answer instead: 0 it\n"
		"ended well and no request failed for good; 4 it ran out of memory and did not end well;\n"
		"5 not known: it failed otherwise, went on after an out-of-memory, used no GPU, or parts\n"
		"of the trace are missing. 1, 2, 126 and 127: nothing was started, as for run.",
	.takes = VS_TAKES_COMMAND | VS_TAKES_NOTHING | VS_TAKES_JSON | VS_TAKES_TOP |
		 VS_TAKES_ASCII | VS_TAKES_COLOR | VS_TAKES_STDERR,
	.options = own_options,
	.run = run_dryrun,
};
