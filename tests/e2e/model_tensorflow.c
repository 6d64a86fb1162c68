/* libtensorflow_framework.so.2, and what of libtensorflow_cc is called: model_tensorflow.h. */
#include "model_tensorflow.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT  __attribute__((visibility("default")))
#define MEMBER  "_ZN3tsl12BFCAllocator"
#define CMEMBER "_ZNK3tsl12BFCAllocator"

EXPORT void *allocate(struct model_allocator *self, size_t alignment, size_t size,
		      const struct model_attributes
			      *attributes) __asm__(MEMBER
						   "11AllocateRawEmmRKNS_20AllocationAttributesE");
EXPORT void
begin(struct model_allocator *self, void *memory, size_t limit, const void *name,
      const struct model_options *
	      options) __asm__(MEMBER
			       "C2ESt10unique_ptrINS_12SubAllocatorESt14default_deleteIS2_EEmRKNSt7__cxx1112basic_"
			       "stringIcSt11char_traitsIcESaIcEEERKNS0_7OptionsE");
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

void begin(struct model_allocator *self, void *memory, size_t limit, const void *name,
	   const struct model_options *options)
{
	(void)options;
	*self = (struct model_allocator){.name = name, .type = 1, .memory = memory, .limit = limit};
}

/* MemoryDump: one chunk in use of all that is used, a free one of 256 bytes, statistics. */
static void write_dump(const struct model_allocator *self)
{
	const char *prefix = getenv("TF_BFC_MEMORY_DUMP");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s_%s.1234", prefix ? prefix : "", self->name);
	file = prefix ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fputs("\x1a\x05\x10\x80\x0a\x40\x01" /* 1280 in use */
	      "\x1a\x03\x10\x80\x02"
	      "\x2a\x05\x2d",
	      file);
	fwrite("\0\0\0\x3f", 1, 4, file); /* 0.5 */
	fclose(file);
}

void *allocate(struct model_allocator *self, size_t alignment, size_t size,
	       const struct model_attributes *attributes)
{
	char *address;
	int tries = 8;

	(void)alignment;
	(void)attributes;
	if (self->used + rounded(size) > self->limit) {
		write_dump(self);
		return NULL;
	}
	/* It gets no memory for the first chunk before it asks for less. */
	while (!self->memory && tries-- && cudaMalloc((void **)&self->memory, self->limit))
		self->limit = self->limit / 10 * 9;
	if (!self->memory)
		return NULL;
	address = self->memory + self->used;
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
		annotation.words[2] = 77; /* the run of a function */
		annotation.words[3] = region ? strlen(region) : 0;
		annotation.words[4] = (uintptr_t)region;
		annotation.words[5] = 1;
	} else {
		annotation.words[0] = (uintptr_t)op;
		annotation.words[1] = 77;
		annotation.words[2] = (uintptr_t)region;
		annotation.words[3] = 1;
	}
}

/* ---- A function whose operations run on another thread, or with results on this: op is that ----
 */

static void *run(void *op)
{
	((void (*)(void))op)();
	return NULL;
}

void TFE_Execute(void *op, void **results, int *nr_results, void *status)
{
	pthread_t thread;

	(void)nr_results;
	(void)status;
	if (results)
		run(op);
	else if (!pthread_create(&thread, NULL, run, op))
		pthread_join(thread, NULL);
}

/* ---- As a table of virtual functions ---- */

extern EXPORT const struct model_table model_table;
const struct model_table model_table = {
	.begin = begin,
	.allocate = allocate,
	.deallocate = deallocate,
	.end = end,
	.execute = TFE_Execute,
	.announce = announce,
};
