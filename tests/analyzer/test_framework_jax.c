#include "framework_jax.h"

#include <string.h>

#include "info.h"
#include "story_rig.h"

#define PLUGIN            "/x/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so"
#define ENV(name)         VS_INFO_ENV_PREFIX name
#define ALLOCATOR         ENV("XLA_PYTHON_CLIENT_ALLOCATOR")
#define ADVANCE           ENV("XLA_PYTHON_CLIENT_PREALLOCATE")
#define SHARE             ENV("XLA_CLIENT_MEM_FRACTION")
#define OLD_SHARE         ENV("XLA_PYTHON_CLIENT_MEM_FRACTION")
#define GROWTH_IS_OFFERED "XLA_PYTHON_CLIENT_PREALLOCATE=false lets it grow instead"

/* JAX on a card of 1000 MiB, of which it took this much. */
static void begin(struct story_rig *rig, uint64_t taken)
{
	story_rig_init(rig);
	rig->options.width = 400; /* sentences in one piece */
	script_init_usual(&rig->script);
	script_module(&rig->script, 1, 0x10000, 0x20000, PLUGIN);
	script_alloc(&rig->script, VS_MEMORY_DEVICE, 0x7000000000, taken);
}

static const char *tell(struct story_rig *rig)
{
	story_rig_open_text(rig);
	vs_framework_jax_put_text(&rig->story, script_get_device(rig->story.analysis.replay));
	return story_rig_read(rig);
}

static void end(struct story_rig *rig)
{
	story_rig_close(rig);
	story_rig_fini(rig);
}

static void test_a_program_without_jax_says_nothing(void **state)
{
	struct vs_framework_jax jax;
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	script_module(&rig.script, 1, 0x10000, 0x20000, "/x/xla_cuda_plugin.so.txt");
	rig.trace.info[0] = ALLOCATOR;
	rig.trace.info[1] = "bfc";
	assert_string_equal(tell(&rig), "");
	assert_false(vs_framework_jax_find(&rig.story, &jax));
	end(&rig);
}

static void test_what_is_taken_in_advance_is_named_with_its_share(void **state)
{
	struct vs_framework_jax jax;
	struct story_rig rig;
	const char *said;

	(void)state;
	begin(&rig, 750 * MIB);
	said = tell(&rig);
	assert_non_null(strstr(said, "allocator default\n"));
	assert_non_null(strstr(said, "it took 750 MiB in advance, 75 % of the card"));
	assert_non_null(strstr(said, GROWTH_IS_OFFERED));
	assert_non_null(strstr(said, "vramscope run --jax-allocator"));
	assert_true(vs_framework_jax_find(&rig.story, &jax));
	assert_true(jax.is_hidden && jax.preallocates && !jax.is_chosen_by_us);
	assert_int_equal(vs_framework_jax_get_preallocated(
				 &rig.story, &jax, script_get_device(rig.story.analysis.replay)),
			 750 * MIB);
	end(&rig);
}

static void test_narrow_terminals_lose_nothing(void **state)
{
	struct story_rig rig;
	const char *said;

	(void)state;
	begin(&rig, 750 * MIB);
	rig.options.width = 60;
	said = tell(&rig);
	story_rig_assert_width(said, 60);
	assert_non_null(strstr(said, "--jax-allocator\n"));
	end(&rig);
}

static void test_platform_is_hidden_only_where_it_is_a_pool(void **state)
{
	struct vs_framework_jax jax;
	struct story_rig rig;

	(void)state;
	for (int has_handles = 0; has_handles < 2; has_handles++) {
		begin(&rig, 10 * MIB);
		if (has_handles)
			script_alloc(&rig.script, VS_MEMORY_VMM, 0x55, 4 * MIB);
		rig.trace.info[0] = ALLOCATOR;
		rig.trace.info[1] = "platform";
		tell(&rig);
		assert_true(vs_framework_jax_find(&rig.story, &jax));
		assert_int_equal(jax.is_hidden, has_handles);
		assert_false(jax.preallocates);
		end(&rig);
	}
}

