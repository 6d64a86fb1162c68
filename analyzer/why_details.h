#ifndef VS_WHY_DETAILS_H
#define VS_WHY_DETAILS_H

#include "measure_pinning.h"
#include "remedy.h"

/*
 * What stands behind a verdict, for text and JSON alike: who it is about, what would have to go,
 * what would help, and why it is not another verdict.
 */
struct vs_why_details {
	const struct vs_device_state *state;
	bool has_pinning; /* FRAGMENTATION */
	struct vs_measure_pinning pinning;
	size_t nr_emptied; /* segments to be emptied, if that is the cheaper way; 0: it is not */
	uint64_t emptied_bytes;
	uint64_t emptied_size;
	struct vs_address_neighbour *pins; /* who has the blocks of the cheapest set */
	size_t nr_pins;
	struct vs_address_neighbour *neighbours; /* blocks beside holes */
	size_t nr_neighbours;
	uint64_t nr_beside; /* all of them together */
	uint64_t beside_bytes;
	const struct vs_account *account; /* that it is about, of the analysis; NULL: nobody */
	char site[512];  /* `file:line function` of that, RETENTION with callers; "": nobody */
	char place[256]; /* the same in the program's own code alone */
	struct vs_remedy remedies[VS_REMEDIES_MAX];
	size_t nr_remedies;
	char runner_up[256]; /* why it lost; "": there is none */
};

/* state: judged, and outlives the details. */
VS_MUST_CHECK int vs_why_details_init(struct vs_why_details *details, struct vs_story *story,
				      const struct vs_device_state *state);
void vs_why_details_fini(struct vs_why_details *details);

#endif
