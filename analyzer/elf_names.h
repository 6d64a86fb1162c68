#ifndef VS_ELF_NAMES_H
#define VS_ELF_NAMES_H

/*
 * The functions of an ELF symbol table, sorted by address. Names point into the ELF file, which
 * must stay open.
 */
#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct vs_elf_name {
	uint64_t start;
	uint64_t end; /* first address behind it */
	const char *name;
};

struct vs_elf_names {
	struct vs_elf_name *names;
	size_t nr_names;
	size_t nr_room;
};

/* Adds the functions of .symtab, or of .dynsym where there is no .symtab; none is no error. */
VS_MUST_CHECK int vs_elf_names_add(struct vs_elf_names *names, Elf *elf);

/* To be called once, after the last add and before the first find. */
void vs_elf_names_sort(struct vs_elf_names *names);

/* The name of the function at an address of the file, or NULL. */
const char *vs_elf_names_find(const struct vs_elf_names *names, uint64_t address);

void vs_elf_names_fini(struct vs_elf_names *names);

#endif
