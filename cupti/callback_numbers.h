#ifndef VS_CALLBACK_NUMBERS_H
#define VS_CALLBACK_NUMBERS_H

#include <cupti.h>

/* CUPTI_DRIVER_TRACE_CBID_... of all of cuda_api.def, also of releases newer than the headers. */
#if CUDA_VERSION < 13040
#define CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v3 863
#endif

#endif
