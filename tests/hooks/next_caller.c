/* A library that interposes, as others do: it must find the next malloc behind itself. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *next_caller_find(const char *name);
__attribute__((visibility("default"))) void *next_caller_find_version(const char *name,
								      const char *version);
__attribute__((visibility("default"))) int next_caller_marker(void);

/* Defined here and in the program: RTLD_NEXT must not give this one back. */
int next_caller_marker(void)
{
	return 2;
}

void *next_caller_find(const char *name)
{
	/* volatile: no jump instead of a call, so that the return address is in here. */
	void *volatile function = dlsym(RTLD_NEXT, name);

	return function;
}

void *next_caller_find_version(const char *name, const char *version)
{
	void *volatile function = dlvsym(RTLD_NEXT, name, version);

	return function;
}
