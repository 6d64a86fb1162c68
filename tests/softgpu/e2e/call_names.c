/*
 * usage: call_names LIBRARY [FIRST] <names
 *
 * Calls each function named on stdin twice, without arguments, and prints what it answered. For
 * functions that look at no argument. FIRST is called once before.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*function)(void);

int main(int argc, char **argv)
{
	void *library = argc >= 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char name[256];
	function call;

	if (!library) {
		fprintf(stderr, "%s\n", argc >= 2 ? dlerror() : "no library given");
		return 1;
	}
	if (argc >= 3) {
		call = (function)dlsym(library, argv[2]);
		if (!call || call() != 0)
			return 1;
	}
	while (fgets(name, sizeof(name), stdin)) {
		int first;

		name[strcspn(name, "\n")] = '\0';
		call = (function)dlsym(library, name);
		if (!call)
			return 1;
		first = call();
		printf("%s %d %d\n", name, first, call());
	}
	return 0;
}
