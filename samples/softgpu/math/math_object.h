#ifndef SG_MATH_OBJECT_H
#define SG_MATH_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Handles of the mathematics libraries: cublasHandle_t, descriptors, plans, communicators. Each
 * library has its own set. A handle that was never given out or is destroyed is told from a living
 * one without touching what it points to.
 *
 * Any thread may call any of these. That nobody destroys an object another thread is using is the
 * program's duty, as it is with the real libraries.
 */
enum sg_math_kind {
	SG_MATH_ANY,       /* for sg_math_object_get: whatever it is */
	SG_MATH_LIBRARY,   /* the handle every call of the library begins with */
	SG_MATH_OTHER,     /* descriptors that are only ever created and destroyed */
	SG_MATH_FIRST_OWN, /* kinds of a library's own, in its file */
};

/* @size zeroed bytes, at least SG_MATH_OBJECT_SIZE; NULL when memory is out. */
void *sg_math_object_create(int kind, size_t size);

/* The object behind a handle of that kind (or of any), NULL if it is none. */
void *sg_math_object_get(int kind, const void *handle);

/* Whether it was a living handle of that kind (or of any), which it now no longer is. */
bool sg_math_object_destroy(int kind, void *handle);

/* Large enough for what programs that know the public opaque structures write into them. */
#define SG_MATH_OBJECT_SIZE 512

#endif
