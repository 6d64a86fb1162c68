#include "definitions_reader.h"

#include <stdlib.h>

#include "codec.h"

struct vs_definitions_node {
	uint64_t address;
	uint32_t parent; /* 0: outermost */
	bool is_known;   /* false: its parent, and so its address, was lost */
};

/* Nodes first <= n < first + nr stand at nodes[at] and behind. */
struct vs_definitions_run {
	uint32_t first;
	uint32_t nr;
	size_t at;
};

void vs_definitions_reader_fini(struct vs_definitions_reader *reader)
{
	free(reader->nodes);
	free(reader->runs);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Makes room for one more. */
static int reserve(void **items, size_t *capacity, size_t nr, size_t item_size)
{
	size_t more = *capacity ? 2 * *capacity : 64;
	void *larger;

	if (nr < *capacity)
		return 0;
	larger = realloc(*items, more * item_size);
	if (!larger)
		return -VS_ERR_NO_MEMORY;
	*items = larger;
	*capacity = more;
	return 0;
}

uint32_t vs_definitions_reader_get_next_node(const struct vs_definitions_reader *reader)
{
	const struct vs_definitions_run *last;

	if (!reader->nr_runs)
		return 1;
	last = &reader->runs[reader->nr_runs - 1];
	return last->first + last->nr;
}

static const struct vs_definitions_node *find_node(const struct vs_definitions_reader *reader,
						   uint32_t number)
{
	size_t low = 0, high = reader->nr_runs;

	/* The last run that does not begin behind it: mostly there is only one. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->runs[middle].first <= number)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || number - reader->runs[low - 1].first >= reader->runs[low - 1].nr)
		return NULL;
	return &reader->nodes[reader->runs[low - 1].at + (number - reader->runs[low - 1].first)];
}

/* Appends a node whose number is above all others. */
static int append_node(struct vs_definitions_reader *reader, uint32_t number,
		       const struct vs_definitions_node *node)
{
	void *nodes = reader->nodes, *runs = reader->runs;
	int err;

	err = reserve(&nodes, &reader->nodes_capacity, reader->nr_nodes, sizeof(*node));
	reader->nodes = nodes;
	if (err)
		return err;
	if (!reader->nr_runs || number != vs_definitions_reader_get_next_node(reader)) {
		err = reserve(&runs, &reader->runs_capacity, reader->nr_runs,
			      sizeof(reader->runs[0]));
		reader->runs = runs;
		if (err)
			return err;
		reader->runs[reader->nr_runs++] =
			(struct vs_definitions_run){.first = number, .at = reader->nr_nodes};
	}
	reader->nodes[reader->nr_nodes++] = *node;
	reader->runs[reader->nr_runs - 1].nr++;
	return 0;
}

static int get_node(struct vs_definitions_reader *reader, struct vs_wire *in, uint32_t number)
{
	uint32_t up = vs_wire_get_varint32(in);
	uint64_t difference = vs_wire_unfold_sign(vs_wire_get_varint(in));
	const struct vs_definitions_node *parent;
	struct vs_definitions_node node = {.address = difference, .is_known = true};

	if (in->error || !up || up > number)
		return -VS_ERR_CORRUPT;
	if (number < vs_definitions_reader_get_next_node(reader))
		return 0; /* there twice, as after a kill: it is the same */
	node.parent = number - up;
	if (node.parent) {
		parent = find_node(reader, node.parent);
		node.is_known = parent && parent->is_known;
		node.address += node.is_known ? parent->address : 0;
	}
	return append_node(reader, number, &node);
}

static int get_nodes(struct vs_definitions_reader *reader, struct vs_wire *in)
{
	uint32_t first = vs_wire_get_varint32(in);
	uint32_t nr = vs_wire_get_varint32(in);
	int err = 0;

	if (in->error || !first || nr > UINT32_MAX - first)
		return -VS_ERR_CORRUPT;
	for (uint32_t i = 0; i < nr && !err; i++)
		err = get_node(reader, in, first + i);
	return err;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

int vs_definitions_reader_get_stack(const uint8_t *bytes, size_t size,
				    struct vs_definitions_stack *row)
{
	struct vs_wire in;
	int taken = vs_codec_get_body(bytes, size, &in);

	if (taken < 0)
		return taken;
	row->id = vs_wire_get_varint32(&in);
	row->flags = (uint32_t)vs_wire_get_varint(&in); /* bits above are of later versions */
	row->node = vs_wire_get_varint32(&in);
	return in.error ? -VS_ERR_CORRUPT : taken;
}

void vs_definitions_reader_walk(const struct vs_definitions_reader *reader,
				const struct vs_definitions_stack *row, struct vs_stack *stack,
				uint64_t frames[VS_STACK_MAX])
{
	uint32_t number = row->node;

	*stack = (struct vs_stack){.id = row->id,
				   .frames = frames,
				   .is_cut = row->flags & VS_STACK_CUT,
				   .is_deep = row->flags & VS_STACK_DEEP};
	/* Parents have lower numbers: this comes to an end. */
	while (number && stack->nr_frames < VS_STACK_MAX) {
		const struct vs_definitions_node *node = find_node(reader, number);

		if (!node || !node->is_known) {
			stack->is_cut = true;
			return;
		}
		frames[stack->nr_frames++] = node->address;
		number = node->parent;
	}
	stack->is_deep = stack->is_deep || number;
}

int vs_definitions_reader_get(struct vs_definitions_reader *reader, const uint8_t *bytes,
			      size_t size, struct vs_record *record, bool *is_record,
			      uint64_t frames[VS_STACK_MAX])
{
	struct vs_definitions_stack row;
	struct vs_record found = {0};
	struct vs_wire body;
	int taken, err;

	taken = vs_codec_get_body(bytes, size, &body);
	if (taken < 0)
		return taken;
	*is_record = false;
	switch (bytes[0]) {
	case VS_FORMAT_NODES:
		err = get_nodes(reader, &body);
		return err ? err : taken;
	case VS_RECORD_STACK:
		found.type = VS_RECORD_STACK;
		err = vs_definitions_reader_get_stack(bytes, size, &row);
		if (err < 0)
			return err;
		vs_definitions_reader_walk(reader, &row, &found.stack, frames);
		break;
	case VS_RECORD_NAME:
	case VS_RECORD_MODULE:
	case VS_RECORD_THREAD:
	case VS_RECORD_DEVICE:
	case VS_RECORD_POOL:
	case VS_RECORD_CODE:
	case VS_RECORD_CODE_LINES:
	case VS_RECORD_FACT:
		err = vs_codec_get_record(bytes, size, &found, frames);
		if (err < 0)
			return err;
		break;
	default:
		return taken; /* of a later version */
	}
	*record = found;
	*is_record = true;
	return taken;
}
