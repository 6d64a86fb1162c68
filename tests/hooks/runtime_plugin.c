/*
 * A library that brings its own runtime; built once for each. Which runtime a call reached is told
 * by the last error, of which each runtime has its own, and which nobody hooks.
 */
#include <cuda_runtime_api.h>

__attribute__((visibility("default"))) int runtime_plugin_reaches_its_own(void);
__attribute__((visibility("default"))) cudaError_t runtime_plugin_allocate(void **p, size_t size);
__attribute__((visibility("default"))) cudaError_t runtime_plugin_free(void *p);

int runtime_plugin_reaches_its_own(void)
{
	cudaError_t error;

	(void)cudaGetLastError();
	error = cudaMalloc(NULL, 1);
	return error == cudaErrorInvalidValue && cudaGetLastError() == error;
}

cudaError_t runtime_plugin_allocate(void **p, size_t size)
{
	return cudaMalloc(p, size);
}

cudaError_t runtime_plugin_free(void *p)
{
	return cudaFree(p);
}
