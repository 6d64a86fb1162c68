/* What a cubin tells of its kernels; one made by hand, as compilers up to CUDA 12 and of 13 do. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image_readers.h"

enum {
	NONE,
	SECTION_NAMES,
	STRINGS,
	SYMBOLS,
	TEXT_A,
	TEXT_B,
	INFO,
	INFO_A,
	SHARED_A,
	CONSTANT,
	CUINFO,
	CUBIN,
	NR_SECTIONS,
};

static const char section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.text.a\0.text.b\0.nv.info\0"
				    ".nv.info.a\0.nv.shared.a\0.nv.constant3\0.note.nv.cuinfo\0"
				    ".softgpu.cubin";
static const char symbol_names[] = "\0a\0b";

struct cubin {
	Elf64_Ehdr header;
	Elf64_Shdr sections[NR_SECTIONS];
	Elf64_Sym symbols[3];
	char section_names[sizeof(section_names)];
	char symbol_names[sizeof(symbol_names)];
	uint32_t info[12];  /* of a and b: registers, stack */
	uint32_t info_a[5]; /* a value that is skipped, and three dimensions */
	uint16_t cuinfo[16];
	uint64_t place[2];
};

static uint32_t head(unsigned format, unsigned number, unsigned size)
{
	return (uint32_t)(format | number << 8 | size << 16);
}

static Elf64_Shdr make_section(const char *name, uint32_t type, size_t offset, size_t size,
			       uint32_t info)
{
	const char *at = memmem(section_names, sizeof(section_names), name, strlen(name) + 1);

	assert_non_null(at);
	return (Elf64_Shdr){
		.sh_name = (uint32_t)(at - section_names),
		.sh_type = type,
		.sh_offset = offset,
		.sh_size = size,
		.sh_info = info,
	};
}

/* Kernel a: 40 registers, 1200 bytes of stack, 1024 + 2048 bytes shared, 128 x 2. b: 11 registers.
 */
static struct cubin make_cubin(int arch, int ptx_arch)
{
	struct cubin c = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT, 0x41, 8},
			   .e_type = ET_EXEC,
			   .e_machine = 190,
			   .e_flags = 0x06000004u | (uint32_t)arch << 8,
			   .e_shoff = offsetof(struct cubin, sections),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = NR_SECTIONS,
			   .e_shstrndx = SECTION_NAMES,
			   .e_phnum = 1},
		.info = {head(4, 0x2f, 8), 1, 40, head(4, 0x12, 8), 1, 1200, head(4, 0x2f, 8), 2,
			 11, head(4, 0x12, 8), 2, 0},
		.info_a = {head(3, 0x1b, 0xff), head(4, 0x05, 12), 128, 2, 1},
	};

	memcpy(c.section_names, section_names, sizeof(section_names));
	memcpy(c.symbol_names, symbol_names, sizeof(symbol_names));
	c.cuinfo[12] = 2;
	c.cuinfo[13] = (uint16_t)ptx_arch;
#define AT(member) offsetof(struct cubin, member), sizeof(c.member)
	c.sections[SECTION_NAMES] = make_section(".shstrtab", SHT_STRTAB, AT(section_names), 0);
	c.sections[STRINGS] = make_section(".strtab", SHT_STRTAB, AT(symbol_names), 0);
	c.sections[SYMBOLS] = make_section(".symtab", SHT_SYMTAB, AT(symbols), 1);
	c.sections[SYMBOLS].sh_link = STRINGS;
	c.sections[TEXT_A] = make_section(".text.a", SHT_PROGBITS, 0, 0, 1);
	c.sections[TEXT_B] = make_section(".text.b", SHT_PROGBITS, 0, 0, 2);
	c.sections[INFO] = make_section(".nv.info", 0x70000000, AT(info), 0);
	c.sections[INFO_A] = make_section(".nv.info.a", 0x70000000, AT(info_a), TEXT_A);
	c.sections[SHARED_A] = make_section(".nv.shared.a", SHT_NOBITS, 0, 3072, TEXT_A);
	c.sections[CONSTANT] = make_section(".nv.constant3", SHT_NOBITS, 0, 400, 0);
	c.sections[CUINFO] = make_section(".note.nv.cuinfo", SHT_NOTE, AT(cuinfo), 0);
	c.sections[CUBIN] = make_section(".softgpu.cubin", SHT_PROGBITS, AT(place), 0);
#undef AT
	for (int i = 1; i <= 2; i++)
		c.symbols[i] = (Elf64_Sym){
			.st_name = (uint32_t)(2 * i - 1),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_other = 0x10,
			.st_shndx = (uint16_t)(TEXT_A + i - 1),
		};
	return c;
}

static struct sg_image *open_image(const struct cubin *cubin, size_t size, int cc)
{
	struct sg_image *image;

	assert_int_equal(sg_image_open(&image, cubin, size, cc), CUDA_SUCCESS);
	return image;
}

