#ifndef VS_MEASURE_BASIC_H
#define VS_MEASURE_BASIC_H

#include "measure_counts.h"
#include "measure_peak.h"
#include "measure_peaks.h"
#include "measure_retained.h"
#include "measure_sites.h"

/*
 * The measures that every analysis has, as one observer: most of what happens concerns all of them,
 * and being called costs as much as what each does with it. They stay the caller's.
 */
struct vs_measure_basic {
	struct vs_observer observer;
	struct vs_measure_peak *peak;
	struct vs_measure_peaks *peaks; /* NULL: not wanted */
	struct vs_measure_counts *counts;
	struct vs_measure_sites *sites;
	struct vs_measure_retained *retained;
};

/* The measures are there, and initialised. Then vs_replay_add_observer. */
void vs_measure_basic_init(struct vs_measure_basic *measure);

#endif
