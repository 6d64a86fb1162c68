#include "stack_tree.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "populate.h"

#define MIN_CAPACITY 4096u

/* 64 MiB: the host's memory is not ours. Far more frames than any program has had so far. */
#define MAX_CAPACITY (1u << 22)

struct vs_stack_tree_entry {
	uint64_t address;
	uint32_t parent;
	uint32_t node; /* 0: free */
};

void vs_stack_tree_init(struct vs_stack_tree *tree, uint32_t next_node)
{
	*tree = (struct vs_stack_tree){.next_node = next_node};
}

void vs_stack_tree_fini(struct vs_stack_tree *tree)
{
	if (tree->entries)
		munmap(tree->entries, tree->capacity * sizeof(tree->entries[0]));
}

static uint32_t hash(uint32_t parent, uint64_t address)
{
	uint64_t mixed = (address ^ (uint64_t)parent << 40) * 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 32 ^ parent) * 0xd6e8feb86659fd93;
	return (uint32_t)(mixed >> 32);
}

/* The place of a node, or the free one where it belongs. There always is a free one. */
static struct vs_stack_tree_entry *look_up(const struct vs_stack_tree *tree, uint32_t parent,
					   uint64_t address)
{
	uint32_t mask = tree->capacity - 1;
	uint32_t at = hash(parent, address) & mask;

	for (;; at = (at + 1) & mask) {
		struct vs_stack_tree_entry *entry = &tree->entries[at];

		if (!entry->node || (entry->parent == parent && entry->address == address))
			return entry;
	}
}

uint32_t vs_stack_tree_find(const struct vs_stack_tree *tree, uint32_t parent, uint64_t address)
{
	return tree->entries ? look_up(tree, parent, address)->node : 0;
}

static bool grow(struct vs_stack_tree *tree)
{
	struct vs_stack_tree larger = *tree;

	larger.capacity = tree->capacity ? tree->capacity * 2 : MIN_CAPACITY;
	if (larger.capacity > MAX_CAPACITY)
		return false;
	larger.entries = mmap(NULL, larger.capacity * sizeof(larger.entries[0]),
			      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (larger.entries == MAP_FAILED)
		return false;
	/* Entries go all over it. */
	vs_populate(larger.entries, larger.capacity * sizeof(larger.entries[0]));
	for (uint32_t i = 0; i < tree->capacity; i++) {
		const struct vs_stack_tree_entry *entry = &tree->entries[i];

		if (entry->node)
			*look_up(&larger, entry->parent, entry->address) = *entry;
	}
	vs_stack_tree_fini(tree);
	*tree = larger;
	return true;
}

uint32_t vs_stack_tree_add(struct vs_stack_tree *tree, uint32_t parent, uint64_t address)
{
	uint32_t node = tree->next_node++;

	/* At most three quarters full; without more memory it stays at that. */
	if (tree->nr_used >= tree->capacity / 4 * 3 && !grow(tree))
		return node;
	*look_up(tree, parent, address) = (struct vs_stack_tree_entry){
		.address = address,
		.parent = parent,
		.node = node,
	};
	tree->nr_used++;
	return node;
}
