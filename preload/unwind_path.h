#ifndef VS_UNWIND_PATH_H
#define VS_UNWIND_PATH_H

#include <stdint.h>

/*
 * Which stack a walk would find, without its frames: a fingerprint of what it would read. Two
 * stacks that differ in a single word never have the same one; that any two have is as likely as to
 * guess 64 bits, and less so if they differ in many.
 */
struct vs_unwind_path {
	uint64_t a;
	uint64_t b;
};

#endif
