#ifndef VS_SCRIPT_TRACE_H
#define VS_SCRIPT_TRACE_H

/* A script as a trace on disk. */
#include "script.h"

struct script_trace {
	const char *command; /* as INFO has it, "train\n--fast\n"; NULL: not said */
	const char *info[8]; /* more of INFO: key, value, key, value */
	uint64_t nr_lost;
	bool is_cut; /* without an END block: the program did not end in order */
};

/* Writes the records of the script to a file. Ends the program if that cannot be done. */
void script_trace_write(const struct script *script, const char *path,
			const struct script_trace *trace);

#endif
