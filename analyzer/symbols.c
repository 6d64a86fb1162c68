#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "dwarf_lines.h"
#include "elf_names.h"
#include "grow.h"
#include "module_file.h"

struct module {
	uint32_t id;
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	char *path;
	uint8_t build_id[VS_BUILD_ID_MAX];
	uint32_t build_id_size;
	bool has_ended;
	bool is_open; /* what follows was looked for */
	struct vs_module_file file;
	struct vs_dwarf_lines *lines;
	struct vs_elf_names names;
};

/* What one address means in one module. */
struct answer {
	uint64_t pc;                 /* 0: empty */
	const struct module *module; /* NULL: none is there */
	struct vs_symbol *frames;
	int nr_frames;
};

/* A growing list of strings to be freed at the end. */
struct strings {
	char **texts;
	size_t nr_texts;
	size_t nr_room;
};

struct vs_symbols {
	struct module **modules;
	size_t nr_modules;
	size_t module_room;
	struct module *latest; /* asked for by its number, or NULL */
	struct answer *answers;
	size_t nr_answers;
	size_t answer_room; /* a power of two, at least twice nr_answers */
	struct strings texts;
	struct strings notices;
};

static bool push_text(struct strings *strings, char *text)
{
	if (VS_GROW(strings->texts, strings->nr_room, strings->nr_texts + 1))
		return false;
	strings->texts[strings->nr_texts++] = text;
	return true;
}

static void free_texts(struct strings *strings)
{
	for (size_t i = 0; i < strings->nr_texts; i++)
		free(strings->texts[i]);
	free(strings->texts);
}

/* Takes the text over, also when there is no room for it: then NULL. */
static const char *keep_text(struct vs_symbols *symbols, char *text)
{
	if (text && push_text(&symbols->texts, text))
		return text;
	free(text);
	return NULL;
}

struct vs_symbols *vs_symbols_create(void)
{
	return calloc(1, sizeof(struct vs_symbols));
}

static void destroy_module(struct module *module)
{
	vs_dwarf_lines_destroy(module->lines);
	vs_elf_names_fini(&module->names);
	if (module->is_open)
		vs_module_file_close(&module->file);
	free(module->path);
	free(module);
}

void vs_symbols_destroy(struct vs_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->answer_room; i++)
		free(symbols->answers[i].frames);
	free(symbols->answers);
	for (size_t i = 0; i < symbols->nr_modules; i++)
		destroy_module(symbols->modules[i]);
	free(symbols->modules);
	free_texts(&symbols->texts);
	free_texts(&symbols->notices);
	free(symbols);
}

int vs_symbols_add_module(struct vs_symbols *symbols, const struct vs_module *module)
{
	struct module *copy;

	if (VS_GROW(symbols->modules, symbols->module_room, symbols->nr_modules + 1))
		return -VS_ERR_NO_MEMORY;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -VS_ERR_NO_MEMORY;
	copy->path = strndup(module->path.size ? module->path.bytes : "", module->path.size);
	if (!copy->path) {
		free(copy);
		return -VS_ERR_NO_MEMORY;
	}
	copy->id = module->id;
	copy->start = module->start;
	copy->end = module->end;
	copy->bias = module->bias;
	copy->build_id_size = module->build_id_size;
	if (copy->build_id_size > VS_BUILD_ID_MAX)
		copy->build_id_size = VS_BUILD_ID_MAX;
	memcpy(copy->build_id, module->build_id, copy->build_id_size);
	symbols->modules[symbols->nr_modules++] = copy;
	return 0;
}

void vs_symbols_end_module(struct vs_symbols *symbols, uint32_t id)
{
	for (size_t i = symbols->nr_modules; i-- > 0;) {
		if (symbols->modules[i]->id == id && !symbols->modules[i]->has_ended) {
			symbols->modules[i]->has_ended = true;
			return;
		}
	}
}

/* The newest living module there, else the newest one that ended. */
static struct module *find_module(struct vs_symbols *symbols, uint64_t address)
{
	struct module *ended = NULL;

