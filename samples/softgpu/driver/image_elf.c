#include "image_elf.h"

#include <string.h>

#include "image_readers.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

/* Type of variables in relocatable cubins; STT_OBJECT elsewhere. */
#define STT_CUDA_OBJECT 13

/* In st_other, beside the visibility. */
#define OTHER_MANAGED 0x04
#define OTHER_KERNEL  0x10

/* Where the API gives only a pointer, headers are believed up to here. */
#define MAX_UNSIZED ((size_t)1 << 32)

bool sg_image_elf_is(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < SELFMAG; i++)
		if (i == size || bytes[i] != (unsigned char)ELFMAG[i])
			return false;
	return true;
}

static bool read_header(const unsigned char *bytes, size_t size, Elf64_Ehdr *header)
{
	if (size < sizeof(*header) || !sg_image_elf_is(bytes, size))
		return false;
	memcpy(header, bytes, sizeof(*header));
	return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_CUDA;
}

static int get_arch(const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_ABIVERSION] >= SG_IMAGE_ELF_ABI_13)
		return (int)(header->e_flags >> 8 & 0xff);
	return (int)(header->e_flags & 0xff);
}

int sg_image_elf_get_arch(const unsigned char *bytes, size_t size, bool *has_code)
{
	Elf64_Ehdr header;

	if (!read_header(bytes, size, &header))
		return 0;
	/* An executable without program headers has nothing to put on a device. */
	*has_code = header.e_type != ET_EXEC || header.e_phnum;
	return get_arch(&header);
}

const void *sg_image_elf_get_range(const struct sg_image_elf *elf, uint64_t offset, uint64_t size)
{
	if (offset > elf->size || size > elf->size - offset)
		return NULL;
	return elf->bytes + offset;
}

bool sg_image_elf_get_section(const struct sg_image_elf *elf, size_t index, Elf64_Shdr *section)
{
	if (index >= elf->nr_sections)
		return false;
	memcpy(section, elf->sections + index * sizeof(*section), sizeof(*section));
	return true;
}

/* A string table: its last byte must be NUL, so that every string in it ends. */
static const char *get_strings(const struct sg_image_elf *elf, size_t index, size_t *size)
{
	Elf64_Shdr section;
	const char *strings;

	if (!sg_image_elf_get_section(elf, index, &section) || section.sh_type != SHT_STRTAB ||
	    !section.sh_size)
		return NULL;
	strings = sg_image_elf_get_range(elf, section.sh_offset, section.sh_size);
	if (!strings || strings[section.sh_size - 1])
		return NULL;
	*size = section.sh_size;
	return strings;
}

static bool open_sections(struct sg_image_elf *elf, const Elf64_Ehdr *header)
{
	Elf64_Shdr first;
	size_t names_index = header->e_shstrndx;

	if (header->e_shentsize != sizeof(first))
		return false;
	elf->sections = sg_image_elf_get_range(elf, header->e_shoff, sizeof(first));
	if (!elf->sections)
		return false;
	/* Numbers that do not fit the header are in the first, otherwise unused, section. */
	memcpy(&first, elf->sections, sizeof(first));
	elf->nr_sections = header->e_shnum ? header->e_shnum : first.sh_size;
	if (names_index == SHN_XINDEX)
		names_index = first.sh_link;
	if (elf->nr_sections > elf->size / sizeof(first) ||
	    !sg_image_elf_get_range(elf, header->e_shoff, elf->nr_sections * sizeof(first)))
		return false;
	elf->section_names = get_strings(elf, names_index, &elf->section_names_size);
	return elf->section_names;
}

/* Fills in symbols, or leaves none: an image without a symbol table is an empty one. */
static bool open_symbols(struct sg_image_elf *elf)
{
	Elf64_Shdr section;
	size_t symbols_index = 0;

	for (size_t i = 0; sg_image_elf_get_section(elf, i, &section); i++) {
		if (section.sh_type != SHT_SYMTAB || symbols_index)
			continue;
		symbols_index = i;
		elf->nr_symbols = section.sh_size / sizeof(Elf64_Sym);
		elf->symbols = sg_image_elf_get_range(elf, section.sh_offset, section.sh_size);
		elf->symbol_names = get_strings(elf, section.sh_link, &elf->symbol_names_size);
		if (!elf->symbols || !elf->symbol_names)
			return false;
	}
	elf->name_budget = 4 * elf->symbol_names_size;
	elf->data_budget = elf->size;
	for (size_t i = 0; symbols_index && sg_image_elf_get_section(elf, i, &section); i++) {
		if (section.sh_type != SHT_SYMTAB_SHNDX || section.sh_link != symbols_index)
			continue;
		if (section.sh_size / sizeof(uint32_t) < elf->nr_symbols)
			return false;
		elf->far_sections = sg_image_elf_get_range(elf, section.sh_offset, section.sh_size);
	}
	return true;
}

const char *sg_image_elf_get_section_name(const struct sg_image_elf *elf, const Elf64_Shdr *section)
{
	return section->sh_name < elf->section_names_size ? elf->section_names + section->sh_name
							  : "";
}

static void get_symbol(const struct sg_image_elf *elf, size_t index, Elf64_Sym *symbol)
{
	memcpy(symbol, elf->symbols + index * sizeof(*symbol), sizeof(*symbol));
}

