#include "call_tree.h"

#define NR_WAYS     9u
#define NR_BRANCHES 4u
#define LEAF        0xffu

uint8_t vs_call_tree_routes[VS_CALL_TREE_NR_ROUTES][VS_CALL_TREE_MAX];

static inline void go_on(struct vs_call_tree_walk *walk)
{
	uint8_t level = *walk->next++;

	if (level == LEAF)
		walk->leaf(walk->data);
	else
		vs_call_tree_levels[level](walk);
}

/* What is read after the call is why it is no tail call; the size is what makes them differ. */
#define LEVEL(name, frame_size)                                                    \
	static __attribute__((noinline)) void name(struct vs_call_tree_walk *walk) \
	{                                                                          \
		volatile char frame[frame_size];                                   \
                                                                                   \
		frame[0] = 0;                                                      \
		go_on(walk);                                                       \
		(void)frame[0];                                                    \
	}

LEVEL(level_0, 8)
LEVEL(level_1, 24)
LEVEL(level_2, 40)
LEVEL(level_3, 104)
LEVEL(level_4, 56)
LEVEL(level_5, 200)
LEVEL(level_6, 72)
LEVEL(level_7, 136)
LEVEL(level_8, 88)

const vs_call_tree_level vs_call_tree_levels[NR_WAYS] = {
	level_0, level_1, level_2, level_3, level_4, level_5, level_6, level_7, level_8,
};

/* Numbers next to each other differ near the leaf. */
static void set_route(uint8_t *route, unsigned number, unsigned nr_levels)
{
	for (unsigned level = 0; level < nr_levels; level++)
		route[level] = (uint8_t)(level % NR_WAYS);
	for (unsigned branch = NR_BRANCHES; branch-- > 0; number /= NR_WAYS)
		route[branch * nr_levels / NR_BRANCHES] = (uint8_t)(number % NR_WAYS);
	route[nr_levels] = LEAF;
}

void vs_call_tree_init(unsigned depth)
{
	for (unsigned i = 0; i < VS_CALL_TREE_NR_ROUTES; i++)
		set_route(vs_call_tree_routes[i], i, depth - 1); /* and the leaf */
}
