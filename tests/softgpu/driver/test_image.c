/* Device images made by hand. Those of nvcc are in test_image_nvcc.c. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image.h"

#define MACHINE_CUDA 190

/* A cubin with one kernel, one device function and four variables. */
struct cubin {
	Elf64_Ehdr header;
	Elf64_Shdr sections[8];
	Elf64_Sym symbols[8];
	char section_names[96];
	char symbol_names[64];
	unsigned char init[8];     /* .nv.global.init */
	unsigned char constant[8]; /* .nv.constant3 */
};

enum {
	SECTION_NONE,
	SECTION_NAMES,
	SECTION_STRINGS,
	SECTION_SYMBOLS,
	SECTION_TEXT,
	SECTION_INIT,
	SECTION_GLOBAL,
	SECTION_CONSTANT,
};

static const char section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.text.kernel\0.nv.global.init\0"
				    ".nv.global\0.nv.constant3";
static const char symbol_names[] = "\0kernel\0helper\0counter\0table\0coefficient\0managed";

static uint32_t find_in(const char *table, size_t size, const char *name)
{
	for (size_t i = 0; i < size; i += strlen(table + i) + 1)
		if (!strcmp(table + i, name))
			return (uint32_t)i;
	abort();
}
#define NAME_OF_SECTION(name) find_in(section_names, sizeof(section_names), name)
#define NAME_OF_SYMBOL(name)  find_in(symbol_names, sizeof(symbol_names), name)

static Elf64_Shdr section(const char *name, uint32_t type, size_t offset, size_t size)
{
	return (Elf64_Shdr){
		.sh_name = NAME_OF_SECTION(name),
		.sh_type = type,
		.sh_offset = offset,
		.sh_size = size,
	};
}

static Elf64_Sym symbol(const char *name, int type, int other, int in, size_t value, size_t size)
{
	return (Elf64_Sym){
		.st_name = NAME_OF_SYMBOL(name),
		.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
		.st_other = (unsigned char)other,
		.st_shndx = (Elf64_Half)in,
		.st_value = value,
		.st_size = size,
	};
}

static struct cubin make_cubin(int arch)
{
	struct cubin cubin = {
		.header =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    ELFDATA2LSB, EV_CURRENT, 0x41, 8},
				.e_type = ET_EXEC,
				.e_machine = MACHINE_CUDA,
				.e_flags = 0x06000004u | (uint32_t)arch << 8,
				.e_shoff = offsetof(struct cubin, sections),
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 8,
				.e_shstrndx = SECTION_NAMES,
				.e_phnum = 1, /* so there is code */
			},
		.init = {42, 0, 0, 0, 7, 0, 0, 0},
		.constant = {1, 2, 3, 4, 5, 6, 7, 8},
	};

	memcpy(cubin.section_names, section_names, sizeof(section_names));
	memcpy(cubin.symbol_names, symbol_names, sizeof(symbol_names));
#define AT(member) offsetof(struct cubin, member), sizeof(cubin.member)
	cubin.sections[SECTION_NAMES] = section(".shstrtab", SHT_STRTAB, AT(section_names));
	cubin.sections[SECTION_STRINGS] = section(".strtab", SHT_STRTAB, AT(symbol_names));
	cubin.sections[SECTION_SYMBOLS] = section(".symtab", SHT_SYMTAB, AT(symbols));
	cubin.sections[SECTION_SYMBOLS].sh_link = SECTION_STRINGS;
	cubin.sections[SECTION_TEXT] = section(".text.kernel", SHT_PROGBITS, 0, 0);
	cubin.sections[SECTION_INIT] = section(".nv.global.init", SHT_PROGBITS, AT(init));
	cubin.sections[SECTION_GLOBAL] = section(".nv.global", SHT_NOBITS, 0, 1000);
	cubin.sections[SECTION_CONSTANT] = section(".nv.constant3", SHT_PROGBITS, AT(constant));
