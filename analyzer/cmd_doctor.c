#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "doctor.h"
#include "json.h"
#include "options.h"
#include "run_launch.h"
#include "text.h"

enum own {
	OWN_OUTPUT,
};

static const struct vs_option own_options[] = {
	[OWN_OUTPUT] = {"output", 'o', "FILE", "where the trace would be written (standard: here)"},
	{NULL, 0, NULL, NULL},
};

/* Where a trace of that name would be; NULL: in the current folder. */
static void get_folder(char folder[PATH_MAX], const char *output)
{
	const char *slash = output ? strrchr(output, '/') : NULL;

	if (slash)
		snprintf(folder, PATH_MAX, "%.*s", slash == output ? 1 : (int)(slash - output),
			 output);
	else if (!getcwd(folder, PATH_MAX))
		strcpy(folder, ".");
}

static void look_recorder(struct vs_doctor *doctor)
{
	char libdir[PATH_MAX];

	/* What is wrong with it is said on stderr, as by run. */
	if (vs_run_launch_find_libdir(libdir))
		vs_doctor_add(doctor, VS_FINDING_BAD, "recorder",
			      "install vramscope anew, or set VRAMSCOPE_LIBDIR to its folder",
			      "libvramscope.so is not where it should be");
	else
		vs_doctor_add(doctor, VS_FINDING_GOOD, "recorder", NULL, "%s/libvramscope.so",
			      libdir);
}

static void put_text(const struct vs_doctor *doctor, const struct vs_options *options)
{
	const struct vs_text_style style = {stdout, options->width, options->ascii, options->color};
	size_t nr[VS_FINDING_BAD + 1] = {0}, i;
	struct vs_text_line line = {0};

	for (i = 0; i < doctor->nr_findings; i++) {
		const struct vs_finding *finding = &doctor->findings[i];

		nr[finding->state]++;
		vs_text_add(&line, "%-5s", vs_doctor_get_state_name(finding->state));
		if (finding->state == VS_FINDING_BAD)
			vs_text_mark(&line, VS_TEXT_ALARM);
		vs_text_fill(&line, 6);
		vs_text_add(&line, "%s", finding->topic);
		vs_text_fill(&line, 18);
		vs_text_add(&line, "%s", finding->text);
		vs_text_put_whole(&style, &line, 18);
		if (!finding->remedy[0])
			continue;
		vs_text_fill(&line, 16);
		vs_text_add(&line, "> %s", finding->remedy);
		vs_text_put_whole(&style, &line, 18);
	}
	if (nr[VS_FINDING_BAD])
		vs_text_add(&line, "%zu of %zu will not work", nr[VS_FINDING_BAD],
			    doctor->nr_findings);
	else
		vs_text_add(&line, "all will work%s",
			    nr[VS_FINDING_NOTE] ? "; see the notes for what will be missing" : "");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_put_whole(&style, &line, 0);
}

static void put_json(const struct vs_doctor *doctor)
{
	struct vs_json json;
	size_t i;

	vs_json_init(&json, stdout);
	vs_json_begin_object(&json, NULL);
	vs_json_put_text(&json, "schema", "vramscope.doctor/0");
	vs_json_put_bool(&json, "works", vs_doctor_get_worst(doctor) != VS_FINDING_BAD);
	vs_json_begin_array(&json, "findings");
	for (i = 0; i < doctor->nr_findings; i++) {
		const struct vs_finding *finding = &doctor->findings[i];

		vs_json_begin_object(&json, NULL);
		vs_json_put_text(&json, "state", vs_doctor_get_state_name(finding->state));
		vs_json_put_text(&json, "topic", finding->topic);
		vs_json_put_text(&json, "text", finding->text);
		vs_json_put_text(&json, "remedy", finding->remedy[0] ? finding->remedy : NULL);
		vs_json_end_object(&json);
	}
	vs_json_end_array(&json);
	vs_json_end_object(&json);
}

static int run_doctor(int argc, char **argv)
{
	struct vs_options options;
	struct vs_doctor doctor = {.nr_findings = 0};
	char program[PATH_MAX], folder[PATH_MAX];
	int status;

	if (!vs_options_parse(&options, &vs_cmd_doctor, argc, argv, &status))
		return status;
	get_folder(folder, options.own[OWN_OUTPUT]);
	look_recorder(&doctor);
	vs_doctor_command_look(&doctor, options.nr_traces ? options.traces : NULL, program);
	vs_doctor_python_look(&doctor, program);
	vs_doctor_gpu_look(&doctor);
	vs_doctor_environment_look(&doctor);
	vs_doctor_system_look(&doctor, folder);
	if (options.json)
		put_json(&doctor);
	else
		put_text(&doctor, &options);
	return vs_doctor_get_worst(&doctor) == VS_FINDING_BAD ? VS_EXIT_FAILED : VS_EXIT_DONE;
}

const struct vs_command vs_cmd_doctor = {
	.name = "doctor",
	.summary = "Say what would work here, and what would not",
	.usage = "[OPTION...] [--] [PROGRAM [ARGUMENT...]]",
	.details =
		"Looks at the driver, NVML, CUPTI, the program (which is not started), its Python and\n"
		"frameworks, the environment, the disk and the limits of this system. Each finding is\n"
		"good, a note (something will be missing or different) or bad, with what to do. Needs no\n"
		"GPU. Exit status 0: all will work; 1: something will not.",
	.takes = VS_TAKES_COMMAND | VS_TAKES_NOTHING | VS_TAKES_JSON | VS_TAKES_ASCII |
		 VS_TAKES_COLOR,
	.options = own_options,
	.run = run_doctor,
};
