#ifndef VS_IMPORTS_H
#define VS_IMPORTS_H

#include <stdbool.h>

/*
 * Leads the calls that a loaded library makes to a function of others (through its procedure
 * linkage table) somewhere else. For libraries that we opened ourselves. handle: dlopen's, with
 * RTLD_NOW. False: it makes no such calls, or its table cannot be written.
 */
bool vs_imports_replace(void *handle, const char *name, void *function);

#endif
