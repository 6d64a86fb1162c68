#include "loaded_object.h"

#include <dlfcn.h>
#include <string.h>

/* Dynamic section entries we read; addresses are absolute. */
struct tables {
	const char *strings;
	const ElfW(Sym) * symbols;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions;
	uintptr_t soname; /* offset in strings + 1; 0: none */
};

/* glibc puts absolute addresses in here when it loads an object; the vDSO keeps relative ones. */
static uintptr_t absolute(const struct link_map *map, const ElfW(Dyn) * entry)
{
	uintptr_t address = entry->d_un.d_ptr;

	return address < map->l_addr ? address + map->l_addr : address;
}

static void read_tables(const struct link_map *map, struct tables *tables)
{
	memset(tables, 0, sizeof(*tables));
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_STRTAB:
			tables->strings = (const char *)absolute(map, entry);
			break;
		case DT_SYMTAB:
			tables->symbols = (const ElfW(Sym) *)absolute(map, entry);
			break;
		case DT_GNU_HASH:
			tables->gnu_hash = (const uint32_t *)absolute(map, entry);
			break;
		case DT_HASH:
			tables->hash = (const uint32_t *)absolute(map, entry);
			break;
		case DT_VERSYM:
			tables->versions = (const uint16_t *)absolute(map, entry);
			break;
		case DT_SONAME:
			tables->soname = entry->d_un.d_val + 1;
			break;
		default:
			break;
		}
	}
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
bool vs_loaded_object_at(const void *address, struct vs_loaded_object *object)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)(uintptr_t)address, &found) || !found.dlfo_link_map)
		return false;
	object->map = found.dlfo_link_map;
	object->start = (uintptr_t)found.dlfo_map_start;
	return true;
}
#else
bool vs_loaded_object_at(const void *address, struct vs_loaded_object *object)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	object->map = map;
	object->start = (uintptr_t)info.dli_fbase;
	return true;
}
#endif

bool vs_loaded_object_is_alive(const struct vs_loaded_object *object)
{
	struct vs_loaded_object now;

	return vs_loaded_object_at((const void *)object->start, &now) && now.map == object->map &&
	       now.start == object->start;
}

const char *vs_loaded_object_get_soname(const struct vs_loaded_object *object)
{
	struct tables tables;

	read_tables(object->map, &tables);
	return tables.soname && tables.strings ? tables.strings + tables.soname - 1 : "";
}

struct search {
	const char *start;
	struct vs_loaded_object *object;
	unsigned nr_found;
};

static int match_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;
	struct vs_loaded_object object;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		if (!vs_loaded_object_at(
			    (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), &object))
			break;
		if (strncmp(vs_loaded_object_get_soname(&object), search->start,
			    strlen(search->start)) != 0)
			break;
		if (!search->nr_found++)
			*search->object = object;
		break;
	}
	return 0;
}

unsigned vs_loaded_object_find(const char *soname_start, struct vs_loaded_object *object)
{
	struct search search = {.start = soname_start, .object = object};

	dl_iterate_phdr(match_object, &search);
	return search.nr_found;
}

/*
 * Not strcmp: a sanitizer in the program has its own, which cannot be called yet while it looks up
 * libc's (resolve.c).
 */
static bool is_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool is_wanted(const struct tables *tables, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &tables->symbols[index];
	unsigned type = symbol->st_info & 0xf;

	/* An older version of a name is marked hidden by the top bit. */
	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_NOTYPE || type == STT_OBJECT) &&
	       !(tables->versions && (tables->versions[index] & 0x8000)) &&
	       is_equal(tables->strings + symbol->st_name, name);
}

/* Index of the symbol, or 0. Layout: the GNU hash section of the gABI supplement. */
static uint32_t find_by_gnu_hash(const struct tables *tables, const char *name)
{
	const uint32_t *table = tables->gnu_hash;
	uint32_t nr_buckets = table[0], first = table[1], nr_bloom = table[2];
	const uint32_t *buckets =
		(const uint32_t *)((const ElfW(Addr) *)(const void *)(table + 4) + nr_bloom);
	const uint32_t *chain = buckets + nr_buckets;
	uint32_t hash = 5381, index;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	index = nr_buckets ? buckets[hash % nr_buckets] : 0;
	if (index < first)
		return 0;
	for (;; index++) {
		uint32_t entry = chain[index - first];

		if ((entry | 1) == (hash | 1) && is_wanted(tables, index, name))
			return index;
		if (entry & 1)
			return 0;
	}
}

static const ElfW(Sym) * find_symbol(const struct vs_loaded_object *object, const char *name)
{
	struct tables tables;
	uint32_t index = 0;

	read_tables(object->map, &tables);
	if (!tables.strings || !tables.symbols)
		return NULL;
	if (tables.gnu_hash) {
		index = find_by_gnu_hash(&tables, name);
	} else if (tables.hash) {
		/* Objects without the newer table are few: no chain, just all of them. */
		for (uint32_t i = 1; i < tables.hash[1] && !index; i++)
			if (is_wanted(&tables, i, name))
				index = i;
	}
	return index ? &tables.symbols[index] : NULL;
}

void *vs_loaded_object_get_symbol(const struct vs_loaded_object *object, const char *name,
				  size_t *size)
{
	const ElfW(Sym) *symbol = find_symbol(object, name);

	if (!symbol)
		return NULL;
	if (size)
		*size = symbol->st_size;
	return (void *)(object->map->l_addr + symbol->st_value);
}

void *vs_loaded_object_get_function(const struct vs_loaded_object *object, const char *name)
{
	const ElfW(Sym) *symbol = find_symbol(object, name);

	if (!symbol || (symbol->st_info & 0xf) == STT_OBJECT)
		return NULL;
	return (void *)(object->map->l_addr + symbol->st_value);
}
