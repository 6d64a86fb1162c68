/*
 * A program with its own idea of names that our libraries use. They are exported, so every library
 * that looks for them globally finds these first.
 */
#include <dlfcn.h>
#include <stdio.h>

#include <vramscope.h>

#define MINE(name)                                              \
	__attribute__((visibility("default"))) long name(void); \
	static unsigned nr_##name;                              \
	long name(void)                                         \
	{                                                       \
		nr_##name++;                                    \
		return -12345;                                  \
	}

MINE(deflate)
MINE(deflateInit_)
MINE(deflateInit2_)
MINE(deflateEnd)
MINE(crc32)
MINE(adler32)
MINE(compress2)
MINE(compressBound)
MINE(_Unwind_Backtrace)
MINE(unw_backtrace)
MINE(unw_step)
MINE(_ULx86_64_step)
MINE(_ULx86_64_init_local)
MINE(_Ux86_64_getcontext)
MINE(vs_recorder_name)
MINE(vs_guard_enter)
MINE(vs_message_print)

int main(void)
{
	vs_pool pool = vs_pool_create("symbols", 0, 0);
	unsigned nr_called;

	for (uintptr_t i = 1; i <= 30000; i++)
		vs_pool_alloc(pool, (const void *)i, 1);
	/* Whoever calls them but us is a stranger. */
	nr_called = nr_deflate + nr_deflateInit_ + nr_deflateInit2_ + nr_deflateEnd + nr_crc32 +
		    nr_adler32 + nr_compress2 + nr_compressBound + nr__Unwind_Backtrace +
		    nr_unw_backtrace + nr_unw_step + nr__ULx86_64_step + nr__ULx86_64_init_local +
		    nr__Ux86_64_getcontext + nr_vs_recorder_name + nr_vs_guard_enter +
		    nr_vs_message_print;
	printf("called %u times\n", nr_called);
	/* And they still are what the program calls. */
	if (deflate() != -12345 || unw_backtrace() != -12345 ||
	    dlsym(NULL, "deflate") != (void *)(uintptr_t)deflate)
		return 1;
	return 0;
}
