#include "imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#endif

struct tables {
	const ElfW(Rela) * relocations;
	size_t relocations_size;
	const ElfW(Sym) * symbols;
	const char *strings;
};

static void read_tables(const struct link_map *map, struct tables *tables)
{
	memset(tables, 0, sizeof(*tables));
	/* glibc has put absolute addresses there. */
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_JMPREL)
			tables->relocations = (const void *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_PLTRELSZ)
			tables->relocations_size = entry->d_un.d_val;
		else if (entry->d_tag == DT_SYMTAB)
			tables->symbols = (const void *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRTAB)
			tables->strings = (const void *)entry->d_un.d_ptr;
	}
}

/* The table may lie in memory that the loader made read-only (full RELRO). */
static bool store(void **slot, void *function)
{
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t page = (uintptr_t)slot & ~(page_size - 1);

	if (mprotect((void *)page, page_size, PROT_READ | PROT_WRITE) < 0)
		return false;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	return true;
}

bool vs_imports_replace(void *handle, const char *name, void *function)
{
	struct link_map *map;
	struct tables tables;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) < 0)
		return false;
	read_tables(map, &tables);
	if (!tables.relocations || !tables.symbols || !tables.strings)
		return false;
	for (size_t i = 0; i < tables.relocations_size / sizeof(*tables.relocations); i++) {
		const ElfW(Rela) *relocation = &tables.relocations[i];
		const ElfW(Sym) *symbol = &tables.symbols[ELF64_R_SYM(relocation->r_info)];

		if (ELF64_R_TYPE(relocation->r_info) == JUMP_SLOT &&
		    strcmp(tables.strings + symbol->st_name, name) == 0)
			return store((void **)(map->l_addr + relocation->r_offset), function);
	}
	return false;
}
