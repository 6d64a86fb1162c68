#include "tensorflow_allocators.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "behind.h"
#include "compose.h"
#include "hot.h"
#include "lifecycle.h"
#include "recorder.h"

#define LIBRARY "libtensorflow_framework.so"

/* tsl::AllocatorMemoryType */
enum memory_type {
	MEMORY_UNKNOWN,
	MEMORY_DEVICE,
	MEMORY_HOST,
	MEMORY_PINNED,
};

/* Instead of a pool: memory that no part of CUDA knows of. */
#define NOT_WANTED UINT32_MAX

/* Place of one that has ended: searches go on behind it. */
#define ENDED UINTPTR_MAX

static struct entry {
	_Atomic uintptr_t allocator; /* 0: never used */
	_Atomic uint32_t pool;
	_Atomic uint64_t limit_size; /* 0: not known, then can_grow is not, either */
	_Atomic bool can_grow;
} entries[VS_TENSORFLOW_ALLOCATORS_MAX];

static struct entry *find(const void *allocator)
{
	uint32_t at = (uint32_t)((uintptr_t)allocator * UINT64_C(0x9e3779b97f4a7c15) >> 56);

	for (uint32_t i = 0; i < VS_TENSORFLOW_ALLOCATORS_MAX; i++) {
		struct entry *entry = &entries[(at + i) % VS_TENSORFLOW_ALLOCATORS_MAX];
		uintptr_t there = atomic_load_explicit(&entry->allocator, memory_order_acquire);

		if (there == (uintptr_t)allocator)
			return entry;
		if (!there)
			break;
	}
	return NULL;
}

/* ---- What an allocator says of itself -------------------------------------------------------- */

/* libstdc++'s, as it is returned: in memory of the caller's. */
struct text {
	char *bytes;
	size_t size;
	char own[16];
};

/* operator delete of the program; without one, it is as much as is lost once for an allocator. */
static void delete_text(struct text *text)
{
	static struct vs_behind behind = {.library = "libstdc++.so", .name = "_ZdlPv"};
	void (*delete)(void *) = (void (*)(void *))vs_behind_get(&behind);

	if (delete)
		delete (text->bytes);
}

void vs_tensorflow_allocators_get_name(void *allocator, char *name, size_t max)
{
	static struct vs_behind behind = {.library = LIBRARY,
					  .name = "_ZN3tsl12BFCAllocator4NameB5cxx11Ev"};
	static struct vs_behind older = {.library = LIBRARY,
					 .name = "_ZN10tensorflow12BFCAllocator4NameB5cxx11Ev"};
	static struct vs_behind plain = {.library = LIBRARY,
					 .name = "_ZN3tsl12BFCAllocator4NameEv"};
	struct text (*get)(void *) = (struct text(*)(void *))vs_behind_get(&behind);
	struct text text;
	size_t size;

	if (!get)
		get = (struct text(*)(void *))vs_behind_get(&older);
	if (!get)
		get = (struct text(*)(void *))vs_behind_get(&plain);
	if (!get) {
		strncpy(name, "BFC", max);
		return;
	}
	text = get(allocator);
	/* A short one is in the object itself, which has been copied since. */
	size = text.size < max - 1 ? text.size : max - 1;
	memcpy(name, text.size < sizeof(text.own) ? text.own : text.bytes, size);
	name[size] = '\0';
	if (text.size >= sizeof(text.own))
		delete_text(&text);
}

static enum memory_type get_type(void *allocator)
{
	static struct vs_behind behind = {.library = LIBRARY,
					  .name = "_ZNK3tsl12BFCAllocator13GetMemoryTypeEv"};
	int (*get)(void *) = (int (*)(void *))vs_behind_get(&behind);

	return get ? (enum memory_type)get(allocator) : MEMORY_UNKNOWN;
}

/* "GPU_1_bfc" */
static uint32_t read_device(const char *name)
{
	const char *digits = strpbrk(name, "0123456789");

	if (strncmp(name, "GPU", 3) != 0 || !digits)
		return VS_NO_DEVICE;
	return (uint32_t)strtoul(digits, NULL, 10);
}

static void tell_version(void)
{
	static struct vs_behind behind = {.library = "libtensorflow_cc.so", .name = "TF_Version"};
	const char *(*get)(void) = (const char *(*)(void))vs_behind_get(&behind);

	if (get)
		vs_recorder_add_fact("tensorflow.version", get());
}

