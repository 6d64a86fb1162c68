#ifndef SG_LAUNCH_H
#define SG_LAUNCH_H

#include "context.h"

/*
 * Whether a kernel could be launched like that in a context; config->hStream is not looked at.
 * CUDA_SUCCESS or what the launch would give. Any thread.
 */
SG_MUST_USE CUresult sg_launch_check(struct sg_context *context, CUfunction function,
				     const CUlaunchConfig *config, void **params, void **extra);

#endif
