#include "live_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "block_file.h"
#include "live_format.h"
#include "wire.h"

/* The records of one chunk. */
struct chunk {
	uint32_t ring;
	uint32_t number;
	uint64_t first; /* sequence of the first record */
	uint8_t *bytes;
	uint32_t size;
};

/* A ring: its chunks, and its next record. */
struct cursor {
	uint32_t ring;
	size_t chunk; /* the one that the next record is in; end: none is left */
	size_t end;
	uint32_t offset;
	uint64_t position; /* sequence of the record at offset */
	uint64_t expected; /* sequence of the next one to be given */
	uint64_t ticks;    /* of the next one */
	uint32_t size;
};

struct vs_live_snapshot {
	struct chunk *chunks; /* by ring and sequence */
	size_t nr_chunks;
	struct cursor *cursors; /* a heap of those that have a record; the earliest first */
	size_t nr_cursors;
	uint64_t newest; /* ticks; what is later was not there when we began */
	bool is_damaged; /* since the last record */
};

/* ---- Records in a chunk ---------------------------------------------------------------------- */

/* Bytes of the record at an offset, or 0 if there is none: then nothing behind can be read. */
static uint32_t get_size(const struct chunk *chunk, uint32_t offset, uint64_t *ticks)
{
	struct vs_live_record head;

	if (chunk->size - offset < sizeof(head))
		return 0;
	memcpy(&head, chunk->bytes + offset, sizeof(head));
	if (head.size < sizeof(head) || head.size % 8 || head.size > chunk->size - offset)
		return 0;
	*ticks = head.ticks;
	return head.size;
}

/* ---- Copying --------------------------------------------------------------------------------- */

static int read_head(int fd, uint64_t offset, struct vs_live_chunk *head)
{
	int64_t size = vs_block_file_read(fd, head, sizeof(*head), offset);

	if (size < 0)
		return (int)size;
	return size < (int64_t)sizeof(*head) ? -VS_ERR_IO : 0;
}

static bool is_same_chunk(const struct vs_live_chunk *a, const struct vs_live_chunk *b)
{
	return a->ring == b->ring && a->number == b->number && a->first == b->first;
}

/*
 * 1 and a chunk's records, 0 if there are none. In this order: what lies below `end` stays as it is
 * for as long as the chunk is the ring's. If it is not any more, its records are in the trace, and
 * somebody else's may be in the copy.
 */
static int copy_chunk(int fd, const struct vs_live_layout *layout, uint32_t index,
		      struct chunk *chunk)
{
	uint64_t offset = layout->chunks_offset + (uint64_t)index * layout->chunk_size;
	struct vs_live_chunk head, again;
	int64_t done;
	int err;

	err = read_head(fd, offset, &head);
	if (err)
		return err;
	if (!head.ring || head.end <= VS_LIVE_CHUNK_HEAD)
		return 0;
	if (head.end > layout->chunk_size)
		head.end = layout->chunk_size; /* no log says that; what is there can be read */
	chunk->size = head.end - VS_LIVE_CHUNK_HEAD;
	chunk->bytes = malloc(chunk->size);
	if (!chunk->bytes)
		return -VS_ERR_NO_MEMORY;
	done = vs_block_file_read(fd, chunk->bytes, chunk->size, offset + VS_LIVE_CHUNK_HEAD);
	err = done < (int64_t)chunk->size ? -VS_ERR_IO : read_head(fd, offset, &again);
	if (err || !is_same_chunk(&head, &again)) {
		free(chunk->bytes);
		return err;
	}
	chunk->ring = head.ring;
	chunk->number = head.number;
	chunk->first = head.first;
	return 1;
}

static int copy_chunks(struct vs_live_snapshot *snapshot, int fd,
		       const struct vs_live_layout *layout)
{
	size_t capacity = 0;

	for (uint32_t i = 0; i < layout->nr_chunks; i++) {
		struct chunk chunk = {0};
		int ret = copy_chunk(fd, layout, i, &chunk);

		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		if (snapshot->nr_chunks == capacity) {
			size_t larger = capacity ? 2 * capacity : 64;
			struct chunk *chunks =
				realloc(snapshot->chunks, larger * sizeof(chunks[0]));

			if (!chunks) {
				free(chunk.bytes);
				return -VS_ERR_NO_MEMORY;
			}
			snapshot->chunks = chunks;
			capacity = larger;
		}
		snapshot->chunks[snapshot->nr_chunks++] = chunk;
	}
	return 0;
}

static int compare_chunks(const void *a, const void *b)
{
	const struct chunk *first = a, *second = b;

	if (first->ring != second->ring)
		return first->ring < second->ring ? -1 : 1;
	if (first->first != second->first)
		return first->first < second->first ? -1 : 1;
	return first->number < second->number ? -1 : first->number > second->number;
}

int vs_live_snapshot_find_newest(int fd, const struct vs_live_layout *layout, uint64_t *ticks)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < layout->nr_chunks; i++) {
		uint32_t offset = 0, size;
		struct chunk chunk = {0};
		uint64_t found;
		int ret = copy_chunk(fd, layout, i, &chunk);

		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		while ((size = get_size(&chunk, offset, &found)) != 0) {
			newest = found > newest ? found : newest;
			offset += size;
		}
		free(chunk.bytes);
	}
	*ticks = newest;
	return 0;
}

