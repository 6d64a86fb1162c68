#ifndef VS_LIVE_LOG_H
#define VS_LIVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "live_format.h"

/*
 * The log TRACE.live from the recorder's side: live_format.h has the protocol. Many producers, one
 * consumer (the drain thread). No lock and no wait on either side.
 */
struct vs_live_log {
	struct vs_live_header *header;
	unsigned char *ring;
	uint64_t ring_size;
};

/*
 * A place that a thread has reserved and not yet published. Its owner keeps it where it survives a
 * jump out of the recorder (a signal handler that never returns), so that the place can be given
 * back instead of holding up the drain for good.
 */
struct vs_live_log_claim {
	struct vs_live_log *volatile log; /* NULL: none */
	volatile uint64_t position;
	volatile uint32_t size;
};

/* What a new log says about itself. */
struct vs_live_log_facts {
	const char *trace_path; /* absolute */
	uint64_t ring_size;     /* as asked for; halved as often as there is no room */
	uint8_t identity[VS_LIVE_ID_SIZE];
	uint64_t start_ticks;
	uint64_t pid_namespace;
};

/*
 * Makes the file at `path` (replacing one that a dead process left there), with all its pages
 * allocated, and maps it. -VS_ERR_INVALID: the file system cannot promise pages (a full disk would
 * become a SIGBUS), nothing was made. -VS_ERR_IO: see errno.
 */
VS_MUST_CHECK int vs_live_log_create(struct vs_live_log *log, const char *path,
				     const struct vs_live_log_facts *facts);

/*
 * In a forked child: puts empty memory in the place of the mapping, so that neither a record half
 * written at the fork nor anything else can reach the parent's log. It stays mapped: whoever
 * was interrupted by the fork goes on writing there.
 */
void vs_live_log_detach(struct vs_live_log *log);

/* Unmaps. For tests: in a program some thread may always be late. */
void vs_live_log_close(struct vs_live_log *log);

/* ---- Producers: any thread ------------------------------------------------------------------ */

/* One encoded record, at most VS_LIVE_SIZE_MASK bytes. False: the ring is full. */
bool vs_live_log_push(struct vs_live_log *log, struct vs_live_log_claim *claim,
		      const uint8_t *bytes, uint32_t size);

/* Publishes a claim that was never finished as a record that readers skip, and counts the loss. */
void vs_live_log_give_up(struct vs_live_log_claim *claim);

/* An event could not be kept. */
void vs_live_log_add_lost(struct vs_live_log *log);
uint64_t vs_live_log_get_lost(const struct vs_live_log *log);

/* At least a quarter is used: time for the drain. */
bool vs_live_log_is_filling(const struct vs_live_log *log);

/* ---- Consumer: one thread -------------------------------------------------------------------- */

/*
 * Copies records from *position on, one after the other without their words, as far as they are
 * published and fit into `room` (at least VS_LIVE_SIZE_MASK bytes); moves *position behind them.
 * Returns the bytes; *nr_records how many records.
 */
size_t vs_live_log_read(const struct vs_live_log *log, uint64_t *position, uint8_t *out,
			size_t room, uint32_t *nr_records);

/* Everything reserved so far lies below. */
uint64_t vs_live_log_get_head(const struct vs_live_log *log);

/* All below position is in the trace: its place may be used again. Never goes back. */
void vs_live_log_release(struct vs_live_log *log, uint64_t position);

#endif
