#ifndef VS_NVTX_PATH_H
#define VS_NVTX_PATH_H

#include <stdbool.h>

/*
 * NVTX loads the tool that NVTX_INJECTION64_PATH names, when a module makes its first call. Puts
 * this library there, if nobody else stands there. In the program's start, before it has threads.
 * cwd: the folder that the program was started in. Keeps errno.
 */
void vs_nvtx_path_offer(const char *cwd);

/* Somebody else stood there: NVTX is theirs. */
bool vs_nvtx_path_is_taken(void);

#endif
