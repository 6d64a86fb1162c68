#ifndef VS_SHIM_RUN_H
#define VS_SHIM_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/*
 * Runs a host program with libvramscope.so in a folder of its own, and reads the traces it leaves.
 * For cmocka tests: whatever goes wrong here fails the test.
 */
struct shim_run {
	char dir[PATH_MAX]; /* current folder of the host; removed by shim_run_fini */
	int status;         /* as waitpid gives it */
	char out[65536];    /* stdout and stderr, terminated */
	char err[65536];
	void (*prepare)(const struct shim_run *run); /* in the child, before exec; may be NULL */
	const char *env[16];                         /* "NAME=value", besides LD_PRELOAD */
	bool is_plain;                               /* without libvramscope.so */
};

void shim_run_init(struct shim_run *run);
void shim_run_fini(struct shim_run *run);

/* Adds "NAME=value". The text must stay. */
void shim_run_add_env(struct shim_run *run, const char *text);

/* Runs host program args[0] with its arguments, up to NULL. */
void shim_run_host(struct shim_run *run, const char *const *args);
#define SHIM_RUN(run, ...) shim_run_host((run), (const char *const[]){__VA_ARGS__, NULL})

/* Whether the host ended by exit(0) and was as silent on stderr as it is without us. */
void shim_run_assert_fine(const struct shim_run *run);

/* What a trace holds, counted. */
#define SHIM_NR_THREADS 8
#define SHIM_NR_EVENTS  65536
struct shim_trace {
	bool is_complete;
	bool used_log;
	bool is_damaged;
	uint64_t nr_lost;
	uint64_t nr[256];        /* records by type */
	uint64_t nr_undefined;   /* uses of a stack, name, pool or thread before its definition */
	uint64_t nr_empty;       /* blocks without a stack */
	uint64_t nr_told;        /* sum of the LOST records */
	uint32_t stack_of_block; /* of the last block */
	uint32_t min_frames;     /* of all stacks */
	uint32_t max_frames;
	char info_live[PATH_MAX];
	char info_command[PATH_MAX];
	/* BLOCK_ALLOC with address thread << 32 | number: how often each was seen, and in order */
	uint8_t seen[SHIM_NR_THREADS][SHIM_NR_EVENTS];
	uint32_t last[SHIM_NR_THREADS];
	bool is_out_of_order;
};

/* A trace in the run's folder; NULL: the only one there. The caller frees it. */
struct shim_trace *shim_run_read(const struct shim_run *run, const char *name);

/* Names of all files in the folder that end so, sorted; returns how many. */
unsigned shim_run_list(const struct shim_run *run, const char *end, char names[][NAME_MAX + 1],
		       unsigned max);
bool shim_run_has_file(const struct shim_run *run, const char *name);

#endif
