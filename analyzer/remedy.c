#include "remedy.h"

#include <stdio.h>
#include <string.h>

#include "composition.h"
#include "one_pass.h"
#include "units.h"

#define TORCH      VS_FRAMEWORK_TORCH
#define TENSORFLOW VS_FRAMEWORK_TENSORFLOW
#define JAX        VS_FRAMEWORK_JAX
#define NONE       VS_FRAMEWORK_NONE
#define ANY        (NONE | TORCH | TENSORFLOW | JAX)

#define NAME_COLUMNS 72 /* of a place or a pool */

#define FRAGMENTATION (1u << VS_WHY_FRAGMENTATION)
#define CAPACITY      (1u << VS_WHY_CAPACITY)
#define RETENTION     (1u << VS_WHY_RETENTION)
#define POOL          (1u << VS_WHY_POOL)
#define LIMIT         (1u << VS_WHY_LIMIT)
#define OTHER_PROCESS (1u << VS_WHY_OTHER_PROCESS)
#define PREALLOCATION (1u << VS_WHY_PREALLOCATION)
#define UNKNOWN       (1u << VS_WHY_UNKNOWN)
#define EVERY         ((1u << VS_NR_WHY) - 1)

/* ---- When a row fits ------------------------------------------------------------------------ */

/* Without a request that failed: what is a small part of all does not help. */
#define SMALL_PART 4

/* Whether it would have helped to do without so much of what is live. */
static bool is_enough(const struct vs_remedy_facts *facts, uint64_t bytes)
{
	if (facts->why->occasion != VS_WHY_FAILURE)
		return bytes >= facts->live_bytes / SMALL_PART;
	return bytes >= facts->why->lacking;
}

/* Less at once would have been enough. What is not known is no contradiction. */
static bool can_shrink_batch(const struct vs_remedy_facts *facts)
{
	uint64_t bytes = facts->batch_bytes;

	if (!facts->is_composed)
		return facts->has_steps || facts->framework != NONE;
	if (!bytes)
		return false;
	if (!facts->is_request_fixed)
		bytes += facts->why->needed;
	return is_enough(facts, bytes);
}

/* Fewer peaks are no custom; and what failed is that much above it. */
#define LEAST_PEAKS   16
#define UNUSUAL_TIMES 2

/* All went well many times before, with far less: one batch may be larger than the others. */
static bool is_unusual(const struct vs_remedy_facts *facts)
{
	return facts->usual.nr >= LEAST_PEAKS &&
	       facts->live_bytes / UNUSUAL_TIMES >= facts->usual.bytes && can_shrink_batch(facts);
}

static bool can_accumulate(const struct vs_remedy_facts *facts)
{
	return facts->is_composed && can_shrink_batch(facts);
}

static bool can_autocast(const struct vs_remedy_facts *facts)
{
	return !facts->has_autocast && can_shrink_batch(facts);
}

/* Activations made again take a backward pass's time, and are gone meanwhile. */
static bool can_checkpoint(const struct vs_remedy_facts *facts)
{
	return facts->is_composed && !facts->has_checkpoints &&
	       is_enough(facts, facts->activation_bytes) && facts->activation_bytes;
}

static bool is_model_too_large(const struct vs_remedy_facts *facts)
{
	return facts->is_composed && !can_shrink_batch(facts) &&
	       facts->fixed_bytes > facts->live_bytes / 2;
}

static bool is_no_training(const struct vs_remedy_facts *facts)
{
	return facts->is_composed && !can_shrink_batch(facts) && !is_model_too_large(facts);
}

static bool is_too_large_at_once(const struct vs_remedy_facts *facts)
{
	return facts->why->total_size && facts->why->requested > facts->why->total_size;
}

static bool can_expand(const struct vs_remedy_facts *facts)
{
	return !facts->is_expandable && !facts->is_async;
}

static bool can_limit_splits(const struct vs_remedy_facts *facts)
{
	return can_expand(facts) && !facts->has_split_limit &&
	       facts->why->requested > (uint64_t)40 << 20;
}

