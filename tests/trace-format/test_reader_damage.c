#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "cmocka_all.h"
#include "pair_maker.h"

/* Three blocks of records and an END, in memory, with the places where blocks begin. */
struct sample {
	struct vs_pair_maker maker;
	uint8_t *bytes;
	size_t size;
	size_t blocks[8];
	uint32_t nr_blocks;
};

/* Small records only, so that every bit can be tried. */
static void push_small(struct vs_pair_maker *maker)
{
	uint64_t value = vs_pair_maker_draw(&maker->random);
	const struct vs_record record = {
		.type = VS_RECORD_FREE,
		.time_ns = value,
		.thread = 1,
		.free = {.kind = VS_MEMORY_DEVICE, .address = value * 3, .stack = 4, .api = 5},
	};

	assert_true(vs_pair_maker_push(maker, &record));
}

static void make_sample(struct sample *sample, bool with_zlib)
{
	struct vs_block_header header;
	size_t at = VS_FORMAT_HEADER_SIZE;

	vs_pair_maker_init(&sample->maker, 64 << 10, with_zlib);
	for (uint32_t block = 0; block < 3; block++) {
		for (uint32_t i = 0; i < 5; i++)
			push_small(&sample->maker);
		vs_pair_maker_drain(&sample->maker, UINT32_MAX);
		vs_pair_maker_flush(&sample->maker);
	}
	vs_pair_maker_close(&sample->maker, 0);
	sample->bytes = vs_pair_maker_load(sample->maker.path, &sample->size);
	for (sample->nr_blocks = 0; at < sample->size; sample->nr_blocks++) {
		sample->blocks[sample->nr_blocks] = at;
		assert_int_equal(vs_block_get_header(sample->bytes + at, &header), 0);
		at += VS_FORMAT_BLOCK_HEADER_SIZE + header.stored_size;
	}
	assert_int_equal(sample->nr_blocks, 5);
	sample->blocks[5] = sample->size;
}

static void free_sample(struct sample *sample)
{
	free(sample->bytes);
	vs_pair_maker_fini(&sample->maker);
}

struct outcome {
	int first_error; /* of open or next */
	uint32_t nr_errors;
	uint32_t nr_records;
	struct vs_reader_state state;
};

/* Every record read must be one of those written, and come after the one before. */
static uint32_t find_next(const struct vs_pair_maker *maker, uint32_t from,
			  const struct vs_record *record)
{
	uint8_t bytes[VS_CODEC_MAX];
	size_t size = vs_codec_put_record(bytes, record);
	size_t at = 0;

	for (uint32_t i = 0; i < maker->nr_records; i++) {
		size_t expected_size =
			(size_t)vs_codec_get_size(maker->expected + at, maker->expected_size - at);

		if (i >= from && expected_size == size &&
		    !memcmp(maker->expected + at, bytes, size))
			return i + 1;
		at += expected_size;
	}
	fail_msg("a record that was never written, or was read before");
	return 0;
}

static struct outcome read_damaged(const struct vs_pair_maker *maker, const uint8_t *bytes,
				   size_t size)
{
	struct outcome outcome = {0};
	struct vs_reader *reader;
	struct vs_record record;
	uint32_t from = 0;
	int ret;

	ret = vs_reader_open_fds(&reader, vs_pair_maker_make_fd(bytes, size), -1);
	if (ret) {
		outcome.first_error = ret;
		outcome.nr_errors = 1;
		return outcome;
	}
	while ((ret = vs_reader_next(reader, &record)) != 0) {
		if (ret == 1) {
			from = find_next(maker, from, &record);
			outcome.nr_records++;
			continue;
		}
		if (!outcome.first_error)
			outcome.first_error = ret;
		assert_true(++outcome.nr_errors < 20); /* an end must come */
	}
	vs_reader_get_state(reader, &outcome.state);
	vs_reader_close(reader);
	return outcome;
}

static void test_trace_cut_at_any_byte_gives_its_whole_blocks(void **state)
{
	struct sample sample;

	(void)state;
	for (int with_zlib = 0; with_zlib < 2; with_zlib++) {
		make_sample(&sample, with_zlib);
		for (size_t cut = 0; cut < sample.size; cut++) {
			struct outcome outcome = read_damaged(&sample.maker, sample.bytes, cut);
			uint32_t nr_whole = 0;

			for (uint32_t block = 1; block < 4; block++)
				nr_whole += cut >= sample.blocks[block + 1] ? 5 : 0;
			assert_int_equal(outcome.first_error,
					 cut ? -VS_ERR_TRUNCATED : -VS_ERR_EMPTY);
			assert_int_equal(outcome.nr_errors, 1);
			assert_int_equal(outcome.nr_records, nr_whole);
			assert_false(outcome.state.is_complete);
		}
		free_sample(&sample);
	}
}

static void test_no_bit_can_be_flipped_unnoticed(void **state)
{
	struct sample sample;

	(void)state;
	for (int with_zlib = 0; with_zlib < 2; with_zlib++) {
		make_sample(&sample, with_zlib);
		for (size_t bit = 0; bit < 8 * sample.size; bit++) {
			struct outcome outcome;

			sample.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			outcome = read_damaged(&sample.maker, sample.bytes, sample.size);
			sample.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_true(outcome.first_error < 0);
			if (bit / 8 < VS_FORMAT_HEADER_SIZE)
				continue;
			/* One block at most is lost to one bit. */
			assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT);
			assert_true(outcome.nr_records >= 10);
			assert_true(outcome.state.is_damaged);
		}
		free_sample(&sample);
	}
}

