#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "fold.h"
#include "pair_maker.h"

#define NR_CHUNKS 16

/* As a killed program leaves it: some records in blocks, some in the log. */
static void make_pair(struct vs_pair_maker *maker, uint32_t nr_in_blocks, uint32_t nr_in_log)
{
	vs_pair_maker_init(maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < nr_in_blocks + nr_in_log; i++)
		assert_true(vs_pair_maker_push_random(maker));
	vs_pair_maker_drain(maker, nr_in_blocks);
	vs_pair_maker_flush(maker);
	vs_pair_maker_release(maker);
	atomic_store(&maker->live->nr_lost, 7);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void test_pair_becomes_one_clean_trace(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct stat st;

	(void)state;
	make_pair(&maker, 60, 100);
	vs_pair_maker_drop(&maker);
	assert_int_equal(vs_fold_trace(maker.path), 0);
	assert_false(exists(maker.live_path));
	vs_pair_maker_expect_all(&maker, &seen);
	assert_false(seen.used_log);
	assert_false(seen.is_complete); /* it was killed all the same */
	assert_int_equal(seen.nr_lost, 7);
	assert_int_equal(stat(maker.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	vs_pair_maker_fini(&maker);
}

static void test_folding_again_changes_nothing(void **state)
{
	struct vs_pair_maker maker;
	size_t size, size_again;
	uint8_t *bytes, *again;

	(void)state;
	make_pair(&maker, 10, 10);
	vs_pair_maker_drop(&maker);
	assert_int_equal(vs_fold_trace(maker.path), 0);
	bytes = vs_pair_maker_load(maker.path, &size);
	assert_int_equal(vs_fold_trace(maker.path), 0);
	again = vs_pair_maker_load(maker.path, &size_again);
	assert_int_equal(size, size_again);
	assert_memory_equal(bytes, again, size);
	free(bytes);
	free(again);
	vs_pair_maker_fini(&maker);
}

/* Whatever the kill cut off the last block, the log still has it. */
static void test_block_cut_by_the_kill_is_made_whole(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	uint8_t *bytes, *log;
	size_t size, log_size, before;

	(void)state;
	make_pair(&maker, 10, 20);
	free(vs_pair_maker_load(maker.path, &before));
	vs_pair_maker_drain(&maker, 15);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_drop(&maker);
	bytes = vs_pair_maker_load(maker.path, &size);
	log = vs_pair_maker_load(maker.live_path, &log_size);
	for (size_t cut = before; cut < size; cut += 13) {
		vs_pair_maker_save(maker.path, bytes, cut);
		vs_pair_maker_save(maker.live_path, log, log_size);
		assert_int_equal(vs_fold_trace(maker.path), 0);
		vs_pair_maker_expect_all(&maker, &seen);
		assert_false(exists(maker.live_path));
	}
	free(bytes);
	free(log);
	vs_pair_maker_fini(&maker);
}

static void test_log_left_behind_a_complete_trace_is_removed(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;

	(void)state;
	make_pair(&maker, 10, 0);
	assert_int_equal(vs_writer_close(maker.writer, 0), 0);
	maker.writer = NULL;
	assert_int_equal(vs_fold_trace(maker.path), 0);
	assert_false(exists(maker.live_path));
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
	vs_pair_maker_fini(&maker);
}

/* Expects the error and both files as they were. */
static void expect_untouched(struct vs_pair_maker *maker, int err)
{
	size_t size, log_size, size_after, log_size_after;
	uint8_t *bytes = vs_pair_maker_load(maker->path, &size);
	uint8_t *log = vs_pair_maker_load(maker->live_path, &log_size);
	uint8_t *bytes_after, *log_after;

	assert_int_equal(vs_fold_trace(maker->path), err);
	bytes_after = vs_pair_maker_load(maker->path, &size_after);
	log_after = vs_pair_maker_load(maker->live_path, &log_size_after);
	assert_int_equal(size, size_after);
	assert_int_equal(log_size, log_size_after);
	assert_memory_equal(bytes, bytes_after, size);
	assert_memory_equal(log, log_after, log_size);
	free(bytes);
	free(log);
	free(bytes_after);
	free(log_after);
}

static void test_running_program_keeps_its_files(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	make_pair(&maker, 10, 10);
	maker.live->pid = (uint32_t)getpid();
	expect_untouched(&maker, -VS_ERR_RUNNING);
	vs_pair_maker_fini(&maker);
}

static void test_log_of_another_run_stays_alone(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	make_pair(&maker, 10, 10);
	maker.live->identity[0] ^= 1;
	expect_untouched(&maker, 0);
	vs_pair_maker_fini(&maker);
}

static void test_missing_records_stop_the_folding(void **state)
{
	struct vs_pair_maker maker;
	size_t before;
	uint8_t *bytes;

	(void)state;
	make_pair(&maker, 10, 10);
	bytes = vs_pair_maker_load(maker.path, &before);
	while (vs_pair_maker_push_random(&maker))
		;
	vs_pair_maker_drain(&maker, UINT32_MAX);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker); /* chunks are gone that only the trace has now */
	vs_pair_maker_save(maker.path, bytes, before);
	expect_untouched(&maker, -VS_ERR_CORRUPT);
	free(bytes);
	vs_pair_maker_fini(&maker);
}

static void test_records_of_a_later_version_stop_the_folding(void **state)
{
	const struct vs_record step = {.type = VS_RECORD_STEP};
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	assert_true(vs_pair_maker_push(&maker, 1, &step));
	((uint8_t *)vs_pair_maker_get_chunk(&maker, 0))[VS_LIVE_CHUNK_HEAD] = 99;
	expect_untouched(&maker, -VS_ERR_NEWER);
	vs_pair_maker_fini(&maker);
}

/* Its nodes and events go on where those of the trace end. */
static void test_long_log_becomes_several_blocks(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;

	(void)state;
	vs_pair_maker_init(&maker, 600, true);
	for (uint32_t i = 0; i < 20000; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	vs_pair_maker_drain(&maker, 3000);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker);
	vs_pair_maker_drop(&maker);
	assert_int_equal(vs_fold_trace(maker.path), 0);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_int_equal(seen.nr_records, 20000);
	assert_false(seen.used_log);
	vs_pair_maker_fini(&maker);
}

static void test_full_disk_leaves_both_files_and_nothing_else(void **state)
{
	struct rlimit limit, small;
	struct vs_pair_maker maker;
	struct vs_reader_state seen;

	(void)state;
	make_pair(&maker, 30, 200);
	vs_pair_maker_drop(&maker);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	for (rlim_t size = 0; size < 3000; size += 500) {
		small = limit;
		small.rlim_cur = size;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		expect_untouched(&maker, -VS_ERR_IO);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	}
	vs_pair_maker_expect_all(&maker, &seen);
	vs_pair_maker_fini(&maker); /* finds the folder as it should be */
}

static void test_what_is_no_trace_is_refused(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	assert_int_equal(vs_fold_trace("/nonexistent/t"), -VS_ERR_IO);
	assert_int_equal(vs_fold_trace("/dev/null"), -VS_ERR_EMPTY);
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(vs_fold_trace(maker.folder), -VS_ERR_IO);
	vs_pair_maker_fini(&maker);
}

static void test_trace_without_a_log_is_left_alone(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	vs_pair_maker_add_random(&maker);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_fold_trace(maker.path), 0);
	vs_pair_maker_fini(&maker);
}

/* Bytes that this process has read so far: proc(5). */
static uint64_t get_nr_read(void)
{
	unsigned long long nr = 0;
	FILE *file = fopen("/proc/self/io", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "rchar: %llu", &nr), 1);
	fclose(file);
	return nr;
}

