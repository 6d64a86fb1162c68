#include "paper_loader.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

#define MAX_OBJECTS 256
/* Below all that a program maps: no address of the test is in an object. */
#define FIRST_PLACE ((uintptr_t)1)

struct object {
	struct link_map map;
	const char *soname; /* NULL: not loaded */
	vs_paper_loader_find_fn find;
	const struct object *library;
};

static struct object objects[MAX_OBJECTS];
static unsigned nr_objects;
static const struct object *shown;
static _Atomic unsigned long nr_lookups;

static struct vs_loaded_object describe(const struct object *object)
{
	return (struct vs_loaded_object){
		.map = &object->map,
		.start =
			(FIRST_PLACE + (uintptr_t)(object - objects)) * VS_PAPER_LOADER_OBJECT_SIZE,
	};
}

static struct object *find_object(const struct vs_loaded_object *described)
{
	return &objects[described->start / VS_PAPER_LOADER_OBJECT_SIZE - FIRST_PLACE];
}

struct vs_loaded_object vs_paper_loader_load(const char *soname, vs_paper_loader_find_fn find)
{
	struct object *object = &objects[nr_objects++];

	if (nr_objects > MAX_OBJECTS)
		abort();
	object->soname = soname;
	object->find = find;
	return describe(object);
}

void vs_paper_loader_load_again(const struct vs_loaded_object *object, const char *soname)
{
	find_object(object)->soname = soname;
}

void vs_paper_loader_unload(const struct vs_loaded_object *object)
{
	struct object *gone = find_object(object);

	gone->soname = NULL;
	gone->library = NULL;
	if (shown == gone)
		shown = NULL;
}

void vs_paper_loader_unload_all(void)
{
	struct vs_loaded_object object;

	for (unsigned i = 0; i < nr_objects; i++) {
		object = describe(&objects[i]);
		vs_paper_loader_unload(&object);
	}
}

void vs_paper_loader_link(const struct vs_loaded_object *object,
			  const struct vs_loaded_object *library)
{
	find_object(object)->library = find_object(library);
}

void vs_paper_loader_show(const struct vs_loaded_object *library)
{
	shown = library ? find_object(library) : NULL;
}

const void *vs_paper_loader_get_code(const struct vs_loaded_object *object)
{
	return (const void *)(object->start + VS_PAPER_LOADER_OBJECT_SIZE / 2);
}

unsigned long vs_paper_loader_get_nr_lookups(void)
{
	return atomic_load(&nr_lookups);
}

/* ---- loaded_object.h ---- */

bool vs_loaded_object_at(const void *address, struct vs_loaded_object *object)
{
	uintptr_t place = (uintptr_t)address / VS_PAPER_LOADER_OBJECT_SIZE;

	if (place < FIRST_PLACE || place - FIRST_PLACE >= nr_objects ||
	    !objects[place - FIRST_PLACE].soname)
		return false;
	*object = describe(&objects[place - FIRST_PLACE]);
	return true;
}

bool vs_loaded_object_is_alive(const struct vs_loaded_object *object)
{
	return find_object(object)->soname != NULL;
}

const char *vs_loaded_object_get_soname(const struct vs_loaded_object *object)
{
	return find_object(object)->soname;
}

unsigned vs_loaded_object_find(const char *soname_start, struct vs_loaded_object *object)
{
	unsigned nr_found = 0;

	for (unsigned i = 0; i < nr_objects; i++)
		if (objects[i].soname &&
		    strncmp(objects[i].soname, soname_start, strlen(soname_start)) == 0 &&
		    !nr_found++)
			*object = describe(&objects[i]);
	return nr_found;
}

static void *find_function(const struct object *object, const char *name)
{
	unsigned offset = 1;

	if (object->find)
		return object->find(name);
	for (const char *c = name; *c; c++)
		offset = offset * 31 + (unsigned char)*c;
	return (void *)(describe(object).start + offset % VS_PAPER_LOADER_OBJECT_SIZE);
}

void *vs_loaded_object_get_function(const struct vs_loaded_object *object, const char *name)
{
	return find_function(find_object(object), name);
}

/* ---- resolve.h ---- */

void *vs_resolve_find_in_scope(const struct vs_loaded_object *object, const char *name)
{
	const struct object *library = find_object(object)->library;

	atomic_fetch_add(&nr_lookups, 1);
	return library ? find_function(library, name) : NULL;
}

void *vs_resolve_find_next(const char *name)
{
	return shown ? find_function(shown, name) : NULL;
}

uint64_t vs_resolve_get_nr_unsure(void)
{
	return 0;
}
