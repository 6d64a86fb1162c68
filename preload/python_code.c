#include "python_code.h"

#include <string.h>

#include "intern.h"
#include "python_object.h"

static struct vs_intern table;
static _Atomic uint32_t last_number;

int vs_python_code_init(void)
{
	/* An entry: its hash, and what comes before it. */
	return vs_intern_init(&table, VS_PYTHON_CODE_MAX, (size_t)VS_PYTHON_CODE_MAX * 32);
}

void vs_python_code_clear(void)
{
	vs_intern_clear(&table);
	atomic_store_explicit(&last_number, 0, memory_order_relaxed);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* All that is loaded here can be: the checks ask the kernel. */
static bool is_object(uintptr_t object, uintptr_t type, uintptr_t size)
{
	return vs_unwind_memory_is_readable(object, size) &&
	       vs_python_load(object, VS_PYTHON_OBJECT_TYPE) == type;
}

static uint32_t load_character(uintptr_t data, uint32_t width, uint64_t i)
{
	switch (width) {
	case 1:
		return vs_python_load8(data, (uint32_t)i);
	case 2:
		return vs_python_load32(data, (uint32_t)i * 2) & 0xffff;
	default:
		return vs_python_load32(data, (uint32_t)i * 4);
	}
}

/* As UTF-8, at most four bytes. What cannot be one (a lone surrogate) is a question mark. */
static uint32_t put_character(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
		out[0] = '?';
		return 1;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

#define IS_COMPACT (1u << 5)
#define IS_ASCII   (1u << 6)

/* Where its characters are. Those of derived classes are elsewhere. */
VS_UNWIND_UNWATCHED static uintptr_t get_characters(uintptr_t text, uint32_t state)
{
	const struct vs_python_layout *layout = &vs_python.layout;

	if (!(state & IS_COMPACT))
		return vs_python_load(text, layout->text_compact);
	return text + (state & IS_ASCII ? layout->text_ascii : layout->text_compact);
}

/* Python's text as UTF-8; what has no room is cut. False: it is no text as we know them. */
static bool read_text(struct vs_text *text, char *space, uint32_t room, uintptr_t object)
{
	const struct vs_python_layout *layout = &vs_python.layout;
	uint32_t state, width, used = 0;
	uint64_t length;
	uintptr_t data;

	if (!vs_python_is_text(object))
		return false;
	state = vs_python_load32(object, layout->text_state);
	length = vs_python_load(object, layout->text_length);
	width = state >> 2 & 7;
	if (width != 1 && width != 2 && width != 4)
		return false;
	if (!(state & IS_COMPACT) &&
	    !vs_unwind_memory_is_readable(object, layout->text_compact + 8u))
		return false;
	data = get_characters(object, state);
	if (length > room)
		length = room;
	/* The last character of two bytes is loaded with what is behind it: at least a NUL. */
	if (length && !vs_unwind_memory_is_readable(data, length * width + (width == 2 ? 2 : 0)))
		return false;
	for (uint64_t i = 0; i < length && used + 4 <= room; i++)
		used += put_character(space + used, load_character(data, width, i));
	text->bytes = space;
	text->size = used;
	return true;
}

static bool read_lines(struct vs_python_code *code, uintptr_t object)
{
	const struct vs_python_layout *layout = &vs_python.layout;
	uint64_t size;

	if (!is_object(object, vs_python.bytes_type, layout->bytes_data))
		return false;
	size = vs_python_load(object, layout->bytes_size);
	if (size > VS_PYTHON_LINES_MAX)
		size = 0;
	if (size && !vs_unwind_memory_is_readable(object + layout->bytes_data, size))
		return false;
	code->lines = (const char *)(object + layout->bytes_data);
	code->record.lines_size = (uint32_t)size;
	return true;
}

static void hash(struct vs_python_code *code)
{
	const struct vs_code *record = &code->record;
	uint64_t seed = (uint64_t)record->version << 32 | record->first_line;

	seed = vs_intern_hash(record->file.bytes, record->file.size, seed);
	code->hash[0] = vs_intern_hash(record->name.bytes, record->name.size, seed);
	code->hash[1] = vs_intern_hash(code->lines, record->lines_size, code->hash[0]);
}

bool vs_python_code_read(struct vs_python_code *code, uintptr_t address)
{
	const struct vs_python_layout *layout = &vs_python.layout;

	memset(&code->record, 0, sizeof(code->record));
	if (!is_object(address, vs_python.code_type, layout->code_lines + 8u))
		return false;
	code->record.version = layout->version;
	code->record.first_line = vs_python_load32(address, layout->code_first_line);
	if (!read_text(&code->record.file, code->file, sizeof(code->file),
		       vs_python_load(address, layout->code_file)) ||
	    !read_text(&code->record.name, code->name, sizeof(code->name),
		       vs_python_load(address, layout->code_name)) ||
	    !read_lines(code, vs_python_load(address, layout->code_lines)))
		return false;
	hash(code);
	return true;
}

/* ---- Numbers -------------------------------------------------------------------------------- */

uint32_t vs_python_code_find(const struct vs_python_code *code)
{
	return vs_intern_find(&table, code->hash[1], code->hash, sizeof(code->hash));
}

uint32_t vs_python_code_new_number(void)
{
	uint32_t before = atomic_load_explicit(&last_number, memory_order_relaxed);

	if (!table.map || before >= VS_PYTHON_CODE_MAX)
		return VS_NO_ID;
	before = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed);
	return before < VS_PYTHON_CODE_MAX ? before + 1 : VS_NO_ID;
}

void vs_python_code_add(const struct vs_python_code *code, uint32_t number)
{
	vs_intern_add(&table, code->hash[1], code->hash, sizeof(code->hash), number);
}

/* ---- What a thread remembers ---------------------------------------------------------------- */

VS_UNWIND_UNWATCHED static uint64_t hash_bytes(uint64_t hash, uintptr_t data, uint64_t size)
{
	uint64_t i;

	for (i = 0; i + 8 <= size; i += 8)
		hash = (hash ^ vs_unwind_memory_load(data + i)) * UINT64_C(0x9e3779b97f4a7c15) ^
		       hash >> 31;
	for (; i < size; i++)
		hash = (hash ^ vs_python_load8(data, (uint32_t)i)) * UINT64_C(0xd6e8feb86659fd93);
	return hash ^ size;
}

VS_UNWIND_UNWATCHED uint64_t vs_python_code_hash_all(uintptr_t address)
{
	const struct vs_python_layout *layout = &vs_python.layout;
	uintptr_t file = vs_python_load(address, layout->code_file);
	uintptr_t lines = vs_python_load(address, layout->code_lines);
	uint32_t state = vs_python_load32(file, layout->text_state);
	uint64_t width = state >> 2 & 7, length = vs_python_load(file, layout->text_length);

	return hash_bytes(hash_bytes(width, get_characters(file, state), length * width),
			  lines + layout->bytes_data, vs_python_load(lines, layout->bytes_size));
}

static uint32_t get_place(uintptr_t code)
{
	return (uint32_t)(code * 0x9e3779b97f4a7c15 >> (64 - VS_PYTHON_CODE_MEMO_BITS));
}

uint32_t vs_python_code_recall(struct vs_python_code_memo *memo, uintptr_t code, uint32_t era)
{
	uint32_t at = get_place(code);

	if (memo->entries[at].code != code || memo->entries[at].era != era ||
	    memo->entries[at].fingerprint != vs_python_get_fingerprint(&vs_python.layout, code))
		return VS_NO_ID;
	return memo->entries[at].number;
}

void vs_python_code_remember(struct vs_python_code_memo *memo, uintptr_t code, uint32_t era,
			     uint32_t number)
{
	uint32_t at = get_place(code);

	memo->entries[at].era = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memo->entries[at].code = code;
	memo->entries[at].fingerprint = vs_python_get_fingerprint(&vs_python.layout, code);
	memo->entries[at].number = number;
	atomic_signal_fence(memory_order_seq_cst);
	memo->entries[at].era = era;
}
