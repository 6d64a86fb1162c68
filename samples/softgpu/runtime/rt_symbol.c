/* Variables of the device, by their host names: addresses, sizes, copies. */
#include "runtime.h"

#include "rt_copy.h"

/* The part [offset, offset + count) of a variable. */
static cudaError_t part_of(const void *symbol, size_t count, size_t offset, CUdeviceptr *address)
{
	size_t size = 0;
	cudaError_t error = sg_rt_module_variable(symbol, address, &size);

	if (error)
		return error;
	if (offset > size || count > size - offset)
		return cudaErrorInvalidValue;
	*address += offset;
	return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
			     enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how)
{
	CUdeviceptr address;
	cudaError_t error;

	if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
	    kind != cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	error = part_of(symbol, count, offset, &address);
	return error ? error : sg_rt_copy_linear((void *)address, source, count, kind, how);
}

static cudaError_t from_symbol(void *target, const void *symbol, size_t count, size_t offset,
			       enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how)
{
	CUdeviceptr address;
	cudaError_t error;

	if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
	    kind != cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	error = part_of(symbol, count, offset, &address);
	return error ? error : sg_rt_copy_linear(target, (void *)address, count, kind, how);
}

static cudaError_t get_address(void **address, const void *symbol)
{
	CUdeviceptr found;
	cudaError_t error;
	size_t size;

	if (!address)
		return cudaErrorInvalidValue;
	error = sg_rt_module_variable(symbol, &found, &size);
	if (!error)
		*address = (void *)found;
	return error;
}

static cudaError_t get_size(size_t *size, const void *symbol)
{
	CUdeviceptr address;
	cudaError_t error;
	size_t found;

	if (!size)
		return cudaErrorInvalidValue;
	error = sg_rt_module_variable(symbol, &address, &found);
	if (!error)
		*size = found;
	return error;
}

SG_API cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	return SG_IN_CONTEXT(get_address(devPtr, symbol));
}

SG_API cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	return SG_IN_CONTEXT(get_size(size, symbol));
}

SG_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
				      size_t offset, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(to_symbol(symbol, src, count, offset, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
					enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(from_symbol(dst, symbol, count, offset, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
					   size_t offset, enum cudaMemcpyKind kind,
					   cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(to_symbol(symbol, src, count, offset, kind, &how));
}

SG_API cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
					     size_t offset, enum cudaMemcpyKind kind,
					     cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(from_symbol(dst, symbol, count, offset, kind, &how));
}
