/*
 * Processes that share memory and events by handles (cuIpc*): what one writes the other reads, it
 * is charged once, and it lives until the last of them is gone, however each of them ends.
 */
#include "share_stage.h"

static unsigned open_memory(struct sg_share_player *player, const struct sg_share_message *handle)
{
	struct sg_share_message answer = hand(player, SG_SHARE_OPEN_MEM, 0, handle, 0);

	assert_int_equal(answer.error, cudaSuccess);
	return answer.index;
}

static int try_open(struct sg_share_player *player, const struct sg_share_message *handle)
{
	return hand(player, SG_SHARE_OPEN_MEM, 0, handle, 0).error;
}

static void share_one(struct stage *stage, uint64_t size)
{
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, size);
	struct sg_share_message handle;
	unsigned ours;

	write_value(&stage->exporter, theirs, 0, 11); /* before anybody knows of it */
	handle = get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);
	ours = open_memory(&stage->importer, &handle);
	assert_int_equal(read_value(&stage->importer, ours, 0), 11);
	assert_int_equal(read_value(&stage->importer, ours, size - 8), 0);
	write_value(&stage->exporter, theirs, size - 8, 22);
	assert_int_equal(read_value(&stage->importer, ours, size - 8), 22);
	write_value(&stage->importer, ours, 0, 33);
	assert_int_equal(read_value(&stage->exporter, theirs, 0), 33);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, ours), cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, theirs), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle);
}

static void test_what_one_process_writes_the_other_reads(void **state)
{
	share_one(*state, 10 * MIB);
	share_one(*state, 4096); /* in a page with others */
	share_one(*state, 100 * MIB);
}

static void test_memory_is_charged_once_however_many_have_it_open(void **state)
{
	struct stage *stage = *state;
	struct sg_share_player third = sg_share_player_start(card, NULL);
	uint64_t idle = used_memory(), context = used_by(third.pid);
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB), ours;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	assert_int_equal(used_memory(), idle + 10 * MIB);
	ours = open_memory(&stage->importer, &handle);
	open_memory(&third, &handle);
	assert_int_equal(used_memory(), idle + 10 * MIB);
	assert_int_equal(used_by(stage->exporter.pid), context + 10 * MIB);
	assert_int_equal(used_by(stage->importer.pid), context);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, ours), cudaSuccess);
	assert_int_equal(used_memory(), idle + 10 * MIB);
	sg_share_player_dismiss(&third);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
}

static void test_allocations_of_one_page_are_opened_each_by_its_handle(void **state)
{
	struct stage *stage = *state;
	unsigned first = make(&stage->exporter, SG_SHARE_MALLOC, 0, 512);
	unsigned second = make(&stage->exporter, SG_SHARE_MALLOC, 0, 512);
	struct sg_share_message one = get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, first);
	struct sg_share_message two = get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, second);
	unsigned opened[2] = {open_memory(&stage->importer, &one),
			      open_memory(&stage->importer, &two)};

	write_value(&stage->exporter, first, 0, 1);
	write_value(&stage->exporter, second, 0, 2);
	assert_int_equal(read_value(&stage->importer, opened[0], 0), 1);
	assert_int_equal(read_value(&stage->importer, opened[1], 0), 2);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, opened[0]), cudaSuccess);
	assert_int_equal(read_value(&stage->importer, opened[1], 0), 2);
	/* The page is there, but this allocation of it is not. */
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, first), cudaSuccess);
	assert_int_equal(try_open(&stage->importer, &one), cudaErrorInvalidResourceHandle);
	assert_int_equal(used_memory(), stage->idle + 2 * MIB);
}

static void test_memory_freed_by_its_owner_stays_with_who_has_it_open(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB), ours, next;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	write_value(&stage->exporter, theirs, 0, 44);
	ours = open_memory(&stage->importer, &handle);
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, theirs), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
	assert_int_equal(try_open(&stage->importer, &handle), cudaErrorInvalidResourceHandle);
	/* Nobody gets these pages meanwhile. */
	next = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	write_value(&stage->exporter, next, 0, 55);
	assert_int_equal(read_value(&stage->importer, ours, 0), 44);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, ours), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
	/* They are clean when they are used again. */
	for (int i = 0; i < 4; i++) {
		next = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
		assert_int_equal(read_value(&stage->exporter, next, 0), 0);
	}
}

