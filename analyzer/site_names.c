#include "site_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "python_names.h"

#define MAX_SHOWN 12 /* functions in a line: more than any terminal holds */

struct vs_site_names {
	const struct vs_definitions *definitions;
	struct vs_symbols *symbols;
};

int vs_site_names_create(struct vs_site_names **out, const struct vs_definitions *definitions)
{
	struct vs_site_names *names = calloc(1, sizeof(*names));
	size_t i;
	int err = 0;

	if (!names)
		return -VS_ERR_NO_MEMORY;
	names->definitions = definitions;
	names->symbols = vs_symbols_create();
	if (!names->symbols)
		err = -VS_ERR_NO_MEMORY;
	for (i = 0; i < definitions->nr_modules && !err; i++) {
		const struct vs_definition_module *module = definitions->modules[i];
		struct vs_module record = {.id = module->id,
					   .start = module->start,
					   .end = module->end,
					   .bias = module->bias,
					   .path = {module->path, (uint32_t)strlen(module->path)},
					   .build_id_size = module->build_id_size};

		memcpy(record.build_id, module->build_id, sizeof(record.build_id));
		err = vs_symbols_add_module(names->symbols, &record);
		if (!err && module->is_gone)
			vs_symbols_end_module(names->symbols, module->id);
	}
	if (err) {
		vs_site_names_destroy(names);
		return err;
	}
	*out = names;
	return 0;
}

void vs_site_names_destroy(struct vs_site_names *names)
{
	if (!names)
		return;
	vs_symbols_destroy(names->symbols);
	free(names);
}

static const char *get_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int vs_site_names_resolve(struct vs_site_names *names, const struct vs_site_frame *frame,
			  struct vs_symbol *out, int max)
{
	if (vs_frame_is_special(frame->address)) {
		vs_python_names_resolve(names->definitions, frame->address, out);
		return 1;
	}
	/* Its own module: another one may have taken the addresses since. */
	return vs_symbols_resolve_in(names->symbols, frame->module ? frame->module->id : VS_NO_ID,
				     frame->address, out, max);
}

/* ---- What is left out ----------------------------------------------------------------------- */

static bool is_of_cuda(const struct vs_symbol *frame)
{
	static const char *const prefixes[] = {
		"libcuda",     "libcublas",   "libcudnn",     "libcufft",   "libcurand",
		"libcusolver", "libcusparse", "libnccl",      "libnvrtc",   "libnvJitLink",
		"libnvidia",   "libcupti",    "libvramscope", "libsoftgpu",
	};
	const char *name = frame->module ? get_basename(frame->module) : "";
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Signs that make an operator's name: in `operator<`, `operator->` and `operator()` they are no
 * brackets. */
static size_t get_operator_size(const char *at)
{
	static const char word[] = "operator";
	size_t size = sizeof(word) - 1;

	if (strncmp(at, word, size))
		return 0;
	if (!strncmp(at + size, "()", 2))
		return size + 2;
	return size + strspn(at + size, "<>=-");
}

/* What a qualified function name of C++ consists of. */
struct name_parts {
	size_t start; /* behind the type of the result, which templates have in front */
	size_t size;  /* up to the parameters */
};

/*
 * The name without its parameters: "(anonymous namespace)" and operator() are no parameters, and
 * neither is what stands between brackets, as in function<void (int)> and {lambda(int)#1}.
 */
static struct name_parts get_name_parts(const char *function)
{
	struct name_parts parts = {0, 0};
	const char *at = function;
	bool is_operator = false;
	int depth = 0;

	while (*at) {
		size_t skipped = get_operator_size(at);

		if (skipped) {
			at += skipped;
			is_operator = true; /* `operator new`, `operator unsigned int` */
			continue;
		}
		if (*at == '<' || *at == '{' ||
		    (*at == '(' && (depth || at == function || !strncmp(at, "(anonymous", 10))))
			depth++;
		else if (*at == '(')
			break;
		else if (depth && (*at == '>' || *at == '}' || *at == ')'))
			depth--;
		else if (*at == ' ' && !depth && !is_operator)
			parts.start = (size_t)(at - function) + 1;
		at++;
	}
	parts.size = (size_t)(at - function);
	return parts;
}

static size_t get_name_size(const char *function)
{
	return get_name_parts(function).size;
}

static bool ends_with(const char *text, size_t size, const char *end)
{
	size_t end_size = strlen(end);

	return size >= end_size && !strncasecmp(text + size - end_size, end, end_size);
}

static bool begins_with_any(const char *text, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncmp(text, *prefixes, strlen(*prefixes)))
			return true;
	return false;
}

