#include <errno.h>
#include <fcntl.h>
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

/* A killed program's pair; the number of events that only the log has goes into *nr_in_log. */
static void make_pair(struct vs_pair_maker *maker, uint32_t nr_in_blocks, uint32_t nr_pushed,
		      uint32_t *nr_in_log)
{
	uint32_t nr_events;

	vs_pair_maker_init(maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < nr_in_blocks; i++)
		assert_true(vs_pair_maker_push_random(maker));
	vs_pair_maker_drain(maker, UINT32_MAX);
	vs_pair_maker_flush(maker);
	vs_pair_maker_release(maker);
	nr_events = maker->events.nr;
	for (uint32_t i = 0; i < nr_pushed; i++)
		assert_true(vs_pair_maker_push_random(maker));
	*nr_in_log = maker->events.nr - nr_events;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A file, to see later whether it is still the same. */
struct copy {
	const char *path;
	uint8_t *bytes;
	size_t size;
};

static struct copy keep(const char *path)
{
	struct copy copy = {.path = path};

	copy.bytes = vs_pair_maker_load(path, &copy.size);
	return copy;
}

static void expect_same(struct copy *copy)
{
	size_t size;
	uint8_t *bytes = vs_pair_maker_load(copy->path, &size);

	assert_int_equal(size, copy->size);
	assert_memory_equal(bytes, copy->bytes, size);
	free(bytes);
	free(copy->bytes);
}

/* Reads a trace to its end; returns the number of its events. */
static uint32_t count_events(const char *path, struct vs_reader_state *state)
{
	struct vs_reader *reader;
	struct vs_record record;
	uint32_t nr_events = 0;
	int ret;

	assert_int_equal(vs_reader_open(&reader, path), 0);
	while ((ret = vs_reader_next(reader, &record)) != 0)
		nr_events += ret == 1 && vs_record_is_event(record.type);
	vs_reader_get_state(reader, state);
	vs_reader_close(reader);
	return nr_events;
}

static void test_pair_is_folded_in_place(void **state)
{
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	uint32_t nr_in_log;

	(void)state;
	make_pair(&maker, 60, 100, &nr_in_log);
	vs_pair_maker_drop(&maker);
	assert_int_equal(vs_fold_recover(&(struct vs_fold_request){.path = maker.path}, &result),
			 0);
	assert_false(result.had_end);
	assert_int_equal(result.nr_events, nr_in_log);
	assert_false(exists(maker.live_path));
	vs_pair_maker_expect_all(&maker, &seen);
	assert_false(seen.used_log);
	assert_true(seen.has_end);
	/* Again: there is nothing left to do. */
	assert_int_equal(vs_fold_recover(&(struct vs_fold_request){.path = maker.path}, &result),
			 0);
	assert_true(result.had_end);
	assert_int_equal(result.nr_events, 0);
	vs_pair_maker_fini(&maker);
}

static void test_output_leaves_the_pair_as_it_is(void **state)
{
	char output[128];
	struct vs_fold_request request = {.output = output};
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct copy trace, log, folded;
	uint32_t nr_in_log, nr_events;

	(void)state;
	make_pair(&maker, 60, 100, &nr_in_log);
	nr_events = maker.events.nr;
	vs_pair_maker_drop(&maker);
	trace = keep(maker.path);
	log = keep(maker.live_path);
	snprintf(output, sizeof(output), "%s/new", maker.folder);
	request.path = maker.path;
	vs_pair_maker_save(output, (const uint8_t *)"old", 3);
	assert_int_equal(vs_fold_recover(&request, &result), 0);
	assert_int_equal(result.nr_events, nr_in_log);
	expect_same(&trace);
	expect_same(&log);
	folded = keep(output);
	assert_int_equal(count_events(output, &seen), nr_events);
	assert_false(seen.is_damaged);
	assert_false(seen.used_log);
	/* The same as in place. */
	request.output = NULL;
	assert_int_equal(vs_fold_recover(&request, &result), 0);
	assert_int_equal(rename(maker.path, output), 0);
	expect_same(&folded);
	unlink(output);
	vs_pair_maker_fini(&maker);
}

static void test_trace_with_its_end_is_copied(void **state)
{
	char output[128];
	struct vs_fold_request request = {.output = output};
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct copy trace;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	for (uint32_t i = 0; i < 50; i++)
		vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	snprintf(output, sizeof(output), "%s/new", maker.folder);
	request.path = maker.path;
	trace = keep(maker.path);
	assert_int_equal(vs_fold_recover(&request, &result), 0);
	assert_true(result.had_end);
	trace.path = output;
	expect_same(&trace);
	unlink(output);
	vs_pair_maker_fini(&maker);
}

static void test_log_may_be_anywhere_if_it_is_named(void **state)
{
	char elsewhere[128];
	struct vs_fold_request request = {0};
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	uint32_t nr_in_log;

	(void)state;
	make_pair(&maker, 10, 20, &nr_in_log);
	vs_pair_maker_drop(&maker);
	snprintf(elsewhere, sizeof(elsewhere), "%s/log", maker.folder);
	assert_int_equal(rename(maker.live_path, elsewhere), 0);
	request.path = maker.path;
	assert_int_equal(vs_fold_recover(&request, &result), -VS_ERR_TRUNCATED);
	request.log_path = elsewhere;
	assert_int_equal(vs_fold_recover(&request, &result), 0);
	assert_int_equal(result.nr_events, nr_in_log);
	assert_false(exists(elsewhere));
	vs_pair_maker_expect_all(&maker, &seen);
	vs_pair_maker_fini(&maker);
}

static void test_trace_without_end_and_log_cannot_be_helped(void **state)
{
	char output[128];
	struct vs_fold_request request = {.output = output};
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct copy trace, log;
	uint32_t nr_in_log;

	(void)state;
	make_pair(&maker, 10, 20, &nr_in_log);
	maker.live->identity[0] ^= 1;
	vs_pair_maker_drop(&maker);
	trace = keep(maker.path);
	log = keep(maker.live_path);
	snprintf(output, sizeof(output), "%s/new", maker.folder);
	request.path = maker.path;
	assert_int_equal(vs_fold_recover(&request, &result), -VS_ERR_TRUNCATED);
	request.log_path = maker.live_path;
	assert_int_equal(vs_fold_recover(&request, &result), -VS_ERR_TRUNCATED);
	assert_false(exists(output));
	expect_same(&trace);
	expect_same(&log);
	vs_pair_maker_fini(&maker);
}

static void test_running_program_is_left_alone(void **state)
{
	char output[128];
	struct vs_fold_request request = {.output = output};
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	uint32_t nr_in_log;

	(void)state;
	make_pair(&maker, 10, 20, &nr_in_log);
	maker.live->pid = (uint32_t)getpid();
	vs_pair_maker_drop(&maker);
	snprintf(output, sizeof(output), "%s/new", maker.folder);
	request.path = maker.path;
	assert_int_equal(vs_fold_recover(&request, &result), -VS_ERR_RUNNING);
	assert_false(exists(output));
	assert_true(exists(maker.live_path));
	vs_pair_maker_fini(&maker);
}

/* The first record in the second half of a chunk: whatever lies there, its head is damaged. */
static uint8_t *find_middle(struct vs_live_chunk *chunk)
{
	uint32_t at = VS_LIVE_CHUNK_HEAD;

	while (at < chunk->end / 2)
		at += ((struct vs_live_record *)(void *)((uint8_t *)chunk + at))->size;
	return (uint8_t *)chunk + at;
}

/* vs_fold_trace refuses these. */
static void test_what_is_left_of_a_damaged_log_is_kept(void **state)
{
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct vs_reader_state before, after;
	uint32_t nr_in_log, nr_readable, gone = 0, damaged = 0;

	(void)state;
	make_pair(&maker, 10, 0, &nr_in_log);
	while (vs_pair_maker_push_random(&maker))
		;
	/* A chunk that is not its ring's last is gone, another one is garbage from some point on.
	 */
	for (uint32_t i = 0; i < NR_CHUNKS; i++) {
		struct vs_live_chunk *chunk = vs_pair_maker_get_chunk(&maker, i);
		uint32_t ring = chunk->ring;

		if (!ring)
			continue;
		if (!gone && maker.rings[ring].chunk != i) {
			gone = ring;
			chunk->ring = 0;
		} else if (!damaged && ring != gone && maker.rings[ring].chunk == i) {
			damaged = ring;
			memset(find_middle(chunk), 0xff, VS_LIVE_RECORD_HEAD);
		}
	}
	assert_true(gone && damaged);
	vs_pair_maker_drop(&maker);
	assert_int_equal(vs_fold_trace(maker.path), -VS_ERR_CORRUPT);
	nr_readable = count_events(maker.path, &before);
	assert_true(before.nr_bad_in_log >= 2);
	assert_int_equal(vs_fold_recover(&(struct vs_fold_request){.path = maker.path}, &result),
			 0);
	assert_false(exists(maker.live_path));
	assert_int_equal(count_events(maker.path, &after), nr_readable);
	assert_true(after.has_end);
	assert_true(after.nr_gaps > 0); /* what is missing shows for ever */
	vs_pair_maker_fini(&maker);
}

static void test_damaged_block_stays_and_the_rest_is_folded(void **state)
{
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	struct vs_reader_state before, after;
	uint32_t nr_in_log, nr_readable;
	int fd;

	(void)state;
	make_pair(&maker, 200, 100, &nr_in_log);
	vs_pair_maker_drop(&maker);
	/* Somewhere in the first block behind INFO. */
	fd = open(maker.path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "damage", 6, 400), 6);
	close(fd);
	nr_readable = count_events(maker.path, &before);
	assert_int_equal(before.nr_bad_blocks, 1);
	assert_int_equal(vs_fold_recover(&(struct vs_fold_request){.path = maker.path}, &result),
			 0);
	assert_int_equal(result.nr_events, nr_in_log);
	assert_int_equal(count_events(maker.path, &after), nr_readable);
	assert_int_equal(after.nr_bad_blocks, 1);
	assert_false(exists(maker.live_path));
	vs_pair_maker_fini(&maker);
}

