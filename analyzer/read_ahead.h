#ifndef VS_READ_AHEAD_H
#define VS_READ_AHEAD_H

#include "source.h"

/*
 * Reads the records of a source in batches, in a thread of its own, while another one replays them:
 * unpacking and decoding take about as long as replaying, and there are two processors.
 *
 * From start to stop the source, and the reader behind it, belong to that thread. A batch belongs
 * to the thread until it is handed over, then to the caller until he releases it: there is nothing
 * that both touch at a time but the two counters, under a mutex. Sources that are no files, and all
 * where there is no thread (aside.h), are read in the caller's: the same batches come.
 */
#define VS_BATCH_MAX 1024

struct vs_batch {
	struct vs_record records[VS_BATCH_MAX];
	uint32_t nr;
	int status;                   /* >0: more follow; 0: the end; <0: an error behind them */
	struct vs_reader_block block; /* of the file, that all of them came from; else 0 */
	size_t text_size;
	uint8_t text[24 << 10]; /* what records point to */
};

struct vs_read_ahead;

/*
 * What has to be done, but not at once: by whichever thread would have to wait for the other, never
 * by both at a time, and each sees what the other did. work: a little of it; false: there is none.
 * If so much of it is left that it is_urgent, as the caller's thread knows, that one does it.
 */
struct vs_chore {
	bool (*work)(void *context);
	bool (*is_urgent)(const void *context);
	void *context;
};

/* The source has been rewound. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_read_ahead_start(struct vs_read_ahead **ahead, const struct vs_source *source);

/* The oldest batch that was not released (number 0), or the one behind it (1). Waits for it. NULL:
 * there is none, the one before it says why. */
const struct vs_batch *vs_read_ahead_get(struct vs_read_ahead *ahead, uint32_t number);

/* Done with the oldest. */
void vs_read_ahead_release(struct vs_read_ahead *ahead);

/* The chore outlives it; what is left of it then is for the caller to do. */
void vs_read_ahead_give_chore(struct vs_read_ahead *ahead, const struct vs_chore *chore);

/* Also before the end. The source is the caller's again. NULL is nothing. */
void vs_read_ahead_stop(struct vs_read_ahead *ahead);

#endif
