#ifndef VS_DWARF_LINES_H
#define VS_DWARF_LINES_H

/*
 * Functions, inlined ones included, files and lines from the DWARF of one ELF file. Does without
 * .debug_aranges, which clang leaves out. Strings point into the file, which must stay open and
 * must outlive this.
 */
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct vs_dwarf_frame {
	const char *name; /* the linker's name where there is one; NULL: not known */
	const char *file; /* NULL: not known */
	uint32_t line;    /* 0: not known */
};

struct vs_dwarf_lines;

/* NULL: there is no DWARF in it, or no memory. */
struct vs_dwarf_lines *vs_dwarf_lines_create(Elf *elf);
void vs_dwarf_lines_destroy(struct vs_dwarf_lines *lines);

/*
 * The functions at an address of the file, innermost first. Returns how many there are, at most
 * max; 0: the DWARF does not know the address.
 */
int vs_dwarf_lines_find(struct vs_dwarf_lines *lines, uint64_t address, struct vs_dwarf_frame *out,
			int max);

#endif
