#ifndef SG_PEER_H
#define SG_PEER_H

#include "context.h"

/*
 * Peer access: any two devices of the card can reach each other, as over PCI Express. That a
 * context may use the memory of another changes nothing here, because kernels do not run and copies
 * need no permission; it is kept to answer as documented. Any thread.
 */

/* Forget what a context that goes away allowed or was allowed. */
void sg_peer_forget(const struct sg_context *context);

#endif
