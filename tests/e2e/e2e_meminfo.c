/*
 * A program that holds memory of one device, for those who ask who holds what.
 *
 *	e2e_meminfo DEVICE BYTES HOW
 *
 * "ready" on stdout when it has it; then HOW: return; wait, for the end of stdin; fail, by asking
 * for more than there is; fork, 50 times, children that end at once; nvml: use NVML as well, and
 * close it more often than it was opened.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

static void fork_often(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		if (!child) {
			/* The loader's lock must be free in here. */
			_exit(dlopen("libm.so.6", RTLD_NOW) ? 0 : 1);
		}
		int status = -1;

		waitpid(child, &status, 0);
		if (status)
			printf("child %d\n", status);
	}
}

static void use_nvml(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int (*init)(void) = NULL, (*end)(void) = NULL;

	if (library) {
		*(void **)(void *)&init = dlsym(library, "nvmlInit_v2");
		*(void **)(void *)&end = dlsym(library, "nvmlShutdown");
	}
	if (!init || !end)
		return;
	init();
	for (int i = 0; i < 5; i++)
		end();
	dlclose(library);
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	void *memory = NULL, *more = NULL;
	size_t free_size = 0, total = 0;

	if (argc != 4)
		return 2;
	if (cudaSetDevice(atoi(argv[1])) != cudaSuccess ||
	    cudaMalloc(&memory, strtoull(argv[2], NULL, 0)) != cudaSuccess)
		return 3;
	printf("ready\n");
	fflush(stdout);
	if (!strcmp(how, "wait"))
		(void)!getchar();
	else if (!strcmp(how, "fork"))
		fork_often();
	else if (!strcmp(how, "nvml"))
		use_nvml();
	else if (!strcmp(how, "fail") && cudaMemGetInfo(&free_size, &total) == cudaSuccess)
		printf("%d\n", cudaMalloc(&more, total) == cudaErrorMemoryAllocation);
	cudaFree(memory);
	printf("done\n");
	return 0;
}
