/*
 * Advice on, prefetch and discard of managed memory, and what was said about a range of it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getcpu */
#endif
#include <sched.h>
#include <stdlib.h>

#include "advice.h"
#include "capture.h"
#include "stream.h"

static bool has_concurrent_access(void)
{
	return sg_config_get()->profile.has_oversubscription;
}

/*
 * A location as cuda.h describes it, checked and in the form that is read back.
 * CUDA_SUCCESS, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE.
 */
static CUresult resolve(CUmemLocation location, struct sg_advice_place *place)
{
	unsigned node = 0;

	*place = (struct sg_advice_place){.type = location.type, .id = location.id};
	switch (location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (location.id < 0 || location.id >= sg_init_get_nr_devices())
			return CUDA_ERROR_INVALID_DEVICE;
		return has_concurrent_access() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
		place->id = 0; /* ignored */
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return location.id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		if (getcpu(NULL, &node) != 0)
			node = 0;
		place->type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
		place->id = (int)node;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* The location that a device number stands for in the first versions of these functions. */
static CUmemLocation locate(CUdevice device)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

	location.id = device;
	if (device == CU_DEVICE_CPU)
		location.type = CU_MEM_LOCATION_TYPE_HOST;
	return location;
}

/* Change the settings of a range of managed memory. */
static CUresult change_range(CUdeviceptr address, size_t size, sg_advice_change *change,
			     const void *argument)
{
	uint64_t begin, end;
	struct sg_block *block;
	CUresult result = CUDA_SUCCESS;

	sg_memory_lock();
	block = sg_advice_find(address, size, &begin, &end);
	if (!block)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (!sg_advice_set(block, begin, end, change, argument))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	sg_memory_unlock();
	return result;
}

struct advice {
	CUmem_advise advice;
	struct sg_advice_place place;
};

static void set_accessed_by(struct sg_advice_settings *settings,
			    const struct sg_advice_place *place, bool is_set)
{
	uint32_t bit;

	if (place->type == CU_MEM_LOCATION_TYPE_HOST) {
		settings->is_accessed_by_host = is_set;
		return;
	}
	bit = (uint32_t)1 << place->id;
	settings->accessed_by = is_set ? settings->accessed_by | bit : settings->accessed_by & ~bit;
}

static void take_advice(struct sg_advice_settings *settings, const void *argument)
{
	const struct advice *advice = argument;

	switch (advice->advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		settings->is_read_mostly = advice->advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		settings->preferred = advice->place;
		break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		settings->preferred = (struct sg_advice_place){0};
		break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		set_accessed_by(settings, &advice->place,
				advice->advice == CU_MEM_ADVISE_SET_ACCESSED_BY);
		break;
	}
}

/* Whether the advice is one, and about a place that it can be about. */
static CUresult check_advice(CUmem_advise advice, CUmemLocation location,
			     struct sg_advice_place *place)
{
	CUresult result;

	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		return CUDA_SUCCESS; /* the location is ignored */
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		return resolve(location, place);
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		result = resolve(location, place);
		if (result == CUDA_SUCCESS && place->type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
			result = CUDA_ERROR_INVALID_VALUE;
		return result;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
			       CUmemLocation location)
{
	struct sg_context *context;
	struct advice checked = {.advice = advice};
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = check_advice(advice, location, &checked.place);
	return result == CUDA_SUCCESS ? change_range(devPtr, count, take_advice, &checked) : result;
}

SG_API CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	return cuMemAdvise_v2(devPtr, count, advice, locate(device));
}

static void take_prefetch(struct sg_advice_settings *settings, const void *place)
{
	settings->prefetched = *(const struct sg_advice_place *)place;
}

/* Prefetch needs a device that faults pages in, whatever the location. */
static CUresult begin_on(CUstream stream)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(stream, NULL);
	if (result == CUDA_SUCCESS)
		result = sg_capture_refuse(stream);
	return result == CUDA_SUCCESS && !has_concurrent_access() ? CUDA_ERROR_INVALID_DEVICE
								  : result;
}

SG_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
				      unsigned int flags, CUstream hStream)
{
	struct sg_advice_place place;
	CUresult result = begin_on(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = resolve(location, &place);
	return result == CUDA_SUCCESS ? change_range(devPtr, count, take_prefetch, &place) : result;
}

SG_API CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
				   CUstream hStream)
{
	return cuMemPrefetchAsync_v2(devPtr, count, locate(dstDevice), 0, hStream);
}

