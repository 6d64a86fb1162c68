/* reader.c: reading a part of a trace again. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec.h"
#include "index_trace.h"
#include "random_script.h"
#include "reader.h"
#include "scratch.h"

#define PATH "seek.vscope"

/* Everything that was read, and from where. */
struct reading {
	struct vs_reader *reader;
	struct {
		struct vs_reader_block block;
		bool is_definition;
		uint8_t bytes[VS_CODEC_MAX];
		size_t size;
	} * records;
	size_t nr;
};

static void read_trace(struct reading *reading, const struct script *script)
{
	struct vs_record record;

	memset(reading, 0, sizeof(*reading));
	reading->records = calloc(script->nr_records, sizeof(reading->records[0]));
	assert_non_null(reading->records);
	assert_int_equal(vs_reader_open(&reading->reader, PATH), 0);
	while (vs_reader_next(reading->reader, &record) == 1) {
		size_t i = reading->nr++;

		vs_reader_get_block(reading->reader, &reading->records[i].block);
		reading->records[i].is_definition = !vs_record_is_event(record.type);
		reading->records[i].size = vs_codec_put_record(reading->records[i].bytes, &record);
	}
	assert_int_equal(reading->nr, script->nr_records);
}

static void end_reading(struct reading *reading)
{
	vs_reader_close(reading->reader);
	free(reading->records);
}

static void assert_next(struct reading *reading, size_t i)
{
	uint8_t bytes[VS_CODEC_MAX];
	struct vs_record record;

	assert_int_equal(vs_reader_next(reading->reader, &record), 1);
	assert_int_equal(vs_codec_put_record(bytes, &record), reading->records[i].size);
	assert_memory_equal(bytes, reading->records[i].bytes, reading->records[i].size);
}

static bool is_first_of_block(const struct reading *reading, size_t i)
{
	return !i || reading->records[i - 1].block.offset != reading->records[i].block.offset;
}

/* The blocks with definitions before a record, one by one. */
static void read_definitions(struct reading *reading, size_t before)
{
	struct vs_record record;

	assert_int_equal(vs_reader_rewind(reading->reader), 0);
	for (size_t i = 0; i < before; i++) {
		if (!reading->records[i].is_definition)
			continue;
		if (is_first_of_block(reading, i))
			assert_int_equal(vs_reader_seek(reading->reader, &reading->records[i].block,
							reading->records[i].block.end),
					 0);
		assert_next(reading, i);
		if (!is_first_of_block(reading, i + 1))
			continue;
		assert_int_equal(vs_reader_next(reading->reader, &record), 0);
	}
}

static void make_trace(struct script *script, size_t nr_records)
{
	random_script_make(script, 7, nr_records);
	index_trace_write(script, PATH, 60);
}

static void test_from_any_block_on_comes_what_came_before(void **state)
{
	struct reading reading;
	struct vs_record record;
	struct script script;
	size_t nr_blocks = 0;

	(void)state;
	make_trace(&script, 1200);
	read_trace(&reading, &script);
	assert_true(vs_reader_can_seek(reading.reader));
	for (size_t i = 0; i < reading.nr; i++) {
		if (!is_first_of_block(&reading, i))
			continue;
		nr_blocks++;
		read_definitions(&reading, i);
		assert_int_equal(
			vs_reader_seek(reading.reader, &reading.records[i].block, UINT64_MAX), 0);
		for (size_t k = i; k < reading.nr; k++)
			assert_next(&reading, k);
		assert_int_equal(vs_reader_next(reading.reader, &record), 0);
	}
	assert_true(nr_blocks > 30);
	end_reading(&reading);
	script_fini(&script);
}

static void test_rewound_reader_gives_everything_again(void **state)
{
	struct vs_reader_state reader_state;
	struct reading reading;
	struct vs_record record;
	struct script script;

	(void)state;
	make_trace(&script, 600);
	read_trace(&reading, &script);
	assert_int_equal(vs_reader_seek(reading.reader, &reading.records[300].block, UINT64_MAX),
			 0);
	assert_int_equal(vs_reader_next(reading.reader, &record), 1);
	assert_int_equal(vs_reader_rewind(reading.reader), 0);
	for (size_t i = 0; i < reading.nr; i++)
		assert_next(&reading, i);
	assert_int_equal(vs_reader_next(reading.reader, &record), 0);
	vs_reader_get_state(reading.reader, &reader_state);
	assert_true(reader_state.is_complete);
	assert_false(reader_state.is_damaged);
	end_reading(&reading);
	script_fini(&script);
}

static void test_block_that_is_not_there_is_refused(void **state)
{
	struct vs_reader_block block;
	struct reading reading;
	struct script script;

	(void)state;
	make_trace(&script, 600);
	read_trace(&reading, &script);
	block = reading.records[300].block;
	block.offset++;
	assert_int_equal(vs_reader_seek(reading.reader, &block, UINT64_MAX), -VS_ERR_CORRUPT);
	block.offset--;
	block.payload_crc ^= 1;
	assert_int_equal(vs_reader_seek(reading.reader, &block, UINT64_MAX), -VS_ERR_CORRUPT);
	block.offset = 1 << 30;
	assert_int_equal(vs_reader_seek(reading.reader, &block, UINT64_MAX), -VS_ERR_CORRUPT);
	end_reading(&reading);
	script_fini(&script);
}

/* Reads a trace to its end, whatever it meets. */
static bool can_seek(void)
{
	struct vs_reader *reader;
	struct vs_record record;
	bool can;

	assert_int_equal(vs_reader_open(&reader, PATH), 0);
	assert_false(vs_reader_can_seek(reader)); /* nothing is known yet */
	while (vs_reader_next(reader, &record))
		;
	can = vs_reader_can_seek(reader);
	vs_reader_close(reader);
	return can;
}

static void test_only_whole_traces_can_be_read_in_parts(void **state)
{
	struct script script;
	off_t size;
	int fd;

	(void)state;
	make_trace(&script, 600);
	assert_true(can_seek());
	fd = open(PATH, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	size = lseek(fd, 0, SEEK_END);
	assert_int_equal(pwrite(fd, "x", 1, size / 2), 1); /* damaged */
	assert_false(can_seek());
	index_trace_write(&script, PATH, 60);
	assert_int_equal(ftruncate(fd, size - 10), 0); /* without an end */
	assert_false(can_seek());
	close(fd);
	script_fini(&script);
}

static void test_file_is_told_by_size_and_time(void **state)
{
	struct vs_reader_file file;
	struct vs_reader *reader;
	struct script script;
	struct timespec times[2] = {{1, 0}, {5, 7}};

	(void)state;
	make_trace(&script, 100);
	assert_int_equal(utimensat(AT_FDCWD, PATH, times, 0), 0);
	assert_int_equal(chmod(PATH, 0640), 0);
	assert_int_equal(vs_reader_open(&reader, PATH), 0);
	assert_int_equal(vs_reader_get_file(reader, &file), 0);
	assert_int_equal(file.written_ns, 5000000007);
	assert_int_equal(file.mode, 0640);
	assert_true(file.size > 100);
	vs_reader_close(reader);
	script_fini(&script);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, vs_scratch_enter, vs_scratch_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(test_from_any_block_on_comes_what_came_before),
		IN_SCRATCH(test_rewound_reader_gives_everything_again),
		IN_SCRATCH(test_block_that_is_not_there_is_refused),
		IN_SCRATCH(test_only_whole_traces_can_be_read_in_parts),
		IN_SCRATCH(test_file_is_told_by_size_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
