#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "rig.h"

#define CHUNK SG_ARENA_CHUNK

/* A new arena for each test. None is ever given up: an arena lives as long as its process. */
static struct sg_arena arenas[20], *arena = arenas;

static int begin(void **state)
{
	(void)state;
	arena++;
	sg_arena_init(arena, "test-arena");
	return 0;
}

static char *bytes_of(const struct sg_extent *chunk)
{
	return (char *)(uintptr_t)chunk->node.base;
}

/* Host memory behind the arena's file. */
static size_t get_kept(void)
{
	struct stat st;

	assert_int_equal(fstat(arena->fd, &st), 0);
	return (size_t)st.st_blocks * 512;
}

static void discard(const struct sg_extent *chunk, uint64_t offset, uint64_t size)
{
	uint64_t address = chunk->node.base + offset;

	sg_arena_discard(sg_arena_locate(arena, chunk, address), address, size);
}

static void test_arena_opens_nothing_before_it_is_used(void **state)
{
	(void)state;
	assert_int_equal(arena->fd, -1);
	assert_false(arena->is_open);
}

static void test_sizes_are_rounded_up_to_chunks(void **state)
{
	(void)state;
	assert_int_equal(sg_arena_take(arena, 1)->node.size, CHUNK);
	assert_int_equal(sg_arena_take(arena, CHUNK)->node.size, CHUNK);
	assert_int_equal(sg_arena_take(arena, CHUNK + 1)->node.size, 2 * CHUNK);
}

static void test_chunks_are_aligned_and_go_downwards(void **state)
{
	struct sg_extent *last = sg_arena_take(arena, CHUNK);

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t size = (uint64_t)(1 + i % 3) * CHUNK;
		struct sg_extent *next = sg_arena_take(arena, size);

		assert_non_null(next);
		assert_int_equal(next->node.base % CHUNK, 0);
		assert_int_equal(next->node.base + size, last->node.base);
		last = next;
	}
}

static void test_given_chunk_is_taken_again(void **state)
{
	struct sg_extent *first = sg_arena_take(arena, CHUNK), *second;
	uint64_t base = first->node.base;

	(void)state;
	second = sg_arena_take(arena, CHUNK);
	sg_arena_give(arena, first);
	assert_int_equal(sg_arena_take(arena, CHUNK)->node.base, base);
	assert_true(second->node.base < base);
}

static void test_untouched_memory_costs_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++)
		assert_non_null(sg_arena_take(arena, GIB));
	assert_int_equal(get_kept(), 0);
}

static void test_touched_memory_costs_what_was_touched(void **state)
{
	struct sg_extent *chunk = sg_arena_take(arena, GIB);

	(void)state;
	memset(bytes_of(chunk) + 100 * MIB, 1, MIB);
	assert_int_equal(get_kept(), MIB);
	discard(chunk, 0, GIB);
	assert_int_equal(get_kept(), 0);
}

static void test_new_memory_reads_as_zero(void **state)
{
	struct sg_extent *chunk = sg_arena_take(arena, CHUNK);

	(void)state;
	for (uint64_t i = 0; i < CHUNK; i += 4095)
		assert_int_equal(bytes_of(chunk)[i], 0);
}

/* Bytes 0x11 everywhere, part of them discarded: exactly those are zero. */
static void check_discard(uint64_t offset, uint64_t size)
{
	struct sg_extent *chunk = sg_arena_take(arena, CHUNK);
	const size_t length = 10 * 4096;
	char *bytes = bytes_of(chunk);

	memset(bytes, 0x11, length);
	discard(chunk, offset, size);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(bytes[i], i >= offset && i < offset + size ? 0 : 0x11);
	discard(chunk, 0, length);
	sg_arena_give(arena, chunk);
}

static void test_discard_clears_exactly_the_range(void **state)
{
	(void)state;
	check_discard(0, 1);
	check_discard(4095, 1);
	check_discard(4095, 2);
	check_discard(100, 3996);
	check_discard(4096, 4096);
	check_discard(1, 4096);
	check_discard(100, 8092);
	check_discard(4000, 20000);
	check_discard(8192, 4 * 4096);
	check_discard(0, 10 * 4096);
	check_discard(5000, 0);
}

static void test_discard_gives_whole_pages_back(void **state)
{
	struct sg_extent *chunk = sg_arena_take(arena, CHUNK);

	(void)state;
	memset(bytes_of(chunk), 1, 100 * 4096);
	discard(chunk, 10, 100 * 4096 - 20);
	assert_int_equal(get_kept(), 2 * 4096);
}

static void test_place_names_the_byte_in_the_file(void **state)
{
	char seen[5] = "";

	(void)state;
	/* More than one stretch of addresses: each begins elsewhere in the file. */
	for (int i = 0; i < 3; i++) {
		struct sg_extent *chunk = sg_arena_take(arena, 200 * GIB);
		uint64_t address = chunk->node.base + 123456789;
		struct sg_arena_place place = sg_arena_locate(arena, chunk, address);

		memcpy((char *)(uintptr_t)address, "byte", 4);
		assert_int_equal(pread(place.fd, seen, 4, (off_t)place.offset), 4);
		assert_string_equal(seen, "byte");
		memset(seen, 0, sizeof(seen));
	}
}

