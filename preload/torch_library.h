#ifndef VS_TORCH_LIBRARY_H
#define VS_TORCH_LIBRARY_H

#include <stdbool.h>

/*
 * The PyTorch of the process: where the functions are that ours stand in front of, and which
 * release it is. Any thread, at any place: the allocator's mutex may be held, so nothing here waits
 * for the loader's lock that constructors run under (dlopen, dlsym), and nothing calls Python.
 */

/*
 * The function of this name that ours stands in front of: the one of the object that calls, else
 * libc10's, else anybody's. NULL: there is none. Keeps errno. Slow.
 */
void *vs_torch_library_find(const char *name, const void *caller);

/*
 * Finds out which release it is, and says the facts. types: of the reporting function's arguments,
 * static. Keeps errno. Reads a file.
 */
void vs_torch_library_learn(const char *types);

/*
 * Whether blocks are to be recorded: nobody said no, and the release is one that this was made for,
 * or nothing says which it is. Prints a line when the answer is first no for the latter reason.
 */
bool vs_torch_library_is_wanted(void);

#endif
