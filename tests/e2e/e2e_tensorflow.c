/*
 * Uses TensorFlow's allocator as TensorFlow does, by a model of it: model_tensorflow.h. As a shared
 * library, with a function for each case, which a program or Python calls.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_tensorflow.h"

#define MIB ((size_t)1 << 20)

static const struct model_table *model;
static struct model_allocator gpu = {.name = "GPU_0_bfc", .type = 1, .limit = 64 * MIB};
static const struct model_attributes insistent = {true}, modest = {false};

static void load(void)
{
	void *library = dlopen(MODEL, RTLD_NOW | RTLD_LOCAL);

	if (library)
		model = dlsym(library, "model_table");
	if (!model || cudaMalloc((void **)&gpu.memory, gpu.limit)) {
		fprintf(stderr, "%s cannot be used: %s\n", MODEL, dlerror());
		exit(1);
	}
}

static void chunks(void)
{
	void *first, *second;

	model->announce(true, "MatMul", "output");
	first = model->allocate(&gpu, 256, 1000, &insistent);
	model->announce(false, "Conv2D", NULL);
	second = model->allocate(&gpu, 256, MIB, &insistent);
	model->announce(true, NULL, NULL);
	model->deallocate(&gpu, first);
	model->deallocate(&gpu, NULL);
	/* One is refused for good; the other could do without. */
	model->allocate(&gpu, 256, 100 * MIB, &insistent);
	model->allocate(&gpu, 256, 200 * MIB, &modest);
	(void)second;
}

static void allocators(void)
{
	struct model_allocator pinned = {
		.name = "a name that is longer than a short one", .type = 3, .limit = MIB};
	struct model_allocator host = {.name = "cpu", .type = 2, .limit = MIB};

	if (cudaMallocHost((void **)&pinned.memory, MIB))
		exit(1);
	host.memory = malloc(MIB);
	model->allocate(&pinned, 256, 512, &insistent);
	model->deallocate(&host, model->allocate(&host, 256, 512, &insistent));
	model->allocate(&gpu, 256, 256, &insistent);
	model->end(&pinned);
	/* Another one at the same place. */
	pinned = (struct model_allocator){
		.name = "second", .type = 3, .memory = pinned.memory, .limit = MIB};
	model->allocate(&pinned, 256, 1024, &insistent);
	free(host.memory);
}

/* Made with more than the card has; what is left after asking for less is too little in the end. */
static void limited(void)
{
	static const struct model_options growing = {true};
	struct model_allocator allocator;

	model->begin(&allocator, NULL, 1200 * MIB, "GPU_0_bfc", &growing);
	model->allocate(&allocator, 256, 1000, &insistent);
	model->allocate(&allocator, 256, 1100 * MIB, &insistent);
	model->end(&allocator);
}

static void work(void)
{
	model->announce(true, "gradient_tape/MatMul", "temp");
	model->allocate(&gpu, 256, 3000, &insistent);
}

/* An operation on the calling thread, which calls back before it is over. */
static void (*call_back)(void);

static void work_here(void)
{
	model->announce(true, "MatMul", "output");
	model->allocate(&gpu, 256, 256, &insistent);
	if (call_back)
		call_back();
	model->allocate(&gpu, 256, 512, &insistent);
}

__attribute__((visibility("default"))) void run_here(void (*function)(void));
__attribute__((visibility("default"))) void allocate_here(void);

void run_here(void (*function)(void))
{
	void *result;

	if (!model)
		load();
	call_back = function;
	model->execute((void *)(uintptr_t)work_here, &result, NULL, NULL);
}

void allocate_here(void)
{
	model->allocate(&gpu, 256, 1024, &insistent);
}

__attribute__((visibility("default"))) void run_case(const char *name);

void run_case(const char *name)
{
	if (!model)
		load();
	switch (name[0]) {
	case 'c':
		chunks();
		break;
	case 'a':
		allocators();
		break;
	case 'l':
		limited();
		break;
	default:
		model->execute((void *)(uintptr_t)work, NULL, NULL, NULL);
		break;
	}
}
