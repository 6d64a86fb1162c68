/* Device code loaded by the program itself: a thin layer over the driver's libraries. */
#include "runtime.h"

_Static_assert(sizeof(enum cudaJitOption) == sizeof(CUjit_option) &&
		       sizeof(enum cudaLibraryOption) == sizeof(CUlibraryOption),
	       "option lists have one layout");

SG_API cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				       enum cudaJitOption *jitOptions, void **jitOptionsValues,
				       unsigned int numJitOptions,
				       enum cudaLibraryOption *libraryOptions,
				       void **libraryOptionValues, unsigned int numLibraryOptions)
{
	return SG_IN_CONTEXT(library && code
				     ? SG_DRIVER(cuLibraryLoadData_v12000, (CUlibrary *)library,
						 code, (CUjit_option *)jitOptions, jitOptionsValues,
						 numJitOptions, (CUlibraryOption *)libraryOptions,
						 libraryOptionValues, numLibraryOptions)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
					   enum cudaJitOption *jitOptions, void **jitOptionsValues,
					   unsigned int numJitOptions,
					   enum cudaLibraryOption *libraryOptions,
					   void **libraryOptionValues,
					   unsigned int numLibraryOptions)
{
	return SG_IN_CONTEXT(library && fileName
				     ? SG_DRIVER(cuLibraryLoadFromFile_v12000, (CUlibrary *)library,
						 fileName, (CUjit_option *)jitOptions,
						 jitOptionsValues, numJitOptions,
						 (CUlibraryOption *)libraryOptions,
						 libraryOptionValues, numLibraryOptions)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	return SG_IN_CONTEXT(library ? SG_DRIVER(cuLibraryUnload_v12000, (CUlibrary)library)
				     : cudaErrorInvalidResourceHandle);
}

SG_API cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
					const char *name)
{
	return SG_IN_CONTEXT(pKernel && name
				     ? SG_DRIVER(cuLibraryGetKernel_v12000, (CUkernel *)pKernel,
						 (CUlibrary)library, name)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
					const char *name)
{
	return SG_IN_CONTEXT(name && (dptr || bytes)
				     ? SG_DRIVER(cuLibraryGetGlobal_v12000, (CUdeviceptr *)dptr,
						 bytes, (CUlibrary)library, name)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
					 const char *name)
{
	return SG_IN_CONTEXT(name && (dptr || bytes)
				     ? SG_DRIVER(cuLibraryGetManaged_v12000, (CUdeviceptr *)dptr,
						 bytes, (CUlibrary)library, name)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library,
						 const char *symbol)
{
	return SG_IN_CONTEXT(fptr && symbol ? SG_DRIVER(cuLibraryGetUnifiedFunction_v12000, fptr,
							(CUlibrary)library, symbol)
					    : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
	return SG_IN_CONTEXT(
		count ? SG_DRIVER(cuLibraryGetKernelCount_v12040, count, (CUlibrary)lib)
		      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
					       cudaLibrary_t lib)
{
	return SG_IN_CONTEXT(kernels ? SG_DRIVER(cuLibraryEnumerateKernels_v12040,
						 (CUkernel *)kernels, numKernels, (CUlibrary)lib)
				     : cudaErrorInvalidValue);
}