/* Who ran the program waits for this, and its trace may be long. */
static void test_trace_without_a_log_is_not_read(void **state)
{
	struct vs_pair_maker maker;
	struct stat st;
	uint64_t before;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	for (uint32_t i = 0; i < 1000; i++) {
		vs_pair_maker_add_random(&maker);
		vs_pair_maker_flush(&maker);
	}
	assert_int_equal(stat(maker.path, &st), 0);
	assert_true(st.st_size > 50000);
	before = get_nr_read();
	assert_int_equal(vs_fold_trace(maker.path), 0);
	assert_true(get_nr_read() - before < 10000);
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair_becomes_one_clean_trace),
		cmocka_unit_test(test_folding_again_changes_nothing),
		cmocka_unit_test(test_block_cut_by_the_kill_is_made_whole),
		cmocka_unit_test(test_log_left_behind_a_complete_trace_is_removed),
		cmocka_unit_test(test_running_program_keeps_its_files),
		cmocka_unit_test(test_log_of_another_run_stays_alone),
		cmocka_unit_test(test_missing_records_stop_the_folding),
		cmocka_unit_test(test_records_of_a_later_version_stop_the_folding),
		cmocka_unit_test(test_long_log_becomes_several_blocks),
		cmocka_unit_test(test_full_disk_leaves_both_files_and_nothing_else),
		cmocka_unit_test(test_what_is_no_trace_is_refused),
		cmocka_unit_test(test_trace_without_a_log_is_left_alone),
		cmocka_unit_test(test_trace_without_a_log_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
