#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dryrun.h"
#include "dryrun_json.h"
#include "dryrun_text.h"
#include "json_check.h"

#define MIB     (UINT64_C(1) << 20)
#define STATUS1 (1 << 8) /* as waitpid has it */
#define SIGNAL6 6

static struct vs_run_notes_size sizes[] = {{"cuDNN-workspace", 0}, {"cuFFT-work-area", 8192}};
static char missing[][64] = {"cuThis"};
static const struct vs_run_notes notes = {
	.has_card = true,
	.compute_capability = 89,
	.nr_multiprocessors = 128,
	.threads_per_multiprocessor = 1536,
	.nr_devices = 2,
	.memory_size = 1000 * MIB,
	.context_size = 100 * MIB,
	.addresses = "packed",
	.backing = "zero",
	.profile = "paper",
	.name = "Paper Card",
	.sizes = sizes,
	.nr_sizes = 2,
	.missing = missing,
	.nr_missing = 1,
};
static const struct vs_options options = {.width = 200, .ascii = true};
static struct vs_dryrun_word settings[] = {{"PYTORCH_ALLOC_CONF", "backend:native"}};
static struct vs_dryrun_word facts[] = {{"torch.library", "/lib/libtorch.so"},
					{"torch.version", "2.99"},
					{"python.version", "3.9"}};
static char *paths[] = {(char[]){"a.vscope"}, NULL};

static struct vs_dryrun_card cards[] = {
	{.name = "Paper Card",
	 .total_size = 1000 * MIB,
	 .nr_processes = 1,
	 .peak_live = 300 * MIB,
	 .peak_reserved = 400 * MIB},
	{.name = "Paper Card",
	 .total_size = 1000 * MIB,
	 .nr_processes = 3,
	 .peak_live = 10 * MIB,
	 .peak_reserved = 650 * MIB,
	 .nr_ooms = 2},
};

/* One that ran out on its second card. */
static struct vs_dryrun make(enum vs_dryrun_verdict verdict, size_t nr_cards, int wait_status)
{
	struct vs_dryrun dryrun = {
		.options = &options,
		.notes = &notes,
		.wait_status = wait_status,
		.paths = paths,
		.cards = cards,
		.nr_cards = nr_cards,
		.settings = {settings, 1},
		.facts = {facts, 3},
		.verdict = verdict,
	};

	if (verdict == VS_DRYRUN_TOO_BIG || verdict == VS_DRYRUN_WENT_ON)
		dryrun.first = (struct vs_dryrun_failure){
			.is_there = true,
			.ordinal = 1,
			.failure = {.at = {.time_ns = 5000000,
					   .has_step = true,
					   .step = 7,
					   .phase = "backward"},
				    .size = 64 * MIB,
				    .free_size = 3 * MIB,
				    .total_size = 1000 * MIB},
			.site = "train.c:7 main",
			.api = "cudaMalloc",
		};
	return dryrun;
}

static const char *tell(const struct vs_dryrun *dryrun, bool is_json)
{
	static char text[16384];
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct vs_text_style style = {file, options.width, true, false};
	struct vs_json json;

	assert_non_null(file);
	if (is_json) {
		vs_json_init(&json, file);
		vs_json_begin_object(&json, NULL);
		vs_dryrun_json_put(dryrun, &json);
		vs_json_end_object(&json);
	} else {
		vs_dryrun_text_put(dryrun, &style);
	}
	fclose(file);
	return text;
}

static void expect_line(const struct vs_dryrun *dryrun, const char *line)
{
	const char *text = tell(dryrun, false);

	if (!strstr(text, line))
		fail_msg("'%s' is not in\n%s", line, text);
}

static enum vs_dryrun_verdict judge(int wait_status, char **traces)
{
	struct vs_dryrun dryrun;
	enum vs_dryrun_verdict verdict;

	assert_int_equal(vs_dryrun_init(&dryrun, &options, &notes, wait_status, traces, NULL), 0);
	verdict = dryrun.verdict;
	vs_dryrun_fini(&dryrun);
	return verdict;
}

