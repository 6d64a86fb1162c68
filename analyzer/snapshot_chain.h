#ifndef VS_SNAPSHOT_CHAIN_H
#define VS_SNAPSHOT_CHAIN_H

/* The inside of a chain. Only snapshot_*.c include this. */
#include "snapshot.h"
#include "snapshot_rows.h"

/* Numbers at the front of a snapshot, in its order. */
enum vs_snapshot_number {
	VS_SNAPSHOT_NR_RECORDS,
	VS_SNAPSHOT_NR_EVENTS,
	VS_SNAPSHOT_NR_LOST,
	VS_SNAPSHOT_NR_OVERLAPS,
	VS_SNAPSHOT_NR_ORPHAN_BLOCKS,
	VS_SNAPSHOT_NR_UNMATCHED_FREES,
	VS_SNAPSHOT_NR_DRIVER_EVENTS,
	VS_SNAPSHOT_NR_SEEN_BY_CUPTI,
	VS_SNAPSHOT_LAST_ID,
	VS_SNAPSHOT_LAST_RESERVATION_ID,
	VS_SNAPSHOT_FIRST_NS,
	VS_SNAPSHOT_NOW_NS,
	VS_SNAPSHOT_NR_STEPS,
	VS_SNAPSHOT_STEP_NUMBER,
	VS_SNAPSHOT_NR_PHASES,
	VS_SNAPSHOT_NR_NUMBERS
};

struct vs_snapshot_account {
	uint32_t site;
	uint32_t place; /* VS_NR_DOMAINS * number of the device + domain */
	uint32_t api;
};

struct vs_snapshot_chain {
	bool has_begun;
	uint64_t numbers[VS_SNAPSHOT_NR_NUMBERS];
	struct vs_wire state;   /* of the last one, behind its numbers */
	struct vs_wire virtual; /* reservations and mappings, of the last one that has them */
	struct vs_snapshot_account *accounts;
	size_t nr_accounts;
	size_t accounts_capacity;
	struct vs_wire sums; /* of accounts, where there are sums */
	struct vs_snapshot_list items;
};

/* Sums as a chain of one. */
VS_MUST_CHECK int vs_snapshot_chain_add_sums(struct vs_snapshot_chain *chain, const void *bytes,
					     size_t size);

#endif
