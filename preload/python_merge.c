#include "python_merge.h"

struct output {
	uint64_t *frames;
	uint32_t nr;
	uint32_t max;
};

static void put(struct output *out, uint64_t frame)
{
	if (out->nr < out->max)
		out->frames[out->nr] = frame;
	out->nr++;
}

static void put_python(struct output *out, uint64_t frame)
{
	if (frame)
		put(out, frame);
}

static uint32_t count(const bool *flags, uint32_t nr)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < nr; i++)
		found += flags[i];
	return found;
}

/* The Python frames of one call of the evaluator, from *next on. */
static void put_call(struct output *out, const struct vs_python_merge *merge, uint32_t *next)
{
	while (*next < merge->nr_python) {
		put_python(out, merge->python[*next]);
		if (merge->ends_call[(*next)++])
			break;
	}
}

static void put_all(struct output *out, const struct vs_python_merge *merge, uint32_t *next)
{
	while (*next < merge->nr_python)
		put_python(out, merge->python[(*next)++]);
}

/* Where outer frames are missing, those that are there still fit together. */
static bool does_fit(const struct vs_python_merge *merge)
{
	uint32_t nr_evaluators = count(merge->is_evaluator, merge->nr_native);
	uint32_t nr_calls = count(merge->ends_call, merge->nr_python);

	return (nr_evaluators <= nr_calls || !merge->is_whole_python) &&
	       (nr_calls <= nr_evaluators || !merge->is_whole);
}

uint32_t vs_python_merge(const struct vs_python_merge *merge, uint64_t *out, uint32_t max)
{
	struct output output = {.frames = out, .max = max};
	bool fits = does_fit(merge);
	uint32_t next = 0;

	for (uint32_t i = 0; i < merge->nr_native; i++) {
		if (merge->is_evaluator[i]) {
			if (fits)
				put_call(&output, merge, &next);
			else
				put_all(&output, merge, &next);
		}
		put(&output, merge->native[i]);
	}
	put_all(&output, merge, &next);
	return output.nr;
}