static void test_program_without_traces_is_not_said_to_fit(void **state)
{
	char *none[] = {NULL};

	(void)state;
	assert_int_equal(judge(0, none), VS_DRYRUN_NO_GPU);
	assert_int_equal(judge(STATUS1, none), VS_DRYRUN_FAILED);
	assert_int_equal(judge(SIGNAL6, none), VS_DRYRUN_FAILED);
	assert_int_equal(judge(0, NULL), VS_DRYRUN_UNKNOWN);
}

static void test_trace_that_cannot_be_read_leaves_it_open(void **state)
{
	char *gone[] = {(char[]){"/nowhere/gone.vscope"}, NULL};

	(void)state;
	assert_int_equal(judge(0, gone), VS_DRYRUN_UNKNOWN);
}

static void test_left_is_what_context_and_peak_leave(void **state)
{
	struct vs_dryrun dryrun = make(VS_DRYRUN_FITS, 2, 0);

	(void)state;
	assert_int_equal(vs_dryrun_get_left(&dryrun, &cards[0]), 500 * MIB);
	assert_int_equal(vs_dryrun_get_context(&dryrun, &cards[1]), 300 * MIB);
	assert_int_equal(vs_dryrun_get_left(&dryrun, &cards[1]), 50 * MIB);
	cards[1].peak_reserved += 51 * MIB;
	assert_int_equal(vs_dryrun_get_left(&dryrun, &cards[1]), 0);
	cards[1].peak_reserved -= 51 * MIB;
}

static void test_text_tells_what_is_left(void **state)
{
	struct vs_dryrun dryrun = make(VS_DRYRUN_FITS, 1, 0);

	(void)state;
	expect_line(&dryrun, "DRY RUN       FITS: 500 MiB of 0.98 GiB are left\n");
	expect_line(&dryrun, "MEMORY        0.98 GiB = 100 MiB context + 400 MiB reserved at the "
			     "peak (300 MiB live) + 500 MiB left\n");
	expect_line(&dryrun, "SIMULATED     2 x Paper Card (paper): 0.98 GiB, compute capability "
			     "8.9, 128 multiprocessors of 1536 threads, context 100 MiB, addresses "
			     "as on Windows\n");
	expect_line(&dryrun, "VERSIONS      torch 2.99, python 3.9\n");
	expect_line(&dryrun, "SETTINGS      PYTORCH_ALLOC_CONF=backend:native\n");
	expect_line(&dryrun, "cuDNN-workspace 0 B, cuFFT-work-area 8.00 KiB\n");
	assert_null(strstr(tell(&dryrun, false), "cuThis"));
	dryrun.nr_cards = 2;
	expect_line(&dryrun, "FITS: at least 50.0 MiB of 0.98 GiB are left on the fullest card\n");
	expect_line(&dryrun, "card 1: 0.98 GiB = 300 MiB context");
	expect_line(&dryrun, "sums over 3 processes");
}

static void test_text_names_each_verdict(void **state)
{
	struct vs_dryrun dryrun = make(VS_DRYRUN_TOO_BIG, 2, STATUS1);

	(void)state;
	expect_line(&dryrun, "DOES NOT FIT: out of memory at 5.00 ms in backward of step 7: 64.0 "
			     "MiB asked, 3.00 MiB free on the card, on GPU 1; it ended with status "
			     "1\n");
	dryrun = make(VS_DRYRUN_WENT_ON, 1, 0);
	expect_line(&dryrun, "RUNS OUT OF MEMORY, and goes on: out of memory at 5.00 ms");
	dryrun = make(VS_DRYRUN_FAILED, 1, SIGNAL6);
	expect_line(&dryrun, "NOT KNOWN: the program died of signal 6 (Aborted), and not for want "
			     "of memory; numbers are those until then\n");
	expect_line(&dryrun, "functions that are not simulated, and were called: cuThis\n");
	dryrun = make(VS_DRYRUN_FAILED, 0, STATUS1);
	expect_line(&dryrun, "it had not used a GPU by then\n");
	dryrun = make(VS_DRYRUN_NO_GPU, 0, 0);
	expect_line(&dryrun, "NO GPU USED: ");
	assert_null(strstr(tell(&dryrun, false), "NOT REAL"));
	dryrun = make(VS_DRYRUN_UNKNOWN, 1, 0);
	expect_line(&dryrun, "NOT KNOWN: what was recorded is not whole\n");
}

