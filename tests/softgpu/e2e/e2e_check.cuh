#ifndef SG_E2E_CHECK_CUH
#define SG_E2E_CHECK_CUH

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/*
 * For programs as people write them: every call is checked, the first wrong answer ends the program
 * with a line on stderr and exit code 1. Kernels are launched and do not run on softgpu, so the
 * programs look at copies and bookkeeping, never at what a kernel would have computed.
 */

#define CHECK(call)                                                                        \
	do {                                                                               \
		cudaError_t check_error = (call);                                          \
		if (check_error != cudaSuccess) {                                          \
			fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, \
				cudaGetErrorName(check_error), (int)check_error);          \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define EXPECT(condition)                                                                       \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/* The call fails with that error, which is then the last one, once. */
#define EXPECT_ERROR(expected, call)                                                       \
	do {                                                                               \
		cudaError_t check_error = (call);                                          \
		cudaError_t check_last = cudaGetLastError();                               \
		if (check_error != (expected) || check_last != (expected)) {               \
			fprintf(stderr, "%s:%d: %s: %s, last %s, expected %s\n", __FILE__, \
				__LINE__, #call, cudaGetErrorName(check_error),            \
				cudaGetErrorName(check_last), cudaGetErrorName(expected)); \
			exit(1);                                                           \
		}                                                                          \
		EXPECT(cudaGetLastError() == cudaSuccess);                                 \
	} while (0)

static inline size_t free_memory()
{
	size_t free_bytes, total;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	EXPECT(free_bytes <= total);
	return free_bytes;
}

/* Whose CUDA libraries are these? Ends the program if one of them is not a stand-in. */
static inline void check_maps()
{
	const char *wanted = getenv("E2E_STANDINS"), *runtime = getenv("E2E_RUNTIME");
	char line[PATH_MAX + 128], folder[PATH_MAX];
	int nr_runtimes = 0, nr_drivers = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	EXPECT(maps && wanted && runtime && realpath(wanted, folder));
	while (fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/'), *name;

		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		name = strrchr(path, '/') + 1;
		if (strncmp(name, "libcudart", 9) && strncmp(name, "libcuda.so", 10))
			continue;
		nr_runtimes += !strncmp(name, "libcudart", 9);
		nr_drivers += !strncmp(name, "libcuda.so", 10);
		name[-1] = '\0';
		if (strcmp(path, folder)) {
			fprintf(stderr, "%s/%s is mapped, and no stand-in\n", path, name);
			exit(1);
		}
	}
	fclose(maps);
	EXPECT(nr_drivers > 0);
	EXPECT((nr_runtimes > 0) == !strcmp(runtime, "shared"));
}

#endif
