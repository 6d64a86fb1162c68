#ifndef SG_RELEASE_H
#define SG_RELEASE_H

/*
 * The one place for what differs between CUDA releases: one source makes libcudart.so.11.0, .12
 * and .13, compiled three times against the runtime headers of that release, and each time
 * against the driver headers of our own driver.
 *
 * A file of the runtime (rt_*.c) is written for the headers of 13. For the other releases then:
 *
 *  - What a release exports is the list names/cudart-<release>.txt and nothing else. A function
 *    that it does not have is compiled there, too, and goes unnoticed: nothing has to be done.
 *  - A function that 12 has in the form of 13, but under another name (most end in _v2), is
 *    renamed below by SG_RENAMED. 11 has no such form. What the name itself means to older
 *    programs is written in rt_older.c and rt_older_graph.c, which see names as they are.
 *  - A type that older headers lack is declared here and in release_11.h. Where that is too much,
 *    the function is put in #if CUDART_VERSION >= 12000, and a file full of such functions
 *    (rt_library.c) is left out in CMakeLists.txt.
 *  - A field that a struct has in some releases only is filled in #if, there and then.
 *  - A driver function that a release does not ask for (driver_api.def) is NULL there; to call it
 *    by SG_DRIVER is an error at run time, not when compiling.
 */

#if CUDART_VERSION < 11080 || CUDART_VERSION >= 14000
#error "the runtime is written for the headers of CUDA 11.8, 12 and 13"
#endif

/* The door to the driver's functions, and the first thing asked there. */
#if CUDART_VERSION >= 12000
#define SG_RT_PROC_ADDRESS      PFN_cuGetProcAddress_v12000
#define SG_RT_PROC_ADDRESS_NAME "cuGetProcAddress_v2"
#define SG_RT_FIRST_QUESTION    ""
#define SG_RT_FIRST_VERSION     0
#else
#define SG_RT_PROC_ADDRESS      PFN_cuGetProcAddress_v11030
#define SG_RT_PROC_ADDRESS_NAME "cuGetProcAddress"
#define SG_RT_FIRST_QUESTION    "cuGetProcAddress"
#define SG_RT_FIRST_VERSION     11030
#endif

/* Of struct cudaDeviceProp in 11, which is how that of 12 begins. */
#define SG_RT_PROPERTIES_SIZE_11 728

#if CUDART_VERSION < 12000
#include "release_11.h"
#endif

#if CUDART_VERSION < 13000
enum cudaAtomicOperation {
	cudaAtomicOperationIntegerAdd = 0,
};
/* Functions that came later are in no header of this release. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#endif

/*
 * Functions as 13 has them, by the names they have in 12. In 11 such a form is nobody's: it gets a
 * name that is not exported.
 */
#if CUDART_VERSION >= 12000
#define SG_RENAMED(name, version) name##_v##version
#else
#define SG_RENAMED(name, version) sg_rt_newer_##name
#endif

#if CUDART_VERSION < 13000 && !defined(SG_RT_OLDER_FORMS) && !defined(SG_CALLS_KEEP_NAMES)
#define cudaGraphAddDependencies            SG_RENAMED(cudaGraphAddDependencies, 2)
#define cudaGraphAddNode                    SG_RENAMED(cudaGraphAddNode, 2)
#define cudaGraphGetEdges                   SG_RENAMED(cudaGraphGetEdges, 2)
#define cudaGraphNodeGetDependencies        SG_RENAMED(cudaGraphNodeGetDependencies, 2)
#define cudaGraphNodeGetDependentNodes      SG_RENAMED(cudaGraphNodeGetDependentNodes, 2)
#define cudaGraphRemoveDependencies         SG_RENAMED(cudaGraphRemoveDependencies, 2)
#define cudaMemAdvise                       SG_RENAMED(cudaMemAdvise, 2)
#define cudaMemPrefetchAsync                SG_RENAMED(cudaMemPrefetchAsync, 2)
#define cudaStreamGetCaptureInfo            SG_RENAMED(cudaStreamGetCaptureInfo, 3)
#define cudaStreamUpdateCaptureDependencies SG_RENAMED(cudaStreamUpdateCaptureDependencies, 2)
/* 11 has these, too. */
#define cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_v2
#define cudaWaitExternalSemaphoresAsync   cudaWaitExternalSemaphoresAsync_v2
/* These have another form in 12 and no other name. */
#define cudaMemcpyBatchAsync   sg_rt_newer_cudaMemcpyBatchAsync
#define cudaMemcpy3DBatchAsync sg_rt_newer_cudaMemcpy3DBatchAsync

#if CUDART_VERSION >= 12000
/* As 11 has it, it fills a smaller struct. */
#undef cudaGetDeviceProperties
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#else
/* In 12 as in 13, under the same name. */
#define cudaGetDriverEntryPoint         sg_rt_newer_cudaGetDriverEntryPoint
#define cudaGetDriverEntryPoint_ptsz    sg_rt_newer_cudaGetDriverEntryPoint_ptsz
#define cudaGraphExecUpdate             sg_rt_newer_cudaGraphExecUpdate
#define cudaGraphInstantiate            sg_rt_newer_cudaGraphInstantiate
/* The struct of 12 has one field more, and a name of its own here. */
#define cudaTextureDesc                 cudaTextureDesc_v2
#define cudaCreateTextureObject         cudaCreateTextureObject_v2
#define cudaGetTextureObjectTextureDesc cudaGetTextureObjectTextureDesc_v2
#endif
#endif

#endif
