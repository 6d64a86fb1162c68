/* libtensorflow_framework.so.2, and what of libtensorflow_cc is called: model_tensorflow.h. */
#include "model_tensorflow.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT  __attribute__((visibility("default")))
#define MEMBER  "_ZN3tsl12BFCAllocator"
#define CMEMBER "_ZNK3tsl12BFCAllocator"

EXPORT void *allocate(struct model_allocator *self, size_t alignment, size_t size,
		      const struct model_attributes
			      *attributes) __asm__(MEMBER
						   "11AllocateRawEmmRKNS_20AllocationAttributesE");
EXPORT void deallocate(struct model_allocator *self,
		       void *address) __asm__(MEMBER "13DeallocateRawEPv");
EXPORT void end(struct model_allocator *self) __asm__(MEMBER "D2Ev");
EXPORT size_t get_size(const struct model_allocator *self,
		       const void *address) __asm__(CMEMBER "13AllocatedSizeEPKv");
EXPORT int get_type(const struct model_allocator *self) __asm__(CMEMBER "13GetMemoryTypeEv");
EXPORT struct model_text get_name(struct model_allocator *self) __asm__(MEMBER "4NameB5cxx11Ev");
EXPORT const void *get_annotation(void) __asm__(
	"_ZN3tsl8profiler27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv");
EXPORT void TFE_Execute(void *op, void **results, int *nr_results, void *status);

static size_t rounded(size_t size)
{
	return (size + 255) / 256 * 256;
}

/* A chunk begins with nothing: its size is what was asked for, rounded up, and then some. */
static size_t sizes[1024];

static size_t *size_at(const struct model_allocator *self, const void *address)
{
	return &sizes[((size_t)((const char *)address - self->memory) / 256) % 1024];
}

void *allocate(struct model_allocator *self, size_t alignment, size_t size,
	       const struct model_attributes *attributes)
{
	char *address = self->memory + self->used;

	(void)alignment;
	(void)attributes;
	if (self->used + rounded(size) > self->limit)
		return NULL;
	self->used += rounded(size);
	*size_at(self, address) = rounded(size);
	return address;
}

void deallocate(struct model_allocator *self, void *address)
{
	if (address)
		*size_at(self, address) = 0;
}

void end(struct model_allocator *self)
{
	self->used = self->limit;
}

size_t get_size(const struct model_allocator *self, const void *address)
{
	return *size_at(self, address);
}

int get_type(const struct model_allocator *self)
{
	return self->type;
}

struct model_text get_name(struct model_allocator *self)
{
	struct model_text text = {.size = strlen(self->name)};

	if (text.size < sizeof(text.own))
		memcpy(text.own, self->name, text.size + 1);
	else
		text.bytes = strdup(self->name);
	return text;
}

/* ---- What a thread is doing ---- */

static _Thread_local struct {
	uint64_t words[6]; /* in one of the two ways */
} annotation;

const void *get_annotation(void)
{
	return &annotation;
}

static void announce(bool is_new, const char *op, const char *region)
{
	memset(&annotation, 0, sizeof(annotation));
	if (is_new) {
		annotation.words[0] = op ? strlen(op) : 0;
		annotation.words[1] = (uintptr_t)op;
		annotation.words[3] = region ? strlen(region) : 0;
		annotation.words[4] = (uintptr_t)region;
		annotation.words[5] = 1;
	} else {
		annotation.words[0] = (uintptr_t)op;
		annotation.words[2] = (uintptr_t)region;
		annotation.words[3] = 1;
	}
}

/* ---- A function whose operations run on another thread: op is that ---- */

static void *run(void *op)
{
	((void (*)(void))op)();
	return NULL;
}

void TFE_Execute(void *op, void **results, int *nr_results, void *status)
{
	pthread_t thread;

	(void)results;
	(void)nr_results;
	(void)status;
	if (!pthread_create(&thread, NULL, run, op))
		pthread_join(thread, NULL);
}

/* ---- As a table of virtual functions ---- */

extern EXPORT const struct model_table model_table;
const struct model_table model_table = {
	.allocate = allocate,
	.deallocate = deallocate,
	.end = end,
	.execute = TFE_Execute,
	.announce = announce,
};
