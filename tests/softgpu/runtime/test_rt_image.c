/* Device images built from registrations, read back by their ELF tables. */
#include "rt_image.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int counter_value = 42;
static const double table_value[3] = {1.5, 2.5, 3.5};

static const struct sg_rt_image_symbol example[] = {
	{"_Z6kernelPf", SG_RT_IMAGE_KERNEL, 0, NULL},
	{"counter", SG_RT_IMAGE_VARIABLE, sizeof(counter_value), &counter_value},
	{"buffer", SG_RT_IMAGE_VARIABLE, 1000, NULL},
	{"table", SG_RT_IMAGE_CONSTANT, sizeof(table_value), table_value},
	{"zeros", SG_RT_IMAGE_CONSTANT, 40, NULL},
	{"shared", SG_RT_IMAGE_MANAGED, 8, NULL},
	{"_Z5otherv", SG_RT_IMAGE_KERNEL, 0, NULL},
};

static const struct sg_rt_image_code code_86 = {86, 80, example, sizeof(example)};
static const struct sg_rt_image_code code_90 = {90, 90, NULL, 123};

#define NR_EXAMPLE (sizeof(example) / sizeof(example[0]))

static Elf64_Shdr get_section(const unsigned char *image, size_t index)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, image, sizeof(header));
	assert_true(index < header.e_shnum);
	memcpy(&section, image + header.e_shoff + index * sizeof(section), sizeof(section));
	return section;
}

static const char *section_name(const unsigned char *image, const Elf64_Shdr *section)
{
	Elf64_Ehdr header;

	memcpy(&header, image, sizeof(header));
	return (const char *)image + get_section(image, header.e_shstrndx).sh_offset +
	       section->sh_name;
}

static Elf64_Shdr find_section(const unsigned char *image, const char *name)
{
	Elf64_Ehdr header;

	memcpy(&header, image, sizeof(header));
	for (size_t i = 1; i < header.e_shnum; i++) {
		Elf64_Shdr section = get_section(image, i);

		if (!strcmp(section_name(image, &section), name))
			return section;
	}
	fail_msg("no section %s", name);
	abort();
}

static Elf64_Sym find_symbol(const unsigned char *image, const char *name)
{
	Elf64_Shdr table = find_section(image, ".symtab");
	Elf64_Shdr strings = get_section(image, table.sh_link);

	for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, image + table.sh_offset + i * sizeof(symbol), sizeof(symbol));
		if (!strcmp((const char *)image + strings.sh_offset + symbol.st_name, name))
			return symbol;
	}
	fail_msg("no symbol %s", name);
	abort();
}

static void assert_in_section(const unsigned char *image, const Elf64_Sym *symbol, const char *name)
{
	Elf64_Shdr section = get_section(image, symbol->st_shndx);

	assert_string_equal(section_name(image, &section), name);
	assert_true(symbol->st_value + symbol->st_size <= section.sh_size);
}

static unsigned char *build_example(size_t *size)
{
	unsigned char *image = sg_rt_image_build(example, NR_EXAMPLE, &code_86, size);

	assert_non_null(image);
	return image;
}

static void test_image_is_an_elf_of_cuda_for_the_architecture(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);
	Elf64_Ehdr header;

	(void)state;
	memcpy(&header, image, sizeof(header));
	assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
	assert_int_equal(header.e_ident[EI_CLASS], ELFCLASS64);
	assert_int_equal(header.e_machine, 190);
	assert_int_equal(header.e_flags & 0xff, 86);
	assert_int_equal(header.e_flags >> 16 & 0xff, 80);
	assert_true(header.e_ident[EI_ABIVERSION] < 8); /* or the flags would mean other things */
	assert_true(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr) <= size);
	free(image);
}

static void test_sections_lie_inside_the_image(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);

	(void)state;
	for (size_t i = 1; i < 8; i++) {
		Elf64_Shdr section = get_section(image, i);

		if (section.sh_type != SHT_NOBITS)
			assert_true(section.sh_offset + section.sh_size <= size);
	}
	free(image);
}

