#include "memory_sample.h"

#include <string.h>

void vs_memory_sample_set(struct vs_memory_sample *sample, const struct vs_record *record,
			  uint64_t booked_bytes)
{
	memset(sample, 0, sizeof(*sample));
	sample->is_known = true;
	sample->time_ns = record->time_ns;
	sample->booked_bytes = booked_bytes;
	sample->info = record->memory_info;
}

void vs_memory_sample_set_own(struct vs_memory_sample *sample, const struct vs_memory_own *own)
{
	if (sample->is_known)
		sample->own = *own;
}

void vs_memory_sample_add_holder(struct vs_memory_sample *sample,
				 const struct vs_memory_holder *holder)
{
	if (sample->is_known && sample->nr_holders < VS_MEMORY_HOLDERS_MAX)
		sample->holders[sample->nr_holders++] = *holder;
}

bool vs_memory_sample_has_own(const struct vs_memory_sample *sample)
{
	return sample->is_known && (sample->own.flags & VS_MEMORY_OWN_LISTED) &&
	       sample->own.own_size >= sample->booked_bytes;
}

static uint64_t subtract(uint64_t from, uint64_t bytes)
{
	return from > bytes ? from - bytes : 0;
}

uint64_t vs_memory_sample_get_outside(const struct vs_memory_sample *sample, uint64_t total_bytes)
{
	const struct vs_memory_info *info = &sample->info;
	uint64_t hidden = 0;

	/* An NVML that does not tell the driver's own part counts it as used; CUDA does not. */
	if (total_bytes)
		hidden = subtract(subtract(info->total_size, info->reserved_size), total_bytes);
	return subtract(subtract(info->used_size, hidden), sample->booked_bytes);
}

bool vs_memory_sample_has_room(const struct vs_memory_sample *sample, uint64_t rounded_bytes)
{
	uint64_t beyond;

	if (!vs_memory_sample_has_own(sample))
		return true;
	beyond = sample->own.own_size - sample->booked_bytes;
	if (sample->own.flags & VS_MEMORY_OWN_CONTEXT)
		beyond = subtract(beyond, sample->own.context_size);
	return rounded_bytes <= beyond;
}

/* What is ours beyond the books and what the driver rounded. False: not known. */
static bool get_context(const struct vs_memory_sample *sample, uint64_t rounded, uint64_t *bytes)
{
	if (vs_memory_sample_has_own(sample))
		*bytes = subtract(sample->own.own_size - sample->booked_bytes, rounded);
	else if (sample->is_known && (sample->own.flags & VS_MEMORY_OWN_CONTEXT))
		*bytes = sample->own.context_size;
	else
		return false;
	return true;
}

void vs_memory_sample_split(const struct vs_memory_sample *sample,
			    const struct vs_memory_sample *after, uint64_t outside_bytes,
			    const struct vs_memory_rounding *rounding,
			    struct vs_memory_split *split)
{
	const struct vs_memory_sample *list = after && after->is_known ? after : sample;
	uint64_t rest, context;

	memset(split, 0, sizeof(*split));
	if (!get_context(sample, rounding->sampled_bytes, &context) &&
	    !get_context(list, rounding->bytes, &context))
		return;
	split->is_known = true;
	split->context_bytes = context < outside_bytes ? context : outside_bytes;
	rest = outside_bytes - split->context_bytes;
	/* The books of the later one are of the failure, and may have shrunk since. */
	split->has_list =
		vs_memory_sample_has_own(list) ||
		(vs_memory_sample_has_own(sample) && (list->own.flags & VS_MEMORY_OWN_LISTED));
	split->others_bytes = rest;
	if (split->has_list && list->own.others_size < rest)
		split->others_bytes = list->own.others_size;
	split->unexplained_bytes = rest - split->others_bytes;
}
