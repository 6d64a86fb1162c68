#ifndef VS_SETTINGS_H
#define VS_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What the environment asked for, read once before the program can change it. Read-only afterwards.
 *
 *   VRAMSCOPE_OUTPUT       pattern of the trace's name: %p pid, %h host, %r rank, %% a percent sign
 *   VRAMSCOPE_FOLDER       folder of a trace that gets no name by OUTPUT; else the current one
 *   VRAMSCOPE_INDEX        a file that gets one line for each trace: its path
 *   VRAMSCOPE_REPLACE      files that may be replaced (output.h); the launcher says which
 *   VRAMSCOPE_RUN          which run the trace belongs to; kept for the trace
 *   VRAMSCOPE_STACK_DEPTH  most frames of a stack, 1 to VS_STACK_MAX
 *   VRAMSCOPE_NO_STACKS    record no stacks
 *   VRAMSCOPE_FREE_STACKS  record stacks of frees, too
 *   VRAMSCOPE_NO_PYTHON    record no Python frames
 *   VRAMSCOPE_NO_POOLS     record no blocks of pools
 *   VRAMSCOPE_HOST_POOLS   record a framework's pools of pageable memory, too: for tests
 *   VRAMSCOPE_TF_DUMP      what TF_BFC_MEMORY_DUMP is while it is the launcher's doing
 *   VRAMSCOPE_NO_HOOKS     hook no CUDA function
 *   VRAMSCOPE_NO_MEMINFO   do not ask NVML who holds the devices' memory
 *   VRAMSCOPE_MEMINFO_WAIT most milliseconds that anybody waits for NVML (memory_info.h)
 *   VRAMSCOPE_CHILDREN=no  only the first process (and what it becomes by exec)
 *   VRAMSCOPE_MAX_SIZE     bytes that the trace may become; then its oldest events go
 *   VRAMSCOPE_JAX_ALLOCATOR  that the launcher chose for JAX; kept for the trace, as a fact
 *   VRAMSCOPE_LOG_SIZE     bytes that the log may become, where the disk is slow or full
 *
 * A switch (NO_..., FREE_STACKS, HOST_POOLS) is on unless it is empty or 0.
 */
#define VS_SETTINGS_COMMAND_MAX 16384
#define VS_SETTINGS_STACK_DEPTH 128
#define VS_SETTINGS_LOG_SIZE    (UINT64_C(1) << 30)
#define VS_SETTINGS_MEMINFO_MS  250

/* Variables that change what an allocator does, ranks, and the run: kept for the trace. */
#define VS_SETTINGS_NR_KEPT  20
#define VS_SETTINGS_KEPT_MAX 256

struct vs_settings {
	char output[PATH_MAX];  /* pattern, absolute; empty: PROGRAM.PID.vscope in folder */
	char folder[PATH_MAX];  /* absolute */
	char index[PATH_MAX];   /* empty: none */
	char replace[PATH_MAX]; /* keys, each with a comma behind it; empty: none */
	char tf_dump[PATH_MAX]; /* prefix of files that TensorFlow writes for us; empty: none */
	char cwd[PATH_MAX];     /* at the start */
	char program[NAME_MAX]; /* argv[0] without folders */
	char command[VS_SETTINGS_COMMAND_MAX]; /* arguments as INFO has them; those that fit */
	char host[NAME_MAX + 1];
	char rank[32]; /* "0" when nothing says */
	struct {
		const char *name; /* NULL: no more */
		char value[VS_SETTINGS_KEPT_MAX];
	} kept[VS_SETTINGS_NR_KEPT];
	uint32_t stack_depth;
	uint32_t meminfo_ms; /* wait for NVML at most so long */
	uint64_t max_size;   /* 0: no limit */
	uint64_t log_size;
	char jax_allocator[32]; /* empty: JAX has what it has without us */
	bool no_stacks;
	bool free_stacks;
	bool no_python;
	bool no_pools;
	bool host_pools;
	bool no_hooks;
	bool no_meminfo;
	bool no_children;
	bool is_off; /* a child of a process that was told to go without children */
};

/*
 * Fills in *settings from the arguments and the environment (as main gets them). Puts the process's
 * number into VRAMSCOPE_CHILDREN=no, so that children can tell that they are some; allocates
 * nothing. Once; the text that the environment then points to is static.
 */
void vs_settings_read(struct vs_settings *settings, int argc, char **argv, char **environment);

#endif
