/* Who has the live bytes of a heatmap. */
#include "heatmap_groups.h"

#include <string.h>

#include "heatmap_gather.h"
#include "script.h"

#define BASE ((uint64_t)0x7f0000000000)

static void choose_cells(const struct vs_heatmap_request *request, bool has_phases, size_t *columns,
			 size_t *rows)
{
	(void)has_phases;
	*columns = (size_t)request->width;
	*rows = (size_t)request->height;
}

/* Two blocks of 1 MiB in a segment of 4, of stacks 2 and 3, in the phases forward and backward;
 * the first lives from 1 to 2 ms, the second from 1.5 ms to the end at 3. */
static void make_script(struct script *script)
{
	script_init_usual(script);
	script_set_time(script, 1000000);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 4 * MIB);
	script_push(script, 1);
	script_set_stack(script, 2);
	script_block(script, 1, BASE, MIB);
	script_pop(script);
	script_set_time(script, 1500000);
	script_push(script, 2);
	script_set_stack(script, 3);
	script_block(script, 1, BASE + 2 * MIB, 2 * MIB);
	script_pop(script);
	script_set_time(script, 2000000);
	script_block_free(script, 1, BASE);
	script_set_time(script, 3000000);
	script_step(script, 1);
}

static void gather(struct vs_heatmap *heatmap, struct script *script, enum vs_heatmap_by by)
{
	struct vs_heatmap_groups groups;
	struct vs_heatmap_survey survey;
	struct vs_site_names *names;
	struct vs_analysis analysis;
	struct vs_heatmap_request request = {.device = 0,
					     .to_ns = UINT64_MAX,
					     .from_ns = 1000000,
					     .choose_cells = choose_cells,
					     .groups = &groups,
					     .width = 20,
					     .height = 4};

	script_analyse(script, &analysis);
	assert_int_equal(vs_site_names_create(&names, &analysis.replay->definitions), 0);
	assert_int_equal(vs_heatmap_groups_init(&groups, by, &analysis, names,
						script_get_device(analysis.replay)),
			 0);
	assert_int_equal(vs_heatmap_survey_run(&survey, &script->source, &request), 0);
	assert_int_equal(vs_heatmap_gather_cells(heatmap, &script->source, &request, &survey), 0);
	vs_heatmap_survey_fini(&survey);
	vs_heatmap_groups_fini(&groups);
	vs_site_names_destroy(names);
	vs_analysis_fini(&analysis);
	/* Whatever they are, they add up. */
	for (size_t cell = 0; cell < heatmap->nr_columns * heatmap->nr_rows; cell++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < heatmap->nr_groups; i++)
			sum += heatmap->groups[i][cell];
		assert_int_equal(sum, heatmap->live[cell]);
	}
}

/* The name of the group that has most of a cell; NULL: nothing is live there. */
static const char *get_name(const struct vs_heatmap *heatmap, uint64_t time_ns, size_t row)
{
	size_t column = (size_t)((time_ns - heatmap->from_ns) / heatmap->column_ticks);
	size_t group = vs_heatmap_get_group(heatmap, row * heatmap->nr_columns + column);

	return group < heatmap->nr_groups ? heatmap->group_names[group] : NULL;
}

static void test_sites_with_most_at_the_peak_are_told_apart(void **state)
{
	struct vs_heatmap heatmap;
	struct script script;

	(void)state;
	make_script(&script);
	gather(&heatmap, &script, VS_HEATMAP_BY_SITE);
	assert_int_equal(heatmap.nr_groups, 3);
	assert_string_equal(heatmap.group_names[2], "all others");
	/* The larger one is the first. */
	assert_ptr_equal(get_name(&heatmap, 2500000, 3), heatmap.group_names[0]);
	assert_ptr_equal(get_name(&heatmap, 1200000, 0), heatmap.group_names[1]);
	assert_null(get_name(&heatmap, 2500000, 0));
	vs_heatmap_fini(&heatmap);
	script_fini(&script);
}

static void test_phases_are_those_of_the_allocation(void **state)
{
	struct vs_heatmap heatmap;
	struct script script;

	(void)state;
	make_script(&script);
	gather(&heatmap, &script, VS_HEATMAP_BY_PHASE);
	assert_string_equal(get_name(&heatmap, 1200000, 0), "forward");
	/* Long after the phase has ended. */
	assert_string_equal(get_name(&heatmap, 2900000, 3), "backward");
	vs_heatmap_fini(&heatmap);
	script_fini(&script);
}

static void test_age_changes_while_a_block_lives(void **state)
{
	struct vs_heatmap heatmap;
	struct script script;

	(void)state;
	make_script(&script);
	gather(&heatmap, &script, VS_HEATMAP_BY_AGE);
	assert_true(heatmap.is_ordered);
	assert_string_equal(get_name(&heatmap, 1150000, 0), "100 us to 1.00 ms");
	assert_string_equal(get_name(&heatmap, 1650000, 3), "100 us to 1.00 ms");
	assert_string_equal(get_name(&heatmap, 2800000, 3), "1.00 ms and older");
	vs_heatmap_fini(&heatmap);
	script_fini(&script);
}

static void test_without_pytorch_there_are_no_categories(void **state)
{
	struct vs_heatmap_groups groups;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_script(&script);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_heatmap_groups_init(&groups, VS_HEATMAP_BY_CATEGORY, &analysis, NULL,
						script_get_device(analysis.replay)),
			 -VS_ERR_EMPTY);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_with_most_at_the_peak_are_told_apart),
		cmocka_unit_test(test_phases_are_those_of_the_allocation),
		cmocka_unit_test(test_age_changes_while_a_block_lives),
		cmocka_unit_test(test_without_pytorch_there_are_no_categories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