static bool has_varying_sizes(const struct vs_remedy_facts *facts)
{
	return facts->has_varying_sizes;
}

static bool is_not_async(const struct vs_remedy_facts *facts)
{
	return !facts->is_async;
}

static bool is_driver_holder(const struct vs_remedy_facts *facts)
{
	return facts->is_driver_holder;
}

/* PyTorch empties its own cache before it lets a request fail. */
static bool can_empty_cache(const struct vs_remedy_facts *facts)
{
	return facts->is_torch_holder && !facts->is_own_pool && !facts->holder_holes;
}

static bool has_holder_holes(const struct vs_remedy_facts *facts)
{
	return facts->holder_holes && !facts->is_tensorflow_holder;
}

static bool is_other_holder(const struct vs_remedy_facts *facts)
{
	return facts->holder && !facts->is_torch_holder && !facts->is_driver_holder &&
	       !facts->is_tensorflow_holder && !facts->holder_holes;
}

/* It gives nothing back, whatever is free in it: only less taken is less held. */
static bool is_tensorflow_holder(const struct vs_remedy_facts *facts)
{
	return facts->is_tensorflow_holder;
}

static bool has_graph_pools(const struct vs_remedy_facts *facts)
{
	return facts->has_graph_pools;
}

static bool has_driver_limit(const struct vs_remedy_facts *facts)
{
	return facts->why->limited;
}

static bool has_limit(const struct vs_remedy_facts *facts)
{
	return facts->limit_size && !facts->why->limited;
}

static bool has_no_limit(const struct vs_remedy_facts *facts)
{
	return !facts->limit_size;
}

/* More of the card would not be much more: less has to do. */
static bool is_nearly_all(const struct vs_remedy_facts *facts)
{
	return facts->limit_size && facts->why->room < facts->limit_size / 4;
}

static bool has_no_policy(const struct vs_remedy_facts *facts)
{
	return !facts->has_mixed_policy;
}

static bool has_data_pipeline(const struct vs_remedy_facts *facts)
{
	return facts->has_data_pipeline;
}

static bool can_grow(const struct vs_remedy_facts *facts)
{
	return !facts->is_growing_pool && !facts->is_async;
}

static bool can_grow_jax(const struct vs_remedy_facts *facts)
{
	return !facts->is_not_preallocating;
}

static bool has_no_fraction(const struct vs_remedy_facts *facts)
{
	return !facts->has_fraction && !facts->is_not_preallocating;
}

static bool has_fraction(const struct vs_remedy_facts *facts)
{
	return facts->has_fraction;
}

static bool has_no_function(const struct vs_remedy_facts *facts)
{
	return !facts->has_graph_function;
}

static bool has_forward_growth(const struct vs_remedy_facts *facts)
{
	return facts->has_forward_growth && facts->has_backward;
}

static bool is_inference(const struct vs_remedy_facts *facts)
{
	return facts->has_forward_growth && !facts->has_backward;
}

static bool may_load(const struct vs_remedy_facts *facts)
{
	return facts->may_load;
}

static bool is_no_load(const struct vs_remedy_facts *facts)
{
	return !facts->may_load;
}

/* Where nothing is learnt there is no loss. */
static bool is_learning(const struct vs_remedy_facts *facts)
{
	return !facts->may_load && facts->has_backward;
}

static bool is_not_learning(const struct vs_remedy_facts *facts)
{
	return !facts->may_load && !facts->has_backward;
}

/* Nobody can do without it. */
static bool can_move_pins(const struct vs_remedy_facts *facts)
{
	return !facts->is_pin_fixed;
}

static bool has_large_hole(const struct vs_remedy_facts *facts)
{
	return facts->why->occasion == VS_WHY_FAILURE && facts->why->pool && facts->is_own_pool &&
	       facts->why->usable_largest >= facts->why->requested;
}