/* Whether all ranges of a batch are managed memory. */
static CUresult check_ranges(const CUdeviceptr *addresses, const size_t *sizes, size_t count)
{
	uint64_t begin, end;
	CUresult result = CUDA_SUCCESS;

	if (!addresses || !sizes || !count)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
		if (!sg_advice_find(addresses[i], sizes[i], &begin, &end))
			result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

/* Every range has a location: the list starts at the first, goes up, and stays inside. */
static CUresult check_locations(const CUmemLocation *locations, const size_t *firsts,
				size_t nr_locations, size_t count)
{
	struct sg_advice_place place;
	CUresult result = CUDA_SUCCESS;

	if (!locations || !firsts || !nr_locations || nr_locations > count || firsts[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < nr_locations && result == CUDA_SUCCESS; i++) {
		if (firsts[i] >= count || (i && firsts[i] <= firsts[i - 1]))
			return CUDA_ERROR_INVALID_VALUE;
		result = resolve(locations[i], &place);
	}
	return result;
}

/* copy_batch.c says why NULL is let through. */
static CUresult begin_batch(CUstream stream, unsigned long long flags)
{
	CUresult result = begin_on(stream);

	if (result == CUDA_SUCCESS && (flags || stream == CU_STREAM_LEGACY))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

SG_API CUresult cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
					CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
					size_t numPrefetchLocs, unsigned long long flags,
					CUstream hStream)
{
	CUresult result = begin_batch(hStream, flags);

	if (result == CUDA_SUCCESS)
		result = check_ranges(dptrs, sizes, count);
	if (result == CUDA_SUCCESS)
		result = check_locations(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count);
	for (size_t i = 0, at = 0; i < count && result == CUDA_SUCCESS; i++) {
		struct sg_advice_place place;

		if (at + 1 < numPrefetchLocs && prefetchLocIdxs[at + 1] == i)
			at++;
		result = resolve(prefetchLocs[at], &place);
		if (result == CUDA_SUCCESS)
			result = change_range(dptrs[i], sizes[i], take_prefetch, &place);
	}
	return result;
}

/* What discarded memory holds is indeterminate until it is written: here, what it held before. */
SG_API CUresult cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
				       unsigned long long flags, CUstream hStream)
{
	CUresult result = begin_batch(hStream, flags);

	return result == CUDA_SUCCESS ? check_ranges(dptrs, sizes, count) : result;
}

SG_API CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						  CUmemLocation *prefetchLocs,
						  size_t *prefetchLocIdxs, size_t numPrefetchLocs,
						  unsigned long long flags, CUstream hStream)
{
	return cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
				       numPrefetchLocs, flags, hStream);
}

/* What all settings of a range have in common. */
struct common {
	bool is_first;
	struct sg_advice_settings settings;
};

static void keep_common_place(struct sg_advice_place *common, const struct sg_advice_place *place)
{
	if (common->type != place->type || common->id != place->id)
		*common = (struct sg_advice_place){0};
}

static void keep_common(const struct sg_advice_settings *settings, void *argument)
{
	struct common *common = argument;

	if (common->is_first) {
		common->settings = *settings;
		common->is_first = false;
		return;
	}
	common->settings.is_read_mostly &= settings->is_read_mostly;
	common->settings.is_accessed_by_host &= settings->is_accessed_by_host;
	common->settings.accessed_by &= settings->accessed_by;
	keep_common_place(&common->settings.preferred, &settings->preferred);
	keep_common_place(&common->settings.prefetched, &settings->prefetched);
}

/* A place as a device number. */
static int get_device(const struct sg_advice_place *place)
{
	switch (place->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return place->id;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return CU_DEVICE_CPU;
	default:
		return CU_DEVICE_INVALID;
	}
}

static void list_accessors(const struct sg_advice_settings *settings, int *list, size_t length)
{
	size_t nr = 0;

	for (int d = 0; d < SG_MAX_DEVICES && nr < length; d++)
		if (settings->accessed_by & (uint32_t)1 << d)
			list[nr++] = d;
	if (settings->is_accessed_by_host && nr < length)
		list[nr++] = CU_DEVICE_CPU;
	while (nr < length)
		list[nr++] = CU_DEVICE_INVALID;
}

static void answer(const struct sg_advice_settings *settings, CUmem_range_attribute attribute,
		   int *data, size_t size)
{
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*data = settings->is_read_mostly;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*data = get_device(&settings->preferred);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		list_accessors(settings, data, size / sizeof(int));
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*data = get_device(&settings->prefetched);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*data = (int)settings->preferred.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*data = settings->preferred.id;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*data = (int)settings->prefetched.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*data = settings->prefetched.id;
		break;
	}
}

static bool is_size_valid(CUmem_range_attribute attribute, size_t size)
{
	if (attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
	    attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
		return false;
	return attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? size && size % sizeof(int) == 0
							       : size == sizeof(int);
}

SG_API CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes,
					CUmem_range_attribute *attributes, size_t numAttributes,
					CUdeviceptr devPtr, size_t count)
{
	struct common common = {.is_first = true};
	struct sg_context *context;
	struct sg_block *block;
	uint64_t begin, end;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!data || !dataSizes || !attributes || !numAttributes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numAttributes; i++)
		if (!data[i] || !is_size_valid(attributes[i], dataSizes[i]))
			return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = sg_advice_find(devPtr, count, &begin, &end);
	if (block)
		sg_advice_for_each(block, begin, end, keep_common, &common);
	sg_memory_unlock();
	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numAttributes; i++)
		answer(&common.settings, attributes[i], data[i], dataSizes[i]);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
				       CUdeviceptr devPtr, size_t count)
{
	return cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
