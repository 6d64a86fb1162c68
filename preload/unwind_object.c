#include "unwind_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "unwind_memory.h"

/* More objects than that are not kept: their code is not known to us. */
#define NR_OBJECTS 4096u

/* So many program headers are looked at: linkers make a dozen. */
#define NR_HEADERS 64u

#define PAGE_MASK (~(uintptr_t)4095)

/* What _dl_find_object fills in, as in dlfcn.h of glibc 2.35; older ones do not declare it. */
struct found_object {
	unsigned long long flags;
	void *start;
	void *end;
	struct link_map *map;
	void *eh_frame;
	void *reserved[16]; /* more than any machine has */
};

static int (*find_object)(void *address, struct found_object *found);

/* ---- Our own list ---------------------------------------------------------------------------- */

struct object {
	_Atomic uintptr_t start;
	_Atomic uintptr_t end;
};

/*
 * Readers take it as whole if version is even and the same before and after: whoever loads
 * (acquire) something new that was stored (release) sees the odd version as well. One thread at a
 * time makes it anew; the others do not wait.
 */
static struct {
	atomic_flag is_taken;
	_Atomic uint32_t version;
	atomic_bool is_outdated;
	_Atomic uint32_t nr_objects;
	struct object objects[NR_OBJECTS];
} list = {.is_taken = ATOMIC_FLAG_INIT, .is_outdated = true};

static bool search(uintptr_t pc, uintptr_t *start)
{
	uint32_t nr = atomic_load_explicit(&list.nr_objects, memory_order_acquire);

	for (uint32_t i = 0; i < nr; i++) {
		uintptr_t first =
			atomic_load_explicit(&list.objects[i].start, memory_order_acquire);
		uintptr_t end = atomic_load_explicit(&list.objects[i].end, memory_order_acquire);

		if (pc - first < end - first) {
			*start = first;
			return true;
		}
	}
	return false;
}

static bool search_unlocked(uintptr_t pc, uintptr_t *start)
{
	uint32_t version = atomic_load_explicit(&list.version, memory_order_acquire);
	bool is_found;

	if (version % 2 || atomic_load_explicit(&list.is_outdated, memory_order_relaxed))
		return false;
	is_found = search(pc, start);
	return is_found && atomic_load_explicit(&list.version, memory_order_relaxed) == version;
}

/* The ELF header that an object begins with, if all that we need of it is there. */
static const ElfW(Ehdr) * get_header(uintptr_t start)
{
	const ElfW(Ehdr) *header = (const void *)start;

	if (start % sizeof(void *) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum > NR_HEADERS ||
	    header->e_phoff % sizeof(void *) ||
	    header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > ~PAGE_MASK)
		return NULL;
	return header;
}

static const ElfW(Phdr) * get_segments(const ElfW(Ehdr) * header)
{
	return (const void *)((uintptr_t)header + header->e_phoff);
}

/* What has to be added to the file's addresses: it begins with its first segment. */
static uintptr_t get_bias(const ElfW(Ehdr) * header)
{
	const ElfW(Phdr) *segments = get_segments(header);

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			return (uintptr_t)header - (segments[i].p_vaddr & PAGE_MASK);
	return 0;
}

static void add_object(uintptr_t start)
{
	uint32_t nr = atomic_load_explicit(&list.nr_objects, memory_order_relaxed);
	const ElfW(Ehdr) * header;
	const ElfW(Phdr) * segments;
	uintptr_t end = 0;

	if (nr == NR_OBJECTS || !vs_unwind_memory_is_readable(start, 4096) ||
	    !(header = get_header(start)))
		return;
	segments = get_segments(header);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			end = get_bias(header) + segments[i].p_vaddr + segments[i].p_memsz;
	atomic_store_explicit(&list.objects[nr].start, start, memory_order_release);
	atomic_store_explicit(&list.objects[nr].end, end, memory_order_release);
	atomic_store_explicit(&list.nr_objects, nr + 1, memory_order_release);
}

/* The loader's list, which it keeps for debuggers. */
static void make_list(void)
{
	const struct link_map *map = _r_debug.r_map;
	uint32_t version = atomic_load_explicit(&list.version, memory_order_relaxed);

	atomic_store_explicit(&list.version, version + 1, memory_order_relaxed);
	atomic_store_explicit(&list.is_outdated, false, memory_order_relaxed);
	atomic_store_explicit(&list.nr_objects, 0, memory_order_release);
	/* The program itself is not always linked to begin at 0. */
	add_object((uintptr_t)getauxval(AT_PHDR) & PAGE_MASK);
	for (uint32_t i = 0; i < NR_OBJECTS && map; i++) {
		if (!vs_unwind_memory_is_readable((uintptr_t)map, sizeof(*map)))
			break;
		add_object(map->l_addr);
		map = map->l_next;
	}
	atomic_store_explicit(&list.version, version + 2, memory_order_release);
}

