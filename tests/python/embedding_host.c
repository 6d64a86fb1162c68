/*
 * A program that loads Python late, for itself alone, and has it run a text that calls alloc(size):
 *
 *	embedding_host LIBRARY TEXT
 *
 * Modules of Python's own cannot be loaded that way; no header of it is needed.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include <cuda_runtime_api.h>

/* PyMethodDef, the same since ever. METH_O: one argument. */
struct method {
	const char *name;
	void *(*function)(void *self, void *argument);
	int flags;
	const char *text;
};
#define METH_O 8

static void *library;

/* NAME(result, argument...): the type of a function of Python's, and the function. */
#define PYTHON(name, result, ...) ((result(*)(__VA_ARGS__))dlsym(library, name))

static void *alloc(void *self, void *argument)
{
	size_t size = PYTHON("PyLong_AsSize_t", size_t, void *)(argument);
	void *pointer;

	(void)self;
	return PYTHON("PyLong_FromLong", void *, long)((long)cudaMalloc(&pointer, size));
}

int main(int argc, char **argv)
{
	static struct method method = {"alloc", alloc, METH_O, NULL};
	void *module;

	if (argc < 3)
		return 2;
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	PYTHON("Py_InitializeEx", void, int)(0);
	module = PYTHON("PyImport_AddModule", void *, const char *)("__main__");
	PYTHON("PyObject_SetAttrString", int, void *, const char *, void *)
	(module, "alloc",
	 PYTHON("PyCFunction_NewEx", void *, struct method *, void *, void *)(&method, NULL, NULL));
	return PYTHON("PyRun_SimpleString", int, const char *)(argv[2]);
}
