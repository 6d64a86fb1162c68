#ifndef VS_COMMAND_H
#define VS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*
 * One row of the table of commands: cmd_NAME.c exports `const struct vs_command vs_cmd_NAME` and
 * nothing else, commands.def lists it. Help of every command is printed from these fields.
 */

/* What `vramscope` ends with. */
enum vs_exit {
	VS_EXIT_DONE = 0,
	VS_EXIT_FAILED = 1,
	VS_EXIT_USAGE = 2,
	VS_EXIT_DAMAGED = 3, /* done, but the trace has parts that cannot be read */
};

/* Options shared by analysis commands (options.h); a command takes those it names. */
enum vs_takes {
	VS_TAKES_JSON = 1 << 0,
	VS_TAKES_DEVICE = 1 << 1,
	VS_TAKES_AT = 1 << 2,
	VS_TAKES_RANGE = 1 << 3, /* --from, --to */
	VS_TAKES_TOP = 1 << 4,
	VS_TAKES_ASCII = 1 << 5,
	VS_TAKES_COLOR = 1 << 6,
	VS_TAKES_TRACES = 1 << 7, /* one or more */
	VS_TAKES_TRACE = 1 << 8,  /* exactly one */
	VS_TAKES_COMMAND =
		1 << 9,           /* a program and its arguments; the first word ends the options */
	VS_TAKES_WORD = 1 << 10,  /* one or none */
	VS_TAKES_INDEX = 1 << 11, /* --no-index */
	VS_TAKES_NOTHING = 1 << 12, /* its words may be left out, and it looks itself */
	VS_TAKES_STDERR = 1 << 13,  /* it prints there: width and colour are those of stderr */
	VS_TAKES_QUIET = 1 << 14,   /* it shows its progress: --quiet */

	/* What DESIGN promises for every analysis command. */
	VS_TAKES_ANALYSIS = VS_TAKES_JSON | VS_TAKES_DEVICE | VS_TAKES_AT | VS_TAKES_RANGE |
			    VS_TAKES_TOP | VS_TAKES_ASCII | VS_TAKES_COLOR | VS_TAKES_TRACES |
			    VS_TAKES_INDEX | VS_TAKES_QUIET,
};

/*
 * How much of a trace an analysis command looks at: every event (or those of --from and --to), or
 * states at instants and totals, which the trace's index has. The instants of --at for which the
 * index says enough, as bits.
 */
enum vs_at {
	VS_AT_DEFAULT, /* not given: the command's own choice (docs/analyses.md) */
	VS_AT_TIME,    /* at_ns since the start of the trace */
	VS_AT_PEAK,
	VS_AT_OOM, /* the last out-of-memory */
	VS_AT_END,
};
#define VS_RECALLS(at)  (1u << (at))
#define VS_RECALLS_EACH (VS_RECALLS(VS_AT_END + 1) - 1)

/* An option of one command's own. A table of them ends with a name of NULL. */
struct vs_option {
	const char *name; /* "output" is --output */
	char letter;      /* 'o' is -o; 0: none */
	/* Its value in the help: "FILE"; "[=SIZE]": may be left out; NULL: it takes none. */
	const char *value;
	const char *text; /* one line of help; more lines after '\n' */
};

/* What it asks of an analysis, and what it does not. */
struct vs_wants {
	bool no_holes; /* nothing to do with fragmentation over time */
	bool peaks;    /* all of them */
	bool steps;    /* also those that nobody marked */
};

struct vs_command {
	const char *name;
	const char *summary;  /* one line, no full stop */
	const char *usage;    /* what follows the name: "[--device N] [--top N] TRACE" */
	const char *details;  /* paragraphs below the options in the help; NULL: none */
	unsigned int takes;   /* enum vs_takes */
	unsigned int recalls; /* VS_RECALLS of --at */
	struct vs_wants wants;
	const struct vs_option *options; /* its own; NULL: none */
	/* argv[0] is the command's name. Returns enum vs_exit (run: the status of the program). */
	int (*run)(int argc, char **argv);
};

/* All of them: vs_cmd_run, vs_cmd_report, ... */
#define VS_COMMAND(name) extern const struct vs_command vs_cmd_##name;
#include "commands.def"
#undef VS_COMMAND

/*
 * Errors become text here and nowhere else: one line `vramscope: SUBJECT: text` on stderr. subject
 * is a file or an option; NULL leaves it out. For -VS_ERR_IO the text is that of errno. Returns
 * VS_EXIT_FAILED, so that a command can end with `return vs_command_fail(path, err);`.
 */
int vs_command_fail(const char *subject, int error);

/* The same with a text of one's own. */
__attribute__((format(printf, 2, 3))) int vs_command_fail_text(const char *subject,
							       const char *format, ...);

/* A mistake on the command line: the line, and where help is. Returns VS_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int vs_command_fail_usage(const struct vs_command *command,
								const char *format, ...);

/* Something to know that is no failure: `vramscope: SUBJECT: text` on stderr. */
__attribute__((format(printf, 2, 3))) void vs_command_note(const char *subject, const char *format,
							   ...);

/* Help of one command on stdout. Returns VS_EXIT_DONE; that stdout is full is for main() to see. */
int vs_command_help(const struct vs_command *command);

/* The command of that name, or NULL. */
const struct vs_command *vs_command_find(const char *name);

/* The commands in the order of the help; NULL behind the last. */
extern const struct vs_command *const vs_command_list[];

#endif