/*
 * Functions of the standard libraries and of CUDA's templates (thrust, cub): what a vector does
 * between who wants it to grow and the allocator is nobody's concern.
 */
static bool is_of_standard(const struct vs_symbol *frame)
{
	static const char *const libraries[] = {"libstdc++.", "libc++.", "libc.so.", NULL};
	static const char *const folders[] = {"c++/", "thrust/", "cub/", "cccl/", NULL};
	static const char *const spaces[] = {"std::", "__gnu_cxx::", "thrust::", "cub::", NULL};
	const char *name = frame->function + get_name_parts(frame->function).start;
	const char *folder = frame->file ? strstr(frame->file, "/include/") : NULL;

	/* /usr/include/c++/12/..., /usr/include/x86_64-linux-gnu/c++/12/... */
	for (; folder; folder = strchr(folder + 1, '/'))
		if (begins_with_any(folder + 1, folders))
			return true;
	return begins_with_any(name, spaces) ||
	       (frame->module && begins_with_any(get_basename(frame->module), libraries));
}

bool vs_site_names_is_wrapper(const struct vs_symbol *frame)
{
	size_t size = get_name_size(frame->function);
	const char *class = strstr(frame->function, "Allocator");
	const char *file = frame->file ? get_basename(frame->file) : "";

	if (is_of_cuda(frame) || is_of_standard(frame))
		return true;
	/*
	 * What vramscope.h has in it is called by a pool, about somebody else's request. The
	 * templates in cuda_runtime.h (cudaMalloc for every type of pointer) are CUDA's, though
	 * they lie in the program.
	 */
	if (!strcmp(file, "vramscope.h") || !strcmp(file, "cuda_runtime.h"))
		return true;
	return ends_with(frame->function, size, "alloc") ||
	       ends_with(frame->function, size, "allocate") ||
	       ends_with(frame->function, size, "operator new") ||
	       (class && (size_t)(class - frame->function) < size);
}