static void test_damaged_block_costs_only_itself(void **state)
{
	struct outcome outcome;
	struct sample sample;

	(void)state;
	make_sample(&sample, true);
	sample.bytes[sample.blocks[2] + 50] ^= 4; /* payload */
	outcome = read_damaged(&sample.maker, sample.bytes, sample.size);
	assert_int_equal(outcome.nr_errors, 1);
	assert_int_equal(outcome.nr_records, 10);
	assert_true(outcome.state.is_complete);
	sample.bytes[sample.blocks[2] + 50] ^= 4;
	sample.bytes[sample.blocks[2] + 9] ^= 4; /* stored size: the next header has to be found */
	outcome = read_damaged(&sample.maker, sample.bytes, sample.size);
	assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT);
	assert_int_equal(outcome.nr_records, 10);
	assert_true(outcome.state.is_complete);
	free_sample(&sample);
}

static void test_block_taken_out_is_missed(void **state)
{
	struct outcome outcome;
	struct sample sample;
	size_t from, to;

	(void)state;
	make_sample(&sample, true);
	from = sample.blocks[2];
	to = sample.blocks[3];
	memmove(sample.bytes + from, sample.bytes + to, sample.size - to);
	outcome = read_damaged(&sample.maker, sample.bytes, sample.size - (to - from));
	assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT);
	assert_int_equal(outcome.nr_errors, 1);
	assert_int_equal(outcome.nr_records, 10);
	free_sample(&sample);
}

static void test_block_that_is_there_twice_is_read_once(void **state)
{
	struct outcome outcome;
	struct sample sample;
	size_t from, size;
	uint8_t *twice;

	(void)state;
	make_sample(&sample, true);
	from = sample.blocks[2];
	size = sample.blocks[3] - from;
	twice = malloc(sample.size + size);
	assert_non_null(twice);
	memcpy(twice, sample.bytes, from + size);
	memcpy(twice + from + size, sample.bytes + from, sample.size - from);
	outcome = read_damaged(&sample.maker, twice, sample.size + size);
	assert_int_equal(outcome.nr_records, 15);
	assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT); /* END has counted fewer */
	free(twice);
	free_sample(&sample);
}

static void test_any_damage_comes_to_an_end(void **state)
{
	struct vs_pair_maker_random random = {9};
	struct sample sample;
	uint8_t *bytes;

	(void)state;
	make_sample(&sample, false);
	bytes = malloc(sample.size);
	assert_non_null(bytes);
	for (uint32_t round = 0; round < 3000; round++) {
		size_t size = sample.size - vs_pair_maker_draw(&random) % (sample.size / 2);

		memcpy(bytes, sample.bytes, sample.size);
		for (uint64_t i = vs_pair_maker_draw(&random) % 12; i-- > 0;)
			bytes[16 + vs_pair_maker_draw(&random) % (sample.size - 16)] =
				(uint8_t)vs_pair_maker_draw(&random);
		read_damaged(&sample.maker, bytes, size);
	}
	free(bytes);
	free_sample(&sample);
}

/* A log has no checksums: it is memory. But nothing in it may lead us astray. */
static void test_no_damage_to_the_log_does_harm(void **state)
{
	struct vs_pair_maker_random random = {10};
	struct vs_pair_maker maker;
	struct vs_record record;
	uint8_t *trace, *log, *copy;
	size_t trace_size, log_size;

	(void)state;
	vs_pair_maker_init(&maker, 64 << 10, true);
	for (uint32_t i = 0; i < 600; i++)
		push_small(&maker);
	vs_pair_maker_drain(&maker, 100);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_move_tail(&maker);
	trace = vs_pair_maker_load(maker.path, &trace_size);
	log = vs_pair_maker_load(maker.live_path, &log_size);
	copy = malloc(log_size);
	assert_non_null(copy);
	for (uint32_t round = 0; round < 600; round++) {
		struct vs_reader *reader;
		uint32_t nr_errors = 0;
		int ret;

		memcpy(copy, log, log_size);
		for (uint64_t i = vs_pair_maker_draw(&random) % 8; i-- > 0;) {
			uint64_t range = vs_pair_maker_draw(&random) % 2 ? 256 : 36000;

			copy[vs_pair_maker_draw(&random) % range] =
				(uint8_t)vs_pair_maker_draw(&random);
		}
		assert_int_equal(vs_reader_open_fds(&reader,
						    vs_pair_maker_make_fd(trace, trace_size),
						    vs_pair_maker_make_fd(copy, log_size)),
				 0);
		for (uint32_t i = 0; (ret = vs_reader_next(reader, &record)) != 0; i++) {
			assert_true(i < 700);
			nr_errors += ret < 0;
		}
		assert_true(nr_errors < 200);
		vs_reader_close(reader);
	}
	free(copy);
	free(log);
	free(trace);
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace_cut_at_any_byte_gives_its_whole_blocks),
		cmocka_unit_test(test_no_bit_can_be_flipped_unnoticed),
		cmocka_unit_test(test_damaged_block_costs_only_itself),
		cmocka_unit_test(test_block_taken_out_is_missed),
		cmocka_unit_test(test_block_that_is_there_twice_is_read_once),
		cmocka_unit_test(test_any_damage_comes_to_an_end),
		cmocka_unit_test(test_no_damage_to_the_log_does_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
