/* What is found out before a heatmap is made; and that skipping blocks finds out the same. */
#include "heatmap_survey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lifetimes.h"
#include "picture_records.h"
#include "picture_story.h"

static int survey_story(struct vs_heatmap_survey *survey, uint32_t device,
			struct vs_heatmap_part part)
{
	struct vs_heatmap_request request = {.device = device, .to_ns = UINT64_MAX, .part = part};

	return vs_heatmap_survey_run(survey, &picture_story, &request);
}

static void test_survey_knows_device_and_extent(void **state)
{
	struct vs_heatmap_survey survey;

	(void)state;
	assert_int_equal(survey_story(&survey, VS_NO_DEVICE, (struct vs_heatmap_part){0}), 0);
	assert_int_equal(survey.device, 0);
	assert_int_equal(survey.first_ns, 100);
	assert_int_equal(survey.end_ns, 1000);
	assert_true(survey.has_phases);
	assert_int_equal(survey.ranges.nr_ranges, 1);
	assert_int_equal(survey.ranges.ranges[0].size, 100 * MIB);
	vs_heatmap_survey_fini(&survey);
	assert_int_equal(survey_story(&survey, 7, (struct vs_heatmap_part){0}), -VS_ERR_INVALID);
	vs_heatmap_survey_fini(&survey);
}

static void test_survey_says_which_pools_there_are(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_POOL, .pool = "aren"};
	struct vs_heatmap_survey survey;

	(void)state;
	assert_int_equal(survey_story(&survey, VS_NO_DEVICE, part), 0);
	assert_int_equal(survey.ranges.nr_ranges, 0);
	assert_false(survey.has_part);
	assert_string_equal(survey.pools, "'arena'");
	vs_heatmap_survey_fini(&survey);
	part.pool = "arena";
	assert_int_equal(survey_story(&survey, 0, part), 0);
	assert_true(survey.has_part);
	assert_int_equal(survey.ranges.nr_ranges, 1);
	vs_heatmap_survey_fini(&survey);
	/* Device 1 has none. */
	assert_int_equal(survey_story(&survey, 1, part), 0);
	assert_false(survey.has_part);
	assert_string_equal(survey.pools, "");
	vs_heatmap_survey_fini(&survey);
}

static int next_hostile(void *context, struct vs_record *record)
{
	static char names[30][100];
	int *number = context;

	if (*number == 31)
		return 0;
	if (*number) {
		snprintf(names[*number - 1], sizeof(names[0]), "%d\033[31m\xff%070d", *number, 0);
		*record = picture_pool((uint32_t)*number, 0, names[*number - 1]);
	} else {
		*record = picture_device(0, MIB);
	}
	++*number;
	return 1;
}

static int rewind_hostile(void *context)
{
	*(int *)context = 0;
	return 0;
}

static void test_names_in_the_list_play_no_tricks(void **state)
{
	int number = 0;
	struct vs_source source = {
		.next = next_hostile, .rewind = rewind_hostile, .context = &number};
	struct vs_heatmap_request asked = {.device = VS_NO_DEVICE, .to_ns = UINT64_MAX};
	struct vs_heatmap_survey survey;

	(void)state;
	assert_int_equal(vs_heatmap_survey_run(&survey, &source, &asked), 0);
	assert_memory_equal(survey.pools, "'1?[31m?000", 11);
	assert_non_null(strstr(survey.pools, "...', '2?[31m?0"));
	assert_null(strchr(survey.pools, '\033'));
	assert_null(strchr(survey.pools, 0xff));
	assert_non_null(strstr(survey.pools, "' and 10 more"));
	vs_heatmap_survey_fini(&survey);
}

/* ---- Against a replay of everything --------------------------------------------------------- */

#define NR_RECORDS 150 /* few enough that not every address is held at some time */
#define NR_PLACES  6
#define PLACE      (64 * MIB)

static struct vs_record records[NR_RECORDS];
static size_t nr_records, position;
static uint64_t chance;

static int next_record(void *context, struct vs_record *record)
{
	(void)context;
	if (position == nr_records)
		return 0;
	*record = records[position++];
	return 1;
}

