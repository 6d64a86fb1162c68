#ifndef VS_LOADED_OBJECT_H
#define VS_LOADED_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The program and the libraries that are loaded now. Questions about an object read its own tables
 * in memory: they take no lock of the loader and go through nobody's dlsym. Any thread; an object
 * must not be unloaded while it is asked about.
 */
struct vs_loaded_object {
	const struct link_map *map;
	uintptr_t start; /* lowest mapped address; with map it tells objects apart */
};

/* The object an address lies in. No lock where glibc has _dl_find_object (2.35). */
bool vs_loaded_object_at(const void *address, struct vs_loaded_object *object);

/* Whether it is still loaded, at the same place. */
bool vs_loaded_object_is_alive(const struct vs_loaded_object *object);

/*
 * The first object whose soname starts with the text; returns how many there are. Takes the
 * loader's lock for the time it looks, like dlsym.
 */
unsigned vs_loaded_object_find(const char *soname_start, struct vs_loaded_object *object);

/* The soname, or "". */
const char *vs_loaded_object_get_soname(const struct vs_loaded_object *object);

/* A function that the object itself defines, in its default version, or NULL. */
void *vs_loaded_object_get_function(const struct vs_loaded_object *object, const char *name);

/* Any symbol that the object itself defines, and its size if that is asked for; or NULL. */
void *vs_loaded_object_get_symbol(const struct vs_loaded_object *object, const char *name,
				  size_t *size);

#endif
