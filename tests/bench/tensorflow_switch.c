/*
 * Lies in front of libvramscope.so and passes the calls of TensorFlow's functions that both have on
 * to the one or to the other: one process does the same work with us and without, in the same
 * memory. Two processes differ by more than what is to be measured.
 *
 * Calls jump: no stack shows that this was in between.
 */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* Number, library, name. */
#define FUNCTIONS(FUNCTION)                                                                    \
	FUNCTION(0, "libtensorflow_framework.so.2",                                            \
		 "_ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE")          \
	FUNCTION(1, "libtensorflow_framework.so.2", "_ZN3tsl12BFCAllocator13DeallocateRawEPv") \
	FUNCTION(2, "libtensorflow_cc.so.2", "TFE_Execute")

#define NR_FUNCTIONS 3

#define ROW(number, library, name) [number] = {library, name},
static const struct {
	const char *library;
	const char *name;
} functions[NR_FUNCTIONS] = {FUNCTIONS(ROW)};

static void *ours[NR_FUNCTIONS];
static void *theirs[NR_FUNCTIONS];

/* Where calls go now. */
__attribute__((used)) void *bench_switch_targets[NR_FUNCTIONS]
	__attribute__((visibility("hidden")));

#define ENTRY(number, library, name)                                          \
	__asm__(".globl " name "\n"                                           \
		".type " name ", @function\n" name ":\n"                      \
		"	jmpq *bench_switch_targets + 8 * " #number "(%rip)\n" \
		".size " name ", . - " name "\n");
FUNCTIONS(ENTRY)

EXPORT int bench_switch_find(void);
EXPORT void bench_switch_set(int is_with_us);

/* When TensorFlow is loaded. 0: not all are there. */
int bench_switch_find(void)
{
	for (unsigned i = 0; i < NR_FUNCTIONS; i++) {
		void *library = dlopen(functions[i].library, RTLD_LAZY | RTLD_NOLOAD);

		theirs[i] = library ? dlsym(library, functions[i].name) : NULL;
		if (!theirs[i] || !ours[i] || theirs[i] == ours[i])
			return 0;
	}
	return 1;
}

/* While no call is under way. */
void bench_switch_set(int is_with_us)
{
	for (unsigned i = 0; i < NR_FUNCTIONS; i++)
		bench_switch_targets[i] = is_with_us ? ours[i] : theirs[i];
}

__attribute__((constructor)) static void begin(void)
{
	for (unsigned i = 0; i < NR_FUNCTIONS; i++)
		ours[i] = dlsym(RTLD_NEXT, functions[i].name);
	bench_switch_set(1);
}
