/* Nothing is wider than the terminal, however long the names are: report_text.c, story.c, map.c */
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "map_gather.h"
#include "report_text.h"
#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)
#define LONG 2000 /* bytes, as of a C++ template */

/* One kind of name for everything that has one. */
struct naming {
	const char *piece; /* repeated until the name is long enough */
	size_t size;
};

static const struct naming namings[] = {
	{"std::vector<std::pair<int, float>, std::allocator<std::pair<int, float> > >::", LONG},
	{"nowheretobreakthisnameofafunction", LONG},
	{"\u8a13\u7df4 ", LONG}, /* two columns each */
	{"\U0001f680", LONG},
	{"a\u0308", 600},       /* a mark on the letter before */
	{"\xff\xc3\xe2 ", 600}, /* no UTF-8 */
	{"\033[2J\t", 600},
	{"\u202e\u2066", 600},
	{"x ", 4000},
	{" ", 300},
	{"", 0},
};

static char *make_name(const struct naming *naming)
{
	size_t piece_size = strlen(naming->piece), used = 0;
	char *name = malloc(naming->size + 100);

	assert_non_null(name);
	name[0] = '\0';
	for (; used < naming->size; used += piece_size)
		memcpy(name + used, naming->piece, piece_size + 1);
	return name;
}

/* Every chapter has something to say here: holes, growth, failures, several sites and pools. */
static void make_story(struct story_rig *rig, const char *name, const char *path)
{
	static const uint64_t frames[][3] = {{0x1100, 0x1200, 0x1300}, {0x1400, 0x1500, 0x1600}};
	struct script *script = &rig->script;

	script_add(script, (struct vs_record){.type = VS_RECORD_DEVICE,
					      .device = {.total_size = GIB,
							 .is_simulated = true,
							 .name = {name, (uint32_t)strlen(name)}}});
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 600 * MIB, name);
	script_pool(script, 2, VS_POOL_PROGRAM, 0, 0, name);
	script_name(script, 1, name);
	script_module(script, 1, 0x1000, 0x2000, path);
	for (uint32_t i = 0; i < 2; i++)
		script_stack(script, i + 1, frames[i], 3);
	script_set_stack(script, 1);
	script_push(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 400 * MIB);
	script_alloc(script, VS_MEMORY_DEVICE, BASE + 4 * GIB, 100 * MIB);
	script_block(script, 2, BASE + 4 * GIB + MIB, MIB);
	script_fail(script, 500 * MIB, 5 * MIB, GIB);
	for (uint64_t i = 0; i < 40; i++) {
		script_step(script, 1000000000 + i);
		script_block(script, 1, BASE + i * 10 * MIB, MIB);
		script_set_stack(script, 2);
		script_alloc(script, VS_MEMORY_DEVICE, BASE + (8 + i) * GIB, 10 * MIB);
		script_set_stack(script, 1);
	}
	script_fail(script, 700 * MIB, 5 * MIB, GIB);
	script_block_fail(script, 1, 150 * MIB);
}

static void tell_all(struct story_rig *rig)
{
	const struct vs_replay_device *device = script_get_device(rig->story.analysis.replay);
	struct vs_story *story = &rig->story;
	struct vs_device_state state;
	struct vs_map_state map;

	story_rig_look(rig, &state);
	vs_story_put_headline(story);
	assert_int_equal(vs_report_text_put_failures(story, &state), 0);
	vs_report_text_put_where(story, &state);
	vs_report_text_put_pools(story, &state);
	assert_int_equal(vs_report_text_put_peak(story, device, 10), 0);
	assert_int_equal(vs_report_text_put_retained(story, &state.retained, false, 10), 0);
	vs_report_text_put_fragmentation(story, device);
	vs_map_init(&map);
	assert_int_equal(vs_map_gather_state(&map, &state), 0);
	assert_int_equal(vs_map_put(&map, &story->style), 0);
	vs_map_fini(&map);
	vs_device_state_fini(&state);
}

/* Lines of the report without the map. */
static size_t count_report_lines(const char *text)
{
	const char *end = strstr(text, "a sign:");
	size_t nr = 0;

	assert_non_null(end);
	for (; text < end; text++)
		nr += *text == '\n';
	return nr;
}

static void assert_ascii(const char *text)
{
	for (; *text; text++)
		assert_true(*text == '\n' || (*text >= ' ' && *text <= '~'));
}

static void check_naming(const struct naming *naming, uint32_t width, bool is_ascii)
{
	char *name = make_name(naming), *path = malloc(strlen(name) + 10), *command;
	struct story_rig rig;

	assert_non_null(path);
	sprintf(path, "/nowhere/%s", name);
	command = malloc(strlen(name) + 10);
	assert_non_null(command);
	sprintf(command, "%s\n%s\n", "train", strpbrk(name, "\n\\") ? "" : name);
	story_rig_init(&rig);
	rig.trace.command = command;
	rig.options.width = width;
	rig.options.ascii = is_ascii;
	make_story(&rig, name, path);
	story_rig_open_text(&rig);
	tell_all(&rig);
	/* What has to be said is not lost among the names: about a screen, on any terminal. */
	assert_in_range(count_report_lines(story_rig_read(&rig)), 15, width < 80 ? 66 : 36);
	story_rig_assert_width(story_rig_read(&rig), width);
	if (is_ascii)
		assert_ascii(story_rig_read(&rig));
	/* The words are there, not only the names. */
	assert_non_null(strstr(story_rig_read(&rig), "OUT OF MEMORY at"));
	assert_non_null(strstr(story_rig_read(&rig), "cause: FRAGMENTATION"));
	assert_non_null(strstr(story_rig_read(&rig), "RETAINED      +11.0 MiB a step"));
	assert_non_null(strstr(story_rig_read(&rig), "WHERE "));
	story_rig_close(&rig);
	story_rig_fini(&rig);
	free(command);
	free(path);
	free(name);
}

static void check_width(uint32_t width)
{
	for (size_t i = 0; i < sizeof(namings) / sizeof(namings[0]); i++) {
		check_naming(&namings[i], width, false);
		check_naming(&namings[i], width, true);
	}
}

static void test_nothing_is_wider_than_40_columns(void **state)
{
	(void)state;
	check_width(40);
}

static void test_nothing_is_wider_than_80_columns(void **state)
{
	(void)state;
	check_width(80);
}

static void test_nothing_is_wider_than_200_columns(void **state)
{
	(void)state;
	check_width(200);
}

static void test_no_width_between_is_different(void **state)
{
	(void)state;
	for (uint32_t width = 41; width < 130; width++)
		check_naming(&namings[width % (sizeof(namings) / sizeof(namings[0]))], width,
			     width % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_wider_than_40_columns),
		cmocka_unit_test(test_nothing_is_wider_than_80_columns),
		cmocka_unit_test(test_nothing_is_wider_than_200_columns),
		cmocka_unit_test(test_no_width_between_is_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
