#ifndef SG_REFERENCE_H
#define SG_REFERENCE_H

#include "context.h"

/*
 * Texture and surface references (CUtexref, CUsurfref): what programs before texture objects used,
 * deprecated and still exported. A reference belongs to a module, which has one for each name, or
 * to the program (cuTexRefCreate). All of it is bookkeeping: what is set is checked and read back.
 *
 * One lock guards the contents of all references. Any thread.
 */
struct sg_module;

/* The module goes away, and its references with it. */
void sg_reference_forget_module(const struct sg_module *module);

/* The same for references that the program made in a context. */
void sg_reference_destroy_all(struct sg_context *context);

#endif
