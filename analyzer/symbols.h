#ifndef VS_SYMBOLS_H
#define VS_SYMBOLS_H

/*
 * Addresses of a recorded process to `function at file:line`, offline: from DWARF (inlined
 * functions included), else from the symbol table, else as module+offset. Files are opened when the
 * first address in them is asked for; answers are kept. All strings belong to the symbols and live
 * as long as they do.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "record.h"

#define VS_SYMBOLS_FRAMES_MAX 32 /* functions at one address: more inlining than this is cut */

enum vs_symbol_kind {
	VS_SYMBOL_NATIVE,
	VS_SYMBOL_PYTHON,
	VS_SYMBOL_LINK, /* what is outside of it ran on another thread; `function` says which */
	VS_SYMBOL_OP,   /* an operation of a framework; `file` is what its memory is for, or NULL */
};

struct vs_symbol {
	enum vs_symbol_kind kind;
	const char *function; /* never NULL: without a name "libx.so+0x1234", or "0x1234" */
	const char *file;     /* as the compiler wrote it; NULL: not known */
	uint32_t line;        /* 0: not known */
	const char *module;   /* path; NULL: the address is in no module */
	bool is_inlined;      /* into the one that follows */
	const char *type;     /* of an operation: that of its elements; NULL: not known */
};

struct vs_symbols;

/* NULL: out of memory. */
struct vs_symbols *vs_symbols_create(void);
void vs_symbols_destroy(struct vs_symbols *symbols);

/*
 * A MODULE record, as it comes by; copied. A module that covers addresses of an older one stands
 * in front of it.
 */
VS_MUST_CHECK int vs_symbols_add_module(struct vs_symbols *symbols, const struct vs_module *module);

/*
 * A MODULE_END record. The module still answers for its addresses where no living one does, so that
 * stacks can be resolved after the last record.
 */
void vs_symbols_end_module(struct vs_symbols *symbols, uint32_t id);

/*
 * The functions at a return address, innermost first; looked up one byte before it, in the call
 * itself. Returns how many were written, 1 <= n <= max (max >= 1), or -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_symbols_resolve(struct vs_symbols *symbols, uint64_t pc, struct vs_symbol *out,
				     int max);

/*
 * The same in a module that is known: `id` of a MODULE record, or VS_NO_ID for an address in none.
 * For stacks whose module may have made room for another one since.
 */
VS_MUST_CHECK int vs_symbols_resolve_in(struct vs_symbols *symbols, uint32_t id, uint64_t pc,
					struct vs_symbol *out, int max);

/*
 * What the reader of a report should know about its names: "PATH changed since the run" and its
 * like, each once, the i-th or NULL. They appear while addresses are resolved.
 */
const char *vs_symbols_get_notice(const struct vs_symbols *symbols, size_t i);

#endif
