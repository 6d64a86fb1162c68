#include "graphs.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "device_facts.h"
#include "hot.h"

#define NR_GRAPHS 1024 /* a power of two */
#define MAX_STEPS 64
#define MAX_DEPTH 8    /* of child graphs */
#define NR_LEFT   4096 /* a power of two */

/* What one node does. */
struct memory_node {
	uint64_t address;
	uint64_t size;            /* 0: a free */
	uint32_t device;          /* of an allocation */
	bool is_foreign;          /* a free of memory that this graph does not allocate */
	_Atomic bool is_replaced; /* the launch that goes on frees what the last one left */
};

/* Made at instantiation, read at launches, unmapped at destruction; mapped, because the program's
 * malloc is not ours to call. */
struct memory_nodes {
	size_t mapped_size;
	bool is_auto_free;
	size_t nr_nodes, capacity;
	struct memory_node nodes[];
};

/* Executable graphs that have memory nodes. A slot whose graph is gone is used again. Without a
 * free one the graph is not counted. */
static struct slot {
	_Atomic uint64_t exec;
	struct memory_nodes *_Atomic nodes;
} slots[NR_GRAPHS];

static _Atomic bool is_expected;

/* Addresses that graphs with AUTO_FREE_ON_LAUNCH left allocated: the next launch frees them, if
 * nobody does before. One without a place is found to be gone when it is allocated again. */
static _Atomic uint64_t left[NR_LEFT];
VS_HOT_DATA _Atomic unsigned vs_graphs_nr_left;

void vs_graphs_expect_memory(void)
{
	atomic_store_explicit(&is_expected, true, memory_order_relaxed);
}

static struct slot *find(uint64_t exec, bool take)
{
	uint64_t first = (exec >> 4) * 0x9e3779b97f4a7c15u >> 32;

	for (unsigned i = 0; i < MAX_STEPS; i++) {
		struct slot *slot = &slots[(first + i) % NR_GRAPHS];
		uint64_t seen = atomic_load(&slot->exec);

		if (take ? !seen && atomic_compare_exchange_strong(&slot->exec, &seen, exec)
			 : seen == exec)
			return slot;
	}
	return NULL;
}

/* Put `with` in the place of `what` near where the address belongs; 0 is no address. */
static bool replace_left(uint64_t address, uint64_t what, uint64_t with)
{
	uint64_t first = (address >> 9) * 0x9e3779b97f4a7c15u >> 32;

	for (unsigned i = 0; i < MAX_STEPS; i++) {
		uint64_t expected = what;

		if (atomic_compare_exchange_strong(&left[(first + i) % NR_LEFT], &expected, with))
			return true;
	}
	return false;
}

static void leave(uint64_t address)
{
	if (replace_left(address, 0, address))
		atomic_fetch_add(&vs_graphs_nr_left, 1);
}

/* Whether it was left, and nobody had taken it. */
static bool take_left(uint64_t address)
{
	if (!atomic_load_explicit(&vs_graphs_nr_left, memory_order_relaxed) ||
	    !replace_left(address, address, 0))
		return false;
	atomic_fetch_sub(&vs_graphs_nr_left, 1);
	return true;
}

VS_COLD void vs_graphs_note_freed(uint64_t address)
{
	(void)take_left(address);
}

static void *map_pages(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* All nodes of a graph, mapped; NULL if there are none or it cannot be told. */
static CUgraphNode *list_nodes(const struct vs_real *real, CUgraph graph, size_t *nr_nodes)
{
	CUgraphNode *nodes;

	*nr_nodes = 0;
	if (!real->cuGraphGetNodes ||
	    real->cuGraphGetNodes(graph, NULL, nr_nodes) != CUDA_SUCCESS || !*nr_nodes)
		return NULL;
	nodes = map_pages(*nr_nodes * sizeof(*nodes));
	if (nodes && real->cuGraphGetNodes(graph, nodes, nr_nodes) != CUDA_SUCCESS) {
		munmap(nodes, *nr_nodes * sizeof(*nodes));
		nodes = NULL;
	}
	return nodes;
}

static bool read_alloc_node(const struct vs_real *real, CUgraphNode node, struct memory_node *out)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {0};

	out->device = VS_NO_DEVICE;
	if (!real->cuGraphMemAllocNodeGetParams ||
	    real->cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS)
		return false;
	out->address = params.dptr;
	out->size = params.bytesize;
	if (params.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		out->device = (uint32_t)params.poolProps.location.id;
	return true;
}

static bool read_free_node(const struct vs_real *real, CUgraphNode node, struct memory_node *out)
{
	CUdeviceptr address = 0;

	if (!real->cuGraphMemFreeNodeGetParams ||
	    real->cuGraphMemFreeNodeGetParams(node, &address) != CUDA_SUCCESS)
		return false;
	out->address = address;
	return true;
}

/* False: it has nothing to do with memory, or the driver cannot tell. */
static bool read_node(const struct vs_real *real, CUgraphNode node, CUgraphNodeType type,
		      struct memory_node *out)
{
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return read_alloc_node(real, node, out);
	return type == CU_GRAPH_NODE_TYPE_MEM_FREE && read_free_node(real, node, out);
}

static bool is_allocated_here(const struct memory_nodes *nodes, uint64_t address)
{
	/* Most are freed soon after. */
	for (size_t i = nodes->nr_nodes; i-- > 0;)
		if (nodes->nodes[i].size && nodes->nodes[i].address == address)
			return true;
	return false;
}

/*
 * Adds the memory nodes of a graph, and counts those for which there is no room: called once
 * without any to learn the number, once to fill them in.
 */
static size_t collect(const struct vs_real *real, CUgraph graph, struct memory_nodes *out,
		      unsigned depth)
{
	size_t nr_nodes, nr_seen = 0;
	CUgraphNode *nodes = list_nodes(real, graph, &nr_nodes);

	for (size_t i = 0; nodes && i < nr_nodes; i++) {
		struct memory_node node = {0};
		CUgraphNodeType type;
		CUgraph child;

		if (real->cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS)
			continue;
		if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < MAX_DEPTH &&
		    real->cuGraphChildGraphNodeGetGraph &&
		    real->cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS) {
			nr_seen += collect(real, child, out, depth + 1);
			continue;
		}
		if (!read_node(real, nodes[i], type, &node))
			continue;
		nr_seen++;
		if (out && out->nr_nodes < out->capacity) {
			node.is_foreign = !node.size && !is_allocated_here(out, node.address);
			out->nodes[out->nr_nodes++] = node;
		}
	}
	if (nodes)
		munmap(nodes, nr_nodes * sizeof(*nodes));
	return nr_seen;
}

