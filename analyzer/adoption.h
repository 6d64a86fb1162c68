#ifndef VS_ADOPTION_H
#define VS_ADOPTION_H

#include "id_map.h"

/*
 * Which items and reservations have blocks placed in them, ever: filled by a first pass of a
 * replay, used by the later ones, so that a segment belongs to a pool from birth.
 */
struct vs_adoption {
	struct vs_id_map
		pools; /* item id, or reservation id | VS_ADOPTION_RESERVATION -> pool id + 1 */
};
#define VS_ADOPTION_RESERVATION (1ull << 63)

void vs_adoption_fini(struct vs_adoption *adoption);

#endif
