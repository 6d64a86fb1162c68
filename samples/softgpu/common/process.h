#ifndef SG_PROCESS_H
#define SG_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * When a process started, in clock ticks since boot: with its pid this names it for good. 0 when it
 * is gone, also while it is a zombie that nobody has waited for. Any thread.
 */
uint64_t sg_process_read_start(pid_t pid);

#endif
