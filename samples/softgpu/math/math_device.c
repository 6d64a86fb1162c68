#include "math_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

typedef unsigned long long device_address;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Written once, by load. */
static struct {
	int (*init)(unsigned flags);
	int (*get_current)(void **context);
	int (*set_current)(void *context);
	int (*get_device)(int *device);
	int (*retain)(void **context, int device);
	int (*alloc)(device_address *address, size_t size);
	int (*free)(device_address address);
	int (*copy)(device_address to, device_address from, size_t size, void *stream);
	int is_complete;
} driver;

static int find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	*(void **)function = symbol;
	return symbol != NULL;
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return;
	driver.is_complete = find(library, "cuInit", &driver.init) &&
			     find(library, "cuCtxGetCurrent", &driver.get_current) &&
			     find(library, "cuCtxSetCurrent", &driver.set_current) &&
			     find(library, "cuCtxGetDevice", &driver.get_device) &&
			     find(library, "cuDevicePrimaryCtxRetain", &driver.retain) &&
			     find(library, "cuMemAlloc_v2", &driver.alloc) &&
			     find(library, "cuMemFree_v2", &driver.free) &&
			     find(library, "cuMemcpyAsync", &driver.copy);
}

/* As the runtime does it: a thread without a context gets the primary one. */
static int enter(void)
{
	void *context = NULL;

	pthread_once(&once, load);
	if (!driver.is_complete || driver.init(0) != 0)
		return -1;
	if (driver.get_current(&context) == 0 && context)
		return 0;
	if (driver.retain(&context, 0) != 0 || driver.set_current(context) != 0)
		return -1;
	return 0;
}

int sg_math_device_current(int *device)
{
	return enter() != 0 || driver.get_device(device) != 0 ? -1 : 0;
}

int sg_math_device_alloc(void **memory, size_t size)
{
	device_address address = 0;

	if (enter() != 0 || driver.alloc(&address, size) != 0)
		return -1;
	*memory = (void *)(uintptr_t)address;
	return 0;
}

int sg_math_device_free(void *memory)
{
	if (!memory)
		return 0;
	return enter() != 0 || driver.free((uintptr_t)memory) != 0 ? -1 : 0;
}

int sg_math_device_copy(void *to, const void *from, size_t size, void *stream)
{
	if (size == 0 || to == from)
		return 0;
	return enter() != 0 || driver.copy((uintptr_t)to, (uintptr_t)from, size, stream) != 0 ? -1
											      : 0;
}
