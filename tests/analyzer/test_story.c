#include "story.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_check.h"
#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)

static void assert_has(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in:\n%s", words, text);
}

/* ---- The command ---------------------------------------------------------------------------- */

static void assert_command(const char *info, const char *expected)
{
	struct story_rig rig;
	char text[256];

	story_rig_init(&rig);
	rig.trace.command = info;
	story_rig_open_text(&rig);
	vs_story_put_command(&rig.story, text, sizeof(text));
	assert_string_equal(text, expected);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_command_is_written_as_a_shell_would_read_it(void **state)
{
	(void)state;
	assert_command("python\ntrain.py\n--lr=1e-3\n", "python train.py --lr=1e-3");
	assert_command("a b\n\nc\n", "'a b' '' c");
	assert_command("sh\n-c\na;b\n", "sh -c 'a;b'");
	assert_command("x\n$HOME\n*.py\n~\n#\n(\n", "x '$HOME' '*.py' '~' '#' '('");
	assert_command("say\nit's\n'\n", "say 'it'\\''s' ''\\'''");
	assert_command("zeige\n\u00e4rger.py\n", "zeige \u00e4rger.py");
	assert_command("two\nlines\\nin one\n", "two 'lines\nin one'");
}

static void test_trace_that_names_no_command_is_called_by_its_path(void **state)
{
	(void)state;
	assert_command(NULL, "run.vscope");
}

static void assert_path(const char *path, const char *expected)
{
	struct vs_story story = {.path = path};
	char text[64];

	vs_story_put_path(&story, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void test_path_can_be_typed_as_it_is_written(void **state)
{
	(void)state;
	assert_path("runs/train.4711.vscope", "runs/train.4711.vscope");
	assert_path("a trace; it's mine", "'a trace; it'\\''s mine'");
	assert_path("-x", "./-x");
	assert_path("- x", "./'- x'");
}

static void test_command_is_cut_to_its_room(void **state)
{
	struct story_rig rig;
	char text[64];

	(void)state;
	story_rig_init(&rig);
	rig.trace.command = "abc\nd'e\n";
	story_rig_open_text(&rig);
	for (size_t size = 1; size <= sizeof(text); size++) {
		memset(text, '#', sizeof(text));
		vs_story_put_command(&rig.story, text, size);
		assert_int_equal(strlen(text), size <= 12 ? size - 1 : 12);
		assert_memory_equal(text, "abc 'd'\\''e'", strlen(text));
	}
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

/* ---- Headline ------------------------------------------------------------------------------- */

#define NOTHING_ASKED "  note: nothing in it asked for memory\n"

/* What the rig's headline says; ends the rig. */
static void assert_headline(struct story_rig *rig, const char *expected)
{
	story_rig_open_text(rig);
	vs_story_put_headline(&rig->story);
	assert_string_equal(story_rig_read(rig), expected);
	story_rig_close(rig);
	story_rig_fini(rig);
}

static void test_headline_tells_what_ran_how_long_and_on_what(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_device(&rig.script, 0, 8 * GIB);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 1);
	assert_headline(&rig,
			"train \u00b7 1.00 us \u00b7 GPU 0 paper 8.00 GiB \u00b7 1 event, none "
			"lost\n");

	story_rig_init(&rig);
	rig.options.ascii = true;
	script_add(&rig.script, (struct vs_record){.type = VS_RECORD_DEVICE,
						   .device = {.device = 1, .is_simulated = true}});
	script_alloc_on(&rig.script, 1, VS_MEMORY_DEVICE, BASE, 1);
	script_device(&rig.script, 2, GIB); /* not used */
	assert_headline(&rig, "train - 1.00 us - GPU 1  (simulated) - 1 event, none lost\n");

	story_rig_init(&rig);
	script_alloc_on(&rig.script, 0, VS_MEMORY_DEVICE, BASE, 1);
	script_alloc_on(&rig.script, 1, VS_MEMORY_DEVICE, 2 * BASE, 1);
	assert_headline(&rig, "train \u00b7 2.00 us \u00b7 2 GPUs \u00b7 2 events, none lost\n");
}

static void test_headline_tells_that_nothing_asked_for_memory(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_device(&rig.script, 0, 8 * GIB); /* not used */
	script_step(&rig.script, 1);
	assert_headline(&rig, "train \u00b7 1.00 us \u00b7 1 event, none lost\n" NOTHING_ASKED);
}

static void test_of_several_traces_the_headline_tells_which(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	rig.options.nr_traces = 2;
	script_device(&rig.script, 0, 8 * GIB);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 1);
	assert_headline(&rig,
			"run.vscope\ntrain \u00b7 1.00 us \u00b7 GPU 0 paper 8.00 GiB \u00b7 1 "
			"event, none lost\n");
	story_rig_init(&rig);
	rig.options.nr_traces = 2;
	rig.trace.info[0] = "pid";
	rig.trace.info[1] = "4711";
	assert_headline(&rig, "run.vscope \u00b7 process 4711\ntrain \u00b7 0 s \u00b7 0 events, "
			      "none lost\n" NOTHING_ASKED);
}

static void test_long_command_makes_room_for_the_facts(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	rig.options.width = 60;
	rig.trace.command = "/a/very/long/way/to/the/program/that/was/run/train\n";
	assert_headline(&rig, "\u2026/the/program/that/was/run/train \u00b7 0 s \u00b7 0 events, "
			      "none lost\n" NOTHING_ASKED);
	/* Just one column too many. */
	story_rig_init(&rig);
	rig.options.width = 60;
	rig.trace.command = "/way/to/the/program/that/was/run/x\n";
	assert_headline(&rig, "\u2026y/to/the/program/that/was/run/x \u00b7 0 s \u00b7 0 events, "
			      "none lost\n" NOTHING_ASKED);
}

static void test_what_must_be_known_of_the_trace_is_noted(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	story_rig_init(&rig);
	rig.trace.nr_lost = 1234;
	script_pool(&rig.script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 10);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 10);
	script_block(&rig.script, 1, 2 * BASE, 10);
	script_block(&rig.script, 1, 3 * BASE, 10);
	story_rig_open_text(&rig);
	vs_story_put_headline(&rig.story);
	text = story_rig_read(&rig);
	assert_has(text, ", 1\u202f234 lost\n");
	assert_has(text, "\n  note: 1\u202f234 events were lost: all numbers may be too low\n");
	assert_has(text, "\n  note: 1 times something new lay over something old");
	assert_has(text, "\n  note: 2 pool blocks lie in memory that was not seen\n");
	assert_null(strstr(text, "killed"));
	story_rig_close(&rig);
	story_rig_fini(&rig);

	story_rig_init(&rig);
	rig.trace.is_cut = true;
	story_rig_open_text(&rig);
	vs_story_put_headline(&rig.story);
	assert_has(story_rig_read(&rig), "\n  note: the program was killed, crashed, or left by "
					 "_exit or exec; the trace holds all until then\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_lost_events_are_the_larger_of_what_trace_and_records_say(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	rig.trace.nr_lost = 5;
	script_add(&rig.script, (struct vs_record){.type = VS_RECORD_LOST, .lost = {7}});
	assert_headline(&rig, "train \u00b7 0 s \u00b7 0 events, 7 lost\n"
			      "  note: 7 events were lost: all numbers may be too "
			      "low\n" NOTHING_ASKED);
}

/* ---- Devices, instants, rows ---------------------------------------------------------------- */

/* Devices 0 and 2 are used, 1 is only mentioned. */
static void make_devices(struct story_rig *rig)
{
	story_rig_init(rig);
	for (uint32_t i = 0; i < 3; i++)
		script_device(&rig->script, i, GIB);
	script_alloc_on(&rig->script, 2, VS_MEMORY_DEVICE, BASE, 1);
	script_alloc_on(&rig->script, 0, VS_MEMORY_DEVICE, 2 * BASE, 1);
}

/* The ordinals of the devices, as digits. */
static void assert_devices(struct story_rig *rig, uint32_t wanted, const char *expected)
{
	const struct vs_replay_device *device;
	char text[8] = "";
	size_t i = 0, nr = 0;

	rig->options.device = wanted;
	while ((device = vs_story_next_device(&rig->story, &i)))
		text[nr++] = (char)('0' + device->ordinal);
	assert_string_equal(text, expected);
}

static void test_devices_are_those_that_were_used_or_asked_for(void **state)
{
	struct story_rig rig;

	(void)state;
	make_devices(&rig);
	story_rig_open_text(&rig);
	assert_devices(&rig, VS_OPTIONS_ANY_DEVICE, "02");
	assert_devices(&rig, 1, "1");
	assert_devices(&rig, 2, "2");
	assert_devices(&rig, 9, "");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static int tell_ordinal(struct vs_story *story, const struct vs_replay_device *device)
{
	if (story->json)
		vs_json_put_number(story->json, "told", device->ordinal);
	else
		fprintf(story->style.file, "told %u\n", device->ordinal);
	return 0;
}

static void test_at_oom_the_devices_are_those_that_ran_out(void **state)
{
	struct story_rig rig;

	(void)state;
	make_devices(&rig);
	rig.options.at = VS_AT_OOM;
	story_rig_open_text(&rig);
	/* None did: it is for the story to say so. */
	assert_devices(&rig, VS_OPTIONS_ANY_DEVICE, "02");
	story_rig_close(&rig);
	script_add(&rig.script, (struct vs_record){.type = VS_RECORD_ALLOC_FAILED,
						   .alloc_failed = {.kind = VS_MEMORY_DEVICE,
								    .device = 2,
								    .size = GIB,
								    .error = 2}});
	rig.options.device = VS_OPTIONS_ANY_DEVICE;
	story_rig_open_text(&rig);
	assert_devices(&rig, VS_OPTIONS_ANY_DEVICE, "2");
	assert_devices(&rig, 0, "0");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_each_of_several_devices_has_a_heading(void **state)
{
	struct story_rig rig;

	(void)state;
	make_devices(&rig);
	story_rig_open_text(&rig);
	assert_int_equal(vs_story_tell_devices(&rig.story, tell_ordinal), 0);
	assert_string_equal(story_rig_read(&rig),
			    "train \u00b7 2.00 us \u00b7 2 GPUs \u00b7 2 events, none lost\n"
			    "\nGPU 0 paper 1.00 GiB\ntold 0\n"
			    "\nGPU 2 paper 1.00 GiB\ntold 2\n");
	story_rig_close(&rig);
	rig.options.device = 2;
	story_rig_open_text(&rig);
	assert_int_equal(vs_story_tell_devices(&rig.story, tell_ordinal), 0);
	assert_has(story_rig_read(&rig), "lost\ntold 2\n"); /* alone: it is in the headline */
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static int fail_second(struct vs_story *story, const struct vs_replay_device *device)
{
	return device->ordinal ? -VS_ERR_IO : tell_ordinal(story, device);
}

static void test_error_of_a_device_ends_the_story(void **state)
{
	struct story_rig rig;

	(void)state;
	make_devices(&rig);
	story_rig_open_json(&rig);
	assert_int_equal(vs_story_tell_devices(&rig.story, fail_second), -VS_ERR_IO);
	json_check_value(story_rig_read(&rig), "devices/0/told", "0");
	json_check_value(story_rig_read(&rig), "devices/1/device", "2");
	json_check_absent(story_rig_read(&rig), "devices/1/told");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void assert_instant(const struct vs_instant *instant, const char *expected)
{
	struct vs_text_line line = {0};

	vs_story_add_instant(&line, instant);
	assert_string_equal(line.bytes, expected);
}

static void test_instants_name_phase_and_step_if_there_are_any(void **state)
{
	(void)state;
	assert_instant(&(struct vs_instant){.time_ns = 251000000000}, " at 4m 11s");
	assert_instant(&(struct vs_instant){.phase = "forward"}, " at 0 s in forward");
	assert_instant(&(struct vs_instant){.has_step = true}, " at 0 s in step 0");
	assert_instant(&(struct vs_instant){.phase = "forward", .has_step = true, .step = 7},
		       " at 0 s in forward of step 7");
}

static void test_top_is_the_users_or_the_commands(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	story_rig_open_text(&rig);
	assert_int_equal(vs_story_get_top(&rig.story, 5), 5);
	rig.options.top = 3;
	assert_int_equal(vs_story_get_top(&rig.story, 5), 3);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void test_json_of_a_trace_says_how_far_it_can_be_trusted(void **state)
{
	struct story_rig rig;
	const char *json;

	(void)state;
	story_rig_init(&rig);
	rig.trace.nr_lost = 3;
	script_add(&rig.script,
		   (struct vs_record){.type = VS_RECORD_DEVICE, .device = {.is_simulated = true}});
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 10);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 10);
	script_free(&rig.script, VS_MEMORY_DEVICE, 3 * BASE);
	story_rig_open_json(&rig);
	vs_story_put_json_trace(&rig.story);
	json = story_rig_read(&rig);
	json_check_value(json, "command", "\"train\"");
	json_check_value(json, "duration_ns", "3000");
	json_check_value(json, "events", "3");
	json_check_value(json, "lost_events", "3");
	json_check_value(json, "complete", "true");
	json_check_value(json, "damaged", "false");
	json_check_value(json, "running", "false");
	json_check_value(json, "simulated", "true");
	json_check_value(json, "overlaps", "1");
	json_check_value(json, "orphan_blocks", "0");
	json_check_value(json, "unmatched_frees", "1");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_json_has_nulls_for_what_is_not_known(void **state)
{
	const struct vs_replay_device device = {.ordinal = 3};
	struct story_rig rig;
	const char *json;

	(void)state;
	story_rig_init(&rig);
	story_rig_open_json(&rig);
	vs_story_put_json_device(&rig.story, &device);
	vs_story_put_json_instant(&rig.story, "at", &(struct vs_instant){.time_ns = 5});
	json = story_rig_read(&rig);
	json_check_value(json, "device", "3");
	json_check_value(json, "name", "null");
	json_check_value(json, "total_bytes", "0");
	json_check_value(json, "at/time_ns", "5");
	json_check_value(json, "at/step", "null");
	json_check_value(json, "at/phase", "null");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_json_of_a_site_has_the_line_and_all_frames(void **state)
{
	static const uint64_t frames[] = {0x1100, 0x9000, 0x1200};
	struct story_rig rig;
	const char *json;

	(void)state;
	story_rig_init(&rig);
	script_name(&rig.script, 4, "cudaMalloc");
	script_module(&rig.script, 1, 0x1000, 0x2000, "/nowhere/train");
	script_stack(&rig.script, 1, frames, 3);
	story_rig_open_json(&rig);
	assert_int_equal(
		vs_story_put_json_site(
			&rig.story,
			vs_definitions_get_site(&rig.story.analysis.replay->definitions, 1), 4),
		0);
	json = story_rig_read(&rig);
	json_check_value(json, "site", "\"train+0x100 < 0x9000 < train+0x200\"");
	json_check_value(json, "api", "\"cudaMalloc\"");
	json_check_absent(json, "operation");
	json_check_value(json, "stack/0/address", "\"0x1100\"");
	json_check_value(json, "stack/1/module", "null");
	json_check_value(json, "stack/2/function", "\"train+0x200\"");
	json_check_value(json, "stack/2/inlined", "false");
	json_check_absent(json, "stack/3");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_json_of_a_chunk_has_its_operation(void **state)
{
	const uint64_t frames[] = {vs_frame_make_op(5, 6, 14), 0x9000};
	struct story_rig rig;
	const char *json;

	(void)state;
	story_rig_init(&rig);
	script_name(&rig.script, 5, "MatMul");
	script_name(&rig.script, 6, "output");
	script_stack(&rig.script, 1, frames, 2);
	story_rig_open_json(&rig);
	assert_int_equal(vs_story_put_json_site(&rig.story,
						vs_definitions_get_site(
							&rig.story.analysis.replay->definitions, 1),
						VS_NO_ID),
			 0);
	json = story_rig_read(&rig);
	json_check_value(json, "operation/name", "\"MatMul\"");
	json_check_value(json, "operation/region", "\"output\"");
	json_check_value(json, "operation/dtype", "\"bfloat16\"");
	json_check_value(json, "stack/1/address", "\"0x9000\"");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

/* ---- Whole commands ------------------------------------------------------------------------- */

static int tell_error; /* what the teller returns */
static int nr_told;

static int tell(struct vs_story *story)
{
	nr_told++;
	if (story->json) {
		vs_json_begin_array(story->json, "list");
		vs_json_begin_object(story->json, NULL);
		if (tell_error) /* in the middle of everything */
			return tell_error;
		vs_json_end_object(story->json);
		vs_json_end_array(story->json);
	} else {
		fprintf(story->style.file, "told\n");
	}
	return tell_error;
}

static const struct vs_command command = {
	.name = "report",
	.summary = "A test",
	.usage = "TRACE...",
	.takes = VS_TAKES_ANALYSIS,
};

struct folder {
	char path[64];
	char good[96];
	char cut[96];
	char text[96];
};

static void make_folder(struct folder *folder)
{
	struct script script;
	FILE *file;

	snprintf(folder->path, sizeof(folder->path), "%s/test_story-XXXXXX", P_tmpdir);
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->good, sizeof(folder->good), "%s/good", folder->path);
	snprintf(folder->cut, sizeof(folder->cut), "%s/cut", folder->path);
	snprintf(folder->text, sizeof(folder->text), "%s/text", folder->path);
	script_init(&script);
	script_device(&script, 0, GIB);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1);
	script_trace_write(&script, folder->good, &(struct script_trace){.command = "train\n"});
	script_trace_write(&script, folder->cut, &(struct script_trace){.is_cut = true});
	script_fini(&script);
	file = fopen(folder->text, "w");
	assert_non_null(file);
	fputs("no trace\n", file);
	fclose(file);
}

static void remove_folder(const struct folder *folder)
{
	unlink(folder->good);
	unlink(folder->cut);
	unlink(folder->text);
	assert_int_equal(rmdir(folder->path), 0);
}

/* From now on a file gets what is written to a descriptor; the copy is to be given back. */
static int divert(int fd, FILE *file)
{
	int copy = dup(fd);

	assert_true(copy >= 0 && dup2(fileno(file), fd) == fd);
	return copy;
}

static void give_back(int fd, int copy, FILE *file, char *text, size_t size)
{
	assert_int_equal(dup2(copy, fd), fd);
	close(copy);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static char said[8192], complained[2048];

/* Runs `report WORDS...`; what it says is in said[] and complained[]. */
static int run(const char *const *words)
{
	FILE *out = tmpfile(), *err = tmpfile();
	char *argv[8] = {strdup("report")};
	int argc = 1, status, out_copy, err_copy;

	for (; *words; words++)
		argv[argc++] = strdup(*words);
	assert_non_null(out);
	assert_non_null(err);
	fflush(stdout);
	fflush(stderr);
	out_copy = divert(STDOUT_FILENO, out);
	err_copy = divert(STDERR_FILENO, err);
	nr_told = 0;
	{
		char *given[8]; /* options are taken out of it */

		memcpy(given, argv, sizeof(given));
		status = vs_story_run(&command, argc, given, "vramscope.test/0", tell);
	}
	fflush(stdout);
	fflush(stderr);
	give_back(STDOUT_FILENO, out_copy, out, said, sizeof(said));
	give_back(STDERR_FILENO, err_copy, err, complained, sizeof(complained));
	while (argc)
		free(argv[--argc]);
	return status;
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static void test_several_texts_are_parted_by_a_blank_line(void **state)
{
	struct folder folder;

	(void)state;
	make_folder(&folder);
	assert_int_equal(RUN(folder.good, folder.good), VS_EXIT_DONE);
	assert_string_equal(said, "told\n\ntold\n");
	assert_string_equal(complained, "");
	remove_folder(&folder);
}

static void test_json_of_one_trace_is_an_object_and_of_several_a_list(void **state)
{
	struct folder folder;

	(void)state;
	make_folder(&folder);
	assert_int_equal(RUN("--json", folder.good), VS_EXIT_DONE);
	json_check_value(said, "schema", "\"vramscope.test/0\"");
	json_check_value(said, "list/0", "{}");
	json_check_absent(said, "failed");
	assert_int_equal(RUN("--json", folder.good, folder.good), VS_EXIT_DONE);
	json_check_value(said, "traces/1/list/0", "{}");
	json_check_absent(said, "traces/2");
	remove_folder(&folder);
}

static void test_worst_status_of_several_traces_counts(void **state)
{
	struct folder folder;

	(void)state;
	make_folder(&folder);
	assert_int_equal(RUN(folder.cut), VS_EXIT_DAMAGED);
	assert_has(complained, "cut or damaged");
	assert_int_equal(RUN(folder.cut, folder.good), VS_EXIT_DAMAGED);
	assert_int_equal(RUN(folder.text, folder.cut), VS_EXIT_FAILED);
	assert_int_equal(RUN(folder.cut, "/nonexistent"), VS_EXIT_FAILED);
	assert_int_equal(nr_told, 1);
	remove_folder(&folder);
}

static void test_json_is_whole_wherever_a_story_breaks_off(void **state)
{
	struct folder folder;

	(void)state;
	make_folder(&folder);
	tell_error = -VS_ERR_NO_MEMORY;
	assert_int_equal(RUN("--json", folder.good), VS_EXIT_FAILED);
	json_check_value(said, "list/0", "{}");
	json_check_value(said, "failed", "true");
	assert_int_equal(RUN("--json", folder.text, folder.good), VS_EXIT_FAILED);
	json_check_value(said, "traces/0/failed", "true");
	json_check_value(said, "traces/1/list/0", "{}");
	json_check_value(said, "traces/1/failed", "true");
	tell_error = 0;
	remove_folder(&folder);
}

static void test_what_is_asked_for_and_not_there_is_said(void **state)
{
	struct folder folder;

	(void)state;
	make_folder(&folder);
	assert_int_equal(RUN("--device", "7", folder.good), VS_EXIT_FAILED);
	assert_has(complained, "has no device 7");
	assert_int_equal(nr_told, 0);
	tell_error = -VS_ERR_INVALID;
	assert_int_equal(RUN("--at", "oom", folder.good), VS_EXIT_FAILED);
	assert_has(complained, "has no out-of-memory to look at");
	tell_error = 0;
	assert_int_equal(RUN("--nonsense"), VS_EXIT_USAGE);
	assert_string_equal(said, "");
	remove_folder(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_is_written_as_a_shell_would_read_it),
		cmocka_unit_test(test_trace_that_names_no_command_is_called_by_its_path),
		cmocka_unit_test(test_path_can_be_typed_as_it_is_written),
		cmocka_unit_test(test_command_is_cut_to_its_room),
		cmocka_unit_test(test_headline_tells_what_ran_how_long_and_on_what),
		cmocka_unit_test(test_headline_tells_that_nothing_asked_for_memory),
		cmocka_unit_test(test_of_several_traces_the_headline_tells_which),
		cmocka_unit_test(test_long_command_makes_room_for_the_facts),
		cmocka_unit_test(test_what_must_be_known_of_the_trace_is_noted),
		cmocka_unit_test(test_lost_events_are_the_larger_of_what_trace_and_records_say),
		cmocka_unit_test(test_devices_are_those_that_were_used_or_asked_for),
		cmocka_unit_test(test_at_oom_the_devices_are_those_that_ran_out),
		cmocka_unit_test(test_each_of_several_devices_has_a_heading),
		cmocka_unit_test(test_error_of_a_device_ends_the_story),
		cmocka_unit_test(test_instants_name_phase_and_step_if_there_are_any),
		cmocka_unit_test(test_top_is_the_users_or_the_commands),
		cmocka_unit_test(test_json_of_a_trace_says_how_far_it_can_be_trusted),
		cmocka_unit_test(test_json_has_nulls_for_what_is_not_known),
		cmocka_unit_test(test_json_of_a_site_has_the_line_and_all_frames),
		cmocka_unit_test(test_json_of_a_chunk_has_its_operation),
		cmocka_unit_test(test_several_texts_are_parted_by_a_blank_line),
		cmocka_unit_test(test_json_of_one_trace_is_an_object_and_of_several_a_list),
		cmocka_unit_test(test_worst_status_of_several_traces_counts),
		cmocka_unit_test(test_json_is_whole_wherever_a_story_breaks_off),
		cmocka_unit_test(test_what_is_asked_for_and_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
