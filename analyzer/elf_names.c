#include "elf_names.h"

#include <stdbool.h>
#include <stdlib.h>

#include "grow.h"

static Elf_Scn *find_section(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

/* An assembler's function without a size ends where the next one starts: see sort. */
static bool is_function(const GElf_Sym *symbol)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static int push_name(struct vs_elf_names *names, const GElf_Sym *symbol, const char *text)
{
	if (VS_GROW(names->names, names->nr_room, names->nr_names + 1))
		return -VS_ERR_NO_MEMORY;
	names->names[names->nr_names++] = (struct vs_elf_name){
		.start = symbol->st_value,
		.end = symbol->st_value + symbol->st_size,
		.name = text,
	};
	return 0;
}

int vs_elf_names_add(struct vs_elf_names *names, Elf *elf)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Scn *section = find_section(elf, SHT_SYMTAB, &header);
	Elf_Data *data;

	if (!section)
		section = find_section(elf, SHT_DYNSYM, &header);
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data)
		return 0;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *text;
		int err;

		if (!is_function(&symbol))
			continue;
		text = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!text || !*text)
			continue;
		err = push_name(names, &symbol, text);
		if (err)
			return err;
	}
	return 0;
}

/* Of several names for one address the one that covers most comes last, and find takes the last. */
static int compare_names(const void *left, const void *right)
{
	const struct vs_elf_name *a = left;
	const struct vs_elf_name *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return 0;
}

void vs_elf_names_sort(struct vs_elf_names *names)
{
	if (!names->nr_names)
		return;
	qsort(names->names, names->nr_names, sizeof(*names->names), compare_names);
	for (size_t i = 0; i + 1 < names->nr_names; i++)
		if (names->names[i].end == names->names[i].start)
			names->names[i].end = names->names[i + 1].start;
}

const char *vs_elf_names_find(const struct vs_elf_names *names, uint64_t address)
{
	size_t low = 0;
	size_t high = names->nr_names;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->names[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= names->names[low - 1].end)
		return NULL;
	return names->names[low - 1].name;
}

void vs_elf_names_fini(struct vs_elf_names *names)
{
	free(names->names);
	*names = (struct vs_elf_names){0};
}
