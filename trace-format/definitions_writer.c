#include "definitions_writer.h"

#include "wire.h"

/* A node's parent is a lower number, mostly by one; its address is mostly in the same module. */
static uint8_t *put_node(uint8_t *p, uint32_t node, uint32_t parent, uint64_t difference)
{
	p = vs_wire_put_varint(p, node - parent);
	return vs_wire_put_varint(p, vs_wire_fold_sign(difference));
}

/* The outermost frame comes first. How many frames are known already, and the node of the last. */
static uint32_t find_known(const struct vs_stack_tree *tree, const uint64_t *frames,
			   uint32_t nr_frames, uint32_t *leaf)
{
	uint32_t nr_known = 0;
	uint32_t node;

	*leaf = 0;
	while (nr_known < nr_frames &&
	       (node = vs_stack_tree_find(tree, *leaf, frames[nr_frames - nr_known - 1])) != 0) {
		*leaf = node;
		nr_known++;
	}
	return nr_known;
}

/* A row of the frames that are not known yet, if there are any. *leaf: the innermost node. */
static size_t put_nodes(uint8_t *out, struct vs_stack_tree *tree, const uint64_t *frames,
			uint32_t nr_frames, uint32_t *leaf)
{
	uint32_t nr_known = find_known(tree, frames, nr_frames, leaf);
	uint64_t before = nr_known ? frames[nr_frames - nr_known] : 0;
	uint8_t *p = out + 2; /* the frame's place */

	if (nr_known == nr_frames)
		return 0;
	p = vs_wire_put_varint(p, tree->next_node);
	p = vs_wire_put_varint(p, nr_frames - nr_known);
	for (uint32_t i = nr_frames - nr_known; i-- > 0;) {
		uint32_t node = vs_stack_tree_add(tree, *leaf, frames[i]);

		p = put_node(p, node, *leaf, frames[i] - before);
		before = frames[i];
		*leaf = node;
	}
	return vs_codec_put_frame(out, VS_FORMAT_NODES, (size_t)(p - out - 2));
}

static size_t put_stack(uint8_t *out, const struct vs_stack *stack, struct vs_stack_tree *tree,
			uint32_t *nr_rows)
{
	uint32_t nr_frames = stack->nr_frames < VS_STACK_MAX ? stack->nr_frames : VS_STACK_MAX;
	bool is_deep = stack->is_deep || nr_frames < stack->nr_frames;
	uint32_t leaf;
	size_t size = put_nodes(out, tree, stack->frames, nr_frames, &leaf);
	uint8_t *row = out + size;
	uint8_t *p = row + 2; /* the frame's place */

	*nr_rows += size ? 2 : 1;
	p = vs_wire_put_varint(p, stack->id);
	p = vs_wire_put_varint(p, (stack->is_cut ? VS_STACK_CUT : 0u) |
					  (is_deep ? VS_STACK_DEEP : 0u));
	p = vs_wire_put_varint(p, leaf);
	return size + vs_codec_put_frame(row, VS_RECORD_STACK, (size_t)(p - row - 2));
}

size_t vs_definitions_writer_put(uint8_t *out, const struct vs_record *record,
				 struct vs_stack_tree *tree, uint32_t *nr_rows)
{
	if (record->type == VS_RECORD_STACK)
		return put_stack(out, &record->stack, tree, nr_rows);
	*nr_rows += 1;
	return vs_codec_put_record(out, record);
}
