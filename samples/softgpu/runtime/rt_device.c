/* Devices: how many, attributes, limits, peers, what they can launch. */
#include "runtime.h"

_Static_assert((int)cudaDevAttrMaxThreadsPerBlock == (int)CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
	       "device attributes have the same numbers");
_Static_assert((int)cudaLimitPersistingL2CacheSize == (int)CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
	       "limits have the same numbers");
_Static_assert((int)cudaFuncCachePreferEqual == (int)CU_FUNC_CACHE_PREFER_EQUAL,
	       "cache preferences have the same numbers");

/* In the order of the driver's attributes, which are consecutive. */
struct launch_limits {
	int threads;
	int block[3];
	int grid[3];
};

/*
 * What each thread last asked about: limits never change, and a thread launches on one device for
 * long stretches.
 */
static _Thread_local struct launch_limits cached;
static _Thread_local int cached_device = -1;

static cudaError_t read_limits(int device, struct launch_limits *limits)
{
	int *values[] = {&limits->threads, &limits->block[0], &limits->block[1], &limits->block[2],
			 &limits->grid[0], &limits->grid[1],  &limits->grid[2]};
	cudaError_t error = cudaSuccess;
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && !error; i++) {
		CUdevice_attribute attribute =
			(CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK + (int)i);

		error = SG_DRIVER(cuDeviceGetAttribute_v2000, values[i], attribute, device);
	}
	return error;
}

static bool fits(unsigned value, int limit)
{
	return value && value <= (unsigned)limit;
}

static bool can_launch(const struct launch_limits *limits, dim3 grid, dim3 block)
{
	return fits(grid.x, limits->grid[0]) && fits(grid.y, limits->grid[1]) &&
	       fits(grid.z, limits->grid[2]) && fits(block.x, limits->block[0]) &&
	       fits(block.y, limits->block[1]) && fits(block.z, limits->block[2]) &&
	       (uint64_t)block.x * block.y * block.z <= (uint64_t)limits->threads;
}

cudaError_t sg_rt_device_check_launch(dim3 grid, dim3 block)
{
	cudaError_t error;
	int device;

	error = sg_rt_context_device(&device);
	if (!error && device != cached_device) {
		error = read_limits(device, &cached);
		cached_device = error ? -1 : device;
	}
	if (error)
		return error;
	return can_launch(&cached, grid, block) ? cudaSuccess : cudaErrorInvalidConfiguration;
}

static cudaError_t get_count(int *count)
{
	return count ? SG_DRIVER(cuDeviceGetCount_v2000, count) : cudaErrorInvalidValue;
}

SG_API cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t error = SG_LOADED(get_count(count));

	/* Programs look at the number before they look at the error. */
	if (error && count)
		*count = 0;
	return error;
}

SG_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	CUdevice_attribute attribute = (CUdevice_attribute)attr;

	return SG_LOADED(value ? SG_DRIVER(cuDeviceGetAttribute_v2000, value, attribute, device)
			       : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
						       const enum cudaAtomicOperation *operations,
						       unsigned int count, int device)
{
	const CUatomicOperation *list = (const CUatomicOperation *)operations;

	return SG_LOADED(capabilities && list ? SG_DRIVER(cuDeviceGetHostAtomicCapabilities_v13000,
							  capabilities, list, count, device)
					      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
	return SG_LOADED(pciBusId && len > 0
				 ? SG_DRIVER(cuDeviceGetPCIBusId_v4010, pciBusId, len, device)
				 : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	return SG_LOADED(device && pciBusId
				 ? SG_DRIVER(cuDeviceGetByPCIBusId_v4010, device, pciBusId)
				 : cudaErrorInvalidValue);
}

/* Limits and preferences of the current context */

SG_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuCtxSetLimit_v3010, (CUlimit)limit, value));
}

