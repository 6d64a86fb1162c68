#ifndef VS_SNAPSHOT_LAYOUT_H
#define VS_SNAPSHOT_LAYOUT_H

/* Numbers in a snapshot: docs/trace-format.md, section 9.4. Only snapshot_*.c include this. */

enum vs_snapshot_device_flag {
	VS_SNAPSHOT_DEFINED = 1 << 0,
	VS_SNAPSHOT_SIMULATED = 1 << 1,
};

enum vs_snapshot_pool_flag {
	VS_SNAPSHOT_ENDED = 1 << 0,
	VS_SNAPSHOT_SAMPLED = 1 << 1,
};

/* The shape of an item: its class, whether it is released, its kind. */
#define VS_SNAPSHOT_CLASS_MASK 3u
#define VS_SNAPSHOT_RELEASED   4u
#define VS_SNAPSHOT_KIND_SHIFT 3

#endif
