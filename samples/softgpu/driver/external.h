#ifndef SG_EXTERNAL_H
#define SG_EXTERNAL_H

#include "driver.h"

/* Destroy all external memory of a device that is reset; its buffers are gone. Memory lock held. */
void sg_external_reset(CUdevice device);

#endif
