#ifndef VS_COMPOSITION_H
#define VS_COMPOSITION_H

#include "analysis.h"
#include "category.h"
#include "site_names.h"

/*
 * What the live memory of a device consists of at an instant, block by block: docs/analyses.md,
 * "Categories". Only blocks of PyTorch's allocator have a category. Takes a pass over the trace,
 * for what becomes of a block later says what it is.
 */
struct vs_composition_block {
	uint64_t id; /* of the item; in order */
	uint64_t address;
	uint64_t size;
	const struct vs_site *site; /* of the analysis */
	uint32_t api;
	struct vs_category_life life;
	bool is_gone; /* later in the trace */
	enum vs_category category;
};

struct vs_composition {
	bool is_known; /* there is such an allocator */
	uint64_t bytes[VS_NR_CATEGORIES];
	uint64_t count[VS_NR_CATEGORIES];
	struct vs_composition_block *blocks; /* in order of their birth */
	size_t nr_blocks;
	size_t blocks_capacity;
};

/* device and instant: of the analysis; names: of its definitions. */
VS_MUST_CHECK int vs_composition_init(struct vs_composition *composition,
				      const struct vs_analysis *analysis,
				      struct vs_site_names *names,
				      const struct vs_replay_device *device,
				      const struct vs_instant *at);
void vs_composition_fini(struct vs_composition *composition);

/* What the frames of a site say; traits: {0}. */
VS_MUST_CHECK int vs_composition_read_site(struct vs_site_names *names, const struct vs_site *site,
					   struct vs_category_traits *traits);

#endif