int vs_live_snapshot_create(struct vs_live_snapshot **snapshot, int fd,
			    const struct vs_live_layout *layout, uint64_t newest)
{
	struct vs_live_snapshot *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -VS_ERR_NO_MEMORY;
	new->newest = newest;
	err = copy_chunks(new, fd, layout);
	if (err) {
		vs_live_snapshot_destroy(new);
		return err;
	}
	if (new->nr_chunks)
		qsort(new->chunks, new->nr_chunks, sizeof(new->chunks[0]), compare_chunks);
	*snapshot = new;
	return 0;
}

void vs_live_snapshot_destroy(struct vs_live_snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->nr_chunks; i++)
		free(snapshot->chunks[i].bytes);
	free(snapshot->chunks);
	free(snapshot->cursors);
	free(snapshot);
}

/* ---- The order ------------------------------------------------------------------------------- */

static bool is_before(const struct cursor *a, const struct cursor *b)
{
	return a->ticks != b->ticks ? a->ticks < b->ticks : a->ring < b->ring;
}

static void sift_down(struct vs_live_snapshot *snapshot, size_t at)
{
	struct cursor moving = snapshot->cursors[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= snapshot->nr_cursors)
			break;
		if (child + 1 < snapshot->nr_cursors &&
		    is_before(&snapshot->cursors[child + 1], &snapshot->cursors[child]))
			child++;
		if (!is_before(&snapshot->cursors[child], &moving))
			break;
		snapshot->cursors[at] = snapshot->cursors[child];
		at = child;
	}
	snapshot->cursors[at] = moving;
}

static void enter_chunk(const struct vs_live_snapshot *snapshot, struct cursor *cursor,
			size_t chunk)
{
	cursor->chunk = chunk;
	cursor->offset = 0;
	if (chunk < cursor->end)
		cursor->position = snapshot->chunks[chunk].first;
}

/* Moves to the record that is to be given next. False: the ring has no more. */
static bool find_record(struct vs_live_snapshot *snapshot, struct cursor *cursor)
{
	while (cursor->chunk < cursor->end) {
		const struct chunk *chunk = &snapshot->chunks[cursor->chunk];

		if (cursor->offset == chunk->size) {
			enter_chunk(snapshot, cursor, cursor->chunk + 1);
			continue;
		}
		cursor->size = get_size(chunk, cursor->offset, &cursor->ticks);
		if (!cursor->size) {
			snapshot->is_damaged = true;
			enter_chunk(snapshot, cursor, cursor->chunk + 1);
			continue;
		}
		if (cursor->ticks > snapshot->newest)
			return false;
		if (cursor->position >= cursor->expected) {
			snapshot->is_damaged |= cursor->position > cursor->expected;
			return true;
		}
		cursor->offset += cursor->size;
		cursor->position++;
	}
	return false;
}

int vs_live_snapshot_begin(struct vs_live_snapshot *snapshot, const struct vs_ring_ends *ends)
{
	size_t begin = 0, end;

	free(snapshot->cursors);
	snapshot->cursors = calloc(snapshot->nr_chunks + 1, sizeof(snapshot->cursors[0]));
	snapshot->nr_cursors = 0;
	snapshot->is_damaged = false;
	if (!snapshot->cursors)
		return -VS_ERR_NO_MEMORY;
	for (; begin < snapshot->nr_chunks; begin = end) {
		struct cursor cursor = {.ring = snapshot->chunks[begin].ring};

		for (end = begin;
		     end < snapshot->nr_chunks && snapshot->chunks[end].ring == cursor.ring;)
			end++;
		cursor.end = end;
		cursor.expected = vs_ring_ends_get(ends, cursor.ring);
		enter_chunk(snapshot, &cursor, begin);
		if (find_record(snapshot, &cursor))
			snapshot->cursors[snapshot->nr_cursors++] = cursor;
	}
	for (size_t i = snapshot->nr_cursors / 2; i > 0; i--)
		sift_down(snapshot, i - 1);
	return 0;
}

int vs_live_snapshot_next(struct vs_live_snapshot *snapshot, struct vs_live_item *item)
{
	struct cursor *cursor = snapshot->cursors;

	if (snapshot->is_damaged) {
		snapshot->is_damaged = false;
		return -VS_ERR_CORRUPT;
	}
	if (!snapshot->nr_cursors)
		return 0;
	*item = (struct vs_live_item){
		.ring = cursor->ring,
		.size = cursor->size,
		.sequence = cursor->position,
		.ticks = cursor->ticks,
		.bytes = snapshot->chunks[cursor->chunk].bytes + cursor->offset,
	};
	cursor->offset += cursor->size;
	cursor->position++;
	cursor->expected = cursor->position;
	if (!find_record(snapshot, cursor))
		*cursor = snapshot->cursors[--snapshot->nr_cursors];
	if (snapshot->nr_cursors)
		sift_down(snapshot, 0);
	return 1;
}
