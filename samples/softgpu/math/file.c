/* libcufile: reads and writes files through a buffer of its own. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "math_call.h"
#include "math_device.h"

#define KIND_FILE SG_MATH_FIRST_OWN

/* CUfileError_t: code of cuFile, code of the driver; as one number. */
#define INVALID_VALUE 5022
#define ALLOC_FAILED  5021

#define TYPE_DESCRIPTOR 1 /* CU_FILE_HANDLE_TYPE_OPAQUE_FD */
#define PIECE_SIZE      ((size_t)1 << 20)

/* CUfileDescr_t */
struct file_description {
	int type;
	union {
		int fd;
		void *handle;
	} handle;
	const void *operations;
};

struct file {
	int fd; /* the program's */
};

int sg_math_bad_handle(void)
{
	return INVALID_VALUE;
}

SG_MATH_API(uint64_t, cuFileHandleRegister, void **handle,
	    const struct file_description *description)
{
	struct file *file;

	if (!handle || !description || description->type != TYPE_DESCRIPTOR)
		return INVALID_VALUE;
	file = sg_math_object_create(KIND_FILE, sizeof(*file));
	if (!file)
		return ALLOC_FAILED;
	file->fd = description->handle.fd;
	*handle = file;
	return 0;
}

SG_MATH_API(void, cuFileHandleDeregister, void *handle)
{
	sg_math_object_destroy(KIND_FILE, handle);
}

static ssize_t move(int fd, bool is_read, char *device, size_t size, off_t offset)
{
	char *piece = malloc(PIECE_SIZE);
	size_t done = 0;
	ssize_t n = -1;

	while (piece && done < size) {
		size_t wanted = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;

		if (!is_read && sg_math_device_copy(piece, device + done, wanted, NULL) != 0)
			n = -1;
		else if (is_read)
			n = pread(fd, piece, wanted, offset + (off_t)done);
		else
			n = pwrite(fd, piece, wanted, offset + (off_t)done);
		if (n > 0 && is_read &&
		    sg_math_device_copy(device + done, piece, (size_t)n, NULL) != 0)
			n = -1;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	free(piece);
	return done || size == 0 || n == 0 ? (ssize_t)done : -1;
}

SG_MATH_API(ssize_t, cuFileRead, void *handle, void *device, size_t size, off_t offset,
	    off_t device_offset)
{
	const struct file *file = sg_math_object_get(KIND_FILE, handle);

	if (!file || !device || offset < 0)
		return -INVALID_VALUE;
	return move(file->fd, true, (char *)device + device_offset, size, offset);
}

SG_MATH_API(ssize_t, cuFileWrite, void *handle, const void *device, size_t size, off_t offset,
	    off_t device_offset)
{
	const struct file *file = sg_math_object_get(KIND_FILE, handle);

	if (!file || !device || offset < 0)
		return -INVALID_VALUE;
	return move(file->fd, false, (char *)(uintptr_t)device + device_offset, size, offset);
}
