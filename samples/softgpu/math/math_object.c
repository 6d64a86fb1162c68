#include "math_object.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* Open addressing; a destroyed entry keeps its place (GONE) until the table is made anew. */
struct entry {
	void *object;
	int kind;
};

static char gone;
#define GONE ((void *)&gone)

/* Guarded by the lock. At most two thirds of the places are taken. */
static struct {
	pthread_mutex_t lock;
	struct entry *entries;
	size_t nr_places; /* a power of two */
	size_t nr_taken;  /* GONE ones included */
	size_t nr_living;
} set = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t first_place(const void *object, size_t nr_places)
{
	return (size_t)(((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
	       (nr_places - 1);
}

static struct entry *find(const void *object)
{
	if (!set.nr_places || !object || object == GONE)
		return NULL;
	for (size_t i = first_place(object, set.nr_places); set.entries[i].object;
	     i = (i + 1) & (set.nr_places - 1)) {
		if (set.entries[i].object == object)
			return &set.entries[i];
	}
	return NULL;
}

static void insert(struct entry *entries, size_t nr_places, struct entry added)
{
	size_t i = first_place(added.object, nr_places);

	while (entries[i].object)
		i = (i + 1) & (nr_places - 1);
	entries[i] = added;
}

static bool make_room(void)
{
	size_t nr_places = 64;
	struct entry *entries;

	if ((set.nr_taken + 1) * 3 <= set.nr_places * 2)
		return true;
	while (nr_places < (set.nr_living + 1) * 3)
		nr_places *= 2;
	entries = calloc(nr_places, sizeof(*entries));
	if (!entries)
		return false;
	for (size_t i = 0; i < set.nr_places; i++) {
		if (set.entries[i].object && set.entries[i].object != GONE)
			insert(entries, nr_places, set.entries[i]);
	}
	free(set.entries);
	set.entries = entries;
	set.nr_places = nr_places;
	set.nr_taken = set.nr_living;
	return true;
}

void *sg_math_object_create(int kind, size_t size)
{
	void *object = calloc(1, size < SG_MATH_OBJECT_SIZE ? SG_MATH_OBJECT_SIZE : size);

	if (!object)
		return NULL;
	pthread_mutex_lock(&set.lock);
	if (make_room()) {
		insert(set.entries, set.nr_places, (struct entry){object, kind});
		set.nr_taken++;
		set.nr_living++;
	} else {
		free(object);
		object = NULL;
	}
	pthread_mutex_unlock(&set.lock);
	return object;
}

void *sg_math_object_get(int kind, const void *handle)
{
	struct entry *entry;
	void *object = NULL;

	pthread_mutex_lock(&set.lock);
	entry = find(handle);
	if (entry && (kind == SG_MATH_ANY || kind == entry->kind))
		object = entry->object;
	pthread_mutex_unlock(&set.lock);
	return object;
}

bool sg_math_object_destroy(int kind, void *handle)
{
	struct entry *entry;
	void *object = NULL;

	pthread_mutex_lock(&set.lock);
	entry = find(handle);
	if (entry && (kind == SG_MATH_ANY || kind == entry->kind)) {
		object = entry->object;
		entry->object = GONE;
		set.nr_living--;
	}
	pthread_mutex_unlock(&set.lock);
	free(object);
	return object != NULL;
}
