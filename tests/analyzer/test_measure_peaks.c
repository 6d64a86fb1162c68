#include "measure_peaks.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

/* Measured in the same pass as the highest peak, and in one of its own. */
struct rig {
	struct vs_analysis analysis;
	struct vs_measure_peaks known;
	struct vs_replay *replay;
	const struct vs_measure_peaks *both[2];
};

static void observe(struct rig *rig, struct script *script)
{
	static const struct vs_window everything = {0, UINT64_MAX};

	assert_int_equal(vs_analysis_init_indexed(&rig->analysis, &script->source, &everything,
						  NULL, &(struct vs_wants){.peaks = true}),
			 0);
	vs_measure_peaks_init(&rig->known, &rig->analysis.peak, true);
	assert_int_equal(vs_analysis_observe(&rig->analysis, &rig->known.observer, &rig->replay),
			 0);
	rig->both[0] = &rig->analysis.peaks;
	rig->both[1] = &rig->known;
}

static struct vs_peaks_device *get(const struct rig *rig, int which)
{
	struct vs_peaks_device *device =
		vs_measure_peaks_get(rig->both[which], script_get_device(rig->analysis.replay));

	assert_non_null(device);
	return device;
}

static void end(struct rig *rig, struct script *script)
{
	vs_replay_destroy(rig->replay);
	vs_measure_peaks_fini(&rig->known);
	vs_analysis_fini(&rig->analysis);
	script_fini(script);
}

/* One allocation up to a height and down again, in a phase of that name. */
static void rise(struct script *script, uint64_t height, uint32_t phase)
{
	script_push(script, phase);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, height);
	script_free(script, VS_MEMORY_DEVICE, BASE);
	script_pop(script);
}

static void test_equal_peaks_are_one_story(void **state)
{
	struct script script;
	struct rig rig;

	(void)state;
	script_init_usual(&script);
	for (int i = 0; i < 10; i++)
		rise(&script, 990 + (uint64_t)i, i == 3 ? 1 : 2);
	rise(&script, 1000, 2);
	rise(&script, 989, 1);
	rise(&script, 500, 1);
	observe(&rig, &script);
	for (int i = 0; i < 2; i++) {
		struct vs_peak_curve *curve = &get(&rig, i)->curve;

		assert_int_equal(curve->nr_peaks, 13);
		assert_int_equal(curve->nr_near, 11); /* 990 is 99 hundredths, 989 is less */
		assert_int_equal(curve->nr_near_phases, 2);
		assert_string_equal(curve->near[0].name, "backward");
		assert_int_equal(curve->near[0].count, 10);
		assert_string_equal(curve->near[1].name, "forward");
		assert_int_equal(curve->second.bytes, 999);
		assert_int_equal(curve->below.bytes, 989);
		assert_string_equal(curve->below.at.phase, "forward");
		assert_int_equal(vs_peak_curve_get_typical(curve), 994);
	}
	end(&rig, &script);
}

static void test_small_ups_and_downs_are_no_peaks(void **state)
{
	struct script script;
	struct rig rig;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 9 * BASE, 1000);
	for (int i = 0; i < 5; i++)
		rise(&script, 60, 1); /* a sixteenth of 1060 is 66 */
	observe(&rig, &script);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get(&rig, i)->curve.nr_peaks, 1);
		assert_int_equal(get(&rig, i)->curve.second.bytes, 0);
	}
	end(&rig, &script);
}

static void test_pools_have_peaks_of_their_own(void **state)
{
	struct script script;
	struct rig rig;

	(void)state;
	script_init_usual(&script);
	script_pool(&script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 400);
	script_block(&script, 1, BASE, 300);
	script_block_free(&script, 1, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 200);
	script_block(&script, 1, 2 * BASE, 50);
	script_alloc_async(&script, 2, 3 * BASE, 70);
	script_pool_state(&script, 2, 128);
	observe(&rig, &script);
	for (int i = 0; i < 2; i++) {
		const struct vs_peaks_pool *pools = rig.both[i]->pools;

		assert_int_equal(pools[0].live_bytes, 300);
		assert_int_equal(pools[0].held_bytes, 600);
		assert_true(pools[0].held_at.time_ns > pools[0].live_at.time_ns);
		assert_int_equal(pools[1].live_bytes, 70);
		assert_int_equal(pools[1].held_bytes, 128);
	}
	end(&rig, &script);
}

