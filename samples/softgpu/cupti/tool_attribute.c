/*
 * Settings of the activity API. They are about buffers on a device that fills them by itself, and
 * about what kernels do: here they are kept, read back, and have no effect.
 */
#include "tool.h"

#include <pthread.h>
#include <string.h>

/* Not an enumerator of every release: numbers, with the defaults that cupti_activity.h gives. */
static struct {
	size_t size;
	uint64_t value;
} attributes[] = {
	{sizeof(size_t), 3200000},  /* device buffer size */
	{sizeof(size_t), 8 << 20},  /* the same, of kernels launched by kernels */
	{sizeof(size_t), 250},      /* limit of device buffers */
	{sizeof(size_t), 25000},    /* semaphore pool size */
	{sizeof(size_t), 250},      /* limit of semaphore pools */
	{sizeof(uint8_t), 0},       /* activity buffers are zeroed */
	{sizeof(size_t), 3},        /* device buffers made beforehand */
	{sizeof(size_t), 3},        /* semaphore pools made beforehand */
	{sizeof(uint8_t), 0},       /* pinned host memory for them */
	{sizeof(uint8_t), 0},       /* a buffer for each thread */
	{sizeof(size_t), 16 << 20}, /* device buffer size of device graphs */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUptiResult check(CUpti_ActivityAttribute attr, const size_t *size, const void *value)
{
	if ((unsigned)attr >= SG_LENGTH(attributes) || !size || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return *size < attributes[attr].size ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT
					     : CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize,
					     void *value)
{
	CUptiResult result = check(attr, valueSize, value);

	if (result == CUPTI_SUCCESS) {
		pthread_mutex_lock(&lock);
		memcpy(value, &attributes[attr].value, attributes[attr].size);
		pthread_mutex_unlock(&lock);
		*valueSize = attributes[attr].size;
	}
	return sg_tool_link_return(result);
}

SG_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize,
					     void *value)
{
	CUptiResult result = check(attr, valueSize, value);

	if (result == CUPTI_SUCCESS) {
		pthread_mutex_lock(&lock);
		memcpy(&attributes[attr].value, value, attributes[attr].size);
		pthread_mutex_unlock(&lock);
		*valueSize = attributes[attr].size;
	}
	return sg_tool_link_return(result);
}

/*
 * Switches, in whichever release: a name that the real library lacks is not exported. Their
 * headers declare them or do not.
 */
#define SWITCH(name)                            \
	CUptiResult name(uint8_t enable);       \
	SG_API CUptiResult name(uint8_t enable) \
	{                                       \
		(void)enable;                   \
		return CUPTI_SUCCESS;           \
	}
SWITCH(cuptiActivityEnableAllSyncRecords)
SWITCH(cuptiActivityEnableAllocationSource)
SWITCH(cuptiActivityEnableCudaEventDeviceTimestamps)
SWITCH(cuptiActivityEnableDeviceGraph)
SWITCH(cuptiActivityEnableHWTrace)
SWITCH(cuptiActivityEnableLatencyTimestamps)
SWITCH(cuptiActivityEnableLaunchAttributes)

SG_API CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
	/* Records are delivered when they have piled up, or at a flush. */
	(void)time;
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(
	CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count)
{
	return sg_tool_link_return(config && count ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

SG_API CUptiResult cuptiActivityConfigurePCSampling(CUcontext ctx,
						    CUpti_ActivityPCSamplingConfig *config)
{
	return sg_tool_link_return(ctx && config ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}
