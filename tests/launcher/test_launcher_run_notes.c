#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_notes.h"
#include "scratch.h"

#define CARD                                                                    \
	"card cc=89 sms=128 threads=1536 memory=25249710080 context=402653184 " \
	"addresses=chunks backing=zero devices=2 profile=rtx4090 name=GeForce RTX 4090 x=y\n"

static struct vs_run_notes notes;

static int enter(void **state)
{
	int err = vs_scratch_enter(state);

	setenv("TMPDIR", vs_scratch_path(), 1);
	vs_run_notes_open(&notes);
	return err;
}

static int leave(void **state)
{
	vs_run_notes_close(&notes);
	return vs_scratch_leave(state);
}

static void write_notes(const char *text)
{
	FILE *file = fopen(getenv("SOFTGPU_NOTES"), "ae");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_program_is_told_of_the_file(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_string_equal(getenv("SOFTGPU_NOTES"), notes.path);
	assert_int_equal(access(notes.path, W_OK), 0);
	snprintf(path, sizeof(path), "%s", notes.path);
	vs_run_notes_close(&notes);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_card_is_read(void **state)
{
	(void)state;
	write_notes(CARD);
	assert_int_equal(vs_run_notes_read(&notes), 0);
	assert_true(notes.has_card);
	assert_int_equal(notes.compute_capability, 89);
	assert_int_equal(notes.nr_multiprocessors, 128);
	assert_int_equal(notes.threads_per_multiprocessor, 1536);
	assert_int_equal(notes.nr_devices, 2);
	assert_int_equal(notes.memory_size, 25249710080);
	assert_int_equal(notes.context_size, 402653184);
	assert_string_equal(notes.addresses, "chunks");
	assert_string_equal(notes.backing, "zero");
	assert_string_equal(notes.profile, "rtx4090");
	assert_string_equal(notes.name, "GeForce RTX 4090 x=y");
}

static void test_each_name_is_there_once(void **state)
{
	(void)state;
	write_notes("size cuDNN-workspace 0\nmissing cuThis\nsize cuFFT-work-area 8192\n");
	write_notes("size cuFFT-work-area 16384\nmissing cuThat\nmissing cuThis\n");
	write_notes("size cuDNN-workspace 0\n");
	assert_int_equal(vs_run_notes_read(&notes), 0);
	assert_int_equal(notes.nr_sizes, 2);
	assert_string_equal(notes.sizes[0].name, "cuDNN-workspace");
	assert_string_equal(notes.sizes[1].name, "cuFFT-work-area");
	assert_int_equal(notes.sizes[1].bytes, 16384);
	assert_int_equal(notes.nr_missing, 2);
	assert_string_equal(notes.missing[1], "cuThat");
}

static void test_what_is_no_note_is_left_out(void **state)
{
	(void)state;
	write_notes("card cc=89\nsize\nsize nothing\nhello\n\nmissing\ncard name=x\n");
	assert_int_equal(vs_run_notes_read(&notes), 0);
	assert_false(notes.has_card);
	assert_int_equal(notes.nr_sizes + notes.nr_missing, 0);
}

static void test_folder_that_cannot_be_written_gives_no_notes(void **state)
{
	struct vs_run_notes none;

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	setenv("SOFTGPU_NOTES", "another's", 1);
	vs_run_notes_open(&none);
	assert_null(getenv("SOFTGPU_NOTES"));
	assert_int_equal(vs_run_notes_read(&none), 0);
	assert_false(none.has_card);
	vs_run_notes_close(&none);
}

static void test_hint_of_the_import_hook_is_read(void **state)
{
	(void)state;
	write_notes("hint something-new\n");
	assert_int_equal(vs_run_notes_read(&notes), 0);
	assert_false(notes.jax_wants_file);
	write_notes("hint jax-device-file\n");
	assert_int_equal(vs_run_notes_read(&notes), 0);
	assert_true(notes.jax_wants_file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_program_is_told_of_the_file, enter, leave),
		cmocka_unit_test_setup_teardown(test_card_is_read, enter, leave),
		cmocka_unit_test_setup_teardown(test_each_name_is_there_once, enter, leave),
		cmocka_unit_test_setup_teardown(test_what_is_no_note_is_left_out, enter, leave),
		cmocka_unit_test_setup_teardown(test_hint_of_the_import_hook_is_read, enter, leave),
		cmocka_unit_test_setup_teardown(test_folder_that_cannot_be_written_gives_no_notes,
						enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