static int rewind_records(void *context)
{
	(void)context;
	position = 0;
	return 0;
}

static const struct vs_source random_source = {.next = next_record, .rewind = rewind_records};

static uint64_t draw(uint64_t below)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (chance >> 33) % below;
}

/* Segments come and go; blocks are placed in them, between them and across their ends. */
static void make_records(uint64_t seed)
{
	chance = seed;
	nr_records = 0;
	records[nr_records++] = picture_device(0, 1024 * MIB);
	records[nr_records++] = picture_pool(1, 0, "a");
	records[nr_records++] = picture_pool(2, 0, "b");
	while (nr_records < NR_RECORDS) {
		uint64_t now = 10 * nr_records;
		uint64_t place = PICTURE_STORY_BASE + draw(NR_PLACES) * PLACE;
		uint64_t inside = place + draw(16) * MIB;
		struct vs_record *record = &records[nr_records++];

		switch (draw(8)) {
		case 0:
			*record = picture_alloc(now, VS_MEMORY_DEVICE, 0, place,
						(1 + draw(20)) * MIB);
			break;
		case 1:
			*record = picture_free(now, VS_MEMORY_DEVICE, place);
			break;
		case 2:
		case 3:
			*record = picture_block_free(now, 1 + (uint32_t)draw(2), inside);
			break;
		default:
			*record = picture_block(now, 1 + (uint32_t)draw(2), inside, draw(4 * MIB));
			break;
		}
	}
}

/* Only what is there at some time of a window: it matters when things come and go. */
static struct vs_heatmap_request request;

static int note_held(void *data, const struct vs_item *item, const struct vs_lifetime *lifetime)
{
	(void)item;
	if (!lifetime->is_held || lifetime->end_ns <= request.from_ns ||
	    lifetime->start_ns >= request.to_ns)
		return 0;
	return vs_heatmap_add_range(data, lifetime->address, lifetime->size);
}

/* What vs_heatmap_make_cells makes of them: sorted and folded. */
static void assert_same_ranges(struct vs_heatmap *a, struct vs_heatmap *b)
{
	assert_int_equal(vs_heatmap_make_cells(a, 1, 1), 0);
	assert_int_equal(vs_heatmap_make_cells(b, 1, 1), 0);
	assert_int_equal(a->nr_ranges, b->nr_ranges);
	for (size_t i = 0; i < a->nr_ranges; i++) {
		assert_int_equal(a->ranges[i].address, b->ranges[i].address);
		assert_int_equal(a->ranges[i].size, b->ranges[i].size);
	}
}

static void test_blocks_in_segments_can_be_skipped(void **state)
{
	uint64_t nr_ranges = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct vs_heatmap_survey survey;
		struct vs_lifetimes lifetimes;
		struct vs_heatmap expected;
		struct vs_replay *replay;

		make_records(seed);
		request = (struct vs_heatmap_request){.from_ns = draw(10 * NR_RECORDS - 20)};
		request.to_ns = request.from_ns + 1 + draw(100);
		vs_heatmap_init(&expected, 0, 1);
		assert_int_equal(vs_replay_create(&replay), 0);
		vs_lifetimes_init(&lifetimes, note_held, &expected);
		vs_replay_add_observer(replay, &lifetimes.observer);
		assert_int_equal(vs_analysis_pass(&random_source,
						  &(struct vs_window){0, UINT64_MAX}, replay),
				 0);
		assert_int_equal(vs_heatmap_survey_run(&survey, &random_source, &request), 0);
		assert_int_equal(survey.end_ns, replay->now_ns + 1);
		assert_same_ranges(&expected, &survey.ranges);
		nr_ranges += survey.ranges.nr_ranges;
		vs_heatmap_survey_fini(&survey);
		vs_heatmap_fini(&expected);
		vs_lifetimes_fini(&lifetimes);
		vs_replay_destroy(replay);
	}
	assert_true(nr_ranges > 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_survey_knows_device_and_extent),
		cmocka_unit_test(test_survey_says_which_pools_there_are),
		cmocka_unit_test(test_names_in_the_list_play_no_tricks),
		cmocka_unit_test(test_blocks_in_segments_can_be_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