static bool is_killed(const struct vs_remedy_facts *facts)
{
	return facts->why->occasion == VS_WHY_KILLED;
}

static bool is_outside(const struct vs_remedy_facts *facts)
{
	return facts->why->runner_up == VS_WHY_OTHER_PROCESS;
}

/* ---- The table ------------------------------------------------------------------------------ */

/*
 * In order of their weight. {words} are those of expand() below; a row with one that is not known
 * is left out. fits: NULL is always.
 */
static const struct row {
	const char *id;
	unsigned int kinds;
	unsigned int frameworks;
	bool (*fits)(const struct vs_remedy_facts *facts);
	const char *text;
} rows[] = {
	/* Retention. */
	{"load-less", RETENTION, ANY, may_load,
	 "if {site} loads a model or data, nothing leaks, it takes that much: load less, in a "
	 "smaller type, or a part of it into memory of the host"},
	{"keep-less", RETENTION, TORCH | TENSORFLOW | JAX, may_load,
	 "if not: let go of what comes from there, or keep it on the host"},
	{"no-grad", RETENTION, TORCH, is_inference,
	 "nothing called backward(): where nothing is learnt, put {site} under torch.no_grad(), then "
	 "no graph is kept; to learn, call it for each batch, not for the sum of many"},
	{"keep-numbers", RETENTION, TORCH, is_learning,
	 "keep loss.item(), or tensor.detach().cpu(), not the tensor that comes from {site}"},
	{"keep-numbers", RETENTION, TORCH, is_not_learning,
	 "let go of what comes from {site} when it is no longer needed, or keep it on the host: "
	 "tensor.cpu()"},
	{"no-grad", RETENTION, TORCH, has_forward_growth,
	 "if nobody calls backward() there, put it under torch.no_grad(): then no graph is kept"},
	{"keep-numbers", RETENTION, TENSORFLOW, is_no_load,
	 "keep float(loss) or .numpy(), not the tensor that comes from {site}"},
	{"function", RETENTION, TENSORFLOW, has_no_function,
	 "put the step into one tf.function, made once and outside the loop: it keeps no tensors of "
	 "its own between calls"},
	{"keep-numbers", RETENTION, JAX, is_no_load,
	 "keep float(loss) or jax.device_get(x), not the array that comes from {site}"},
	{"free", RETENTION, NONE, NULL,
	 "free in every step what {site} takes, or keep it on the host: cudaMemcpy, then cudaFree"},

	/* Fragmentation. */
	{"move-pins", FRAGMENTATION, TORCH, can_move_pins,
	 "do not keep on the card what {site} keeps: .item(), .cpu(), or one buffer made before the "
	 "first step"},
	{"move-pins", FRAGMENTATION, TENSORFLOW | JAX, NULL,
	 "do not keep on the card what {site} keeps: copy it to the host (.numpy())"},
	{"expandable-segments", FRAGMENTATION, TORCH, can_expand,
	 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: pages instead of segments, so that no "
	 "block pins more than 2 MiB around it"},
	{"same-sizes", FRAGMENTATION, TORCH | TENSORFLOW | JAX, has_varying_sizes,
	 "pad or sort batches to a few sizes: the request that failed comes in many"},
	{"split-limit", FRAGMENTATION, TORCH, can_limit_splits,
	 "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:{split}: larger blocks stay whole for requests "
	 "like this one"},
	{"async-allocator", FRAGMENTATION, TENSORFLOW, is_not_async,
	 "TF_GPU_ALLOCATOR=cuda_malloc_async: the driver's pools move pages, not blocks"},
	{"move-pins", FRAGMENTATION, NONE, NULL,
	 "take what lives long, at {site}, from a pool of its own, or before everything else"},

	/* Another pool. */
	{"empty-cache", POOL, TORCH, can_empty_cache,
	 "torch.cuda.empty_cache() before that call: PyTorch's pool gives back {unused}"},
	{"trim", POOL, ANY, is_driver_holder,
	 "cudaMemPoolTrimTo, or a lower cudaMemPoolAttrReleaseThreshold: pool {holder} gives back "
	 "{unused}"},
	{"logical-limit", POOL, ANY, is_tensorflow_holder,
	 "TensorFlow's allocator gives nothing back to others: let it take less, by a memory_limit "
	 "(tf.config.set_logical_device_configuration); {spare} in it are not used"},
	{"smaller-peak", POOL, ANY, is_tensorflow_holder,
	 "or need less at once at {site}: that is what it grew for"},
	{"share-graph-pool", POOL, TORCH, has_graph_pools,
	 "let graphs share one pool: torch.cuda.graph(graph, pool=first.pool())"},
	{"share-pool", POOL, ANY, has_holder_holes,
	 "pool {holder} has {holes} free between its blocks, and can give back none of it: take this "
	 "memory from that pool, or make room before it grows"},
	{"trim", POOL, ANY, is_other_holder,
	 "let pool {holder} give back what it does not use: {unused}"},

	/* A limit. */
	{"raise-limit", LIMIT, NONE, has_driver_limit,
	 "raise maxSize of that pool (cudaMemPoolProps), now {limit}: the card has {room} left"},
	{"raise-limit", LIMIT, NONE, has_limit,
	 "raise the limit of that pool, now {limit}: the card has {room} left"},
	{"raise-limit", LIMIT, NONE, has_no_limit, "let that pool grow: the card has {room} left"},
	{"raise-limit", LIMIT, TORCH, NULL,
	 "raise torch.cuda.set_per_process_memory_fraction, or leave it out: the card has {room} "
	 "left"},
	{"raise-limit", LIMIT, TENSORFLOW, NULL,
	 "raise memory_limit of the logical device; where none is set, lower "
	 "TF_DEVICE_MIN_SYS_MEMORY_IN_MB: the card has {room} left"},
	{"smaller-batch", LIMIT, TENSORFLOW, is_nearly_all, "or a smaller batch: that is not much"},
	{"raise-limit", LIMIT, JAX, has_no_fraction,
	 "XLA_PYTHON_CLIENT_MEM_FRACTION=.95: it takes three quarters of the card unless told, and "
	 "{room} are left"},
	{"raise-limit", LIMIT, JAX, has_fraction,
	 "raise XLA_PYTHON_CLIENT_MEM_FRACTION: the card has {room} left"},

	/* Taken in advance. */
	{"grow", PREALLOCATION, TENSORFLOW, can_grow,
	 "TF_FORCE_GPU_ALLOW_GROWTH=true, or tf.config.experimental.set_memory_growth: it takes "
	 "what it needs, {grabbed} less now"},
	{"logical-limit", PREALLOCATION, TENSORFLOW, NULL,
	 "or a (lower) limit: tf.config.set_logical_device_configuration with memory_limit"},
	{"grow", PREALLOCATION, JAX, can_grow_jax,
	 "XLA_PYTHON_CLIENT_PREALLOCATE=false: it takes what it needs, {grabbed} less now"},
	{"smaller-fraction", PREALLOCATION, JAX, can_grow_jax,
	 "or a smaller part of the card: XLA_PYTHON_CLIENT_MEM_FRACTION"},
	{"take-less", PREALLOCATION, TORCH | NONE, NULL,
	 "take less at once at {site}: {grabbed} of it are not used"},

	/* Other processes. */
	{"end-others", OTHER_PROCESS, ANY, NULL,
	 "end or move the other processes, which hold {others}; or choose another card with "
	 "CUDA_VISIBLE_DEVICES"},

	/* More than there is. */
	{"smaller-request", CAPACITY, ANY, is_too_large_at_once,
	 "this one request is larger than the card: do it in pieces"},
	{"cap-batch", CAPACITY, TORCH | TENSORFLOW | JAX, is_unusual,
	 "usual peaks are {usual} ({peaks} of them), now {live} are live: if this batch is larger than "
	 "the others, cut it to their length, or split it"},
	{"smaller-batch", CAPACITY, TORCH, can_shrink_batch, "a smaller batch{batch}"},
	{"accumulate", CAPACITY, TORCH, can_accumulate,
	 "with gradient accumulation a step of small batches is the same step"},
	{"mixed-precision", CAPACITY, TORCH, can_autocast,
	 "mixed precision (torch.autocast) halves most activations"},
	{"checkpoint", CAPACITY, TORCH, can_checkpoint,
	 "torch.utils.checkpoint: activations are {activations}, and can be made again in the "
	 "backward pass"},
	{"smaller-model", CAPACITY, TORCH, is_model_too_large,
	 "a smaller batch would not help: parameters, gradients and optimizer state are {fixed}. An "
	 "optimizer with less state, weights of half the size, or several cards (FSDP)"},
	{"smaller-pieces", CAPACITY, TORCH, is_no_training,
	 "less at once at {site}, which has most"},
	{"smaller-batch", CAPACITY, TENSORFLOW | JAX, can_shrink_batch, "a smaller batch"},
	{"mixed-precision", CAPACITY, TENSORFLOW, has_no_policy,
	 "mixed precision: tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")"},
	{"prefetch-less", CAPACITY, TENSORFLOW, has_data_pipeline,
	 "fewer batches in flight: a smaller prefetch() at the end of the tf.data pipeline"},
	{"mixed-precision", CAPACITY, JAX, NULL, "bfloat16 instead of float32"},
	{"rematerialize", CAPACITY, JAX, NULL,
	 "jax.checkpoint: activations are made again in the backward pass"},
	{"smaller-pieces", CAPACITY, NONE, NULL,
	 "less at once at {site}, which has most; or memory of the host (cudaMallocManaged)"},

	/* What is not known. */
	{"one-stream", UNKNOWN, TORCH, has_large_hole,
	 "a hole of {largest} was there: a block serves only the stream it was first used on, and "
	 "graphs have pools of their own. Fewer streams, or record_stream() less often"},
	{"record-others", UNKNOWN, ANY, is_outside,
	 "see with nvidia-smi who has the rest, or record those processes as well"},
	{"host-memory", EVERY, ANY, is_killed,
	 "if it was not meant to end so (_exit and exec do that, too): the end of its own output, "
	 "and `dmesg` for the kernel's out-of-memory killer, if memory of the host ran out"},
};

