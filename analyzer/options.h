#ifndef VS_OPTIONS_H
#define VS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"

/*
 * The command line of analysis commands, read once and in one way. Options and traces may come in
 * any order; `--` ends the options; --top=5, --top 5, -oFILE and -o FILE are all understood.
 */

#define VS_OPTIONS_ANY_DEVICE UINT32_MAX
#define VS_OPTIONS_MAX_OWN    16

/* Text points into argv. What the command does not take has its default. */
struct vs_options {
	const struct vs_command *command;
	bool json;
	bool ascii; /* nothing but ASCII: --ascii, or a locale whose charset is not UTF-8 */
	bool run;   /* the other traces of the run as well */
	bool no_index;
	bool quiet; /* no progress */
	bool color; /* --color resolved: auto is "stdout is a terminal that can, no NO_COLOR" */
	uint32_t device; /* VS_OPTIONS_ANY_DEVICE: all */
	enum vs_at at;
	uint64_t at_ns;
	uint64_t from_ns; /* 0: from the start */
	uint64_t to_ns;   /* UINT64_MAX: to the end */
	uint32_t top;     /* rows of each list; 0: the command's own choice */
	uint32_t width;   /* columns: $COLUMNS, the terminal's, or 100 if stdout is none; >= 40 */
	uint32_t height;  /* lines: the terminal's, or $LINES on one; 0: stdout is none */
	char **traces; /* NULL behind the last; a command that takes other words finds those here */
	size_t nr_traces;
	/* Values of the command's own options, in the order of its table; NULL: not given; "" for
	 * one that takes no value. */
	const char *own[VS_OPTIONS_MAX_OWN];
};

/*
 * Reads the command line of `command`, as given to its run(). True: go on. False: the command has
 * ended with *status: --help was printed, or a mistake was reported.
 */
VS_MUST_CHECK bool vs_options_parse(struct vs_options *options, const struct vs_command *command,
				    int argc, char **argv, int *status);

/*
 * A time since the start: "12.5" seconds, "250ms", "7us", "90ns", "4m12s", "4m 12s", "1h02m03.5s".
 * -VS_ERR_INVALID if it is none.
 */
VS_MUST_CHECK int vs_options_parse_time(uint64_t *time_ns, const char *text);

/* A size: "8G", "512MiB", "1.5G", bytes; -VS_ERR_INVALID. */
VS_MUST_CHECK int vs_options_parse_size(uint64_t *size, const char *text);

/* A whole number from least to most; -VS_ERR_INVALID. */
VS_MUST_CHECK int vs_options_parse_number(uint64_t *number, const char *text, uint64_t least,
					  uint64_t most);

#endif
