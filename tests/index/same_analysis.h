#ifndef VS_SAME_ANALYSIS_H
#define VS_SAME_ANALYSIS_H

#include "analysis.h"

/* Fails the test unless all measures of two analyses of the same records say the same, and their
 * replays stand at the same state. */
void assert_same_analysis(const struct vs_analysis *one, const struct vs_analysis *other);

#endif