static void test_cubin_is_told_by_its_place_in_memory(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);
	Elf64_Shdr section = find_section(image, ".softgpu.cubin");
	uint64_t words[2];

	(void)state;
	assert_int_equal(section.sh_size, sizeof(words));
	memcpy(words, image + section.sh_offset, sizeof(words));
	assert_int_equal(words[0], (uintptr_t)example);
	assert_int_equal(words[1], sizeof(example));
	free(image);
	image = sg_rt_image_build(example, NR_EXAMPLE, &code_90, &size);
	section = find_section(image, ".softgpu.cubin");
	memcpy(words, image + section.sh_offset, sizeof(words));
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], 0); /* no cubin has no size */
	free(image);
}

static void test_kernels_are_global_functions_that_may_be_launched(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);
	Elf64_Sym symbol = find_symbol(image, "_Z5otherv");

	(void)state;
	assert_int_equal(ELF64_ST_TYPE(symbol.st_info), STT_FUNC);
	assert_int_equal(ELF64_ST_BIND(symbol.st_info), STB_GLOBAL);
	assert_int_equal(symbol.st_other & 0x10, 0x10);
	assert_in_section(image, &symbol, ".text");
	free(image);
}

static void test_variables_have_their_sizes_and_values(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);
	Elf64_Sym counter = find_symbol(image, "counter"), buffer = find_symbol(image, "buffer");
	Elf64_Sym table = find_symbol(image, "table"), shared = find_symbol(image, "shared");
	Elf64_Sym zeros = find_symbol(image, "zeros");
	static const char zero[40];

	(void)state;
	assert_int_equal(ELF64_ST_TYPE(counter.st_info), STT_OBJECT);
	assert_int_equal(counter.st_size, 4);
	assert_in_section(image, &counter, ".nv.global.init");
	assert_memory_equal(image + get_section(image, counter.st_shndx).sh_offset +
				    counter.st_value,
			    &counter_value, sizeof(counter_value));
	assert_int_equal(buffer.st_size, 1000);
	assert_in_section(image, &buffer, ".nv.global");
	assert_in_section(image, &table, ".nv.constant3");
	assert_memory_equal(image + get_section(image, table.st_shndx).sh_offset + table.st_value,
			    table_value, sizeof(table_value));
	assert_memory_equal(image + get_section(image, zeros.st_shndx).sh_offset + zeros.st_value,
			    zero, sizeof(zero));
	assert_int_equal(shared.st_other & 0x04, 0x04);
	free(image);
}

static void test_variables_do_not_overlap(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);
	Elf64_Sym buffer = find_symbol(image, "buffer"), shared = find_symbol(image, "shared");

	(void)state;
	assert_int_equal(buffer.st_shndx, shared.st_shndx);
	assert_true(buffer.st_value + buffer.st_size <= shared.st_value ||
		    shared.st_value + shared.st_size <= buffer.st_value);
	assert_int_equal(shared.st_value % 8, 0);
	free(image);
}

static void test_an_empty_registration_makes_an_empty_image(void **state)
{
	size_t size;
	unsigned char *image = sg_rt_image_build(NULL, 0, &code_90, &size);
	Elf64_Shdr table;

	(void)state;
	assert_non_null(image);
	table = find_section(image, ".symtab");
	assert_int_equal(table.sh_size, sizeof(Elf64_Sym));
	free(image);
}

static void test_variables_larger_than_memory_make_no_image(void **state)
{
	const struct sg_rt_image_symbol symbols[] = {
		{"a", SG_RT_IMAGE_CONSTANT, SIZE_MAX - 64, NULL},
		{"b", SG_RT_IMAGE_CONSTANT, 128, NULL},
	};
	const struct sg_rt_image_symbol globals[] = {
		{"a", SG_RT_IMAGE_VARIABLE, (size_t)1 << 40, NULL}, /* takes no room in the image */
	};
	size_t size;
	void *image;

	(void)state;
	assert_null(sg_rt_image_build(symbols, 2, &code_90, &size));
	assert_null(sg_rt_image_build(symbols, 1, &code_90, &size));
	image = sg_rt_image_build(globals, 1, &code_90, &size);
	assert_non_null(image);
	assert_true(size < 4096);
	free(image);
}

