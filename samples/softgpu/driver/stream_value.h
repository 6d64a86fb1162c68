#ifndef SG_STREAM_VALUE_H
#define SG_STREAM_VALUE_H

#include "driver.h"

/* Do operations on words at once, up to the first that fails: a node of a graph. */
SG_MUST_USE CUresult sg_stream_value_run(const CUstreamBatchMemOpParams *operations,
					 unsigned count);

#endif
