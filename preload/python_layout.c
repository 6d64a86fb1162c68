#include "python_layout.h"

#include <string.h>

#include "python_releases.h"

/* ---- Releases without a table of their own -------------------------------------------------- */

static const struct vs_python_layout releases[] = {
	{
		.version = VS_PYTHON_OLDEST,
		.max_frame = 112,
		.thread_frame = 24,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_position = 104,
		.position = VS_PYTHON_BYTES,
		.entry = VS_PYTHON_EVERY,
		.code_file = 104,
		.code_name = 112,
		.code_first_line = 40,
		.code_lines = 120,
		.text_ascii = 48,
		.text_compact = 72,
	},
	{
		.version = 0x0309,
		.max_frame = 112,
		.thread_frame = 24,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_position = 104,
		.position = VS_PYTHON_BYTES,
		.entry = VS_PYTHON_EVERY,
		.code_file = 104,
		.code_name = 112,
		.code_first_line = 40,
		.code_lines = 120,
		.text_ascii = 48,
		.text_compact = 72,
	},
	{
		.version = 0x030a,
		.max_frame = 112,
		.thread_frame = 24,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_position = 96,
		.position = VS_PYTHON_UNITS,
		.entry = VS_PYTHON_EVERY,
		.code_file = 104,
		.code_name = 112,
		.code_first_line = 40,
		.code_lines = 120,
		.text_ascii = 48,
		.text_compact = 72,
	},
	{
		.version = 0x030b,
		.max_frame = 72,
		.thread_frame = 56,
		.thread_in_cframe = 8 + 1,
		.frame_previous = 48,
		.frame_code = 32,
		.frame_position = 56,
		.position = VS_PYTHON_POINTER,
		.frame_entry = 68,
		.entry = VS_PYTHON_FLAG,
		.code_file = 112,
		.code_name = 128,
		.code_first_line = 72,
		.code_lines = 136,
		.code_start = 184,
		.text_ascii = 48,
		.text_compact = 72,
	},
	{
		.version = 0x030c,
		.max_frame = 72,
		.thread_frame = 56,
		.thread_in_cframe = 0 + 1,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_position = 56,
		.position = VS_PYTHON_POINTER,
		.frame_entry = 70,
		.entry = VS_PYTHON_SHIM,
		.shim_owner = 3,
		.code_file = 112,
		.code_name = 128,
		.code_first_line = 68,
		.code_lines = 136,
		.code_start = 192,
		.code_version = 92,
		.text_ascii = 40,
		.text_compact = 56,
	},
};

/* ---- _Py_DebugOffsets ----------------------------------------------------------------------- */

#define COOKIE "xdebugpy"

/*
 * Numbers of 64 bits; each group begins with a size. Behind the cookie: version, free_threaded,
 * runtime_state[3], interpreter_state[13 or 16], thread_state[9], interpreter_frame[6 or 8],
 * code_object[10 or 11], pyobject[2], type_object[4], tuple[3], list[3], dict[3], float[2],
 * long[3], bytes[3], unicode[4]. 3.14 has a set[4] in front of dict.
 */
enum {
	AT_VERSION = 1,
	AT_FREE_THREADED = 2,
	AT_INTERPRETER = 6,
};

struct groups {
	unsigned thread, frame, code, bytes, unicode;
};

static struct groups find_groups(uint32_t version)
{
	bool is_313 = version < 0x030e;
	struct groups at;

	at.thread = AT_INTERPRETER + (is_313 ? 13 : 16);
	at.frame = at.thread + 9;
	at.code = at.frame + (is_313 ? 6 : 8);
	/* pyobject, type, tuple, list, (set), dict, float, long */
	at.bytes = at.code + (is_313 ? 10 : 11) + 2 + 4 + 3 + 3 + (is_313 ? 0 : 4) + 3 + 2 + 3;
	at.unicode = at.bytes + 3;
	return at;
}

static enum vs_python_verdict read_table(struct vs_python_layout *layout, uint32_t version,
					 const void *runtime)
{
	struct groups at = find_groups(version);
	uint64_t table[128];

	memcpy(table, runtime, sizeof(table));
	if (memcmp(table, COOKIE, sizeof(table[0])) != 0 || table[AT_VERSION] >> 16 != version)
		return VS_PYTHON_TOO_NEW;
	if (table[AT_FREE_THREADED])
		return VS_PYTHON_FREE_THREADED;
	*layout = (struct vs_python_layout){
		.version = (uint16_t)version,
		.max_frame = (uint16_t)table[at.frame],
		.thread_frame = (uint16_t)table[at.thread + 4],
		.frame_previous = (uint16_t)table[at.frame + 1],
		.frame_code = (uint16_t)table[at.frame + 2],
		.frame_position = (uint16_t)table[at.frame + 3],
		.position = VS_PYTHON_POINTER,
		.frame_entry = (uint16_t)table[at.frame + 5],
		.entry = VS_PYTHON_SHIM,
		.shim_owner = 3,
		.code_file = (uint16_t)table[at.code + 1],
		.code_name = (uint16_t)table[at.code + 3],
		.code_lines = (uint16_t)table[at.code + 4],
		.code_first_line = (uint16_t)table[at.code + 5],
		.code_start = (uint16_t)table[at.code + 9],
		/* In front of co_localsplusnames, which the table has. */
		.code_version = (uint16_t)(table[at.code + 7] - 4),
		.bytes_size = (uint16_t)table[at.bytes + 1],
		.bytes_data = (uint16_t)table[at.bytes + 2],
		.text_state = (uint16_t)table[at.unicode + 1],
		.text_length = (uint16_t)table[at.unicode + 2],
		.text_ascii = (uint16_t)table[at.unicode + 3],
		.text_compact = (uint16_t)(table[at.unicode + 3] + 16),
	};
	return VS_PYTHON_KNOWN;
}

/* ---- Any of them ---------------------------------------------------------------------------- */

enum vs_python_verdict vs_python_layout_get(struct vs_python_layout *layout, uint32_t version,
					    const void *runtime)
{
	enum vs_python_verdict verdict = VS_PYTHON_TOO_OLD;

	version >>= 16;
	if (version > VS_PYTHON_NEWEST)
		return VS_PYTHON_TOO_NEW;
	if (version >= 0x030d) {
		verdict = read_table(layout, version, runtime);
	} else {
		for (unsigned i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
			if (releases[i].version != version)
				continue;
			*layout = releases[i];
			layout->text_length = 16;
			layout->text_state = 32;
			layout->bytes_size = 16;
			layout->bytes_data = 32;
			verdict = VS_PYTHON_KNOWN;
		}
	}
	layout->position_mask = layout->position == VS_PYTHON_POINTER ? ~UINT64_C(0) : UINT32_MAX;
	/* 3.14 keeps a mark in the pointer. */
	layout->frame_code_mask = version >= 0x030e ? ~UINT64_C(3) : ~UINT64_C(0);
	return verdict;
}
