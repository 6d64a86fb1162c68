#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "cmocka_all.h"
#include "pair_maker.h"

/* Three flushes of a definition and five events, and an END, with the places where blocks begin. */
#define NR_FLUSHES 3
#define NR_EVENTS  5
#define NR_BLOCKS  (2 + 2 * NR_FLUSHES)

struct sample {
	struct vs_pair_maker maker;
	uint8_t *bytes;
	size_t size;
	size_t blocks[NR_BLOCKS + 1]; /* INFO, DEFINITIONS, EVENTS, DEFINITIONS, ..., END */
};

/* The blocks of a flush. */
#define DEFINITIONS(flush) (1 + 2 * (flush))
#define EVENTS(flush)      (2 + 2 * (flush))

/* Small records only, so that every bit can be tried. */
static void push_small(struct vs_pair_maker *maker)
{
	uint64_t value = vs_pair_maker_draw(&maker->random);
	const struct vs_record record = {
		.type = VS_RECORD_FREE,
		.free = {.kind = VS_MEMORY_DEVICE, .address = value * 3, .stack = 4, .api = 5},
	};

	assert_true(vs_pair_maker_push(maker, 1, &record));
}

static void push_definition(struct vs_pair_maker *maker, uint32_t id)
{
	const uint64_t frames[] = {0x1000 + id, 0x2000};
	const struct vs_record record = {
		.type = VS_RECORD_STACK,
		.stack = {.id = id, .frames = frames, .nr_frames = 2},
	};

	assert_true(vs_pair_maker_push(maker, 1, &record));
}

static void make_sample(struct sample *sample, bool with_zlib)
{
	struct vs_block_header header;
	size_t at = VS_FORMAT_HEADER_SIZE;
	uint32_t nr_blocks;

	vs_pair_maker_init(&sample->maker, 8, with_zlib);
	for (uint32_t flush = 0; flush < NR_FLUSHES; flush++) {
		push_definition(&sample->maker, flush + 1);
		for (uint32_t i = 0; i < NR_EVENTS; i++)
			push_small(&sample->maker);
		vs_pair_maker_drain(&sample->maker, UINT32_MAX);
		vs_pair_maker_flush(&sample->maker);
	}
	vs_pair_maker_close(&sample->maker, 0);
	sample->bytes = vs_pair_maker_load(sample->maker.path, &sample->size);
	for (nr_blocks = 0; at < sample->size; nr_blocks++) {
		assert_true(nr_blocks < NR_BLOCKS);
		sample->blocks[nr_blocks] = at;
		assert_int_equal(vs_block_get_header(sample->bytes + at, &header), 0);
		at += VS_FORMAT_BLOCK_HEADER_SIZE + header.stored_size;
	}
	assert_int_equal(nr_blocks, NR_BLOCKS);
	sample->blocks[NR_BLOCKS] = sample->size;
}

static void free_sample(struct sample *sample)
{
	free(sample->bytes);
	vs_pair_maker_fini(&sample->maker);
}

struct outcome {
	int first_error; /* of open or next */
	uint32_t nr_errors;
	uint32_t nr_events;
	uint32_t nr_definitions;
	struct vs_reader_state state;
};

/* Every event read must be one of those written, and come after the one before. */
static uint32_t find_next(const struct vs_pair_maker_list *list, uint32_t from,
			  const struct vs_record *record)
{
	uint8_t bytes[VS_CODEC_MAX];
	size_t size = vs_codec_put_record(bytes, record);

	for (uint32_t i = from; i < list->nr; i++) {
		size_t begin = i ? list->records[i - 1].end : 0;

		if (list->records[i].end - begin == size &&
		    !memcmp(list->bytes + begin, bytes, size))
			return i + 1;
	}
	fail_msg("a record that was never written, or was read before");
	return 0;
}

/* A stack that lost its nodes has none of its frames; otherwise it is as it was written. */
static void check_definition(const struct vs_pair_maker *maker, const struct vs_record *record)
{
	assert_int_equal(record->type, VS_RECORD_STACK);
	if (record->stack.nr_frames)
		find_next(&maker->definitions, 0, record);
	else
		assert_true(record->stack.is_cut);
}

/* What is damaged is also counted, and nothing else. */
static void check_counts(const struct vs_reader_state *state)
{
	bool has_wrong_total = state->has_end && state->nr_events_end != state->nr_events_in_blocks;

	assert_int_equal(state->is_damaged, state->nr_bad_blocks || state->nr_gaps ||
						    state->nr_bad_in_log || state->is_cut ||
						    has_wrong_total);
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
		if (ret == 1 && vs_record_is_event(record.type)) {
			from = find_next(&maker->events, from, &record);
			outcome.nr_events++;
		} else if (ret == 1) {
			check_definition(maker, &record);
			outcome.nr_definitions++;
		} else {
			if (!outcome.first_error)
				outcome.first_error = ret;
			assert_true(++outcome.nr_errors < 20); /* an end must come */
		}
	}
	vs_reader_get_state(reader, &outcome.state);
	check_counts(&outcome.state);
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
			uint32_t nr_events = 0, nr_definitions = 0;

			for (uint32_t flush = 0; flush < NR_FLUSHES; flush++) {
				nr_definitions += cut >= sample.blocks[DEFINITIONS(flush) + 1];
				nr_events +=
					cut >= sample.blocks[EVENTS(flush) + 1] ? NR_EVENTS : 0;
			}
			assert_int_equal(outcome.first_error,
					 cut ? -VS_ERR_TRUNCATED : -VS_ERR_EMPTY);
			assert_int_equal(outcome.nr_errors, 1);
			assert_int_equal(outcome.nr_events, nr_events);
			assert_int_equal(outcome.nr_definitions, nr_definitions);
			assert_false(outcome.state.is_complete);
			assert_int_equal(outcome.state.is_cut, cut >= VS_FORMAT_HEADER_SIZE);
			assert_int_equal(outcome.state.nr_bad_blocks, 0);
			assert_int_equal(outcome.state.nr_events_in_blocks, nr_events);
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
			assert_true(outcome.nr_events / NR_EVENTS + outcome.nr_definitions >=
				    2 * NR_FLUSHES - 1);
			assert_true(outcome.state.is_damaged);
		}
		free_sample(&sample);
	}
}