/* ---- Words ---------------------------------------------------------------------------------- */

/* Names that somebody chose leave room for what is said. */
static void put_name(char *out, size_t size, const char *name)
{
	struct vs_text_line line = {0};

	vs_text_add_name(&line, name, NAME_COLUMNS);
	snprintf(out, size, "%.*s", (int)(size - 1), line.bytes);
}

/* A word in braces. False: not known. */
static bool put_word(char *out, size_t size, const char *word, const struct vs_remedy_facts *facts)
{
	const struct vs_why *why = facts->why;
	const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {
		{"unused", why->releasable_bytes},
		{"spare", why->guesses[VS_WHY_POOL].gives},
		{"holes", facts->holder_holes},
		{"limit", facts->limit_size},
		{"grabbed", why->grabbed_bytes},
		{"others", why->guesses[VS_WHY_OTHER_PROCESS].gives},
		{"activations", facts->activation_bytes},
		{"fixed", facts->fixed_bytes},
		{"largest", why->usable_largest},
		{"usual", facts->usual.bytes},
		{"live", facts->live_bytes},
	};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (strcmp(word, sizes[i].name))
			continue;
		snprintf(out, size, "%s", vs_units_put_bytes(a, sizes[i].bytes));
		return true;
	}
	out[0] = '\0';
	if (!strcmp(word, "site") && facts->site)
		put_name(out, size, facts->site);
	else if (!strcmp(word, "holder") && facts->holder)
		put_name(out, size, facts->holder);
	else if (!strcmp(word, "room"))
		snprintf(out, size, "%s%s", why->is_room_known ? "" : "up to ",
			 vs_units_put_bytes(a, why->room));
	else if (!strcmp(word, "peaks"))
		snprintf(out, size, "%llu", (unsigned long long)facts->usual.nr);
	else if (!strcmp(word, "split"))
		snprintf(out, size, "%llu", (unsigned long long)(why->requested >> 21));
	else if (!strcmp(word, "batch") && facts->is_composed)
		snprintf(out, size, ": %s of the %s that are live grow with it%s%s%s",
			 vs_units_put_bytes(a, facts->batch_bytes),
			 vs_units_put_bytes(b, facts->live_bytes), why->lacking ? ", " : "",
			 why->lacking ? vs_units_put_bytes((char[VS_UNITS_MAX]){0}, why->lacking)
				      : "",
			 why->lacking ? " were lacking" : "");
	else
		return !strcmp(word, "batch");
	return true;
}

