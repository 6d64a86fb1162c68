#ifndef VS_ADOPTION_H
#define VS_ADOPTION_H

#include "error.h"
#include "id_map.h"
#include "record.h"

/*
 * Which items and reservations have blocks placed in them, ever, and by which pool: filled by a
 * first pass of a replay, used by the later ones, so that a segment belongs to a pool from birth.
 * The pool may be described later than that, so its definition is kept as well.
 */
struct vs_adoption {
	struct vs_id_map adopters; /* item id, or reservation id | VS_ADOPTION_RESERVATION ->
				      struct vs_pool, one of `pools` */
	struct vs_id_map pools;    /* id -> struct vs_pool; owned */
	uint64_t *keys;            /* of the adopters, in the order in which they came */
	size_t nr_keys;
	size_t keys_capacity;
};
#define VS_ADOPTION_RESERVATION (1ull << 63)

/* The first pool that is said to have adopted something keeps it. `pool` is copied. */
VS_MUST_CHECK int vs_adoption_add(struct vs_adoption *adoption, uint64_t key,
				  const struct vs_pool *pool);

/* NULL: nobody. */
const struct vs_pool *vs_adoption_get(const struct vs_adoption *adoption, uint64_t key);

void vs_adoption_fini(struct vs_adoption *adoption);

#endif
