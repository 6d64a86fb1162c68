#ifndef VS_PYTHON_NAMES_H
#define VS_PYTHON_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "definitions.h"
#include "symbols.h"

/* Frames of a stack that are no addresses (record.h), as symbols. */

/* Fills in *out for such a frame. Its texts belong to the definitions, or are static. */
void vs_python_names_resolve(const struct vs_definitions *definitions, uint64_t frame,
			     struct vs_symbol *out);

/* Python that is not the user's own: the interpreter's library, and installed packages. */
bool vs_python_names_is_library(const struct vs_symbol *symbol);

/* Our own callbacks (preload/import_hook): they report somebody else's request. */
bool vs_python_names_is_hook(const struct vs_symbol *symbol);

#endif
