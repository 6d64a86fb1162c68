#ifndef VS_DEFINITIONS_READER_H
#define VS_DEFINITIONS_READER_H

#include "error.h"
#include "record.h"

/*
 * The definitions in the DEFINITIONS blocks of a trace, and the tree of stacks that they build up:
 * docs/trace-format.md, section 3.3. One thread. {0} is an empty tree.
 */
struct vs_definitions_reader {
	struct vs_definitions_node *nodes; /* by ascending numbers, which may have gaps */
	size_t nr_nodes;
	size_t nodes_capacity;
	struct vs_definitions_run *runs; /* nodes whose numbers have no gap */
	size_t nr_runs;
	size_t runs_capacity;
};

void vs_definitions_reader_fini(struct vs_definitions_reader *reader);

/*
 * Takes the row at `bytes`. Returns the bytes it took, or -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT,
 * -VS_ERR_NO_MEMORY. *is_record: whether there is a record to give out: not for nodes, nor for rows
 * of later versions. Text points into the bytes, a stack's frames are in *frames.
 *
 * A stack whose nodes were lost with a damaged block has no frames, and is cut.
 */
int vs_definitions_reader_get(struct vs_definitions_reader *reader, const uint8_t *bytes,
			      size_t size, struct vs_record *record, bool *is_record,
			      uint64_t frames[VS_STACK_MAX]);

/*
 * A row of a STACK without its frames, and those frames when somebody wants them after all: then
 * all rows before it have been taken. Returns and errors as above.
 */
struct vs_definitions_stack {
	uint32_t id;
	uint32_t flags; /* enum vs_stack_flag */
	uint32_t node;  /* of the innermost frame, 0: there is none */
};
int vs_definitions_reader_get_stack(const uint8_t *bytes, size_t size,
				    struct vs_definitions_stack *row);
void vs_definitions_reader_walk(const struct vs_definitions_reader *reader,
				const struct vs_definitions_stack *row, struct vs_stack *stack,
				uint64_t frames[VS_STACK_MAX]);

/* A number above all nodes so far. */
uint32_t vs_definitions_reader_get_next_node(const struct vs_definitions_reader *reader);

#endif
