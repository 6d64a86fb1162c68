#include "math_attributes.h"

#include <stdlib.h>
#include <string.h>

static struct sg_math_attribute *find(const struct sg_math_attributes *attributes, int name)
{
	for (size_t i = 0; i < attributes->nr; i++) {
		if (attributes->list[i].name == name)
			return &attributes->list[i];
	}
	return NULL;
}

static struct sg_math_attribute *append(struct sg_math_attributes *attributes)
{
	size_t size = (attributes->nr + 1) * sizeof(*attributes->list);
	struct sg_math_attribute *list = realloc(attributes->list, size);

	if (!list)
		return NULL;
	attributes->list = list;
	list[attributes->nr] = (struct sg_math_attribute){0};
	return &list[attributes->nr++];
}

int sg_math_attributes_set(struct sg_math_attributes *attributes, int name, int type, int64_t count,
			   const void *bytes, size_t size)
{
	struct sg_math_attribute *attribute = find(attributes, name);
	void *copy = malloc(size ? size : 1);

	if (copy && !attribute)
		attribute = append(attributes);
	if (!copy || !attribute) {
		free(copy);
		return -1;
	}
	if (size)
		memcpy(copy, bytes, size);
	free(attribute->bytes);
	attribute->name = name;
	attribute->type = type;
	attribute->count = count;
	attribute->size = size;
	attribute->bytes = copy;
	return 0;
}

const struct sg_math_attribute *sg_math_attributes_get(const struct sg_math_attributes *attributes,
						       int name)
{
	return find(attributes, name);
}

int sg_math_attributes_copy(struct sg_math_attributes *to, const struct sg_math_attributes *from)
{
	for (size_t i = 0; i < from->nr; i++) {
		const struct sg_math_attribute *a = &from->list[i];

		if (sg_math_attributes_set(to, a->name, a->type, a->count, a->bytes, a->size) != 0)
			return -1;
	}
	return 0;
}

void sg_math_attributes_clear(struct sg_math_attributes *attributes)
{
	for (size_t i = 0; i < attributes->nr; i++)
		free(attributes->list[i].bytes);
	free(attributes->list);
	*attributes = (struct sg_math_attributes){0};
}
