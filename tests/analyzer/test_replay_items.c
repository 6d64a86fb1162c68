/* Birth, death and accounting of what is alive, as observers see them: replay_items.c */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

/* ---- An observer that writes down what it is told ------------------------------------------- */

struct witness {
	struct vs_observer observer;
	char text[4096];
	size_t size;
	int fail_at; /* this change, counted from 1, is an error; 0: none */
	int nr_changes;
};

/* "born 100": a change and the size of its item; behind '/' the cause, unless it is the event. */
static int write_change(struct vs_observer *observer, const struct vs_replay *replay,
			const struct vs_change *change)
{
	static const char *const types[] = {"born",     "dying",     "will resize",
					    "resized",  "charged",   "discharged",
					    "released", "unmatched", "unfreed"};
	static const char *const causes[] = {"",         "/implicit", "/parent",
					     "/overlap", "/restored", "/shape"};
	struct witness *witness = (struct witness *)(void *)observer;
	const struct vs_item *item = change->item;

	/* What is said to be there is there. */
	if (item && !item->parent && item->class == VS_ITEM_SEGMENT &&
	    (change->type == VS_CHANGE_BORN || change->type == VS_CHANGE_DYING))
		assert_ptr_equal(vs_range_tree_find(&replay->regions, item->range.base),
				 &item->range);
	if (change->type == VS_CHANGE_DYING)
		assert_int_equal(item->blocks.nr_ranges, 0);
	if (change->type == VS_CHANGE_CHARGED || change->type == VS_CHANGE_DISCHARGED)
		assert_true(item->account->live_bytes >= item->size);
	witness->size +=
		(size_t)snprintf(witness->text + witness->size,
				 sizeof(witness->text) - witness->size, "%s", types[change->type]);
	if (item)
		witness->size += (size_t)snprintf(witness->text + witness->size,
						  sizeof(witness->text) - witness->size,
						  " %" PRIu64, item->size);
	witness->size += (size_t)snprintf(witness->text + witness->size,
					  sizeof(witness->text) - witness->size, "%s, ",
					  causes[change->cause]);
	assert_true(witness->size < sizeof(witness->text));
	return ++witness->nr_changes == witness->fail_at ? -VS_ERR_IO : 0;
}

/* Replays the script in one pass; NULL if the witness made it fail. */
static struct vs_replay *replay_observed(const struct script *script, struct witness *witness,
					 int fail_at)
{
	struct vs_replay *replay;
	int err = 0;

	memset(witness, 0, sizeof(*witness));
	witness->observer.on_change = write_change;
	witness->fail_at = fail_at;
	assert_int_equal(vs_replay_create(&replay), 0);
	vs_replay_add_observer(replay, &witness->observer);
	for (size_t i = 0; i < script->nr_records && !err; i++)
		err = vs_replay_add(replay, &script->records[i]);
	if (!err)
		return replay;
	assert_int_equal(err, -VS_ERR_IO);
	vs_replay_destroy(replay);
	return NULL;
}

static void assert_told(const struct script *script, const char *expected)
{
	struct witness witness;

	vs_replay_destroy(replay_observed(script, &witness, 0));
	assert_string_equal(witness.text, expected);
}

static void test_birth_comes_before_the_charge_and_death_after_it(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	assert_told(&script, "born 100, charged 100, discharged 100, dying 100, ");
	script_fini(&script);
}

static void test_first_block_takes_the_charge_from_its_segment(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 7);
	script_block(&script, 1, BASE + 50, 8);
	script_block_free(&script, 1, BASE);
	script_block_free(&script, 1, BASE + 50);
	/* Once a pool's, always a pool's. */
	assert_told(&script, "born 100, charged 100, discharged 100, "
			     "born 7, charged 7, born 8, charged 8, "
			     "discharged 7, dying 7, discharged 8, dying 8, ");
	script_fini(&script);
}

static void test_blocks_die_before_their_segment(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 7);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	assert_told(&script, "born 100, charged 100, discharged 100, born 7, charged 7, "
			     "discharged 7, dying 7/parent, dying 100, ");
	script_fini(&script);
}

static void test_failed_free_brings_everything_back(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 7);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	assert_told(&script, "born 100, charged 100, discharged 100, born 7, charged 7, "
			     "discharged 7, dying 7/parent, dying 100, "
			     "born 100/restored, born 7/restored, charged 7/restored, "
			     "unfreed/restored, ");
	script_fini(&script);
}

static void test_something_new_closes_what_is_older(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE + 99, 5);
	assert_told(&script, "born 100, charged 100, discharged 100, dying 100/overlap, "
			     "born 5, charged 5, ");
	script_fini(&script);
}

static void test_free_of_something_unknown_is_told(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	script_step(&script, 1);
	script_free_failed(&script, VS_MEMORY_DEVICE, 2 * BASE); /* of a free that was lost */
	assert_told(&script, "unmatched, unfreed/restored, unfreed, ");
	script_fini(&script);
}

static void test_handle_is_charged_while_it_is_mapped(void **state)
{
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_VMM, 9, 4096);
	script_reserve(&script, BASE, MIB);
	script_map(&script, BASE, 4096, 9);
	script_free(&script, VS_MEMORY_VMM, 9);
	script_unmap(&script, BASE, 4096);
	/* The segment is born and dies, too, but has no bytes of its own. */
	assert_told(&script, "born 4096, born 4096, charged 4096, released 4096, dying 4096, "
			     "discharged 4096, dying 4096, ");
	script_fini(&script);
}

