#ifndef VS_MEMORY_SAMPLE_H
#define VS_MEMORY_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/*
 * What NVML last said of a device, over all processes (MEMORY_INFO and what is behind it), with
 * what we had booked there at that moment. Part of the replay's state of the device; owned by it.
 */
struct vs_memory_sample {
	bool is_known;
	uint64_t time_ns;
	uint64_t booked_bytes; /* what was reserved by our books then: vs_replay_get_reserved() */
	struct vs_memory_info info;
	struct vs_memory_own own;
	uint32_t nr_holders; /* of those below; the list may have more: own.nr_others */
	struct vs_memory_holder holders[VS_MEMORY_HOLDERS_MAX];
};

void vs_memory_sample_set(struct vs_memory_sample *sample, const struct vs_record *record,
			  uint64_t booked_bytes);

/* Whose memory that of the sample is. */
void vs_memory_sample_set_own(struct vs_memory_sample *sample, const struct vs_memory_own *own);

/* One of the others of this sample; the first VS_MEMORY_HOLDERS_MAX are kept. */
void vs_memory_sample_add_holder(struct vs_memory_sample *sample,
				 const struct vs_memory_holder *holder);

/*
 * Whether NVML knows which of the memory is ours. Not if it says less than we have booked: then it
 * is a process of another container that has our number, or managed memory that is not there.
 */
bool vs_memory_sample_has_own(const struct vs_memory_sample *sample);

/*
 * Bytes of the device that neither we had booked nor were free. total_bytes: of the device, as CUDA
 * tells; 0 if not known. docs/analyses.md, "Where".
 */
uint64_t vs_memory_sample_get_outside(const struct vs_memory_sample *sample, uint64_t total_bytes);

/* Bytes outside our books, by whose they are. The three add up to what is split. */
struct vs_memory_split {
	bool is_known; /* otherwise nothing can be said of the parts, which are 0 */
	bool has_list; /* others_bytes are those of NVML's list; else of an unknown holder */
	uint64_t context_bytes; /* ours: contexts and modules */
	uint64_t others_bytes;
	uint64_t unexplained_bytes;
};

/*
 * Whether the driver can have rounded up what was booked by so much when the sample was taken: with
 * it, what we hold must have room for what the context took when it was created. True if nobody
 * knows.
 */
bool vs_memory_sample_has_room(const struct vs_memory_sample *sample, uint64_t rounded_bytes);

/* What the driver rounds up of what is booked, which is no part of what is split. */
struct vs_memory_rounding {
	uint64_t sampled_bytes; /* when the sample was taken */
	uint64_t bytes;         /* at the instant itself, and so in the sample right after it */
};

/*
 * Splits outside_bytes. sample: the latest before, for what is ours; after: one that was taken
 * right after, for what others hold; NULL or not known: sample, too.
 */
void vs_memory_sample_split(const struct vs_memory_sample *sample,
			    const struct vs_memory_sample *after, uint64_t outside_bytes,
			    const struct vs_memory_rounding *rounding,
			    struct vs_memory_split *split);

#endif
