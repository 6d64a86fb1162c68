#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "command.h"
#include "run_softgpu.h"
#include "scratch.h"

#define TLS   "glibc.rtld.optional_static_tls"
#define USUAL TLS "=65536"
#define LARGE TLS "=4194304"

static const struct vs_run_asker asker = {&vs_cmd_run, "softgpu"};
static char libdir[PATH_MAX];

/* An installed simulated GPU, and nothing of it in the environment. */
static int enter(void **state)
{
	static const char *const ours[] = {
		"SOFTGPU_LIBDIR", "SOFTGPU_CARD", "SOFTGPU_MEMORY",
		"LD_AUDIT",       "LD_PRELOAD",   "GLIBC_TUNABLES",
	};
	int err = vs_scratch_enter(state);

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	snprintf(libdir, sizeof(libdir), "%s/lib", vs_scratch_path());
	if (err || mkdir("lib", 0700) || mkdir("lib/softgpu", 0700))
		return -1;
	vs_scratch_write_text("lib/softgpu/libsoftgpu-audit.so", "");
	vs_scratch_write_text("lib/softgpu/libcuda.so.1", "");
	vs_scratch_write_text("program", "#!/bin/sh\n");
	return 0;
}

static void set_up(const char *memory)
{
	assert_int_equal(vs_run_softgpu_set_up(&asker, libdir, memory ? memory : "", "program"), 0);
}

static void expect_refusal(const char *memory, int status, const char *text)
{
	char expected[2 * PATH_MAX];
	int got;

	snprintf(expected, sizeof(expected), text, vs_scratch_path());
	vs_capture_begin(STDERR_FILENO);
	got = vs_run_softgpu_set_up(&asker, libdir, memory ? memory : "", "program");
	assert_string_equal(vs_capture_end(), expected);
	assert_int_equal(got, status);
}

static void expect_path(const char *variable, const char *format)
{
	char expected[2 * PATH_MAX];

	snprintf(expected, sizeof(expected), format, vs_scratch_path());
	assert_non_null(getenv(variable));
	assert_string_equal(getenv(variable), expected);
}

static void test_the_stand_ins_are_put_in_front(void **state)
{
	(void)state;
	set_up(NULL);
	expect_path("LD_AUDIT", "%s/lib/softgpu/libsoftgpu-audit.so");
	assert_string_equal(getenv("GLIBC_TUNABLES"), USUAL);
	assert_null(getenv("SOFTGPU_MEMORY"));
	assert_null(getenv("SOFTGPU_LIBDIR"));
}

static void test_auditors_of_the_user_stay(void **state)
{
	(void)state;
	setenv("LD_AUDIT", "/some/other one.so", 1);
	set_up(NULL);
	expect_path("LD_AUDIT", "%s/lib/softgpu/libsoftgpu-audit.so:/some/other one.so");
	set_up(NULL);
	expect_path("LD_AUDIT", "%s/lib/softgpu/libsoftgpu-audit.so:/some/other one.so");
}

static void test_memory_is_passed_on_as_it_was_written(void **state)
{
	(void)state;
	setenv("SOFTGPU_MEMORY", "3G", 1);
	set_up(NULL);
	assert_string_equal(getenv("SOFTGPU_MEMORY"), "3G");
	set_up("1.5GiB");
	assert_string_equal(getenv("SOFTGPU_MEMORY"), "1.5GiB");
	set_up("2097152");
	assert_string_equal(getenv("SOFTGPU_MEMORY"), "2097152");
}

static void test_what_is_no_size_is_refused(void **state)
{
	static const char *const bad[] = {"8X", "1e9", "99999999999T", "8G ", "0x10"};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			 "vramscope: run: --softgpu: '%s' is not a size (8G, 512M, 1.5G, bytes) "
			 "(see: vramscope help run)\n",
			 bad[i]);
		expect_refusal(bad[i], VS_EXIT_USAGE, text);
	}
	expect_refusal("2097151", VS_EXIT_USAGE,
		       "vramscope: run: --softgpu: '2097151' is too small, the least is 2097152 "
		       "bytes (see: vramscope help run)\n");
	assert_null(getenv("SOFTGPU_MEMORY"));
	assert_null(getenv("LD_AUDIT"));
}

static void test_card_is_looked_up_beside_the_stand_ins(void **state)
{
	(void)state;
	unsetenv("SOFTGPU_PROFILE");
	vs_scratch_write_text("lib/softgpu/profiles.txt", "profile\nt4 Tesla\n\nfield\n");
	set_up("t4");
	assert_string_equal(getenv("SOFTGPU_PROFILE"), "t4");
	unsetenv("SOFTGPU_PROFILE");
}

