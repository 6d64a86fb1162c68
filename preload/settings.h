#ifndef VS_SETTINGS_H
#define VS_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What the environment asked for, read once before the program can change it. Read-only afterwards.
 *
 *   VRAMSCOPE_OUTPUT       pattern of the trace's name: %p pid, %h host, %r rank, %% a percent sign
 *   VRAMSCOPE_INDEX        a file that gets one line for each trace: its path
 *   VRAMSCOPE_STACK_DEPTH  most frames of a stack, 1 to VS_STACK_MAX
 *   VRAMSCOPE_NO_STACKS    record no stacks
 *   VRAMSCOPE_NO_POOLS     record no blocks of pools
 *   VRAMSCOPE_NO_HOOKS     hook no CUDA function
 *   VRAMSCOPE_CHILDREN=no  only the first process (and what it becomes by exec)
 *   VRAMSCOPE_RING         size of the log in bytes, rounded up to a power of two; for tests
 *
 * A switch (NO_...) is on unless it is empty or 0.
 */
#define VS_SETTINGS_COMMAND_MAX 16384
#define VS_SETTINGS_STACK_DEPTH 128
#define VS_SETTINGS_RING_MIN    (64u << 10)

/* Variables that change what an allocator does, and ranks: kept for the trace. */
#define VS_SETTINGS_NR_KEPT  16
#define VS_SETTINGS_KEPT_MAX 256

struct vs_settings {
	char output[PATH_MAX];  /* pattern, absolute; empty: PROGRAM.PID.vscope in cwd */
	char index[PATH_MAX];   /* empty: none */
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
	uint64_t ring_size;
	bool no_stacks;
	bool no_pools;
	bool no_hooks;
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
