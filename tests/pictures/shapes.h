#ifndef VS_SHAPES_H
#define VS_SHAPES_H

/*
 * Programs for symbols_test. Each says on stdout what it is made of and what the names of some
 * return addresses are; shapes_probe.c. They share no code with the analyzer.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Prints "module PATH START END BIAS BUILD-ID", hexadecimal, for everything loaded. */
void print_modules(void);

/* Prints "pc ADDRESS EXPECTED": what the address this returns to should resolve to. */
__attribute__((noinline)) void probe(const char *expected);

/* The same and the end: the address behind the call belongs to another function, or to none. */
__attribute__((noinline, noreturn)) void probe_exit(const char *expected);

/* In the shared library. */
int library_entry(int value);

#ifdef __cplusplus
}
#endif

/* Keeps a call from becoming a jump, and its result from being folded. */
#define STAY() __asm__ volatile("" ::: "memory")

#endif
