#include <stdlib.h>
#include <string.h>

#include "device_attribute.h"
#include "image_elf.h"
#include "image_readers.h"

/*
 * What kernels need, as a cubin tells it. A kernel has a section of code; other sections name that
 * one in sh_info and say more. Numbers of attributes: as the toolkit's own cuobjdump -elf names
 * them.
 *
 *   .text.K        code; before CUDA 13 the registers are in the highest byte of sh_info
 *   .nv.shared.K   its size is that of the fixed shared memory
 *   .nv.info.K     attributes of the kernel
 *   .nv.info       attributes of all, each with the number of a symbol
 *   .note.nv.cuinfo, CUDA 13: u16 version, u16 architecture of the PTX, behind a header of 24 bytes
 */
#define ATTRIBUTE_MAX_THREADS    0x05 /* EIATTR_MAX_THREADS: three dimensions */
#define ATTRIBUTE_REQUIRED       0x10 /* EIATTR_REQNTID: the same */
#define ATTRIBUTE_MIN_STACK      0x12 /* EIATTR_MIN_STACK_SIZE: symbol, bytes */
#define ATTRIBUTE_REGISTERS      0x2f /* EIATTR_REGCOUNT: symbol, number */
#define FORMAT_SIZED             0x04 /* u16 size, then so many bytes; else one u16 of value */
#define CUINFO_PTX_OFFSET        26
#define MAX_REGISTERS            255
#define RESERVED_SHARED          1024 /* from 9.0 on, at the start of the shared memory */
#define FIRST_ARCH_WITH_RESERVED 90

#define CUBIN_SECTION ".softgpu.cubin"

/* A cubin being read for an image. */
struct reading {
	struct sg_image_elf elf;
	struct sg_image *image;
	uint32_t *kernels; /* by number of a section of code: number of the kernel + 1, 0: none */
};

struct attribute {
	unsigned number;
	size_t size; /* of bytes; 0 for those that are not FORMAT_SIZED */
	const unsigned char *bytes;
};

