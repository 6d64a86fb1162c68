#ifndef SG_IMAGE_ELF_H
#define SG_IMAGE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A cubin being read. Every table was checked to lie within the bytes before it got here. Nothing
 * in it need be aligned.
 *
 * The budgets bound what is copied out of it: overlapping symbols could otherwise make a
 * small file ask for any amount of memory.
 */
struct sg_image_elf {
	const unsigned char *bytes;
	size_t size;
	int arch; /* 90 for sm_90 */
	int abi;
	uint32_t flags;
	const unsigned char *sections;
	size_t nr_sections;
	const char *section_names;
	size_t section_names_size;
	const unsigned char *symbols;
	size_t nr_symbols;
	const char *symbol_names;
	size_t symbol_names_size;
	const unsigned char *far_sections; /* sections of symbols beyond 65279, or NULL */
	size_t name_budget;
	size_t data_budget;
};

/* Compilers of CUDA 13 use this ABI version, and keep things elsewhere. */
#define SG_IMAGE_ELF_ABI_13 8

/* False if it is no cubin, or a damaged one. */
bool sg_image_elf_open(struct sg_image_elf *elf, const unsigned char *bytes, size_t size);

/* A range of the file, or NULL if it is not all there. */
const void *sg_image_elf_get_range(const struct sg_image_elf *elf, uint64_t offset, uint64_t size);

/* False behind the last. The name is "" where it has none. */
bool sg_image_elf_get_section(const struct sg_image_elf *elf, size_t index, Elf64_Shdr *section);
const char *sg_image_elf_get_section_name(const struct sg_image_elf *elf,
					  const Elf64_Shdr *section);

/* The section a symbol is in, 0 if it is in none. */
uint32_t sg_image_elf_get_symbol_section(const struct sg_image_elf *elf, size_t symbol);

/* The name of the kernel that a symbol stands for, NULL if it does not. */
const char *sg_image_elf_get_kernel(const struct sg_image_elf *elf, size_t symbol);

#endif
