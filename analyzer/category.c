#include "category.h"

#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *name;
	const char *plural;
} words[VS_NR_CATEGORIES] = {
	[VS_CATEGORY_PARAMETER] = {"parameter", "parameters"},
	[VS_CATEGORY_GRADIENT] = {"gradient", "gradients"},
	[VS_CATEGORY_OPTIMIZER] = {"optimizer", "optimizer state"},
	[VS_CATEGORY_ACTIVATION] = {"activation", "activations"},
	[VS_CATEGORY_INPUT] = {"input", "inputs"},
	[VS_CATEGORY_WORKSPACE] = {"workspace", "workspaces"},
	[VS_CATEGORY_TEMPORARY] = {"temporary", "temporaries"},
	[VS_CATEGORY_UNCLEAR] = {"unclear", "unclear"},
};

const char *vs_category_get_name(enum vs_category category)
{
	return words[category].name;
}

const char *vs_category_get_plural(enum vs_category category)
{
	return words[category].plural;
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* ---- Native frames -------------------------------------------------------------------------- */

/* The functions by which every tensor gets its memory; whatever comes without them is no tensor. */
static bool makes_storage(const char *function)
{
	static const char *const names[] = {"empty_generic", "empty_strided_generic",
					    "c10::StorageImpl::", "resize_bytes_cuda"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(function, names[i]))
			return true;
	return false;
}

/* Python's way to functions that make a tensor of nothing, or of one that lies elsewhere. */
static bool is_factory(const char *binding)
{
	static const char *const whole[] = {"to",     "cuda", "tensor",   "as_tensor",
					    "arange", "eye",  "linspace", "from_numpy"};
	static const char *const starts[] = {"rand", "empty", "zeros", "ones", "full", "normal"};
	size_t i, size = strcspn(binding, "(");

	/* Of another tensor's shape: a moment, a mask, anything. */
	if (size >= 5 && !strncmp(binding + size - 5, "_like", 5))
		return false;
	for (i = 0; i < ARRAY_SIZE(whole); i++)
		if (strlen(whole[i]) == size && !strncmp(binding, whole[i], size))
			return true;
	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (starts_with(binding, starts[i]))
			return true;
	return false;
}

static void settle(struct vs_category_traits *traits, enum vs_category_place place)
{
	traits->is_recomputed = place == VS_PLACE_BACKWARD && traits->place == VS_PLACE_FORWARD;
	traits->place = place;
	traits->is_settled = place == VS_PLACE_BACKWARD;
}

static void read_native(struct vs_category_traits *traits, const char *function)
{
	static const char binding[] = "torch::autograd::THPVariable_";

	if (strstr(function, "CUDACachingAllocator"))
		traits->is_named = true;
	if (makes_storage(function))
		traits->is_tensor = true;
	if (strstr(function, "THCPModule_"))
		traits->is_handed = true;
	/* What stands further out called backward(), and has nothing to do with this block. */
	if (starts_with(function, "torch::autograd::Engine::evaluate_function") ||
	    starts_with(function, "torch::autograd::Engine::thread_main"))
		settle(traits, VS_PLACE_BACKWARD);
	else if (starts_with(function, "c10d::Reducer::") && !traits->place)
		settle(traits, VS_PLACE_REDUCER);
	if (starts_with(function, binding) && !traits->has_binding && !traits->has_python) {
		traits->has_binding = true;
		traits->is_factory = is_factory(function + strlen(binding));
	}
}

/* ---- Python frames -------------------------------------------------------------------------- */

/* Whether a name as `Module.to.<locals>.convert` has a part that is one of these. */
static bool has_part(const char *name, const char *const *parts, size_t nr_parts)
{
	size_t i, size;

	for (;; name += size + 1) {
		size = strcspn(name, ".");
		for (i = 0; i < nr_parts; i++)
			if (strlen(parts[i]) == size && !strncmp(name, parts[i], size))
				return true;
		if (!name[size])
			return false;
	}
}

static enum vs_category_place find_module_place(const char *function)
{
	static const char *const calls[] = {"forward", "_call_impl", "_wrapped_call_impl",
					    "_slow_forward"};
	static const char *const makers[] = {"__init__", "_apply", "reset_parameters",
					     "_reset_parameters", "to_empty"};

	if (has_part(function, makers, ARRAY_SIZE(makers)))
		return VS_PLACE_INIT;
	if (has_part(function, calls, ARRAY_SIZE(calls)))
		return VS_PLACE_FORWARD;
	return VS_PLACE_UNKNOWN;
}

static enum vs_category_place find_place(const struct vs_symbol *frame)
{
	const char *file = frame->file ? strstr(frame->file, "/torch/") : NULL;

	if (!file)
		return VS_PLACE_UNKNOWN;
	if (starts_with(file, "/torch/optim/"))
		return VS_PLACE_OPTIMIZER;
	if (starts_with(file, "/torch/nn/functional.py"))
		return VS_PLACE_FORWARD;
	if (starts_with(file, "/torch/nn/init.py"))
		return VS_PLACE_INIT;
	if (starts_with(file, "/torch/nn/modules/"))
		return find_module_place(frame->function);
	return VS_PLACE_UNKNOWN;
}

void vs_category_read_frame(struct vs_category_traits *traits, const struct vs_symbol *frame,
			    bool is_python)
{
	if (traits->is_settled)
		return;
	if (!is_python) {
		read_native(traits, frame->function);
		return;
	}
	traits->has_python = true;
	/* The innermost counts: an optimizer may call the model, and a model is made in functions.
	 */
	if (!traits->place)
		traits->place = find_place(frame);
}

/* ---- Lives ---------------------------------------------------------------------------------- */

/* Passes that began, and that ended, while it lived. */
static uint32_t count_begun(const struct vs_category_life *life)
{
	return (life->death.half + 1) / 2 - (life->birth.half + 1) / 2;
}

static uint32_t count_ended(const struct vs_category_life *life)
{
	return life->death.half / 2 - life->birth.half / 2;
}

/* What is made in a pass is long-lived if it is there after it; all else, if it is there in one. */
static bool is_long(const struct vs_category_traits *traits, const struct vs_category_life *life)
{
	return traits->place == VS_PLACE_BACKWARD ? count_ended(life) : count_begun(life);
}

/* Whether a pass began after this half. */
static bool has_pass_after(uint32_t half, const struct vs_category_clock *later)
{
	return (later->half + 1) / 2 > (half + 1) / 2;
}

/*
 * Gone before a pass began says nothing where none ever began: in the last part of a training, or
 * all of a program that does not train.
 */
static void note_short(struct vs_category_history *history, const struct vs_category_clock *death)
{
	if (has_pass_after(history->waiting_since, death)) {
		history->nr_short += history->nr_waiting;
		history->nr_waiting = 0;
	}
	if (!history->nr_waiting++)
		history->waiting_since = death->half;
}

void vs_category_note_life(struct vs_category_history *history,
			   const struct vs_category_traits *traits,
			   const struct vs_category_life *life)
{
	if (is_long(traits, life)) {
		history->nr_long++;
		history->nr_kept += count_begun(life) > 1;
	} else if (life->is_freed && traits->place == VS_PLACE_BACKWARD) {
		history->nr_short++;
	} else if (life->is_freed) {
		note_short(history, &life->death);
	}
}

/* Its end tells how long it was meant to live. */
static bool is_telling(const struct vs_category_traits *traits, const struct vs_category_life *life)
{
	return life->is_freed &&
	       (traits->place == VS_PLACE_BACKWARD || has_pass_after(life->death.half, &life->end));
}

static bool has_short(const struct vs_category_history *history,
		      const struct vs_category_clock *end)
{
	return history->nr_short ||
	       (history->nr_waiting && has_pass_after(history->waiting_since, end));
}

/* Made by a module for itself, and there when one was called; or none ever was. */
static bool is_parameter(const struct vs_category_traits *traits,
			 const struct vs_category_life *life)
{
	return traits->place == VS_PLACE_INIT &&
	       (life->death.uses != life->birth.uses || !life->end.uses);
}

static enum vs_category decide_short(const struct vs_category_traits *traits)
{
	if (traits->place == VS_PLACE_BACKWARD && traits->is_recomputed)
		return VS_CATEGORY_ACTIVATION;
	return VS_CATEGORY_TEMPORARY;
}

static enum vs_category decide_long(const struct vs_category_traits *traits,
				    const struct vs_category_life *life,
				    const struct vs_category_history *history)
{
	bool is_kept = count_begun(life) > 1 || (!life->is_freed && history->nr_kept);

	switch (traits->place) {
	case VS_PLACE_BACKWARD:
		return VS_CATEGORY_GRADIENT;
	case VS_PLACE_OPTIMIZER:
		return VS_CATEGORY_OPTIMIZER;
	case VS_PLACE_FORWARD:
		return VS_CATEGORY_ACTIVATION;
	case VS_PLACE_INIT:
		return VS_CATEGORY_PARAMETER;
	case VS_PLACE_REDUCER:
	case VS_PLACE_UNKNOWN:
		break;
	}
	/* One that is still there may yet turn out to be a constant, unless the others did not. */
	if (traits->has_python && traits->is_factory && !is_kept &&
	    (life->is_freed || history->nr_long))
		return VS_CATEGORY_INPUT;
	return VS_CATEGORY_UNCLEAR;
}

enum vs_category vs_category_decide(const struct vs_category_traits *traits,
				    const struct vs_category_life *life,
				    const struct vs_category_history *history)
{
	if (traits->is_named && !traits->is_tensor && !traits->is_handed)
		return VS_CATEGORY_WORKSPACE;
	if (!traits->is_tensor)
		return VS_CATEGORY_UNCLEAR;
	if (traits->place == VS_PLACE_REDUCER)
		return VS_CATEGORY_GRADIENT;
	if (is_parameter(traits, life))
		return VS_CATEGORY_PARAMETER;
	/* Nothing is trained: what modules make is what they hand on. */
	if (traits->place == VS_PLACE_FORWARD && !life->end.half)
		return VS_CATEGORY_ACTIVATION;
	if (is_long(traits, life))
		return decide_long(traits, life, history);
	if (is_telling(traits, life))
		return decide_short(traits);
	/* The trace ends before it is known: what became of all others from there? */
	if (has_short(history, &life->end))
		return history->nr_long ? VS_CATEGORY_UNCLEAR : decide_short(traits);
	return history->nr_long ? decide_long(traits, life, history) : VS_CATEGORY_UNCLEAR;
}
