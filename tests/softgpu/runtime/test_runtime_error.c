/* The last error, names and texts, and names that nobody has written yet. */
#include "runtime_check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_the_last_error_stays_until_it_is_taken(void **state)
{
	void *memory;

	(void)state;
	assert_int_equal(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	assert_success(cudaMalloc(&memory, 1)); /* a success does not clear it */
	assert_success(cudaFree(memory));
	assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidValue);
	assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

static void test_the_latest_error_is_the_last_one(void **state)
{
	(void)state;
	assert_int_equal(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	assert_int_equal(cudaSetDevice(77), cudaErrorInvalidDevice);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
	assert_int_equal(cudaGetLastError(), cudaSuccess);
}

static void *peek(void *data)
{
	*(cudaError_t *)data = cudaPeekAtLastError();
	return NULL;
}

static void test_the_last_error_belongs_to_the_thread(void **state)
{
	cudaError_t error = cudaErrorUnknown;
	pthread_t thread;

	(void)state;
	assert_int_equal(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	assert_int_equal(pthread_create(&thread, NULL, peek, &error), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(error, cudaSuccess);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
}

static void test_errors_have_names_and_texts(void **state)
{
	(void)state;
	assert_string_equal(cudaGetErrorName(cudaSuccess), "cudaSuccess");
	assert_string_equal(cudaGetErrorString(cudaSuccess), "no error");
	assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation),
			    "cudaErrorMemoryAllocation");
	assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
	assert_string_equal(cudaGetErrorString(cudaErrorInvalidDeviceFunction),
			    "invalid device function");
	assert_string_equal(cudaGetErrorName((cudaError_t)5555), "unrecognized error code");
	assert_string_equal(cudaGetErrorString((cudaError_t)-1), "unrecognized error code");
	/* The driver's only. */
	assert_string_equal(cudaGetErrorName((cudaError_t)202), "unrecognized error code");
}

/* Graphics of another vendor's kind will never be here: a name that stays unwritten. */
static void test_an_unwritten_name_is_not_supported(void **state)
{
	(void)state;
	assert_error(cudaDeviceGetNvSciSyncAttributes(NULL, 0, 0), cudaErrorNotSupported);
}

/* What a child says on standard error while it calls an unwritten name twice. */
static void listen_to_child(const char *parts, char *said, size_t room)
{
	int fds[2], status;
	size_t length = 0;
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		dup2(fds[1], STDERR_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		setenv("SOFTGPU_LOG", parts, 1);
		(void)cudaDeviceGetNvSciSyncAttributes(NULL, 0, 0);
		(void)cudaDeviceGetNvSciSyncAttributes(NULL, 0, 0);
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], said + length, room - 1 - length)) > 0)
		length += (size_t)n;
	said[length] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Before any other test calls it: a name is said once per process, children included. */
static void test_an_unwritten_name_is_said_once_and_only_when_asked(void **state)
{
	char said[1000];

	(void)state;
	listen_to_child("", said, sizeof(said));
	assert_string_equal(said, "");
	listen_to_child("1", said, sizeof(said));
	assert_string_equal(said, "softgpu: cudaDeviceGetNvSciSyncAttributes is not supported\n");
}

static void test_a_channel_description_is_what_was_asked_for(void **state)
{
	struct cudaChannelFormatDesc desc =
		cudaCreateChannelDesc(8, 16, 24, 32, cudaChannelFormatKindFloat);

	(void)state;
	assert_int_equal(desc.x, 8);
	assert_int_equal(desc.y, 16);
	assert_int_equal(desc.z, 24);
	assert_int_equal(desc.w, 32);
	assert_int_equal(desc.f, cudaChannelFormatKindFloat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_unwritten_name_is_said_once_and_only_when_asked),
		cmocka_unit_test(test_the_last_error_stays_until_it_is_taken),
		cmocka_unit_test(test_the_latest_error_is_the_last_one),
		cmocka_unit_test(test_the_last_error_belongs_to_the_thread),
		cmocka_unit_test(test_errors_have_names_and_texts),
		cmocka_unit_test(test_an_unwritten_name_is_not_supported),
		cmocka_unit_test(test_a_channel_description_is_what_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