static bool is_below_main(const char *function)
{
	static const char *const names[] = {"__libc_start_call_main",
					    "__libc_start_main",
					    "__libc_start_main@@GLIBC_2.34",
					    "_start",
					    "start_thread",
					    "clone3",
					    "clone"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}

/* ---- The line ------------------------------------------------------------------------------- */

struct shown {
	struct vs_symbol frames[MAX_SHOWN];
	int nr_frames;
	bool is_ended; /* main was reached */
	bool is_named; /* something that is no wrapper was seen */
};

/* Wrappers at the top are kept only until something better comes. */
static void show(struct shown *shown, const struct vs_symbol *frame)
{
	if (shown->is_ended || is_below_main(frame->function)) {
		shown->is_ended = true;
		return;
	}
	if (!shown->is_named && !vs_site_names_is_wrapper(frame)) {
		shown->is_named = true;
		shown->nr_frames = 0;
	}
	/* Among wrappers alone, those of the program say more than CUDA's. */
	if (!shown->is_named && shown->nr_frames && is_of_cuda(&shown->frames[0]) &&
	    !is_of_cuda(frame))
		shown->nr_frames = 0;
	if (shown->nr_frames < MAX_SHOWN && !(shown->is_named && is_of_standard(frame)))
		shown->frames[shown->nr_frames++] = *frame;
	shown->is_ended = !strcmp(frame->function, "main");
}

static int collect(struct vs_site_names *names, const struct vs_site *site, struct shown *shown)
{
	struct vs_symbol frames[VS_SYMBOLS_FRAMES_MAX];
	uint32_t i;
	int k, nr;

	memset(shown, 0, sizeof(*shown));
	vs_definitions_need_frames(site);
	for (i = 0; i < site->nr_frames && !shown->is_ended; i++) {
		if (shown->is_named && shown->nr_frames == MAX_SHOWN)
			break;
		nr = vs_site_names_resolve(names, &site->frames[i], frames, VS_SYMBOLS_FRAMES_MAX);
		if (nr < 0)
			return nr;
		for (k = 0; k < nr; k++)
			show(shown, &frames[k]);
	}
	return 0;
}

static size_t put_frame(const struct vs_symbol *frame, char *out, size_t size)
{
	int name_size = (int)get_name_size(frame->function), used;

	if (frame->file && frame->line)
		used = snprintf(out, size, "%s:%" PRIu32 " %.*s", get_basename(frame->file),
				frame->line, name_size, frame->function);
	else
		used = snprintf(out, size, "%.*s", name_size, frame->function);
	return used < 0 ? 0 : (size_t)used;
}

/* ---- Stacks of Python ------------------------------------------------------------------------ */

/*
 * Lines of Python are what its people know: of such a stack only they are shown, and of them the
 * user's own, if there are any.
 */
struct python_line {
	struct vs_symbol frames[MAX_SHOWN];
	int nr_frames;
	bool has_own;                 /* frames are the user's own */
	struct vs_symbol inside;      /* what of a library the user called; no function: nothing */
	const struct vs_symbol *link; /* it was done for another thread; or NULL */
	struct vs_symbol link_space;
	const char *link_prefix; /* of the frames behind it */
	char step[128];          /* of the backward pass, or empty */
};

static void show_python(struct python_line *line, const struct vs_symbol *frame)
{
	bool is_own = !vs_python_names_is_library(frame);

	if (!line->has_own && is_own) {
		/* What has been shown so far is what it called. */
		if (line->nr_frames)
			line->inside = line->frames[0];
		line->has_own = true;
		line->nr_frames = 0;
	}
	if (line->has_own == is_own && line->nr_frames < MAX_SHOWN)
		line->frames[line->nr_frames++] = *frame;
}

/* "torch::autograd::generated::MmBackward0::apply" is the step MmBackward0. */
static void find_step(struct python_line *line, const struct vs_symbol *frame)
{
	static const char before[] = "torch::autograd::";
	const char *start = strstr(frame->function, before), *end, *name;

	if (line->step[0] || !start)
		return;
	end = start + get_name_size(start);
	if (!ends_with(start, (size_t)(end - start), "::apply"))
		return;
	end -= strlen("::apply");
	for (name = end; name > start && name[-1] != ':'; name--)
		;
	snprintf(line->step, sizeof(line->step), "%.*s", (int)(end - name), name);
}

static bool has_special(const struct vs_site *site, bool *has_link)
{
	bool is_found = false;

	*has_link = false;
	vs_definitions_need_frames(site);
	for (uint32_t i = 0; i < site->nr_frames; i++) {
		is_found = is_found || vs_frame_is_special(site->frames[i].address);
		*has_link = *has_link || vs_frame_is(site->frames[i].address, VS_FRAME_LINK);
	}
	return is_found;
}

/* "MatMul (output, float32)" */
static void show_op(struct python_line *line, const struct vs_symbol *op)
{
	const char *region = op->file ? op->file : "", *type = op->type ? op->type : "";

	snprintf(line->step, sizeof(line->step), "%s%s%s%s%s%s", op->function,
		 op->file || op->type ? " (" : "", region, op->file && op->type ? ", " : "", type,
		 op->file || op->type ? ")" : "");
}

static int collect_python(struct vs_site_names *names, const struct vs_site *site, bool has_link,
			  struct python_line *line)
{
	struct vs_symbol frames[VS_SYMBOLS_FRAMES_MAX];
	int k, nr;

	memset(line, 0, sizeof(*line));
	for (uint32_t i = 0; i < site->nr_frames; i++) {
		bool is_special = vs_frame_is_special(site->frames[i].address);

		/* Names of the program are looked up only where they are needed: it takes time. */
		if (!is_special && (!has_link || line->link || line->step[0]))
			continue;
		nr = vs_site_names_resolve(names, &site->frames[i], frames, VS_SYMBOLS_FRAMES_MAX);
		if (nr < 0)
			return nr;
		for (k = 0; k < nr; k++) {
			if (frames[k].kind == VS_SYMBOL_PYTHON &&
			    vs_python_names_is_hook(&frames[k])) {
				continue;
			} else if (frames[k].kind == VS_SYMBOL_PYTHON) {
				show_python(line, &frames[k]);
			} else if (frames[k].kind == VS_SYMBOL_OP) {
				show_op(line, &frames[k]);
			} else if (frames[k].kind == VS_SYMBOL_LINK) {
				line->link_space = frames[k];
				line->link = &line->link_space;
				line->link_prefix =
					site->frames[i].address ==
							vs_frame_make_link(VS_LINK_BACKWARD)
						? "backward of "
						: "";
			} else {
				find_step(line, &frames[k]);
			}
		}
	}
	return 0;
}

static void append(char *out, size_t size, size_t *used, const char *text)
{
	if (*used < size)
		*used += (size_t)snprintf(out + *used, size - *used, "%s", text);
}

/* Without what it is a part of: `Module.cuda`, not `Module.cuda.<locals>.<lambda>`. */
static void put_inside(const struct vs_symbol *inside, char *out, size_t size, size_t *used)
{
	const char *part = strstr(inside->function, ".<locals>");
	int length = (int)(part ? (size_t)(part - inside->function) : strlen(inside->function));

	if (*used < size)
		*used += (size_t)snprintf(out + *used, size - *used, " [%.*s:%" PRIu32 "]", length,
					  inside->function, inside->line);
}

/* `MmBackward0 in backward of train.py:61 step < ...`, `train.py:60 step [relu:1704] < ...` */
static void put_python(const struct python_line *line, char *out, size_t size, int max_frames)
{
	size_t used = 0;

	if (size)
		out[0] = '\0';
	if (line->step[0]) {
		append(out, size, &used, line->step);
		append(out, size, &used, line->nr_frames || line->link ? " in " : "");
	}
	if (line->link)
		append(out, size, &used,
		       line->nr_frames ? line->link_prefix : line->link->function);
	for (int i = 0; i < line->nr_frames && i < max_frames && used < size; i++) {
		if (i)
			append(out, size, &used, " < ");
		if (used < size)
			used += put_frame(&line->frames[i], out + used, size - used);
		if (!i && line->inside.function && !line->link)
			put_inside(&line->inside, out, size, &used);
	}
}

/* "DeviceVector<char>::DeviceVector": a class that holds memory asks for it there, whoever has one.
 */
static bool is_constructor(const char *function)
{
	struct name_parts parts = get_name_parts(function);
	const char *class = NULL, *last = function + parts.start, *at;
	size_t size;
	int depth = 0;

	for (at = last; at < function + parts.size; at++) {
		if (*at == '<' || *at == '(') {
			depth++;
		} else if (*at == '>' || *at == ')') {
			depth--;
		} else if (!depth && !strncmp(at, "::", 2)) {
			class = last;
			last = ++at + 1;
		}
	}
	size = strcspn(last, "<(");
	return class && size && strcspn(class, "<:") == size && !strncmp(class, last, size);
}

static int put_site(struct vs_site_names *names, const struct vs_site *site, uint32_t api,
		    char *out, size_t size, int max_frames)
{
	const char *text = vs_definitions_get_name(names->definitions, api);
	struct python_line line;
	struct shown shown;
	size_t used = 0;
	bool has_link;
	int i, err;

	if (has_special(site, &has_link)) {
		err = collect_python(names, site, has_link, &line);
		if (!err)
			put_python(&line, out, size, max_frames);
		return err;
	}
	err = collect(names, site, &shown);
	if (err)
		return err;
	/* Of such a class, who has it says more than what it does. */
	if (max_frames == 1 && shown.nr_frames && is_constructor(shown.frames[0].function))
		max_frames = 2;
	if (!shown.nr_frames)
		snprintf(out, size, "%s%s(no stack recorded)", text ? text : "", text ? " " : "");
	for (i = 0; i < shown.nr_frames && i < max_frames && used < size; i++) {
		if (i)
			used += (size_t)snprintf(out + used, size - used, " < ");
		if (used < size)
			used += put_frame(&shown.frames[i], out + used, size - used);
	}
	return 0;
}

int vs_site_names_put(struct vs_site_names *names, const struct vs_site *site, uint32_t api,
		      char *out, size_t size)
{
	return put_site(names, site, api, out, size, MAX_SHOWN);
}

int vs_site_names_put_short(struct vs_site_names *names, const struct vs_site *site, uint32_t api,
			    char *out, size_t size)
{
	return put_site(names, site, api, out, size, 1);
}

int vs_site_names_put_place(struct vs_site_names *names, const struct vs_site *site, uint32_t api,
			    char *out, size_t size)
{
	struct python_line line;
	bool has_link;
	int err;

	if (!has_special(site, &has_link))
		return vs_site_names_put_short(names, site, api, out, size);
	err = collect_python(names, site, has_link, &line);
	if (err)
		return err;
	if (line.nr_frames) {
		line.step[0] = '\0';
		line.inside.function = NULL;
		line.link = NULL;
	}
	put_python(&line, out, size, 1);
	return 0;
}

const char *vs_site_names_get_notice(const struct vs_site_names *names, size_t i)
{
	return vs_symbols_get_notice(names->symbols, i);
}