static bool expand(char *out, const char *text, const struct vs_remedy_facts *facts)
{
	char word[32], value[256];
	size_t used = 0, size;

	out[0] = '\0';
	while (*text) {
		size = strcspn(text, "{");
		snprintf(out + used, VS_REMEDY_TEXT - used, "%.*s", (int)size, text);
		used = strlen(out);
		text += size;
		if (!*text)
			break;
		size = strcspn(++text, "}");
		snprintf(word, sizeof(word), "%.*s", (int)size, text);
		text += size + 1;
		if (!put_word(value, sizeof(value), word, facts))
			return false;
		snprintf(out + used, VS_REMEDY_TEXT - used, "%s", value);
		used = strlen(out);
	}
	return true;
}

size_t vs_remedy_choose(const struct vs_remedy_facts *facts, struct vs_remedy *remedies)
{
	size_t nr = 0, i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && nr < VS_REMEDIES_MAX; i++) {
		const struct row *row = &rows[i];

		if (!(row->kinds & 1u << facts->why->kind) ||
		    !(row->frameworks & facts->framework) || (row->fits && !row->fits(facts)) ||
		    !expand(remedies[nr].text, row->text, facts))
			continue;
		remedies[nr++].id = row->id;
	}
	return nr;
}

/* ---- From a trace --------------------------------------------------------------------------- */

