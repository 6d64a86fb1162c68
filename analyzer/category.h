#ifndef VS_CATEGORY_H
#define VS_CATEGORY_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols.h"

/*
 * What a block of PyTorch's allocator is for: by the functions and lines that lead to it, and by
 * how it lives through the backward passes. The rules are in docs/analyses.md, "Categories"; what
 * they do not tell is unclear.
 */
enum vs_category {
	VS_CATEGORY_PARAMETER, /* and buffers of modules */
	VS_CATEGORY_GRADIENT,
	VS_CATEGORY_OPTIMIZER,
	VS_CATEGORY_ACTIVATION,
	VS_CATEGORY_INPUT,
	VS_CATEGORY_WORKSPACE,
	VS_CATEGORY_TEMPORARY,
	VS_CATEGORY_UNCLEAR,
	VS_NR_CATEGORIES
};

/* "parameter", for machines; "parameters", for people. */
const char *vs_category_get_name(enum vs_category category);
const char *vs_category_get_plural(enum vs_category category);

/* ---- Where it was asked for ----------------------------------------------------------------- */

enum vs_category_place {
	VS_PLACE_UNKNOWN,
	VS_PLACE_BACKWARD, /* autograd's engine runs a function of the graph */
	VS_PLACE_REDUCER,  /* buckets in which gradients are exchanged */
	VS_PLACE_OPTIMIZER,
	VS_PLACE_FORWARD, /* a module is called */
	VS_PLACE_INIT,    /* a module is made, or moved to the device */
};

/* What the frames of a site say. {0} before the first. */
struct vs_category_traits {
	enum vs_category_place place;
	bool is_named;      /* the allocator's own functions have names, so others would, too */
	bool is_tensor;     /* it is the storage of a tensor */
	bool is_handed;     /* asked for by hand, for nobody knows what */
	bool is_factory;    /* Python called a function that makes a tensor, or copies one */
	bool is_recomputed; /* a module is called inside the backward pass: checkpoints */
	bool has_binding;
	bool has_python;
	bool is_settled; /* frames further out do not matter */
};

/* The next frame, from the innermost on; is_python: a line of a Python program. */
void vs_category_read_frame(struct vs_category_traits *traits, const struct vs_symbol *frame,
			    bool is_python);

/* ---- How it lives --------------------------------------------------------------------------- */

/*
 * Halves: a count that grows when a backward pass begins, and when it ends. Odd: one is under way.
 * Uses: how many blocks modules asked for while they were called.
 */
struct vs_category_clock {
	uint32_t half;
	uint32_t uses;
};

struct vs_category_life {
	struct vs_category_clock birth;
	struct vs_category_clock death; /* or the end of the trace */
	struct vs_category_clock end;   /* of the trace */
	bool is_freed; /* in the course of things: not in the wake of an out-of-memory */
};

/* What became of the blocks of a site whose end is known. */
struct vs_category_history {
	uint64_t nr_short;      /* gone before a pass ended, or began */
	uint64_t nr_waiting;    /* the same, if one begins at all after ... */
	uint32_t waiting_since; /* ... this half */
	uint64_t nr_long;
	uint64_t nr_kept; /* of those, beyond the next pass */
};

/* Counts a life that has ended, unless its end says nothing. */
void vs_category_note_life(struct vs_category_history *history,
			   const struct vs_category_traits *traits,
			   const struct vs_category_life *life);

/* history: of the site, for a block whose end is not known. */
enum vs_category vs_category_decide(const struct vs_category_traits *traits,
				    const struct vs_category_life *life,
				    const struct vs_category_history *history);

#endif
