#ifndef VS_MODULES_H
#define VS_MODULES_H

#include "record.h"

/*
 * Which files the frames of stacks lie in. Looked at only when a stack is seen for the first time.
 * No lock of the loader's (loaded_object.h), so that a thread inside dlopen cannot hold us up.
 * Holds VS_MODULES_MAX modules; frames of later ones stay bare addresses.
 */
#define VS_MODULES_MAX 4096u

/* exe: path of the program, which the loader does not tell; not copied. Once. */
void vs_modules_init(const char *exe);

/* Forgets all modules; a new trace starts. One thread. */
void vs_modules_clear(void);

/*
 * Describes the module an address lies in, if it is not known yet: true. False: it is known, or
 * there is none (code made at run time), or there is no number left. path: where its name goes; it
 * is cut to path_size bytes. Any thread. Two threads may both be told of the same one.
 */
bool vs_modules_describe(uint64_t address, struct vs_module *module, char *path, size_t path_size);

/*
 * Whether the module of an address was described and added. Frames of a stack mostly lie in a few:
 * *span, all zero at first, is what is known of the one that was met last, and there nobody is
 * asked. Only while none of them can be unloaded. Any thread.
 */
struct vs_modules_span {
	uint64_t start;
	uint64_t size; /* up to the highest address that was met */
};
bool vs_modules_is_known(uint64_t address, struct vs_modules_span *span);

/* What was described: its definition is in the log; or it could not be written. Any thread. */
void vs_modules_add(const struct vs_module *module);
void vs_modules_give_back(const struct vs_module *module);

/*
 * Number of a known module that is not loaded any more, each once; 0 when there are none. Any
 * thread.
 */
uint32_t vs_modules_take_unloaded(void);

#endif
