#ifndef VS_PAPER_TABLE_H
#define VS_PAPER_TABLE_H

#include "hooks.h"

/*
 * What a driver knows about devices, as a test wants it, behind the functions of struct vs_real.
 * Everything else in that struct is NULL: a driver without such a function. Answers are changed
 * by one thread.
 */
struct vs_paper_table {
	CUdevice device;   /* of the current context; negative: there is none */
	uintptr_t context; /* 0: none */
	size_t free_size, total_size;
	bool is_simulated;
	CUresult result; /* of the questions about devices by number; not 0: they fail */
	unsigned nr_memory_questions;
};

extern struct vs_paper_table vs_paper_table;

/*
 * Puts the table and *real in order: device 0 with context 0xc0, 1 byte of 2 free, not simulated,
 * no failure.
 */
void vs_paper_table_init(struct vs_real *real);

/* A call that records, of no named function. */
struct vs_call vs_paper_table_call(const struct vs_real *real);

#endif
