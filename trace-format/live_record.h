#ifndef VS_LIVE_RECORD_H
#define VS_LIVE_RECORD_H

#include "error.h"
#include "live_format.h"
#include "record.h"

/* One record of the log: docs/trace-format.md, section 6.4; live_events.def. Any thread. */

/* Bytes of an event's body in the log, a multiple of 8; 0 also for what is no event. */
uint32_t vs_live_record_get_body_size(enum vs_record_type type);

/*
 * Reads the record whose head stands at `bytes`, of `size` bytes in all, in the ring of that
 * number. 1 and a record, whose time is 0; 0: a record of a later version; -VS_ERR_CORRUPT. Text
 * points into the bytes, a stack's frames are in *frames.
 */
VS_MUST_CHECK int vs_live_record_get(const uint8_t *bytes, size_t size, uint32_t ring,
				     struct vs_record *record, uint64_t frames[VS_STACK_MAX]);

#endif