static void test_records_of_a_later_version_are_not_thrown_away(void **state)
{
	const struct vs_record step = {.type = VS_RECORD_STEP};
	struct vs_fold_result result;
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	assert_true(vs_pair_maker_push(&maker, 1, &step));
	((uint8_t *)vs_pair_maker_get_chunk(&maker, 0))[VS_LIVE_CHUNK_HEAD] = 99;
	vs_pair_maker_drop(&maker);
	assert_int_equal(vs_fold_recover(&(struct vs_fold_request){.path = maker.path}, &result),
			 -VS_ERR_NEWER);
	assert_true(exists(maker.live_path));
	vs_pair_maker_fini(&maker);
}

static void test_output_that_cannot_be_made_is_told_from_other_errors(void **state)
{
	struct vs_fold_request request = {.output = "/nonexistent/folder/new"};
	struct vs_fold_result result;
	struct vs_pair_maker maker;
	uint32_t nr_in_log;

	(void)state;
	make_pair(&maker, 10, 20, &nr_in_log);
	vs_pair_maker_drop(&maker);
	request.path = maker.path;
	assert_int_equal(vs_fold_recover(&request, &result), -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	assert_true(result.has_no_output);
	request.path = "/nonexistent/trace";
	assert_int_equal(vs_fold_recover(&request, &result), -VS_ERR_IO);
	assert_false(result.has_no_output);
	assert_true(exists(maker.live_path));
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair_is_folded_in_place),
		cmocka_unit_test(test_output_leaves_the_pair_as_it_is),
		cmocka_unit_test(test_trace_with_its_end_is_copied),
		cmocka_unit_test(test_log_may_be_anywhere_if_it_is_named),
		cmocka_unit_test(test_trace_without_end_and_log_cannot_be_helped),
		cmocka_unit_test(test_running_program_is_left_alone),
		cmocka_unit_test(test_what_is_left_of_a_damaged_log_is_kept),
		cmocka_unit_test(test_damaged_block_stays_and_the_rest_is_folded),
		cmocka_unit_test(test_records_of_a_later_version_are_not_thrown_away),
		cmocka_unit_test(test_output_that_cannot_be_made_is_told_from_other_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
