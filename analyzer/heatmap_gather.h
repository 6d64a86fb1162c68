#ifndef VS_HEATMAP_GATHER_H
#define VS_HEATMAP_GATHER_H

/*
 * Fills a heatmap from a trace in two passes: the first finds out which addresses are held, which
 * segments belong to pools and how long the trace is; the second fills the cells.
 */
#include "analysis.h"
#include "heatmap.h"
#include "heatmap_groups.h"

struct vs_heatmap_request {
	uint32_t device;  /* VS_NO_DEVICE: the one that ran out of memory, or used most */
	uint64_t from_ns; /* 0: from a little before the device first held something */
	uint64_t to_ns;   /* UINT64_MAX: to the end */
	/* How many cells there may be; called between the passes, when marks are known to exist. */
	void (*choose_cells)(const struct vs_heatmap_request *request, bool has_phases,
			     size_t *columns, size_t *rows);
	struct vs_heatmap_groups *groups; /* NULL: live bytes are not told apart */
	int width;                        /* for choose_cells */
	int height;
};

/*
 * heatmap is initialised here, on success and on failure alike the caller's to vs_heatmap_fini.
 * -VS_ERR_INVALID: the trace has no such device, or none at all; -VS_ERR_EMPTY: it ends before
 * from_ns; -VS_ERR_NO_MEMORY, and what the source says.
 */
VS_MUST_CHECK int vs_heatmap_gather_cells(struct vs_heatmap *heatmap,
					  const struct vs_source *source,
					  const struct vs_heatmap_request *request);

#endif
