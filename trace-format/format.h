#ifndef VS_FORMAT_H
#define VS_FORMAT_H

/*
 * Constants of the trace format, version 1: docs/trace-format.md. The only header that writer and
 * reader share besides error.h and wire.h.
 */
#include <stdint.h>

#define VS_FORMAT_MAGIC       "VSCOPE\r\n" /* 8 bytes; a transfer as text breaks it visibly */
#define VS_FORMAT_VERSION     1
#define VS_FORMAT_HEADER_SIZE 16

#define VS_FORMAT_BLOCK_MAGIC       0x4b4c4256u /* "VBLK" */
#define VS_FORMAT_BLOCK_HEADER_SIZE 48

/* Kind of a block. A reader skips kinds it does not know. */
enum vs_block_kind {
	VS_BLOCK_INFO = 1, /* key/value pairs: what ran, where, when */
	/* 2 was RECORDS of version 0 */
	VS_BLOCK_END = 3,         /* the program ended in order: totals */
	VS_BLOCK_DEFINITIONS = 4, /* names, stacks, modules, ... that later events refer to */
	VS_BLOCK_EVENTS = 5,      /* events as columns, in order */
	VS_BLOCK_SNAPSHOT = 6, /* what was alive at an instant: stands for all events before it */
};

enum vs_block_flag {
	VS_BLOCK_ZLIB = 1 << 0, /* payload is a zlib stream */
};

/* Neither the stored nor the raw payload of a block is larger. Writers stay far below. */
#define VS_FORMAT_PAYLOAD_MAX (1u << 24)

/* How a trace came to its end: the END block. */
enum vs_end {
	VS_END_IN_ORDER, /* the program ended, and the recorder with it */
	VS_END_FOLDED,   /* the program was killed; its log was folded into the trace afterwards */
};
#define VS_FORMAT_END_SIZE 20

/*
 * Type of a row in a DEFINITIONS block that is no record: nodes of the tree of stacks. A STACK row
 * there names a node instead of its frames.
 */
#define VS_FORMAT_NODES 7

/* Flags of a STACK row, there and in the log. */
enum vs_stack_flag {
	VS_STACK_CUT = 1 << 0, /* struct vs_stack has them by the same names */
	VS_STACK_DEEP = 1 << 1,
};

/* Kind of memory. */
enum vs_memory_kind {
#define VS_MEMORY_KIND(name, text) VS_MEMORY_##name,
#include "memory_kind.def"
#undef VS_MEMORY_KIND
	VS_NR_MEMORY_KINDS
};

/* First byte of a record. Appended to, never renumbered. */
enum vs_record_type {
#define VS_RECORD(number, NAME, name) VS_RECORD_##NAME = number,
#include "record.def"
#undef VS_RECORD
};

/* Name of the recorder's own thread, which tells what NVML says: none of the program's. */
#define VS_FORMAT_OWN_THREAD "vramscope-nvml"

/* Types from here on are events, those below are definitions. */
#define VS_RECORD_FIRST_EVENT 16

#endif
