/* snapshot_put.c, snapshot_rows.c, snapshot_change.c, snapshot_list.c, snapshot_chain.c,
 * snapshot_get.c, snapshot_items.c */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "measure_counts.h"
#include "measure_fragmentation.h"
#include "random_script.h"
#include "same_replay.h"

#define NR_SEEDS   12
#define NR_RECORDS 6000
#define NR_CUTS    40

/* A replay with what watches it. */
struct watched {
	struct vs_replay *replay;
	struct vs_measure_fragmentation holes;
	struct vs_measure_counts counts;
};

static void begin(struct watched *watched, const struct vs_adoption *adoption)
{
	assert_int_equal(vs_replay_create(&watched->replay), 0);
	watched->replay->adopted = adoption;
	vs_measure_fragmentation_init(&watched->holes);
	vs_measure_counts_init(&watched->counts);
	vs_replay_add_observer(watched->replay, &watched->holes.observer);
	vs_replay_add_observer(watched->replay, &watched->counts.observer);
}

static void end(struct watched *watched)
{
	vs_replay_destroy(watched->replay);
	vs_measure_fragmentation_fini(&watched->holes);
	vs_measure_counts_fini(&watched->counts);
	watched->replay = NULL;
}

/* What is in the trace before the snapshot is given as the trace has it. */
static void give_definitions(struct vs_replay *replay, const struct script *script, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!vs_replay_is_event(&script->records[i]))
			assert_int_equal(
				vs_definitions_add(&replay->definitions, &script->records[i]), 0);
}

static void assert_same_watched(const struct watched *one, const struct watched *other)
{
	static const struct vs_hole_set none;
	const struct vs_replay *replay = one->replay;

	assert_same_replay(replay, other->replay);
	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_hole_set *a =
			vs_measure_fragmentation_get_holes(&one->holes, replay->pools[i]);
		const struct vs_hole_set *b =
			vs_measure_fragmentation_get_holes(&other->holes, other->replay->pools[i]);

		a = a ? a : &none;
		b = b ? b : &none;
		assert_int_equal(a->nr_holes, b->nr_holes);
		assert_int_equal(a->total_bytes, b->total_bytes);
		assert_true(a->squares == b->squares);
		assert_int_equal(vs_measure_counts_get_pool(&one->counts, replay->pools[i])
					 ->live_at_end_bytes,
				 vs_measure_counts_get_pool(&other->counts, other->replay->pools[i])
					 ->live_at_end_bytes);
	}
	for (size_t i = 0; i < replay->nr_devices; i++)
		for (int kind = 0; kind < VS_NR_MEMORY_KINDS; kind++)
			assert_int_equal(vs_measure_counts_get_kind(&one->counts,
								    replay->devices[i],
								    (enum vs_memory_kind)kind)
						 ->live_at_end_count,
					 vs_measure_counts_get_kind(&other->counts,
								    other->replay->devices[i],
								    (enum vs_memory_kind)kind)
						 ->live_at_end_count);
}

/* A snapshot by itself. */
static void put_whole(struct vs_pack *pack, const struct vs_replay *replay)
{
	struct vs_snapshot_memory *memory;

	assert_int_equal(vs_snapshot_memory_create(&memory), 0);
	vs_snapshot_put(pack, replay, memory, true);
	assert_int_equal(pack->error, 0);
	vs_snapshot_memory_destroy(memory);
}

static int get_whole(struct vs_replay *replay, const void *bytes, size_t size)
{
	struct vs_snapshot_chain *chain;
	int err;

	assert_int_equal(vs_snapshot_chain_create(&chain), 0);
	err = vs_snapshot_chain_add(chain, bytes, size, true);
	if (!err)
		err = vs_snapshot_get(replay, chain);
	vs_snapshot_chain_destroy(chain);
	return err;
}

#define NR_IN_CHAIN 9

