#include "reference.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "bytes.h"
#include "device_attribute.h"
#include "module.h"
#include "object.h"

#define NR_DIMENSIONS  3
#define MAX_ANISOTROPY 16
#define KNOWN_FLAGS                                                                \
	(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
	 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

struct reference {
	bool is_surface;
	const struct sg_module *module; /* NULL: made by the program */
	char *name;                     /* in the module; owned */
	struct sg_context *context;     /* made there by the program */
	/* What is bound, at most one of them. */
	CUarray array;
	CUmipmappedArray mipmap;
	CUdeviceptr address;
	CUarray_format format;
	int nr_channels;
	CUaddress_mode address_modes[NR_DIMENSIONS];
	CUfilter_mode filter_mode;
	CUfilter_mode mipmap_filter_mode;
	float level_bias;
	float level_clamp[2];
	unsigned max_anisotropy;
	float border_color[4];
	unsigned flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct reference *create(const struct reference *contents)
{
	struct reference made = *contents;

	made.format = CU_AD_FORMAT_FLOAT;
	made.nr_channels = 1;
	made.max_anisotropy = 1;
	return sg_object_create_from(SG_OBJECT_REFERENCE, &made, sizeof(made));
}

/* What goes through all references looks for, or drops. */
struct search {
	const struct sg_module *module;
	const struct sg_context *context;
	const char *name;
	bool is_surface;
	struct reference *found;
};

static void find_one(void *object, void *argument)
{
	struct reference *reference = object;
	struct search *search = argument;

	if (reference->module == search->module && reference->is_surface == search->is_surface &&
	    reference->name && !strcmp(reference->name, search->name))
		search->found = reference;
}

static void drop_one(void *object, void *argument)
{
	struct reference *reference = object;
	const struct search *search = argument;

	if ((search->module && reference->module == search->module) ||
	    (search->context && reference->context == search->context)) {
		free(reference->name);
		sg_object_destroy(SG_OBJECT_REFERENCE, reference);
	}
}

void sg_reference_forget_module(const struct sg_module *module)
{
	pthread_mutex_lock(&lock);
	sg_object_for_each(SG_OBJECT_REFERENCE, drop_one, &(struct search){.module = module});
	pthread_mutex_unlock(&lock);
}

void sg_reference_destroy_all(struct sg_context *context)
{
	pthread_mutex_lock(&lock);
	sg_object_for_each(SG_OBJECT_REFERENCE, drop_one, &(struct search){.context = context});
	pthread_mutex_unlock(&lock);
}

/* The module's reference of that name, made if need be. Lock held. */
static struct reference *find_or_create(const struct sg_module *module, const char *name,
					bool is_surface)
{
	struct search search = {.module = module, .name = name, .is_surface = is_surface};
	struct reference contents = {.module = module, .is_surface = is_surface};

	sg_object_for_each(SG_OBJECT_REFERENCE, find_one, &search);
	if (search.found)
		return search.found;
	contents.name = strdup(name);
	if (!contents.name)
		return NULL;
	search.found = create(&contents);
	if (!search.found)
		free(contents.name);
	return search.found;
}

static CUresult get_of_module(void **handle, CUmodule hmod, const char *name, bool is_surface)
{
	struct sg_context *context;
	struct sg_module *module;
	CUdeviceptr address;
	size_t size;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get(hmod);
	if (!handle || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	/* References are variables of PTX. Of an image nobody can read, any name may be one. */
	if (!module->image->is_opaque) {
		result = sg_module_find_variable(module, name, &address, &size);
		if (result != CUDA_SUCCESS)
			return result;
	}
	pthread_mutex_lock(&lock);
	*handle = find_or_create(module, name, is_surface);
	pthread_mutex_unlock(&lock);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_API CUresult cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
	void *handle = NULL;
	CUresult result = get_of_module(pTexRef ? &handle : NULL, hmod, name, false);

	if (result == CUDA_SUCCESS)
		*pTexRef = handle;
	return result;
}

SG_API CUresult cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
	void *handle = NULL;
	CUresult result = get_of_module(pSurfRef ? &handle : NULL, hmod, name, true);

	if (result == CUDA_SUCCESS)
		*pSurfRef = handle;
	return result;
}

SG_API CUresult cuTexRefCreate(CUtexref *pTexRef)
{
	struct sg_context *context;
	struct reference *made;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pTexRef)
		return CUDA_ERROR_INVALID_VALUE;
	made = create(&(struct reference){.context = context});
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pTexRef = (CUtexref)(void *)made;
	return CUDA_SUCCESS;
}

/*
 * The reference of a handle; locks it if that succeeds. With end(), the frame of every function
 * below.
 */
static CUresult begin(const void *handle, bool is_surface, struct reference **reference)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*reference = sg_object_get(SG_OBJECT_REFERENCE, handle);
	if (!*reference || (*reference)->is_surface != is_surface)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	return CUDA_SUCCESS;
}