static void test_json_has_all_of_it(void **state)
{
	struct vs_dryrun dryrun = make(VS_DRYRUN_TOO_BIG, 2, STATUS1);
	const char *text = tell(&dryrun, true);

	(void)state;
	json_check_whole(text);
	json_check_value(text, "verdict", "\"does-not-fit\"");
	json_check_value(text, "fits", "false");
	json_check_value(text, "exit_status", "1");
	json_check_value(text, "signal", "null");
	json_check_value(text, "cards/1/left_bytes", "52428800");
	json_check_value(text, "cards/1/processes", "3");
	json_check_value(text, "profile/compute_capability", "89");
	json_check_value(text, "profile/addresses", "\"packed\"");
	json_check_value(text, "first_oom/step", "7");
	json_check_value(text, "first_oom/trace", "\"a.vscope\"");
	json_check_value(text, "first_oom/requested_bytes", "67108864");
	json_check_value(text, "first_oom/pool", "null");
	json_check_value(text, "facts/torch.version", "\"2.99\"");
	json_check_value(text, "settings/PYTORCH_ALLOC_CONF", "\"backend:native\"");
	json_check_value(text, "sizes_not_real/1/answered_bytes", "8192");
	json_check_value(text, "functions_missing/0", "\"cuThis\"");
	dryrun = make(VS_DRYRUN_WENT_ON, 1, 0);
	json_check_value(tell(&dryrun, true), "fits", "null");
	dryrun = make(VS_DRYRUN_FAILED, 0, SIGNAL6);
	text = tell(&dryrun, true);
	json_check_value(text, "exit_status", "null");
	json_check_value(text, "signal", "6");
	json_check_value(text, "first_oom", "null");
}

static void test_jax_without_a_device_file_is_a_hint_where_no_gpu_was_used(void **state)
{
	struct vs_run_notes hinted = notes;
	struct vs_dryrun dryrun = make(VS_DRYRUN_NO_GPU, 0, 0);

	(void)state;
	assert_null(strstr(tell(&dryrun, false), "HINT"));
	assert_null(strstr(tell(&dryrun, true), "jax-device-file"));
	hinted.jax_wants_file = true;
	dryrun.notes = &hinted;
	assert_non_null(strstr(tell(&dryrun, false), "\nHINT          the program imported JAX"));
	assert_non_null(strstr(tell(&dryrun, true), "\"jax-device-file\""));
	dryrun = make(VS_DRYRUN_FITS, 1, 0);
	dryrun.notes = &hinted;
	assert_null(strstr(tell(&dryrun, false), "HINT"));
}

static void test_a_failure_that_jax_may_hide_is_not_called_another(void **state)
{
	struct vs_dryrun dryrun = make(VS_DRYRUN_FAILED, 1, STATUS1);

	(void)state;
	assert_non_null(strstr(tell(&dryrun, false), "and not for want of memory"));
	dryrun.hides_failures = true;
	assert_null(strstr(tell(&dryrun, false), "and not for want of memory"));
	assert_non_null(strstr(tell(&dryrun, false), "hidden in JAX's allocator"));
	assert_non_null(strstr(tell(&dryrun, true), "\"jax-allocator-hidden\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_without_traces_is_not_said_to_fit),
		cmocka_unit_test(test_trace_that_cannot_be_read_leaves_it_open),
		cmocka_unit_test(test_left_is_what_context_and_peak_leave),
		cmocka_unit_test(test_text_tells_what_is_left),
		cmocka_unit_test(test_text_names_each_verdict),
		cmocka_unit_test(test_json_has_all_of_it),
		cmocka_unit_test(test_jax_without_a_device_file_is_a_hint_where_no_gpu_was_used),
		cmocka_unit_test(test_a_failure_that_jax_may_hide_is_not_called_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
