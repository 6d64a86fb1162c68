#ifndef VS_HEATMAP_GROUPS_H
#define VS_HEATMAP_GROUPS_H

/*
 * What the colours of a heatmap tell apart: how old live bytes are, which site asked for them, what
 * they are for, or in which phase they were asked for. docs/analyses.md, "Heatmap".
 */
#include "analysis.h"
#include "composition.h"
#include "heatmap.h"
#include "lifetimes.h"
#include "site_names.h"

enum vs_heatmap_by {
	VS_HEATMAP_BY_AGE,
	VS_HEATMAP_BY_SITE,
	VS_HEATMAP_BY_CATEGORY,
	VS_HEATMAP_BY_PHASE,
};

struct vs_heatmap_groups {
	struct vs_observer observer; /* first */
	enum vs_heatmap_by by;
	const struct vs_analysis *analysis;
	struct vs_site_names *names;
	const struct vs_replay_device *device; /* of the analysis: whose peak counts */
	/* Age: from which one on each group but the first is. */
	uint64_t bounds[VS_HEATMAP_GROUPS];
	/* Site, phase: what each group but the last stands for. */
	uint32_t sites[VS_HEATMAP_GROUPS];
	const char *phases[VS_HEATMAP_GROUPS]; /* of the replay; owned by `phase_names` */
	char *phase_names[VS_HEATMAP_GROUPS];
	size_t nr_groups;
	struct vs_id_map of_items; /* category, phase: group + 1 of items that are alive */
	struct vs_composition_pass *categories;
	uint32_t thread; /* of the record that is being applied */
};

/*
 * Where needed takes a pass over the trace. The analysis and the names outlive it. -VS_ERR_EMPTY:
 * there are no categories, because there is no PyTorch.
 */
VS_MUST_CHECK int vs_heatmap_groups_init(struct vs_heatmap_groups *groups, enum vs_heatmap_by by,
					 const struct vs_analysis *analysis,
					 struct vs_site_names *names,
					 const struct vs_replay_device *device);
void vs_heatmap_groups_fini(struct vs_heatmap_groups *groups);

/* Gives the heatmap, whose window is known, its groups. */
VS_MUST_CHECK int vs_heatmap_groups_name(struct vs_heatmap_groups *groups,
					 struct vs_heatmap *heatmap);

/* Before the lifetimes join the replay: they ask it for groups. */
void vs_heatmap_groups_join(struct vs_heatmap_groups *groups, struct vs_replay *replay,
			    struct vs_lifetimes *lifetimes);

/* A lifetime that has its group; by age, it becomes one of each age. */
void vs_heatmap_groups_add_lifetime(const struct vs_heatmap_groups *groups,
				    struct vs_heatmap *heatmap, const struct vs_lifetime *lifetime);

#endif
