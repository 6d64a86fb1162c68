#ifndef VS_TOTALS_H
#define VS_TOTALS_H

#include "analysis.h"
#include "pack.h"

/*
 * What an analysis of a whole trace has found of its devices and pools, as bytes: peaks, counts,
 * the worst holes, failures. docs/trace-format.md, section 9.5. Not what it knows of each site.
 */

/* Errors stay in the pack. */
void vs_totals_put(struct vs_pack *pack, const struct vs_analysis *analysis);

/*
 * Into an analysis that has a replay of the end, and no totals yet. Names of phases stay in the
 * bytes, which are kept as long as the analysis. -VS_ERR_CORRUPT, -VS_ERR_TRUNCATED,
 * -VS_ERR_NO_MEMORY. Bytes of any content are safe.
 */
VS_MUST_CHECK int vs_totals_get(struct vs_analysis *analysis, const void *bytes, size_t size);

#endif
