#ifndef VS_PAPER_LOADER_H
#define VS_PAPER_LOADER_H

#include "loaded_object.h"

/*
 * A loader on paper: stands in for loaded_object.c, and for what resolve.c asks the real one. Its
 * objects are there when a test says so, hold no code, and no two lie at the same place unless the
 * test wants it. Questions may come from any thread, changes from one.
 */

#define VS_PAPER_LOADER_OBJECT_SIZE 0x10000u

/* What an object answers for the name of a function. */
typedef void *(*vs_paper_loader_find_fn)(const char *name);

/* Loads an object. Without `find` it has every function, somewhere inside itself. */
struct vs_loaded_object vs_paper_loader_load(const char *soname, vs_paper_loader_find_fn find);

/* The same at the place of one that is gone. */
void vs_paper_loader_load_again(const struct vs_loaded_object *object, const char *soname);

void vs_paper_loader_unload(const struct vs_loaded_object *object);

/* All of them. Places are not used again. */
void vs_paper_loader_unload_all(void);

/* `object` was linked with `library`, and finds its functions. */
void vs_paper_loader_link(const struct vs_loaded_object *object,
			  const struct vs_loaded_object *library);

/* What everybody sees; NULL: nothing. */
void vs_paper_loader_show(const struct vs_loaded_object *library);

/* An address in the object's code. */
const void *vs_paper_loader_get_code(const struct vs_loaded_object *object);

/* How often somebody looked through the libraries of an object. */
unsigned long vs_paper_loader_get_nr_lookups(void);

#endif
