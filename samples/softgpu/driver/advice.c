#include "advice.h"

#include <stdlib.h>

_Static_assert(SG_MAX_DEVICES <= 32, "accessed_by has a bit for each device");

struct sg_block *sg_advice_find(uint64_t address, uint64_t size, uint64_t *begin, uint64_t *end)
{
	struct sg_block *block = sg_memory_find(address);
	uint64_t last, page = SG_ADVICE_PAGE - 1;

	if (!block || block->kind != SG_MEMORY_MANAGED || !size)
		return NULL;
	last = block->node.base + block->node.size;
	/* The last page of a block is all its own. */
	if (size > ((last + page) & ~page) - address)
		return NULL;
	*begin = address & ~page;
	if (*begin < block->node.base)
		*begin = block->node.base;
	*end = (address + size + page) & ~page;
	if (*end > last)
		*end = last;
	return block;
}

static struct sg_advice *create(uint64_t begin, const struct sg_advice_settings *settings,
				struct sg_advice *next)
{
	struct sg_advice *made = malloc(sizeof(*made));

	if (made)
		*made = (struct sg_advice){.begin = begin, .settings = *settings, .next = next};
	return made;
}

/* See to it that a stretch begins there. The block has a list. */
static bool cut(struct sg_block *block, uint64_t address)
{
	struct sg_advice *stretch = block->advice, *made;

	if (address >= block->node.base + block->node.size)
		return true;
	while (stretch->next && stretch->next->begin <= address)
		stretch = stretch->next;
	if (stretch->begin == address)
		return true;
	made = create(address, &stretch->settings, stretch->next);
	if (made)
		stretch->next = made;
	return made;
}

static bool is_same_place(const struct sg_advice_place *a, const struct sg_advice_place *b)
{
	return a->type == b->type && a->id == b->id;
}

static bool is_same(const struct sg_advice_settings *a, const struct sg_advice_settings *b)
{
	return a->is_read_mostly == b->is_read_mostly &&
	       a->is_accessed_by_host == b->is_accessed_by_host &&
	       a->accessed_by == b->accessed_by && is_same_place(&a->preferred, &b->preferred) &&
	       is_same_place(&a->prefetched, &b->prefetched);
}

static void join_neighbours(struct sg_block *block)
{
	struct sg_advice *stretch = block->advice;

	while (stretch->next) {
		struct sg_advice *next = stretch->next;

		if (is_same(&stretch->settings, &next->settings)) {
			stretch->next = next->next;
			free(next);
		} else {
			stretch = next;
		}
	}
}

bool sg_advice_set(struct sg_block *block, uint64_t begin, uint64_t end, sg_advice_change *change,
		   const void *argument)
{
	const struct sg_advice_settings nothing = {0};
	bool is_cut;

	if (!block->advice)
		block->advice = create(block->node.base, &nothing, NULL);
	if (!block->advice)
		return false;
	is_cut = cut(block, begin) && cut(block, end);
	if (is_cut)
		for (struct sg_advice *s = block->advice; s && s->begin < end; s = s->next)
			if (s->begin >= begin)
				change(&s->settings, argument);
	join_neighbours(block);
	return is_cut;
}

void sg_advice_for_each(const struct sg_block *block, uint64_t begin, uint64_t end,
			sg_advice_visit *visit, void *argument)
{
	const struct sg_advice_settings nothing = {0};

	if (!block->advice)
		visit(&nothing, argument);
	for (const struct sg_advice *s = block->advice; s && s->begin < end; s = s->next)
		if (!s->next || s->next->begin > begin)
			visit(&s->settings, argument);
}

void sg_advice_forget(struct sg_block *block)
{
	while (block->advice) {
		struct sg_advice *gone = block->advice;

		block->advice = gone->next;
		free(gone);
	}
}