static void test_memory_of_the_peak_is_told_by_the_phases_it_was_made_in(void **state)
{
	struct script script;
	struct rig rig;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	script_push(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 500);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 7);
	script_free(&script, VS_MEMORY_DEVICE, 3 * BASE);
	script_pop(&script);
	script_push(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 4 * BASE, 100); /* the peak: 610 */
	script_free(&script, VS_MEMORY_DEVICE, 4 * BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, 5 * BASE, 20);
	script_pop(&script);
	script_free(&script, VS_MEMORY_DEVICE, 2 * BASE);
	observe(&rig, &script);
	for (int i = 0; i < 2; i++) {
		const struct vs_peaks_device *peaks = get(&rig, i);

		assert_int_equal(peaks->nr_made, 3);
		assert_string_equal(peaks->made[0].name, "forward");
		assert_int_equal(peaks->made[0].bytes, 500);
		assert_string_equal(peaks->made[1].name, "backward");
		assert_int_equal(peaks->made[1].bytes, 100);
		assert_null(peaks->made[2].name);
		assert_int_equal(peaks->made[2].bytes, 10);
	}
	end(&rig, &script);
}

/* ---- Pieces of the peak --------------------------------------------------------------------- */

#define NR_SLOTS  8
#define NR_EVENTS 120

struct slot {
	uint64_t size;
	uint64_t birth_ns;
};

/* Sums that tell which slots they are of, whatever the order. */
static uint64_t sum_slots(const struct slot *slots)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_SLOTS; i++)
		if (slots[i].size)
			sum += slots[i].size * slots[i].birth_ns * slots[i].birth_ns;
	return sum;
}

static uint64_t sum_pieces(const struct rig *rig)
{
	const struct vs_replay_device *device = script_get_device(rig->analysis.replay);
	const struct vs_measure_peaks *peaks = &rig->analysis.peaks;
	const struct vs_range *range = vs_range_tree_first(&rig->analysis.replay->regions);
	const struct vs_peaks_piece *gone = get(rig, 0)->gone;
	uint64_t sum = 0;

	for (; range; range = vs_range_tree_next(&rig->analysis.replay->regions, range)) {
		const struct vs_item *item = (const struct vs_item *)(const void *)range;

		if (vs_measure_peaks_was_live(peaks, item))
			sum += item->size * item->birth_ns * item->birth_ns;
	}
	for (size_t i = 0; i < vs_measure_peaks_count_gone(peaks, device); i++)
		sum += gone[i].size * gone[i].birth_ns * gone[i].birth_ns;
	return sum;
}

static uint64_t get_live(const struct slot *slots)
{
	uint64_t live = 0;

	for (int i = 0; i < NR_SLOTS; i++)
		live += slots[i].size;
	return live;
}

/* Slots are taken and given back, sometimes in vain; returns the slots at the peak. */
static void run_slots(struct script *script, unsigned int seed, struct slot *at_peak)
{
	struct slot slots[NR_SLOTS] = {0};
	uint64_t highest = 0;

	for (int i = 0; i < NR_EVENTS; i++) {
		uint64_t k = (uint64_t)rand_r(&seed) % NR_SLOTS;
		struct slot before = slots[k];

		if (slots[k].size) {
			script_free(script, VS_MEMORY_DEVICE, (k + 1) * BASE);
			slots[k] = (struct slot){0, 0};
			if (rand_r(&seed) % 4 == 0) {
				script_free_failed(script, VS_MEMORY_DEVICE, (k + 1) * BASE);
				slots[k] = before;
			}
		} else {
			slots[k].size = 1 + (uint64_t)rand_r(&seed) % 100;
			script_alloc(script, VS_MEMORY_DEVICE, (k + 1) * BASE, slots[k].size);
			slots[k].birth_ns = script->records[script->nr_records - 1].time_ns;
		}
		if (get_live(slots) > highest) {
			highest = get_live(slots);
			memcpy(at_peak, slots, sizeof(slots));
		}
	}
}

static void test_pieces_of_the_peak_are_those_that_were_alive_then(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 2000; seed++) {
		struct slot at_peak[NR_SLOTS];
		struct script script;
		struct rig rig;

		script_init_usual(&script);
		run_slots(&script, seed, at_peak);
		observe(&rig, &script);
		assert_int_equal(sum_pieces(&rig), sum_slots(at_peak));
		end(&rig, &script);
	}
}

static void test_part_of_a_trace_is_left_to_a_pass_of_its_own(void **state)
{
	struct vs_window window = {3000, UINT64_MAX};
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (int i = 0; i < 10; i++)
		rise(&script, 100, 1);
	assert_int_equal(vs_analysis_init_indexed(&analysis, &script.source, &window, NULL,
						  &(struct vs_wants){.peaks = true}),
			 0);
	assert_null(vs_measure_peaks_get(&analysis.peaks, script_get_device(analysis.replay)));
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_peaks_are_one_story),
		cmocka_unit_test(test_small_ups_and_downs_are_no_peaks),
		cmocka_unit_test(test_pools_have_peaks_of_their_own),
		cmocka_unit_test(test_memory_of_the_peak_is_told_by_the_phases_it_was_made_in),
		cmocka_unit_test(test_pieces_of_the_peak_are_those_that_were_alive_then),
		cmocka_unit_test(test_part_of_a_trace_is_left_to_a_pass_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
