#ifndef VS_HEATMAP_GATHER_H
#define VS_HEATMAP_GATHER_H

/*
 * Fills a heatmap from a trace whose survey (heatmap_survey.h) has been made, in one more pass; in
 * two if a pool took over memory that nobody could foresee it would (foresight.h).
 */
#include "heatmap.h"
#include "heatmap_survey.h"

/*
 * heatmap is initialised here, on success and on failure alike the caller's to vs_heatmap_fini.
 * -VS_ERR_NO_MEMORY, and what the source says.
 */
VS_MUST_CHECK int vs_heatmap_gather_cells(struct vs_heatmap *heatmap,
					  const struct vs_source *source,
					  const struct vs_heatmap_request *request,
					  const struct vs_heatmap_survey *survey);

#endif
