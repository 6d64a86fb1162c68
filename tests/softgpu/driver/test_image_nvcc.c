/* Device images as nvcc makes them of image_sample.cu; the folder with them is the argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image.h"

static const char *folder;

static unsigned char *read_image(const char *name, size_t *size)
{
	char path[4096];
	unsigned char *bytes;
	FILE *file;
	long end;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	end = ftell(file);
	assert_true(end > 0);
	rewind(file);
	*size = (size_t)end;
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static CUresult open_image(struct sg_image **image, const char *name, int cc)
{
	size_t size;
	unsigned char *bytes = read_image(name, &size);
	CUresult result = sg_image_open(image, bytes, size, cc);

	free(bytes);
	return result;
}

static void expect_names(const struct sg_image *image)
{
	static const float coefficient[8] = {1, 2, 3};
	const struct sg_image_variable *variable;
	int value;

	assert_int_equal(image->kernels.nr_names, 2);
	assert_int_not_equal(sg_name_table_find(&image->kernels, "first", 5), SG_NAME_TABLE_NONE);
	assert_int_not_equal(sg_name_table_find(&image->kernels, "_Z6secondIfEvPT_", 16),
			     SG_NAME_TABLE_NONE);
	variable = sg_image_find_variable(image, "counter");
	assert_non_null(variable);
	assert_int_equal(variable->size, 4);
	assert_int_equal(variable->init_size, 4);
	memcpy(&value, variable->data, sizeof(value));
	assert_int_equal(value, 42);
	variable = sg_image_find_variable(image, "table");
	assert_non_null(variable);
	assert_int_equal(variable->size, 64);
	assert_int_equal(variable->init_size, 0);
	variable = sg_image_find_variable(image, "coefficient");
	assert_non_null(variable);
	assert_int_equal(variable->size, 32);
	assert_memory_equal(variable->data, coefficient, 12); /* PTX leaves zeros out */
	variable = sg_image_find_variable(image, "managed");
	assert_non_null(variable);
	assert_true(variable->is_managed);
}

static void expect_image(const char *name, int cc, int ptx_version, int binary_version)
{
	struct sg_image *image;

	assert_int_equal(open_image(&image, name, cc), CUDA_SUCCESS);
	assert_false(image->is_opaque);
	assert_int_equal(image->ptx_version, ptx_version);
	assert_int_equal(image->binary_version, binary_version);
	expect_names(image);
	sg_image_close(image);
}

