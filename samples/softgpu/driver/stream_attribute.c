#include "device_attribute.h"
#include "stream.h"

/*
 * Attributes of streams. They are hints or orders to hardware that is not there: checked, kept and
 * read back. On a context's own streams they are checked and forgotten.
 */

static bool is_access_policy(const CUaccessPolicyWindow *window)
{
	return window->hitRatio >= 0 && window->hitRatio <= 1 &&
	       (window->missProp == CU_ACCESS_PROPERTY_NORMAL ||
		window->missProp == CU_ACCESS_PROPERTY_STREAMING) &&
	       (window->hitProp == CU_ACCESS_PROPERTY_NORMAL ||
		window->hitProp == CU_ACCESS_PROPERTY_STREAMING ||
		window->hitProp == CU_ACCESS_PROPERTY_PERSISTING);
}

static bool is_domain(struct sg_context *context, unsigned domain)
{
	return domain < (unsigned)sg_device_attribute_get(
				context->device, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
}

static CUresult set_attribute(struct sg_stream *stream, struct sg_context *context,
			      CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
	switch ((int)attribute) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		if (!is_access_policy(&value->accessPolicyWindow))
			return CUDA_ERROR_INVALID_VALUE;
		stream->access_policy = value->accessPolicyWindow;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		if (value->syncPolicy < CU_SYNC_POLICY_AUTO ||
		    value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
			return CUDA_ERROR_INVALID_VALUE;
		stream->sync_policy = value->syncPolicy;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_PRIORITY:
		if (value->priority > SG_LEAST_STREAM_PRIORITY ||
		    value->priority < SG_GREATEST_STREAM_PRIORITY)
			return CUDA_ERROR_INVALID_VALUE;
		stream->priority = value->priority;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		if (!is_domain(context, value->memSyncDomainMap.default_) ||
		    !is_domain(context, value->memSyncDomainMap.remote))
			return CUDA_ERROR_INVALID_VALUE;
		stream->domain_map = value->memSyncDomainMap;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
		if (value->memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT &&
		    value->memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
			return CUDA_ERROR_INVALID_VALUE;
		stream->domain = value->memSyncDomain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		if (value->nvlinkUtilCentricScheduling > 1)
			return CUDA_ERROR_INVALID_VALUE;
		stream->nvlink_scheduling = value->nvlinkUtilCentricScheduling;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* What a context's own streams answer. */
static struct sg_stream default_stream(struct sg_context *context)
{
	return (struct sg_stream){
		.context = context,
		.sync_policy = CU_SYNC_POLICY_AUTO,
		.domain_map.remote = 1,
	};
}

SG_API CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
				     const CUstreamAttrValue *param)
{
	struct sg_stream *stream, scratch;
	struct sg_context *context;
	CUresult result = sg_stream_get_context(hStream, &stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!param)
		return CUDA_ERROR_INVALID_VALUE;
	scratch = default_stream(context);
	return set_attribute(stream ? stream : &scratch, context, attr, param);
}

SG_API CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
				     CUstreamAttrValue *value)
{
	struct sg_stream *stream, scratch;
	struct sg_context *context;
	CUresult result = sg_stream_get_context(hStream, &stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream) {
		scratch = default_stream(context);
		stream = &scratch;
	}
	switch ((int)attr) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		value->accessPolicyWindow = stream->access_policy;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		value->syncPolicy = stream->sync_policy;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_PRIORITY:
		value->priority = stream->priority;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		value->memSyncDomainMap = stream->domain_map;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
		value->memSyncDomain = stream->domain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		value->nvlinkUtilCentricScheduling = stream->nvlink_scheduling;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	struct sg_stream *to, *from, scratch;
	struct sg_context *to_context, *from_context;
	CUresult result = sg_stream_get_context(dst, &to, &to_context);

	if (result == CUDA_SUCCESS)
		result = sg_stream_get_context(src, &from, &from_context);
	if (result == CUDA_ERROR_INVALID_HANDLE)
		return CUDA_ERROR_INVALID_VALUE; /* the only one this function has */
	if (result != CUDA_SUCCESS)
		return result;
	if (to_context != from_context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!to)
		return CUDA_SUCCESS;
	if (!from) {
		scratch = default_stream(from_context);
		from = &scratch;
	}
	to->access_policy = from->access_policy;
	to->sync_policy = from->sync_policy;
	to->priority = from->priority;
	to->domain_map = from->domain_map;
	to->domain = from->domain;
	to->nvlink_scheduling = from->nvlink_scheduling;
	return CUDA_SUCCESS;
}
