#ifndef SG_TEXTURE_H
#define SG_TEXTURE_H

#include "context.h"

/*
 * Texture and surface objects: descriptions that are checked, kept and read back. No kernel samples
 * them. A handle is the address of its object, which no program may look into.
 *
 * Objects are written before their handle is given out, and then only read: any thread. What an
 * object describes may go before it does, as on a GPU.
 */

/* Forget all texture and surface objects of a context that goes away. */
void sg_texture_destroy_all(struct sg_context *context);

#endif
