/* Commands say the same with an index as without, whatever the trace and the instant. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured_output.h"
#include "command.h"
#include "index_compare.h"
#include "index_trace.h"
#include "random_script.h"
#include "reader.h"
#include "scratch.h"

static void test_commands_say_the_same_of_random_traces(void **state)
{
	static const struct {
		size_t nr_records, nr_in_flush;
		uint64_t interval;
	} shapes[] = {{3000, 40, 100}, {3000, 7, 30}, {5000, 300, 400}, {2500, 100, 1400}};
	struct script script;

	(void)state;
	for (unsigned int seed = 0; seed < 16; seed++) {
		size_t shape = seed % 4;

		random_script_make(&script, 1000 + seed, shapes[shape].nr_records);
		index_trace_write(&script, "random.vscope", shapes[shape].nr_in_flush);
		script_fini(&script);
		index_trace_plan(shapes[shape].interval, 0);
		assert_index_changes_nothing("random.vscope", seed, 12);
	}
}

/* What failures are about is told by frames, which an index leaves out until they are needed. */
static void test_requests_of_jax_are_known_by_their_frames(void **state)
{
	static const uint64_t frames[] = {0x9100};
	uint64_t size = 1 << 20, sum = 0, large = 512ull << 20;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 8ull << 30);
	script_module(&script, 1, 0x9000, 0xa000, "/jax_plugins/xla_cuda12/xla_cuda_plugin.so");
	script_stack(&script, 9, frames, 1);
	script_set_stack(&script, 9);
	for (uint64_t i = 0; i < 400; i++, sum += size) {
		script_alloc(&script, VS_MEMORY_DEVICE, (1ull << 40) + sum, size);
		if (i % 50 != 49)
			continue;
		/* Refused, and asked for again in nine tenths, which are given. */
		script_fail(&script, large, 1 << 20, 8ull << 30);
		script_alloc(&script, VS_MEMORY_DEVICE, (1ull << 41) + i * (1ull << 30),
			     (large - large / 10 + 255) / 256 * 256);
	}
	index_trace_write(&script, "jax.vscope", 20);
	script_fini(&script);
	index_trace_plan(30, 0);
	assert_index_changes_nothing("jax.vscope", 7, 12);
}

/* Turns a bit in the block of the n-th record, so that nobody sees that the file has changed. */
static void damage(const char *path, unsigned int n)
{
	struct timespec times[2];
	struct vs_reader_block block;
	struct vs_reader *reader;
	struct vs_record record;
	struct stat before;
	uint8_t byte;
	int fd;

	assert_int_equal(vs_reader_open(&reader, path), 0);
	while (n--)
		assert_int_equal(vs_reader_next(reader, &record), 1);
	vs_reader_get_block(reader, &block);
	vs_reader_close(reader);
	assert_int_equal(stat(path, &before), 0);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)block.end - 1), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)block.end - 1), 1);
	close(fd);
	times[0] = before.st_atim;
	times[1] = before.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int get_status(const char *const *words)
{
	char *argv[8] = {0};
	int argc = 0, status;

	for (; *words; words++)
		argv[argc++] = (char *)*words; /* only their order changes */
	vs_capture_begin(STDERR_FILENO);
	status = vs_command_find(argv[0])->run(argc, argv);
	vs_capture_end();
	return status;
}

/* A block that cannot be read is seen by those who read it. */
static void test_an_instant_is_told_without_reading_the_rest(void **state)
{
	static const char *const quick[][7] = {
		{"report", "--at", "end", "t.vscope"},
		{"report", "--at", "peak", "t.vscope"},
		{"report", "--json", "--at", "3900us", "t.vscope"},
		{"map", "--at", "end", "t.vscope"},
		{"frag", "--at", "end", "t.vscope"},
		{"peak", "--at", "end", "t.vscope"},
		{"heatmap", "--at", "end", "-o", "t.svg", "t.vscope"},
		{"heatmap", "--at", "peak", "-o", "t.svg", "t.vscope"},
	};
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (uint64_t i = 0; i < 2000; i++) {
		script_alloc(&script, VS_MEMORY_DEVICE, (1ull << 40) + (i << 30), MIB + i);
		if (i % 8)
			script_free(&script, VS_MEMORY_DEVICE, (1ull << 40) + (i << 30));
	}
	index_trace_write(&script, "t.vscope", 100);
	script_fini(&script);
	index_trace_plan(200, 0);
	assert_int_equal(get_status((const char *[]){"report", "t.vscope", NULL}), VS_EXIT_DONE);
	damage("t.vscope", 1500);
	for (size_t i = 0; i < sizeof(quick) / sizeof(quick[0]); i++)
		assert_int_equal(get_status(quick[i]), VS_EXIT_DONE);
	assert_int_equal(get_status((const char *[]){"report", "t.vscope", NULL}), VS_EXIT_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands_say_the_same_of_random_traces,
						vs_scratch_enter, vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_requests_of_jax_are_known_by_their_frames,
						vs_scratch_enter, vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_an_instant_is_told_without_reading_the_rest,
						vs_scratch_enter, vs_scratch_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