static void test_addresses_are_used_again_when_nobody_has_them(void **state)
{
	struct stage *stage = *state;
	struct sg_share_message made =
		sg_share_player_ask(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, made.index);
	struct sg_share_message opened = hand(&stage->importer, SG_SHARE_OPEN_MEM, 0, &handle, 0);
	struct sg_share_message next;

	/* What comes where memory of another was is nobody's but its owner's. */
	assert_int_equal(opened.error, cudaSuccess);
	write_value(&stage->exporter, made.index, 0, 18);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, opened.index), cudaSuccess);
	next = sg_share_player_ask(&stage->importer, SG_SHARE_MALLOC, 0, 10 * MIB);
	assert_int_equal(next.size, opened.size);
	assert_int_equal(read_value(&stage->importer, next.index, 0), 0);
	write_value(&stage->importer, next.index, 0, 19);
	assert_int_equal(read_value(&stage->exporter, made.index, 0), 18);
	/* The owner gets its own addresses again, though not before they are free. */
	opened = hand(&stage->importer, SG_SHARE_OPEN_MEM, 0, &handle, 0);
	assert_int_equal(opened.error, cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, made.index), cudaSuccess);
	next = sg_share_player_ask(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	assert_true(next.size != made.size);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, opened.index), cudaSuccess);
	next = sg_share_player_ask(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	assert_int_equal(next.size, made.size);
	assert_int_equal(read_value(&stage->exporter, next.index, 0), 0);
}

static void test_memory_of_a_killed_process_stays_with_who_has_it_open(void **state)
{
	struct stage *stage = *state;
	uint64_t context = stage->idle / 2;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB), ours;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	make(&stage->exporter, SG_SHARE_MALLOC, 0, 20 * MIB); /* its own, and gone with it */
	write_value(&stage->exporter, theirs, 8, 66);
	ours = open_memory(&stage->importer, &handle);
	kill_player(&stage->exporter);
	assert_int_equal(used_memory(), context + 10 * MIB);
	assert_int_equal(used_by(stage->importer.pid), context + 10 * MIB);
	assert_int_equal(read_value(&stage->importer, ours, 8), 66);
	write_value(&stage->importer, ours, 8, 77);
	assert_int_equal(read_value(&stage->importer, ours, 8), 77);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, ours), cudaSuccess);
	assert_int_equal(used_memory(), context);
	assert_int_equal(try_open(&stage->importer, &handle), cudaErrorInvalidResourceHandle);
}

static void test_importer_that_is_killed_leaves_the_memory_as_it_was(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB), ours;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	ours = open_memory(&stage->importer, &handle);
	write_value(&stage->importer, ours, 0, 88);
	kill_player(&stage->importer);
	assert_int_equal(read_value(&stage->exporter, theirs, 0), 88);
	assert_int_equal(used_memory(), stage->idle / 2 + 10 * MIB);
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, theirs), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle / 2);
}

static void test_freed_memory_comes_back_when_its_last_importer_is_killed(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	open_memory(&stage->importer, &handle);
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, theirs), cudaSuccess);
	kill_player(&stage->importer);
	assert_int_equal(used_memory(), stage->idle / 2);
}

static void test_handle_opened_twice_has_to_be_closed_twice(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 3 * MIB);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);
	struct sg_share_message first = hand(&stage->importer, SG_SHARE_OPEN_MEM, 0, &handle, 0);
	struct sg_share_message second = hand(&stage->importer, SG_SHARE_OPEN_MEM, 0, &handle, 0);

	assert_int_equal(first.error, cudaSuccess);
	assert_int_equal(second.error, cudaSuccess);
	assert_int_equal(first.size, second.size); /* the address */
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, first.index), cudaSuccess);
	assert_int_equal(read_value(&stage->importer, second.index, 0), 0);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, second.index), cudaSuccess);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, second.index),
			 cudaErrorInvalidValue);
	assert_int_equal(order(&stage->importer, SG_SHARE_READ, second.index),
			 cudaErrorInvalidValue);
	open_memory(&stage->importer, &handle);
}

