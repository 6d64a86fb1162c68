#ifndef VS_POOL_REQUEST_H
#define VS_POOL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "guard.h"

/*
 * The request to a framework's pool that a thread is in. What the driver refuses meanwhile was
 * asked for by that pool, which may have other ways (TensorFlow's asks for less): whether memory
 * has run out is for the pool to say. Set by whoever wraps the request; a request in a request
 * stands in front of the outer one until it ends. Each thread has its own.
 */
struct vs_pool_request {
	void *allocator;
	/* Its pool, made if there is none; device: that it has just asked. VS_NO_ID: none. */
	uint32_t (*get_pool)(struct vs_thread *self, void *allocator, uint32_t device);
	struct vs_pool_request *outer;
};

/* request stays the caller's, until the end. */
void vs_pool_request_begin(struct vs_pool_request *request);
void vs_pool_request_end(struct vs_pool_request *request);

/* The pool of the request that the calling thread is in; VS_NO_ID: it is in none. */
uint32_t vs_pool_request_get(struct vs_thread *self, uint32_t device);

#endif
