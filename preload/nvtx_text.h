#ifndef VS_NVTX_TEXT_H
#define VS_NVTX_TEXT_H

#include <stddef.h>
#include <wchar.h>

#include "names.h"

/*
 * The name of a range of NVTX: its message, with the name of its domain and a colon before it
 * unless that is the default one. Cut to what a name may have; never in the middle of a character
 * that was wide. PyTorch's emit_nvtx puts numbers that differ each time behind the operator
 * (", seq = 12, op_id = 34", sizes): they are left out.
 */
struct vs_nvtx_text {
	size_t size;
	size_t start; /* of the message */
	char bytes[VS_NAMES_TEXT_MAX + 1];
};

/* domain: NULL is the default one. */
void vs_nvtx_text_begin(struct vs_nvtx_text *text, const char *domain);
void vs_nvtx_text_add(struct vs_nvtx_text *text, const char *message);
void vs_nvtx_text_add_wide(struct vs_nvtx_text *text, const wchar_t *message);

/* The name, terminated. */
const char *vs_nvtx_text_end(struct vs_nvtx_text *text);

#endif
