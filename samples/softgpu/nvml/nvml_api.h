#ifndef SG_NVML_API_H
#define SG_NVML_API_H

/*
 * NVIDIA's nvml.h as the library sees it: every version of a function under its own name (programs
 * get the newest by macros), and what it declares is what leaves the library.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#pragma GCC visibility push(default)
#include <nvml.h>
#pragma GCC visibility pop

#endif
