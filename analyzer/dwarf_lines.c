#include "dwarf_lines.h"

#include <stdlib.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "grow.h"

#define NESTING_MAX 64 /* of DIEs: no compiler comes near, a damaged file might */

struct function {
	uint64_t start;
	uint64_t end;
	Dwarf_Die die;
};

/* A compilation unit. Its functions are read when the first address in it is asked for. */
struct unit {
	Dwarf_Die die;   /* has the line table */
	Dwarf_Die inner; /* has the functions: the split unit, else the same */
	struct function *functions;
	size_t nr_functions;
	size_t nr_room;
	bool is_read;
};

struct range {
	uint64_t start;
	uint64_t end;
	size_t unit;
};

struct vs_dwarf_lines {
	Dwarf *dwarf;
	struct unit *units;
	size_t nr_units;
	size_t unit_room;
	struct range *ranges; /* of units, by start */
	size_t nr_ranges;
	size_t range_room;
};

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left;
	const struct range *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_functions(const void *left, const void *right)
{
	const struct function *a = left;
	const struct function *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static bool push_range(struct vs_dwarf_lines *lines, uint64_t start, uint64_t end)
{
	if (VS_GROW(lines->ranges, lines->range_room, lines->nr_ranges + 1))
		return false;
	lines->ranges[lines->nr_ranges++] =
		(struct range){.start = start, .end = end, .unit = lines->nr_units};
	return true;
}

/* Functions that the linker threw away are left at address 0. */
static bool is_dropped(Dwarf_Addr start, Dwarf_Addr end)
{
	return start == 0 || start >= end;
}

static bool push_unit(struct vs_dwarf_lines *lines, Dwarf_Die *die, Dwarf_Die *inner)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	if (VS_GROW(lines->units, lines->unit_room, lines->nr_units + 1))
		return false;
	lines->units[lines->nr_units] =
		(struct unit){.die = *die, .inner = dwarf_tag(inner) > 0 ? *inner : *die};
	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0)
		if (!is_dropped(start, end) && !push_range(lines, start, end))
			return false;
	lines->nr_units++;
	return true;
}

static bool read_units(struct vs_dwarf_lines *lines)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	Dwarf_Die inner = {0};
	uint8_t type;

	while (dwarf_get_units(lines->dwarf, cu, &cu, NULL, &type, &die, &inner) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (type == DW_UT_compile)
			inner = die;
		if (!push_unit(lines, &die, &inner))
			return false;
	}
	if (lines->nr_ranges)
		qsort(lines->ranges, lines->nr_ranges, sizeof(*lines->ranges), compare_ranges);
	return lines->nr_ranges > 0;
}

struct vs_dwarf_lines *vs_dwarf_lines_create(Elf *elf)
{
	struct vs_dwarf_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (lines->dwarf && read_units(lines))
		return lines;
	vs_dwarf_lines_destroy(lines);
	return NULL;
}

void vs_dwarf_lines_destroy(struct vs_dwarf_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->nr_units; i++)
		free(lines->units[i].functions);
	free(lines->units);
	free(lines->ranges);
	dwarf_end(lines->dwarf);
	free(lines);
}

static void push_function(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		if (is_dropped(start, end))
			continue;
		if (VS_GROW(unit->functions, unit->nr_room, unit->nr_functions + 1))
			return; /* one name less */
		unit->functions[unit->nr_functions++] =
			(struct function){.start = start, .end = end, .die = *die};
	}
}

/* Functions may be defined inside of these. Methods of a local class are inside of a function. */
static bool holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static void read_functions(struct unit *unit, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth == NESTING_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			push_function(unit, &die);
		if (holds_functions(tag))
			read_functions(unit, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static struct unit *find_unit(struct vs_dwarf_lines *lines, uint64_t address)
{
	struct unit *unit;
	size_t low = 0;
	size_t high = lines->nr_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= lines->ranges[low - 1].end)
		return NULL;
	unit = &lines->units[lines->ranges[low - 1].unit];
	if (!unit->is_read) {
		unit->is_read = true;
		read_functions(unit, &unit->inner, 0);
		if (unit->nr_functions)
			qsort(unit->functions, unit->nr_functions, sizeof(*unit->functions),
			      compare_functions);
	}
	return unit;
}

static struct function *find_function(struct unit *unit, uint64_t address)
{
	size_t low = 0;
	size_t high = unit->nr_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= unit->functions[low - 1].end)
		return NULL;
	return &unit->functions[low - 1];
}

/* The child of *die that contains the address: an inlined function, or a block that may hold one.
 */
static bool find_child(Dwarf_Die *die, uint64_t address)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
		    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		if (dwarf_haspc(&child, address) == 1) {
			*die = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static const char *get_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return dwarf_diename(die);
}

/* Where an inlined function was called: belongs to the frame around it. */
static void get_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct vs_dwarf_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t nr_files;

	if (dwarf_attr(inlined, DW_AT_call_file, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &nr_files) == 0 && number < nr_files)
		frame->file = dwarf_filesrc(files, number, NULL, NULL);
	if (dwarf_attr(inlined, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0)
		frame->line = (uint32_t)number;
}

static void get_line(Dwarf_Die *unit, uint64_t address, struct vs_dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

int vs_dwarf_lines_find(struct vs_dwarf_lines *lines, uint64_t address, struct vs_dwarf_frame *out,
			int max)
{
	struct unit *unit = find_unit(lines, address);
	struct function *function = unit ? find_function(unit, address) : NULL;
	Dwarf_Die inlined[NESTING_MAX]; /* outermost first */
	Dwarf_Die die;
	int nr_inlined = 0;
	int nr = 0;

	if (!function)
		return 0;
	die = function->die;
	for (int depth = 0; depth < NESTING_MAX && find_child(&die, address); depth++)
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			inlined[nr_inlined++] = die;

	out[0] = (struct vs_dwarf_frame){0};
	get_line(&unit->die, address, &out[0]);
	while (nr_inlined > 0 && nr + 1 < max) {
		Dwarf_Die *inner = &inlined[--nr_inlined];

		out[nr].name = get_name(inner);
		out[++nr] = (struct vs_dwarf_frame){0};
		get_call(&unit->die, inner, &out[nr]);
	}
	/* Without room for all, those that are left out are the outer ones. */
	out[nr++].name = get_name(nr_inlined > 0 ? &inlined[nr_inlined - 1] : &function->die);
	return nr;
}