static void test_more_than_there_are_addresses_is_refused(void **state)
{
	(void)state;
	assert_null(sg_arena_take(arena, UINT64_MAX));
	assert_null(sg_arena_take(arena, ((uint64_t)1 << 46) + 1));
	/* and nothing is broken by it */
	assert_non_null(sg_arena_take(arena, CHUNK));
}

static void test_addresses_never_run_out_while_chunks_come_back(void **state)
{
	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct sg_extent *chunk = sg_arena_take(arena, 100 * GIB);

		assert_non_null(chunk);
		sg_arena_give(arena, chunk);
	}
	assert_true(arena->file_size <= 512 * GIB);
}

/* Runs a check in a child, whose limits are its own; 0 if all was well. */
static int run_with_small_files(rlim_t limit, int (*check)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit limits = {limit, limit};

		_exit(setrlimit(RLIMIT_FSIZE, &limits) < 0 ? 100 : check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int check_anonymous(void)
{
	struct sg_extent *chunk = sg_arena_take(arena, CHUNK);
	char *bytes;

	if (!chunk || arena->fd != -1)
		return 1;
	bytes = bytes_of(chunk);
	if (bytes[0] || bytes[CHUNK - 1])
		return 2;
	memset(bytes, 1, 10 * 4096);
	discard(chunk, 100, 9 * 4096);
	if (bytes[99] != 1 || bytes[100] || bytes[100 + 9 * 4096 - 1] || bytes[100 + 9 * 4096] != 1)
		return 3;
	return sg_arena_locate(arena, chunk, chunk->node.base).fd == -1 ? 0 : 4;
}

static void test_anonymous_memory_where_files_may_not_be_large(void **state)
{
	(void)state;
	/* Growing a file beyond the limit would end the process: SIGXFSZ. */
	assert_int_equal(run_with_small_files(1 << 20, check_anonymous), 0);
	assert_int_equal(run_with_small_files(0, check_anonymous), 0);
}

/* In a process of its own: in this one the tests before have taken all the addresses. */
static void play_few_addresses(void **state)
{
	const struct rlimit limits = {4 * GIB, 4 * GIB};
	struct sg_extent *first, *second;

	(void)state;
	sg_arena_init(arena, "test-arena");
	assert_int_equal(setrlimit(RLIMIT_AS, &limits), 0);
	first = sg_arena_take(arena, CHUNK);
	assert_non_null(first);
	second = sg_arena_take(arena, CHUNK);
	assert_non_null(second);
	assert_int_not_equal(first->node.base, second->node.base);
	memset(bytes_of(first), 1, CHUNK);
	assert_int_equal(bytes_of(second)[0], 0);
	/* More than the limit is refused, and later ones are still served. */
	assert_null(sg_arena_take(arena, 64 * GIB));
	assert_non_null(sg_arena_take(arena, CHUNK));
}

static void test_fewer_addresses_where_they_are_limited(void **state)
{
	(void)state;
	/* Sanitizers need terabytes of addresses for themselves. */
	if (SG_RIG_IS_SANITIZED) {
		print_message("sanitizers need the addresses themselves\n");
		skip();
	}
	SG_RIG_RUN("few_addresses", NULL);
}

static void test_file_descriptor_is_out_of_the_way(void **state)
{
	(void)state;
	assert_non_null(sg_arena_take(arena, CHUNK));
	/* Programs that number their own descriptors begin with small numbers. */
	assert_true(arena->fd >= 512);
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {{"few_addresses", play_few_addresses}};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_arena_opens_nothing_before_it_is_used, begin),
		cmocka_unit_test_setup(test_sizes_are_rounded_up_to_chunks, begin),
		cmocka_unit_test_setup(test_chunks_are_aligned_and_go_downwards, begin),
		cmocka_unit_test_setup(test_given_chunk_is_taken_again, begin),
		cmocka_unit_test_setup(test_untouched_memory_costs_nothing, begin),
		cmocka_unit_test_setup(test_touched_memory_costs_what_was_touched, begin),
		cmocka_unit_test_setup(test_new_memory_reads_as_zero, begin),
		cmocka_unit_test_setup(test_discard_clears_exactly_the_range, begin),
		cmocka_unit_test_setup(test_discard_gives_whole_pages_back, begin),
		cmocka_unit_test_setup(test_place_names_the_byte_in_the_file, begin),
		cmocka_unit_test_setup(test_more_than_there_are_addresses_is_refused, begin),
		cmocka_unit_test_setup(test_addresses_never_run_out_while_chunks_come_back, begin),
		cmocka_unit_test_setup(test_anonymous_memory_where_files_may_not_be_large, begin),
		cmocka_unit_test_setup(test_fewer_addresses_where_they_are_limited, begin),
		cmocka_unit_test_setup(test_file_descriptor_is_out_of_the_way, begin),
	};
	int played = SG_RIG_PLAY(argc, argv, scenes);

	if (played >= 0)
		return played;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
