/*
 * A device image made from what a program registered. The code in a fat binary may be compressed;
 * names, kinds and sizes are in the registration, and they are all the driver needs for kernels
 * that do not run. Initial values are not registered: they come from an image of the fat binary
 * when one is readable, else variables start as zero.
 *
 * Image: ELF header, section names, symbol names, symbols, .nv.global.init, .nv.constant3, section
 * headers. Kernels are in an empty .text, variables without a value in .nv.global, which takes no
 * room. Architecture and ABI are told as in images up to CUDA 12 (ABI version 7): e_flags holds the
 * architecture in its lowest byte, and that of the PTX in its third. What registers and memory a
 * kernel takes is not registered, either: .softgpu.cubin holds address and size of a cubin that
 * tells, both 0 if there is none.
 */
#include "rt_image.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OSABI_CUDA       51
#define ABI_VERSION_CUDA 7
#define FLAG_64_BIT      0x0400u /* 64-bit addresses */
#define OTHER_KERNEL     0x10    /* st_other: may be launched */
#define OTHER_MANAGED    0x04    /* st_other: managed memory */
#define MAX_ALIGNMENT    256u    /* of a variable; what the device's memory guarantees is more */

enum section {
	SECTION_NONE,
	SECTION_SHSTRTAB,
	SECTION_STRTAB,
	SECTION_SYMTAB,
	SECTION_TEXT,
	SECTION_INIT,
	SECTION_CONSTANT,
	SECTION_CUBIN,
	SECTION_GLOBAL,
	NR_SECTIONS,
};

static const char section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.text\0.nv.global.init\0"
				    ".nv.constant3\0.nv.global\0.softgpu.cubin";

