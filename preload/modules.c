#include "modules.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "compose.h"
#include "loaded_object.h"

enum row_state {
	ROW_FREE,
	ROW_LOADED, /* release: object was written before */
	ROW_UNLOADED,
};

/* Row n - 1 is module n. Written by the thread that took the number. */
struct row {
	_Atomic int state;
	struct vs_loaded_object object;
};

static struct row rows[VS_MODULES_MAX];
static _Atomic uint32_t last_number;
static const char *program_path = "";

void vs_modules_init(const char *exe)
{
	program_path = exe;
}

void vs_modules_clear(void)
{
	uint32_t nr = atomic_load_explicit(&last_number, memory_order_relaxed);

	for (uint32_t i = 0; i < nr; i++)
		atomic_store_explicit(&rows[i].state, ROW_FREE, memory_order_relaxed);
	atomic_store_explicit(&last_number, 0, memory_order_relaxed);
}

static bool is_known(const struct vs_loaded_object *object)
{
	uint32_t nr = atomic_load_explicit(&last_number, memory_order_relaxed);

	for (uint32_t i = 0; i < nr; i++)
		if (atomic_load_explicit(&rows[i].state, memory_order_acquire) == ROW_LOADED &&
		    rows[i].object.start == object->start && rows[i].object.map == object->map)
			return true;
	return false;
}

static uint32_t take_number(void)
{
	uint32_t number = atomic_load_explicit(&last_number, memory_order_relaxed);

	do {
		if (number >= VS_MODULES_MAX)
			return VS_NO_ID;
	} while (!atomic_compare_exchange_weak_explicit(
		&last_number, &number, number + 1, memory_order_relaxed, memory_order_relaxed));
	return number + 1;
}

static uint64_t align_up(uint64_t offset)
{
	return (offset + 3) & ~UINT64_C(3);
}

/* Looks through one PT_NOTE segment. gABI, "Note Section"; fields are padded to four bytes. */
static void read_notes(const unsigned char *notes, uint64_t size, struct vs_module *module)
{
	ElfW(Nhdr) note;

	for (uint64_t at = 0; size >= sizeof(note) && at <= size - sizeof(note);) {
		uint64_t name, content;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		content = name + align_up(note.n_namesz);
		at = content + align_up(note.n_descsz);
		if (at > size)
			return;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(notes + name, "GNU", 4) != 0)
			continue;
		module->build_id_size =
			note.n_descsz < VS_BUILD_ID_MAX ? note.n_descsz : VS_BUILD_ID_MAX;
		memcpy(module->build_id, notes + content, module->build_id_size);
		return;
	}
}

/* The extent and the build-id, from the program headers in memory. */
static void read_segments(const struct vs_loaded_object *object, struct vs_module *module)
{
	const ElfW(Ehdr) *header = (const void *)object->start;
	const ElfW(Phdr) * segment;
	long page_size = sysconf(_SC_PAGESIZE);

	/* The first segment mostly begins with the file; where it does not, nothing is known. */
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(*segment) ||
	    header->e_phoff + header->e_phnum * sizeof(*segment) > (uint64_t)page_size)
		return;
	segment = (const void *)(object->start + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++, segment++) {
		uint64_t start = module->bias + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && start + segment->p_memsz > module->end)
			module->end = start + segment->p_memsz;
		if (segment->p_type == PT_NOTE && !module->build_id_size)
			read_notes((const unsigned char *)start, segment->p_memsz, module);
	}
	module->end = (module->end + (uint64_t)page_size - 1) & ~((uint64_t)page_size - 1);
}

/* The loader keeps names as they were asked for; offline only whole ones are of use. */
static struct vs_text read_path(const struct link_map *map, char *path, size_t path_size)
{
	const char *name = map->l_name && map->l_name[0] ? map->l_name : program_path;
	struct vs_compose text;

	vs_compose_init(&text, path, path_size);
	/* The vDSO has a name but no file: it stays as it is. */
	if (name[0] != '/' && strchr(name, '/') && getcwd(path, path_size)) {
		text.size = strlen(path);
		vs_compose_add(&text, "/");
	}
	vs_compose_add(&text, name);
	return (struct vs_text){.bytes = path, .size = (uint32_t)text.size};
}

bool vs_modules_describe(uint64_t address, struct vs_module *module, char *path, size_t path_size)
{
	struct vs_loaded_object object;
	struct vs_module found = {0};

	if (!vs_loaded_object_at((const void *)(uintptr_t)address, &object) || is_known(&object))
		return false;
	found.id = take_number();
	if (found.id == VS_NO_ID)
		return false;
	found.start = object.start;
	found.end = address + 1;
	found.bias = object.map->l_addr;
	found.path = read_path(object.map, path, path_size);
	read_segments(&object, &found);
	/* Not yet ROW_LOADED: nobody looks at it. */
	rows[found.id - 1].object = object;
	*module = found;
	return true;
}

bool vs_modules_is_known(uint64_t address, struct vs_modules_span *span)
{
	struct vs_loaded_object object;

	if (address - span->start < span->size)
		return true;
	if (!vs_loaded_object_at((const void *)(uintptr_t)address, &object) || !is_known(&object))
		return false;
	/* All of it, as the loader puts it in memory, is behind its start. */
	span->start = object.start;
	span->size = address - object.start + 1;
	return true;
}

void vs_modules_add(const struct vs_module *module)
{
	atomic_store_explicit(&rows[module->id - 1].state, ROW_LOADED, memory_order_release);
}

void vs_modules_give_back(const struct vs_module *module)
{
	uint32_t number = module->id;

	/* Works if nobody took one since; a full log must not use up the numbers. */
	atomic_compare_exchange_strong_explicit(&last_number, &number, number - 1,
						memory_order_relaxed, memory_order_relaxed);
}

uint32_t vs_modules_take_unloaded(void)
{
	uint32_t nr = atomic_load_explicit(&last_number, memory_order_relaxed);

	for (uint32_t i = 0; i < nr; i++) {
		int state = ROW_LOADED;

		if (atomic_load_explicit(&rows[i].state, memory_order_acquire) == ROW_LOADED &&
		    !vs_loaded_object_is_alive(&rows[i].object) &&
		    atomic_compare_exchange_strong_explicit(&rows[i].state, &state, ROW_UNLOADED,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return i + 1;
	}
	return VS_NO_ID;
}
