#include "captured_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int stream = -1; /* the one that is kept */
static int original;
static char *text;

void vs_capture_begin(int fd)
{
	int file = memfd_create("capture", MFD_CLOEXEC);

	assert_int_equal(stream, -1);
	assert_true(file >= 0);
	fflush(NULL);
	original = dup(fd);
	assert_true(original >= 0);
	assert_int_equal(dup2(file, fd), fd);
	close(file);
	stream = fd;
}

const char *vs_capture_end(void)
{
	off_t size;

	fflush(NULL);
	size = lseek(stream, 0, SEEK_END);
	assert_true(size >= 0);
	free(text);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(pread(stream, text, (size_t)size, 0), size);
	dup2(original, stream);
	close(original);
	stream = -1;
	return text;
}