static void test_handles_that_cannot_be_opened(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 3 * MIB);
	unsigned event = make(&stage->exporter, SG_SHARE_CREATE_EVENT, 0,
			      cudaEventInterprocess | cudaEventDisableTiming);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);
	struct sg_share_message other =
		get_handle(&stage->exporter, SG_SHARE_GET_EVENT_HANDLE, event);
	struct sg_share_message nothing = {.fd = -1};
	struct sg_share_player stranger;
	char name[80];

	/* in the process that made it */
	assert_int_equal(try_open(&stage->exporter, &handle), cudaErrorDeviceUninitialized);
	/* of another sort, or of none */
	assert_int_equal(try_open(&stage->importer, &other), cudaErrorInvalidValue);
	assert_int_equal(try_open(&stage->importer, &nothing), cudaErrorInvalidValue);
	assert_int_equal(hand(&stage->importer, SG_SHARE_OPEN_EVENT, 0, &handle, 0).error,
			 cudaErrorInvalidValue);
	/* of another card */
	snprintf(name, sizeof(name), "%s-other", card);
	stranger = sg_share_player_start(name, NULL);
	assert_int_equal(try_open(&stranger, &handle), cudaErrorMapBufferObjectFailed);
	sg_share_player_dismiss(&stranger);
	/* of memory that was freed, of a process that is gone */
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, theirs), cudaSuccess);
	assert_int_equal(try_open(&stage->importer, &handle), cudaErrorInvalidResourceHandle);
	theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 3 * MIB);
	handle = get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);
	kill_player(&stage->exporter);
	assert_int_equal(try_open(&stage->importer, &handle), cudaErrorInvalidResourceHandle);
	assert_int_equal(used_memory(), stage->idle / 2);
}

static void test_opened_memory_is_closed_and_not_freed(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 3 * MIB), ours;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	ours = open_memory(&stage->importer, &handle);
	assert_int_equal(order(&stage->importer, SG_SHARE_FREE, ours), cudaErrorInvalidValue);
	assert_int_equal(order(&stage->importer, SG_SHARE_GET_MEM_HANDLE, ours),
			 cudaErrorInvalidValue);
	assert_int_equal(order(&stage->exporter, SG_SHARE_CLOSE_MEM, theirs),
			 cudaErrorInvalidValue);
	assert_int_equal(order(&stage->importer, SG_SHARE_CLOSE_MEM, ours), cudaSuccess);
}

static void test_reset_closes_what_was_opened(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);

	open_memory(&stage->importer, &handle);
	assert_int_equal(order(&stage->importer, SG_SHARE_RESET, 0), cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_FREE, theirs), cudaSuccess);
	assert_int_equal(used_memory(), stage->idle / 2);
	/* and frees what was lent */
	theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB);
	handle = get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);
	assert_int_equal(order(&stage->exporter, SG_SHARE_RESET, 0), cudaSuccess);
	assert_int_equal(try_open(&stage->importer, &handle), cudaErrorInvalidResourceHandle);
}

/* The devices of a card are the same ones for all, whatever number a process has for them. */
static void test_device_is_the_same_by_whatever_number(void **state)
{
	struct stage *stage = *state;
	struct sg_share_player turned = sg_share_player_start(card, "1,0");
	struct sg_share_player without = sg_share_player_start(card, "1");
	unsigned theirs = make(&stage->exporter, SG_SHARE_MALLOC, 0, 10 * MIB), ours;
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_MEM_HANDLE, theirs);
	struct sg_share_message one = get_handle(&stage->exporter, SG_SHARE_IDENTIFY, 0);
	struct sg_share_message same = get_handle(&stage->importer, SG_SHARE_IDENTIFY, 0);
	struct sg_share_message two = get_handle(&turned, SG_SHARE_IDENTIFY, 0);

	assert_memory_equal(one.bytes, same.bytes, sizeof(one.bytes));
	assert_string_equal((char *)one.bytes + 16, "0000:01:00.0");
	assert_string_equal((char *)two.bytes + 16, "0000:02:00.0");
	assert_memory_not_equal(one.bytes, two.bytes, 16);
	write_value(&stage->exporter, theirs, 0, 99);
	ours = open_memory(&turned, &handle);
	assert_int_equal(read_value(&turned, ours, 0), 99);
	ours = open_memory(&without, &handle); /* though it cannot see the device */
	assert_int_equal(read_value(&without, ours, 0), 99);
	assert_int_equal(used_memory(), stage->idle + 10 * MIB);
	sg_share_player_dismiss(&turned);
	sg_share_player_dismiss(&without);
}

