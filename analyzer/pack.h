#ifndef VS_PACK_H
#define VS_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "wire.h"

/*
 * Bytes that grow as numbers are put behind them, and what is needed to take them apart again
 * besides wire.h. What goes wrong stays in `error`, and nothing is put any more. {0} is empty.
 */
struct vs_pack {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	int error; /* 0 or -VS_ERR_NO_MEMORY */
};

void vs_pack_fini(struct vs_pack *pack);

void vs_pack_put_varint(struct vs_pack *pack, uint64_t value);
void vs_pack_put_bytes(struct vs_pack *pack, const void *bytes, size_t size);

/* With its end, so that it can be used where it stands. NULL is not the same as "". */
void vs_pack_put_text(struct vs_pack *pack, const char *text);

/* In the bytes of the wire; NULL if there is none, or with an error in the wire. */
const char *vs_pack_get_text(struct vs_wire *wire);

/* A number of things that follow, each at least one byte long. */
size_t vs_pack_get_count(struct vs_wire *wire);

/* As a zlib stream, behind what is in `out`; how many bytes that takes is in *size. */
VS_MUST_CHECK int vs_pack_deflate(struct vs_pack *out, const void *bytes, size_t bytes_size,
				  size_t *size);

/*
 * The other way: raw_size bytes, the caller's to free. -VS_ERR_CORRUPT if there are more or less;
 * also if so few bytes cannot be so many, before any memory is taken.
 */
VS_MUST_CHECK int vs_pack_inflate(uint8_t **raw, size_t raw_size, const void *bytes, size_t size);

#endif
