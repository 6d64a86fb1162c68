/* Loads a model of Python, and allocates through it: model_host LIBRARY */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*alloc)(size_t size);
	int status = 0;

	if (!library || !dlsym(library, "Py_GetVersion"))
		return 3;
	alloc = (int (*)(size_t))dlsym(library, "model_alloc");
	for (size_t i = 1; i <= 100 && !status; i++)
		status = alloc(i * 1000);
	return status;
}
