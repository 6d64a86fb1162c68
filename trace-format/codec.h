#ifndef VS_CODEC_H
#define VS_CODEC_H

#include "error.h"
#include "record.h"
#include "wire.h"

/*
 * One record as a row of bytes, and back: docs/trace-format.md, section 5. Definitions are rows in
 * DEFINITIONS blocks and in the log; events are columns in the trace and raw in the log, and rows
 * nowhere, but may be written as such. Stateless. Any thread.
 */

/*
 * No record is longer than this. Text is cut to VS_CODEC_TEXT_MAX bytes (the name of Python code to
 * VS_CODEC_SHORT_TEXT_MAX), a stack to VS_STACK_MAX frames (and then says so), a build-id to
 * VS_BUILD_ID_MAX bytes.
 */
#define VS_CODEC_MAX            8192
#define VS_CODEC_TEXT_MAX       4096
#define VS_CODEC_SHORT_TEXT_MAX 1024

/* Writes at most VS_CODEC_MAX bytes; returns how many. Never fails. */
size_t vs_codec_put_record(uint8_t out[VS_CODEC_MAX], const struct vs_record *record);

/*
 * The frame around a body of body_size bytes (at most VS_CODEC_MAX - 3) that stands at out + 2:
 * type and size, for which it may move by a byte. Returns the bytes of the whole.
 */
size_t vs_codec_put_frame(uint8_t *out, uint8_t type, size_t body_size);

/* The bytes that the record at `bytes` takes, or -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT. */
int vs_codec_get_size(const uint8_t *bytes, size_t size);

/* The same, and the bytes of its body; its type is bytes[0]. */
int vs_codec_get_body(const uint8_t *bytes, size_t size, struct vs_wire *body);

/*
 * Reads one record from size bytes. Returns the bytes it took, or -VS_ERR_TRUNCATED,
 * -VS_ERR_CORRUPT. Text points into the bytes; frames are stored in *frames (VS_STACK_MAX of them).
 * A record of an unknown type is skipped by its length: type is set, nothing else.
 */
int vs_codec_get_record(const uint8_t *bytes, size_t size, struct vs_record *record,
			uint64_t frames[VS_STACK_MAX]);

#endif
