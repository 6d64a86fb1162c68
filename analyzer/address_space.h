#ifndef VS_ADDRESS_SPACE_H
#define VS_ADDRESS_SPACE_H

/*
 * The address space of a device at an instant as a list of pieces, for a picture: blocks with their
 * groups, holes, and which blocks keep holes apart. docs/analyses.md, "Heatmap". Copies everything.
 */
#include "composition.h"
#include "device_state.h"
#include "heatmap_part.h"
#include "site_names.h"

#define VS_SPACE_GROUPS 11u /* the last: all others */

enum vs_space_type {
	VS_SPACE_LIVE,
	VS_SPACE_HOLE,
	VS_SPACE_RELEASABLE, /* all of its segment is free */
};

struct vs_space_piece {
	enum vs_space_type type;
	uint64_t offset; /* in the folded space: segments stand on each other */
	uint64_t size;
	uint32_t group;  /* of a live one */
	bool is_pinning; /* a live one next to a hole */
	bool begins_segment;
};

struct vs_space {
	struct vs_space_piece *pieces; /* by address */
	size_t nr_pieces;
	size_t pieces_capacity;
	uint64_t total_bytes; /* of all segments */
	uint64_t live_bytes;  /* of the device, with or without an address; of a part: with one */
	uint64_t reserved_bytes;
	uint64_t hole_bytes;
	uint64_t largest_hole; /* of the pool with most bytes in holes */
	uint64_t nr_segments;
	uint64_t nr_pinning;
	uint64_t time_ns;
	uint64_t requested; /* that failed there; 0: none did */
	uint32_t device;
	char *device_name; /* NULL: not known */
	uint64_t capacity;
	char *program;
	char *part; /* NULL: all of the device */
	char *group_names[VS_SPACE_GROUPS];
	size_t nr_groups;
};

/*
 * part: only this; where it holds nothing then, nr_segments is 0. composition: of the same instant,
 * for groups by category; NULL: by site. names: of the analysis. On failure there is nothing to
 * undo.
 */
VS_MUST_CHECK int vs_address_space_init(struct vs_space *space, const struct vs_device_state *state,
					const struct vs_heatmap_part *part,
					struct vs_site_names *names,
					const struct vs_composition *composition);
void vs_address_space_fini(struct vs_space *space);

#endif
