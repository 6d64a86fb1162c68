#include "remedy.h"

#include <stdlib.h>
#include <string.h>

#include "story_rig.h"

/* A case that the rows are tried on; change what matters. */
struct trial {
	struct vs_address_pool pool;
	struct vs_why why;
	struct vs_remedy_facts facts;
	struct vs_remedy found[VS_REMEDIES_MAX];
	size_t nr_found;
};

static void begin(struct trial *trial, enum vs_framework framework, enum vs_why_kind kind)
{
	memset(trial, 0, sizeof(*trial));
	trial->why = (struct vs_why){.kind = kind,
				     .pool = &trial->pool,
				     .requested = 100 * MIB,
				     .needed = 100 * MIB,
				     .lacking = 50 * MIB,
				     .total_size = GIB,
				     .is_free_known = true,
				     .is_room_known = true,
				     .room = 50 * MIB,
				     .releasable_bytes = 300 * MIB};
	trial->facts = (struct vs_remedy_facts){
		.framework = framework, .why = &trial->why, .site = "train.py:88 log_metrics"};
}

static const struct vs_remedy *find(struct trial *trial, const char *id)
{
	trial->nr_found = vs_remedy_choose(&trial->facts, trial->found);
	for (size_t i = 0; i < trial->nr_found; i++)
		if (!strcmp(trial->found[i].id, id))
			return &trial->found[i];
	return NULL;
}

static void assert_text(struct trial *trial, const char *id, const char *text)
{
	const struct vs_remedy *remedy = find(trial, id);

	assert_non_null(remedy);
	assert_string_equal(remedy->text, text);
}

static void assert_none(struct trial *trial, const char *id)
{
	assert_null(find(trial, id));
}

/* ---- What is done already ------------------------------------------------------------------- */

static void test_setting_that_is_set_is_not_advised(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_FRAGMENTATION);
	assert_non_null(find(&trial, "expandable-segments"));
	assert_text(&trial, "split-limit",
		    "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:50: larger blocks stay whole for "
		    "requests like this one");
	trial.facts.has_split_limit = true;
	assert_none(&trial, "split-limit");
	trial.facts.has_split_limit = false;
	trial.facts.is_expandable = true;
	assert_none(&trial, "expandable-segments");
	assert_none(&trial, "split-limit"); /* means nothing then */
	trial.facts.is_expandable = false;
	trial.facts.is_async = true;
	assert_none(&trial, "expandable-segments");

	begin(&trial, VS_FRAMEWORK_TENSORFLOW, VS_WHY_FRAGMENTATION);
	assert_non_null(find(&trial, "async-allocator"));
	trial.facts.is_async = true;
	assert_none(&trial, "async-allocator");

	begin(&trial, VS_FRAMEWORK_TENSORFLOW, VS_WHY_PREALLOCATION);
	assert_non_null(find(&trial, "grow"));
	trial.facts.is_growing_pool = true;
	assert_none(&trial, "grow");

	begin(&trial, VS_FRAMEWORK_JAX, VS_WHY_PREALLOCATION);
	assert_non_null(find(&trial, "grow"));
	trial.facts.is_not_preallocating = true;
	assert_none(&trial, "grow");

	begin(&trial, VS_FRAMEWORK_JAX, VS_WHY_LIMIT);
	assert_non_null(strstr(find(&trial, "raise-limit")->text, "=.95"));
	trial.facts.has_fraction = true;
	assert_text(&trial, "raise-limit",
		    "raise XLA_PYTHON_CLIENT_MEM_FRACTION: the card has 50.0 MiB left");
}

static void test_what_the_program_does_is_not_advised(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_CAPACITY);
	trial.facts.is_composed = true;
	trial.facts.batch_bytes = trial.facts.activation_bytes = 400 * MIB;
	trial.facts.live_bytes = 900 * MIB;
	assert_non_null(find(&trial, "mixed-precision"));
	assert_non_null(find(&trial, "checkpoint"));
	trial.facts.has_autocast = trial.facts.has_checkpoints = true;
	assert_none(&trial, "mixed-precision");
	assert_none(&trial, "checkpoint");
	begin(&trial, VS_FRAMEWORK_TENSORFLOW, VS_WHY_RETENTION);
	assert_non_null(find(&trial, "function"));
	trial.facts.has_graph_function = true;
	assert_none(&trial, "function");
}