static void test_cubins_are_read(void **state)
{
	struct sg_image *image;

	(void)state;
	expect_image("sample_90.cubin", 90, 90, 90);
	expect_image("sample_80.cubin", 89, 80, 80);
	expect_image("sample_100.cubin", 103, 100, 100);
	assert_int_equal(open_image(&image, "sample_80.cubin", 90), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(open_image(&image, "sample_90.cubin", 80), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_cubins_tell_what_they_were_made_of(void **state)
{
	(void)state;
	expect_image("sample_80_86.cubin", 89, 80, 86);
	expect_image("sample_80_86.cubin", 86, 80, 86);
}

/* first() has 400 bytes of shared memory on every architecture. */
static void test_cubins_tell_what_kernels_need(void **state)
{
	static const struct {
		const char *name;
		int cc;
	} cubins[] = {{"sample_80.cubin", 80},
		      {"sample_90.cubin", 90},
		      {"sample_100.cubin", 100},
		      {"sample.fatbin", 80},
		      {"sample.fatbin", 90}};

	(void)state;
	for (size_t i = 0; i < SG_LENGTH(cubins); i++) {
		const struct sg_image_kernel *first, *second;
		struct sg_image *image;

		assert_int_equal(open_image(&image, cubins[i].name, cubins[i].cc), CUDA_SUCCESS);
		first = sg_image_find_needs(image, "first");
		second = sg_image_find_needs(image, "_Z6secondIfEvPT_");
		assert_non_null(first);
		assert_non_null(second);
		assert_in_range(first->registers, 4, 64);
		assert_in_range(second->registers, 4, 64);
		assert_int_equal(first->shared_size, 400);
		assert_int_equal(second->shared_size, 0);
		assert_int_equal(image->constant_size, 32);
		sg_image_close(image);
	}
}

static void test_code_to_be_compiled_does_not_tell_what_it_needs(void **state)
{
	struct sg_image *image;

	(void)state;
	assert_int_equal(open_image(&image, "sample.fatbin", 120), CUDA_SUCCESS);
	assert_null(sg_image_find_needs(image, "first")); /* the cubin there is not for 12.0 */
	sg_image_close(image);
}

static void test_relocatable_cubins_are_read(void **state)
{
	(void)state;
	expect_image("sample_rdc.cubin", 90, 90, 90);
}

static void test_ptx_is_read(void **state)
{
	struct sg_image *image;

	(void)state;
	expect_image("sample.ptx", 80, 80, 80);
	expect_image("sample.ptx", 120, 80, 120);
	assert_int_equal(open_image(&image, "sample.ptx", 75), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_fat_binaries_are_read(void **state)
{
	struct sg_image *image;

	(void)state;
	expect_image("sample.fatbin", 80, 80, 80);
	expect_image("sample.fatbin", 89, 80, 80);
	expect_image("sample.fatbin", 90, 90, 90);
	expect_image("sample.fatbin", 120, 90, 120); /* compressed PTX: names are the cubins' */
	assert_int_equal(open_image(&image, "sample.fatbin", 75), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_code_for_few_devices_runs_on_those_alone(void **state)
{
	struct sg_image *image;

	(void)state;
	expect_image("sample_90a.fatbin", 90, 90, 90);
	assert_int_equal(open_image(&image, "sample_90a.fatbin", 100),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	expect_image("sample_100f.fatbin", 100, 100, 100);
	expect_image("sample_100f.fatbin", 103, 100, 100);
	assert_int_equal(open_image(&image, "sample_100f.fatbin", 120),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_compressed_fat_binaries_are_opaque(void **state)
{
	struct sg_image *image;

	(void)state;
	assert_int_equal(open_image(&image, "sample_compressed.fatbin", 90), CUDA_SUCCESS);
	assert_true(image->is_opaque);
	assert_int_equal(image->ptx_version, 90);
	sg_image_close(image);
}

static void test_images_cut_or_damaged_never_crash(void **state)
{
	static const char *const names[] = {"sample_90.cubin", "sample_rdc.cubin", "sample.ptx",
					    "sample.fatbin"};
	struct sg_image *image;
	unsigned random = 1;

	(void)state;
	for (size_t i = 0; i < SG_LENGTH(names); i++) {
		size_t size;
		unsigned char *bytes = read_image(names[i], &size);

		for (int round = 0; round < 3000; round++) {
			unsigned char *copy;
			size_t length, at;
			unsigned char old;

			random = random * 1664525u + 1013904223u;
			at = (random >> 8) % size;
			length = round % 3 ? size : at;
			copy = malloc(length ? length : 1);
			memcpy(copy, bytes, length);
			if (length == size) {
				old = copy[at];
				copy[at] = (unsigned char)(old ^ (1 + (random >> 24)));
			}
			if (sg_image_open(&image, copy, length, 90) == CUDA_SUCCESS)
				sg_image_close(image);
			free(copy);
		}
		free(bytes);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubins_are_read),
		cmocka_unit_test(test_cubins_tell_what_they_were_made_of),
		cmocka_unit_test(test_cubins_tell_what_kernels_need),
		cmocka_unit_test(test_code_to_be_compiled_does_not_tell_what_it_needs),
		cmocka_unit_test(test_relocatable_cubins_are_read),
		cmocka_unit_test(test_ptx_is_read),
		cmocka_unit_test(test_fat_binaries_are_read),
		cmocka_unit_test(test_code_for_few_devices_runs_on_those_alone),
		cmocka_unit_test(test_compressed_fat_binaries_are_opaque),
		cmocka_unit_test(test_images_cut_or_damaged_never_crash),
	};

	folder = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
