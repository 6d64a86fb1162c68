#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "log_double.h"
#include "modules.h"
#include "names.h"
#include "pools.h"
#include "recorder.h"
#include "stack_table.h"
#include "thread.h"

/* Every call of the recorder's: what it puts into the log. Beneath it lies log_double.h. */

#define GiB (UINT64_C(1) << 30)

/* No call may change errno, or leave the thread inside the recorder. */
#define SAY(call)                                               \
	do {                                                    \
		errno = 4711;                                   \
		call;                                           \
		assert_int_equal(errno, 4711);                  \
		assert_false(vs_thread_self()->base.is_inside); \
	} while (0)

static int init(void **state)
{
	(void)state;
	vs_thread_init();
	vs_modules_init("/the/program");
	return vs_names_init() || vs_stack_table_init() ? -1 : 0;
}

/* A hook that is about to say something. */
static int set_up(void **state)
{
	log_double_reset();
	vs_recorder_clear();
	log_double.frames[0] = 0x1000; /* no file's */
	log_double.nr_frames = 1;
	vs_thread_self()->base.nr_events = 0;
	*state = vs_guard_enter(VS_GUARD_DRIVER, vs_recorder_name("cuMemAlloc_v2"),
				__builtin_frame_address(0));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	log_double_assert_consistent();
	vs_guard_leave(*state, VS_GUARD_DRIVER);
	return 0;
}

static void assert_text(const struct vs_text *text, const char *expected)
{
	assert_int_equal(text->size, strlen(expected));
	assert_memory_equal(text->bytes, expected, text->size);
}

