/*
 * Device code from several places: three translation units with kernels and variables of the same
 * names, and a library that comes and goes.
 */
#include "e2e_modules.cuh"

#include <dlfcn.h>

static __device__ int state[10];

static __global__ void work(int *data)
{
	data[0] = state[0];
}

static void use_own_unit()
{
	int host[10] = {1, 2, 3};
	size_t size;

	CHECK(cudaGetSymbolSize(&size, state));
	EXPECT(size == sizeof(state));
	CHECK(cudaMemcpyToSymbol(state, host, sizeof(host)));
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
}

static void use_plugin(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*run)(void);

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	EXPECT(library);
	run = (int (*)(void))dlsym(library, "e2e_plugin_run");
	EXPECT(run);
	CHECK((cudaError_t)run());
	EXPECT(dlclose(library) == 0);
}

int main(int argc, char **argv)
{
	size_t before;

	EXPECT(argc == 2);
	use_own_unit();
	e2e_modules_use_left();
	e2e_modules_use_right();
	use_plugin(argv[1]);
	before = free_memory();
	for (int i = 0; i < 50; i++)
		use_plugin(argv[1]);
	EXPECT(free_memory() == before); /* its variables went with it */
	/* What the others had is still there. */
	use_own_unit();
	e2e_modules_use_left();
	e2e_modules_use_right();
	CHECK(cudaDeviceSynchronize());
	check_maps();
	return 0;
}