static void test_less_than_the_share_was_not_taken_in_advance(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig, 749 * MIB);
	assert_null(strstr(tell(&rig), "in advance"));
	end(&rig);
}

static void test_the_share_is_what_the_variables_say(void **state)
{
	static const char *const names[] = {SHARE, OLD_SHARE};
	struct story_rig rig;
	const char *said;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&rig, 500 * MIB);
		rig.trace.info[0] = names[i];
		rig.trace.info[1] = ".5";
		said = tell(&rig);
		assert_non_null(strstr(said, "it took 500 MiB in advance, 50 % of the card"));
		assert_non_null(strstr(said, "MEM_FRACTION=.5"));
		end(&rig);
	}
}

static void test_a_pool_that_grows_took_nothing_in_advance(void **state)
{
	static const char *const words[] = {"false", "False", "0"};
	struct story_rig rig;
	const char *said;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		begin(&rig, 900 * MIB);
		rig.trace.info[0] = ADVANCE;
		rig.trace.info[1] = words[i];
		said = tell(&rig);
		assert_null(strstr(said, "in advance"));
		assert_non_null(strstr(said, "hidden"));
		end(&rig);
	}
}

static void test_buffers_of_the_driver_s_pool_are_not_hidden(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig, 10 * MIB);
	rig.trace.info[0] = ALLOCATOR;
	rig.trace.info[1] = "cuda_async";
	assert_string_equal(tell(&rig),
			    "JAX           of an unknown release; allocator cuda_async\n");
	end(&rig);
}

static void test_the_option_is_named_as_what_changed_the_program(void **state)
{
	struct story_rig rig;
	const char *said;

	(void)state;
	begin(&rig, 10 * MIB);
	rig.trace.info[0] = ALLOCATOR;
	rig.trace.info[1] = "cuda_async";
	rig.trace.info[2] = VS_INFO_JAX_ALLOCATOR;
	rig.trace.info[3] = "cuda_async";
	said = tell(&rig);
	assert_non_null(strstr(said, "chosen by --jax-allocator, not by the program"));
	end(&rig);
}

static void test_refused_growth_of_a_hidden_pool_is_no_certain_end(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig, 10 * MIB);
	script_fail(&rig.script, 100 * MIB, 50 * MIB, 1000 * MIB);
	assert_non_null(strstr(tell(&rig), "whether JAX itself ran out is not known"));
	end(&rig);
}

static void test_json_has_an_object_or_null(void **state)
{
	struct story_rig rig;
	const char *said;

	(void)state;
	begin(&rig, 750 * MIB);
	story_rig_open_json(&rig);
	vs_framework_jax_put_json(&rig.story, script_get_device(rig.story.analysis.replay));
	said = story_rig_read(&rig);
	assert_non_null(strstr(said, "\"allocator\": \"default\""));
	assert_non_null(strstr(said, "\"buffers_hidden\": true"));
	assert_non_null(strstr(said, "\"preallocated_bytes\": 786432000"));
	end(&rig);
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	story_rig_open_json(&rig);
	vs_framework_jax_put_json(&rig.story, script_get_device(rig.story.analysis.replay));
	assert_non_null(strstr(story_rig_read(&rig), "\"jax\": null"));
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_without_jax_says_nothing),
		cmocka_unit_test(test_what_is_taken_in_advance_is_named_with_its_share),
		cmocka_unit_test(test_narrow_terminals_lose_nothing),
		cmocka_unit_test(test_platform_is_hidden_only_where_it_is_a_pool),
		cmocka_unit_test(test_less_than_the_share_was_not_taken_in_advance),
		cmocka_unit_test(test_the_share_is_what_the_variables_say),
		cmocka_unit_test(test_a_pool_that_grows_took_nothing_in_advance),
		cmocka_unit_test(test_buffers_of_the_driver_s_pool_are_not_hidden),
		cmocka_unit_test(test_the_option_is_named_as_what_changed_the_program),
		cmocka_unit_test(test_refused_growth_of_a_hidden_pool_is_no_certain_end),
		cmocka_unit_test(test_json_has_an_object_or_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