static CUresult end(bool is_valid)
{
	pthread_mutex_unlock(&lock);
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A function whose body may use `reference`; its value says whether the arguments were good. */
#define WITH_TEXTURE(handle, expression)                             \
	__extension__({                                              \
		struct reference *reference;                         \
		CUresult result_ = begin(handle, false, &reference); \
		result_ == CUDA_SUCCESS ? end(expression) : result_; \
	})

/* Only those that the program made; a module's go with it. */
SG_API CUresult cuTexRefDestroy(CUtexref hTexRef)
{
	struct reference *reference;
	CUresult result = begin(hTexRef, false, &reference);

	if (result != CUDA_SUCCESS)
		return result;
	if (reference->module)
		return end(false);
	sg_object_destroy(SG_OBJECT_REFERENCE, reference);
	return end(true);
}

static void unbind(struct reference *reference)
{
	reference->array = NULL;
	reference->mipmap = NULL;
	reference->address = 0;
}

static bool set_array(struct reference *reference, CUarray handle, unsigned flags)
{
	const struct sg_array *array = sg_array_get(handle);

	if (!array || flags != CU_TRSA_OVERRIDE_FORMAT)
		return false;
	unbind(reference);
	reference->array = handle;
	reference->format = array->descriptor.Format;
	reference->nr_channels = (int)array->descriptor.NumChannels;
	return true;
}

SG_API CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
	return WITH_TEXTURE(hTexRef, set_array(reference, hArray, Flags));
}

static bool set_mipmap(struct reference *reference, CUmipmappedArray handle, unsigned flags)
{
	const struct sg_mipmap *mipmap = sg_array_get_mipmap(handle);

	if (!mipmap || flags != CU_TRSA_OVERRIDE_FORMAT)
		return false;
	unbind(reference);
	reference->mipmap = handle;
	reference->format = mipmap->descriptor.Format;
	reference->nr_channels = (int)mipmap->descriptor.NumChannels;
	return true;
}

SG_API CUresult cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
					  unsigned int Flags)
{
	return WITH_TEXTURE(hTexRef, set_mipmap(reference, hMipmappedArray, Flags));
}

static bool set_address(struct reference *reference, size_t *offset, CUdeviceptr address,
			size_t size)
{
	struct sg_context *context;
	size_t rest;
	int unit;

	if (sg_context_get_current(&context) != CUDA_SUCCESS)
		return false;
	unit = sg_device_attribute_get(context->device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
	rest = (size_t)(address % (CUdeviceptr)unit);
	/* Nothing at all is how a reference is unbound. */
	if ((address || size) && !sg_bytes_check(address, size, SG_BYTES_DEVICE, false))
		return false;
	if (rest && !offset)
		return false;
	if (offset)
		*offset = rest;
	unbind(reference);
	reference->address = address;
	return true;
}

SG_API CUresult cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
				      size_t bytes)
{
	return WITH_TEXTURE(hTexRef, set_address(reference, ByteOffset, dptr, bytes));
}

static bool set_rows(struct reference *reference, const CUDA_ARRAY_DESCRIPTOR *shape,
		     CUdeviceptr address, size_t pitch)
{
	struct sg_array_format format;
	size_t row, size;

	if (!shape || !shape->Width || !shape->Height ||
	    !sg_array_format_get(shape->Format, shape->NumChannels, &format) || !format.unit_size ||
	    format.unit_side != 1 ||
	    __builtin_mul_overflow(shape->Width, (size_t)format.unit_size, &row) || row > pitch ||
	    __builtin_mul_overflow(shape->Height - 1, pitch, &size) ||
	    __builtin_add_overflow(size, row, &size) ||
	    !set_address(reference, NULL, address, size))
		return false;
	reference->format = shape->Format;
	reference->nr_channels = (int)shape->NumChannels;
	return true;
}

SG_API CUresult cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
					CUdeviceptr dptr, size_t Pitch)
{
	return WITH_TEXTURE(hTexRef, set_rows(reference, desc, dptr, Pitch));
}

SG_API CUresult cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
					CUdeviceptr dptr, size_t Pitch)
{
	return cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch);
}

static bool set_format(struct reference *reference, CUarray_format format, int nr_channels)
{
	struct sg_array_format description;

	if (nr_channels < 0 || !sg_array_format_get(format, (unsigned)nr_channels, &description))
		return false;
	reference->format = format;
	reference->nr_channels = nr_channels;
	return true;
}

SG_API CUresult cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
	return WITH_TEXTURE(hTexRef, set_format(reference, fmt, NumPackedComponents));
}

static bool set_address_mode(struct reference *reference, int dimension, CUaddress_mode mode)
{
	if (dimension < 0 || dimension >= NR_DIMENSIONS ||
	    (unsigned)mode > CU_TR_ADDRESS_MODE_BORDER)
		return false;
	reference->address_modes[dimension] = mode;
	return true;
}