static void test_values_are_found_in_an_image(void **state)
{
	struct sg_rt_image_symbol wanted[] = {
		{"zeros", SG_RT_IMAGE_CONSTANT, 40, NULL},
		{"table", SG_RT_IMAGE_CONSTANT, sizeof(table_value), NULL},
		{"nowhere", SG_RT_IMAGE_VARIABLE, 4, NULL},
		{"counter", SG_RT_IMAGE_VARIABLE, sizeof(counter_value), NULL},
		{"buffer", SG_RT_IMAGE_VARIABLE, 1000, NULL},
		{"_Z6kernelPf", SG_RT_IMAGE_KERNEL, 0, NULL},
	};
	size_t size, found = 0;
	unsigned char *image = build_example(&size);

	(void)state;
	sg_rt_image_find_values(wanted, sizeof(wanted) / sizeof(wanted[0]), image, size);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!strcmp(wanted[i].name, "counter")) {
			assert_memory_equal(wanted[i].value, &counter_value, 4);
			found++;
		} else if (!strcmp(wanted[i].name, "table")) {
			assert_memory_equal(wanted[i].value, table_value, sizeof(table_value));
			found++;
		} else if (strcmp(wanted[i].name, "zeros")) {
			assert_null(wanted[i].value);
		}
	}
	assert_int_equal(found, 2);
	free(image);
}

static void test_a_value_of_another_size_is_not_taken(void **state)
{
	struct sg_rt_image_symbol wanted[] = {{"counter", SG_RT_IMAGE_VARIABLE, 8, NULL}};
	size_t size;
	unsigned char *image = build_example(&size);

	(void)state;
	sg_rt_image_find_values(wanted, 1, image, size);
	assert_null(wanted[0].value);
	free(image);
}

/* Every byte changed, every length: whatever it says, reading stays inside. */
static void test_damaged_images_are_read_within_their_bounds(void **state)
{
	size_t size;
	unsigned char *image = build_example(&size);

	(void)state;
	for (size_t i = 0; i < size; i++) {
		struct sg_rt_image_symbol wanted[] = {
			{"counter", SG_RT_IMAGE_VARIABLE, 4, NULL},
			{"table", SG_RT_IMAGE_CONSTANT, sizeof(table_value), NULL},
		};
		unsigned char *copy = malloc(size), *cut = malloc(i ? i : 1);

		assert_true(copy && cut);
		memcpy(copy, image, size);
		copy[i] ^= 0xff;
		sg_rt_image_find_values(wanted, 2, copy, size);
		for (size_t j = 0; j < 2; j++) {
			if (!wanted[j].value)
				continue;
			assert_true((const unsigned char *)wanted[j].value >= copy);
			assert_true((const unsigned char *)wanted[j].value + wanted[j].size <=
				    copy + size);
		}
		memcpy(cut, image, i);
		sg_rt_image_find_values(wanted, 2, cut, i);
		free(cut);
		free(copy);
	}
	free(image);
}

static void test_thousands_of_symbols_make_one_image(void **state)
{
	enum {
		COUNT = 24000
	};
	static char names[COUNT][24];
	struct sg_rt_image_symbol *symbols = calloc(COUNT, sizeof(*symbols));
	unsigned char *image;
	Elf64_Shdr table;
	Elf64_Sym symbol;
	size_t size;

	(void)state;
	assert_non_null(symbols);
	for (size_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "_Z6kernel%zu", i);
		symbols[i].name = names[i];
	}
	image = sg_rt_image_build(symbols, COUNT, &code_90, &size);
	assert_non_null(image);
	table = find_section(image, ".symtab");
	assert_int_equal(table.sh_size, (COUNT + 1) * sizeof(Elf64_Sym));
	symbol = find_symbol(image, "_Z6kernel23999");
	assert_int_equal(ELF64_ST_TYPE(symbol.st_info), STT_FUNC);
	free(image);
	free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image_is_an_elf_of_cuda_for_the_architecture),
		cmocka_unit_test(test_cubin_is_told_by_its_place_in_memory),
		cmocka_unit_test(test_sections_lie_inside_the_image),
		cmocka_unit_test(test_kernels_are_global_functions_that_may_be_launched),
		cmocka_unit_test(test_variables_have_their_sizes_and_values),
		cmocka_unit_test(test_variables_do_not_overlap),
		cmocka_unit_test(test_an_empty_registration_makes_an_empty_image),
		cmocka_unit_test(test_variables_larger_than_memory_make_no_image),
		cmocka_unit_test(test_values_are_found_in_an_image),
		cmocka_unit_test(test_a_value_of_another_size_is_not_taken),
		cmocka_unit_test(test_damaged_images_are_read_within_their_bounds),
		cmocka_unit_test(test_thousands_of_symbols_make_one_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
