#ifndef VS_PEAK_CURVE_H
#define VS_PEAK_CURVE_H

#include "error.h"
#include "instant.h"

/*
 * The peaks of a curve of live bytes, counted while it is followed: docs/analyses.md, "Peak". A
 * peak is the highest instant between two falls: the curve has to come down from it, and up to it,
 * by a sixteenth of the highest that it ever reaches.
 *
 * That is known at the end only. Until then the turns are kept that count if the highest so far is
 * the highest of all: what a higher one leaves of the curve, it leaves of its turns. If there are
 * too many, they are counted as if nothing higher came. If something does, `is_lost` says that the
 * curve has to be followed again, with its highest known.
 */
#define VS_PEAK_CURVE_HEIGHTS 4096  /* of more, every second one is left out, again and again */
#define VS_PEAK_CURVE_NAMED   8     /* phases that are told apart */
#define VS_PEAK_CURVE_TURNS   65536 /* kept at most */

struct vs_peak_phase {
	const char *name; /* of the replay's definitions; NULL: none */
	uint64_t count;   /* peaks, or */
	uint64_t bytes;   /* live bytes at the highest peak */
};

/* A place on the curve. */
struct vs_peak_point {
	uint64_t bytes;
	struct vs_instant at;
};

/* The way up or down: the highest of it, or the lowest. */
struct vs_peak_way {
	bool is_falling;
	struct vs_peak_point extreme;
};

struct vs_peak_curve {
	uint64_t highest; /* so far, or of all */
	uint64_t fall;    /* what has to be fallen: a sixteenth of it, and 1 */
	bool is_known;    /* `highest` is that of all */
	bool is_lost;
	struct vs_peak_way way; /* where it is */

	/* Turns that are not counted yet, in order; and where those before them ended. */
	struct vs_peak_point *turns;
	size_t nr_turns;
	size_t turns_capacity;
	struct vs_peak_way counted_way;
	bool has_counted; /* with `highest`: a higher one makes it wrong */

	uint64_t nr_peaks;
	uint64_t nr_near;            /* within a hundredth of the highest */
	struct vs_peak_point top;    /* the highest so far, for `second` */
	struct vs_peak_point second; /* the second highest; 0 bytes: none */
	struct vs_peak_point below;  /* the highest that is not near; 0 bytes: none */
	struct vs_peak_phase near[VS_PEAK_CURVE_NAMED]; /* in which phases those near it were */
	size_t nr_near_phases;
	uint64_t *heights;
	size_t nr_heights;
	size_t heights_capacity;
	uint64_t stride;
};

/* highest: of all that it will be told, or 0: not known. */
void vs_peak_curve_init(struct vs_peak_curve *curve, uint64_t highest);
void vs_peak_curve_fini(struct vs_peak_curve *curve);

/* Whether vs_peak_curve_follow has anything to do: most events change nothing. */
static inline bool vs_peak_curve_is_moved(const struct vs_peak_curve *curve, uint64_t bytes)
{
	uint64_t extreme = curve->way.extreme.bytes;

	if (curve->way.is_falling)
		return bytes < extreme || bytes - extreme >= curve->fall;
	return bytes > extreme || extreme - bytes >= curve->fall;
}

/* Where the curve is now. */
VS_MUST_CHECK int vs_peak_curve_follow(struct vs_peak_curve *curve, uint64_t bytes,
				       const struct vs_instant *at);

/* It ends there. Then the counts are right, unless is_lost. */
VS_MUST_CHECK int vs_peak_curve_end(struct vs_peak_curve *curve);

/* The median of all peaks, the lower one of two; 0: there were none. Sorts what is kept. */
uint64_t vs_peak_curve_get_typical(struct vs_peak_curve *curve);

#endif
