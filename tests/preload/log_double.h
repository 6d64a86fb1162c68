#ifndef VS_LOG_DOUBLE_H
#define VS_LOG_DOUBLE_H

#include "live_log.h"
#include "record.h"
#include "settings.h"

/*
 * Stands in for what lies around the recorder: the files, the drain, the life of the process, and
 * the unwinder. Log and rings are the real ones, in memory, and small; what is in them comes back
 * through the real merge. What is doubled spoils errno, and expects the thread to be marked as
 * inside the recorder when it is called from there.
 */
#define LOG_DOUBLE_NR_CHUNKS  8u
#define LOG_DOUBLE_NR_RECORDS 512
#define LOG_DOUBLE_NR_FRAMES  8

struct log_double {
	/* What the recorder finds; a test may change it. */
	struct vs_live_log log;
	bool has_log;
	bool has_more_room; /* whoever asks for some gets it, once */
	uint32_t recording;
	struct vs_settings settings;
	uint64_t frames[LOG_DOUBLE_NR_FRAMES]; /* of the stack of whoever asks */
	uint32_t nr_frames;

	/* What it did. */
	uint32_t nr_begins;
	uint32_t nr_captures;
	uint32_t nr_forgets;
	uint32_t nr_wakes;
	uint32_t nr_asked; /* for room */
};

extern struct log_double log_double;

/* Another recording begins. */
void log_double_reset(void);

/*
 * From now on only `size` bytes (a multiple of 8) are left for the calling thread, which has said
 * something before, and no others; and: there is room again.
 */
void log_double_limit(uint32_t size);
void log_double_unlimit(void);

/* Fills the chunk that the calling thread writes to up to the last `size` bytes. */
void log_double_fill(uint32_t size);

/* All records so far, by their times; those of a type, and the n-th of them (from 0). */
uint32_t log_double_get_nr(void);
const struct vs_record *log_double_at(uint32_t n);
uint32_t log_double_count(enum vs_record_type type);
const struct vs_record *log_double_get(enum vs_record_type type, uint32_t n);

/* Events that were lost, and how many LOST records tell of. */
uint64_t log_double_get_lost(void);
uint64_t log_double_get_told(void);

/*
 * Names, stacks, pools and threads are defined before they are used and once, the modules of a
 * stack before the stack, and times do not go back.
 */
void log_double_assert_consistent(void);

#endif
