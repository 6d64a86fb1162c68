/* Names, stand-ins, $ORIGIN and the set of paths: all of the audit library that needs no loader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library_name.h"
#include "origin.h"
#include "path_set.h"
#include "standin.h"

static bool is_nvidia(const char *path)
{
	struct sg_library_name name;

	return sg_library_name_parse(path, &name) == 0 && sg_library_name_is_nvidia(&name);
}

static void assert_normal_form(const char *path, const char *text)
{
	struct sg_library_name name;

	assert_int_equal(sg_library_name_parse(path, &name), 0);
	assert_string_equal(name.text, text);
}

static void test_folder_and_hash_are_removed(void **state)
{
	(void)state;
	assert_normal_form("libcudart-d0da41ae.so.11.0", "libcudart.so.11.0");
	assert_normal_form("/a/b.so/libcusparseLt-294d6944.so.0", "libcusparseLt.so.0");
	assert_normal_form("libnvrtc-builtins.so.13.0", "libnvrtc-builtins.so.13.0");
	assert_normal_form("libcudart-d0da41a.so", "libcudart-d0da41a.so"); /* seven digits */
	assert_normal_form("libcudart-D0DA41AE.so", "libcudart-D0DA41AE.so");
	assert_normal_form("-d0da41ae.so", "-d0da41ae.so"); /* nothing would remain */
	assert_normal_form("libx.solid.so.1", "libx.solid.so.1");
}

static void test_what_is_no_library_is_not_parsed(void **state)
{
	char endless[NAME_MAX + 16];
	struct sg_library_name name = {.text = "untouched"};

	(void)state;
	memset(endless, 'x', sizeof(endless));
	strcpy(endless + sizeof(endless) - 4, ".so");
	assert_int_equal(sg_library_name_parse("", &name), -EINVAL);
	assert_int_equal(sg_library_name_parse("/", &name), -EINVAL);
	assert_int_equal(sg_library_name_parse(".so", &name), -EINVAL);
	assert_int_equal(sg_library_name_parse("libcuda", &name), -EINVAL);
	assert_int_equal(sg_library_name_parse("libcuda.sort", &name), -EINVAL);
	assert_int_equal(sg_library_name_parse("libcuda.so/file", &name), -EINVAL);
	assert_int_equal(sg_library_name_parse(endless, &name), -EINVAL);
	assert_string_equal(name.text, "untouched");
}

static void test_version_is_shortened_to_its_first_part(void **state)
{
	struct sg_library_name name;

	(void)state;
	assert_int_equal(sg_library_name_parse("libcudart.so.13.0.96", &name), 0);
	assert_true(sg_library_name_shorten(&name));
	assert_string_equal(name.text, "libcudart.so.13.0");
	assert_true(sg_library_name_shorten(&name));
	assert_string_equal(name.text, "libcudart.so.13");
	assert_false(sg_library_name_shorten(&name));
	assert_string_equal(name.text, "libcudart.so.13");
}

static void test_nvidia_libraries_are_known(void **state)
{
	static const char *const names[] = {
		"libcuda.so",
		"libcuda.so.1",
		"libcuda.so.535.54.03",
		"libcudart.so.11.0",
		"libcudart-d0da41ae.so.11.0",
		"libcublas.so.13",
		"libcublasLt.so.12",
		"libcudnn.so.9",
		"libcudnn_ops.so.9",
		"libcudnn_cnn_infer.so.8",
		"libcufft.so.12",
		"libcufftw.so.12",
		"libcurand.so.10",
		"libcusolver.so.12",
		"libcusolverMg.so.12",
		"libcusparse.so.12",
		"libcusparseLt-294d6944.so.0",
		"libnvrtc.so.13",
		"libnvrtc.alt.so.13",
		"libnvrtc-builtins.so.13.0",
		"libnvJitLink.so.13",
		"libnvvm.so.4",
		"libcupti.so.13",
		"libnvperf_host.so",
		"libnvidia-ml.so.1",
		"libnvidia-ptxjitcompiler.so.1",
		"libnccl.so.2",
		"libnvshmem_host.so.3",
		"libcufile.so.0",
		"libcufile_rdma.so.1",
		"libnppc.so.13",
		"libnppig.so.13",
		"libnvjpeg.so.13",
		"libcutensor.so.2",
		"libcudss.so.0",
		"libnvblas.so.13",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!is_nvidia(names[i]))
			fail_msg("%s is not known", names[i]);
	}
}