/* The name behind a number, as this log defines it. */
static void assert_name(uint32_t number, const char *expected)
{
	for (uint32_t i = 0; i < log_double_count(VS_RECORD_NAME); i++) {
		const struct vs_record *record = log_double_get(VS_RECORD_NAME, i);

		if (record->name.id == number) {
			assert_text(&record->name.text, expected);
			return;
		}
	}
	fail_msg("%s has no definition", expected);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void test_an_allocation_is_recorded_with_name_stack_pool_and_context(void **state)
{
	struct vs_thread *self = *state;
	uint32_t pool = vs_recorder_driver_pool(0xabc00, 3);
	const struct vs_record *record;

	SAY(vs_recorder_add_alloc(self, VS_MEMORY_ASYNC, 3, 0x7f0000000000, 5 * GiB, pool, 17));
	assert_int_equal(log_double_count(VS_RECORD_ALLOC), 1);
	record = log_double_get(VS_RECORD_ALLOC, 0);
	assert_int_equal(record->alloc.kind, VS_MEMORY_ASYNC);
	assert_int_equal(record->alloc.device, 3);
	assert_int_equal(record->alloc.address, 0x7f0000000000);
	assert_int_equal(record->alloc.size, 5 * GiB);
	assert_int_equal(record->alloc.pool, pool);
	assert_int_equal(record->alloc.context, 17);
	assert_int_equal(record->alloc.stack, log_double_get(VS_RECORD_STACK, 0)->stack.id);
	assert_name(record->alloc.api, "cuMemAlloc_v2");
	assert_int_equal(record->thread, self->id);
	assert_int_equal(self->nr_events, 1);
}

static void test_a_free_is_recorded_with_name_and_stack(void **state)
{
	const struct vs_record *record;

	SAY(vs_recorder_add_free(*state, VS_MEMORY_PINNED, 0x7f0000001000));
	record = log_double_get(VS_RECORD_FREE, 0);
	assert_int_equal(record->free.kind, VS_MEMORY_PINNED);
	assert_int_equal(record->free.address, 0x7f0000001000);
	assert_int_equal(record->free.stack, log_double_get(VS_RECORD_STACK, 0)->stack.id);
	assert_name(record->free.api, "cuMemAlloc_v2");
}

static void test_a_free_has_no_stack_unless_that_is_asked_for(void **state)
{
	log_double.settings.free_stacks = false;
	SAY(vs_recorder_add_free(*state, VS_MEMORY_DEVICE, 0x7f0000001000));
	assert_int_equal(log_double_get(VS_RECORD_FREE, 0)->free.stack, VS_NO_ID);
	assert_int_equal(log_double.nr_captures, 0);
}

static void test_a_free_that_failed_is_taken_back(void **state)
{
	const struct vs_record *record;

	SAY(vs_recorder_take_back_free(*state, VS_MEMORY_VMM, 0x55, 700));
	record = log_double_get(VS_RECORD_FREE_FAILED, 0);
	assert_int_equal(record->free_failed.kind, VS_MEMORY_VMM);
	assert_int_equal(record->free_failed.address, 0x55);
	assert_int_equal(record->free_failed.error, 700);
	assert_int_equal(log_double.nr_captures, 0);
}

static void test_a_failure_is_recorded_with_what_the_driver_told(void **state)
{
	uint32_t pool = vs_recorder_driver_pool(0xabc00, 3);
	const struct vs_record *record;

	SAY(vs_recorder_add_failure(*state, VS_MEMORY_DEVICE, 1, 9 * GiB, 2, GiB, 8 * GiB, pool));
	record = log_double_get(VS_RECORD_ALLOC_FAILED, 0);
	assert_int_equal(record->alloc_failed.kind, VS_MEMORY_DEVICE);
	assert_int_equal(record->alloc_failed.device, 1);
	assert_int_equal(record->alloc_failed.size, 9 * GiB);
	assert_int_equal(record->alloc_failed.error, 2);
	assert_int_equal(record->alloc_failed.free_size, GiB);
	assert_int_equal(record->alloc_failed.total_size, 8 * GiB);
	assert_int_equal(record->alloc_failed.pool, pool);
	assert_int_equal(record->alloc_failed.stack, log_double_get(VS_RECORD_STACK, 0)->stack.id);
	assert_name(record->alloc_failed.api, "cuMemAlloc_v2");
}

static void test_virtual_memory_is_recorded_without_stacks(void **state)
{
	const struct vs_record *record;

	SAY(vs_recorder_add_reserve(*state, 0x1000000, 0x400000));
	SAY(vs_recorder_add_map(*state, 0x1000000, 0x200000, 0x77, 0x10000));
	SAY(vs_recorder_add_unmap(*state, 0x1000000, 0x200000));
	SAY(vs_recorder_add_unreserve(*state, 0x1000000, 0x400000));
	record = log_double_get(VS_RECORD_RESERVE, 0);
	assert_int_equal(record->reserve.address, 0x1000000);
	assert_int_equal(record->reserve.size, 0x400000);
	record = log_double_get(VS_RECORD_MAP, 0);
	assert_int_equal(record->map.address, 0x1000000);
	assert_int_equal(record->map.size, 0x200000);
	assert_int_equal(record->map.handle, 0x77);
	assert_int_equal(record->map.offset, 0x10000);
	record = log_double_get(VS_RECORD_UNMAP, 0);
	assert_int_equal(record->map.address, 0x1000000);
	assert_int_equal(record->map.size, 0x200000);
	assert_int_equal(record->map.handle, 0);
	assert_int_equal(record->map.offset, 0);
	record = log_double_get(VS_RECORD_UNRESERVE, 0);
	assert_int_equal(record->reserve.address, 0x1000000);
	assert_int_equal(record->reserve.size, 0x400000);
	assert_int_equal(log_double_get_nr(), 5); /* the thread, and the four */
	assert_int_equal(log_double.nr_captures, 0);
}

/* ---- Contexts, devices ----------------------------------------------------------------------- */

static void test_a_context_is_recorded_by_number(void **state)
{
	uint32_t context = vs_recorder_context(0xc0ffee00);
	const struct vs_record *record;

	SAY(vs_recorder_add_context(*state, VS_CONTEXT_CREATED, context, 2));
	SAY(vs_recorder_add_context(*state, VS_CONTEXT_DESTROYED, context, 2));
	SAY(vs_recorder_add_context(*state, VS_CONTEXT_RESET, 0, 5));
	record = log_double_get(VS_RECORD_CONTEXT, 0);
	assert_int_equal(record->context.change, VS_CONTEXT_CREATED);
	assert_int_equal(record->context.context, context);
	assert_int_equal(record->context.device, 2);
	assert_int_equal(log_double_get(VS_RECORD_CONTEXT, 1)->context.change,
			 VS_CONTEXT_DESTROYED);
	record = log_double_get(VS_RECORD_CONTEXT, 2);
	assert_int_equal(record->context.change, VS_CONTEXT_RESET);
	assert_int_equal(record->context.context, 0);
	assert_int_equal(record->context.device, 5);
}

static void test_a_context_keeps_its_number_until_it_is_forgotten(void **state)
{
	uint32_t first, other;

	(void)state;
	SAY(first = vs_recorder_context(0xdd0000));
	SAY(other = vs_recorder_context(0xdd1000));
	assert_int_not_equal(first, 0);
	assert_int_not_equal(other, first);
	assert_int_equal(vs_recorder_context(0xdd0000), first);
	SAY(vs_recorder_forget_context(0xdd0000));
	assert_int_not_equal(vs_recorder_context(0xdd0000), first);
	assert_int_not_equal(vs_recorder_context(0xdd0000), other);
	assert_int_equal(vs_recorder_context(0xdd1000), other);
	assert_int_equal(vs_recorder_context(0), 0);
	assert_int_equal(log_double_get_nr(), 0);
}

static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static void test_a_device_is_defined_once(void **state)
{
	const struct vs_record *record;

	(void)state;
	assert_false(vs_recorder_has_device(4));
	SAY(vs_recorder_define_device(4, "a card", 24 * GiB, 89, uuid, true));
	assert_true(vs_recorder_has_device(4));
	assert_false(vs_recorder_has_device(5));
	SAY(vs_recorder_define_device(4, "another", GiB, 90, uuid, false));
	assert_int_equal(log_double_count(VS_RECORD_DEVICE), 1);
	record = log_double_get(VS_RECORD_DEVICE, 0);
	assert_int_equal(record->device.device, 4);
	assert_int_equal(record->device.total_size, 24 * GiB);
	assert_int_equal(record->device.compute_capability, 89);
	assert_true(record->device.is_simulated);
	assert_memory_equal(record->device.uuid, uuid, sizeof(uuid));
	assert_text(&record->device.name, "a card");
}

/* Hooks ask before they look the device up, which costs calls of the driver's. */
static void test_a_device_without_a_place_counts_as_defined(void **state)
{
	(void)state;
	assert_false(vs_recorder_has_device(127));
	assert_true(vs_recorder_has_device(128));
	assert_true(vs_recorder_has_device(VS_NO_DEVICE));
	SAY(vs_recorder_define_device(VS_NO_DEVICE, "none", 0, 0, uuid, false));
	assert_int_equal(log_double_get_nr(), 0);
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static void test_a_driver_pool_is_defined_at_its_first_use(void **state)
{
	const struct vs_record *record;
	uint32_t pool;

	SAY(pool = vs_recorder_driver_pool(0x900d0000, 2));
	assert_int_equal(log_double_get_nr(), 0);
	SAY(vs_recorder_add_pool_state(*state, pool, 64 * GiB, 3));
	SAY(vs_recorder_add_pool_state(*state, pool, 64 * GiB, 4));
	assert_int_equal(log_double_count(VS_RECORD_POOL), 1);
	record = log_double_get(VS_RECORD_POOL, 0);
	assert_int_equal(record->pool.id, pool);
	assert_int_equal(record->pool.owner, VS_POOL_DRIVER);
	assert_int_equal(record->pool.device, 2);
	assert_int_equal(record->pool.handle, 0x900d0000);
	record = log_double_get(VS_RECORD_POOL_STATE, 1);
	assert_int_equal(record->pool_state.pool, pool);
	assert_int_equal(record->pool_state.reserved_size, 64 * GiB);
	assert_int_equal(record->pool_state.used_size, 4);
}

static void test_a_driver_pool_is_defined_with_the_limit_it_was_made_with(void **state)
{
	uint32_t pool = vs_recorder_create_driver_pool(0x900d7000, 2, 5 * GiB);

	assert_int_equal(vs_recorder_driver_pool(0x900d7000, 2), pool);
	SAY(vs_recorder_add_pool_state(*state, pool, 64 * GiB, 3));
	assert_int_equal(log_double_get(VS_RECORD_POOL, 0)->pool.limit_size, 5 * GiB);
}

static void test_states_of_pools_are_no_events_of_the_driver(void **state)
{
	struct vs_thread *self = *state;
	uint64_t nr_before = self->nr_events - self->nr_states;
	uint32_t pool;

	SAY(pool = vs_recorder_driver_pool(0x900d5000, 2));
	SAY(vs_recorder_add_pool_state(*state, pool, 64 * GiB, 3));
	SAY(vs_recorder_end_driver_pool(*state, 0x900d5000));
	assert_int_equal(self->nr_events - self->nr_states, nr_before);
	SAY(vs_recorder_add_reserve(*state, 4096, 4096));
	assert_int_equal(self->nr_events - self->nr_states, nr_before + 1);
	SAY(vs_recorder_add_seen_by(*state, VS_SEEN_BY_CUPTI, 0));
	assert_int_equal(log_double_count(VS_RECORD_SEEN_BY), 0);
	SAY(vs_recorder_add_seen_by(*state, VS_SEEN_BY_CUPTI, 1));
	assert_int_equal(log_double_count(VS_RECORD_SEEN_BY), 1);
	assert_int_equal(log_double_get(VS_RECORD_SEEN_BY, 0)->seen_by.nr_events, 1);
	assert_int_equal(log_double_get(VS_RECORD_SEEN_BY, 0)->seen_by.source, VS_SEEN_BY_CUPTI);
	assert_int_equal(self->nr_events - self->nr_states, nr_before + 1);
}

static void test_a_driver_pool_that_ended_is_another_one_when_it_comes_back(void **state)
{
	uint32_t first = vs_recorder_driver_pool(0x900d1000, 2), second;

	SAY(vs_recorder_end_driver_pool(*state, 0x900d1000));
	assert_int_equal(log_double_get(VS_RECORD_POOL_END, 0)->pool_end.pool, first);
	/* Its definition is there although nothing was ever taken from it. */
	assert_int_equal(log_double_get(VS_RECORD_POOL, 0)->pool.id, first);
	second = vs_recorder_driver_pool(0x900d1000, 2);
	assert_int_not_equal(second, first);
	SAY(vs_recorder_end_driver_pool(*state, 0x900d2000)); /* never heard of */
	assert_int_equal(log_double_count(VS_RECORD_POOL_END), 1);
}

static void test_a_pool_of_the_program_is_defined_when_it_is_made(void **state)
{
	struct vs_thread *self = *state;
	const struct vs_record *record;
	uint32_t pool;

	SAY(pool = vs_recorder_create_pool(self, VS_POOL_FRAMEWORK, "mine", 1, 7 * GiB));
	record = log_double_get(VS_RECORD_POOL, 0);
	assert_int_equal(record->pool.id, pool);
	assert_int_equal(record->pool.owner, VS_POOL_FRAMEWORK);
	assert_int_equal(record->pool.device, 1);
	assert_int_equal(record->pool.limit_size, 7 * GiB);
	assert_text(&record->pool.name, "mine");
	assert_int_equal(self->nr_events, 0); /* a definition, no event */
	SAY(vs_recorder_end_pool(self, pool));
	assert_int_equal(log_double_get(VS_RECORD_POOL_END, 0)->pool_end.pool, pool);
	assert_int_equal(log_double_count(VS_RECORD_POOL), 1);
}

static void test_blocks_are_recorded_with_pool_and_stack(void **state)
{
	struct vs_thread *self = *state;
	uint32_t pool = vs_recorder_create_pool(self, VS_POOL_PROGRAM, "blocks", 0, 0);
	const struct vs_record *record;
	uint32_t stack;

	SAY(vs_recorder_add_block(self, pool, 0x2000, 512));
	SAY(vs_recorder_free_block(self, pool, 0x2000));
	SAY(vs_recorder_fail_block(self, pool, 9 * GiB));
	stack = log_double_get(VS_RECORD_STACK, 0)->stack.id;
	record = log_double_get(VS_RECORD_BLOCK_ALLOC, 0);
	assert_int_equal(record->block_alloc.pool, pool);
	assert_int_equal(record->block_alloc.address, 0x2000);
	assert_int_equal(record->block_alloc.size, 512);
	assert_int_equal(record->block_alloc.stack, stack);
	record = log_double_get(VS_RECORD_BLOCK_FREE, 0);
	assert_int_equal(record->block_free.pool, pool);
	assert_int_equal(record->block_free.address, 0x2000);
	assert_int_equal(record->block_free.stack, stack);
	record = log_double_get(VS_RECORD_BLOCK_FAILED, 0);
	assert_int_equal(record->block_failed.pool, pool);
	assert_int_equal(record->block_failed.size, 9 * GiB);
	assert_int_equal(record->block_failed.stack, stack);
	assert_int_equal(self->nr_events, 3);
}

static void test_a_block_and_what_it_was_asked_for_are_two_records_in_a_row(void **state)
{
	struct vs_thread *self = *state;
	uint32_t pool = vs_recorder_create_pool(self, VS_POOL_FRAMEWORK, "bfc", 0, 0);
	const struct vs_record *record;

	SAY(vs_recorder_add_asked_block(self, pool, 0x2000, 512, 400, 7));
	SAY(vs_recorder_free_block(self, pool, 0x2000));
	SAY(vs_recorder_add_asked_block(self, pool, 0x3000, 256, 256, 8));
	assert_int_equal(log_double_count(VS_RECORD_BLOCK_ALLOC), 2);
	assert_int_equal(log_double_count(VS_RECORD_BLOCK_ASKED), 2);
	record = log_double_get(VS_RECORD_BLOCK_ALLOC, 0);
	assert_int_equal(record->block_alloc.pool, pool);
	assert_int_equal(record->block_alloc.address, 0x2000);
	assert_int_equal(record->block_alloc.size, 512);
	assert_int_equal(record->block_alloc.stack, log_double_get(VS_RECORD_STACK, 0)->stack.id);
	record = log_double_get(VS_RECORD_BLOCK_ASKED, 0);
	assert_int_equal(record->block_asked.size, 400);
	assert_int_equal(record->block_asked.run, 7);
	assert_int_equal(log_double_get(VS_RECORD_BLOCK_ASKED, 1)->block_asked.run, 8);
	assert_int_equal(self->nr_events, 5);
}

static void test_words_about_a_failure_are_a_name_of_any_length(void **state)
{
	struct vs_thread *self = *state;
	uint32_t pool = vs_recorder_create_pool(self, VS_POOL_FRAMEWORK, "torch", 0, 0);
	const struct vs_record *record;
	char text[2 * VS_RECORDER_TEXT_MAX];

	memset(text, 'w', sizeof(text));
	SAY(vs_recorder_fail_block(self, pool, GiB));
	SAY(vs_recorder_quote_failure(self, pool, text, 700));
	SAY(vs_recorder_quote_failure(self, pool, text, 700)); /* the same words, another number */
	SAY(vs_recorder_quote_failure(self, pool, text, sizeof(text)));
	assert_int_equal(log_double_count(VS_RECORD_BLOCK_FAILED_TEXT), 3);
	record = log_double_get(VS_RECORD_BLOCK_FAILED_TEXT, 0);
	assert_int_equal(record->block_failed_text.pool, pool);
	assert_int_equal(log_double_get(VS_RECORD_NAME, 0)->name.id,
			 record->block_failed_text.name);
	assert_int_equal(log_double_get(VS_RECORD_NAME, 0)->name.text.size, 700);
	assert_int_equal(log_double_get(VS_RECORD_NAME, 2)->name.text.size, VS_RECORDER_TEXT_MAX);
	assert_int_equal(self->nr_events, 4);
}

static void test_a_fact_is_defined_at_once_and_once(void **state)
{
	struct vs_thread *self = *state;

	SAY(vs_recorder_add_step(self, 1));
	SAY(vs_recorder_add_fact("torch.version", "2.15.0"));
	SAY(vs_recorder_add_fact("torch.version", "2.16.0"));
	SAY(vs_recorder_add_step(self, 2));
	assert_int_equal(log_double_count(VS_RECORD_FACT), 1);
	assert_text(&log_double_get(VS_RECORD_FACT, 0)->fact.key, "torch.version");
	assert_text(&log_double_get(VS_RECORD_FACT, 0)->fact.value, "2.15.0");
	assert_int_equal(self->nr_events, 2);
}

/* The one before was another recording. */
static void test_another_recording_has_the_facts_before_its_first_event(void **state)
{
	SAY(vs_recorder_add_step(*state, 1));
	assert_int_equal(log_double_count(VS_RECORD_FACT), 1);
	assert_int_equal(log_double_at(0)->type, VS_RECORD_THREAD);
	assert_int_equal(log_double_at(1)->type, VS_RECORD_FACT);
	assert_int_equal(log_double_at(2)->type, VS_RECORD_STEP);
}

static void test_a_pool_that_has_no_number_ends_silently(void **state)
{
	struct vs_thread *self = *state;

	SAY(vs_recorder_end_pool(self, VS_NO_ID));
	assert_int_equal(log_double_get_nr(), 0);
	assert_int_equal(self->nr_events, 0);
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static void test_phases_steps_and_marks_are_recorded_in_order(void **state)
{
	static const enum vs_record_type order[] = {
		VS_RECORD_THREAD, VS_RECORD_NAME,       VS_RECORD_PHASE_PUSH,
		VS_RECORD_STEP,   VS_RECORD_PHASE_PUSH, VS_RECORD_PHASE_POP,
		VS_RECORD_NAME,   VS_RECORD_MARK,       VS_RECORD_PHASE_POP,
	};

	SAY(vs_recorder_push_phase(*state, VS_PHASE_SOURCE_HEADER, vs_names_get("epoch")));
	SAY(vs_recorder_add_step(*state, UINT64_MAX));
	SAY(vs_recorder_push_phase(*state, VS_PHASE_SOURCE_HEADER, vs_names_get("epoch")));
	SAY(vs_recorder_pop_phase(*state, VS_PHASE_SOURCE_HEADER));
	SAY(vs_recorder_add_mark(*state, vs_names_get("best so far")));
	SAY(vs_recorder_pop_phase(*state, VS_PHASE_SOURCE_HEADER));
	assert_int_equal(log_double_get_nr(), sizeof(order) / sizeof(order[0]));
	for (uint32_t i = 0; i < log_double_get_nr(); i++)
		assert_int_equal(log_double_at(i)->type, order[i]);
	assert_name(log_double_get(VS_RECORD_PHASE_PUSH, 0)->phase_push.name, "epoch");
	assert_int_equal(log_double_get(VS_RECORD_PHASE_PUSH, 1)->phase_push.name,
			 log_double_get(VS_RECORD_PHASE_PUSH, 0)->phase_push.name);
	assert_int_equal(log_double_get(VS_RECORD_STEP, 0)->step.number, UINT64_MAX);
	assert_name(log_double_get(VS_RECORD_MARK, 0)->mark.name, "best so far");
	assert_int_equal(log_double.nr_captures, 0);
}

static void test_phases_before_the_log_are_said_with_the_first_event(void **state)
{
	static const enum vs_record_type order[] = {
		VS_RECORD_THREAD, VS_RECORD_NAME,        VS_RECORD_PHASE_PUSH,
		VS_RECORD_STEP,   VS_RECORD_NAME,        VS_RECORD_MARK,
		VS_RECORD_NAME,   VS_RECORD_RANGE_START, VS_RECORD_STEP,
	};
	uint64_t id;

	log_double.has_log = false;
	SAY(vs_recorder_push_phase(*state, VS_PHASE_SOURCE_HEADER, vs_names_get("init")));
	SAY(vs_recorder_push_phase(*state, VS_PHASE_SOURCE_HEADER, vs_names_get("over by then")));
	SAY(vs_recorder_pop_phase(*state, VS_PHASE_SOURCE_HEADER));
	SAY(vs_recorder_add_step(*state, 3));
	SAY(vs_recorder_add_mark(*state, vs_names_get("a mark")));
	SAY(id = vs_recorder_start_range(*state, vs_names_get("a range")));
	SAY(vs_recorder_end_range(*state, vs_recorder_start_range(*state, vs_names_get("ended"))));
	assert_int_equal(log_double_get_nr(), 0);
	log_double.has_log = true;
	SAY(vs_recorder_add_step(*state, 4));
	assert_int_equal(log_double_get_nr(), sizeof(order) / sizeof(order[0]));
	for (uint32_t i = 0; i < log_double_get_nr(); i++)
		assert_int_equal(log_double_at(i)->type, order[i]);
	assert_name(log_double_get(VS_RECORD_PHASE_PUSH, 0)->phase_push.name, "init");
	assert_int_equal(log_double_get(VS_RECORD_RANGE_START, 0)->range_start.id, id);
	assert_name(log_double_get(VS_RECORD_RANGE_START, 0)->range_start.name, "a range");
	assert_true(log_double_get(VS_RECORD_PHASE_PUSH, 0)->time_ns <=
		    log_double_get(VS_RECORD_STEP, 0)->time_ns);
	assert_true(log_double_get(VS_RECORD_STEP, 0)->time_ns <
		    log_double_get(VS_RECORD_STEP, 1)->time_ns);
	SAY(vs_recorder_pop_phase(*state, VS_PHASE_SOURCE_HEADER));
	SAY(vs_recorder_pop_phase(*state, VS_PHASE_SOURCE_HEADER));
	assert_int_equal(log_double_count(VS_RECORD_PHASE_POP), 1);
	SAY(vs_recorder_end_range(*state, id));
	assert_int_equal(log_double_get(VS_RECORD_RANGE_END, 0)->range_end.id, id);
}

static void test_a_phase_below_those_of_others_is_closed_around_them(void **state)
{
	static const enum vs_record_type order[] = {
		VS_RECORD_PHASE_PUSH, VS_RECORD_PHASE_PUSH, VS_RECORD_PHASE_POP,
		VS_RECORD_PHASE_POP,  VS_RECORD_PHASE_PUSH, VS_RECORD_PHASE_POP,
	};
	uint32_t outer = vs_names_get("outer"), inner = vs_names_get("inner"), nr = 0;

	SAY(vs_recorder_push_phase(*state, 1, outer));
	SAY(vs_recorder_push_phase(*state, 2, inner));
	SAY(vs_recorder_pop_phase(*state, 1));
	SAY(vs_recorder_pop_phase(*state, 2));
	SAY(vs_recorder_pop_phase(*state, 1));
	for (uint32_t i = 0; i < log_double_get_nr(); i++)
		if (log_double_at(i)->type >= VS_RECORD_FIRST_EVENT)
			assert_int_equal(log_double_at(i)->type, order[nr++]);
	assert_int_equal(nr, sizeof(order) / sizeof(order[0]));
	assert_int_equal(log_double_get(VS_RECORD_PHASE_PUSH, 2)->phase_push.name, inner);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void test_a_thread_is_defined_by_the_name_and_number_it_has(void **state)
{
	const struct vs_record *record;
	struct vs_thread *self = *state;

	prctl(PR_SET_NAME, "a test");
	SAY(vs_recorder_add_step(self, 1));
	SAY(vs_recorder_add_step(self, 2));
	assert_int_equal(log_double_count(VS_RECORD_THREAD), 1);
	record = log_double_get(VS_RECORD_THREAD, 0);
	assert_int_equal(record->thread_name.id, self->id);
	assert_int_equal(record->thread_name.tid, syscall(SYS_gettid));
	assert_text(&record->thread_name.name, "a test");
}

static void test_times_count_from_the_start_of_the_recording(void **state)
{
	struct vs_live_anchor start = log_double.log.header->anchors[0];
	struct vs_clock_instant now;
	struct vs_live_anchor anchor;
	const struct vs_record *record;
	uint64_t start_ns;

	vs_clock_get_instant(&now);
	start_ns = now.ns;
	while (vs_clock_now_ns() - start_ns < 2000000)
		;
	SAY(vs_recorder_add_step(*state, 1));
	vs_clock_get_instant(&now);
	/* The drain does so before it looks. */
	anchor = vs_clock_anchor(&now, &(struct vs_clock_instant){.ns = start_ns});
	assert_true(anchor.ticks > start.ticks);
	vs_live_log_set_anchor(&log_double.log, &anchor);
	record = log_double_get(VS_RECORD_STEP, 0);
	assert_in_range(record->time_ns, 1000000, anchor.ns);
}

static void test_a_name_has_one_number_and_no_record_of_its_own(void **state)
{
	uint32_t first, second;

	(void)state;
	SAY(first = vs_recorder_name("cuMemFree_v2"));
	SAY(second = vs_recorder_name("cuMemFreeHost"));
	assert_int_not_equal(first, VS_NO_ID);
	assert_int_not_equal(second, first);
	assert_int_equal(vs_recorder_name("cuMemFree_v2"), first);
	assert_int_equal(log_double_get_nr(), 0);
	assert_int_equal(log_double.nr_begins, 0);
}

static void test_without_a_log_events_are_counted_for_the_hook_and_nothing_else(void **state)
{
	struct vs_thread *self = *state;
	uint32_t pool;

	log_double.has_log = false;
	SAY(vs_recorder_add_alloc(self, VS_MEMORY_DEVICE, 0, 1, 1, VS_NO_ID, 0));
	SAY(vs_recorder_add_free(self, VS_MEMORY_DEVICE, 1));
	SAY(vs_recorder_add_step(self, 1));
	SAY(vs_recorder_pop_phase(self, VS_PHASE_SOURCE_HEADER));
	assert_int_equal(self->nr_events, 4); /* the runtime's hook must not say them again */
	SAY(pool = vs_recorder_create_pool(self, VS_POOL_PROGRAM, "pool", 0, 0));
	assert_int_not_equal(pool, VS_NO_ID);
	SAY(vs_recorder_define_device(6, "card", GiB, 90, uuid, false));
	assert_false(vs_recorder_has_device(6));
	SAY(vs_recorder_check_modules());
	assert_int_equal(log_double_get_nr(), 0);
	assert_int_equal(log_double_get_lost(), 0);
	assert_int_equal(log_double.nr_captures, 0);
}

static void test_the_drain_is_woken_when_a_quarter_of_the_log_is_taken(void **state)
{
	uint32_t nr_chunks = 1;

	SAY(vs_recorder_add_step(*state, 1));
	for (; nr_chunks < LOG_DOUBLE_NR_CHUNKS / 4; nr_chunks++) {
		assert_int_equal(log_double.nr_wakes, 0);
		log_double_fill(0);
		SAY(vs_recorder_add_step(*state, 2));
	}
	assert_int_equal(log_double.nr_wakes, 1);
	/* Not at each event from now on, but at each chunk. */
	SAY(vs_recorder_add_step(*state, 3));
	assert_int_equal(log_double.nr_wakes, 1);
	log_double_fill(0);
	SAY(vs_recorder_add_step(*state, 4));
	assert_int_equal(log_double.nr_wakes, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_an_allocation_is_recorded_with_name_stack_pool_and_context),
		TEST(test_a_free_is_recorded_with_name_and_stack),
		TEST(test_a_free_has_no_stack_unless_that_is_asked_for),
		TEST(test_a_free_that_failed_is_taken_back),
		TEST(test_a_failure_is_recorded_with_what_the_driver_told),
		TEST(test_virtual_memory_is_recorded_without_stacks),
		TEST(test_a_context_is_recorded_by_number),
		TEST(test_a_context_keeps_its_number_until_it_is_forgotten),
		TEST(test_a_device_is_defined_once),
		TEST(test_a_device_without_a_place_counts_as_defined),
		TEST(test_a_driver_pool_is_defined_at_its_first_use),
		TEST(test_a_driver_pool_is_defined_with_the_limit_it_was_made_with),
		TEST(test_states_of_pools_are_no_events_of_the_driver),
		TEST(test_a_driver_pool_that_ended_is_another_one_when_it_comes_back),
		TEST(test_a_pool_of_the_program_is_defined_when_it_is_made),
		TEST(test_blocks_are_recorded_with_pool_and_stack),
		TEST(test_a_block_and_what_it_was_asked_for_are_two_records_in_a_row),
		TEST(test_words_about_a_failure_are_a_name_of_any_length),
		TEST(test_a_pool_that_has_no_number_ends_silently),
		TEST(test_phases_steps_and_marks_are_recorded_in_order),
		TEST(test_phases_before_the_log_are_said_with_the_first_event),
		TEST(test_a_phase_below_those_of_others_is_closed_around_them),
		TEST(test_a_thread_is_defined_by_the_name_and_number_it_has),
		TEST(test_times_count_from_the_start_of_the_recording),
		TEST(test_a_name_has_one_number_and_no_record_of_its_own),
		TEST(test_without_a_log_events_are_counted_for_the_hook_and_nothing_else),
		TEST(test_the_drain_is_woken_when_a_quarter_of_the_log_is_taken),
		/* The last: facts stay. */
		TEST(test_a_fact_is_defined_at_once_and_once),
		TEST(test_another_recording_has_the_facts_before_its_first_event),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