	for (size_t i = symbols->nr_modules; i-- > 0;) {
		struct module *module = symbols->modules[i];

		if (address < module->start || address >= module->end)
			continue;
		if (!module->has_ended)
			return module;
		if (!ended)
			ended = module;
	}
	return ended;
}

static void push_notice(struct vs_symbols *symbols, const char *path, const char *what)
{
	char *text;

	if (asprintf(&text, "%s %s", path, what) < 0)
		return;
	for (size_t i = 0; i < symbols->notices.nr_texts; i++) {
		if (strcmp(symbols->notices.texts[i], text) == 0) {
			free(text);
			return;
		}
	}
	if (!push_text(&symbols->notices, text))
		free(text);
}

/* Errors leave the module with fewer names, which is what its reader sees. */
static void open_module(struct vs_symbols *symbols, struct module *module)
{
	Elf *elf;
	Elf *debug;

	module->is_open = true;
	/* The vdso has no file, and a relative path is not that of our own folder. */
	vs_module_file_open(&module->file, module->path[0] == '/' ? module->path : "",
			    module->build_id, module->build_id_size);
	elf = module->file.elf;
	debug = module->file.debug;
	if (module->file.state == VS_MODULE_FILE_CHANGED)
		push_notice(symbols, module->path, "changed since the run");
	else if (!elf && !debug && module->path[0] == '/')
		push_notice(symbols, module->path, "cannot be read: its functions have no names");

	if (elf)
		module->lines = vs_dwarf_lines_create(elf);
	if (debug && !module->lines)
		module->lines = vs_dwarf_lines_create(debug);
	if ((debug && vs_elf_names_add(&module->names, debug)) ||
	    (elf && vs_elf_names_add(&module->names, elf)))
		return;
	vs_elf_names_sort(&module->names);
}

/* From the names of DWARF and of the symbol table, either of which may be NULL, but not both. */
static const char *make_name(struct vs_symbols *symbols, const char *name, const char *elf_name)
{
	char *text = name ? vs_demangle_name(name) : NULL;

	/* gcc gives no full name to C++ functions of one file only; the symbol table does. */
	if (!text && elf_name)
		text = vs_demangle_name(elf_name);
	if (text)
		return keep_text(symbols, text);
	return name ? name : elf_name;
}

/* "libx.so+0x1234": what is left without a name. */
static const char *make_offset(struct vs_symbols *symbols, const struct module *module,
			       uint64_t address)
{
	const char *base;
	char *text;
	int size;

	if (!module) {
		size = asprintf(&text, "0x%llx", (unsigned long long)address);
	} else {
		base = strrchr(module->path, '/');
		size = asprintf(&text, "%s+0x%llx", base ? base + 1 : module->path,
				(unsigned long long)(address - module->bias));
	}
	return size < 0 ? NULL : keep_text(symbols, text);
}

/* Fills in frames at `address` of the process. Returns how many, or -VS_ERR_NO_MEMORY. */
static int make_frames(struct vs_symbols *symbols, struct module *module, uint64_t address,
		       struct vs_symbol *frames)
{
	struct vs_dwarf_frame found[VS_SYMBOLS_FRAMES_MAX];
	uint64_t in_file = module ? address - module->bias : address;
	int nr = 0;

	if (module && module->lines)
		nr = vs_dwarf_lines_find(module->lines, in_file, found, VS_SYMBOLS_FRAMES_MAX);
	if (nr == 0) {
		found[0] = (struct vs_dwarf_frame){0};
		nr = 1;
	}
	for (int i = 0; i < nr; i++) {
		const char *name = found[i].name;
		const char *elf_name = NULL;

		if (module && i == nr - 1) /* inlined ones are not in the table */
			elf_name = vs_elf_names_find(&module->names, in_file);
		frames[i] = (struct vs_symbol){
			.function = name || elf_name ? make_name(symbols, name, elf_name)
						     : make_offset(symbols, module, address + 1),
			.file = found[i].file,
			.line = found[i].file ? found[i].line : 0,
			.module = module ? module->path : NULL,
			.is_inlined = i < nr - 1,
		};
		if (!frames[i].function)
			return -VS_ERR_NO_MEMORY;
	}
	return nr;
}