static void test_similar_names_of_others_are_left_alone(void **state)
{
	static const char *const names[] = {
		"libcudafoo.so",
		"libcuda-something-of-mine.so",
		"libmycuda.so.1",
		"libcudart2.so",
		"libcublas_wrapper.so.1",
		"libcud.so",
		"libcudnnx.so.9",
		"libnvperf.so",
		"libnvidia.so.1",
		"libnppx.so",
		"libicudata.so.72",
		"libtorch_cuda.so",
		"libc10_cuda.so",
		"libnccl-net.so",
		"libcudf.so",
		"libcuda",
		"libc.so.6",
		"libcuda.so-backup",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (is_nvidia(names[i]))
			fail_msg("%s is taken for NVIDIA's", names[i]);
	}
}

static void test_marker_libraries_are_allowed(void **state)
{
	(void)state;
	assert_false(is_nvidia("libnvToolsExt.so.1"));
	assert_false(is_nvidia("libnvToolsExt-847d78f2.so.1"));
	assert_false(is_nvidia("libnvtx3interop.so.1"));
}

static void touch(const char *folder, const char *file)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	close(fd);
}

static char folder[] = "/tmp/softgpu-names.XXXXXX";

static const char *const standin_files[] = {
	"libcuda.so.1",        "libcudart.so.9.0",   "libcudart.so.11.0",        "libcudart.so.13",
	"libsoftgpu-audit.so", "libcudart_static.a", "libcublas-d0da41ae.so.13",
};

/* The table is filled once in a process, so all tests share this folder. */
static int make_standins(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(standin_files) / sizeof(standin_files[0]); i++)
		touch(folder, standin_files[i]);
	snprintf(path, sizeof(path), "%s/libcufft.so.12", folder);
	assert_int_equal(mkdir(path, 0777), 0); /* a folder is no stand-in */
	assert_int_equal(sg_standin_init("/nonexistent"), -ENOENT);
	return sg_standin_init(folder);
}

