#ifndef VS_FUZZ_PAIR_H
#define VS_FUZZ_PAIR_H

#include <stdint.h>

#include "wire.h"

/*
 * A trace and its log made of any bytes, with right checksums and a sound header, for otherwise
 * hardly anything would ever come past them. Both take what they need out of `in`; any bytes do.
 */
void vs_fuzz_pair_put_trace(int fd, struct vs_wire *in);
void vs_fuzz_pair_put_log(int fd, struct vs_wire *in);

/* A trace that has nothing but the log's name, and a log of the bytes as they stand. */
void vs_fuzz_pair_put_empty_trace(int fd);
void vs_fuzz_pair_put_raw_log(int fd, struct vs_wire *in);

/* A trace of so many bytes cannot hold more records and errors. */
size_t vs_fuzz_pair_get_limit(size_t size);

void vs_fuzz_pair_write(int fd, const void *bytes, size_t size);

#endif