/* "tensorflow.pool.GPU_0_bfc": "limit 2074361856 bytes, taken as they are needed" */
static void tell_settings(const struct entry *entry, const char *name)
{
	uint64_t limit = atomic_load_explicit(&entry->limit_size, memory_order_acquire);
	char key[96], value[96];
	struct vs_compose text;

	tell_version();
	if (!limit)
		return;
	vs_compose_init(&text, key, sizeof(key));
	vs_compose_add(&text, "tensorflow.pool.");
	vs_compose_add(&text, name);
	vs_compose_init(&text, value, sizeof(value));
	vs_compose_add(&text, "limit ");
	vs_compose_add_number(&text, limit);
	vs_compose_add(&text, atomic_load(&entry->can_grow) ? " bytes, taken as they are needed"
							    : " bytes, taken at once");
	vs_recorder_add_fact(key, value);
}

static uint32_t make_pool(struct vs_thread *self, const struct entry *entry, void *allocator,
			  uint32_t device)
{
	char text[96] = "TensorFlow ";
	char *name = text + strlen(text);
	enum memory_type type = get_type(allocator);

	if (type == MEMORY_HOST && !vs_lifecycle_settings()->host_pools)
		return NOT_WANTED;
	vs_tensorflow_allocators_get_name(allocator, name, sizeof(text) - strlen(text));
	/* Names count devices as TensorFlow does: parts of one card are several. */
	if (device == VS_NO_DEVICE)
		device = read_device(name);
	if (type == MEMORY_PINNED || type == MEMORY_HOST)
		device = VS_NO_DEVICE;
	tell_settings(entry, name);
	return vs_recorder_create_pool(
		self, VS_POOL_FRAMEWORK, text, device,
		atomic_load_explicit(&entry->limit_size, memory_order_acquire));
}

/* ---- The table ------------------------------------------------------------------------------- */

static struct entry *add(uintptr_t allocator)
{
	uint32_t at = (uint32_t)(allocator * UINT64_C(0x9e3779b97f4a7c15) >> 56);

	for (uint32_t i = 0; i < VS_TENSORFLOW_ALLOCATORS_MAX; i++) {
		struct entry *entry = &entries[(at + i) % VS_TENSORFLOW_ALLOCATORS_MAX];
		uintptr_t there = atomic_load_explicit(&entry->allocator, memory_order_acquire);

		if (there == allocator)
			return entry;
		if ((there == 0 || there == ENDED) &&
		    atomic_compare_exchange_strong(&entry->allocator, &there, allocator))
			return entry;
	}
	return NULL;
}

void vs_tensorflow_allocators_begin(const void *allocator, uint64_t limit_size, bool can_grow)
{
	struct entry *entry = add((uintptr_t)allocator);

	if (!entry)
		return;
	/* One that was there before, and whose end was not seen, is no more. */
	atomic_store(&entry->pool, VS_NO_ID);
	atomic_store(&entry->can_grow, can_grow);
	atomic_store_explicit(&entry->limit_size, limit_size, memory_order_release);
}

VS_HOT uint32_t vs_tensorflow_allocators_get_pool(struct vs_thread *self, void *allocator,
						  uint32_t device)
{
	struct entry *entry = find(allocator);
	uint32_t none = VS_NO_ID, pool;

	if (!entry)
		entry = add((uintptr_t)allocator);
	if (!entry)
		return VS_NO_ID;
	pool = atomic_load_explicit(&entry->pool, memory_order_acquire);
	if (__builtin_expect(pool == VS_NO_ID, 0)) {
		pool = make_pool(self, entry, allocator, device);
		if (!atomic_compare_exchange_strong(&entry->pool, &none, pool))
			pool = none;
	}
	return pool != NOT_WANTED ? pool : VS_NO_ID;
}

VS_HOT uint32_t vs_tensorflow_allocators_find_pool(const void *allocator)
{
	struct entry *entry = find(allocator);
	uint32_t pool = entry ? atomic_load_explicit(&entry->pool, memory_order_acquire) : VS_NO_ID;

	return pool != NOT_WANTED ? pool : VS_NO_ID;
}

void vs_tensorflow_allocators_end(struct vs_thread *self, const void *allocator)
{
	struct entry *entry = find(allocator);
	uint32_t pool = entry ? atomic_exchange(&entry->pool, VS_NO_ID) : VS_NO_ID;

	if (pool != VS_NO_ID && pool != NOT_WANTED)
		vs_recorder_end_pool(self, pool);
	if (!entry)
		return;
	atomic_store(&entry->limit_size, 0);
	atomic_store_explicit(&entry->allocator, ENDED, memory_order_release);
}
