#ifndef SG_MATH_ATTRIBUTES_H
#define SG_MATH_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a program has set on a descriptor, to be read back. Begins as zeros, owned by whoever holds
 * the structure. One thread at a time for each, as for the real descriptors.
 */
struct sg_math_attribute {
	int name;
	int type;
	int64_t count; /* of elements */
	size_t size;   /* of all of them, in bytes */
	void *bytes;
};

struct sg_math_attributes {
	struct sg_math_attribute *list;
	size_t nr;
};

/* Replaces what the name had. 0, or -1 when memory is out (nothing is changed then). */
int sg_math_attributes_set(struct sg_math_attributes *attributes, int name, int type, int64_t count,
			   const void *bytes, size_t size);

/* NULL if it was never set. Valid until the next set or clear. */
const struct sg_math_attribute *sg_math_attributes_get(const struct sg_math_attributes *attributes,
						       int name);

/* 0, or -1 when memory is out (@to may then hold some of them). */
int sg_math_attributes_copy(struct sg_math_attributes *to, const struct sg_math_attributes *from);

void sg_math_attributes_clear(struct sg_math_attributes *attributes);

#endif