/* Snapshots one behind the other, of which a whole one comes now and then. */
struct series {
	struct vs_snapshot_memory *memory;
	struct vs_pack packs[NR_IN_CHAIN];
	size_t nr;
};

static void add_to_series(struct series *series, const struct vs_replay *replay)
{
	if (series->nr == NR_IN_CHAIN)
		series->nr = 0;
	series->packs[series->nr].size = 0;
	vs_snapshot_put(&series->packs[series->nr], replay, series->memory, !series->nr);
	assert_int_equal(series->packs[series->nr].error, 0);
	series->nr++;
	vs_snapshot_memory_keep(series->memory);
}

static void get_from_series(struct vs_replay *replay, const struct series *series)
{
	struct vs_snapshot_chain *chain;

	assert_int_equal(vs_snapshot_chain_create(&chain), 0);
	for (size_t i = 0; i < series->nr; i++)
		assert_int_equal(vs_snapshot_chain_add(chain, series->packs[i].bytes,
						       series->packs[i].size, !i),
				 0);
	assert_int_equal(vs_snapshot_get(replay, chain), 0);
	vs_snapshot_chain_destroy(chain);
}

static void fini_series(struct series *series)
{
	for (size_t i = 0; i < NR_IN_CHAIN; i++)
		vs_pack_fini(&series->packs[i]);
	vs_snapshot_memory_destroy(series->memory);
}

/* What came out of snapshots gives the same snapshot. */
static void restore(struct watched *copy, const struct watched *original, struct series *series,
		    const struct script *script, size_t nr_records,
		    const struct vs_adoption *adoption)
{
	struct vs_pack pack = {0}, again = {0};

	add_to_series(series, original->replay);
	begin(copy, adoption);
	copy->replay->is_in_window = false;
	give_definitions(copy->replay, script, nr_records);
	get_from_series(copy->replay, series);
	copy->replay->is_in_window = true;
	put_whole(&pack, original->replay);
	put_whole(&again, copy->replay);
	assert_int_equal(again.size, pack.size);
	assert_memory_equal(again.bytes, pack.bytes, pack.size);
	vs_pack_fini(&pack);
	vs_pack_fini(&again);
}

static void test_replay_goes_on_from_a_snapshot_as_if_nothing_had_been(void **state)
{
	size_t interval = NR_RECORDS / NR_CUTS;

	(void)state;
	for (unsigned int seed = 0; seed < NR_SEEDS; seed++) {
		struct watched original, copy = {0};
		struct series series = {0};
		struct vs_analysis analysis;
		struct script script;

		assert_int_equal(vs_snapshot_memory_create(&series.memory), 0);
		random_script_make(&script, seed, NR_RECORDS);
		script_analyse(&script, &analysis);
		begin(&original, &analysis.adoption);
		for (size_t i = 0; i < script.nr_records; i++) {
			if (i % interval == seed) {
				if (copy.replay) {
					assert_same_watched(&original, &copy);
					end(&copy);
				}
				restore(&copy, &original, &series, &script, i, &analysis.adoption);
				assert_same_watched(&original, &copy);
			}
			assert_int_equal(vs_replay_add(original.replay, &script.records[i]), 0);
			if (copy.replay)
				assert_int_equal(vs_replay_add(copy.replay, &script.records[i]), 0);
		}
		assert_same_watched(&original, &copy);
		end(&copy);
		end(&original);
		fini_series(&series);
		vs_analysis_fini(&analysis);
		script_fini(&script);
	}
}

