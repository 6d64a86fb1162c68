/* Error codes, names and texts, and the thread's last error. */
#include "runtime.h"

#include "../common/log.h"
#include "../common/note.h"

struct error_text {
	int number;
	const char *name; /* NULL where only the driver has this number */
	const char *text;
};

/* Ascending by number. */
static const struct error_text error_texts[] = {
#define SG_ERROR(number, driver_name, runtime_name, text) {number, runtime_name, text},
#include "../common/error_text.def"
#undef SG_ERROR
};

static _Thread_local cudaError_t last_error;

static const struct error_text *find_text(int number)
{
	size_t low = 0, high = sizeof(error_texts) / sizeof(error_texts[0]);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (error_texts[middle].number == number)
			return &error_texts[middle];
		if (error_texts[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

cudaError_t sg_rt_error_set(cudaError_t error)
{
	/* "Not ready" answers a query; it is no failure that a later check should find. */
	if (error != cudaSuccess && error != cudaErrorNotReady)
		last_error = error;
	return error;
}

cudaError_t sg_rt_error_from(CUresult result)
{
	const struct error_text *entry;

	if (result == CUDA_SUCCESS)
		return cudaSuccess;
	entry = find_text((int)result);
	return entry && entry->name ? (cudaError_t)result : cudaErrorUnknown;
}

cudaError_t sg_rt_error_unsupported(const char *name, int *said)
{
	if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED)) {
		sg_log_part(SG_LOG_MISSING, "%s is not supported", name);
		sg_note_add("missing %s", name);
	}
	return sg_rt_error_set(cudaErrorNotSupported);
}

SG_API cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

SG_API cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

SG_API const char *cudaGetErrorName(cudaError_t error)
{
	const struct error_text *entry = find_text((int)error);

	return entry && entry->name ? entry->name : "unrecognized error code";
}

SG_API const char *cudaGetErrorString(cudaError_t error)
{
	const struct error_text *entry = find_text((int)error);

	return entry && entry->name ? entry->text : "unrecognized error code";
}
