#ifndef SG_HOST_USAGE_H
#define SG_HOST_USAGE_H

#include <stdint.h>

/* What this process costs the host, in bytes. 0 where it cannot be read. */

/* Resident now, and the most it ever was. */
uint64_t sg_host_usage_get_resident(void);
uint64_t sg_host_usage_get_peak(void);

/* Blocks of all memory files it has open; those it has mapped are counted as resident, too. */
uint64_t sg_host_usage_get_files(void);

#endif
