#ifndef VS_COLUMNS_TESTER_H
#define VS_COLUMNS_TESTER_H

/*
 * Events for columns, there and back. All of it fails the running test when something goes wrong;
 * numbers are the same in every run.
 */
#include <stdint.h>

#include "columns.h"

#define VS_COLUMNS_TESTER_UNIT 1000

/* ---- Events ------------------------------------------------------------------------------- */

/* Any number; a small one, a large one, any length between, and the two ends; one of a few. */
uint64_t vs_columns_tester_draw(uint64_t *state);
uint64_t vs_columns_tester_draw_any(void *state);
uint64_t vs_columns_tester_draw_few(void *state);

/* A type of event. */
enum vs_record_type vs_columns_tester_draw_type(uint64_t *state);

/* Room for a full block, zero; to be freed. */
struct vs_record *vs_columns_tester_make_events(void);

/*
 * A program: threads that allocate at some sites and free at others, most of it in the same order
 * again and again, some of it not.
 */
struct vs_columns_tester_program {
	uint64_t random;
	uint64_t time_ns;
	uint32_t at;      /* in its loop */
	uint32_t nr_live; /* of live */
	uint64_t live[64];
	uint64_t behind; /* first address behind the newest */
};

/* Its next event. */
void vs_columns_tester_run(struct vs_columns_tester_program *program, struct vs_record *event);

/* ---- There and back ----------------------------------------------------------------------- */

struct vs_columns_tester {
	struct vs_columns *columns;
	struct vs_columns_reader *reader;
	uint8_t *bytes; /* of the bound's size, exactly */
	size_t size;
};

void vs_columns_tester_init(struct vs_columns_tester *tester, uint32_t unit);
void vs_columns_tester_fini(struct vs_columns_tester *tester);

/* A block, to tester->bytes. */
void vs_columns_tester_encode(struct vs_columns_tester *tester, const struct vs_record *events,
			      uint32_t nr);

/* Expects these events there. */
void vs_columns_tester_decode(struct vs_columns_tester *tester, const struct vs_record *events,
			      uint32_t nr, uint32_t unit);

/* Both, with the usual unit. Returns the bytes it took. */
size_t vs_columns_tester_expect_back(struct vs_columns_tester *tester,
				     const struct vs_record *events, uint32_t nr);

#endif