static void test_observer_that_fails_ends_the_replay_wherever_that_is(void **state)
{
	struct witness witness;
	struct vs_replay *replay;
	struct script script;
	int nr_changes;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 7);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE + 50, 100);
	script_alloc(&script, VS_MEMORY_VMM, 9, 8192);
	script_map(&script, 5 * BASE, 4096, 9);
	script_map(&script, 5 * BASE + 4096, 4096, 9);
	script_block(&script, 1, 5 * BASE + 100, 9);
	script_unmap(&script, 5 * BASE, 4096);
	script_end_context(&script, VS_CONTEXT_RESET, 0, 0);
	vs_replay_destroy(replay_observed(&script, &witness, 0));
	nr_changes = witness.nr_changes;
	assert_true(nr_changes > 20);
	for (int i = 1; i <= nr_changes; i++) {
		replay = replay_observed(&script, &witness, i);
		assert_null(replay);
		assert_int_equal(witness.nr_changes, i);
	}
	script_fini(&script);
}

/* ---- Devices and accounts ------------------------------------------------------------------- */

static void test_devices_are_by_ordinal_and_numbered_as_they_came(void **state)
{
	static const uint32_t ordinals[] = {5, 0, 3};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init(&script);
	for (size_t i = 0; i < 3; i++)
		script_alloc_on(&script, ordinals[i], VS_MEMORY_DEVICE, (i + 1) * BASE, 1);
	replay = script_replay(&script);
	assert_int_equal(replay->nr_devices, 3);
	assert_int_equal(replay->devices[0]->ordinal, 0);
	assert_int_equal(replay->devices[1]->ordinal, 3);
	assert_int_equal(replay->devices[2]->ordinal, 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(vs_replay_get_device(replay, ordinals[i])->index, i);
	assert_null(vs_replay_get_device(replay, 1));
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_memory_that_names_no_device_is_that_of_the_first(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init(&script);
	script_alloc_on(&script, VS_NO_DEVICE, VS_MEMORY_PINNED, BASE, 5);
	replay = script_replay(&script);
	assert_int_equal(replay->nr_devices, 1);
	assert_int_equal(replay->devices[0]->ordinal, 0);
	vs_replay_destroy(replay);
	script_fini(&script);
	script_init(&script);
	script_device(&script, 4, MIB);
	script_alloc_on(&script, VS_NO_DEVICE, VS_MEMORY_DEVICE, BASE, 5);
	replay = script_replay(&script);
	assert_int_equal(replay->nr_devices, 1);
	assert_int_equal(vs_replay_get_device(replay, 4)->live_bytes, 5);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_site_has_an_account_for_each_device_and_domain(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_device(&script, 1, MIB);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1);
	script_alloc(&script, VS_MEMORY_MANAGED, 2 * BASE, 2); /* the same account */
	script_alloc(&script, VS_MEMORY_PINNED, 3 * BASE, 4);
	script_alloc(&script, VS_MEMORY_IPC, 4 * BASE, 8);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 5 * BASE, 16);
	replay = script_replay(&script);
	assert_int_equal(replay->nr_accounts, 4);
	for (size_t i = 0; i < 4; i++) {
		static const uint64_t bytes[] = {3, 4, 8, 16};
		static const enum vs_domain domains[] = {VS_DOMAIN_DEVICE, VS_DOMAIN_HOST,
							 VS_DOMAIN_PEER, VS_DOMAIN_DEVICE};

		assert_int_equal(replay->accounts[i]->index, i);
		assert_int_equal(replay->accounts[i]->live_bytes, bytes[i]);
		assert_int_equal(replay->accounts[i]->domain, domains[i]);
		assert_ptr_equal(replay->accounts[i]->site, replay->accounts[0]->site);
	}
	assert_int_equal(script_get_device(replay)->live_bytes, 3);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void add_alloc_by(struct script *script, uint64_t address, uint32_t api)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC,
					      .alloc = {.kind = VS_MEMORY_DEVICE,
							.address = address,
							.size = 1,
							.stack = 1,
							.api = api}});
}

static void test_account_has_the_name_of_the_first_function_seen_there(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	add_alloc_by(&script, BASE, VS_NO_ID);
	add_alloc_by(&script, 2 * BASE, 1);
	add_alloc_by(&script, 3 * BASE, 2);
	replay = script_replay(&script);
	assert_int_equal(script_get_account(replay, 1)->api, 1);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_items_at_the_end_of_the_address_space_do_not_wrap_around(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, UINT64_MAX - 10, 1000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 5); /* is not covered by that */
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 0);
	replay = script_replay(&script);
	assert_int_equal(replay->counters.nr_overlaps, 0);
	assert_int_equal(script_get_device(replay)->live_count, 3);
	assert_int_equal(script_get_device(replay)->live_bytes, 1005);
	vs_replay_destroy(replay);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_birth_comes_before_the_charge_and_death_after_it),
		cmocka_unit_test(test_first_block_takes_the_charge_from_its_segment),
		cmocka_unit_test(test_blocks_die_before_their_segment),
		cmocka_unit_test(test_failed_free_brings_everything_back),
		cmocka_unit_test(test_something_new_closes_what_is_older),
		cmocka_unit_test(test_free_of_something_unknown_is_told),
		cmocka_unit_test(test_handle_is_charged_while_it_is_mapped),
		cmocka_unit_test(test_observer_that_fails_ends_the_replay_wherever_that_is),
		cmocka_unit_test(test_devices_are_by_ordinal_and_numbered_as_they_came),
		cmocka_unit_test(test_memory_that_names_no_device_is_that_of_the_first),
		cmocka_unit_test(test_site_has_an_account_for_each_device_and_domain),
		cmocka_unit_test(test_account_has_the_name_of_the_first_function_seen_there),
		cmocka_unit_test(test_items_at_the_end_of_the_address_space_do_not_wrap_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