/* Events */

static void test_event_of_another_process_can_be_used(void **state)
{
	struct stage *stage = *state;
	const uint64_t flags = cudaEventInterprocess | cudaEventDisableTiming;
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_EVENT, 0, flags);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_EVENT_HANDLE, theirs);
	struct sg_share_message opened = hand(&stage->importer, SG_SHARE_OPEN_EVENT, 0, &handle, 0);

	assert_int_equal(opened.error, cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_USE_EVENT, theirs), cudaSuccess);
	assert_int_equal(order(&stage->importer, SG_SHARE_USE_EVENT, opened.index), cudaSuccess);
	assert_int_equal(order(&stage->importer, SG_SHARE_GET_EVENT_HANDLE, opened.index),
			 cudaErrorInvalidResourceHandle);
	assert_int_equal(hand(&stage->exporter, SG_SHARE_OPEN_EVENT, 0, &handle, 0).error,
			 cudaErrorDeviceUninitialized);
	assert_int_equal(order(&stage->importer, SG_SHARE_DESTROY_EVENT, opened.index),
			 cudaSuccess);
	assert_int_equal(order(&stage->exporter, SG_SHARE_DESTROY_EVENT, theirs), cudaSuccess);
	assert_int_equal(hand(&stage->importer, SG_SHARE_OPEN_EVENT, 0, &handle, 0).error,
			 cudaErrorInvalidResourceHandle);
}

static void test_event_outlives_the_process_that_made_it(void **state)
{
	struct stage *stage = *state;
	unsigned theirs = make(&stage->exporter, SG_SHARE_CREATE_EVENT, 0,
			       cudaEventInterprocess | cudaEventDisableTiming);
	struct sg_share_message handle =
		get_handle(&stage->exporter, SG_SHARE_GET_EVENT_HANDLE, theirs);
	struct sg_share_message opened = hand(&stage->importer, SG_SHARE_OPEN_EVENT, 0, &handle, 0);

	assert_int_equal(opened.error, cudaSuccess);
	kill_player(&stage->exporter);
	assert_int_equal(order(&stage->importer, SG_SHARE_USE_EVENT, opened.index), cudaSuccess);
}

static void test_event_must_be_made_for_other_processes(void **state)
{
	struct stage *stage = *state;
	unsigned plain = make(&stage->exporter, SG_SHARE_CREATE_EVENT, 0, cudaEventDisableTiming);

	assert_int_equal(order(&stage->exporter, SG_SHARE_GET_EVENT_HANDLE, plain),
			 cudaErrorInvalidResourceHandle);
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_what_one_process_writes_the_other_reads),
		STAGED(test_memory_is_charged_once_however_many_have_it_open),
		STAGED(test_allocations_of_one_page_are_opened_each_by_its_handle),
		STAGED(test_memory_freed_by_its_owner_stays_with_who_has_it_open),
		STAGED(test_addresses_are_used_again_when_nobody_has_them),
		STAGED(test_memory_of_a_killed_process_stays_with_who_has_it_open),
		STAGED(test_importer_that_is_killed_leaves_the_memory_as_it_was),
		STAGED(test_freed_memory_comes_back_when_its_last_importer_is_killed),
		STAGED(test_handle_opened_twice_has_to_be_closed_twice),
		STAGED(test_handles_that_cannot_be_opened),
		STAGED(test_opened_memory_is_closed_and_not_freed),
		STAGED(test_reset_closes_what_was_opened),
		STAGED(test_device_is_the_same_by_whatever_number),
		STAGED(test_event_of_another_process_can_be_used),
		STAGED(test_event_outlives_the_process_that_made_it),
		STAGED(test_event_must_be_made_for_other_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return run_staged(argc, argv, run_group);
}
