/* Loaded and unloaded by e2e_modules: device code that comes late and leaves early. */
#include "e2e_modules.cuh"

__device__ int plugin_state[1 << 20];
__managed__ int plugin_counter;

static __global__ void work(int *data)
{
	data[0] = plugin_state[0];
}

static cudaError_t run()
{
	static int host[1 << 20], back[1 << 20];
	cudaError_t error;

	for (int i = 0; i < 1 << 20; i++)
		host[i] = i;
	error = cudaMemcpyToSymbol(plugin_state, host, sizeof(host));
	if (error == cudaSuccess)
		error = cudaMemcpyFromSymbol(back, plugin_state, sizeof(back));
	if (error == cudaSuccess && memcmp(host, back, sizeof(back)))
		error = cudaErrorUnknown;
	plugin_counter++;
	work<<<1, 1>>>(nullptr);
	return error == cudaSuccess ? cudaGetLastError() : error;
}

extern "C" __attribute__((visibility("default"))) int e2e_plugin_run()
{
	launcher<20>::run();
	return (int)run();
}
