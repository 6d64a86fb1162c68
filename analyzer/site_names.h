#ifndef VS_SITE_NAMES_H
#define VS_SITE_NAMES_H

#include <stddef.h>

#include "definitions.h"
#include "error.h"
#include "replay.h"
#include "symbols.h"

/*
 * Sites as people see them: `file:line function < file:line caller < ...`, innermost first. Frames
 * of CUDA's libraries, of ours, and of functions that only allocate are left out at the top, what
 * is below main() at the bottom: docs/analyses.md, "Sites".
 */
struct vs_site_names;

/* The definitions outlive the names. */
VS_MUST_CHECK int vs_site_names_create(struct vs_site_names **names,
				       const struct vs_definitions *definitions);
void vs_site_names_destroy(struct vs_site_names *names);

/* One line, terminated, cut to size. api: shown where no stack was recorded; may be VS_NO_ID. */
VS_MUST_CHECK int vs_site_names_put(struct vs_site_names *names, const struct vs_site *site,
				    uint32_t api, char *out, size_t size);

/* Only the first part of the line: `file:line function`; of a constructor, with its caller. */
VS_MUST_CHECK int vs_site_names_put_short(struct vs_site_names *names, const struct vs_site *site,
					  uint32_t api, char *out, size_t size);

/* The same without what a library did there: where in the program one would look. */
VS_MUST_CHECK int vs_site_names_put_place(struct vs_site_names *names, const struct vs_site *site,
					  uint32_t api, char *out, size_t size);

/* The functions at a frame of a site, as vs_symbols_resolve. */
VS_MUST_CHECK int vs_site_names_resolve(struct vs_site_names *names,
					const struct vs_site_frame *frame, struct vs_symbol *out,
					int max);

/* Whether a function is left out at the top of a stack. */
bool vs_site_names_is_wrapper(const struct vs_symbol *frame);

/* The i-th remark about symbols, or NULL. */
const char *vs_site_names_get_notice(const struct vs_site_names *names, size_t i);

#endif
