"""Functions that look as if they gave or took memory, and need no hook: why not.

A name that is in no release's list of hooks and not here makes ./dev test-matrix fail: somebody has to
look at it. (Names of per-thread default streams, _ptsz and _ptds, go with the plain ones.)
"""

REASONS = {
    "addresses of 32 bits, from before CUDA 3.2: no runtime asks for them, no 64-bit program can use them":
        "cuArray3DCreate cuArrayCreate cuMemAlloc cuMemAllocHost cuMemAllocPitch cuMemFree",
    "tells of memory that is there; takes and gives none":
        "cuArrayGetPlane cuMipmappedArrayGetLevel cuMemGetAddressRange_v2 cuMemGetAllocationGranularity "
        "cuMemGetAllocationPropertiesFromHandle cuMemHostGetDevicePointer_v2 cuMemRangeGetAttributes "
        "cuPointerGetAttributes cuSurfRefGetArray cuTexRefGetAddress_v2 cuTexRefGetArray "
        "cuTexRefGetMipmappedArray cudaArrayGetPlane cudaGetMipmappedArrayLevel cudaHostGetDevicePointer "
        "cudaMemRangeGetAttributes cuMulticastGetGranularity",
    "asks or sets which pool is used; allocations from it say which one":
        "cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceSetMemPool cuMemGetDefaultMemPool "
        "cuMemGetMemPool cuMemSetMemPool cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool "
        "cudaDeviceSetMemPool cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemSetMemPool",
    "of a pool, without effect on what it holds":
        "cuMemPoolExportPointer cuMemPoolExportToShareableHandle cuMemPoolGetAccess cuMemPoolGetAttribute "
        "cuMemPoolSetAccess cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle "
        "cudaMemPoolGetAccess cudaMemPoolGetAttribute cudaMemPoolSetAccess",
    "the runtime's name for something that the driver's hook sees":
        "cudaMemPoolImportFromShareableHandle cudaMemPoolSetAttribute cudaGraphAddMemAllocNode "
        "cudaGraphAddMemFreeNode cudaGraphAddNode cudaGraphAddNode_v2 cudaGraphInstantiate "
        "cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams cudaStreamBeginCapture "
        "cudaStreamBeginCaptureToGraph cudaStreamEndCapture",
    "gives out functions of the driver: ends in cuGetProcAddress, which is hooked":
        "cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion",
    "memory of graphs: the driver's reserve for them is not counted; blocks are, when a graph is launched":
        "cuDeviceGetGraphMemAttribute cuDeviceSetGraphMemAttribute cuDeviceGraphMemTrim "
        "cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute cudaDeviceGraphMemTrim",
    "reads or changes a node of a graph; nodes of memory cannot be changed":
        "cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams cuGraphMemcpyNodeGetParams "
        "cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams "
        "cudaGraphMemAllocNodeGetParams cudaGraphMemFreeNodeGetParams cudaGraphMemcpyNodeGetParams "
        "cudaGraphMemcpyNodeSetParams cudaGraphMemcpyNodeSetParams1D "
        "cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol "
        "cudaGraphMemsetNodeGetParams cudaGraphMemsetNodeSetParams",
    "asks or changes how a capture goes on; its begin and end are hooked":
        "cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo_v3 "
        "cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2 "
        "cuThreadExchangeStreamCaptureMode cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v2 "
        "cudaStreamGetCaptureInfo_v3 cudaStreamUpdateCaptureDependencies "
        "cudaStreamUpdateCaptureDependencies_v2 cudaThreadExchangeStreamCaptureMode",
    "captures into a command list of Direct3D: Windows":
        "cuStreamBeginCaptureToCig cuStreamEndCaptureToCig",
    "memory of another API (Vulkan, OpenGL, a display): theirs, not taken from CUDA":
        "cuImportExternalMemory cuDestroyExternalMemory cuExternalMemoryGetMappedBuffer "
        "cuExternalMemoryGetMappedMipmappedArray cuGraphicsResourceGetMappedMipmappedArray "
        "cuGraphicsResourceGetMappedPointer_v2 cuGraphicsSubResourceGetMappedArray "
        "cudaImportExternalMemory cudaDestroyExternalMemory cudaExternalMemoryGetMappedBuffer "
        "cudaExternalMemoryGetMappedMipmappedArray cudaGraphicsResourceGetMappedMipmappedArray "
        "cudaGraphicsResourceGetMappedPointer cudaGraphicsSubResourceGetMappedArray",
    "semaphores, events and endpoints: no memory of the device that a program could use":
        "cuImportExternalSemaphore cudaImportExternalSemaphore cuIpcOpenEventHandle "
        "cudaIpcOpenEventHandle cuLogicalEndpointIdReserve cuLogicalEndpointImport",
    "code and its variables: what they take is the context's":
        "cuLibraryGetGlobal cuLibraryGetManaged cuLibraryGetUnifiedFunction cuLibraryLoadData "
        "cuLibraryLoadFromFile cuLinkAddData cuLinkAddData_v2 cuLinkAddFile cuLinkAddFile_v2 "
        "cuLinkComplete cuLinkCreate cuLinkCreate_v2 cuModuleGetGlobal_v2 cuModuleLoadDataEx "
        "cudaGetSymbolAddress cudaLibraryGetGlobal cudaLibraryGetManaged cudaLibraryGetUnifiedFunction "
        "cudaLibraryLoadData cudaLibraryLoadFromFile",
    "launches, copies, moves or discards; sizes stay as they are":
        "cuLaunchKernel cuLaunchKernelEx cuLaunchCooperativeKernel cudaLaunchKernel cudaLaunchKernelExC "
        "cudaLaunchCooperativeKernel cuMemcpyBatchAsync cuMemcpyBatchAsync_v2 cudaMemcpyBatchAsync "
        "cuMemPrefetchBatchAsync cudaMemPrefetchBatchAsync cuMemDiscardBatchAsync "
        "cudaMemDiscardBatchAsync cuMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync",
    "state and flags of a primary context":
        "cuDevicePrimaryCtxGetState cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2",
    "a green context is a part of the primary one: no memory dies with it":
        "cuGreenCtxCreate cuGreenCtxDestroy cudaGreenCtxCreate cudaExecutionCtxDestroy",
    "binds memory that was made by cuMemCreate to a sparse array or a multicast object; it stays booked":
        "cuMemMapArrayAsync cuMulticastCreate cuMulticastAddDevice cuMulticastBindAddr "
        "cuMulticastBindAddr_v2 cuMulticastBindMem cuMulticastBindMem_v2 cuMulticastUnbind",
}

KNOWN = {name: reason for reason, names in REASONS.items() for name in names.split()}
