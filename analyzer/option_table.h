#ifndef VS_OPTION_TABLE_H
#define VS_OPTION_TABLE_H

#include "command.h"
#include "options.h"

/* The shared options: the help prints this table, the parser goes by it. */
struct vs_shared_option {
	unsigned int takes; /* enum vs_takes that lets a command have it; 0: every command */
	struct vs_option option;
	/* Sets it; NULL for --help. -VS_ERR_INVALID: the value is not one of its kind. */
	int (*set)(struct vs_options *options, const char *value);
	const char *kind; /* what its value is, for "'x' is not KIND" */
};

/* --color=auto: on a terminal that can, unless NO_COLOR is set. */
bool vs_option_table_wants_color(int stream);

/* Ends with a name of NULL. */
extern const struct vs_shared_option vs_option_table[];

#endif