static enum vs_unwind_object_result find_in_list(uintptr_t pc, uintptr_t *start)
{
	bool is_found;

	if (search_unlocked(pc, start))
		return VS_UNWIND_OBJECT_FOUND;
	if (atomic_flag_test_and_set_explicit(&list.is_taken, memory_order_acquire))
		return VS_UNWIND_OBJECT_BUSY;
	make_list();
	is_found = search(pc, start);
	atomic_flag_clear_explicit(&list.is_taken, memory_order_release);
	return is_found ? VS_UNWIND_OBJECT_FOUND : VS_UNWIND_OBJECT_LOOSE;
}

/* ---- What an object says --------------------------------------------------------------------- */

static enum vs_unwind_object_result find_start(uintptr_t pc, uintptr_t *start)
{
	struct found_object found;

	if (!find_object)
		return find_in_list(pc, start);
	if (find_object((void *)pc, &found) != 0)
		return VS_UNWIND_OBJECT_LOOSE;
	*start = (uintptr_t)found.start;
	return VS_UNWIND_OBJECT_FOUND;
}

/* The segment that an address lies in, as far as the file fills it. */
static bool find_segment(const ElfW(Ehdr) * header, uintptr_t address,
			 struct vs_unwind_cfi_bytes *bytes)
{
	const ElfW(Phdr) *segments = get_segments(header);
	uintptr_t bias = get_bias(header);

	for (unsigned i = 0; i < header->e_phnum; i++) {
		uintptr_t start = bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_R) ||
		    address - start >= segments[i].p_filesz)
			continue;
		bytes->start = (const uint8_t *)start;
		bytes->end = bytes->start + segments[i].p_filesz;
		return true;
	}
	return false;
}

/* Address of .eh_frame_hdr, or 0. */
static uintptr_t get_table(const ElfW(Ehdr) * header)
{
	const ElfW(Phdr) *segments = get_segments(header);

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			return get_bias(header) + segments[i].p_vaddr;
	return 0;
}

static enum vs_unwind_cfi_result find_row(const ElfW(Ehdr) * header, uintptr_t table, uintptr_t pc,
					  struct vs_unwind_cfi_row *row)
{
	struct vs_unwind_cfi_bytes bytes;
	enum vs_unwind_cfi_result result;
	uintptr_t entry;

	if (!find_segment(header, table, &bytes))
		return VS_UNWIND_CFI_UNKNOWN;
	result = vs_unwind_cfi_find_entry(&bytes, table, pc, &entry);
	if (result != VS_UNWIND_CFI_FOUND)
		return result;
	/* .eh_frame mostly lies behind its table, but need not. */
	if (!find_segment(header, entry, &bytes))
		return VS_UNWIND_CFI_UNKNOWN;
	return vs_unwind_cfi_read(&bytes, entry, pc, row);
}

enum vs_unwind_object_result vs_unwind_object_find(uintptr_t pc, struct vs_unwind_cfi_row *row)
{
	enum vs_unwind_object_result result;
	const ElfW(Ehdr) * header;
	uintptr_t start, table;

	result = find_start(pc, &start);
	if (result != VS_UNWIND_OBJECT_FOUND)
		return result;
	header = get_header(start);
	if (!header)
		return VS_UNWIND_OBJECT_UNKNOWN;
	table = get_table(header);
	if (!table)
		return VS_UNWIND_OBJECT_BARE;
	switch (find_row(header, table, pc, row)) {
	case VS_UNWIND_CFI_FOUND:
		return VS_UNWIND_OBJECT_FOUND;
	case VS_UNWIND_CFI_NONE:
		return VS_UNWIND_OBJECT_BARE;
	default:
		return VS_UNWIND_OBJECT_UNKNOWN;
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

void vs_unwind_object_init(bool has_finder)
{
	/* Not by name: a library that names it does not run with an older glibc. */
	*(void **)(void *)&find_object = has_finder ? dlsym(RTLD_DEFAULT, "_dl_find_object") : NULL;
}

void vs_unwind_object_forget(void)
{
	atomic_store_explicit(&list.is_outdated, true, memory_order_relaxed);
}

void vs_unwind_object_begin_in_child(void)
{
	atomic_flag_clear_explicit(&list.is_taken, memory_order_relaxed);
	atomic_store_explicit(&list.version, 0, memory_order_relaxed);
	atomic_store_explicit(&list.is_outdated, true, memory_order_relaxed);
}
