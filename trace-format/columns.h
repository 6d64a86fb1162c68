#ifndef VS_COLUMNS_H
#define VS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_texture.h"
#include "error.h"
#include "record.h"

/*
 * Events of a block as columns, each predicted from what came before in the same block:
 * docs/trace-format.md, section 3.5. A block needs no other block to be read. The encoder runs
 * inside other people's programs: memory by mmap, once; no call that may block or fail after that.
 */

/* So many events at most in a block. */
#define VS_COLUMNS_MAX 65536u

/* ---- Encoder: one thread ------------------------------------------------------------------- */

struct vs_columns;

/*
 * time_unit_ns: times are kept in multiples of it (1000: a microsecond), rounded down.
 * -VS_ERR_NO_MEMORY, -VS_ERR_INVALID (a unit of 0).
 */
VS_MUST_CHECK int vs_columns_create(struct vs_columns **columns, uint32_t time_unit_ns);
void vs_columns_destroy(struct vs_columns *columns);

/* Events (never a definition): so many that vs_columns_get_nr() is at most VS_COLUMNS_MAX. */
void vs_columns_add_some(struct vs_columns *columns, const struct vs_record *events, uint32_t nr);

/* The same for one. Not when vs_columns_is_full(). */
static inline void vs_columns_add(struct vs_columns *columns, const struct vs_record *event)
{
	vs_columns_add_some(columns, event, 1);
}

uint32_t vs_columns_get_nr(const struct vs_columns *columns);
bool vs_columns_is_full(const struct vs_columns *columns);

/* No result of vs_columns_finish is larger. */
size_t vs_columns_bound(void);

/*
 * Writes all events added since the last time, and forgets them. Returns the bytes, 0 if there were
 * no events. `out` has room for vs_columns_bound(), which may be used on the way.
 */
size_t vs_columns_finish(struct vs_columns *columns, uint8_t *out);

/* What the bytes that it wrote last are like, one part behind the other. Until the next finish. */
const struct vs_byte_texture_part *vs_columns_get_parts(const struct vs_columns *columns,
							uint32_t *nr);

/* There are never more. */
#define VS_COLUMNS_NR_PARTS 32u

/*
 * The same in two steps, the second of which may be another thread's: what all events added since
 * the last time have become, and the bytes of that. exchange() goes on with `other`, which is new
 * or was put: afterwards what was in there is gone.
 */
struct vs_columns_bytes;

VS_MUST_CHECK int vs_columns_bytes_create(struct vs_columns_bytes **content);
void vs_columns_bytes_destroy(struct vs_columns_bytes *content);
struct vs_columns_bytes *vs_columns_exchange(struct vs_columns *columns,
					     struct vs_columns_bytes *other);

/* As vs_columns_finish() and vs_columns_get_parts(). */
size_t vs_columns_bytes_put(struct vs_columns_bytes *content, uint8_t *out);
const struct vs_byte_texture_part *vs_columns_bytes_get_parts(
	const struct vs_columns_bytes *content, uint32_t *nr);

/* ---- Decoder: one thread ------------------------------------------------------------------- */

struct vs_columns_reader;

VS_MUST_CHECK int vs_columns_reader_create(struct vs_columns_reader **reader);
void vs_columns_reader_destroy(struct vs_columns_reader *reader);

/*
 * A block's columns; bytes must stay until the last event is read. -VS_ERR_CORRUPT: this cannot be
 * nr events' columns.
 */
VS_MUST_CHECK int vs_columns_reader_begin(struct vs_columns_reader *reader, const uint8_t *bytes,
					  size_t size, uint32_t nr);

/*
 * The next events, at least 1 and at most so many: how many they are. 0 after the last one, or
 * -VS_ERR_CORRUPT in place of the first that cannot be read. Whatever the bytes are.
 */
VS_MUST_CHECK int vs_columns_reader_next_some(struct vs_columns_reader *reader,
					      struct vs_record *events, uint32_t most);

/* The same for one: 1 and an event. */
VS_MUST_CHECK static inline int vs_columns_reader_next(struct vs_columns_reader *reader,
						       struct vs_record *event)
{
	return vs_columns_reader_next_some(reader, event, 1);
}

/* A bit for each type that events of the block have had so far; the last: for all from there on. */
uint64_t vs_columns_reader_get_types(const struct vs_columns_reader *reader);

/* The same for those that are still to come, without reading them: from the sites that are told. */
uint64_t vs_columns_reader_foretell_types(const struct vs_columns_reader *reader);

#endif
