/*
 * Who answers: reads lines "NAME VERSION FLAGS" and asks cuGetProcAddress for each, through the
 * door (argv[1]) that a CUDA runtime goes through. Prints "NAME VERSION FLAGS FILE SYMBOL", the
 * file that the answer lies in and its name there; first the door itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*door_of_11)(const char *name, void **function, int version, uint64_t flags);
typedef int (*door_of_12)(const char *name, void **function, int version, uint64_t flags,
			  int *status);

static void print_place(void *address)
{
	Dl_info info = {0};
	const char *slash;

	if (!address || !dladdr(address, &info) || !info.dli_fname) {
		printf(" none none\n");
		return;
	}
	slash = strrchr(info.dli_fname, '/');
	printf(" %s %s\n", slash ? slash + 1 : info.dli_fname,
	       info.dli_sname ? info.dli_sname : "none");
}

int main(int argc, char **argv)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *door, *function;
	unsigned long long flags;
	int version, status;
	char name[256];

	if (argc != 2 || !library)
		return 1;
	door = dlsym(library, argv[1]);
	if (!door)
		return 1;
	printf("door 0 0");
	print_place(door);
	while (scanf("%255s %d %llu", name, &version, &flags) == 3) {
		function = NULL;
		if (strcmp(argv[1], "cuGetProcAddress") == 0)
			(*(door_of_11 *)(void *)&door)(name, &function, version, flags);
		else
			(*(door_of_12 *)(void *)&door)(name, &function, version, flags, &status);
		printf("%s %d %llu", name, version, flags);
		print_place(function);
	}
	return 0;
}
