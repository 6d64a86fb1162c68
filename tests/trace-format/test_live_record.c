#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "codec.h"
#include "live_record.h"
#include "pair_maker.h"
#include "wire.h"

static uint64_t frames[VS_STACK_MAX];

/* Head and body as a thread writes them. */
static size_t put(uint8_t *out, uint8_t type, uint8_t flags, const void *body, size_t size)
{
	struct vs_live_record head = {
		.type = type,
		.flags = flags,
		.size = (uint16_t)(sizeof(head) + (size + 7) / 8 * 8),
		.ticks = 12345,
	};

	memcpy(out, &head, sizeof(head));
	memset(out + sizeof(head), 0, head.size - sizeof(head));
	if (size)
		memcpy(out + sizeof(head), body, size);
	return head.size;
}

static int get(const uint8_t *bytes, size_t size, struct vs_record *record)
{
	/* Exactly as long as the bytes, so that a sanitizer sees a step too far. */
	uint8_t *copy = malloc(size ? size : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	ret = vs_live_record_get(copy, size, 7, record, frames);
	free(copy);
	return ret;
}

/* Two of them byte by byte; that the others stand as documented is checked by the compiler. */
static void test_events_are_these_bytes(void **state)
{
	static const uint8_t alloc[40] = {
		1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0,
		0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0,
	};
	static const uint8_t context[16] = {2, 0, 0, 0, 3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 9};
	uint8_t bytes[128] = {0};
	struct vs_record record;
	size_t size;

	(void)state;
	size = put(bytes, VS_RECORD_ALLOC, 0, alloc, sizeof(alloc));
	assert_int_equal(get(bytes, size, &record), 1);
	assert_int_equal(record.type, VS_RECORD_ALLOC);
	assert_int_equal(record.thread, 7);
	assert_int_equal(record.time_ns, 0);
	assert_int_equal(record.alloc.kind, VS_MEMORY_MANAGED);
	assert_int_equal(record.alloc.device, 2);
	assert_int_equal(record.alloc.address, 3);
	assert_int_equal(record.alloc.size, 4);
	assert_int_equal(record.alloc.pool, 5);
	assert_int_equal(record.alloc.context, 6);
	assert_int_equal(record.alloc.stack, 7);
	assert_int_equal(record.alloc.api, 8);
	size = put(bytes, VS_RECORD_CONTEXT, 0, context, sizeof(context));
	assert_int_equal(get(bytes, size, &record), 1);
	assert_int_equal(record.context.change, VS_CONTEXT_RESET);
	assert_int_equal(record.context.device, VS_NO_DEVICE);
}

static void test_every_type_comes_back_as_it_was(void **state)
{
	struct vs_pair_maker_random random = {1};
	struct vs_pair_maker_storage storage;
	uint8_t row[VS_CODEC_MAX], again[VS_CODEC_MAX], bytes[2 * VS_CODEC_MAX];
	struct vs_record record, found;

	(void)state;
	for (size_t i = 0; i < 50 * vs_pair_maker_nr_types; i++) {
		enum vs_record_type type = vs_pair_maker_types[i % vs_pair_maker_nr_types];
		bool is_event = vs_record_is_event(type);
		size_t row_size, size;

		vs_pair_maker_fill(&record, type, &random, &storage);
		record.time_ns = 0;
		record.thread = is_event ? 7 : 0;
		row_size = vs_codec_put_record(row, &record);
		if (is_event)
			size = put(bytes, (uint8_t)type, 0, &record.alloc,
				   vs_live_record_get_body_size(type));
		else
			size = put(bytes, (uint8_t)type, VS_LIVE_ENCODED, row, row_size);
		/* Text points into the bytes, which must stay for that. */
		assert_int_equal(vs_live_record_get(bytes, size, 7, &found, frames), 1);
		assert_int_equal(found.time_ns, 0);
		assert_int_equal(vs_codec_put_record(again, &found), row_size);
		assert_memory_equal(again, row, row_size);
	}
}

static void test_body_of_a_later_version_may_be_longer(void **state)
{
	static const uint8_t body[48] = {9};
	uint8_t bytes[128] = {0};
	struct vs_record record;

	(void)state;
	for (size_t size = 8; size <= sizeof(body); size += 8)
		assert_int_equal(get(bytes, put(bytes, VS_RECORD_STEP, 0, body, size), &record), 1);
	assert_int_equal(record.step.number, 9);
	assert_int_equal(get(bytes, put(bytes, VS_RECORD_PHASE_POP, 0, body, 8), &record), 1);
}

static void test_body_that_is_too_short_is_corrupt(void **state)
{
	static const uint8_t body[64];
	uint8_t bytes[128] = {0};
	struct vs_record record;

	(void)state;
	for (size_t i = 0; i < vs_pair_maker_nr_types; i++) {
		enum vs_record_type type = vs_pair_maker_types[i];
		uint32_t size = vs_live_record_get_body_size(type);

		if (!size)
			continue;
		assert_int_equal(size % 8, 0);
		assert_int_equal(get(bytes, put(bytes, (uint8_t)type, 0, body, size), &record), 1);
		assert_int_equal(get(bytes, put(bytes, (uint8_t)type, 0, body, size - 8), &record),
				 -VS_ERR_CORRUPT);
	}
	assert_int_equal(get(bytes, 15, &record), -VS_ERR_CORRUPT);
	assert_int_equal(get(bytes, 0, &record), -VS_ERR_CORRUPT);
}

static void test_unknown_types_and_flags_are_of_a_later_version(void **state)
{
	static const uint8_t row[] = {200, 1, 1};
	uint8_t bytes[128] = {0};
	struct vs_record record;

	(void)state;
	assert_int_equal(get(bytes, put(bytes, 200, 0, row, 3), &record), 0);
	assert_int_equal(get(bytes, put(bytes, 200, VS_LIVE_ENCODED, row, 3), &record), 0);
	assert_int_equal(get(bytes, put(bytes, VS_RECORD_STEP, 2, row, 3), &record), 0);
	assert_int_equal(get(bytes, put(bytes, VS_RECORD_STEP, 0xff, row, 3), &record), 0);
}

static void test_what_cannot_be_is_corrupt(void **state)
{
	static const uint8_t wrong_kind[40] = {VS_NR_MEMORY_KINDS};
	static const uint8_t wrong_change[16] = {3};
	static const uint8_t name[] = {VS_RECORD_NAME, 3, 1, 1, 'a'};
	uint8_t bytes[128] = {0};
	struct vs_record record;
	size_t size;

	(void)state;
	size = put(bytes, VS_RECORD_ALLOC, 0, wrong_kind, 40);
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
	size = put(bytes, VS_RECORD_FREE, 0, wrong_kind, 24);
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
	size = put(bytes, VS_RECORD_CONTEXT, 0, wrong_change, 16);
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
	size = put(bytes, 0, 0, wrong_kind, 40);
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
	size = put(bytes, VS_RECORD_NAME, 0, name, 5); /* a definition that is not encoded */
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
	size = put(bytes, VS_RECORD_THREAD, VS_LIVE_ENCODED, name, 5); /* two types */
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
	size = put(bytes, VS_RECORD_NAME, VS_LIVE_ENCODED, name, 5);
	bytes[sizeof(struct vs_live_record) + 1] = 60; /* longer than its record */
	assert_int_equal(get(bytes, size, &record), -VS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_are_these_bytes),
		cmocka_unit_test(test_every_type_comes_back_as_it_was),
		cmocka_unit_test(test_body_of_a_later_version_may_be_longer),
		cmocka_unit_test(test_body_that_is_too_short_is_corrupt),
		cmocka_unit_test(test_unknown_types_and_flags_are_of_a_later_version),
		cmocka_unit_test(test_what_cannot_be_is_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
