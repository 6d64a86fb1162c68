#ifndef VS_MEASURE_PEAKS_H
#define VS_MEASURE_PEAKS_H

#include "id_map.h"
#include "instant.h"
#include "replay.h"

/*
 * All peaks of a device, not only the highest; the high-water marks of its pools; and in which
 * phases the memory of the highest peak was made. For `peak`, in a pass of its own, when the
 * high-water mark is known. docs/analyses.md, "Peak".
 *
 * A peak is the highest instant between two falls: live bytes have to come down from it, and up to
 * it, by a sixteenth of the high-water mark.
 */
#define VS_PEAKS_KEPT  4096 /* heights; of more, every second one is left out, again and again */
#define VS_PEAKS_NAMED 8    /* phases that are told apart */

struct vs_peaks_phase {
	const char *name; /* of the replay's definitions; NULL: none */
	uint64_t count;   /* peaks, or */
	uint64_t bytes;   /* live bytes at the highest peak */
};

struct vs_peaks_pool {
	uint64_t live_bytes;
	struct vs_instant live_at;
	uint64_t held_bytes;
	struct vs_instant held_at;
};

struct vs_measure_peaks {
	struct vs_observer observer;
	uint32_t ordinal; /* of the device */
	uint64_t highest; /* of its live bytes, */
	uint64_t record;  /* after this record */

	/* The way up and down. */
	bool is_falling;
	uint64_t extreme;
	struct vs_instant extreme_at;

	uint64_t nr_peaks;
	uint64_t nr_near; /* within a hundredth of the highest */
	uint64_t second;  /* the second highest, or 0 */
	struct vs_instant second_at;
	uint64_t below; /* the highest that is not near, or 0 */
	struct vs_instant below_at;
	struct vs_peaks_phase near[VS_PEAKS_NAMED]; /* in which phases those near it were */
	size_t nr_near_phases;
	uint64_t top; /* the highest so far, for `second` */
	struct vs_instant top_at;
	uint64_t *heights;
	size_t nr_heights;
	size_t heights_capacity;
	uint64_t stride;

	struct vs_peaks_pool *pools; /* by pool->index */
	size_t pools_capacity;

	uint32_t thread;               /* of the record that is applied */
	struct vs_id_map births;       /* item id -> number of its phase + 1 */
	struct vs_peaks_phase *phases; /* where live memory was made; the first is none */
	size_t nr_phases;
	size_t phases_capacity;
	struct vs_peaks_phase *made; /* the same at the highest peak, by bytes */
	size_t nr_made;
};

/* highest, record: of the live peak, as the analysis found it. */
void vs_measure_peaks_init(struct vs_measure_peaks *measure, uint32_t ordinal, uint64_t highest,
			   uint64_t record);
void vs_measure_peaks_fini(struct vs_measure_peaks *measure);

/* The median of all peaks, the lower one of two; 0: there were none. Sorts what is kept. */
uint64_t vs_measure_peaks_get_typical(struct vs_measure_peaks *measure);

#endif