static void forget(uint64_t exec)
{
	struct slot *slot = find(exec, false);
	struct memory_nodes *nodes;

	if (!slot)
		return;
	nodes = atomic_exchange(&slot->nodes, NULL);
	atomic_store(&slot->exec, 0);
	if (nodes)
		munmap(nodes, nodes->mapped_size);
}

static void read_graph(const struct vs_real *real, uint64_t exec, CUgraph graph, bool is_auto_free)
{
	size_t capacity = collect(real, graph, NULL, 0), size;
	struct memory_nodes *nodes;
	struct slot *slot;

	/* The handle of a graph that ended unseen: a reset ends them all. */
	forget(exec);
	if (!capacity)
		return;
	size = sizeof(*nodes) + capacity * sizeof(nodes->nodes[0]);
	nodes = map_pages(size);
	if (!nodes)
		return;
	nodes->mapped_size = size;
	nodes->capacity = capacity;
	nodes->is_auto_free = is_auto_free;
	(void)collect(real, graph, nodes, 0);
	slot = find(exec, true);
	if (slot)
		atomic_store(&slot->nodes, nodes);
	else
		munmap(nodes, size);
}

void vs_graphs_note_instantiate(struct vs_call *call, CUresult result, const CUgraphExec *exec,
				CUgraph graph, unsigned long long flags)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS && call->real->cuGraphNodeGetType &&
	    atomic_load_explicit(&is_expected, memory_order_relaxed))
		read_graph(call->real, (uintptr_t)*exec, graph,
			   flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	errno = error_number;
}

void vs_graphs_note_destroy(struct vs_call *call, CUgraphExec exec)
{
	int error_number = errno;

	(void)call;
	if (exec && atomic_load_explicit(&is_expected, memory_order_relaxed))
		forget((uintptr_t)exec);
	errno = error_number;
}

static struct memory_nodes *find_nodes(const struct vs_call *call, CUgraphExec exec)
{
	struct slot *slot;

	if (!call->is_recording || !exec ||
	    !atomic_load_explicit(&is_expected, memory_order_relaxed))
		return NULL;
	slot = find((uintptr_t)exec, false);
	return slot ? atomic_load(&slot->nodes) : NULL;
}

void vs_graphs_note_launch(struct vs_call *call, CUgraphExec exec)
{
	struct memory_nodes *nodes = find_nodes(call, exec);
	int error_number = errno;

	for (size_t i = 0; nodes && i < nodes->nr_nodes; i++) {
		struct memory_node *node = &nodes->nodes[i];

		if (nodes->is_auto_free && node->size)
			node->is_replaced = take_left(node->address);
		if (node->is_foreign || node->is_replaced)
			vs_recorder_add_free(call->self, VS_MEMORY_GRAPH, node->address);
	}
	errno = error_number;
}

/* It did not happen: what was freed before the call is not. */
static void note_failure(struct vs_call *call, CUresult result, struct memory_node *node)
{
	if (node->is_foreign || node->is_replaced)
		vs_recorder_take_back_free(call->self, VS_MEMORY_GRAPH, node->address, result);
	if (atomic_exchange(&node->is_replaced, false))
		leave(node->address);
	if (node->size && result == CUDA_ERROR_OUT_OF_MEMORY)
		vs_hooks_note_alloc_on(call, result, VS_MEMORY_GRAPH, node->device, node->address,
				       node->size, 0);
}

static void note_success(struct vs_call *call, struct memory_node *node, bool is_auto_free)
{
	node->is_replaced = false;
	if (node->is_foreign) {
		(void)take_left(node->address);
	} else if (node->size) {
		vs_hooks_note_alloc_on(call, CUDA_SUCCESS, VS_MEMORY_GRAPH, node->device,
				       node->address, node->size, 0);
		if (is_auto_free)
			leave(node->address);
	} else {
		vs_recorder_add_free(call->self, VS_MEMORY_GRAPH, node->address);
		if (is_auto_free)
			(void)take_left(node->address);
	}
}

void vs_graphs_note_launched(struct vs_call *call, CUresult result, CUgraphExec exec)
{
	struct memory_nodes *nodes = find_nodes(call, exec);
	int error_number = errno;

	for (size_t i = 0; nodes && i < nodes->nr_nodes; i++) {
		if (result == CUDA_SUCCESS)
			note_success(call, &nodes->nodes[i], nodes->is_auto_free);
		else
			note_failure(call, result, &nodes->nodes[i]);
	}
	errno = error_number;
}
