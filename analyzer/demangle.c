#include "demangle.h"

#include <stddef.h>

#include <libiberty/demangle.h>

char *vs_demangle_name(const char *name)
{
	/* Rust's older names look like C++ and would only keep their hash. */
	char *text = rust_demangle(name, DMGL_RUST);

	/* Parameters are left out: file and line tell overloads apart, in far less room. */
	return text ? text : cplus_demangle_v3(name, DMGL_ANSI | DMGL_RET_DROP);
}