#undef AT
	cubin.symbols[1] = symbol("kernel", STT_FUNC, 0x10, SECTION_TEXT, 0, 0);
	cubin.symbols[2] = symbol("helper", STT_FUNC, 0, SECTION_TEXT, 0, 0);
	cubin.symbols[3] = symbol("counter", STT_OBJECT, 0, SECTION_INIT, 0, 4);
	cubin.symbols[4] = symbol("table", STT_OBJECT, 0, SECTION_GLOBAL, 0, 1000);
	cubin.symbols[5] = symbol("coefficient", STT_OBJECT, 0, SECTION_CONSTANT, 4, 4);
	cubin.symbols[6] = symbol("managed", STT_OBJECT, 0x04, SECTION_INIT, 4, 4);
	return cubin;
}

static CUresult open_sized(struct sg_image **image, const void *bytes, size_t size, int cc)
{
	/* Exactly as large as it says: sanitizers see a byte too far. */
	void *copy = malloc(size ? size : 1);
	CUresult result;

	memcpy(copy, bytes, size);
	result = sg_image_open(image, copy, size, cc);
	free(copy); /* the image must not need it any more */
	return result;
}

static CUresult try_cubin(const struct cubin *cubin)
{
	struct sg_image *image;
	CUresult result = open_sized(&image, cubin, sizeof(*cubin), 90);

	if (result == CUDA_SUCCESS)
		sg_image_close(image);
	return result;
}

static bool has_kernel(const struct sg_image *image, const char *name)
{
	return sg_name_table_find(&image->kernels, name, strlen(name)) != SG_NAME_TABLE_NONE;
}

static void test_cubin_has_kernels_and_variables(void **state)
{
	struct cubin cubin = make_cubin(90);
	const struct sg_image_variable *variable;
	struct sg_image *image;

	(void)state;
	assert_int_equal(open_sized(&image, &cubin, sizeof(cubin), 90), CUDA_SUCCESS);
	assert_int_equal(image->ptx_version, 90);
	assert_int_equal(image->binary_version, 90);
	assert_true(has_kernel(image, "kernel"));
	assert_false(has_kernel(image, "helper"));
	assert_int_equal(image->kernels.nr_names, 1);
	variable = sg_image_find_variable(image, "counter");
	assert_non_null(variable);
	assert_int_equal(variable->init_size, 4);
	assert_memory_equal(variable->data, cubin.init, 4);
	assert_false(variable->is_managed);
	variable = sg_image_find_variable(image, "table");
	assert_int_equal(variable->size, 1000);
	assert_int_equal(variable->init_size, 0);
	assert_int_equal(variable->offset % 256, 0);
	variable = sg_image_find_variable(image, "coefficient");
	assert_memory_equal(variable->data, cubin.constant + 4, 4);
	variable = sg_image_find_variable(image, "managed");
	assert_true(variable->is_managed);
	assert_int_equal(image->managed_size, 4);
	assert_true(image->device_size >= 1000 + 4 + 4);
	assert_null(sg_image_find_variable(image, "kernel"));
	sg_image_close(image);
}

static void test_architecture_is_read_in_both_layouts(void **state)
{
	struct cubin cubin = make_cubin(90);
	struct sg_image *image;

	(void)state;
	cubin.header.e_ident[EI_ABIVERSION] = 7;
	cubin.header.e_flags = 0x00560556; /* sm_86 as CUDA 12 says it */
	assert_int_equal(open_sized(&image, &cubin, sizeof(cubin), 89), CUDA_SUCCESS);
	assert_int_equal(image->binary_version, 86);
	sg_image_close(image);
}