/* The place of an answer in a table with at least one empty place. */
static struct answer *find_answer(struct answer *answers, size_t room, const struct module *module,
				  uint64_t pc)
{
	uint64_t hash = (pc ^ (module ? module->start + module->id : 0)) * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(hash >> 20) & (room - 1);

	while (answers[i].pc && (answers[i].pc != pc || answers[i].module != module))
		i = (i + 1) & (room - 1);
	return &answers[i];
}

static bool make_room(struct vs_symbols *symbols)
{
	size_t room = symbols->answer_room ? symbols->answer_room * 2 : 256;
	struct answer *answers;

	if (symbols->nr_answers * 2 < symbols->answer_room)
		return true;
	answers = calloc(room, sizeof(*answers));
	if (!answers)
		return false;
	for (size_t i = 0; i < symbols->answer_room; i++) {
		const struct answer *old = &symbols->answers[i];

		if (old->pc)
			*find_answer(answers, room, old->module, old->pc) = *old;
	}
	free(symbols->answers);
	symbols->answers = answers;
	symbols->answer_room = room;
	return true;
}

static int make_answer(struct vs_symbols *symbols, struct answer *answer, struct module *module,
		       uint64_t pc)
{
	struct vs_symbol frames[VS_SYMBOLS_FRAMES_MAX];
	struct vs_symbol *copy;
	int nr;

	if (module && !module->is_open)
		open_module(symbols, module);
	nr = make_frames(symbols, module, pc - 1, frames);
	if (nr < 0)
		return nr;
	copy = malloc((size_t)nr * sizeof(*copy));
	if (!copy)
		return -VS_ERR_NO_MEMORY;
	memcpy(copy, frames, (size_t)nr * sizeof(*copy));
	*answer = (struct answer){.pc = pc, .module = module, .frames = copy, .nr_frames = nr};
	symbols->nr_answers++;
	return 0;
}

static int resolve(struct vs_symbols *symbols, struct module *module, uint64_t pc,
		   struct vs_symbol *out, int max)
{
	struct answer *answer;
	int nr;

	if (pc == 0) { /* the end of a stack that an unwinder did not see as such */
		out[0] = (struct vs_symbol){.function = "0x0"};
		return 1;
	}
	if (!make_room(symbols))
		return -VS_ERR_NO_MEMORY;
	answer = find_answer(symbols->answers, symbols->answer_room, module, pc);
	if (!answer->pc) {
		int err = make_answer(symbols, answer, module, pc);

		if (err)
			return err;
	}
	nr = answer->nr_frames < max ? answer->nr_frames : max;
	memcpy(out, answer->frames, (size_t)nr * sizeof(*out));
	return nr;
}

int vs_symbols_resolve(struct vs_symbols *symbols, uint64_t pc, struct vs_symbol *out, int max)
{
	return resolve(symbols, find_module(symbols, pc - 1), pc, out, max);
}

int vs_symbols_resolve_in(struct vs_symbols *symbols, uint32_t id, uint64_t pc,
			  struct vs_symbol *out, int max)
{
	struct module *module = NULL;

	/* The last asked for is the likeliest. */
	if (id != VS_NO_ID && symbols->latest && symbols->latest->id == id)
		module = symbols->latest;
	for (size_t i = symbols->nr_modules; id != VS_NO_ID && !module && i-- > 0;)
		if (symbols->modules[i]->id == id)
			module = symbols->modules[i];
	symbols->latest = module;
	return resolve(symbols, module, pc, out, max);
}

const char *vs_symbols_get_notice(const struct vs_symbols *symbols, size_t i)
{
	return i < symbols->notices.nr_texts ? symbols->notices.texts[i] : NULL;
}