/* Without a backward pass nothing is learnt: no loss, and no reason to keep a graph. */
static void test_who_learns_nothing_is_told_of_no_loss(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_RETENTION);
	assert_text(&trial, "keep-numbers",
		    "let go of what comes from train.py:88 log_metrics when it is no longer "
		    "needed, or keep it on the host: tensor.cpu()");
	assert_none(&trial, "no-grad");
	trial.facts.has_forward_growth = true;
	assert_text(&trial, "no-grad",
		    "nothing called backward(): where nothing is learnt, put train.py:88 "
		    "log_metrics under torch.no_grad(), then no graph is kept; to learn, call it "
		    "for each batch, not for the sum of many");
	assert_string_equal(trial.found[0].id, "no-grad");
	trial.facts.has_backward = true;
	assert_text(&trial, "keep-numbers",
		    "keep loss.item(), or tensor.detach().cpu(), not the tensor that comes from "
		    "train.py:88 log_metrics");
	assert_text(&trial, "no-grad",
		    "if nobody calls backward() there, put it under torch.no_grad(): then no graph "
		    "is kept");
	assert_string_equal(trial.found[0].id, "keep-numbers");
}

/* ---- What cannot help ----------------------------------------------------------------------- */

static void test_smaller_batch_is_not_advised_where_the_model_alone_is_too_large(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_CAPACITY);
	trial.facts.is_composed = true;
	trial.facts.is_request_fixed = true;
	trial.facts.live_bytes = 900 * MIB;
	trial.facts.batch_bytes = 50 * MIB;
	trial.facts.fixed_bytes = 800 * MIB;
	assert_text(&trial, "smaller-batch",
		    "a smaller batch: 50.0 MiB of the 900 MiB that are live grow with it, 50.0 MiB "
		    "were lacking");
	assert_none(&trial, "smaller-model");
	trial.facts.batch_bytes--;
	assert_none(&trial, "smaller-batch");
	assert_none(&trial, "accumulate");
	assert_none(&trial, "mixed-precision");
	assert_non_null(strstr(find(&trial, "smaller-model")->text, "are 800 MiB"));
	/* What failed would have been smaller, too. */
	trial.facts.is_request_fixed = false;
	assert_non_null(find(&trial, "smaller-batch"));
	/* Nothing is known to grow with it. */
	trial.facts.batch_bytes = 0;
	trial.facts.fixed_bytes = 0;
	assert_none(&trial, "smaller-batch");
	assert_text(&trial, "smaller-pieces",
		    "less at once at train.py:88 log_metrics, which has most");
}

static void test_cache_that_was_emptied_already_is_not_emptied_again(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_POOL);
	trial.facts.holder = "PyTorch";
	trial.facts.is_torch_holder = true;
	assert_text(&trial, "empty-cache",
		    "torch.cuda.empty_cache() before that call: PyTorch's pool gives back 300 MiB");
	trial.facts.is_own_pool = true;
	assert_none(&trial, "empty-cache");
	/* It cannot give back pieces of segments. */
	trial.facts.is_own_pool = false;
	trial.facts.holder_holes = 200 * MIB;
	assert_none(&trial, "empty-cache");
	assert_none(&trial, "trim");
	assert_non_null(strstr(find(&trial, "share-pool")->text, "pool PyTorch has 200 MiB free"));
}

