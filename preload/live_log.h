#ifndef VS_LIVE_LOG_H
#define VS_LIVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "live_format.h"

/*
 * The file TRACE.live from the recorder's side: makes and maps it, and hands out its slots and
 * chunks. live_format.h has the layout, ring.h what threads write there, merge.h how it is read.
 *
 * Only pages that are allocated in the file are ever touched: a full disk must not become a SIGBUS.
 * The mapping is as large as the file may become, the file grows by vs_live_log_grow().
 */
struct vs_live_log {
	struct vs_live_header *header;
	struct vs_live_slot *slots;
	unsigned char *chunks;
	size_t map_size;
	uint32_t max_chunks; /* that fit into the mapping */
	/* The thread that makes it larger, 0 for none. One that jumps away meanwhile stays it. */
	_Atomic uintptr_t grower;
	_Atomic uint64_t failed_ns; /* when it last could not grow; 0: it could */
	_Atomic uint32_t nr_closed; /* slots and chunks of threads that have ended */
	/* Pages that were written together come with one fault: so new ones are written, else they
	 * are faulted in. Set before anybody else knows of the log. */
	bool is_written;
	uint32_t nr_first; /* chunks at the start: only the first of them were written then */
	/* Chunks whose pages the process has, where they are faulted in. UINT32_MAX: the kernel
	 * cannot do that, and nobody is to ask again. The drain's. */
	_Atomic uint32_t nr_populated;
};

/* What a new log says about itself. */
struct vs_live_log_facts {
	const char *trace_path; /* absolute */
	uint64_t first_size;    /* bytes of chunks at the start; fewer if there is no room */
	uint64_t max_size;      /* and how many it may become */
	uint8_t identity[VS_LIVE_ID_SIZE];
	uint64_t start_ticks;
	uint64_t pid_namespace;
	enum vs_live_clock clock;
	struct vs_live_anchor start; /* time 0 */
	struct vs_live_anchor now;
};

/*
 * Makes the file at `path` (replacing one that a dead process left there), and maps it.
 * -VS_ERR_INVALID: the file system cannot promise pages, nothing was made. -VS_ERR_IO: see errno.
 */
VS_MUST_CHECK int vs_live_log_create(struct vs_live_log *log, const char *path,
				     const struct vs_live_log_facts *facts);

/*
 * Adds chunks, at most as many as there are, to a log whose file is at `path`. Any thread; one at a
 * time does it, others get an answer when it is done, or after a moment. True: there are more, or
 * there were some after all, for whoever is the first to take them. False: it is as large as it may
 * be, or has half of the disk's room (the trace needs the other half), or the disk is full. Then
 * that is not tried again for a second.
 */
bool vs_live_log_grow(struct vs_live_log *log, const char *path);

/*
 * Has the kernel give the process pages of chunks that will be used next: a page that a thread
 * touches first is a fault, which takes longer than an event. One thread, the drain.
 */
void vs_live_log_populate(struct vs_live_log *log, const char *path);

/* Removes the file at `path`, if it is this log's: then it cannot grow any more. */
void vs_live_log_unlink(struct vs_live_log *log, const char *path);

/*
 * In a forked child: puts empty memory in the place of the mapping, so that neither a record half
 * written at the fork nor anything else can reach the parent's log. It stays mapped: whoever
 * was interrupted by the fork goes on writing there.
 */
void vs_live_log_detach(struct vs_live_log *log);

/* Unmaps. For tests: in a program some thread may always be late. */
void vs_live_log_close(struct vs_live_log *log);

/* ---- Any thread, no lock, no system call ------------------------------------------------------
 */

/* Grows whenever a record is made, or begun. Any thread. */
uint64_t vs_live_log_count_records(const struct vs_live_log *log);

/* A slot for a thread, or NULL. */
struct vs_live_slot *vs_live_log_take_slot(struct vs_live_log *log, uint32_t ring);

/* Whether there is any. */
bool vs_live_log_has_slot(const struct vs_live_log *log);

/* Index of a chunk out of the stock, or VS_LIVE_LOG_NONE. Its ring is still 0. */
#define VS_LIVE_LOG_NONE UINT32_MAX
uint32_t vs_live_log_take_chunk(struct vs_live_log *log);
void vs_live_log_give_chunk(struct vs_live_log *log, uint32_t index);

static inline struct vs_live_chunk *vs_live_log_chunk(const struct vs_live_log *log, uint32_t index)
{
	return (struct vs_live_chunk *)(void *)(log->chunks + (size_t)index * VS_LIVE_CHUNK_SIZE);
}

/* Chunks that no ring has. Approximate while threads run. */
uint32_t vs_live_log_get_nr_free(const struct vs_live_log *log);
uint32_t vs_live_log_get_nr_chunks(const struct vs_live_log *log);

/* So many events could not be kept. */
static inline void vs_live_log_add_lost(struct vs_live_log *log, uint64_t nr)
{
	atomic_fetch_add_explicit(&log->header->nr_lost, nr, memory_order_relaxed);
}

static inline uint64_t vs_live_log_get_lost(const struct vs_live_log *log)
{
	return atomic_load_explicit(&log->header->nr_lost, memory_order_relaxed);
}

/* The clock stands so now. One thread. */
void vs_live_log_set_anchor(struct vs_live_log *log, const struct vs_live_anchor *now);

#endif