/* Flips a bit at a place behind the beginning of a block. */
static struct outcome damage_block(struct sample *sample, uint32_t block, size_t offset)
{
	uint8_t *byte = &sample->bytes[sample->blocks[block] + offset];
	struct outcome outcome;

	*byte ^= 4;
	outcome = read_damaged(&sample->maker, sample->bytes, sample->size);
	*byte ^= 4;
	assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT);
	assert_true(outcome.state.is_complete);
	return outcome;
}

static void test_damaged_block_costs_only_itself(void **state)
{
	struct outcome outcome;
	struct sample sample;

	(void)state;
	make_sample(&sample, true);
	outcome = damage_block(&sample, EVENTS(1), VS_FORMAT_BLOCK_HEADER_SIZE); /* payload */
	assert_int_equal(outcome.nr_errors, 1);
	assert_int_equal(outcome.state.nr_bad_blocks, 1);
	assert_int_equal(outcome.state.nr_gaps, 1);              /* before the next one */
	assert_int_equal(outcome.state.nr_events_in_blocks, 15); /* by its header */
	assert_int_equal(outcome.nr_events, 10);
	assert_int_equal(outcome.nr_definitions, 3);
	outcome = damage_block(&sample, DEFINITIONS(1), VS_FORMAT_BLOCK_HEADER_SIZE);
	assert_int_equal(outcome.nr_errors, 1);
	assert_int_equal(outcome.nr_events, 15);
	assert_int_equal(outcome.nr_definitions, 2);
	/* Stored size: the next header has to be found. */
	outcome = damage_block(&sample, EVENTS(1), 9);
	assert_int_equal(outcome.state.nr_bad_blocks, 1);
	assert_int_equal(outcome.state.nr_events_in_blocks, 10);
	assert_int_equal(outcome.state.nr_events_end, 15);
	assert_int_equal(outcome.nr_events, 10);
	assert_int_equal(outcome.nr_definitions, 3);
	free_sample(&sample);
}

/* The sample without one of its blocks. */
static struct outcome take_out(const struct sample *sample, uint32_t block)
{
	size_t from = sample->blocks[block], to = sample->blocks[block + 1];
	uint8_t *bytes = malloc(sample->size);
	struct outcome outcome;

	assert_non_null(bytes);
	memcpy(bytes, sample->bytes, from);
	memcpy(bytes + from, sample->bytes + to, sample->size - to);
	outcome = read_damaged(&sample->maker, bytes, sample->size - (to - from));
	free(bytes);
	return outcome;
}

static void test_block_taken_out_is_missed(void **state)
{
	struct outcome outcome;
	struct sample sample;

	(void)state;
	make_sample(&sample, true);
	for (uint32_t flush = 0; flush < NR_FLUSHES; flush++) {
		outcome = take_out(&sample, EVENTS(flush));
		assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT);
		assert_int_equal(outcome.nr_errors, 1);
		assert_int_equal(outcome.nr_events, 10);
		assert_int_equal(outcome.state.nr_bad_blocks, 0);
		/* Behind the last one there is nothing that could show it. */
		assert_int_equal(outcome.state.nr_gaps, flush < NR_FLUSHES - 1);
		outcome = take_out(&sample, DEFINITIONS(flush));
		assert_int_equal(outcome.state.nr_gaps, 1);
		assert_int_equal(outcome.first_error, -VS_ERR_CORRUPT);
		assert_int_equal(outcome.nr_errors, 1);
		assert_int_equal(outcome.nr_events, 15);
		assert_int_equal(outcome.nr_definitions, 2);
	}
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
	from = sample.blocks[EVENTS(1)];
	size = sample.blocks[EVENTS(1) + 1] - from;
	twice = malloc(sample.size + size);
	assert_non_null(twice);
	memcpy(twice, sample.bytes, from + size);
	memcpy(twice + from + size, sample.bytes + from, sample.size - from);
	outcome = read_damaged(&sample.maker, twice, sample.size + size);
	assert_int_equal(outcome.nr_events, 15);
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
	vs_pair_maker_init(&maker, 8, true);
	for (uint32_t i = 0; i < 600; i++)
		assert_true(vs_pair_maker_push_event(&maker));
	vs_pair_maker_drain(&maker, 100);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker);
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
			uint64_t place = vs_pair_maker_draw(&random) % log_size;

			/* The header, the head of a chunk, or anywhere. */
			switch (vs_pair_maker_draw(&random) % 3) {
			case 0:
				place %= 320;
				break;
			case 1:
				place = 2 * VS_LIVE_HEADER_SIZE +
					place % 8 * VS_PAIR_MAKER_CHUNK_SIZE + place / 8 % 24;
				break;
			}
			copy[place] = (uint8_t)vs_pair_maker_draw(&random);
		}
		assert_int_equal(vs_reader_open_fds(&reader,
						    vs_pair_maker_make_fd(trace, trace_size),
						    vs_pair_maker_make_fd(copy, log_size)),
				 0);
		for (uint32_t i = 0; (ret = vs_reader_next(reader, &record)) != 0; i++) {
			assert_true(i < 2000);
			nr_errors += ret < 0;
		}
		assert_true(nr_errors < 1000);
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
