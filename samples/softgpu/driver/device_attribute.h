#ifndef SG_DEVICE_ATTRIBUTE_H
#define SG_DEVICE_ATTRIBUTE_H

#include "driver.h"

/* Limits that are the same on every card softgpu describes. */
#define SG_MAX_THREADS_PER_BLOCK    1024
#define SG_WARP_SIZE                32
#define SG_PORTABLE_CLUSTER_SIZE    8
#define SG_MAX_CLUSTER_SIZE         16
#define SG_LEAST_STREAM_PRIORITY    0
#define SG_GREATEST_STREAM_PRIORITY (-5)

/* The value of an attribute, which must be a known one (1 to CU_DEVICE_ATTRIBUTE_MAX - 1). */
int sg_device_attribute_get(CUdevice device, CUdevice_attribute attribute);

#endif
