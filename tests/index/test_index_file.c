/* index_file.c, index_directory.c, trace_index.c: what is made of an index that is not right. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis.h"
#include "crc32.h"
#include "index_file.h"
#include "index_trace.h"
#include "random_script.h"
#include "same_replay.h"
#include "scratch.h"
#include "trace_source.h"

#define TRACE "random.vscope"
#define INDEX "random.vscope.index"

/* A trace and its index, opened. */
struct opened {
	struct vs_reader *reader;
	struct vs_source source;
	struct vs_trace_index *index;
};

static void open_trace(struct opened *opened)
{
	assert_int_equal(vs_reader_open(&opened->reader, TRACE), 0);
	opened->source = vs_trace_source_make(opened->reader);
	assert_int_equal(vs_trace_index_open(&opened->index, TRACE, opened->reader), 0);
}

static void close_trace(struct opened *opened)
{
	vs_trace_index_close(opened->index);
	vs_reader_close(opened->reader);
}

static void make_index(void)
{
	struct vs_window all = {0, UINT64_MAX};
	struct vs_analysis analysis;
	struct opened opened;

	open_trace(&opened);
	assert_int_equal(vs_analysis_init_indexed(&analysis, &opened.source, &all, opened.index,
						  &(struct vs_wants){0}),
			 0);
	vs_analysis_fini(&analysis);
	assert_non_null(vs_trace_index_get(opened.index));
	close_trace(&opened);
}

static void make_trace(unsigned int seed)
{
	struct script script;

	unlink(INDEX);
	random_script_make(&script, seed, 2000);
	index_trace_write(&script, TRACE, 20);
	script_fini(&script);
	index_trace_plan(60, 0);
	make_index();
}

static bool is_used(void)
{
	struct opened opened;
	bool is;

	open_trace(&opened);
	is = vs_trace_index_get(opened.index) != NULL;
	close_trace(&opened);
	return is;
}

static void change_byte(uint64_t offset, uint8_t difference)
{
	int fd = open(INDEX, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= difference;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	close(fd);
}

static uint64_t get_size(void)
{
	struct stat st;

	assert_int_equal(stat(INDEX, &st), 0);
	return (uint64_t)st.st_size;
}

/* Header, and the directory behind it: whatever is changed there, it is not used, and made anew. */
static void test_damaged_front_is_not_used_and_is_made_anew(void **state)
{
	uint64_t front;

	(void)state;
	make_trace(1);
	{
		struct opened opened;

		open_trace(&opened);
		front = vs_trace_index_get(opened.index)->snapshots[0].offset;
		close_trace(&opened);
	}
	for (uint64_t at = 0; at < front; at += at < 64 ? 1 : 37) {
		change_byte(at, 1);
		assert_false(is_used());
		change_byte(at, 1);
	}
	assert_true(is_used());
	change_byte(front - 1, 0x80);
	make_index();
	assert_true(is_used());
}

static void test_index_of_another_version_is_not_used(void **state)
{
	(void)state;
	make_trace(2);
	/* The number of the version, with a checksum that is right for it. */
	for (int version = 0; version < 8; version++) {
		uint8_t header[VS_INDEX_FILE_HEADER_SIZE];
		int fd = open(INDEX, O_RDWR | O_CLOEXEC);
		uint32_t crc;

		assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
		header[8] = (uint8_t)version;
		crc = vs_crc32_add(0, header, sizeof(header) - 4);
		for (int i = 0; i < 4; i++)
			header[sizeof(header) - 4 + (size_t)i] = (uint8_t)(crc >> 8 * i);
		assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
		close(fd);
		assert_int_equal(is_used(), version == VS_INDEX_FILE_VERSION);
	}
	make_index();
	assert_true(is_used());
}

static void test_cut_index_is_not_used(void **state)
{
	uint64_t size;

	(void)state;
	make_trace(3);
	size = get_size();
	for (uint64_t left = 0; left < size; left += 1 + size / 50) {
		assert_int_equal(truncate(INDEX, (off_t)left), 0);
		assert_false(is_used());
		make_index();
		assert_int_equal(get_size(), size);
	}
}

static void test_index_of_an_earlier_state_of_the_trace_is_not_used(void **state)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};

	(void)state;
	make_trace(4);
	assert_true(is_used());
	assert_int_equal(utimensat(AT_FDCWD, TRACE, times, 0), 0);
	assert_false(is_used());
}

/* The state at a time by the way that the command line takes; the caller's to destroy. */
static struct vs_replay *go_to(struct vs_analysis *analysis, uint64_t time_ns)
{
	struct vs_instant instant = {.time_ns = time_ns};
	struct vs_replay *replay;

	assert_int_equal(vs_analysis_go_to(analysis, &instant, &replay), 0);
	return replay;
}

