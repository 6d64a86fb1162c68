/*
 * A program that uses whatever CUDA runtime it was linked with, and says on stdout what came of it
 * and whose libraries it runs on. Linked several times: CMakeLists.txt.
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

/* One line for each CUDA library of this process. */
static void print_libraries(void)
{
	char line[4096 + 128], last[4096 + 128] = "";
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (!path || !strcmp(path, last))
			continue;
		if (strstr(path, "/libcuda.so") || strstr(path, "/libcudart"))
			printf("mapped %s", path);
		strcpy(last, path);
	}
	fclose(maps);
}

int main(void)
{
	int version = 0, count = -1;
	void *data = NULL;
	cudaError_t error;

	printf("cudaFree %d\n", cudaFree(NULL));
	printf("cudaMalloc %d\n", cudaMalloc(&data, 1 << 20));
	printf("cudaGetDeviceCount %d\n", cudaGetDeviceCount(&count));
	error = cudaRuntimeGetVersion(&version);
	printf("cudaRuntimeGetVersion %d %d\n", error, version / 1000);
	print_libraries();
	return 0;
}