static void test_machine_code_runs_on_its_own_major_architecture(void **state)
{
	static const struct {
		int arch, cc;
		CUresult expected;
	} cases[] = {
		{90, 90, CUDA_SUCCESS},
		{80, 89, CUDA_SUCCESS},
		{100, 103, CUDA_SUCCESS},
		{80, 90, CUDA_ERROR_NO_BINARY_FOR_GPU},
		{90, 80, CUDA_ERROR_NO_BINARY_FOR_GPU},
		{89, 86, CUDA_ERROR_NO_BINARY_FOR_GPU},
		{100, 90, CUDA_ERROR_NO_BINARY_FOR_GPU},
	};
	struct sg_image *image;

	(void)state;
	for (size_t i = 0; i < SG_LENGTH(cases); i++) {
		struct cubin cubin = make_cubin(cases[i].arch);

		assert_int_equal(open_sized(&image, &cubin, sizeof(cubin), cases[i].cc),
				 cases[i].expected);
		if (cases[i].expected == CUDA_SUCCESS)
			sg_image_close(image);
	}
}

static void test_names_without_code_fit_every_newer_device(void **state)
{
	struct cubin cubin = make_cubin(75);
	struct sg_image *image;

	(void)state;
	cubin.header.e_phnum = 0; /* as the runtime makes them */
	assert_int_equal(open_sized(&image, &cubin, sizeof(cubin), 90), CUDA_SUCCESS);
	assert_int_equal(image->ptx_version, 75);
	assert_int_equal(image->binary_version, 90);
	sg_image_close(image);
	assert_int_equal(open_sized(&image, &cubin, sizeof(cubin), 70),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_cubin_cut_anywhere_is_refused(void **state)
{
	struct cubin cubin = make_cubin(90);
	struct sg_image *image;
	size_t needed = offsetof(struct cubin, constant);

	(void)state;
	for (size_t size = 0; size <= needed; size++)
		assert_int_equal(open_sized(&image, &cubin, size, 90), CUDA_ERROR_INVALID_IMAGE);
}

static void test_broken_headers_are_refused(void **state)
{
	struct cubin good = make_cubin(90), bad;

	(void)state;
	assert_int_equal(try_cubin(&good), CUDA_SUCCESS);
#define REFUSED(change)                                                      \
	do {                                                                 \
		bad = good;                                                  \
		change;                                                      \
		assert_int_equal(try_cubin(&bad), CUDA_ERROR_INVALID_IMAGE); \
	} while (0)
	REFUSED(bad.header.e_ident[EI_CLASS] = ELFCLASS32);
	REFUSED(bad.header.e_ident[EI_DATA] = ELFDATA2MSB);
	REFUSED(bad.header.e_machine = EM_X86_64);
	REFUSED(bad.header.e_flags = 0);
	REFUSED(bad.header.e_shoff = UINT64_MAX);
	REFUSED(bad.header.e_shoff = sizeof(bad));
	REFUSED(bad.header.e_shentsize = 1);
	REFUSED(bad.header.e_shnum = 0xfeff);
	REFUSED(bad.header.e_shnum = 0; bad.sections[0].sh_size = UINT64_MAX);
	REFUSED(bad.header.e_shstrndx = 8);
	REFUSED(bad.header.e_shstrndx = SECTION_TEXT);
	REFUSED(bad.sections[SECTION_NAMES].sh_offset = UINT64_MAX);
	REFUSED(bad.sections[SECTION_NAMES].sh_size = 3); /* ends in the middle of a name */
	REFUSED(bad.sections[SECTION_SYMBOLS].sh_size = UINT64_MAX - 7);
	REFUSED(bad.sections[SECTION_SYMBOLS].sh_offset = sizeof(bad) - 8);
	REFUSED(bad.sections[SECTION_SYMBOLS].sh_link = 77);
	REFUSED(bad.sections[SECTION_SYMBOLS].sh_link = SECTION_SYMBOLS);
	REFUSED(bad.symbols[1].st_name = sizeof(bad.symbol_names));
	REFUSED(bad.symbols[3].st_size = 9);
	REFUSED(bad.symbols[3].st_value = 5);
	REFUSED(bad.symbols[3].st_value = UINT64_MAX);
	REFUSED(bad.symbols[4].st_size = UINT64_MAX);
	REFUSED(bad.sections[SECTION_INIT].sh_offset = sizeof(bad) - 4);
#undef REFUSED
}

static void test_symbols_in_no_section_are_passed_over(void **state)
{
	struct cubin cubin = make_cubin(90);
	struct sg_image *image;

	(void)state;
	cubin.symbols[1].st_shndx = SHN_UNDEF;
	cubin.symbols[3].st_shndx = SHN_ABS;
	cubin.symbols[4].st_shndx = SHN_XINDEX; /* without the table for it */
	cubin.symbols[5].st_shndx = 200;
	assert_int_equal(open_sized(&image, &cubin, sizeof(cubin), 90), CUDA_SUCCESS);
	assert_int_equal(image->kernels.nr_names, 0);
	assert_int_equal(image->variable_names.nr_names, 1);
	sg_image_close(image);
}

/* More than 65279 sections: their numbers are outside the header and the symbols. */
static void test_extended_numbering_is_followed(void **state)
{
	struct {
		struct cubin cubin;
		uint32_t far[8];
	} large = {.cubin = make_cubin(90)};
	struct sg_image *image;

	(void)state;
	large.cubin.header.e_shnum = 0;
	large.cubin.sections[0].sh_size = 8;
	large.cubin.header.e_shstrndx = SHN_XINDEX;
	large.cubin.sections[0].sh_link = SECTION_NAMES;
	large.cubin.sections[SECTION_CONSTANT].sh_type = SHT_SYMTAB_SHNDX;
	large.cubin.sections[SECTION_CONSTANT].sh_link = SECTION_SYMBOLS;
	large.cubin.sections[SECTION_CONSTANT].sh_offset = sizeof(large.cubin);
	large.cubin.sections[SECTION_CONSTANT].sh_size = sizeof(large.far);
	large.cubin.symbols[1].st_shndx = SHN_XINDEX;
	large.far[1] = SECTION_TEXT;
	large.cubin.symbols[5].st_shndx = SHN_UNDEF;
	assert_int_equal(open_sized(&image, &large, sizeof(large), 90), CUDA_SUCCESS);
	assert_true(has_kernel(image, "kernel"));
	sg_image_close(image);
	large.cubin.sections[SECTION_CONSTANT].sh_size = 4;
	assert_int_equal(open_sized(&image, &large, sizeof(large), 90), CUDA_ERROR_INVALID_IMAGE);
}

static const char ptx[] =
	"//\n// Generated\n/* and a * comment */\n\n.version 8.4\n.target sm_80, debug\n"
	".address_size 64\n"
	".file 1 \"a \\ file; { with marks\"\n"
	".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
	".extern .global .align 4 .u32 elsewhere;\n"
	".visible .global .align 4 .u32 counter = 42;\n"
	".global .align 4 .f32 real = 0f3F800000;\n"
	".global .align 8 .f64 wide = 1.5;\n"
	".const .align 4 .s32 minus[2] = {-1, 0x10};\n"
	".visible .const .align 16 .b8 grid[4][8] = {{1, 2}, {3}};\n"
	".global .v4 .f32 vector;\n"
	".global .u16 counted[] = {1, 2, 3};\n"
	".global .u64 address = generic(counter);\n"
	".global .attribute(.managed) .align 4 .u32 managed = 5;\n"
	".weak .global .align 1 .b8 one, two[2];\n"
	".global .align 128 .b8 aligned[4] = {9};\n"
	".visible .entry first(\n\t.param .u64 .ptr .global .align 16 first_param_0\n)\n"
	".maxntid 256, 1, 1\n{\n\t.reg .b32 %r<3>;\n\t{ // nested\n\t.global .u32 hidden;\n\t}\n"
	"\tret;\n}\n"
	".func (.param .b32 out) helper(.param .b32 in)\n{\n\tret;\n}\n"
	".weak .entry _Z6secondPf(.param .u64 p)\n{\n\tret;\n}\n"
	".entry third\n{\n\tret;\n}\n";

static void expect_variable(const struct sg_image *image, const char *name, size_t size,
			    const void *data, size_t init_size)
{
	const struct sg_image_variable *variable = sg_image_find_variable(image, name);

	assert_non_null(variable);
	assert_int_equal(variable->size, size);
	assert_int_equal(variable->init_size, init_size);
	if (init_size)
		assert_memory_equal(variable->data, data, init_size);
}

static void test_ptx_has_entries_and_variables(void **state)
{
	static const int32_t minus[] = {-1, 16};
	static const uint16_t counted[] = {1, 2, 3};
	static const float one = 1;
	static const double wide = 1.5;
	struct sg_image *image;

	(void)state;
	assert_int_equal(open_sized(&image, ptx, sizeof(ptx) - 1, 90), CUDA_SUCCESS);
	assert_int_equal(image->ptx_version, 80);
	assert_int_equal(image->binary_version, 90);
	assert_int_equal(image->kernels.nr_names, 3);
	assert_true(has_kernel(image, "first"));
	assert_true(has_kernel(image, "_Z6secondPf"));
	assert_true(has_kernel(image, "third"));
	expect_variable(image, "counter", 4, "\52\0\0", 4);
	expect_variable(image, "real", 4, &one, 4);
	expect_variable(image, "wide", 8, &wide, 8);
	expect_variable(image, "minus", 8, minus, 8);
	expect_variable(image, "grid", 32, "\1\2\3", 3);
	expect_variable(image, "vector", 16, NULL, 0);
	expect_variable(image, "counted", 6, counted, 6);
	expect_variable(image, "address", 8, "\0\0\0\0\0\0\0", 8);
	expect_variable(image, "managed", 4, "\5\0\0", 4);
	assert_true(sg_image_find_variable(image, "managed")->is_managed);
	expect_variable(image, "one", 1, NULL, 0);
	expect_variable(image, "two", 2, NULL, 0);
	expect_variable(image, "aligned", 4, "\11", 1);
	assert_int_equal(sg_image_find_variable(image, "aligned")->offset % 128, 0);
	assert_null(sg_image_find_variable(image, "elsewhere"));
	assert_null(sg_image_find_variable(image, "hidden"));
	sg_image_close(image);
}

static void test_ptx_function_from_elsewhere_may_end_without_semicolon(void **state)
{
	static const char text[] = ".version 4.0\n.target sm_50\n.address_size 64\n"
				   ".extern .func condition\n(\n.param .b64 a,\n.param .b32 b\n)\n"
				   ".visible .entry kernel(.param .u64 a)\n{\nret;\n}\n"
				   ".extern .func other (.param .b64 a)\n"
				   ".entry hidden()\n{\nret;\n}\n";
	struct sg_image *image;

	(void)state;
	assert_int_equal(open_sized(&image, text, sizeof(text) - 1, 90), CUDA_SUCCESS);
	assert_int_equal(image->kernels.nr_names, 2);
	assert_true(has_kernel(image, "kernel"));
	assert_true(has_kernel(image, "hidden"));
	sg_image_close(image);
}

static void test_ptx_ends_with_its_nul_when_nobody_tells_its_size(void **state)
{
	struct sg_image *image;

	(void)state;
	assert_int_equal(sg_image_open(&image, ptx, SG_IMAGE_UNSIZED, 80), CUDA_SUCCESS);
	assert_int_equal(image->kernels.nr_names, 3);
	sg_image_close(image);
	assert_int_equal(sg_image_open(&image, ptx, SG_IMAGE_UNSIZED, 75),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_ptx_cut_anywhere_never_crashes(void **state)
{
	struct sg_image *image;

	(void)state;
	for (size_t size = 0; size < sizeof(ptx); size++)
		if (open_sized(&image, ptx, size, 90) == CUDA_SUCCESS)
			sg_image_close(image);
}

static void test_broken_ptx_is_refused(void **state)
{
	static const char *const bad[] = {
		".version 8.4\n",
		".version 8.4\n.target\n",
		".version 8.4\n.target compute\n",
		".version 8.4\n.target sm_80\n.global .u32;\n",
		".version 8.4\n.target sm_80\n.global name;\n",
		".version 8.4\n.target sm_80\n.global .u32 a[x;\n",
		".version 8.4\n.target sm_80\n.global .u32 a[99999999999999999999];\n",
		".version 8.4\n.target sm_80\n.global .u32 a[1099511627776][1099511627776];\n",
		".version 8.4\n.target sm_80\n.global .u32 a b;\n",
		".version 8.4\n.target sm_80\n.entry (",
	};
	struct sg_image *image;

	(void)state;
	for (size_t i = 0; i < SG_LENGTH(bad); i++)
		assert_int_equal(open_sized(&image, bad[i], strlen(bad[i]), 90),
				 CUDA_ERROR_INVALID_PTX);
}

static void test_what_is_no_image_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  " ",
					  "\n\n",
					  "x",
					  "\177",
					  "\177EL",
					  "// only a comment",
					  "/* one that does not end",
					  ".versio",
					  "P\355U"};
	struct sg_image *image;

	(void)state;
	for (size_t i = 0; i < SG_LENGTH(bad); i++) {
		assert_int_equal(open_sized(&image, bad[i], strlen(bad[i]), 90),
				 CUDA_ERROR_INVALID_IMAGE);
		assert_int_equal(sg_image_open(&image, bad[i], SG_IMAGE_UNSIZED, 90),
				 CUDA_ERROR_INVALID_IMAGE);
	}
}

/* A fat binary of a few entries. */
struct fat {
	unsigned char bytes[8192] __attribute__((aligned(8)));
	size_t size;
};

static void put(unsigned char *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
}

static void start_fat(struct fat *fat)
{
	*fat = (struct fat){.size = 16};
	put(fat->bytes, 0xba55ed50u, 4);
	put(fat->bytes + 4, 1, 2);
	put(fat->bytes + 6, 16, 2);
}

static void add_entry(struct fat *fat, int kind, int arch, const void *payload, size_t size,
		      bool is_compressed)
{
	unsigned char *at = fat->bytes + fat->size;
	size_t padded = (size + 7) & ~(size_t)7;

	put(at, (uint64_t)kind, 2);
	put(at + 2, 0x101, 2);
	put(at + 4, 64, 4);
	put(at + 8, padded, 8);
	put(at + 16, is_compressed ? size : 0, 4);
	put(at + 28, (uint64_t)arch, 4);
	memcpy(at + 64, payload, size);
	fat->size += 64 + padded;
	put(fat->bytes + 8, fat->size - 16, 8);
}

static void expect_fat(const struct fat *fat, int cc, int ptx_version, int binary_version)
{
	struct sg_image *image;

	assert_int_equal(open_sized(&image, fat->bytes, fat->size, cc), CUDA_SUCCESS);
	assert_int_equal(image->ptx_version, ptx_version);
	assert_int_equal(image->binary_version, binary_version);
	sg_image_close(image);
}

static void test_fat_binary_gives_the_best_entry_for_the_device(void **state)
{
	struct cubin sm_80 = make_cubin(80), sm_86 = make_cubin(86), sm_90 = make_cubin(90);
	struct sg_image *image;
	struct fat fat;

	(void)state;
	start_fat(&fat);
	add_entry(&fat, 2, 86, &sm_86, sizeof(sm_86), false);
	add_entry(&fat, 2, 80, &sm_80, sizeof(sm_80), false);
	add_entry(&fat, 1, 80, ptx, sizeof(ptx), false);
	add_entry(&fat, 2, 90, &sm_90, sizeof(sm_90), false);
	expect_fat(&fat, 80, 80, 80);
	expect_fat(&fat, 86, 86, 86);
	expect_fat(&fat, 89, 86, 86);
	expect_fat(&fat, 90, 90, 90);
	expect_fat(&fat, 120, 80, 120); /* only the PTX goes there */
	assert_int_equal(open_sized(&image, fat.bytes, fat.size, 75), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_fat_binary_names_come_from_a_readable_entry(void **state)
{
	struct cubin sm_75 = make_cubin(75);
	struct sg_image *image;
	struct fat fat;

	(void)state;
	start_fat(&fat);
	add_entry(&fat, 2, 75, &sm_75, sizeof(sm_75), false);
	add_entry(&fat, 1, 75, "squeezed", 8, true);
	assert_int_equal(open_sized(&image, fat.bytes, fat.size, 90), CUDA_SUCCESS);
	assert_false(image->is_opaque);
	assert_int_equal(image->ptx_version, 75);
	assert_int_equal(image->binary_version, 90);
	assert_true(has_kernel(image, "kernel"));
	sg_image_close(image);
}

static void test_fat_binary_that_is_all_compressed_is_opaque(void **state)
{
	struct sg_image *image;
	struct fat fat;

	(void)state;
	start_fat(&fat);
	add_entry(&fat, 2, 90, "squeezed", 8, true);
	add_entry(&fat, 1, 75, "squeezed", 8, true);
	assert_int_equal(open_sized(&image, fat.bytes, fat.size, 90), CUDA_SUCCESS);
	assert_true(image->is_opaque);
	assert_int_equal(image->binary_version, 90);
	assert_int_equal(image->kernels.nr_names, 0);
	sg_image_close(image);
}

static void test_broken_fat_binaries_are_refused(void **state)
{
	struct cubin sm_90 = make_cubin(90);
	struct sg_image *image;
	struct fat good, bad;

	(void)state;
	start_fat(&good);
	add_entry(&good, 2, 90, &sm_90, sizeof(sm_90), false);
	expect_fat(&good, 90, 90, 90);
	for (size_t size = 4; size < good.size; size++)
		assert_int_equal(open_sized(&image, good.bytes, size, 90),
				 CUDA_ERROR_INVALID_IMAGE);
	bad = good;
	put(bad.bytes + 16 + 4, 63, 4); /* header too small */
	assert_int_equal(open_sized(&image, bad.bytes, bad.size, 90), CUDA_ERROR_INVALID_IMAGE);
	bad = good;
	put(bad.bytes + 16 + 8, UINT64_MAX, 8); /* payload too large */
	assert_int_equal(open_sized(&image, bad.bytes, bad.size, 90), CUDA_ERROR_INVALID_IMAGE);
	bad = good;
	put(bad.bytes + 6, 0, 2);
	assert_int_equal(open_sized(&image, bad.bytes, bad.size, 90), CUDA_ERROR_INVALID_IMAGE);
	start_fat(&bad); /* nothing in it */
	assert_int_equal(open_sized(&image, bad.bytes, bad.size, 90), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void test_wrapper_is_believed_in_memory_and_never_in_a_file(void **state)
{
	struct cubin sm_90 = make_cubin(90);
	struct fat fat;
	struct {
		uint32_t magic, version;
		const void *data;
		void *unused;
	} wrapper = {0x466243b1u, 1, fat.bytes, NULL};
	struct sg_image *image;

	(void)state;
	start_fat(&fat);
	add_entry(&fat, 2, 90, &sm_90, sizeof(sm_90), false);
	assert_int_equal(sg_image_open(&image, &wrapper, SG_IMAGE_UNSIZED, 90), CUDA_SUCCESS);
	assert_true(has_kernel(image, "kernel"));
	sg_image_close(image);
	assert_int_equal(sg_image_open(&image, &wrapper, sizeof(wrapper), 90),
			 CUDA_ERROR_INVALID_IMAGE);
	wrapper.data = NULL;
	assert_int_equal(sg_image_open(&image, &wrapper, SG_IMAGE_UNSIZED, 90),
			 CUDA_ERROR_INVALID_IMAGE);
}

static void test_overlapping_symbols_cannot_ask_for_more_than_the_file_has(void **state)
{
	enum {
		NR_SYMBOLS = 2000,
		NAMES_SIZE = 4096
	};
	size_t size = sizeof(struct cubin) + NR_SYMBOLS * sizeof(Elf64_Sym) + NAMES_SIZE;
	unsigned char *bytes = calloc(1, size);
	struct cubin *cubin = (struct cubin *)(void *)bytes;
	Elf64_Sym *symbols = (Elf64_Sym *)(void *)(bytes + sizeof(*cubin));
	struct sg_image *image;

	(void)state;
	*cubin = make_cubin(90);
	cubin->sections[SECTION_SYMBOLS].sh_offset = sizeof(*cubin);
	cubin->sections[SECTION_SYMBOLS].sh_size = NR_SYMBOLS * sizeof(Elf64_Sym);
	cubin->sections[SECTION_STRINGS].sh_offset = size - NAMES_SIZE;
	cubin->sections[SECTION_STRINGS].sh_size = NAMES_SIZE;
	memset(bytes + size - NAMES_SIZE, 'n', NAMES_SIZE - 1); /* one long name, many tails */
	for (uint32_t i = 0; i < NR_SYMBOLS; i++) {
		symbols[i] = cubin->symbols[1];
		symbols[i].st_name = i;
	}
	assert_int_equal(open_sized(&image, bytes, size, 90), CUDA_ERROR_INVALID_IMAGE);
	free(bytes);
}

static void test_name_table_finds_each_of_many(void **state)
{
	struct sg_name_table table = {0};
	char name[32];

	(void)state;
	assert_int_equal(sg_name_table_find(&table, "none", 4), SG_NAME_TABLE_NONE);
	for (uint32_t i = 0; i < 30000; i++) {
		int length = snprintf(name, sizeof(name), "_Z%ukernel", i);

		assert_int_equal(sg_name_table_add(&table, name, (size_t)length), i);
		assert_int_equal(sg_name_table_add(&table, name, (size_t)length), i);
	}
	for (uint32_t i = 0; i < 30000; i++) {
		int length = snprintf(name, sizeof(name), "_Z%ukernel", i);

		assert_int_equal(sg_name_table_find(&table, name, (size_t)length), i);
		assert_string_equal(table.names[i], name);
	}
	assert_int_equal(sg_name_table_find(&table, "_Z1kerne", 8), SG_NAME_TABLE_NONE);
	sg_name_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin_has_kernels_and_variables),
		cmocka_unit_test(test_architecture_is_read_in_both_layouts),
		cmocka_unit_test(test_machine_code_runs_on_its_own_major_architecture),
		cmocka_unit_test(test_names_without_code_fit_every_newer_device),
		cmocka_unit_test(test_cubin_cut_anywhere_is_refused),
		cmocka_unit_test(test_broken_headers_are_refused),
		cmocka_unit_test(test_symbols_in_no_section_are_passed_over),
		cmocka_unit_test(test_extended_numbering_is_followed),
		cmocka_unit_test(test_ptx_has_entries_and_variables),
		cmocka_unit_test(test_ptx_function_from_elsewhere_may_end_without_semicolon),
		cmocka_unit_test(test_ptx_ends_with_its_nul_when_nobody_tells_its_size),
		cmocka_unit_test(test_ptx_cut_anywhere_never_crashes),
		cmocka_unit_test(test_broken_ptx_is_refused),
		cmocka_unit_test(test_what_is_no_image_is_refused),
		cmocka_unit_test(test_fat_binary_gives_the_best_entry_for_the_device),
		cmocka_unit_test(test_fat_binary_names_come_from_a_readable_entry),
		cmocka_unit_test(test_fat_binary_that_is_all_compressed_is_opaque),
		cmocka_unit_test(test_broken_fat_binaries_are_refused),
		cmocka_unit_test(test_wrapper_is_believed_in_memory_and_never_in_a_file),
		cmocka_unit_test(test_overlapping_symbols_cannot_ask_for_more_than_the_file_has),
		cmocka_unit_test(test_name_table_finds_each_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
