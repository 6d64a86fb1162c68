#include "shapes.h"

/* Expected text: FUNCTION at FILE:LINE, innermost first. The #line directives fix the lines. */

static inline __attribute__((always_inline)) int innermost(int value)
{
#line 100 "inner.h"
	probe("innermost at inner.h:100 < middle at middle.h:200 < outer at program.c:300");
	STAY();
	return value + 1;
}

static inline __attribute__((always_inline)) int middle(int value)
{
#line 200 "middle.h"
	value = innermost(value);
	return value * 2;
}

__attribute__((noinline)) static int outer(int value)
{
#line 300 "program.c"
	value = middle(value);
	STAY();
	return value;
}

__attribute__((noinline, noreturn)) static void last_call(void)
{
#line 400 "program.c"
	probe_exit("last_call at program.c:400");
}

__attribute__((noinline)) static int plain(int value)
{
#line 500 "program.c"
	probe("plain at program.c:500");
	STAY();
	return value;
}

int main(int argc, char **argv)
{
	(void)argv;
	print_modules();
	argc = plain(argc) + outer(argc);
#ifdef WITH_LIBRARY
	argc += library_entry(argc);
#endif
	if (argc < 0)
		return 1;
	last_call();
}