/* Each snapshot, or one that it is told from, is damaged: the state is right all the same. */
static void test_damaged_snapshot_is_noticed_and_the_long_way_is_taken(void **state)
{
	struct opened plain, opened;
	struct vs_analysis by_trace, by_index;
	struct vs_window all = {0, UINT64_MAX};
	uint64_t size, end_ns;

	(void)state;
	make_trace(5);
	size = get_size();
	open_trace(&plain);
	assert_int_equal(vs_analysis_init(&by_trace, &plain.source, &all), 0);
	end_ns = by_trace.duration_ns;
	for (uint64_t i = 1; i < 40; i++) {
		struct vs_replay *one, *other;
		bool is_there;

		make_index();
		change_byte(size - 1 - size * i / 60, 0x10);
		open_trace(&opened);
		is_there = vs_trace_index_get(opened.index) != NULL;
		/* Whether it is read by another thread or not. */
		if (i % 2)
			vs_trace_index_expect(opened.index, end_ns * i / 40);
		assert_int_equal(vs_analysis_init_indexed(&by_index, &opened.source, &all,
							  opened.index, &(struct vs_wants){0}),
				 0);
		one = go_to(&by_trace, end_ns * i / 40);
		other = go_to(&by_index, end_ns * i / 40);
		assert_same_replay(one, other);
		vs_replay_destroy(one);
		vs_replay_destroy(other);
		vs_analysis_fini(&by_index);
		close_trace(&opened);
		assert_true(is_there || access(INDEX, F_OK) == 0);
	}
	vs_analysis_fini(&by_trace);
	close_trace(&plain);
}

/* Thousands of instants: every one is that of a replay from the first record on. */
static void test_state_at_any_time_is_that_of_a_full_replay(void **state)
{
	(void)state;
	for (unsigned int seed = 100; seed < 124; seed++) {
		struct vs_window all = {0, UINT64_MAX};
		struct vs_analysis by_trace, by_index;
		struct opened plain, opened;
		unsigned int chance = seed;

		make_trace(seed);
		open_trace(&plain);
		open_trace(&opened);
		assert_int_equal(vs_analysis_init(&by_trace, &plain.source, &all), 0);
		vs_trace_index_expect(opened.index, by_trace.duration_ns / 2);
		assert_int_equal(vs_analysis_recall(&by_index, &opened.source, opened.index), 1);
		for (int i = 0; i < 100; i++) {
			uint64_t time_ns = (uint64_t)rand_r(&chance) % (by_trace.duration_ns + 10);
			struct vs_replay *one = go_to(&by_trace, time_ns), *other;

			/* Some are expected, some others are, some are not. */
			if (i % 3)
				vs_trace_index_expect(opened.index,
						      i % 3 == 1 ? time_ns : time_ns / 2);
			other = go_to(&by_index, time_ns);
			assert_same_replay(one, other);
			vs_replay_destroy(one);
			vs_replay_destroy(other);
		}
		assert_non_null(vs_trace_index_get(opened.index));
		/* And this one nobody waits for. */
		vs_trace_index_expect(opened.index, by_trace.duration_ns);
		vs_analysis_fini(&by_index);
		vs_analysis_fini(&by_trace);
		close_trace(&opened);
		close_trace(&plain);
	}
}

/* As much as is allowed and no more, wherever the limit is. */
static void test_index_is_as_small_as_it_has_to_be(void **state)
{
	struct script script;
	struct stat trace;
	uint64_t least = UINT64_MAX;

	(void)state;
	random_script_make(&script, 7, 4000);
	index_trace_write(&script, TRACE, 20);
	script_fini(&script);
	assert_int_equal(stat(TRACE, &trace), 0);
	for (uint64_t share = 1; share < 8; share++) {
		struct vs_window all = {0, UINT64_MAX};
		struct vs_analysis analysis;
		struct opened opened;

		unlink(INDEX);
		index_trace_plan(60, share);
		open_trace(&opened);
		assert_int_equal(vs_analysis_init_indexed(&analysis, &opened.source, &all,
							  opened.index, &(struct vs_wants){0}),
				 0);
		vs_analysis_fini(&analysis);
		if (vs_trace_index_get(opened.index)) {
			assert_true(get_size() <= (uint64_t)trace.st_size / share);
			assert_true(get_size() <= least);
			least = get_size();
		}
		close_trace(&opened);
	}
	assert_true(least < UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, vs_scratch_leave)
		TEST(test_damaged_front_is_not_used_and_is_made_anew),
		TEST(test_index_of_another_version_is_not_used),
		TEST(test_cut_index_is_not_used),
		TEST(test_index_of_an_earlier_state_of_the_trace_is_not_used),
		TEST(test_damaged_snapshot_is_noticed_and_the_long_way_is_taken),
		TEST(test_state_at_any_time_is_that_of_a_full_replay),
		TEST(test_index_is_as_small_as_it_has_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
