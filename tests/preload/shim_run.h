#ifndef VS_SHIM_RUN_H
#define VS_SHIM_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

/* Hosts and recorder are built with it, like the test: some things cannot be tried then. */
#if defined(__SANITIZE_ADDRESS__)
#define SHIM_IS_ADDRESS_SANITIZED 1
#else
#define SHIM_IS_ADDRESS_SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define SHIM_IS_THREAD_SANITIZED 1
#else
#define SHIM_IS_THREAD_SANITIZED 0
#endif

/*
 * Runs a host program with libvramscope.so in a folder of its own, and reads the traces it leaves.
 * For cmocka tests: whatever goes wrong here fails the test.
 */
struct shim_run {
	char dir[PATH_MAX]; /* current folder of the host; removed by shim_run_fini */
	pid_t pid;          /* of the host */
	int status;         /* as waitpid gives it */
	char out[65536];    /* stdout and stderr, terminated */
	char err[65536];
	void (*prepare)(const struct shim_run *run); /* in the child, before exec; may be NULL */
	/* While it runs: it may be sent signals, but is waited for afterwards; may be NULL. */
	void (*meanwhile)(struct shim_run *run, pid_t pid);
	const char *env[16];     /* "NAME=value", besides LD_PRELOAD */
	const char *also_loaded; /* beside libvramscope.so in LD_PRELOAD; or NULL */
	bool is_second;          /* that one comes first */
	const char *program;     /* in the place of the host; or NULL */
	bool is_plain;           /* without libvramscope.so */
	bool is_mounted;         /* dir is a disk of its own */
	bool is_parent; /* of processes that LeakSanitizer cannot look at (it says so): they have
			   copies of what threads they do not have hold */
};

void shim_run_init(struct shim_run *run);
void shim_run_fini(struct shim_run *run);

/* Adds "NAME=value". The text must stay. */
void shim_run_add_env(struct shim_run *run, const char *text);

/* Runs host program args[0] with its arguments, up to NULL. What a sanitizer finds fails the test.
 */
void shim_run_host(struct shim_run *run, const char *const *args);
#define SHIM_RUN(run, ...) shim_run_host((run), (const char *const[]){__VA_ARGS__, NULL})

/* Whether the host ended by exit(0) and was as silent on stderr as it is without us. */
void shim_run_assert_fine(const struct shim_run *run);

/*
 * Makes the folder a disk of its own: a tmpfs with such options ("size=400k"). False: this machine
 * does not let us.
 */
bool shim_run_mount(struct shim_run *run, const char *options);

/* The host did all it does without us and ended by exit(0); we said one line with the text. */
void shim_run_assert_one_line(const struct shim_run *run, const char *text);

/* What a trace holds, counted. */
#define SHIM_NR_THREADS 10
#define SHIM_NR_EVENTS  65536
struct shim_trace {
	bool is_complete;
	bool used_log;
	bool is_damaged;
	bool is_running;
	uint64_t nr_lost;
	uint64_t nr[256];      /* records by type */
	uint64_t nr_undefined; /* uses of a stack, name, pool or thread before its definition */
	uint64_t nr_empty;     /* blocks without a stack */
	uint64_t nr_unplaced;  /* frames of stacks that lie in no module */
	uint64_t nr_told;      /* sum of the LOST records */
	uint64_t steps;        /* numbers of the last 16 steps, four bits each */
	uint64_t nr_blocks_before_free; /* blocks before the latest FREE */
	uint32_t stack_of_block;        /* of the last block */
	uint32_t min_frames;            /* of all stacks */
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

/* The same, but NULL if there is none that can be opened. */
struct shim_trace *shim_run_try_read(const struct shim_run *run, const char *name);

/* Names of all files in the folder that end so, sorted; returns how many. */
unsigned shim_run_list(const struct shim_run *run, const char *end, char names[][NAME_MAX + 1],
		       unsigned max);

/* Whether the host left a log in /dev/shm. */
bool shim_run_has_shared_log(const struct shim_run *run);
bool shim_run_has_file(const struct shim_run *run, const char *name);

#endif