/* Where a pending free, mappings of a released handle and the like are sure to be there. */
static void make_still_life(struct script *script)
{
	script_init(script);
	script_device(script, 0, GIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "arena");
	script_name(script, 1, "forward");
	script_push(script, 1);
	script_step(script, 7);
	script_alloc(script, VS_MEMORY_DEVICE, MIB, MIB);
	script_block(script, 1, MIB, 1000);
	script_block(script, 1, MIB + 4000, 1000);
	script_alloc(script, VS_MEMORY_ARRAY, 5, 300);
	script_reserve(script, 8 * MIB, 8 * MIB);
	script_alloc(script, VS_MEMORY_VMM, 3, MIB);
	script_map(script, 8 * MIB, MIB, 3);
	script_map(script, 9 * MIB, MIB, 3);
	script_set_thread(script, 2);
	script_free(script, VS_MEMORY_VMM, 3);
	script_alloc(script, VS_MEMORY_VMM, 3, MIB);
	script_set_thread(script, 1);
	script_free(script, VS_MEMORY_DEVICE, MIB);
}

static struct vs_replay *replay_still_life(struct script *script, struct vs_analysis *analysis)
{
	struct vs_replay *replay;

	make_still_life(script);
	script_analyse(script, analysis);
	assert_int_equal(vs_replay_create(&replay), 0);
	replay->adopted = &analysis->adoption;
	for (size_t i = 0; i < script->nr_records; i++)
		assert_int_equal(vs_replay_add(replay, &script->records[i]), 0);
	return replay;
}

