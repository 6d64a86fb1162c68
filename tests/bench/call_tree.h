#ifndef VS_CALL_TREE_H
#define VS_CALL_TREE_H

#include <stdint.h>

/*
 * Call stacks to measure with: functions one inside the other, none of them inlined, none of them
 * left by a tail call, with frames of different sizes. At four levels, evenly spread from the
 * outermost to the innermost, a route goes into one of nine functions; all routes are the same in
 * between. So routes are the leaves of a tree, as stacks of real programs are.
 */
#define VS_CALL_TREE_NR_ROUTES 6561u /* 9^4 */
#define VS_CALL_TREE_MIN       5u    /* functions one inside the other, the leaf included */
#define VS_CALL_TREE_MAX       64u

struct vs_call_tree_walk {
	const uint8_t *next; /* the rest of the route */
	void (*leaf)(void *data);
	void *data;
};

typedef void (*vs_call_tree_level)(struct vs_call_tree_walk *walk);
extern const vs_call_tree_level vs_call_tree_levels[9];
extern uint8_t vs_call_tree_routes[VS_CALL_TREE_NR_ROUTES][VS_CALL_TREE_MAX];

/* depth: from VS_CALL_TREE_MIN to VS_CALL_TREE_MAX. Before anything else; one thread. */
void vs_call_tree_init(unsigned depth);

/* Calls leaf(data) at the end of a route (by its number). Any thread. */
static inline void vs_call_tree_call(unsigned route, void (*leaf)(void *data), void *data)
{
	const uint8_t *levels = vs_call_tree_routes[route % VS_CALL_TREE_NR_ROUTES];
	struct vs_call_tree_walk walk = {levels + 1, leaf, data};

	vs_call_tree_levels[levels[0]](&walk);
}

#endif
