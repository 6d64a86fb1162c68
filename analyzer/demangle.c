#include "demangle.h"

#include <stddef.h>
#include <string.h>

#include <libiberty/demangle.h>

/*
 * Up to here a name gets as much stack as it needs, about a quarter of a KiB for each byte. With
 * the library's own limit it gives up on all names above 1024 bytes, which is nothing for
 * templates.
 */
#define DEEP_MAX 8192

char *vs_demangle_name(const char *name)
{
	/* Rust's older names look like C++ and would only keep their hash. */
	char *text = rust_demangle(name, DMGL_RUST);
	/* Parameters are left out: file and line tell overloads apart, in far less room. */
	int options = DMGL_ANSI;

	if (strnlen(name, DEEP_MAX + 1) <= DEEP_MAX)
		options |= DMGL_NO_RECURSE_LIMIT;
	return text ? text : cplus_demangle_v3(name, options);
}
