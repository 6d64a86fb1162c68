#include "python_names.h"

#include <string.h>

#include "element_types.h"
#include "python_lines.h"

static void resolve_code(const struct vs_definition_code *code, uint32_t instruction,
			 struct vs_symbol *out)
{
	out->kind = VS_SYMBOL_PYTHON;
	if (!code) {
		out->function = "(Python code that was not recorded)";
		return;
	}
	out->function = code->name;
	out->file = code->file;
	out->line = vs_python_lines_find(code->version, code->first_line, code->lines,
					 code->lines_size, instruction);
}

static void resolve_op(const struct vs_definitions *definitions, uint64_t frame,
		       struct vs_symbol *out)
{
	out->kind = VS_SYMBOL_OP;
	out->function = vs_definitions_get_name(definitions, vs_frame_get_op(frame));
	out->file = vs_definitions_get_name(definitions, vs_frame_get_region(frame));
	out->type = vs_element_types_get_name(vs_frame_get_type(frame));
	if (!out->function)
		out->function = "(an operation without a name)";
}

void vs_python_names_resolve(const struct vs_definitions *definitions, uint64_t frame,
			     struct vs_symbol *out)
{
	*out = (struct vs_symbol){.kind = VS_SYMBOL_LINK};
	if (vs_frame_is(frame, VS_FRAME_PYTHON))
		resolve_code(vs_definitions_get_code(definitions, vs_frame_get_code(frame)),
			     vs_frame_get_instruction(frame), out);
	else if (vs_frame_is(frame, VS_FRAME_OP))
		resolve_op(definitions, frame, out);
	else if (frame == vs_frame_make_link(VS_LINK_BACKWARD))
		out->function = "backward() of another thread";
	else if (frame == vs_frame_make_link(VS_LINK_SEVERAL))
		out->function = "backward() of one out of several threads";
	else if (frame == vs_frame_make_link(VS_LINK_EXECUTE))
		out->function = "a call of TensorFlow on another thread";
	else if (frame == vs_frame_make_link(VS_LINK_EXECUTE_SEVERAL))
		out->function = "a call of TensorFlow on one out of several threads";
	else
		out->function = "(a frame of a later version)";
}

static bool has_part(const char *path, const char *part)
{
	return strstr(path, part) != NULL;
}

bool vs_python_names_is_library(const struct vs_symbol *symbol)
{
	const char *path = symbol->file;

	if (!path)
		return false;
	return has_part(path, "/site-packages/") || has_part(path, "/dist-packages/") ||
	       has_part(path, "/lib/python3") || has_part(path, "/lib64/python3") ||
	       !strncmp(path, "<frozen ", 8);
}

bool vs_python_names_is_hook(const struct vs_symbol *symbol)
{
	static const char name[] = "/vramscope_imports.py";
	size_t size = symbol->file ? strlen(symbol->file) : 0;

	return size >= strlen(name) && !strcmp(symbol->file + size - strlen(name), name);
}