/* Offsets into section_names, types and flags, by enum section. */
static const struct {
	unsigned name;
	uint32_t type;
	uint64_t flags;
} sections[NR_SECTIONS] = {
	[SECTION_SHSTRTAB] = {1, SHT_STRTAB, 0},
	[SECTION_STRTAB] = {11, SHT_STRTAB, 0},
	[SECTION_SYMTAB] = {19, SHT_SYMTAB, 0},
	[SECTION_TEXT] = {27, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
	[SECTION_INIT] = {33, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE},
	[SECTION_CONSTANT] = {49, SHT_PROGBITS, SHF_ALLOC},
	[SECTION_CUBIN] = {74, SHT_PROGBITS, 0},
	[SECTION_GLOBAL] = {63, SHT_NOBITS, SHF_ALLOC | SHF_WRITE},
};

struct layout {
	size_t offset[NR_SECTIONS];
	size_t size[NR_SECTIONS];
	size_t headers; /* offset of the section headers */
	size_t total;
};

/* Reading a cubin */

struct cubin {
	const unsigned char *data;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
};

static bool is_inside(size_t size, uint64_t offset, uint64_t length)
{
	return offset <= size && length <= size - offset;
}

/* The file's bytes need no alignment here: copies are made where structs are read. */
static bool open_cubin(struct cubin *cubin, const void *data, size_t size, Elf64_Ehdr *header)
{
	if (!data || size < sizeof(*header))
		return false;
	memcpy(header, data, sizeof(*header));
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	if (!is_inside(size, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	cubin->data = data;
	cubin->size = size;
	cubin->header = header;
	return true;
}

static bool get_section(const struct cubin *cubin, size_t index, Elf64_Shdr *section)
{
	if (index >= cubin->header->e_shnum)
		return false;
	memcpy(section, cubin->data + cubin->header->e_shoff + index * sizeof(*section),
	       sizeof(*section));
	return section->sh_type == SHT_NOBITS ||
	       is_inside(cubin->size, section->sh_offset, section->sh_size);
}

/* A string of a string table, or NULL when it does not end inside. */
static const char *get_string(const struct cubin *cubin, const Elf64_Shdr *strings, uint64_t offset)
{
	const char *string;

	if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size)
		return NULL;
	string = (const char *)cubin->data + strings->sh_offset + offset;
	return memchr(string, '\0', strings->sh_size - offset) ? string : NULL;
}

static bool holds_values(const struct cubin *cubin, const Elf64_Shdr *section)
{
	Elf64_Shdr names;
	const char *name;

	if (section->sh_type == SHT_NOBITS ||
	    !get_section(cubin, cubin->header->e_shstrndx, &names))
		return false;
	name = get_string(cubin, &names, section->sh_name);
	return name && (!strcmp(name, ".nv.global.init") || !strcmp(name, ".nv.constant3"));
}

static int compare_names(const void *a, const void *b)
{
	const struct sg_rt_image_symbol *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static void take_value(const struct cubin *cubin, const Elf64_Sym *symbol, const char *name,
		       struct sg_rt_image_symbol *symbols, size_t nr_symbols)
{
	struct sg_rt_image_symbol key = {.name = name}, *found;
	Elf64_Shdr section;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size ||
	    !get_section(cubin, symbol->st_shndx, &section) || !holds_values(cubin, &section) ||
	    !is_inside(section.sh_size, symbol->st_value, symbol->st_size))
		return;
	found = bsearch(&key, symbols, nr_symbols, sizeof(*symbols), compare_names);
	if (found && found->kind != SG_RT_IMAGE_KERNEL && found->size == symbol->st_size)
		found->value = cubin->data + section.sh_offset + symbol->st_value;
}

void sg_rt_image_find_values(struct sg_rt_image_symbol *symbols, size_t nr_symbols,
			     const void *data, size_t cubin_size)
{
	struct cubin cubin;
	Elf64_Ehdr header;
	Elf64_Shdr table, strings;
	Elf64_Sym symbol;
	const char *name;
	uint64_t offset;
	size_t i;

	qsort(symbols, nr_symbols, sizeof(*symbols), compare_names);
	if (!open_cubin(&cubin, data, cubin_size, &header))
		return;
	for (i = 0; i < header.e_shnum; i++) {
		if (!get_section(&cubin, i, &table) || table.sh_type != SHT_SYMTAB ||
		    !get_section(&cubin, table.sh_link, &strings))
			continue;
		for (offset = 0; is_inside(table.sh_size, offset, sizeof(symbol));
		     offset += sizeof(symbol)) {
			memcpy(&symbol, cubin.data + table.sh_offset + offset, sizeof(symbol));
			name = get_string(&cubin, &strings, symbol.st_name);
			if (name)
				take_value(&cubin, &symbol, name, symbols, nr_symbols);
		}
	}
}

/* Building an image */

static enum section section_of(const struct sg_rt_image_symbol *symbol)
{
	switch (symbol->kind) {
	case SG_RT_IMAGE_KERNEL:
		return SECTION_TEXT;
	case SG_RT_IMAGE_CONSTANT:
		return SECTION_CONSTANT;
	default:
		return symbol->value ? SECTION_INIT : SECTION_GLOBAL;
	}
}

/* Real alignments are not registered. A size that is a multiple of 2^n is enough to guess n from.
 */
static size_t alignment_of(size_t size)
{
	size_t lowest = size & (~size + 1);

	return lowest > MAX_ALIGNMENT ? MAX_ALIGNMENT : lowest ? lowest : 1;
}

static bool align_up(size_t *value, size_t alignment)
{
	return !__builtin_add_overflow(*value, alignment - 1, value) &&
	       ((*value &= ~(alignment - 1)), true);
}

/* Appends a symbol to its section; *value becomes its offset there. */
static bool place(struct layout *layout, const struct sg_rt_image_symbol *symbol, size_t *value)
{
	size_t *end = &layout->size[section_of(symbol)];

	if (symbol->kind == SG_RT_IMAGE_KERNEL) {
		*value = 0;
		return true;
	}
	if (!align_up(end, alignment_of(symbol->size)))
		return false;
	*value = *end;
	return !__builtin_add_overflow(*end, symbol->size, end);
}

/* Sizes of all sections, then their offsets. */
static bool lay_out(struct layout *layout, const struct sg_rt_image_symbol *symbols,
		    size_t nr_symbols)
{
	size_t end = sizeof(Elf64_Ehdr), value, i;

	memset(layout, 0, sizeof(*layout));
	layout->size[SECTION_SHSTRTAB] = sizeof(section_names);
	layout->size[SECTION_STRTAB] = 1;
	for (i = 0; i < nr_symbols; i++) {
		layout->size[SECTION_STRTAB] += strlen(symbols[i].name) + 1;
		if (!place(layout, &symbols[i], &value))
			return false;
	}
	layout->size[SECTION_SYMTAB] = (nr_symbols + 1) * sizeof(Elf64_Sym);
	layout->size[SECTION_CUBIN] = 2 * sizeof(uint64_t);
	for (i = SECTION_SHSTRTAB; i < NR_SECTIONS; i++) {
		if (!align_up(&end, i == SECTION_SHSTRTAB || i == SECTION_STRTAB ? 1 : 8))
			return false;
		layout->offset[i] = end;
		if (sections[i].type != SHT_NOBITS &&
		    __builtin_add_overflow(end, layout->size[i], &end))
			return false;
	}
	if (!align_up(&end, 8))
		return false;
	layout->headers = end;
	return !__builtin_add_overflow(end, NR_SECTIONS * sizeof(Elf64_Shdr), &layout->total);
}

static void put_header(unsigned char *image, const struct layout *layout,
		       const struct sg_rt_image_code *code)
{
	Elf64_Ehdr header = {
		.e_type = ET_EXEC,
		.e_machine = EM_CUDA,
		.e_version = EV_CURRENT,
		.e_shoff = layout->headers,
		.e_flags = (code->arch & 0xff) | FLAG_64_BIT | (code->ptx_arch & 0xff) << 16,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_SHSTRTAB,
	};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_ident[EI_OSABI] = OSABI_CUDA;
	header.e_ident[EI_ABIVERSION] = ABI_VERSION_CUDA;
	memcpy(image, &header, sizeof(header));
}

static void put_sections(unsigned char *image, const struct layout *layout)
{
	Elf64_Shdr headers[NR_SECTIONS] = {0};
	size_t i;

	for (i = SECTION_SHSTRTAB; i < NR_SECTIONS; i++) {
		headers[i].sh_name = sections[i].name;
		headers[i].sh_type = sections[i].type;
		headers[i].sh_flags = sections[i].flags;
		headers[i].sh_offset = layout->offset[i];
		headers[i].sh_size = layout->size[i];
		headers[i].sh_addralign = i >= SECTION_INIT ? MAX_ALIGNMENT : 1;
	}
	headers[SECTION_SYMTAB].sh_link = SECTION_STRTAB;
	headers[SECTION_SYMTAB].sh_info = 1; /* the first symbol that is not local */
	headers[SECTION_SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	headers[SECTION_SYMTAB].sh_addralign = 8;
	memcpy(image + layout->headers, headers, sizeof(headers));
	memcpy(image + layout->offset[SECTION_SHSTRTAB], section_names, sizeof(section_names));
}

static unsigned char other_of(enum sg_rt_image_kind kind)
{
	return kind == SG_RT_IMAGE_KERNEL    ? OTHER_KERNEL
	       : kind == SG_RT_IMAGE_MANAGED ? OTHER_MANAGED
					     : 0;
}

/* Places the symbols a second time, in the same order, and so at the same offsets. */
static void put_symbols(unsigned char *image, const struct layout *layout,
			const struct sg_rt_image_symbol *symbols, size_t nr_symbols)
{
	unsigned char *table = image + layout->offset[SECTION_SYMTAB] + sizeof(Elf64_Sym);
	char *strings = (char *)image + layout->offset[SECTION_STRTAB];
	size_t length = 1, value = 0, i;
	struct layout cursor = {0};

	for (i = 0; i < nr_symbols; i++) {
		const struct sg_rt_image_symbol *symbol = &symbols[i];
		bool is_kernel = symbol->kind == SG_RT_IMAGE_KERNEL;
		Elf64_Sym entry = {
			.st_name = (uint32_t)length,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, is_kernel ? STT_FUNC : STT_OBJECT),
			.st_other = other_of(symbol->kind),
			.st_shndx = (uint16_t)section_of(symbol),
			.st_size = is_kernel ? 0 : symbol->size,
		};

		(void)place(&cursor, symbol, &value); /* lay_out() has seen that it fits */
		entry.st_value = value;
		memcpy(table + i * sizeof(entry), &entry, sizeof(entry));
		length += (size_t)(stpcpy(strings + length, symbol->name) - (strings + length)) + 1;
		if (symbol->value && !is_kernel)
			memcpy(image + layout->offset[section_of(symbol)] + value, symbol->value,
			       symbol->size);
	}
}

static void put_cubin(unsigned char *image, const struct layout *layout,
		      const struct sg_rt_image_code *code)
{
	uint64_t words[2] = {(uintptr_t)code->cubin, code->cubin ? code->cubin_size : 0};

	memcpy(image + layout->offset[SECTION_CUBIN], words, sizeof(words));
}

void *sg_rt_image_build(const struct sg_rt_image_symbol *symbols, size_t nr_symbols,
			const struct sg_rt_image_code *code, size_t *image_size)
{
	struct layout layout;
	unsigned char *image;

	if (!lay_out(&layout, symbols, nr_symbols) || layout.size[SECTION_STRTAB] > UINT32_MAX)
		return NULL;
	image = calloc(1, layout.total);
	if (!image)
		return NULL;
	put_header(image, &layout, code);
	put_cubin(image, &layout, code);
	put_sections(image, &layout);
	put_symbols(image, &layout, symbols, nr_symbols);
	*image_size = layout.total;
	return image;
}
