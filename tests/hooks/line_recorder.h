#ifndef VS_LINE_RECORDER_H
#define VS_LINE_RECORDER_H

#include <stddef.h>

/*
 * A recorder that writes each event as a line of text, into memory and, if HOOKS_EVENTS names one,
 *into a file. Tests that run with the hooks in front of them take the lines from here, by dlsym:
 *
 *	alloc KIND DEVICE ADDRESS SIZE pool=N context=N API
 *	free KIND ADDRESS API				unfree KIND ADDRESS ERROR
 *	fail KIND DEVICE SIZE ERROR FREE/TOTAL pool=N API
 *	reserve|unreserve|unmap ADDRESS SIZE		map ADDRESS SIZE HANDLE OFFSET
 *	context created|destroyed|reset N DEVICE	pool-state N RESERVED USED
 *	device N NAME TOTAL CC SIMULATED		pool N HANDLE DEVICE		pool-end N
 *
 * Addresses and handles in hexadecimal without a prefix; numbers start at 1; no device is -1.
 */

/* Copies the lines since the last call, and forgets them. One thread. */
void vs_line_recorder_take(char *text, size_t size);

/* How often an ABI was in doubt. */
unsigned long vs_line_recorder_get_nr_unsure(void);

/* While it is on, every function here spoils errno, as a careless recorder might. */
void vs_line_recorder_spoil_errno(int is_on);

#endif
