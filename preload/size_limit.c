#include "size_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compose.h"
#include "live_set.h"
#include "message.h"
#include "shorten.h"

/* Snapshots to choose from: more than there are, unless the file cannot be shortened for long. */
#define NR_MARKS 32u

/* A snapshot in the file. */
struct mark {
	uint64_t offset;
	uint64_t nr_events; /* in all blocks before it, of this file */
};

struct vs_size_limit {
	uint64_t max_size;
	struct vs_live_set *alive; /* NULL: given up */
	struct vs_writer_totals totals;
	uint64_t nr_dropped;   /* of those events, taken away */
	uint64_t snapshot_end; /* where the newest one ends in the file */
	uint64_t snapshot_size;
	uint64_t cut_size;   /* the file's, when it was last shortened */
	uint64_t retry_size; /* that could not be done: not again before it is this large */
	bool has_told_failure;
	bool has_told_excess;
	uint32_t nr_marks;
	struct mark marks[NR_MARKS]; /* oldest first */
};

int vs_size_limit_create(struct vs_size_limit **limit, uint64_t max_size)
{
	struct vs_size_limit *new = mmap(NULL, sizeof(*new), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		return -VS_ERR_NO_MEMORY;
	if (vs_live_set_create(&new->alive)) {
		munmap(new, sizeof(*new));
		return -VS_ERR_NO_MEMORY;
	}
	new->max_size = max_size < VS_SIZE_LIMIT_MIN ? VS_SIZE_LIMIT_MIN : max_size;
	*limit = new;
	return 0;
}

void vs_size_limit_add(struct vs_size_limit *limit, const struct vs_record *event)
{
	limit->totals.nr_events++;
	if (event->type == VS_RECORD_LOST)
		limit->totals.nr_lost += event->lost.nr_events;
	if (!limit->alive || !vs_live_set_add(limit->alive, event))
		return;
	vs_live_set_destroy(limit->alive);
	limit->alive = NULL;
	vs_message_post("no memory to know what is alive: the trace grows without limit from here "
			"on",
			NULL);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

static void add_ring(void *context, uint32_t ring, uint64_t end)
{
	vs_writer_add_ring_end(context, ring, end);
}

static void add_event(void *context, const struct vs_record *event)
{
	vs_writer_add_to_snapshot(context, event);
}

static void add_mark(struct vs_size_limit *limit, const struct mark *mark)
{
	if (limit->nr_marks == NR_MARKS) {
		memmove(limit->marks, limit->marks + 1, (NR_MARKS - 1) * sizeof(*mark));
		limit->nr_marks--;
	}
	limit->marks[limit->nr_marks++] = *mark;
}

/* If the disk is full: after the next flush, then. */
static void write_snapshot(struct vs_size_limit *limit, struct vs_writer *writer,
			   const struct vs_merge *merge)
{
	struct mark mark = {
		.offset = vs_writer_get_size(writer),
		.nr_events = limit->totals.nr_events - limit->nr_dropped,
	};

	vs_writer_begin_snapshot(writer, &limit->totals);
	vs_merge_visit_rings(merge, add_ring, writer);
	vs_live_set_visit(limit->alive, add_event, writer);
	if (vs_writer_end_snapshot(writer))
		return;
	limit->snapshot_end = vs_writer_get_size(writer);
	limit->snapshot_size = limit->snapshot_end - mark.offset;
	add_mark(limit, &mark);
}

/* Every quarter of the size; but more than half of what is written shall be events. */
static bool is_time_for_snapshot(const struct vs_size_limit *limit, uint64_t size)
{
	uint64_t since = size - limit->snapshot_end;

	return since >= limit->max_size / 4 && since >= limit->snapshot_size;
}

/* ---- Cutting --------------------------------------------------------------------------------- */

/* What cannot be made small enough is not copied again and again. */
static bool is_too_large(const struct vs_size_limit *limit, uint64_t size)
{
	return limit->nr_marks && size > limit->max_size && size > 2 * limit->cut_size &&
	       size >= limit->retry_size;
}

/* The oldest snapshot behind which there is half of the size at most, or the newest. */
static uint32_t choose_mark(const struct vs_size_limit *limit, uint64_t size)
{
	uint32_t i = 0;

	while (i + 1 < limit->nr_marks && size - limit->marks[i].offset > limit->max_size / 2)
		i++;
	return i;
}

/* The chosen snapshot is at `offset` now, and the first one. */
static void move_marks(struct vs_size_limit *limit, uint32_t chosen, uint64_t offset)
{
	const struct mark first = limit->marks[chosen];

	limit->nr_marks -= chosen;
	memmove(limit->marks, limit->marks + chosen, limit->nr_marks * sizeof(first));
	for (uint32_t i = 0; i < limit->nr_marks; i++) {
		limit->marks[i].offset = limit->marks[i].offset - first.offset + offset;
		limit->marks[i].nr_events -= first.nr_events;
	}
	limit->snapshot_end = limit->snapshot_end - first.offset + offset;
	limit->nr_dropped += first.nr_events;
}

static void tell_excess(struct vs_size_limit *limit, const char *path)
{
	if (limit->has_told_excess || limit->cut_size <= limit->max_size)
		return;
	limit->has_told_excess = true;
	vs_message_post("the trace ", path,
			" cannot be as small as it should: what is alive alone "
			"takes more room",
			NULL);
}

static void tell_failure(struct vs_size_limit *limit, const char *path)
{
	if (limit->has_told_failure)
		return;
	limit->has_told_failure = true;
	vs_message_post("the trace ", path,
			" cannot be shortened, and becomes larger than it should", NULL);
}

static uint64_t cut(struct vs_size_limit *limit, struct vs_writer *writer, const char *path,
		    int *fd)
{
	char new_path[PATH_MAX];
	uint64_t size = vs_writer_get_size(writer);
	uint32_t chosen = choose_mark(limit, size);
	uint64_t nr_events = limit->marks[chosen].nr_events;
	struct vs_shorten_request request = {
		.path = path,
		.new_path = new_path,
		.offset = limit->marks[chosen].offset,
		.end = size,
	};
	struct vs_compose text;
	uint64_t offset;

	vs_compose_init(&text, new_path, sizeof(new_path));
	vs_compose_add(&text, path);
	vs_compose_add(&text, VS_SHORTEN_SUFFIX);
	if (text.is_cut || vs_shorten_trace(&request, fd, &offset)) {
		tell_failure(limit, path);
		limit->retry_size = size + limit->max_size / 4;
		return 0;
	}
	vs_writer_move(writer, *fd, nr_events);
	move_marks(limit, chosen, offset);
	limit->cut_size = vs_writer_get_size(writer);
	limit->retry_size = 0;
	tell_excess(limit, path);
	return nr_events;
}

uint64_t vs_size_limit_keep(struct vs_size_limit *limit, struct vs_writer *writer,
			    const struct vs_merge *merge, const char *path, int *fd)
{
	if (!limit->alive)
		return 0;
	if (is_time_for_snapshot(limit, vs_writer_get_size(writer)))
		write_snapshot(limit, writer, merge);
	if (!is_too_large(limit, vs_writer_get_size(writer)))
		return 0;
	return cut(limit, writer, path, fd);
}
