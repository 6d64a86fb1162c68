#ifndef VS_CRC32_H
#define VS_CRC32_H

#include <stddef.h>
#include <stdint.h>

/*
 * CRC-32 as in zlib, PNG and gzip (reflected 0x04c11db7). Our own, because the shim may not find
 * zlib, and because a host may export a crc32 that is something else. Start with crc 0; the result
 * for a and then b is that for ab. Any thread.
 */
uint32_t vs_crc32_add(uint32_t crc, const void *bytes, size_t size);

#endif
