#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

CUresult sg_load_memory(const void *bytes, struct sg_image **image)
{
	return sg_image_open(image, bytes, SG_IMAGE_UNSIZED, sg_config_get()->profile.cc);
}

/* The whole of a regular file, NULL if it cannot be had. */
static char *read_file(int fd, size_t *size)
{
	struct stat status;
	char *bytes;
	size_t done = 0;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return NULL;
	bytes = malloc((size_t)status.st_size + 1);
	while (bytes && done < (size_t)status.st_size) {
		ssize_t got = read(fd, bytes + done, (size_t)status.st_size - done);

		if (got <= 0)
			break; /* shorter than it was: the reader will see */
		done += (size_t)got;
	}
	*size = done;
	return bytes;
}

CUresult sg_load_file(const char *path, struct sg_image **image)
{
	CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
	char *bytes;
	size_t size;
	int kept_errno = errno;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		goto restore_errno;
	bytes = read_file(fd, &size);
	if (bytes)
		result = sg_image_open(image, bytes, size, sg_config_get()->profile.cc);
	free(bytes);
	close(fd);
restore_errno:
	errno = kept_errno;
	return result;
}

/* The size of a log buffer, given by another option of the same call. */
static size_t find_value(unsigned nr_options, const CUjit_option *options, void **values,
			 CUjit_option wanted)
{
	for (unsigned i = 0; i < nr_options; i++)
		if (options[i] == wanted)
			return (uintptr_t)values[i];
	return 0;
}

static void empty_log(unsigned nr_options, const CUjit_option *options, void **values, unsigned i)
{
	CUjit_option size = options[i] == CU_JIT_INFO_LOG_BUFFER
				    ? CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES
				    : CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
	char *log = values[i];

	if (log && (unsigned)find_value(nr_options, options, values, size))
		*log = '\0';
}

CUresult sg_load_check_options(unsigned nr_options, const CUjit_option *options, void **values)
{
	if (nr_options && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < nr_options; i++)
		if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	/* Logs first: their sizes are overwritten with how much of them was used. */
	for (unsigned i = 0; i < nr_options; i++)
		if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
			empty_log(nr_options, options, values, i);
	for (unsigned i = 0; i < nr_options; i++)
		if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
		    options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES ||
		    options[i] == CU_JIT_WALL_TIME)
			values[i] = NULL;
	return CUDA_SUCCESS;
}
