#ifndef VS_SNAPSHOT_ROWS_H
#define VS_SNAPSHOT_ROWS_H

/* What is alive, item by item, as a snapshot has it. Only snapshot_*.c include this. */
#include "pack.h"
#include "replay.h"

/* Deeper than any replay lets blocks stand in each other. */
#define VS_SNAPSHOT_MAX_DEPTH 32

/* The parts of a list of rows, in this order. docs/trace-format.md, section 9.4. */
enum vs_snapshot_part {
	VS_SNAPSHOT_HANDLES,
	VS_SNAPSHOT_ARRAYS,
	VS_SNAPSHOT_REGIONS, /* behind each what is in it */
	VS_SNAPSHOT_FREED,   /* behind each what was in it, the highest first */
	VS_SNAPSHOT_NR_PARTS
};

/* An item. What is in it comes behind it, one deeper. Nothing between the fields: compared whole.
 */
struct vs_snapshot_row {
	uint64_t id;
	uint64_t base;
	uint64_t size;
	uint64_t slack_size;
	uint64_t run;
	uint64_t birth_ns;
	uint64_t birth_step;
	uint32_t account;
	uint32_t pool; /* 1 + its number, 0: none; and the owner */
	uint32_t owner;
	uint32_t api;
	uint32_t context;
	uint16_t shape; /* snapshot_layout.h */
	uint8_t part;   /* enum vs_snapshot_part */
	uint8_t depth;
};

/* In order. {0} is empty. */
struct vs_snapshot_rows {
	struct vs_snapshot_row *rows;
	const struct vs_item **items; /* what each row is of; may be gone by now */
	size_t nr;
	size_t capacity;
	size_t items_capacity;
};

void vs_snapshot_rows_fini(struct vs_snapshot_rows *rows);

/* What numbers of a snapshot are told from: those of the one before it, or 0. */
struct vs_snapshot_origin {
	uint64_t last_id;
	uint64_t now_ns;
	uint64_t nr_steps;
};

/* Where the row behind another one is expected to begin. */
static inline uint64_t vs_snapshot_rows_get_end(const struct vs_snapshot_row *row, uint8_t depth)
{
	return depth > row->depth ? row->base : row->base + (row->size ? row->size : 1);
}

/*
 * All that is alive, and what threads have freed last (`threads`, by id), instead of what was
 * there. last: of the same replay, earlier; or empty. handles: id -> 1 + its place among the
 * handles; the caller's. 0 or -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_snapshot_rows_gather(struct vs_snapshot_rows *rows,
					  const struct vs_snapshot_rows *last,
					  const struct vs_replay *replay,
					  const struct vs_replay_thread *const *threads,
					  size_t nr_threads, struct vs_id_map *handles);

/*
 * How to make one list of another: docs/trace-format.md, section 9.4. Errors stay in the pack.
 * Returns how many rows it tells of.
 */
size_t vs_snapshot_change_put(struct vs_pack *pack, const struct vs_snapshot_rows *from,
			      const struct vs_snapshot_rows *to,
			      const struct vs_snapshot_origin *origin);

/*
 * A list that is changed again and again: rows stay where they are, `order` says which there are.
 * Those that are put in stand behind all others, side by side, because each is looked at many times
 * while it is filled in; what is left out stays as well, until there is a whole list again. {0} is
 * empty.
 */
struct vs_snapshot_list {
	struct vs_snapshot_row *rows; /* some of no use */
	size_t nr_rows;
	size_t rows_capacity;
	uint32_t *order; /* which rows, in order */
	size_t nr;
	size_t order_capacity;
	uint32_t *last_order; /* room */
	size_t last_capacity;
};

void vs_snapshot_list_fini(struct vs_snapshot_list *list);

/* Makes the list what it was changed to. Bytes of any content are safe; errors stay in the wire.
 * Numbers that are to be in a replay have not been looked at yet. */
void vs_snapshot_list_change(struct vs_snapshot_list *list, struct vs_wire *in,
			     const struct vs_snapshot_origin *origin);

#endif
