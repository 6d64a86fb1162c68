#ifndef SG_COPY_H
#define SG_COPY_H

#include "driver.h"

/* Do a copy at once, whatever captures go on: one of a graph. CUDA_ERROR_INVALID_VALUE. */
SG_MUST_USE CUresult sg_copy_run(const CUDA_MEMCPY3D *copy);

#endif
