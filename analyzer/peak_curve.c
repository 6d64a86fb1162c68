#include "peak_curve.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* How far live bytes have to fall, as a part of the highest. */
#define FALL_PART 16

/* Peaks of at least so many hundredths of the highest are one story. */
#define NEAR_HUNDREDTHS 99

static uint64_t get_fall(uint64_t highest)
{
	return highest / FALL_PART + 1;
}

void vs_peak_curve_init(struct vs_peak_curve *curve, uint64_t highest)
{
	memset(curve, 0, sizeof(*curve));
	curve->highest = highest;
	curve->fall = get_fall(highest);
	curve->is_known = highest;
	curve->stride = 1;
}

void vs_peak_curve_fini(struct vs_peak_curve *curve)
{
	free(curve->turns);
	free(curve->heights);
	memset(curve, 0, sizeof(*curve));
}

/* ---- Counting ------------------------------------------------------------------------------- */

static bool is_near(const struct vs_peak_curve *curve, uint64_t bytes)
{
	return (unsigned __int128)bytes * 100 >=
	       (unsigned __int128)curve->highest * NEAR_HUNDREDTHS;
}

static void count_near(struct vs_peak_curve *curve, const char *phase)
{
	size_t i;

	curve->nr_near++;
	for (i = 0; i < curve->nr_near_phases; i++) {
		const char *name = curve->near[i].name;

		if (name == phase || (name && phase && !strcmp(name, phase))) {
			curve->near[i].count++;
			return;
		}
	}
	if (curve->nr_near_phases < VS_PEAK_CURVE_NAMED)
		curve->near[curve->nr_near_phases++] =
			(struct vs_peak_phase){.name = phase, .count = 1};
}

static int keep_height(struct vs_peak_curve *curve, uint64_t bytes)
{
	size_t i;
	int err;

	if (curve->nr_peaks % curve->stride)
		return 0;
	if (curve->nr_heights == VS_PEAK_CURVE_HEIGHTS) {
		for (i = 0; i < VS_PEAK_CURVE_HEIGHTS / 2; i++)
			curve->heights[i] = curve->heights[i * 2];
		curve->nr_heights /= 2;
		curve->stride *= 2;
	}
	err = VS_GROW(curve->heights, curve->heights_capacity, curve->nr_heights + 1);
	if (!err)
		curve->heights[curve->nr_heights++] = bytes;
	return err;
}

static int add_peak(struct vs_peak_curve *curve, const struct vs_peak_point *peak)
{
	int err = keep_height(curve, peak->bytes);

	curve->nr_peaks++;
	if (peak->bytes > curve->top.bytes) {
		curve->second = curve->top;
		curve->top = *peak;
	} else if (peak->bytes > curve->second.bytes) {
		curve->second = *peak;
	}
	if (is_near(curve, peak->bytes))
		count_near(curve, peak->at.phase);
	else if (peak->bytes > curve->below.bytes)
		curve->below = *peak;
	return err;
}

/* ---- Following ------------------------------------------------------------------------------ */

/* True: it turns, and *turn is where it did. */
static bool move(struct vs_peak_way *way, uint64_t bytes, const struct vs_instant *at,
		 uint64_t fall, struct vs_peak_point *turn)
{
	uint64_t extreme = way->extreme.bytes;

	if (way->is_falling ? bytes < extreme : bytes > extreme) {
		way->extreme = (struct vs_peak_point){bytes, *at};
		return false;
	}
	if ((way->is_falling ? bytes - extreme : extreme - bytes) < fall)
		return false;
	*turn = way->extreme;
	way->is_falling = !way->is_falling;
	way->extreme = (struct vs_peak_point){bytes, *at};
	return true;
}

/* As if it never got higher than it has been. */
static int count_turns(struct vs_peak_curve *curve)
{
	struct vs_peak_point peak;
	size_t i;
	int err = 0;

	for (i = 0; i < curve->nr_turns && !err; i++)
		if (move(&curve->counted_way, curve->turns[i].bytes, &curve->turns[i].at,
			 curve->fall, &peak) &&
		    curve->counted_way.is_falling)
			err = add_peak(curve, &peak);
	curve->nr_turns = 0;
	curve->has_counted = true;
	return err;
}

/* Leaves out those that are none any more, since it was higher. */
static void thin_turns(struct vs_peak_curve *curve)
{
	struct vs_peak_way way = curve->counted_way;
	struct vs_peak_point turn;
	size_t i, kept = 0;

	for (i = 0; i < curve->nr_turns; i++) {
		struct vs_peak_point point = curve->turns[i];

		/* What the first point turns at was counted: there is always room. */
		if (move(&way, point.bytes, &point.at, curve->fall, &turn) && i)
			curve->turns[kept++] = turn;
	}
	curve->turns[kept++] = way.extreme;
	curve->nr_turns = kept;
}

static int keep_turn(struct vs_peak_curve *curve, const struct vs_peak_point *turn)
{
	int err = 0;

	if (curve->nr_turns == VS_PEAK_CURVE_TURNS) {
		thin_turns(curve);
		if (curve->nr_turns > VS_PEAK_CURVE_TURNS / 2)
			err = count_turns(curve);
	}
	if (!err)
		err = VS_GROW(curve->turns, curve->turns_capacity, curve->nr_turns + 1);
	if (!err)
		curve->turns[curve->nr_turns++] = *turn;
	return err;
}

int vs_peak_curve_follow(struct vs_peak_curve *curve, uint64_t bytes, const struct vs_instant *at)
{
	struct vs_peak_point turn;

	if (bytes > curve->highest && !curve->is_known) {
		curve->highest = bytes;
		curve->fall = get_fall(bytes);
		curve->is_lost |= curve->has_counted;
	}
	if (curve->is_lost || !move(&curve->way, bytes, at, curve->fall, &turn))
		return 0;
	if (!curve->is_known)
		return keep_turn(curve, &turn);
	return curve->way.is_falling ? add_peak(curve, &turn) : 0;
}

int vs_peak_curve_end(struct vs_peak_curve *curve)
{
	const struct vs_peak_way *last = curve->is_known ? &curve->way : &curve->counted_way;
	int err = 0;

	if (curve->is_lost)
		return 0;
	if (!curve->is_known)
		err = keep_turn(curve, &curve->way.extreme);
	if (!err && !curve->is_known)
		err = count_turns(curve);
	if (err || last->is_falling || !last->extreme.bytes)
		return err;
	return add_peak(curve, &last->extreme);
}

/* ---- Afterwards ----------------------------------------------------------------------------- */

static int compare_heights(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t vs_peak_curve_get_typical(struct vs_peak_curve *curve)
{
	if (!curve->nr_heights)
		return 0;
	qsort(curve->heights, curve->nr_heights, sizeof(curve->heights[0]), compare_heights);
	return curve->heights[(curve->nr_heights - 1) / 2];
}
