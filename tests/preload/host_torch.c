/* Does what a program does with PyTorch, by the model of it: host_torch FOLDER */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_torch.h"

static void *open_library(const char *folder, const char *name)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/lib/%s", folder, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

int main(int argc, char **argv)
{
	const struct model_device device = {1, 0};
	const struct model_table *table;
	const struct model_heard *heard;
	void (*report_host)(void *address, int64_t size);
	void *c10, *cuda;
	int object;

	if (argc != 2)
		return 2;
	c10 = open_library(argv[1], "libc10.so");
	cuda = open_library(argv[1], "libc10_cuda.so");
	table = dlsym(cuda, "model_table");
	heard = dlsym(c10, "model_heard");
	*(void **)(void *)&report_host = dlsym(c10, "model_report_host");
	report_host((void *)0x100, 64);
	table->usage_2_0((void *)0x10000, 512, 512, 4096, device);
	table->usage_2_0((void *)0x10200, 1024, 1536, 4096, device);
	table->usage_2_0((void *)0x10000, -512, 1024, 4096, device);
	table->out_2_0(1 << 20, 1024, 4096, device);
	table->out_of_memory(&object, "CUDA out of memory. Tried to allocate 1.00 MiB.");
	printf("%u heard, %s at %u\n", heard->nr, heard->function, heard->location.line);
	return heard->address != &object;
}
