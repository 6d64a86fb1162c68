#ifndef VS_STACK_TABLE_H
#define VS_STACK_TABLE_H

#include "error.h"
#include "record.h"

/*
 * Numbers for stacks, so that each is written once. Lock-free; two threads may give one stack two
 * numbers at the same moment (the analyzer merges equal stacks). Holds VS_STACK_TABLE_MAX stacks or
 * VS_STACK_TABLE_BYTES of frames, in memory that is touched only as it fills. Beyond that a new
 * stack has the number 0, "not known", and is counted: a program that makes code without end would
 * otherwise fill the disk with stacks.
 */
#define VS_STACK_TABLE_MAX   65536u
#define VS_STACK_TABLE_BYTES (32u << 20)

/* -VS_ERR_NO_MEMORY: every stack is 0. One thread. */
VS_MUST_CHECK int vs_stack_table_init(void);

/* Forgets all stacks; a new trace starts. One thread. */
void vs_stack_table_clear(void);

/*
 * Old addresses may mean something else from now on (dlclose): stacks of before are not found any
 * more. Any thread.
 */
void vs_stack_table_expire(void);

/* Changes with every expiry. Any thread. */
uint32_t vs_stack_table_get_epoch(void);

/* A stack on its way into the table: kept between find and add, so that the hash is made once. */
struct vs_stack_table_key {
	uint64_t hash;
	uint32_t epoch;
};

/* Its number if it is known, else 0; fills in *key. Any thread. stack->id is not looked at. */
uint32_t vs_stack_table_find(struct vs_stack_table_key *key, const struct vs_stack *stack);

/* A number for a stack that find did not know; 0 when the table is full. Any thread. */
uint32_t vs_stack_table_new_number(void);

/* From now on find answers stack->id, whose definition is in the log. Any thread. */
void vs_stack_table_add(const struct vs_stack_table_key *key, const struct vs_stack *stack);

/* How often there was no number left. */
uint64_t vs_stack_table_get_overflow(void);

#endif
