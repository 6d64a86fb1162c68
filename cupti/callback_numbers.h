#ifndef VS_CALLBACK_NUMBERS_H
#define VS_CALLBACK_NUMBERS_H

#include <cupti.h>

/* CUPTI_DRIVER_TRACE_CBID_... of all of cuda_api.def, also of releases newer than the headers. */
#if CUDA_VERSION < 13040
#define CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v3 863
#endif

/*
 * Functions that came after 13.3, the first release that does not tell which callbacks it has: the
 * symbol of cuda_api.def, and a function of CUPTI itself that came with the same release.
 */
#define VS_CALLBACK_NUMBERS_NEWER(NEWER) NEWER(cuGraphAddNode_v3, cuptiGetCudaEventId) /* 13.4 */

#endif
