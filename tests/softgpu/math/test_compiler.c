#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda.h>

int nvrtcCreateProgram(void **program, const char *source, const char *name, int nr,
		       const char *const *headers, const char *const *names);
int nvrtcDestroyProgram(void **program);
int nvrtcAddNameExpression(void *program, const char *expression);
int nvrtcCompileProgram(void *program, int nr, const char *const *options);
int nvrtcGetLoweredName(void *program, const char *expression, const char **name);
int nvrtcGetPTXSize(void *program, size_t *size);
int nvrtcGetPTX(void *program, char *ptx);
int nvrtcGetProgramLogSize(void *program, size_t *size);
int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *nr);
const char *nvrtcGetErrorString(int result);
int nvJitLinkCreate(void **link, uint32_t nr, const char **options);
int __nvJitLinkCreate_13_0(void **link, uint32_t nr, const char **options);
int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name);
int nvJitLinkComplete(void *link);
int nvJitLinkGetLinkedCubinSize(void *link, size_t *size);
int nvJitLinkGetLinkedCubin(void *link, void *code);
int nvJitLinkDestroy(void **link);

#define INVALID_INPUT   3
#define INVALID_PROGRAM 4
#define AFTER_COMPILE   8
#define BEFORE_COMPILE  9
#define NO_SUCH_NAME    10

static const char source[] = "extern \"C\" __global__ void plain(float *x) {}\n"
			     "template <typename T> __global__ void scale(T *x) {}\n";

static void test_driver_finds_the_kernels_of_a_program(void **state)
{
	const char *options[] = {"--gpu-architecture=sm_90"}, *lowered = NULL;
	CUfunction function;
	CUcontext context;
	void *program;
	CUmodule module;
	size_t size = 0;
	char *ptx;

	(void)state;
	assert_int_equal(nvrtcCreateProgram(&program, source, NULL, 0, NULL, NULL), 0);
	assert_int_equal(nvrtcAddNameExpression(program, "scale<float>"), 0);
	assert_int_equal(nvrtcGetLoweredName(program, "scale<float>", &lowered), BEFORE_COMPILE);
	assert_int_equal(nvrtcCompileProgram(program, 1, options), 0);
	assert_int_equal(nvrtcAddNameExpression(program, "scale<int>"), AFTER_COMPILE);
	assert_int_equal(nvrtcGetLoweredName(program, "scale<float>", &lowered), 0);
	assert_int_equal(nvrtcGetLoweredName(program, "scale<int>", &lowered), NO_SUCH_NAME);
	assert_int_equal(nvrtcGetPTXSize(program, &size), 0);
	ptx = malloc(size);
	assert_int_equal(nvrtcGetPTX(program, ptx), 0);
	assert_int_equal(strlen(ptx) + 1, size);

	assert_int_equal(cuInit(0), CUDA_SUCCESS);
	assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&function, module, "plain"), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&function, module, lowered), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&function, module, "other"), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
	free(ptx);
	assert_int_equal(nvrtcDestroyProgram(&program), 0);
	assert_null(program);
}

static void test_bad_arguments_are_refused(void **state)
{
	void *program = NULL;
	size_t size = 0;

	(void)state;
	assert_int_equal(nvrtcCreateProgram(&program, NULL, NULL, 0, NULL, NULL), INVALID_INPUT);
	assert_int_equal(nvrtcCreateProgram(NULL, source, NULL, 0, NULL, NULL), INVALID_INPUT);
	assert_int_equal(nvrtcCompileProgram(NULL, 0, NULL), INVALID_PROGRAM);
	assert_int_equal(nvrtcDestroyProgram(NULL), INVALID_PROGRAM);
	assert_int_equal(nvrtcCreateProgram(&program, source, NULL, 0, NULL, NULL), 0);
	assert_int_equal(nvrtcGetPTXSize(program, &size), INVALID_INPUT); /* not compiled */
	assert_int_equal(nvrtcGetProgramLogSize(program, &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(nvrtcDestroyProgram(&program), 0);
}

static void test_versions_and_texts(void **state)
{
	int major = 0, minor = 0, nr = 0;

	(void)state;
	assert_int_equal(nvrtcVersion(&major, &minor), 0);
	assert_int_equal(major, 13);
	assert_int_equal(nvrtcGetNumSupportedArchs(&nr), 0);
	assert_true(nr > 0);
	assert_string_equal(nvrtcGetErrorString(0), "NVRTC_SUCCESS");
	assert_string_equal(nvrtcGetErrorString(999), "NVRTC_ERROR unknown");
}

static void test_linker_gives_what_it_got(void **state)
{
	char code[8] = "";
	size_t size = 0;
	void *link;

	(void)state;
	assert_int_equal(__nvJitLinkCreate_13_0(&link, 0, NULL), 0);
	assert_int_equal(nvJitLinkAddData(link, 2, "code", 5, "a"), 0);
	assert_int_equal(nvJitLinkAddData(link, 2, NULL, 5, "a"), INVALID_INPUT);
	assert_int_equal(nvJitLinkComplete(link), 0);
	assert_int_equal(nvJitLinkGetLinkedCubinSize(link, &size), 0);
	assert_int_equal(size, 5);
	assert_int_equal(nvJitLinkGetLinkedCubin(link, code), 0);
	assert_string_equal(code, "code");
	assert_int_equal(nvJitLinkDestroy(&link), 0);
	assert_int_equal(nvJitLinkDestroy(&link), INVALID_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_driver_finds_the_kernels_of_a_program),
		cmocka_unit_test(test_bad_arguments_are_refused),
		cmocka_unit_test(test_versions_and_texts),
		cmocka_unit_test(test_linker_gives_what_it_got),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
