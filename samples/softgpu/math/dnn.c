/* libcudnn: handle, versions, texts, and algorithms of the convolutions before the graph API. */
#include "dnn.h"

#include <string.h>

#include "math_call.h"

#define FIRST_WITH_NEW_CODES 9

/* cudnnConvolution...AlgoPerf_t, the same for all three directions */
struct performance {
	int algorithm;
	int status;
	float time;
	size_t memory;
	int determinism;
	int math_type;
	int reserved[3];
};

struct handle {
	void *stream;
};

static int code(int old, int newer)
{
	return sg_math_version[SG_MATH_MAJOR_VERSION] < FIRST_WITH_NEW_CODES ? old : newer;
}

int sg_dnn_bad_param(void)
{
	return code(3, 2000);
}

int sg_dnn_not_supported(void)
{
	return code(9, 3000);
}

int sg_dnn_alloc_failed(void)
{
	return code(2, 4003); /* 9: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED */
}

int sg_math_bad_handle(void)
{
	return sg_dnn_bad_param();
}

size_t sg_math_default_size(void)
{
	/* Functions that have no other size to give are noted by their own names. */
	return sg_math_call_setting("SOFTGPU_CUDNN_WORKSPACE", 0);
}

size_t sg_dnn_workspace(void)
{
	static int noted;

	return sg_math_call_note_size("cuDNN-workspace",
				      sg_math_call_setting("SOFTGPU_CUDNN_WORKSPACE", 0), &noted);
}

SG_MATH_API(size_t, cudnnGetVersion, void)
{
	int major = sg_math_version[SG_MATH_MAJOR_VERSION];

	return (size_t)(major * code(1000, 10000) + sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
			sg_math_version[SG_MATH_PATCH_LEVEL]);
}

SG_MATH_API(size_t, cudnnGetMaxDeviceVersion, void)
{
	return 1299;
}

SG_MATH_API(size_t, cudnnGetCudartVersion, void)
{
	return (size_t)code(11080, 13000);
}

SG_MATH_API(int, cudnnGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? sg_dnn_bad_param() : 0;
}

SG_MATH_API(const char *, cudnnGetErrorString, int status)
{
	if (status == 0)
		return "CUDNN_STATUS_SUCCESS";
	if (status == sg_dnn_bad_param())
		return "CUDNN_STATUS_BAD_PARAM";
	if (status == sg_dnn_not_supported())
		return "CUDNN_STATUS_NOT_SUPPORTED";
	if (status == sg_dnn_alloc_failed())
		return "CUDNN_STATUS_ALLOC_FAILED";
	return "CUDNN_STATUS_UNKNOWN";
}

SG_MATH_API(void, cudnnGetLastErrorString, char *message, size_t size)
{
	if (message && size)
		message[0] = '\0'; /* nothing here fails in a way that needs more words */
}

SG_MATH_API(int, cudnnQueryRuntimeError, void *handle, int *status, int mode, void *tag)
{
	(void)handle;
	(void)mode;
	(void)tag;
	if (!status)
		return sg_dnn_bad_param();
	*status = 0;
	return 0;
}

SG_MATH_API(int, cudnnSetStream, void *handle, void *stream)
{
	struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state)
		return sg_dnn_bad_param();
	state->stream = stream;
	return 0;
}

SG_MATH_API(int, cudnnGetStream, void *handle, void **stream)
{
	struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state || !stream)
		return sg_dnn_bad_param();
	*stream = state->stream;
	return 0;
}

/* Room for the state of one generator per thread of a middling card; the real size is not public.
 */
SG_MATH_API(int, cudnnDropoutGetStatesSize, void *handle, size_t *size)
{
	if (sg_math_call_check(handle) != 0 || !size)
		return sg_dnn_bad_param();
	*size = (size_t)1 << 20;
	return 0;
}

/* One bit for each element. */
SG_MATH_API(int, cudnnDropoutGetReserveSpaceSize, void *tensor, size_t *size)
{
	const struct sg_dnn_tensor *shape = sg_dnn_tensor_get(tensor);
	size_t nr = 1;

	if (!shape || !size)
		return sg_dnn_bad_param();
	for (int i = 0; i < shape->nr_dims; i++)
		nr *= (size_t)shape->dims[i];
	*size = (nr + 7) / 8;
	return 0;
}

static int put_performance(void *handle, int requested, int *returned, struct performance *results)
{
	if (sg_math_call_check(handle) != 0 || requested < 1 || !returned || !results)
		return sg_dnn_bad_param();
	*results = (struct performance){
		.algorithm = 1, /* implicit precomputed GEMM; for the others: their usual choice */
		.time = 0.01F,
		.memory = sg_dnn_workspace(),
		.determinism = 1,
	};
	*returned = 1;
	return 0;
}

/* The three directions and the two ways to ask, which differ in what they do with the answer. */
#define ALGORITHM(name)                                                                         \
	SG_MATH_API(int, name, void *handle, void *a, void *b, void *c, void *d, int requested, \
		    int *returned, struct performance *results)                                 \
	{                                                                                       \
		(void)a;                                                                        \
		(void)b;                                                                        \
		(void)c;                                                                        \
		(void)d;                                                                        \
		return put_performance(handle, requested, returned, results);                   \
	}

#define ALGORITHM_ON_DATA(name)                                                            \
	SG_MATH_API(int, name, void *handle, void *a, void *a_data, void *b, void *b_data, \
		    void *c, void *d, void *d_data, int requested, int *returned,          \
		    struct performance *results, void *workspace, size_t size)             \
	{                                                                                  \
		(void)a;                                                                   \
		(void)a_data;                                                              \
		(void)b;                                                                   \
		(void)b_data;                                                              \
		(void)c;                                                                   \
		(void)d;                                                                   \
		(void)d_data;                                                              \
		(void)workspace;                                                           \
		(void)size;                                                                \
		return put_performance(handle, requested, returned, results);              \
	}

#define NR_ALGORITHMS(name)                                    \
	SG_MATH_API(int, name, void *handle, int *count)       \
	{                                                      \
		if (sg_math_call_check(handle) != 0 || !count) \
			return sg_dnn_bad_param();             \
		*count = 1;                                    \
		return 0;                                      \
	}

ALGORITHM(cudnnGetConvolutionForwardAlgorithm_v7)
ALGORITHM(cudnnGetConvolutionBackwardDataAlgorithm_v7)
ALGORITHM(cudnnGetConvolutionBackwardFilterAlgorithm_v7)
ALGORITHM(cudnnFindConvolutionForwardAlgorithm)
ALGORITHM(cudnnFindConvolutionBackwardDataAlgorithm)
ALGORITHM(cudnnFindConvolutionBackwardFilterAlgorithm)
ALGORITHM_ON_DATA(cudnnFindConvolutionForwardAlgorithmEx)
ALGORITHM_ON_DATA(cudnnFindConvolutionBackwardDataAlgorithmEx)
ALGORITHM_ON_DATA(cudnnFindConvolutionBackwardFilterAlgorithmEx)
NR_ALGORITHMS(cudnnGetConvolutionForwardAlgorithmMaxCount)
NR_ALGORITHMS(cudnnGetConvolutionBackwardDataAlgorithmMaxCount)
NR_ALGORITHMS(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount)
