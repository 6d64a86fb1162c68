#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "imports.h"
#include "message.h"
#include "private_library.h"

/* Not linked with libz or libunwind: what is there came by the private way. */

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif

#define HAS_ZLIB   1
#define HAS_UNWIND 2

static int init(void **state)
{
	(void)state;
	vs_message_init();
	vs_private_library_open(true);
	return 0;
}

/* ---- In this process ------------------------------------------------------------------------- */

static void test_what_libz_packs_can_be_unpacked(void **state)
{
	const struct vs_writer_zlib *zlib = vs_private_library_zlib();
	int (*uncompress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
	static unsigned char text[10000], packed[20000], unpacked[10000];
	unsigned long size = sizeof(packed), unpacked_size = sizeof(unpacked);

	(void)state;
	assert_non_null(zlib);
	assert_true(zlib->bound(sizeof(text)) >= sizeof(text));
	assert_true(zlib->bound(sizeof(text)) <= sizeof(packed));
	memset(text, 'x', sizeof(text));
	assert_int_equal(zlib->compress(packed, &size, text, sizeof(text), 6), 0);
	assert_true(size < 1000);
	*(void **)(void *)&uncompress = dlsym(dlopen("libz.so.1", RTLD_NOW), "uncompress");
	assert_int_equal(uncompress(unpacked, &unpacked_size, packed, size), 0);
	assert_int_equal(unpacked_size, sizeof(text));
	assert_memory_equal(unpacked, text, sizeof(text));
	/* The level is heeded: 0 is none. */
	size = sizeof(packed);
	assert_int_equal(zlib->compress(packed, &size, text, sizeof(text), 0), 0);
	assert_true(size > sizeof(text));
}

/* Parts in all orders and sizes, each with the bytes it is said to have, or with others. */
static void test_what_libz_packs_in_parts_can_be_unpacked(void **state)
{
	const struct vs_writer_zlib *zlib = vs_private_library_zlib();
	int (*uncompress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
	static unsigned char text[400000], packed[500000], unpacked[400000];
	uint32_t random = 1;

	(void)state;
	assert_non_null(zlib->compress_parts);
	*(void **)(void *)&uncompress = dlsym(dlopen("libz.so.1", RTLD_NOW), "uncompress");
	for (unsigned round = 0; round < 100; round++) {
		struct vs_byte_texture_part parts[8];
		unsigned long size = 0, packed_size, unpacked_size = sizeof(unpacked);

		for (unsigned i = 0; i < 8; i++) {
			random = random * 1664525u + 1013904223u;
			parts[i].texture = (enum vs_byte_texture)((random >> 24) % 3);
			parts[i].size = (random >> 8) % (round < 50 ? 500 : 50000);
			for (size_t k = 0; k < parts[i].size; k++) {
				random = random * 1664525u + 1013904223u;
				text[size++] = (unsigned char)(round % 3 ? random >> 24 : k % 7);
			}
		}
		/* Eight ways to say that there is nothing to be gained take some bytes more. */
		packed_size = size + 500;
		assert_int_equal(zlib->compress_parts(packed, &packed_size, text, parts, 8, 1), 0);
		assert_int_equal(uncompress(unpacked, &unpacked_size, packed, packed_size), 0);
		assert_int_equal(unpacked_size, size);
		assert_memory_equal(unpacked, text, size);
	}
}

static void test_what_is_dense_is_not_packed_again(void **state)
{
	static unsigned char text[20000], packed[30000];
	struct vs_byte_texture_part part = {sizeof(text), VS_BYTE_TEXTURE_DENSE};
	unsigned long size = sizeof(packed);

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(
		vs_private_library_zlib()->compress_parts(packed, &size, text, &part, 1, 1), 0);
	assert_true(size > sizeof(text));
	/* And what does not fit is not packed at all. */
	size = 100;
	assert_int_not_equal(
		vs_private_library_zlib()->compress_parts(packed, &size, text, &part, 1, 1), 0);
}

static void *refuse_memory(size_t size)
{
	(void)size;
	return NULL;
}

/* The program's malloc may be anybody's, and its lock may be held by a thread that a fork left
 * behind. */
static void test_libz_does_without_malloc(void **state)
{
	const struct vs_writer_zlib *zlib = vs_private_library_zlib();
	void *handle = dlopen("libz.so.1", RTLD_NOW | RTLD_NOLOAD);
	static unsigned char text[100000], packed[120000];
	const struct vs_byte_texture_part parts[] = {{40000, VS_BYTE_TEXTURE_DENSE},
						     {30000, VS_BYTE_TEXTURE_UNEVEN},
						     {30000, VS_BYTE_TEXTURE_REPEATING}};
	unsigned long first_size = 0;

	(void)state;
	assert_non_null(handle);
	assert_true(vs_imports_replace(handle, "malloc", (void *)(uintptr_t)refuse_memory));
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 20; i++) {
		unsigned long size = sizeof(packed);

		assert_int_equal(zlib->compress(packed, &size, text, sizeof(text), 1), 0);
		assert_true(!first_size || size == first_size);
		first_size = size;
		size = sizeof(packed);
		assert_int_equal(zlib->compress_parts(packed, &size, text, parts, 3, 1), 0);
	}
	assert_true(vs_imports_replace(handle, "malloc", (void *)(uintptr_t)malloc));
	dlclose(handle);
}

static void test_what_does_not_fit_is_not_packed(void **state)
{
	static unsigned char text[1000], packed[20];
	unsigned long size = 10;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[500] = 'y';
	assert_int_not_equal(
		vs_private_library_zlib()->compress(packed, &size, text, sizeof(text), 1), 0);
	assert_int_equal(packed[10], 0);
}

static void test_the_program_does_not_see_our_libraries(void **state)
{
	(void)state;
	assert_null(dlsym(RTLD_DEFAULT, "compress2"));
	assert_null(dlsym(RTLD_DEFAULT, "unw_backtrace"));
}

/* How many files are open, and the highest of them. */
static void count_files(unsigned *nr, int *highest)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	assert_non_null(dir);
	*nr = 0;
	*highest = 0;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd == dirfd(dir))
			continue;
		++*nr;
		if (fd > *highest)
			*highest = fd;
	}
	closedir(dir);
}

