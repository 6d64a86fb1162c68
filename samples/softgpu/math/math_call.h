#ifndef SG_MATH_CALL_H
#define SG_MATH_CALL_H

#include <stddef.h>

#include "math_object.h"

/*
 * What generated and written functions of the mathematics libraries share. These libraries compute
 * nothing: a call checks its handle, fills what it is to fill, and succeeds. Their headers are not
 * at hand when softgpu is built, so functions are declared by what arguments are to the machine:
 * pointers, integers, floats.
 *
 * Any thread may call any of these.
 */
#define SG_MATH_EXPORT __attribute__((visibility("default")))
#define SG_MATH_WEAK   __attribute__((weak, visibility("default")))

/* A written function: declared (there is no header to do it) and begun. */
#define SG_MATH_API(type, name, ...)           \
	SG_MATH_EXPORT type name(__VA_ARGS__); \
	SG_MATH_EXPORT type name(__VA_ARGS__)

/* Another name of a written function. */
#define SG_MATH_ALIAS(other, name) \
	extern __typeof__(name) other __attribute__((alias(#name), visibility("default")));

/*
 * Usual size of buffers nobody knows the size of. Not zero: some programs divide by it, some take
 * zero for a failure.
 */
#define SG_MATH_SIZE 4096

/* What is passed by value and fits no register: ncclUniqueId. */
struct sg_math_block {
	char bytes[128];
};

/* libraryPropertyType of library_types.h */
enum sg_math_property {
	SG_MATH_MAJOR_VERSION,
	SG_MATH_MINOR_VERSION,
	SG_MATH_PATCH_LEVEL,
	SG_MATH_NR_PROPERTIES
};

/* Version of this library, by enum sg_math_property; from the soname line of its list. */
extern const int sg_math_version[SG_MATH_NR_PROPERTIES];

/* The library's code for a handle that is none. Each library has one of its own. */
int sg_math_bad_handle(void);

/* Size a library gives for buffers nobody knows the size of: SG_MATH_SIZE unless it has its own. */
size_t sg_math_default_size(void);

/* Says the name, once, when SOFTGPU_LOG has "math". @said is 0 at first. */
void sg_math_call_say(const char *name, int *said);

/*
 * Notes, once, that a size which the program asked for is not the real one (note.h). @said is 0 at
 * first. The size itself is what the caller goes on with.
 */
size_t sg_math_call_note_size(const char *name, size_t size, int *said);

/* 0, or -1 if it is no living handle of the library. */
int sg_math_call_check(const void *handle);

/* 0, or -1 if there is no place to put it, or no memory. */
int sg_math_call_create(void **handle, int kind);

/*
 * 0, or -1 if it is no living handle of that kind. Nothing is an acceptable descriptor to destroy,
 * but no library handle. SG_MATH_OTHER stands for every kind but that of the library.
 */
int sg_math_call_destroy(void *handle, int kind);

/* Nothing happens where there is no place. */
void sg_math_call_put_int(int *place, int value);
void sg_math_call_put_size(size_t *place, size_t value);
void sg_math_call_put_pointer(void **place, void *value);

/* xxxGetProperty: 0, or -1 if there is no such property or no place. */
int sg_math_call_put_property(int property, int *place);

/* A size from the environment (bytes, or with K, M, G), @fallback if it is not set or no size. */
size_t sg_math_call_setting(const char *name, size_t fallback);

#endif