static uint16_t get_u16(const unsigned char *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint32_t get_u32(const unsigned char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* False at the end, or where it makes no sense any more. */
static bool next_attribute(const unsigned char **bytes, size_t *size, struct attribute *attribute)
{
	size_t length = 4;

	if (*size < length)
		return false;
	*attribute = (struct attribute){.number = (*bytes)[1], .bytes = *bytes + 4};
	if ((*bytes)[0] == FORMAT_SIZED) {
		attribute->size = get_u16(*bytes + 2);
		length += attribute->size;
	}
	if (length > *size)
		return false;
	*bytes += length;
	*size -= length;
	return true;
}

/* What is known of the kernel of a section of code; NULL if there is none. */
static struct sg_image_kernel *get_needs(const struct reading *reading, uint64_t section)
{
	if (section >= reading->elf.nr_sections || !reading->kernels[section])
		return NULL;
	return &reading->image->needs[reading->kernels[section] - 1];
}

/* Numbers of a damaged file must not become negative, or absurd. */
static int limit(uint64_t value, int most)
{
	return value > (uint64_t)most ? most : (int)value;
}

static void read_own_attributes(struct sg_image_kernel *needs, const unsigned char *bytes,
				size_t size)
{
	struct attribute attribute;

	while (next_attribute(&bytes, &size, &attribute)) {
		uint64_t threads = 1;

		if ((attribute.number != ATTRIBUTE_MAX_THREADS &&
		     attribute.number != ATTRIBUTE_REQUIRED) ||
		    attribute.size < 12)
			continue;
		for (int i = 0; i < 3 && threads <= SG_MAX_THREADS_PER_BLOCK; i++)
			threads *= get_u32(attribute.bytes + 4 * i);
		needs->max_threads = limit(threads, SG_MAX_THREADS_PER_BLOCK);
	}
}

static void read_common_attributes(const struct reading *reading, const unsigned char *bytes,
				   size_t size)
{
	struct attribute attribute;

	while (next_attribute(&bytes, &size, &attribute)) {
		struct sg_image_kernel *needs;

		if (attribute.size < 8)
			continue;
		needs = get_needs(reading, sg_image_elf_get_symbol_section(
						   &reading->elf, get_u32(attribute.bytes)));
		if (needs && attribute.number == ATTRIBUTE_REGISTERS)
			needs->registers = limit(get_u32(attribute.bytes + 4), MAX_REGISTERS);
		if (needs && attribute.number == ATTRIBUTE_MIN_STACK)
			needs->local_size = limit(get_u32(attribute.bytes + 4), INT32_MAX);
	}
}

static void read_shared(const struct reading *reading, const Elf64_Shdr *section)
{
	struct sg_image_kernel *needs = get_needs(reading, section->sh_info);
	uint64_t size = section->sh_size;

	if (!needs)
		return;
	if (reading->elf.arch >= FIRST_ARCH_WITH_RESERVED)
		size -= size < RESERVED_SHARED ? size : RESERVED_SHARED;
	needs->shared_size = limit(size, 1 << 20);
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static void read_section(const struct reading *reading, size_t index, const Elf64_Shdr *section)
{
	const char *name = sg_image_elf_get_section_name(&reading->elf, section);
	struct sg_image_kernel *needs;
	const void *bytes;

	if (starts_with(name, ".nv.shared.")) {
		read_shared(reading, section);
	} else if (starts_with(name, ".text.")) {
		needs = get_needs(reading, index);
		if (needs && section->sh_info >> 24)
			needs->registers = (int)(section->sh_info >> 24);
	} else if (!strcmp(name, ".nv.constant3")) {
		reading->image->constant_size = limit(section->sh_size, 65536);
	} else if (!strcmp(name, ".nv.info") || starts_with(name, ".nv.info.")) {
		bytes = sg_image_elf_get_range(&reading->elf, section->sh_offset, section->sh_size);
		needs = get_needs(reading, section->sh_info);
		if (bytes && name[strlen(".nv.info")] && needs)
			read_own_attributes(needs, bytes, section->sh_size);
		else if (bytes && !name[strlen(".nv.info")])
			read_common_attributes(reading, bytes, section->sh_size);
	}
}

/* Which section of code belongs to which kernel of the image. */
static void find_kernels(struct reading *reading)
{
	for (size_t i = 0; i < reading->elf.nr_symbols; i++) {
		const char *name = sg_image_elf_get_kernel(&reading->elf, i);
		uint32_t number;

		if (!name)
			continue;
		number = sg_name_table_find(&reading->image->kernels, name, strlen(name));
		if (number != SG_NAME_TABLE_NONE)
			reading->kernels[sg_image_elf_get_symbol_section(&reading->elf, i)] =
				number + 1;
	}
}

CUresult sg_image_needs_read(struct sg_image *image, const unsigned char *bytes, size_t size)
{
	struct reading reading = {.image = image};
	Elf64_Shdr section;

	/* Other code of the same kernels may need more: a launch must not fail for that. */
	if (!image->kernels.nr_names || !sg_image_elf_open(&reading.elf, bytes, size) ||
	    reading.elf.arch != image->binary_version)
		return CUDA_SUCCESS;
	if (!image->needs)
		image->needs = calloc(image->kernels.nr_names, sizeof(*image->needs));
	reading.kernels = calloc(reading.elf.nr_sections, sizeof(*reading.kernels));
	if (!image->needs || !reading.kernels) {
		free(reading.kernels);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	find_kernels(&reading);
	for (size_t i = 0; sg_image_elf_get_section(&reading.elf, i, &section); i++)
		read_section(&reading, i, &section);
	free(reading.kernels);
	return CUDA_SUCCESS;
}

static bool find_section(const struct sg_image_elf *elf, const char *name, Elf64_Shdr *section)
{
	for (size_t i = 0; sg_image_elf_get_section(elf, i, section); i++)
		if (!strcmp(sg_image_elf_get_section_name(elf, section), name))
			return true;
	return false;
}

int sg_image_needs_get_ptx_arch(const unsigned char *bytes, size_t size)
{
	struct sg_image_elf elf;
	Elf64_Shdr section;
	const unsigned char *note;

	if (!sg_image_elf_open(&elf, bytes, size))
		return 0;
	if (elf.abi < SG_IMAGE_ELF_ABI_13)
		return (int)(elf.flags >> 16 & 0xff);
	if (!find_section(&elf, ".note.nv.cuinfo", &section) ||
	    section.sh_size < CUINFO_PTX_OFFSET + 2)
		return 0;
	note = sg_image_elf_get_range(&elf, section.sh_offset, section.sh_size);
	return note ? get_u16(note + CUINFO_PTX_OFFSET) : 0;
}

bool sg_image_needs_find_cubin(const unsigned char *bytes, size_t size, const unsigned char **cubin,
			       size_t *cubin_size)
{
	struct sg_image_elf elf;
	Elf64_Shdr section;
	const void *place;
	uint64_t words[2]; /* address and size */

	if (!sg_image_elf_open(&elf, bytes, size) || !find_section(&elf, CUBIN_SECTION, &section) ||
	    section.sh_size != sizeof(words))
		return false;
	place = sg_image_elf_get_range(&elf, section.sh_offset, section.sh_size);
	if (!place)
		return false;
	memcpy(words, place, sizeof(words));
	*cubin = (const unsigned char *)(uintptr_t)words[0];
	*cubin_size = words[1];
	return words[0] && words[1];
}
