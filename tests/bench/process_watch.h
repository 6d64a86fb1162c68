#ifndef VS_PROCESS_WATCH_H
#define VS_PROCESS_WATCH_H

#include <stddef.h>
#include <stdint.h>

/* What a process can see of itself without allocating memory. */

uint64_t vs_process_watch_now_ns(void);

void vs_process_watch_sleep_ms(unsigned ms);

/* Resident memory in bytes. */
struct vs_process_watch_memory {
	size_t own;    /* of the process alone */
	size_t mapped; /* of files: programs, libraries, the recorder's log */
};
struct vs_process_watch_memory vs_process_watch_get_memory(void);

/* Number of the recorder's own thread, which writes the trace; 0 if there is none. */
int vs_process_watch_find_drain(void);

/* Processor time of a thread of this process so far. */
uint64_t vs_process_watch_get_cpu_ns(int thread);

#endif
