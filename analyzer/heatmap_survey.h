#ifndef VS_HEATMAP_SURVEY_H
#define VS_HEATMAP_SURVEY_H

/*
 * What must be known of a trace before the cells of a heatmap can be made: the device, the
 * addresses that are held at some time, and how long all of it takes. A quick pass: blocks in
 * segments change none of that and are not replayed.
 */
#include "analysis.h"
#include "heatmap_groups.h"
#include "heatmap_part.h"

struct vs_heatmap_request {
	uint32_t device;  /* VS_NO_DEVICE: the one that ran out of memory, or used most */
	uint64_t from_ns; /* 0: from a little before the part first held something */
	uint64_t to_ns;   /* UINT64_MAX: to the end */
	struct vs_heatmap_part part;
	/* How many cells there may be; called between the passes, when marks are known to exist. */
	void (*choose_cells)(const struct vs_heatmap_request *request, bool has_phases,
			     size_t *columns, size_t *rows);
	struct vs_heatmap_groups *groups; /* NULL: live bytes are not told apart */
	int width;                        /* for choose_cells */
	int height;
};

struct vs_heatmap_survey {
	uint32_t device;   /* ordinal */
	uint64_t first_ns; /* when it first held something; UINT64_MAX: never */
	uint64_t end_ns;   /* behind the last event */
	bool has_phases;   /* or steps */
	bool has_part;     /* a pool of that name is there, whether it ever held anything or not */
	struct vs_heatmap ranges; /* nothing but; empty if there is no such part */
	char *pools; /* names of what the device, or any, has, for a message: "'a', 'b'" */
};

/*
 * On success and on failure alike the caller's to vs_heatmap_survey_fini. -VS_ERR_INVALID: the
 * trace has no such device, or none at all; -VS_ERR_EMPTY: it ends before from_ns;
 * -VS_ERR_NO_MEMORY, and what the source says.
 */
VS_MUST_CHECK int vs_heatmap_survey_run(struct vs_heatmap_survey *survey,
					const struct vs_source *source,
					const struct vs_heatmap_request *request);
void vs_heatmap_survey_fini(struct vs_heatmap_survey *survey);

#endif