static __attribute__((noinline)) int walk(void **frames, int nr, void **caller)
{
	int found = vs_private_library_unwind()->backtrace(frames, nr);

	*caller = __builtin_return_address(0);
	return found;
}

static void test_libunwind_walks_and_leaves_the_program_s_files_alone(void **state)
{
	int found, highest_before, highest;
	void *frames[32], *caller;
	unsigned nr_before, nr;
	bool has_caller = false;

	(void)state;
	if (!vs_private_library_unwind()) {
		print_message("ThreadSanitizer\n");
		skip();
	}
	count_files(&nr_before, &highest_before);
	found = walk(frames, 32, &caller);
	for (int i = 0; i < found; i++)
		has_caller |= frames[i] == caller;
	assert_true(has_caller);
	count_files(&nr, &highest);
	assert_int_equal(nr, nr_before);
	assert_int_equal(highest, highest_before);
}

static void test_libunwind_is_used_unless_it_would_do_harm(void **state)
{
	(void)state;
	assert_int_equal(vs_private_library_unwind() != NULL, !HAS_TSAN);
}

/* ---- In processes that have less ------------------------------------------------------------- */

/* The other half of what follows. */
static int open_and_tell(const char *with_unwind)
{
	vs_message_init();
	vs_private_library_open(strcmp(with_unwind, "unwind") == 0);
	return (vs_private_library_zlib() ? HAS_ZLIB : 0) |
	       (vs_private_library_unwind() ? HAS_UNWIND : 0);
}

/* This program once more, with libraries from a folder; returns what it has, and what it says. */
static int run_self(const char *folder, const char *with_unwind, char *text, size_t size)
{
	int ends[2], status;
	ssize_t nr, used = 0;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 2);
		setenv("LD_LIBRARY_PATH", folder, 1);
		execl("/proc/self/exe", "self", with_unwind, NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((nr = read(ends[0], text + used, size - 1 - (size_t)used)) > 0)
		used += nr;
	text[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_libraries_that_are_there_are_opened_silently(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(run_self("/nonexistent", "unwind", text, sizeof(text)),
			 HAS_ZLIB | (HAS_TSAN ? 0 : HAS_UNWIND));
	assert_string_equal(text, "");
}

static void test_libunwind_that_is_not_wanted_is_not_opened(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(run_self("/nonexistent", "no", text, sizeof(text)), HAS_ZLIB);
	assert_string_equal(text, "");
}

static void test_libraries_without_the_functions_are_said_once_and_done_without(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(run_self(HOLLOW_LIBRARIES, "unwind", text, sizeof(text)), 0);
	if (HAS_TSAN)
		assert_string_equal(text, "vramscope: libz.so.1 cannot be used, traces are not "
					  "compressed\n");
	else
		assert_string_equal(
			text, "vramscope: libz.so.1 cannot be used, traces are not compressed\n"
			      "vramscope: libunwind.so.8 cannot be used, some stacks are cut\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_libz_packs_can_be_unpacked),
		cmocka_unit_test(test_what_libz_packs_in_parts_can_be_unpacked),
		cmocka_unit_test(test_what_is_dense_is_not_packed_again),
		cmocka_unit_test(test_libz_does_without_malloc),
		cmocka_unit_test(test_what_does_not_fit_is_not_packed),
		cmocka_unit_test(test_the_program_does_not_see_our_libraries),
		cmocka_unit_test(test_libunwind_walks_and_leaves_the_program_s_files_alone),
		cmocka_unit_test(test_libunwind_is_used_unless_it_would_do_harm),
		cmocka_unit_test(test_libraries_that_are_there_are_opened_silently),
		cmocka_unit_test(test_libunwind_that_is_not_wanted_is_not_opened),
		cmocka_unit_test(
			test_libraries_without_the_functions_are_said_once_and_done_without),
	};

	if (argc == 2)
		return open_and_tell(argv[1]);
	return cmocka_run_group_tests(tests, init, NULL);
}
