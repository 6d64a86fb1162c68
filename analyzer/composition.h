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

/*
 * The categories of all blocks that ever were, told one by one as they go, those that stay at the
 * end: for pictures of all of the time. It needs to know what became of all others first, so making
 * it takes a pass; its observer then tells in another one, before that of the replay's end.
 */
struct vs_composition_pass;
typedef int (*vs_composition_fn)(void *data, const struct vs_item *item, enum vs_category category);

/* *pass is NULL if there is no such allocator. names: of the analysis's definitions. */
VS_MUST_CHECK int vs_composition_create_pass(struct vs_composition_pass **pass,
					     const struct vs_analysis *analysis,
					     struct vs_site_names *names, vs_composition_fn tell,
					     void *data);
void vs_composition_destroy_pass(struct vs_composition_pass *pass);

/* For a replay of the same trace, with the adoption of the analysis. */
struct vs_observer *vs_composition_get_observer(struct vs_composition_pass *pass);

#endif