SG_API CUresult cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
	return WITH_TEXTURE(hTexRef, set_address_mode(reference, dim, am));
}

static bool set_filter(CUfilter_mode *place, CUfilter_mode mode)
{
	if ((unsigned)mode > CU_TR_FILTER_MODE_LINEAR)
		return false;
	*place = mode;
	return true;
}

SG_API CUresult cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
	return WITH_TEXTURE(hTexRef, set_filter(&reference->filter_mode, fm));
}

SG_API CUresult cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
	return WITH_TEXTURE(hTexRef, set_filter(&reference->mipmap_filter_mode, fm));
}

SG_API CUresult cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
	return WITH_TEXTURE(hTexRef, (reference->level_bias = bias, true));
}

SG_API CUresult cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
					    float maxMipmapLevelClamp)
{
	return WITH_TEXTURE(hTexRef, (reference->level_clamp[0] = minMipmapLevelClamp,
				      reference->level_clamp[1] = maxMipmapLevelClamp, true));
}

static bool set_anisotropy(struct reference *reference, unsigned most)
{
	if (most > MAX_ANISOTROPY)
		most = MAX_ANISOTROPY;
	reference->max_anisotropy = most ? most : 1;
	return true;
}

SG_API CUresult cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
	return WITH_TEXTURE(hTexRef, set_anisotropy(reference, maxAniso));
}

/* For what is copied in or out as it is. */
static bool copy_value(void *to, const void *from, size_t size)
{
	if (!to || !from)
		return false;
	memcpy(to, from, size);
	return true;
}

SG_API CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
	return WITH_TEXTURE(hTexRef, copy_value(reference->border_color, pBorderColor,
						sizeof(reference->border_color)));
}

static bool set_flags(struct reference *reference, unsigned flags)
{
	if (flags & ~(unsigned)KNOWN_FLAGS)
		return false;
	reference->flags = flags;
	return true;
}

SG_API CUresult cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags)
{
	return WITH_TEXTURE(hTexRef, set_flags(reference, Flags));
}

SG_API CUresult cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, reference->address && copy_value(pdptr, &reference->address,
								      sizeof(*pdptr)));
}

SG_API CUresult cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, reference->array && copy_value(phArray, &reference->array,
								    sizeof(*phArray)));
}

SG_API CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef,
			    reference->mipmap && copy_value(phMipmappedArray, &reference->mipmap,
							    sizeof(*phMipmappedArray)));
}

SG_API CUresult cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
	return WITH_TEXTURE(hTexRef,
			    dim >= 0 && dim < NR_DIMENSIONS &&
				    copy_value(pam, &reference->address_modes[dim], sizeof(*pam)));
}

SG_API CUresult cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, copy_value(pfm, &reference->filter_mode, sizeof(*pfm)));
}

/* Either may be left out, but not both. */
static bool get_format(const struct reference *reference, CUarray_format *format, int *nr_channels)
{
	bool has_format = copy_value(format, &reference->format, sizeof(*format));
	bool has_channels = copy_value(nr_channels, &reference->nr_channels, sizeof(*nr_channels));

	return has_format || has_channels;
}

SG_API CUresult cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, get_format(reference, pFormat, pNumChannels));
}

SG_API CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, copy_value(pfm, &reference->mipmap_filter_mode, sizeof(*pfm)));
}

SG_API CUresult cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, copy_value(pbias, &reference->level_bias, sizeof(*pbias)));
}

SG_API CUresult cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp,
					    float *pmaxMipmapLevelClamp, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef,
			    pmaxMipmapLevelClamp &&
				    copy_value(pminMipmapLevelClamp, &reference->level_clamp[0],
					       sizeof(float)) &&
				    copy_value(pmaxMipmapLevelClamp, &reference->level_clamp[1],
					       sizeof(float)));
}

SG_API CUresult cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef,
			    copy_value(pmaxAniso, &reference->max_anisotropy, sizeof(*pmaxAniso)));
}

SG_API CUresult cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, copy_value(pBorderColor, reference->border_color,
						sizeof(reference->border_color)));
}

SG_API CUresult cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef)
{
	return WITH_TEXTURE(hTexRef, copy_value(pFlags, &reference->flags, sizeof(*pFlags)));
}

static bool set_surface(struct reference *reference, CUarray handle, unsigned flags)
{
	const struct sg_array *array = sg_array_get(handle);

	if (!array || flags || !(array->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return false;
	reference->array = handle;
	return true;
}

SG_API CUresult cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
	struct reference *reference;
	CUresult result = begin(hSurfRef, true, &reference);

	return result == CUDA_SUCCESS ? end(set_surface(reference, hArray, Flags)) : result;
}

SG_API CUresult cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
	struct reference *reference;
	CUresult result = begin(hSurfRef, true, &reference);

	if (result != CUDA_SUCCESS)
		return result;
	return end(reference->array && copy_value(phArray, &reference->array, sizeof(*phArray)));
}
