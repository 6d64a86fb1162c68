#ifndef SG_FILL_H
#define SG_FILL_H

#include "driver.h"

/* Fill memory at once, whatever captures go on: a node of a graph. CUDA_ERROR_INVALID_VALUE. */
SG_MUST_USE CUresult sg_fill_run(const CUDA_MEMSET_NODE_PARAMS_v2 *params);

#endif