static void test_needs_are_found_by_the_name_of_the_kernel(void **state)
{
	struct cubin cubin = make_cubin(86, 86);
	struct sg_image *image = open_image(&cubin, sizeof(cubin), 89);
	const struct sg_image_kernel *a = sg_image_find_needs(image, "a");
	const struct sg_image_kernel *b = sg_image_find_needs(image, "b");

	(void)state;
	assert_non_null(a);
	assert_int_equal(a->registers, 40);
	assert_int_equal(a->local_size, 1200);
	assert_int_equal(a->shared_size, 3072);
	assert_int_equal(a->max_threads, 256);
	assert_non_null(b);
	assert_int_equal(b->registers, 11);
	assert_int_equal(b->shared_size, 0);
	assert_int_equal(b->max_threads, 0);
	assert_null(sg_image_find_needs(image, "c"));
	assert_int_equal(image->constant_size, 400);
	sg_image_close(image);
}

/* Compute capability 9.0 and up: the first KiB of a block's shared memory is not the kernel's. */
static void test_reserved_shared_memory_is_not_the_kernel_s(void **state)
{
	struct cubin cubin = make_cubin(90, 90);
	struct sg_image *image = open_image(&cubin, sizeof(cubin), 90);

	(void)state;
	assert_int_equal(sg_image_find_needs(image, "a")->shared_size, 2048);
	sg_image_close(image);
	cubin.sections[SHARED_A].sh_size = 1000;
	image = open_image(&cubin, sizeof(cubin), 90);
	assert_int_equal(sg_image_find_needs(image, "a")->shared_size, 0);
	sg_image_close(image);
}

static void test_older_compilers_tell_registers_with_the_code(void **state)
{
	struct cubin cubin = make_cubin(75, 75);
	struct sg_image *image;

	(void)state;
	cubin.header.e_ident[EI_ABIVERSION] = 7;
	cubin.header.e_flags = 0x0046054b; /* sm_75 of compute_70 */
	cubin.sections[INFO].sh_size = 0;
	cubin.sections[TEXT_A].sh_info |= 80u << 24;
	image = open_image(&cubin, sizeof(cubin), 75);
	assert_int_equal(sg_image_find_needs(image, "a")->registers, 80);
	assert_null(sg_image_find_needs(image, "b")); /* nothing is known of it */
	assert_int_equal(image->binary_version, 75);
	assert_int_equal(image->ptx_version, 70);
	sg_image_close(image);
}

static void test_code_may_be_made_of_ptx_for_an_older_device(void **state)
{
	struct cubin cubin = make_cubin(86, 80);
	struct sg_image *image = open_image(&cubin, sizeof(cubin), 89);

	(void)state;
	assert_int_equal(image->binary_version, 86);
	assert_int_equal(image->ptx_version, 80);
	sg_image_close(image);
	cubin.cuinfo[13] = 999; /* makes no sense: as if it did not say */
	image = open_image(&cubin, sizeof(cubin), 89);
	assert_int_equal(image->ptx_version, 86);
	sg_image_close(image);
}

/* Images of our runtime have names alone, and a pointer to a cubin of the program. */
static void test_names_alone_take_needs_from_the_cubin_they_point_to(void **state)
{
	struct cubin cubin = make_cubin(86, 86), names = make_cubin(86, 86);
	struct sg_image *image;

	(void)state;
	names.header.e_phnum = 0;
	names.sections[INFO].sh_size = 0;
	names.sections[INFO_A].sh_size = 0;
	names.place[0] = (uintptr_t)&cubin;
	names.place[1] = sizeof(cubin);
	image = open_image(&names, SG_IMAGE_UNSIZED, 89);
	assert_int_equal(sg_image_find_needs(image, "a")->registers, 40);
	sg_image_close(image);
	/* Code for another device says nothing of what this one needs. */
	names.header.e_flags = 0x06000004u | 87u << 8;
	image = open_image(&names, SG_IMAGE_UNSIZED, 89);
	assert_null(sg_image_find_needs(image, "a"));
	sg_image_close(image);
	names.header.e_flags = 0x06000004u | 86u << 8;
	/* In a file a pointer means nothing. */
	names.place[0] = 8;
	image = open_image(&names, sizeof(names), 89);
	assert_null(sg_image_find_needs(image, "a"));
	sg_image_close(image);
}

static void test_attributes_cut_or_damaged_never_crash(void **state)
{
	struct cubin good = make_cubin(90, 90);
	unsigned random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		unsigned char *copy = malloc(sizeof(good));
		size_t from = offsetof(struct cubin, info), at;
		struct sg_image *image;

		random = random * 1664525u + 1013904223u;
		if (round % 2)
			from = offsetof(struct cubin, sections);
		at = from + (random >> 8) % (sizeof(good) - from);
		memcpy(copy, &good, sizeof(good));
		copy[at] ^= (unsigned char)(1 + (random >> 24));
		if (sg_image_open(&image, copy, sizeof(good), 90) == CUDA_SUCCESS) {
			const struct sg_image_kernel *a = sg_image_find_needs(image, "a");

			if (a) {
				assert_in_range(a->registers, 1, 255);
				assert_in_range(a->max_threads, 0, 1024);
				assert_true(a->shared_size >= 0 && a->local_size >= 0);
			}
			sg_image_close(image);
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needs_are_found_by_the_name_of_the_kernel),
		cmocka_unit_test(test_reserved_shared_memory_is_not_the_kernel_s),
		cmocka_unit_test(test_older_compilers_tell_registers_with_the_code),
		cmocka_unit_test(test_code_may_be_made_of_ptx_for_an_older_device),
		cmocka_unit_test(test_names_alone_take_needs_from_the_cubin_they_point_to),
		cmocka_unit_test(test_attributes_cut_or_damaged_never_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
