#include "occupancy.h"

#include <limits.h>

#include "device_attribute.h"
#include "stream.h"

/*
 * The rules are those of NVIDIA's calculator, cuda_occupancy.h of the toolkit: registers go to
 * warps in units, from the part of the multiprocessor that the warp is in.
 */
#define REGISTER_UNIT 256
#define NR_PARTS      4

#define VALID_FLAGS CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int get_reserved(CUdevice device)
{
	return sg_device_attribute_get(device,
				       CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
}

static size_t get_shared_unit(void)
{
	return sg_config_get()->profile.cc >= 80 ? 128 : 256;
}

static int by_registers(struct sg_kernel *kernel, CUdevice device, int nr_warps)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	int registers = sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS, device);
	size_t per_warp = round_up((size_t)registers * SG_WARP_SIZE, REGISTER_UNIT);
	size_t warps_per_part = (size_t)profile->registers_per_multiprocessor / NR_PARTS / per_warp;

	/* The hardware takes a block for one that uses all parts alike. */
	if (per_warp * round_up((size_t)nr_warps, NR_PARTS) > (size_t)profile->registers_per_block)
		return 0;
	return (int)(warps_per_part * NR_PARTS / (size_t)nr_warps);
}

static int by_shared(struct sg_kernel *kernel, CUdevice device, size_t dynamic_shared)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	int fixed = sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, device);
	int limit = sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					    device);
	size_t size;

	if (dynamic_shared > (size_t)limit)
		return 0;
	size = round_up((size_t)fixed + dynamic_shared + (size_t)get_reserved(device),
			get_shared_unit());
	return size ? (int)((size_t)profile->shared_per_multiprocessor / size) : INT_MAX;
}

int sg_occupancy_get_blocks(struct sg_kernel *kernel, CUdevice device, int block_size,
			    size_t dynamic_shared)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	int nr_warps, nr_blocks;

	if (block_size >
	    sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device))
		return 0;
	nr_warps = (block_size + SG_WARP_SIZE - 1) / SG_WARP_SIZE;
	nr_blocks = smaller(profile->blocks_per_multiprocessor,
			    profile->threads_per_multiprocessor / SG_WARP_SIZE / nr_warps);
	nr_blocks = smaller(nr_blocks, by_registers(kernel, device, nr_warps));
	return smaller(nr_blocks, by_shared(kernel, device, dynamic_shared));
}

/* A function or kernel by handle, and the device it would run on. */
static CUresult get_kernel(CUfunction handle, struct sg_kernel **kernel, CUdevice *device)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*kernel = sg_kernel_find(handle);
	if (!*kernel)
		return CUDA_ERROR_INVALID_VALUE; /* these functions know no other error */
	if ((*kernel)->module->context)
		context = (*kernel)->module->context;
	*device = context->device;
	return CUDA_SUCCESS;
}

SG_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks,
								     CUfunction func, int blockSize,
								     size_t dynamicSMemSize,
								     unsigned int flags)
{
	struct sg_kernel *kernel;
	CUdevice device;
	CUresult result = get_kernel(func, &kernel, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!numBlocks || blockSize <= 0 || (flags & ~(unsigned)VALID_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	*numBlocks = sg_occupancy_get_blocks(kernel, device, blockSize, dynamicSMemSize);
	return CUDA_SUCCESS;
}

SG_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
							    int blockSize, size_t dynamicSMemSize)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
								    dynamicSMemSize, 0);
}

/* The largest block size, a multiple of the warp size or the limit itself, with the most threads.
 */
static void find_block_size(struct sg_kernel *kernel, CUdevice device,
			    CUoccupancyB2DSize get_dynamic, size_t dynamic_shared, int limit,
			    int *best_size, int *best_blocks)
{
	int most_threads = 0;

	*best_size = 0;
	*best_blocks = 0;
	for (int aligned = (int)round_up((size_t)limit, SG_WARP_SIZE); aligned > 0;
	     aligned -= SG_WARP_SIZE) {
		int size = smaller(aligned, limit);
		int blocks = sg_occupancy_get_blocks(
			kernel, device, size, get_dynamic ? get_dynamic(size) : dynamic_shared);

		if (blocks * size > most_threads) {
			most_threads = blocks * size;
			*best_size = size;
			*best_blocks = blocks;
		}
	}
}