static void read_settings(struct vs_remedy_facts *facts, const struct vs_story *story)
{
	static const char *const torch[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
	size_t i;

	for (i = 0; i < 2; i++) {
		facts->is_expandable |=
			vs_framework_has_setting(story, torch[i], "expandable_segments:True");
		facts->has_split_limit |=
			vs_framework_has_setting(story, torch[i], "max_split_size_mb");
		facts->is_async |= vs_framework_has_setting(story, torch[i], "cudaMallocAsync");
	}
	facts->is_async |= vs_framework_has_setting(story, "TF_GPU_ALLOCATOR", "cuda_malloc_async");
	facts->is_growing_pool =
		vs_framework_has_setting(story, "TF_FORCE_GPU_ALLOW_GROWTH", "true") ||
		vs_framework_has_setting(story, "TF_FORCE_GPU_ALLOW_GROWTH", "1") ||
		vs_framework_has_fact(story, "tensorflow.pool.", "taken as they are needed");
	facts->is_not_preallocating =
		vs_framework_has_setting(story, "XLA_PYTHON_CLIENT_PREALLOCATE", "false") ||
		vs_framework_has_setting(story, "XLA_PYTHON_CLIENT_PREALLOCATE", "0") ||
		vs_framework_has_setting(story, "XLA_PYTHON_CLIENT_ALLOCATOR", "platform");
	facts->has_fraction =
		vs_framework_has_setting(story, "XLA_PYTHON_CLIENT_MEM_FRACTION", NULL);
	facts->has_autocast = vs_framework_has_code(story, "torch/amp/");
	facts->has_checkpoints = vs_framework_has_code(story, "torch/utils/checkpoint.py");
	facts->has_graph_function = vs_framework_has_code(story, "polymorphic_function");
	facts->has_mixed_policy = vs_framework_has_code(story, "mixed_precision") ||
				  vs_framework_has_code(story, "loss_scale_optimizer");
	facts->has_data_pipeline = vs_framework_has_code(story, "tensorflow/python/data/");
}

/* Expandable segments can be set by the program itself: then they are there to be seen. */
static void read_pools(struct vs_remedy_facts *facts, const struct vs_device_state *state)
{
	const struct vs_address_map *map = &state->map;
	const struct vs_address_pool *holder = state->why.holder;
	size_t i;

	for (i = 0; i < map->nr_entries; i++) {
		const struct vs_item *item = map->entries[i].item;

		if (map->entries[i].type == VS_ADDRESS_SEGMENT && item->owner &&
		    item->owner->owner == VS_POOL_FRAMEWORK && item->kind == VS_MEMORY_VMM)
			facts->is_expandable = true;
	}
	for (i = 0; i < map->nr_pools; i++)
		facts->has_graph_pools |= map->pools[i].pool->owner == VS_POOL_FRAMEWORK &&
					  strstr(map->pools[i].pool->name, "graphs") &&
					  map->pools[i].holes.total_bytes;
	if (!holder)
		return;
	facts->holder = holder->pool->name;
	if (!holder->releasable_bytes)
		facts->holder_holes = holder->holes.total_bytes;
	facts->is_driver_holder = holder->pool->owner == VS_POOL_DRIVER;
	facts->is_torch_holder = holder->pool->owner == VS_POOL_FRAMEWORK &&
				 !strncmp(holder->pool->name, "PyTorch", 7);
	facts->is_tensorflow_holder = holder->pool->owner == VS_POOL_FRAMEWORK &&
				      !strncmp(holder->pool->name, "TensorFlow", 10);
}

/* Where in the program a site is, by its frames. */
static int read_place(struct vs_story *story, const struct vs_site *site,
		      enum vs_category_place *place)
{
	struct vs_category_traits traits = {0};
	int err = vs_composition_read_site(story->names, site, &traits);

	*place = traits.place;
	return err;
}

static int read_composition(struct vs_remedy_facts *facts, struct vs_story *story,
			    const struct vs_device_state *state)
{
	static const enum vs_category of_batch[] = {VS_CATEGORY_ACTIVATION, VS_CATEGORY_INPUT,
						    VS_CATEGORY_TEMPORARY};
	struct vs_composition composition;
	size_t i;
	int err = vs_composition_init(&composition, &story->analysis, story->names, state->device,
				      &state->at);

	if (err)
		return err;
	facts->is_composed = composition.is_known;
	for (i = 0; i < sizeof(of_batch) / sizeof(of_batch[0]); i++)
		facts->batch_bytes += composition.bytes[of_batch[i]];
	facts->activation_bytes = composition.bytes[VS_CATEGORY_ACTIVATION];
	facts->fixed_bytes = composition.bytes[VS_CATEGORY_PARAMETER] +
			     composition.bytes[VS_CATEGORY_GRADIENT] +
			     composition.bytes[VS_CATEGORY_OPTIMIZER];
	vs_composition_fini(&composition);
	return 0;
}

static int read_sites(struct vs_remedy_facts *facts, struct vs_story *story,
		      const struct vs_device_state *state, const struct vs_site *about)
{
	enum vs_category_place place;
	int err = 0;

	facts->has_backward = vs_one_pass_has_backward(&story->analysis.replay->definitions);
	if (about && state->why.kind == VS_WHY_FRAGMENTATION) {
		err = read_place(story, about, &place);
		facts->is_pin_fixed = place != VS_PLACE_UNKNOWN && place != VS_PLACE_FORWARD;
	}
	if (!err && state->oom) {
		err = read_place(story, state->oom->site, &place);
		facts->is_request_fixed = place == VS_PLACE_INIT || place == VS_PLACE_OPTIMIZER;
	}
	if (!err && state->retained.nr_growing) {
		err = read_place(story, state->retained.sites[0].account->site, &place);
		facts->has_forward_growth = place == VS_PLACE_FORWARD;
	}
	return err;
}

/* It takes a pass: only for a request that came in many sizes, and of which a batch may be a part.
 */
static int read_usual(struct vs_remedy_facts *facts, const struct vs_story *story,
		      const struct vs_device_state *state)
{
	if (facts->why->kind != VS_WHY_CAPACITY || facts->why->occasion != VS_WHY_FAILURE ||
	    facts->framework == NONE || !facts->has_varying_sizes || facts->is_request_fixed)
		return 0;
	return vs_usual_peak_find(&story->analysis, state->device, &facts->usual);
}

/* An allocator gives out a block a call or two further in than it says that there is none. */
#define INNER_FRAMES 2

/* Whether it is the same request: all calls are the same but for the allocator's own. */
static bool is_same_request(const struct vs_site *a, const struct vs_site *b)
{
	uint32_t nr = a->nr_frames < b->nr_frames ? a->nr_frames : b->nr_frames;
	uint32_t most = a->nr_frames < b->nr_frames ? b->nr_frames : a->nr_frames, same = 0;

	if (a == b)
		return true;
	vs_definitions_need_frames(a);
	vs_definitions_need_frames(b);
	while (same < nr && a->frames[a->nr_frames - 1 - same].address ==
				    b->frames[b->nr_frames - 1 - same].address)
		same++;
	return same && same + INNER_FRAMES >= most;
}

/* Blocks of the request that failed, over the whole trace. */
static bool has_sizes(const struct vs_story *story, const struct vs_failure_group *group)
{
	const struct vs_analysis *analysis = &story->analysis;
	size_t i;

	for (i = 0; group && i < analysis->replay->nr_accounts; i++) {
		const struct vs_account *account = analysis->replay->accounts[i];
		const struct vs_site_totals *totals =
			vs_measure_sites_get(&analysis->sites, account);

		if (totals->min_size < totals->max_size &&
		    is_same_request(account->site, group->site))
			return true;
	}
	return false;
}

int vs_remedy_find(struct vs_story *story, const struct vs_device_state *state,
		   const struct vs_site *about, const char *site, struct vs_remedy *remedies,
		   size_t *nr_remedies)
{
	const struct vs_replay_pool *pool =
		state->why.limited ? state->why.limited : (state->oom ? state->oom->pool : NULL);
	struct vs_remedy_facts facts = {.why = &state->why,
					.site = site,
					.live_bytes = state->map.live_bytes,
					.limit_size = pool ? pool->limit_size : 0};
	int err = 0;

	if (!pool && state->why.kind == VS_WHY_PREALLOCATION && state->why.grab)
		pool = story->analysis.replay->pools[state->why.grab->owner->index];
	/* A limit on a driver's pool is set by who made the pool: no framework does. */
	facts.framework = state->why.limited ? NONE : vs_framework_find(story, pool);
	facts.is_own_pool =
		state->oom && state->oom->pool && state->oom->pool->owner == VS_POOL_FRAMEWORK;
	facts.has_steps = state->retained.nr_boundaries > 1 &&
			  story->analysis.retained.unit != VS_BOUNDARY_INTERVALS;
	facts.has_varying_sizes = has_sizes(story, state->oom);
	facts.may_load = state->retained.may_load;
	read_settings(&facts, story);
	read_pools(&facts, state);
	if (facts.framework == VS_FRAMEWORK_TORCH) {
		err = read_sites(&facts, story, state, about);
		if (!err && state->why.kind == VS_WHY_CAPACITY)
			err = read_composition(&facts, story, state);
	}
	if (!err)
		err = read_usual(&facts, story, state);
	if (!err)
		*nr_remedies = vs_remedy_choose(&facts, remedies);
	return err;
}