static void test_batch_is_larger_than_others_only_if_there_were_many_smaller_ones(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_CAPACITY);
	trial.facts.is_composed = true;
	trial.facts.batch_bytes = 500 * MIB;
	trial.facts.live_bytes = 800 * MIB;
	assert_none(&trial, "cap-batch");
	trial.facts.usual = (struct vs_usual_peak){.bytes = 400 * MIB, .nr = 16};
	assert_text(&trial, "cap-batch",
		    "usual peaks are 400 MiB (16 of them), now 800 MiB are live: if this batch is "
		    "larger than the others, cut it to their length, or split it");
	assert_string_equal(trial.found[0].id, "cap-batch");
	assert_string_equal(trial.found[1].id, "smaller-batch");
	trial.facts.usual.bytes++;
	assert_none(&trial, "cap-batch");
	trial.facts.usual = (struct vs_usual_peak){.bytes = 400 * MIB, .nr = 15};
	assert_none(&trial, "cap-batch");
}

static void test_state_of_an_optimizer_is_not_to_be_moved_off_the_card(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_FRAGMENTATION);
	assert_non_null(find(&trial, "move-pins"));
	trial.facts.is_pin_fixed = true;
	assert_none(&trial, "move-pins");
	assert_non_null(find(&trial, "expandable-segments"));
}

static void test_split_limit_is_for_large_requests(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_FRAGMENTATION);
	trial.why.requested = 40 * MIB; /* half of it would be the least that PyTorch takes */
	assert_none(&trial, "split-limit");
	trial.why.requested++;
	assert_non_null(find(&trial, "split-limit"));
}

static void test_sizes_that_never_vary_are_not_made_the_same(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_FRAGMENTATION);
	assert_none(&trial, "same-sizes");
	trial.facts.has_varying_sizes = true;
	assert_non_null(find(&trial, "same-sizes"));
}

/* ---- Every verdict has something to say ----------------------------------------------------- */

static void test_site_that_is_not_known_is_not_named(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_NONE, VS_WHY_RETENTION);
	assert_non_null(strstr(find(&trial, "free")->text, "train.py:88 log_metrics"));
	trial.facts.site = NULL;
	assert_none(&trial, "free");
}

static void test_each_verdict_has_a_remedy_in_each_framework(void **state)
{
	static const enum vs_framework frameworks[] = {VS_FRAMEWORK_NONE, VS_FRAMEWORK_TORCH,
						       VS_FRAMEWORK_TENSORFLOW, VS_FRAMEWORK_JAX};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (int kind = VS_WHY_UNKNOWN + 1; kind < VS_NR_WHY; kind++) {
			struct trial trial;

			begin(&trial, frameworks[i], (enum vs_why_kind)kind);
			trial.facts.holder = "other";
			assert_in_range(vs_remedy_choose(&trial.facts, trial.found), 1,
					VS_REMEDIES_MAX);
			for (size_t k = 0; k < vs_remedy_choose(&trial.facts, trial.found); k++)
				assert_null(strpbrk(trial.found[k].text, "{}"));
		}
	}
}

static void test_unknown_says_where_to_look(void **state)
{
	struct trial trial;

	(void)state;
	begin(&trial, VS_FRAMEWORK_TORCH, VS_WHY_UNKNOWN);
	assert_int_equal(vs_remedy_choose(&trial.facts, trial.found), 0);
	trial.facts.is_own_pool = true;
	trial.why.usable_largest = 100 * MIB;
	assert_non_null(strstr(find(&trial, "one-stream")->text, "a hole of 100 MiB was there"));
	trial.why.usable_largest--;
	assert_none(&trial, "one-stream");
	trial.why.runner_up = VS_WHY_OTHER_PROCESS;
	assert_non_null(find(&trial, "record-others"));
	trial.why.occasion = VS_WHY_KILLED;
	assert_non_null(find(&trial, "host-memory"));
}

/* ---- From a trace --------------------------------------------------------------------------- */

#define BASE ((uint64_t)0x7f0000000000)

/* PyTorch's pool with 4 holes of 50 MiB, in segments of a kind, and a request for 150 MiB. */
static void tell_torch(struct story_rig *rig, bool is_vmm)
{
	struct script *script = &rig->script;

	story_rig_init(rig);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	if (is_vmm) {
		script_alloc(script, VS_MEMORY_VMM, 1, 400 * MIB);
		script_reserve(script, BASE, GIB);
		script_map(script, BASE, 400 * MIB, 1);
	} else {
		script_alloc(script, VS_MEMORY_DEVICE, BASE, 400 * MIB);
	}
	for (uint64_t i = 0; i < 4; i++)
		script_block(script, 1, BASE + i * 100 * MIB, 50 * MIB);
	script_block_fail(script, 1, 150 * MIB);
	story_rig_open_text(rig);
}