SG_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
	int *minGridSize, int *blockSize, CUfunction func,
	CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
	unsigned int flags)
{
	struct sg_kernel *kernel;
	CUdevice device;
	int limit, nr_blocks, size;
	CUresult result = get_kernel(func, &kernel, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!minGridSize || !blockSize || blockSizeLimit < 0 || (flags & ~(unsigned)VALID_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	limit = sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
	if (blockSizeLimit)
		limit = smaller(limit, blockSizeLimit);
	find_block_size(kernel, device, blockSizeToDynamicSMemSize, dynamicSMemSize, limit, &size,
			&nr_blocks);
	*blockSize = size;
	*minGridSize = nr_blocks * sg_config_get()->profile.nr_multiprocessors;
	return CUDA_SUCCESS;
}

SG_API CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
						 CUoccupancyB2DSize blockSizeToDynamicSMemSize,
						 size_t dynamicSMemSize, int blockSizeLimit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
							 blockSizeToDynamicSMemSize,
							 dynamicSMemSize, blockSizeLimit, 0);
}

SG_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
							int numBlocks, int blockSize)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	const int unit = (int)get_shared_unit();
	struct sg_kernel *kernel;
	CUdevice device;
	int share, limit;
	CUresult result = get_kernel(func, &kernel, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0 ||
	    numBlocks > sg_occupancy_get_blocks(kernel, device, blockSize, 0))
		return CUDA_ERROR_INVALID_VALUE;
	share = profile->shared_per_multiprocessor / numBlocks / unit * unit -
		get_reserved(device) -
		sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, device);
	limit = sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					device);
	*dynamicSmemSize = (size_t)smaller(share, limit);
	return CUDA_SUCCESS;
}

/* Blocks of the cluster that a kernel must be launched with, 0 if it is free to choose. */
static unsigned get_required_cluster(struct sg_kernel *kernel, CUdevice device)
{
	return (unsigned)sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
						 device) *
	       (unsigned)sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
						 device) *
	       (unsigned)sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
						 device);
}

static unsigned get_max_cluster(struct sg_kernel *kernel, CUdevice device)
{
	if (!sg_device_attribute_get(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
		return 1;
	return sg_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
				       device)
		       ? SG_MAX_CLUSTER_SIZE
		       : SG_PORTABLE_CLUSTER_SIZE;
}

/* A configuration that could be launched as far as blocks go; *size is its threads per block. */
static CUresult check_config(const CUlaunchConfig *config, int *size)
{
	uint64_t threads;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	if (config->blockDimX > SG_MAX_THREADS_PER_BLOCK ||
	    config->blockDimY > SG_MAX_THREADS_PER_BLOCK ||
	    config->blockDimZ > SG_MAX_THREADS_PER_BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
	if (!threads || threads > SG_MAX_THREADS_PER_BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	*size = (int)threads;
	return sg_stream_get(config->hStream, NULL) == CUDA_SUCCESS ? CUDA_SUCCESS
								    : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
						   const CUlaunchConfig *config)
{
	struct sg_kernel *kernel;
	CUdevice device;
	unsigned required;
	int block_size;
	CUresult result = get_kernel(func, &kernel, &device);

	if (result == CUDA_SUCCESS)
		result = check_config(config, &block_size);
	if (result != CUDA_SUCCESS)
		return result;
	if (!clusterSize)
		return CUDA_ERROR_INVALID_VALUE;
	required = get_required_cluster(kernel, device);
	*clusterSize = (int)(required ? required : get_max_cluster(kernel, device));
	return CUDA_SUCCESS;
}

/* Blocks of the cluster that the attributes ask for: 0 for none, UINT_MAX for far too many. */
static unsigned find_cluster(const CUlaunchConfig *config)
{
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];

		if (attribute->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			continue;
		if (attribute->value.clusterDim.x > SG_MAX_CLUSTER_SIZE ||
		    attribute->value.clusterDim.y > SG_MAX_CLUSTER_SIZE ||
		    attribute->value.clusterDim.z > SG_MAX_CLUSTER_SIZE)
			return UINT_MAX;
		return attribute->value.clusterDim.x * attribute->value.clusterDim.y *
		       attribute->value.clusterDim.z;
	}
	return 0;
}

SG_API CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
					     const CUlaunchConfig *config)
{
	struct sg_kernel *kernel;
	CUdevice device;
	unsigned required, wanted;
	int block_size, nr_blocks;
	CUresult result = get_kernel(func, &kernel, &device);

	if (result == CUDA_SUCCESS)
		result = check_config(config, &block_size);
	if (result != CUDA_SUCCESS)
		return result;
	required = get_required_cluster(kernel, device);
	wanted = find_cluster(config);
	if (!numClusters || (!wanted && !required))
		return CUDA_ERROR_INVALID_VALUE;
	if (!wanted)
		wanted = required;
	if ((required && wanted != required) || wanted > get_max_cluster(kernel, device))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	nr_blocks = sg_occupancy_get_blocks(kernel, device, block_size, config->sharedMemBytes) *
		    sg_config_get()->profile.nr_multiprocessors;
	*numClusters = nr_blocks / (int)wanted;
	return CUDA_SUCCESS;
}
