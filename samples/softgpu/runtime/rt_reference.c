/*
 * Texture and surface references, which 12 no longer has: 11 alone is compiled with this file.
 *
 * A reference is a variable of the program that its code registers before main(), and that kernels
 * read through. No kernel runs here, so what is left is to know the references there are, to check
 * what they are bound to, and to remember the offset. The list has one lock; any thread may call.
 */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>

enum kind {
	TEXTURE,
	SURFACE,
};

struct reference {
	struct reference *next;
	void **fatbin; /* the handle it was registered with */
	const void *host;
	const void *device; /* the name that kernels have for it, as the program's code knows it */
	enum kind kind;
	bool bound;
	size_t offset;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reference *references;

void __cudaRegisterTexture(void **handle, const struct textureReference *host, const void **device,
			   const char *name, int dim, int norm, int ext);
void __cudaRegisterSurface(void **handle, const struct surfaceReference *host, const void **device,
			   const char *name, int dim, int ext);

/* lock held. */
static struct reference *find(enum kind kind, const void *host)
{
	struct reference *at = references;

	while (at && (at->kind != kind || at->host != host))
		at = at->next;
	return at;
}

/* Without memory the reference stays unknown, and binding it says so. */
static void add(void **handle, enum kind kind, const void *host, const void *device)
{
	struct reference *made = malloc(sizeof(*made));

	if (!made)
		return;
	*made = (struct reference){.fatbin = handle, .host = host, .device = device, .kind = kind};
	pthread_mutex_lock(&lock);
	made->next = references;
	references = made;
	pthread_mutex_unlock(&lock);
}

void sg_rt_reference_forget(void **handle)
{
	struct reference **at = &references;

	pthread_mutex_lock(&lock);
	while (*at) {
		struct reference *this = *at;

		if (this->fatbin != handle) {
			at = &this->next;
			continue;
		}
		*at = this->next;
		free(this);
	}
	pthread_mutex_unlock(&lock);
}

SG_API void __cudaRegisterTexture(void **handle, const struct textureReference *host,
				  const void **device, const char *name, int dim, int norm, int ext)
{
	(void)name, (void)dim, (void)norm, (void)ext;
	add(handle, TEXTURE, host, device);
}

SG_API void __cudaRegisterSurface(void **handle, const struct surfaceReference *host,
				  const void **device, const char *name, int dim, int ext)
{
	(void)name, (void)dim, (void)ext;
	add(handle, SURFACE, host, device);
}

static cudaError_t bind(enum kind kind, const void *host, size_t offset)
{
	cudaError_t error = kind == TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface;
	struct reference *reference;

	pthread_mutex_lock(&lock);
	reference = find(kind, host);
	if (reference) {
		reference->bound = true;
		reference->offset = offset;
		error = cudaSuccess;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static cudaError_t get_attribute(CUdevice_attribute attribute, size_t *value)
{
	int device, found = 0;
	cudaError_t error = sg_rt_context_device(&device);

	if (!error)
		error = SG_DRIVER(cuDeviceGetAttribute_v2000, &found, attribute, device);
	*value = (size_t)found;
	return error;
}

/* What lies before the last place a texture can begin at; nobody's memory cannot be bound. */
static cudaError_t offset_of(const void *memory, size_t *offset)
{
	struct cudaPointerAttributes attributes;
	cudaError_t error = cudaPointerGetAttributes(&attributes, memory);
	size_t alignment = 0;

	if (!error && attributes.type == cudaMemoryTypeUnregistered)
		error = cudaErrorInvalidValue;
	if (!error)
		error = get_attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &alignment);
	if (!error)
		*offset = alignment ? (uintptr_t)memory % alignment : 0;
	return error;
}

static cudaError_t bind_linear(size_t *offset, const void *host, const void *memory,
			       const struct cudaChannelFormatDesc *format)
{
	cudaError_t error;
	size_t found;

	if (!host)
		return cudaErrorInvalidTexture;
	if (!memory || !format)
		return cudaErrorInvalidValue;
	error = offset_of(memory, &found);
	if (error)
		return error;
	/* A kernel could not be told where its data begins. */
	if (found && !offset)
		return cudaErrorInvalidValue;
	error = bind(TEXTURE, host, found);
	if (!error && offset)
		*offset = found;
	return error;
}

static cudaError_t bind_2d(size_t *offset, const void *host, const void *memory,
			   const struct cudaChannelFormatDesc *format, size_t width, size_t height,
			   size_t pitch)
{
	size_t alignment = 0;
	cudaError_t error = get_attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, &alignment);

	if (error)
		return error;
	if (!width || !height || (alignment && pitch % alignment))
		return cudaErrorInvalidValue;
	return bind_linear(offset, host, memory, format);
}

/* Only the driver knows which arrays there are. */
static cudaError_t bind_array(enum kind kind, const void *host, const void *array,
			      const struct cudaChannelFormatDesc *format)
{
	CUDA_ARRAY3D_DESCRIPTOR found;

	if (!array || SG_DRIVER(cuArray3DGetDescriptor_v3020, &found, (CUarray)(uintptr_t)array))
		return cudaErrorInvalidResourceHandle;
	return format ? bind(kind, host, 0) : cudaErrorInvalidValue;
}

static cudaError_t bind_mipmap(const void *host, const void *mipmap,
			       const struct cudaChannelFormatDesc *format)
{
	CUarray first;

	if (!mipmap || SG_DRIVER(cuMipmappedArrayGetLevel_v5000, &first,
				 (CUmipmappedArray)(uintptr_t)mipmap, 0))
		return cudaErrorInvalidResourceHandle;
	return format ? bind(TEXTURE, host, 0) : cudaErrorInvalidValue;
}

static cudaError_t unbind(const void *host)
{
	struct reference *reference;

	pthread_mutex_lock(&lock);
	reference = find(TEXTURE, host);
	if (reference)
		reference->bound = false;
	pthread_mutex_unlock(&lock);
	return reference ? cudaSuccess : cudaErrorInvalidTexture;
}

static cudaError_t get_offset(size_t *offset, const void *host)
{
	cudaError_t error = cudaErrorInvalidTexture;
	struct reference *reference;

	if (!offset)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	reference = find(TEXTURE, host);
	if (reference) {
		error = reference->bound ? cudaSuccess : cudaErrorInvalidTextureBinding;
		if (!error)
			*offset = reference->offset;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

/* The symbol is the reference itself, or the program's name for what kernels see. */
static const void *find_symbol(enum kind kind, const void *symbol)
{
	struct reference *at;

	pthread_mutex_lock(&lock);
	for (at = references; at; at = at->next) {
		if (at->kind == kind && (at->host == symbol || at->device == symbol))
			break;
	}
	pthread_mutex_unlock(&lock);
	return at ? at->host : NULL;
}

SG_API cudaError_t cudaBindTexture(size_t *offset, const struct textureReference *texref,
				   const void *devPtr, const struct cudaChannelFormatDesc *desc,
				   size_t size)
{
	(void)size; /* "all that is left" by default, so it may exceed the memory */
	return SG_IN_CONTEXT(bind_linear(offset, texref, devPtr, desc));
}

SG_API cudaError_t cudaBindTexture2D(size_t *offset, const struct textureReference *texref,
				     const void *devPtr, const struct cudaChannelFormatDesc *desc,
				     size_t width, size_t height, size_t pitch)
{
	return SG_IN_CONTEXT(bind_2d(offset, texref, devPtr, desc, width, height, pitch));
}

SG_API cudaError_t cudaBindTextureToArray(const struct textureReference *texref,
					  cudaArray_const_t array,
					  const struct cudaChannelFormatDesc *desc)
{
	return SG_IN_CONTEXT(bind_array(TEXTURE, texref, array, desc));
}

SG_API cudaError_t cudaBindTextureToMipmappedArray(const struct textureReference *texref,
						   cudaMipmappedArray_const_t mipmappedArray,
						   const struct cudaChannelFormatDesc *desc)
{
	return SG_IN_CONTEXT(bind_mipmap(texref, mipmappedArray, desc));
}

SG_API cudaError_t cudaBindSurfaceToArray(const struct surfaceReference *surfref,
					  cudaArray_const_t array,
					  const struct cudaChannelFormatDesc *desc)
{
	return SG_IN_CONTEXT(bind_array(SURFACE, surfref, array, desc));
}

SG_API cudaError_t cudaUnbindTexture(const struct textureReference *texref)
{
	return SG_LOADED(unbind(texref));
}

SG_API cudaError_t cudaGetTextureAlignmentOffset(size_t *offset,
						 const struct textureReference *texref)
{
	return SG_LOADED(get_offset(offset, texref));
}

SG_API cudaError_t cudaGetTextureReference(const struct textureReference **texref,
					   const void *symbol)
{
	const void *found = find_symbol(TEXTURE, symbol);

	if (!texref)
		return sg_rt_error_set(cudaErrorInvalidValue);
	if (!found)
		return sg_rt_error_set(cudaErrorInvalidTexture);
	*texref = found;
	return cudaSuccess;
}

SG_API cudaError_t cudaGetSurfaceReference(const struct surfaceReference **surfref,
					   const void *symbol)
{
	const void *found = find_symbol(SURFACE, symbol);

	if (!surfref)
		return sg_rt_error_set(cudaErrorInvalidValue);
	if (!found)
		return sg_rt_error_set(cudaErrorInvalidSurface);
	*surfref = found;
	return cudaSuccess;
}