static bool advises(struct story_rig *rig, const char *id)
{
	struct vs_remedy found[VS_REMEDIES_MAX];
	struct vs_device_state state;
	bool is_found = false;
	size_t nr;

	story_rig_look(rig, &state);
	assert_int_equal(state.why.kind, VS_WHY_FRAGMENTATION);
	assert_int_equal(vs_remedy_find(&rig->story, &state, NULL, "here", found, &nr), 0);
	for (size_t i = 0; i < nr; i++)
		is_found |= !strcmp(found[i].id, id);
	vs_device_state_fini(&state);
	story_rig_close(rig);
	story_rig_fini(rig);
	return is_found;
}

static void test_segments_that_are_expandable_are_seen(void **state)
{
	struct story_rig rig;

	(void)state;
	tell_torch(&rig, false);
	assert_true(advises(&rig, "expandable-segments"));
	tell_torch(&rig, true);
	assert_false(advises(&rig, "expandable-segments"));
}

/* Stacks of a request, from the inside: the allocator, an operation, a line of the program. */
static const uint64_t given[] = {0x1001, 0x1010, 0x2000, 0x3000, 0x4000};
static const uint64_t refused[] = {0x1020, 0x2000, 0x3000, 0x4000};
static const uint64_t of_other[] = {0x1001, 0x1010, 0x2100, 0x3000, 0x4000};

/* The same pool, whose blocks come from a stack and have two sizes, or one. */
static bool advises_same_sizes(const uint64_t *stack, uint32_t nr_frames, bool varies)
{
	struct story_rig rig;
	struct script *script = &rig.script;

	story_rig_init(&rig);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	script_stack(script, 1, stack, nr_frames);
	script_stack(script, 2, refused, 4);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 400 * MIB);
	script_set_stack(script, 1);
	for (uint64_t i = 0; i < 4; i++)
		script_block(script, 1, BASE + i * 100 * MIB, (varies && i == 3 ? 49 : 50) * MIB);
	script_set_stack(script, 2);
	script_block_fail(script, 1, 150 * MIB);
	story_rig_open_text(&rig);
	return advises(&rig, "same-sizes");
}

static void test_what_is_refused_is_asked_for_where_blocks_are_given(void **state)
{
	(void)state;
	assert_true(advises_same_sizes(given, 5, true));
	assert_false(advises_same_sizes(given, 5, false));
	assert_false(advises_same_sizes(of_other, 5, true));
	assert_true(advises_same_sizes(refused, 4, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_that_is_set_is_not_advised),
		cmocka_unit_test(test_what_the_program_does_is_not_advised),
		cmocka_unit_test(test_who_learns_nothing_is_told_of_no_loss),
		cmocka_unit_test(
			test_smaller_batch_is_not_advised_where_the_model_alone_is_too_large),
		cmocka_unit_test(test_cache_that_was_emptied_already_is_not_emptied_again),
		cmocka_unit_test(
			test_batch_is_larger_than_others_only_if_there_were_many_smaller_ones),
		cmocka_unit_test(test_state_of_an_optimizer_is_not_to_be_moved_off_the_card),
		cmocka_unit_test(test_split_limit_is_for_large_requests),
		cmocka_unit_test(test_sizes_that_never_vary_are_not_made_the_same),
		cmocka_unit_test(test_site_that_is_not_known_is_not_named),
		cmocka_unit_test(test_each_verdict_has_a_remedy_in_each_framework),
		cmocka_unit_test(test_unknown_says_where_to_look),
		cmocka_unit_test(test_segments_that_are_expandable_are_seen),
		cmocka_unit_test(test_what_is_refused_is_asked_for_where_blocks_are_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