uint32_t sg_image_elf_get_symbol_section(const struct sg_image_elf *elf, size_t index)
{
	Elf64_Sym symbol;
	uint32_t number;

	if (index >= elf->nr_symbols)
		return SHN_UNDEF;
	get_symbol(elf, index, &symbol);
	number = symbol.st_shndx;
	if (number == SHN_XINDEX && elf->far_sections)
		memcpy(&number, elf->far_sections + index * sizeof(number), sizeof(number));
	else if (number >= SHN_LORESERVE)
		return SHN_UNDEF;
	return number < elf->nr_sections ? number : SHN_UNDEF;
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool is_kernel(const Elf64_Sym *symbol, const char *section_name)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & OTHER_KERNEL) &&
	       starts_with(section_name, ".text");
}

const char *sg_image_elf_get_kernel(const struct sg_image_elf *elf, size_t index)
{
	uint32_t number = sg_image_elf_get_symbol_section(elf, index);
	Elf64_Shdr section;
	Elf64_Sym symbol;

	if (!number || !sg_image_elf_get_section(elf, number, &section))
		return NULL;
	get_symbol(elf, index, &symbol);
	if (!is_kernel(&symbol, sg_image_elf_get_section_name(elf, &section)) ||
	    symbol.st_name >= elf->symbol_names_size)
		return NULL;
	return elf->symbol_names + symbol.st_name;
}

/* What it may rest on: that of its section, and of its place in there. */
static size_t get_alignment(const Elf64_Sym *symbol, const Elf64_Shdr *section)
{
	size_t place = symbol->st_value & (~symbol->st_value + 1);

	return place && place < section->sh_addralign ? place : section->sh_addralign;
}

static CUresult add_variable(struct sg_image *image, struct sg_image_elf *elf, const char *name,
			     size_t length, const Elf64_Sym *symbol, const Elf64_Shdr *section,
			     bool has_bytes)
{
	struct sg_image_variable variable = {
		.size = symbol->st_size,
		.alignment = get_alignment(symbol, section),
		.is_managed = symbol->st_other & OTHER_MANAGED,
	};

	/* In object files and cubins alike st_value counts from the start of the section. */
	if (symbol->st_value > section->sh_size ||
	    symbol->st_size > section->sh_size - symbol->st_value)
		return CUDA_ERROR_INVALID_IMAGE;
	if (has_bytes) {
		if (!sg_image_elf_get_range(elf, section->sh_offset, section->sh_size) ||
		    symbol->st_size > elf->data_budget)
			return CUDA_ERROR_INVALID_IMAGE;
		elf->data_budget -= symbol->st_size;
		variable.data = elf->bytes + section->sh_offset + symbol->st_value;
		variable.init_size = symbol->st_size;
	}
	return sg_image_add_variable(image, name, length, &variable) ? CUDA_SUCCESS
								     : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult add_symbol(struct sg_image *image, struct sg_image_elf *elf, size_t index)
{
	uint32_t number = sg_image_elf_get_symbol_section(elf, index);
	Elf64_Sym symbol;
	Elf64_Shdr section;
	const char *name, *section_name;
	size_t length;
	bool is_variable;
	int type;

	if (!number || !sg_image_elf_get_section(elf, number, &section))
		return CUDA_SUCCESS;
	get_symbol(elf, index, &symbol);
	section_name = sg_image_elf_get_section_name(elf, &section);
	type = ELF64_ST_TYPE(symbol.st_info);
	is_variable = (type == STT_OBJECT || type == STT_CUDA_OBJECT) &&
		      (starts_with(section_name, ".nv.global") ||
		       starts_with(section_name, ".nv.constant"));
	if (!is_kernel(&symbol, section_name) && !is_variable)
		return CUDA_SUCCESS;
	if (symbol.st_name >= elf->symbol_names_size)
		return CUDA_ERROR_INVALID_IMAGE;
	name = elf->symbol_names + symbol.st_name;
	length = strlen(name);
	if (length >= elf->name_budget)
		return CUDA_ERROR_INVALID_IMAGE;
	elf->name_budget -= length + 1;
	if (!is_variable)
		return sg_image_add_kernel(image, name, length) ? CUDA_SUCCESS
								: CUDA_ERROR_OUT_OF_MEMORY;
	return add_variable(image, elf, name, length, &symbol, &section,
			    section.sh_type != SHT_NOBITS && strcmp(section_name, ".nv.global"));
}

bool sg_image_elf_open(struct sg_image_elf *elf, const unsigned char *bytes, size_t size)
{
	Elf64_Ehdr header;

	*elf = (struct sg_image_elf){.bytes = bytes,
				     .size = size < MAX_UNSIZED ? size : MAX_UNSIZED};
	if (!read_header(bytes, size, &header) || !open_sections(elf, &header) ||
	    !open_symbols(elf))
		return false;
	elf->arch = get_arch(&header);
	elf->abi = header.e_ident[EI_ABIVERSION];
	elf->flags = header.e_flags;
	return true;
}

CUresult sg_image_elf_read(struct sg_image *image, const unsigned char *bytes, size_t size)
{
	struct sg_image_elf elf;
	CUresult result = CUDA_SUCCESS;

	if (!sg_image_elf_open(&elf, bytes, size))
		return CUDA_ERROR_INVALID_IMAGE;
	for (size_t i = 0; i < elf.nr_symbols && result == CUDA_SUCCESS; i++)
		result = add_symbol(image, &elf, i);
	return result;
}