SG_API cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
	return SG_IN_CONTEXT(pValue ? SG_DRIVER(cuCtxGetLimit_v3010, pValue, (CUlimit)limit)
				    : cudaErrorInvalidValue);
}

static cudaError_t get_cache_config(enum cudaFuncCache *config)
{
	CUfunc_cache found = CU_FUNC_CACHE_PREFER_NONE;
	cudaError_t error;

	if (!config)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuCtxGetCacheConfig_v3020, &found);
	if (!error)
		*config = (enum cudaFuncCache)found;
	return error;
}

SG_API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	return SG_IN_CONTEXT(get_cache_config(pCacheConfig));
}

SG_API cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuCtxSetCacheConfig_v3020, (CUfunc_cache)cacheConfig));
}

static cudaError_t get_shared_config(enum cudaSharedMemConfig *config)
{
	CUsharedconfig found = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
	cudaError_t error;

	if (!config)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuCtxGetSharedMemConfig_v4020, &found);
	if (!error)
		*config = (enum cudaSharedMemConfig)found;
	return error;
}

SG_API cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
	return SG_IN_CONTEXT(get_shared_config(pConfig));
}

SG_API cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuCtxSetSharedMemConfig_v4020, (CUsharedconfig)config));
}

/* Either pointer may be NULL: that end of the range is then not wanted. */
SG_API cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuCtxGetStreamPriorityRange_v5050, leastPriority, greatestPriority));
}

SG_API cudaError_t
cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
				   enum cudaFlushGPUDirectRDMAWritesScope scope)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuFlushGPUDirectRDMAWrites_v11030,
				       (CUflushGPUDirectRDMAWritesTarget)target,
				       (CUflushGPUDirectRDMAWritesScope)scope));
}

/* Peers */

SG_API cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
	return SG_LOADED(canAccessPeer ? SG_DRIVER(cuDeviceCanAccessPeer_v4000, canAccessPeer,
						   device, peerDevice)
				       : cudaErrorInvalidValue);
}

/* The runtime says "invalid device" where the driver says "not supported" or "invalid context". */
static cudaError_t check_peer(int peer)
{
	int device = 0, can_access = 0;
	cudaError_t error = sg_rt_context_device(&device);

	if (!error)
		error = SG_DRIVER(cuDeviceCanAccessPeer_v4000, &can_access, device, peer);
	return error || can_access ? error : cudaErrorInvalidDevice;
}

static cudaError_t enable_peer(int peer, unsigned flags)
{
	CUcontext context;
	cudaError_t error;

	if (flags)
		return cudaErrorInvalidValue;
	error = check_peer(peer);
	if (!error)
		error = sg_rt_context_primary(peer, &context);
	return error ? error : SG_DRIVER(cuCtxEnablePeerAccess_v4000, context, flags);
}

static cudaError_t disable_peer(int peer)
{
	CUcontext context;
	cudaError_t error = sg_rt_context_primary(peer, &context);

	return error ? error : SG_DRIVER(cuCtxDisablePeerAccess_v4000, context);
}

SG_API cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	return SG_IN_CONTEXT(enable_peer(peerDevice, flags));
}

SG_API cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
	return SG_IN_CONTEXT(disable_peer(peerDevice));
}

SG_API cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
					     int dstDevice)
{
	CUdevice_P2PAttribute attribute = (CUdevice_P2PAttribute)attr;

	return SG_LOADED(value ? SG_DRIVER(cuDeviceGetP2PAttribute_v8000, value, attribute,
					   srcDevice, dstDevice)
			       : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
						      const enum cudaAtomicOperation *operations,
						      unsigned int count, int srcDevice,
						      int dstDevice)
{
	const CUatomicOperation *list = (const CUatomicOperation *)operations;

	return SG_LOADED(capabilities && list
				 ? SG_DRIVER(cuDeviceGetP2PAtomicCapabilities_v13000, capabilities,
					     list, count, srcDevice, dstDevice)
				 : cudaErrorInvalidValue);
}