static void test_a_simulated_gpu_that_is_not_there_is_missed(void **state)
{
	(void)state;
	assert_int_equal(unlink("lib/softgpu/libcuda.so.1"), 0);
	expect_refusal(NULL, VS_EXIT_FAILED,
		       "vramscope: %s/lib/softgpu/libcuda.so.1: the simulated GPU is not installed "
		       "there\n");
	setenv("SOFTGPU_LIBDIR", "elsewhere", 1);
	expect_refusal(NULL, VS_EXIT_FAILED,
		       "vramscope: %s/elsewhere/libsoftgpu-audit.so: the simulated GPU is not "
		       "installed there\n");
	assert_null(getenv("LD_AUDIT"));
}

static void test_stand_ins_of_the_user_go_first(void **state)
{
	(void)state;
	assert_int_equal(mkdir("mine", 0700), 0);
	vs_scratch_write_text("mine/libsoftgpu-audit.so", "");
	vs_scratch_write_text("mine/libcuda.so.1", "");
	setenv("SOFTGPU_LIBDIR", "mine", 1);
	set_up(NULL);
	/* The command may go elsewhere before it loads anything. */
	expect_path("SOFTGPU_LIBDIR", "%s/mine");
	expect_path("LD_AUDIT", "%s/mine/libsoftgpu-audit.so");
}

static void test_a_folder_that_cannot_be_named_is_refused(void **state)
{
	(void)state;
	assert_int_equal(rename("lib", "l:b"), 0);
	libdir[strlen(libdir) - 2] = ':';
	expect_refusal(NULL, VS_EXIT_FAILED,
		       "vramscope: %s/l:b/softgpu/libsoftgpu-audit.so: LD_AUDIT cannot name a path "
		       "with a colon\n");
}

static void test_each_run_has_a_card_but_the_users_stays(void **state)
{
	char first[64];

	(void)state;
	set_up(NULL);
	snprintf(first, sizeof(first), "%s", getenv("SOFTGPU_CARD"));
	assert_int_equal(strncmp(first, "run.", 4), 0);
	set_up(NULL);
	assert_string_equal(getenv("SOFTGPU_CARD"), first);
	setenv("SOFTGPU_CARD", "mine", 1);
	set_up(NULL);
	assert_string_equal(getenv("SOFTGPU_CARD"), "mine");
	setenv("SOFTGPU_CARD", "", 1);
	set_up(NULL);
	assert_int_equal(strncmp(getenv("SOFTGPU_CARD"), "run.", 4), 0);
}

static void test_tunables_of_the_user_stay(void **state)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{"", USUAL},
		{"glibc.malloc.check=3", "glibc.malloc.check=3:" USUAL},
		{TLS "=99", TLS "=99"},
		{"glibc.malloc.check=3:" TLS "=99", "glibc.malloc.check=3:" TLS "=99"},
		/* Other names that only look alike. */
		{"x" TLS "=99", "x" TLS "=99:" USUAL},
		{TLS "x=99", TLS "x=99:" USUAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("GLIBC_TUNABLES", cases[i].before, 1);
		set_up(NULL);
		assert_string_equal(getenv("GLIBC_TUNABLES"), cases[i].after);
	}
}

static void test_thread_sanitizer_gets_a_larger_reserve(void **state)
{
	static const char tsan[] = "\x7f"
				   "ELF\0__tsan_init\0";

	(void)state;
	setenv("LD_PRELOAD", "/usr/lib/libtsan.so.2", 1);
	set_up(NULL);
	assert_string_equal(getenv("GLIBC_TUNABLES"), LARGE);
	unsetenv("LD_PRELOAD");
	unsetenv("GLIBC_TUNABLES");
	vs_scratch_write("program", tsan, sizeof(tsan));
	set_up(NULL);
	assert_string_equal(getenv("GLIBC_TUNABLES"), LARGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_the_stand_ins_are_put_in_front),
		TEST(test_auditors_of_the_user_stay),
		TEST(test_memory_is_passed_on_as_it_was_written),
		TEST(test_what_is_no_size_is_refused),
		TEST(test_card_is_looked_up_beside_the_stand_ins),
		TEST(test_a_simulated_gpu_that_is_not_there_is_missed),
		TEST(test_stand_ins_of_the_user_go_first),
		TEST(test_a_folder_that_cannot_be_named_is_refused),
		TEST(test_each_run_has_a_card_but_the_users_stays),
		TEST(test_tunables_of_the_user_stay),
		TEST(test_thread_sanitizer_gets_a_larger_reserve),
	};

	return cmocka_run_group_tests_name("run_softgpu", tests, NULL, NULL);
}
