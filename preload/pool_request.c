#include "pool_request.h"

#include "record.h"

/* initial-exec: the general model may allocate at a thread's first use. */
static _Thread_local struct vs_pool_request *innermost __attribute__((tls_model("initial-exec")));

void vs_pool_request_begin(struct vs_pool_request *request)
{
	request->outer = innermost;
	innermost = request;
}

void vs_pool_request_end(struct vs_pool_request *request)
{
	innermost = request->outer;
}

uint32_t vs_pool_request_get(struct vs_thread *self, uint32_t device)
{
	return innermost ? innermost->get_pool(self, innermost->allocator, device) : VS_NO_ID;
}
