#ifndef SG_RELEASE_11_H
#define SG_RELEASE_11_H

/*
 * Types that came with 12, for code that is compiled for 11 as well. No program of 11 knows them,
 * so nobody but that code sees them; they are as much of NVIDIA's as it needs, and laid out like
 * the driver's where they go there.
 */

typedef struct CUkern_st *cudaKernel_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef unsigned long long cudaGraphConditionalHandle;

/* Whose fields nobody looks at. */
#define SG_LIKE_DRIVERS(type) \
	{                     \
		type same;    \
	}
struct cudaMemcpyAttributes SG_LIKE_DRIVERS(CUmemcpyAttributes);
struct cudaMemcpy3DBatchOp SG_LIKE_DRIVERS(CUDA_MEMCPY3D_BATCH_OP);
typedef struct SG_LIKE_DRIVERS(CUgraphExecUpdateResultInfo) cudaGraphExecUpdateResultInfo;
typedef struct SG_LIKE_DRIVERS(CUDA_GRAPH_INSTANTIATE_PARAMS) cudaGraphInstantiateParams;
typedef struct SG_LIKE_DRIVERS(CUgraphEdgeData) cudaGraphEdgeData;

struct cudaKernelNodeParamsV2 {
	void *func;
	dim3 gridDim;
	dim3 blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams;
	void **extra;
};

struct cudaMemcpyNodeParams {
	int flags;
	int reserved[3];
	struct cudaMemcpy3DParms copyParams;
};

struct cudaGraphNodeParams {
	enum cudaGraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cudaKernelNodeParamsV2 kernel;
		struct cudaMemcpyNodeParams memcpy;
		struct cudaMemsetParams memset;
		struct cudaMemAllocNodeParams alloc;
		CUDA_CONDITIONAL_NODE_PARAMS conditional;
	};
	long long reserved2;
};

enum cudaDriverEntryPointQueryResult {
	cudaDriverEntryPointSuccess = 0,
	cudaDriverEntryPointSymbolNotFound = 1,
	cudaDriverEntryPointVersionNotSufficent = 2,
};

/* Values of enumerations that have others in 11; a switch may know them all the same. */
#pragma GCC diagnostic ignored "-Wswitch"
#define cudaInitDeviceFlagsAreValid                    0x01
#define cudaChannelFormatKindUnsignedNormalized1010102 ((enum cudaChannelFormatKind)31)
#define cudaGraphNodeTypeConditional                   ((enum cudaGraphNodeType)13)

#endif
