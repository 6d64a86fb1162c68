/* A libcuda.so.1 that is not softgpu's: it has a door, and behind it nothing we know. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int cuGetProcAddress_v2(const char *name, void **function,
							       int version,
							       unsigned long long flags,
							       int *status);

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
			int *status)
{
	(void)version;
	(void)flags;
	if (getenv("STRANGE_DRIVER"))
		fprintf(stderr, "strange: asked for %s\n", name);
	if (function)
		*function = NULL;
	if (status)
		*status = 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
	return 500;          /* CUDA_ERROR_NOT_FOUND */
}