static int remove_standins(void **state)
{
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(standin_files) / sizeof(standin_files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, standin_files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/libcufft.so.12", folder);
	rmdir(path);
	return rmdir(folder);
}

static void assert_standin(const char *asked, const char *(*find)(const struct sg_library_name *),
			   const char *file)
{
	struct sg_library_name name;
	char path[PATH_MAX];
	const char *found;

	assert_int_equal(sg_library_name_parse(asked, &name), 0);
	found = find(&name);
	if (!file) {
		assert_null(found);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	assert_non_null(found);
	assert_string_equal(found, path);
}

static void test_standin_is_found_by_name_and_by_longer_version(void **state)
{
	(void)state;
	assert_standin("libcuda.so.1", sg_standin_find, "libcuda.so.1");
	assert_standin("/opt/x/libcuda.so.1.1", sg_standin_find, "libcuda.so.1");
	assert_standin("libcudart.so.13.0.96", sg_standin_find, "libcudart.so.13");
	assert_standin("libcudart-d0da41ae.so.11.0", sg_standin_find, "libcudart.so.11.0");
}

static void test_standin_of_another_version_is_not_given(void **state)
{
	(void)state;
	assert_standin("libcudart.so.12", sg_standin_find, NULL);
	assert_standin("libcudart.so.11", sg_standin_find, NULL);
	assert_standin("libcudart.so.130", sg_standin_find, NULL);
	assert_standin("libcudart.so.1", sg_standin_find, NULL);
	assert_standin("libcudart.so", sg_standin_find, NULL);
}

static void test_newest_standin_is_newest_by_number(void **state)
{
	(void)state;
	assert_standin("libcudart.so", sg_standin_find_newest, "libcudart.so.13"); /* not .9.0 */
	assert_standin("libcuda.so", sg_standin_find_newest, "libcuda.so.1");
	assert_standin("libcud.so", sg_standin_find_newest, NULL);
}

static void test_other_files_in_the_folder_are_no_standins(void **state)
{
	(void)state;
	assert_standin("libsoftgpu-audit.so", sg_standin_find, NULL);
	assert_standin("libcublas.so.13", sg_standin_find, NULL);
	assert_standin("libcufft.so.12", sg_standin_find, NULL);
}

static void test_standin_is_known_by_any_path(void **state)
{
	char path[PATH_MAX];
	struct stat status;

	(void)state;
	snprintf(path, sizeof(path), "%s/../%s/libcuda.so.1", folder, strrchr(folder, '/') + 1);
	assert_int_equal(stat(path, &status), 0);
	assert_true(sg_standin_is_file(status.st_dev, status.st_ino));
	assert_int_equal(stat("/", &status), 0);
	assert_false(sg_standin_is_file(status.st_dev, status.st_ino));
}

static void test_origin_is_the_folder_of_the_loader(void **state)
{
	char path[64];

	(void)state;
	assert_int_equal(sg_origin_expand("$ORIGIN/x.so", "/a/b/l.so", path, sizeof(path)), 0);
	assert_string_equal(path, "/a/b/x.so");
	assert_int_equal(sg_origin_expand("${ORIGIN}/../x.so", "/a/l.so", path, sizeof(path)), 0);
	assert_string_equal(path, "/a/../x.so");
	assert_int_equal(sg_origin_expand("/x.so", "/a/l.so", path, sizeof(path)), 0);
	assert_string_equal(path, "/x.so");
	assert_int_equal(sg_origin_expand("$ORIGIN/x.so", "l.so", path, sizeof(path)), 0);
	assert_string_equal(path, "./x.so");
}

static void test_origin_of_the_program_is_its_own_folder(void **state)
{
	char program[PATH_MAX] = "", path[PATH_MAX];

	(void)state;
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	*strrchr(program, '/') = '\0';
	assert_int_equal(sg_origin_expand("$ORIGIN", "", path, sizeof(path)), 0);
	assert_string_equal(path, program);
}

static void test_origin_refuses_other_tokens_and_long_paths(void **state)
{
	char path[8];

	(void)state;
	assert_int_equal(sg_origin_expand("/$LIB/x", "/a", path, sizeof(path)), -ENOTSUP);
	assert_int_equal(sg_origin_expand("$ORIGI", "/a", path, sizeof(path)), -ENOTSUP);
	assert_int_equal(sg_origin_expand("1234567", "/a", path, sizeof(path)), 0);
	assert_int_equal(sg_origin_expand("12345678", "/a", path, sizeof(path)), -ENAMETOOLONG);
	assert_int_equal(sg_origin_expand("$ORIGIN", "/1234567/a", path, sizeof(path)),
			 -ENAMETOOLONG);
	assert_int_equal(sg_origin_expand("x", "/a", path, 0), -ENAMETOOLONG);
}

static void test_path_is_new_once(void **state)
{
	static struct sg_path_set set;

	(void)state;
	assert_false(sg_path_set_has(&set, "/a"));
	assert_true(sg_path_set_add(&set, "/a"));
	assert_false(sg_path_set_add(&set, "/a"));
	assert_true(sg_path_set_has(&set, "/a"));
	assert_true(sg_path_set_add(&set, "/b"));
	assert_true(sg_path_set_has(&set, "/a"));
}

static void test_full_path_set_calls_every_path_new(void **state)
{
	static struct sg_path_set set;
	char path[32];

	(void)state;
	for (int i = 0; i < SG_PATH_SET_SIZE; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		assert_true(sg_path_set_add(&set, path));
	}
	for (int i = 0; i < SG_PATH_SET_SIZE; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		assert_true(sg_path_set_has(&set, path));
	}
	assert_true(sg_path_set_add(&set, "/more"));
	assert_true(sg_path_set_add(&set, "/more"));
	assert_false(sg_path_set_has(&set, "/more"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder_and_hash_are_removed),
		cmocka_unit_test(test_what_is_no_library_is_not_parsed),
		cmocka_unit_test(test_version_is_shortened_to_its_first_part),
		cmocka_unit_test(test_nvidia_libraries_are_known),
		cmocka_unit_test(test_similar_names_of_others_are_left_alone),
		cmocka_unit_test(test_marker_libraries_are_allowed),
		cmocka_unit_test(test_standin_is_found_by_name_and_by_longer_version),
		cmocka_unit_test(test_standin_of_another_version_is_not_given),
		cmocka_unit_test(test_newest_standin_is_newest_by_number),
		cmocka_unit_test(test_other_files_in_the_folder_are_no_standins),
		cmocka_unit_test(test_standin_is_known_by_any_path),
		cmocka_unit_test(test_origin_is_the_folder_of_the_loader),
		cmocka_unit_test(test_origin_of_the_program_is_its_own_folder),
		cmocka_unit_test(test_origin_refuses_other_tokens_and_long_paths),
		cmocka_unit_test(test_path_is_new_once),
		cmocka_unit_test(test_full_path_set_calls_every_path_new),
	};

	return cmocka_run_group_tests(tests, make_standins, remove_standins);
}
