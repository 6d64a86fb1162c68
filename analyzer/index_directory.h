#ifndef VS_INDEX_DIRECTORY_H
#define VS_INDEX_DIRECTORY_H

#include "adoption.h"
#include "pack.h"
#include "reader.h"

/*
 * All that an index says of its trace but the snapshots themselves: docs/trace-format.md, section
 * 9.3. Records are numbered from 1 on, in the order in which they are read.
 */

/* Blocks of definitions without others between them. */
struct vs_index_stretch {
	struct vs_reader_block block; /* the first; its end is that of the last */
};

/* Addresses of a module may belong to another one from there on. */
struct vs_index_module_end {
	uint64_t record;
	uint64_t nr_definitions; /* before it */
	uint32_t module;
};

/* A pool places its first block in something. */
struct vs_index_adoption {
	uint64_t record;
	uint64_t key;  /* struct vs_adoption */
	uint32_t pool; /* which of the directory's */
};

struct vs_index_snapshot {
	struct vs_reader_block block; /* it is of the instant before the block's first record */
	uint64_t nr_records;          /* before it */
	uint64_t nr_events;
	uint64_t nr_definitions;
	uint64_t now_ns; /* the latest time before it */
	uint64_t offset; /* of its bytes, in the index file or wherever they are for now */
	uint32_t size;
	uint32_t crc;
	bool is_whole; /* otherwise it is told from the one before it */
};

/* {0} is empty. */
struct vs_index_directory {
	bool is_complete; /* as struct vs_reader_state says after the last record */
	uint64_t nr_lost;
	uint64_t nr_definitions; /* in all */
	/* Of the replay after the last record. */
	uint64_t first_ns;
	uint64_t now_ns;
	uint64_t nr_steps;
	uint64_t nr_phases;

	struct vs_index_stretch *stretches;
	size_t nr_stretches;
	size_t stretches_capacity;
	uint32_t *stack_sites; /* of each STACK record: number of its site */
	size_t nr_stacks;
	size_t stacks_capacity;
	struct vs_index_module_end *module_ends;
	size_t nr_module_ends;
	size_t module_ends_capacity;
	struct vs_pool *pools; /* that adopt; names in bytes that somebody else keeps */
	size_t nr_pools;
	size_t pools_capacity;
	struct vs_index_adoption *adoptions; /* in the order of records */
	size_t nr_adoptions;
	size_t adoptions_capacity;
	struct vs_index_snapshot *snapshots; /* likewise */
	size_t nr_snapshots;
	size_t snapshots_capacity;
	struct vs_pack sums;   /* snapshot.h: of the end */
	struct vs_pack totals; /* totals.h */
};

void vs_index_directory_fini(struct vs_index_directory *directory);

/* Errors stay in the pack. */
void vs_index_directory_put(struct vs_pack *pack, const struct vs_index_directory *directory);

/*
 * From bytes that are kept as long as the directory. Offsets of snapshots begin with `offset`.
 * -VS_ERR_CORRUPT, -VS_ERR_TRUNCATED, -VS_ERR_NO_MEMORY: then it is empty.
 */
VS_MUST_CHECK int vs_index_directory_get(struct vs_index_directory *directory, const uint8_t *bytes,
					 size_t size, uint64_t offset);

#endif
