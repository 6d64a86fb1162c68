#ifndef VS_INFO_H
#define VS_INFO_H

#include <stddef.h>

/* Keys of the INFO block, and what their values look like: docs/trace-format.md, section 4. */
#define VS_INFO_VERSION    "version"  /* of vramscope: "0.1.0" */
#define VS_INFO_IDENTITY   "identity" /* 32 hexadecimal digits: vs_info_put_identity */
#define VS_INFO_COMMAND    "command"  /* arguments: vs_info_put_argument */
#define VS_INFO_EXE        "exe"      /* file that runs, absolute */
#define VS_INFO_CWD        "cwd"      /* folder it was started in */
#define VS_INFO_HOST       "host"     /* name of the machine */
#define VS_INFO_PID        "pid"      /* decimal, as all numbers */
#define VS_INFO_PPID       "ppid"
#define VS_INFO_UID        "uid"
#define VS_INFO_START      "start" /* time 0 of the trace: nanoseconds since 1970, UTC */
#define VS_INFO_CLOCK      "clock" /* "monotonic" or "tsc" */
#define VS_INFO_PAGE_SIZE  "page_size"
#define VS_INFO_SIMULATED  "simulated" /* "yes": some device is simulated; "no"; or not there */
#define VS_INFO_MAX_SIZE   "max_size"  /* bytes that the trace is kept to */
#define VS_INFO_LIVE       "live"      /* path of the log if it is not TRACE.live */
#define VS_INFO_RANK       "rank"      /* of a distributed run, decimal */
#define VS_INFO_ENV_PREFIX "env."      /* "env.RANK" and the like: an environment variable */

/* Which `vramscope run` it belongs to: a name that all traces of one have in common. */
#define VS_INFO_RUN VS_INFO_ENV_PREFIX "VRAMSCOPE_RUN"

/* Which allocator the launcher chose for JAX: the program did not do what it does without. */
#define VS_INFO_JAX_ALLOCATOR VS_INFO_ENV_PREFIX "VRAMSCOPE_JAX_ALLOCATOR"

/* Not of the INFO block: what a line of VRAMSCOPE_INDEX begins with whose trace could not be made.
 */
#define VS_INFO_INDEX_REFUSED '!'

/*
 * The command's arguments in one value, so that any bytes survive: each is followed by a newline; a
 * newline inside is written \n, a backslash \\. Appends one argument at `out`, terminates, and
 * returns its length; nothing is written, and 0 returned, if it does not fit into `size`.
 */
size_t vs_info_put_argument(char *out, size_t size, const char *argument);

/*
 * Takes the next argument out of a command value at *next into out (terminated, cut to size - 1
 * bytes) and moves *next on. Returns 1, or 0 when there is none left.
 */
int vs_info_get_argument(const char **next, char *out, size_t size);

/* The identity of a trace, 16 bytes, as INFO has it. */
void vs_info_put_identity(char out[33], const unsigned char identity[16]);

#endif