static void test_free_that_fails_after_the_snapshot_brings_everything_back(void **state)
{
	struct vs_record failed = {.type = VS_RECORD_FREE_FAILED,
				   .time_ns = 100000,
				   .thread = 1,
				   .free_failed = {VS_MEMORY_DEVICE, MIB, 1}};
	struct vs_analysis analysis;
	struct vs_replay *replay, *copy;
	struct vs_pack pack = {0};
	struct script script;

	(void)state;
	replay = replay_still_life(&script, &analysis);
	put_whole(&pack, replay);
	assert_int_equal(vs_replay_create(&copy), 0);
	copy->adopted = &analysis.adoption;
	give_definitions(copy, &script, script.nr_records);
	assert_int_equal(get_whole(copy, pack.bytes, pack.size), 0);
	assert_int_equal(copy->pools[0]->nr_blocks, 0);
	assert_int_equal(vs_replay_add(copy, &failed), 0);
	assert_int_equal(copy->pools[0]->nr_blocks, 2);
	assert_int_equal(copy->pools[0]->segment_bytes, MIB);
	assert_string_equal(vs_replay_get_phase(copy, 1), "forward");
	assert_int_equal(vs_replay_add(replay, &failed), 0);
	assert_same_replay(replay, copy);
	vs_pack_fini(&pack);
	vs_replay_destroy(copy);
	vs_replay_destroy(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_sums_are_those_of_the_replay_without_what_is_alive(void **state)
{
	struct vs_analysis analysis;
	struct vs_replay *replay, *copy;
	struct vs_pack pack = {0};
	struct script script;

	(void)state;
	replay = replay_still_life(&script, &analysis);
	vs_snapshot_put_sums(&pack, replay);
	assert_int_equal(vs_replay_create(&copy), 0);
	give_definitions(copy, &script, script.nr_records);
	assert_int_equal(vs_snapshot_get_sums(copy, pack.bytes, pack.size), 0);
	assert_int_equal(copy->devices[0]->live_bytes, replay->devices[0]->live_bytes);
	assert_int_equal(vs_replay_get_reserved(copy->devices[0]), 2 * MIB + 300);
	assert_int_equal(copy->nr_accounts, replay->nr_accounts);
	assert_int_equal(copy->accounts[0]->live_bytes, replay->accounts[0]->live_bytes);
	assert_int_equal(copy->pools[0]->segment_bytes, replay->pools[0]->segment_bytes);
	assert_memory_equal(&copy->counters, &replay->counters, sizeof(copy->counters));
	assert_string_equal(vs_replay_get_phase(copy, 0), "forward");
	assert_int_equal(copy->regions.nr_ranges, 0);
	vs_pack_fini(&pack);
	vs_replay_destroy(copy);
	vs_replay_destroy(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* ---- Bytes of any content ------------------------------------------------------------------- */

/* Takes bytes that are not a snapshot, or not this one. Whatever comes out of them can go on. */
static int try(const struct script *script, const struct vs_adoption *adoption,
	       const uint8_t *bytes, size_t size, bool is_alive)
{
	uint8_t *exact = malloc(size + !size); /* so that a sanitizer sees what is read behind */
	struct vs_replay *replay;
	int err;

	assert_non_null(exact);
	if (size)
		memcpy(exact, bytes, size);
	assert_int_equal(vs_replay_create(&replay), 0);
	replay->adopted = adoption;
	give_definitions(replay, script, script->nr_records);
	err = is_alive ? get_whole(replay, exact, size) : vs_snapshot_get_sums(replay, exact, size);
	free(exact);
	for (size_t i = 0; i < script->nr_records && !err && is_alive; i++)
		assert_int_equal(vs_replay_add(replay, &script->records[i]), 0);
	vs_replay_destroy(replay);
	return err;
}

static void test_cut_snapshot_is_refused_wherever_it_is_cut(void **state)
{
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct vs_pack pack = {0};
	struct script script;

	(void)state;
	replay = replay_still_life(&script, &analysis);
	put_whole(&pack, replay);
	assert_int_equal(try(&script, &analysis.adoption, pack.bytes, pack.size, true), 0);
	for (size_t size = 0; size < pack.size; size++)
		assert_true(try(&script, &analysis.adoption, pack.bytes, size, true) < 0);
	vs_pack_put_varint(&pack, 0);
	assert_true(try(&script, &analysis.adoption, pack.bytes, pack.size, true) < 0);
	vs_pack_fini(&pack);
	vs_replay_destroy(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* Most changes are noticed; what is not is a state like any other. */
static void test_changed_bytes_never_harm(void **state)
{
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct vs_pack pack = {0};
	struct script script;
	size_t nr_refused = 0, nr = 0;

	(void)state;
	replay = replay_still_life(&script, &analysis);
	for (int is_alive = 0; is_alive <= 1; is_alive++) {
		pack.size = 0;
		if (is_alive)
			put_whole(&pack, replay);
		else
			vs_snapshot_put_sums(&pack, replay);
		for (size_t i = 0; i < pack.size; i++) {
			uint8_t kept = pack.bytes[i];

			for (unsigned int value = 0; value < 256; value++, nr++) {
				pack.bytes[i] = (uint8_t)value;
				nr_refused += try(&script, &analysis.adoption, pack.bytes,
						  pack.size, is_alive) < 0;
			}
			pack.bytes[i] = kept;
		}
	}
	assert_true(nr_refused > nr / 3);
	vs_pack_fini(&pack);
	vs_replay_destroy(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_sites_must_have_been_given_before(void **state)
{
	static const uint64_t frames[] = {0x1000};
	struct vs_pack pack = {0};
	struct vs_analysis analysis;
	struct vs_replay *copy;
	struct script script;

	(void)state;
	script_init(&script);
	script_stack(&script, 1, frames, 1);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, MIB, MIB);
	script_analyse(&script, &analysis);
	put_whole(&pack, analysis.replay);
	assert_int_equal(vs_replay_create(&copy), 0);
	assert_int_equal(get_whole(copy, pack.bytes, pack.size), -VS_ERR_CORRUPT);
	vs_replay_destroy(copy);
	vs_pack_fini(&pack);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay_goes_on_from_a_snapshot_as_if_nothing_had_been),
		cmocka_unit_test(test_free_that_fails_after_the_snapshot_brings_everything_back),
		cmocka_unit_test(test_sums_are_those_of_the_replay_without_what_is_alive),
		cmocka_unit_test(test_cut_snapshot_is_refused_wherever_it_is_cut),
		cmocka_unit_test(test_changed_bytes_never_harm),
		cmocka_unit_test(test_sites_must_have_been_given_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
