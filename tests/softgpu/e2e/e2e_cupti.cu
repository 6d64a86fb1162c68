/* A program that watches itself through CUPTI, loaded as frameworks load it. */
#include "e2e_check.cuh"

#include <cupti.h>
#include <dlfcn.h>

/* Not static: its name would be made unique. */
__global__ void scale(float *data, float by)
{
	data[threadIdx.x] *= by;
}

static int nr_launches, nr_allocs, nr_driver_launches, depth;
static size_t alloc_size;

static void CUPTIAPI watch(void *, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			   const void *data)
{
	const CUpti_CallbackData *call = (const CUpti_CallbackData *)data;
	bool enters = call->callbackSite == CUPTI_API_ENTER;

	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		depth += enters ? 1 : -1;
	if (!enters)
		return;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
		if (cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
			EXPECT(depth == 1);
			EXPECT(!strcmp(call->symbolName, "_Z5scalePff"));
			nr_driver_launches++;
		}
		return;
	}
	if (strstr(call->functionName, "LaunchKernel")) {
		EXPECT(!strcmp(call->symbolName, "_Z5scalePff"));
		nr_launches++;
	} else if (cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) {
		alloc_size = ((const cudaMalloc_v3020_params *)call->functionParams)->size;
		nr_allocs++;
	}
}

/* A function of the library by name. */
#define CUPTI(name) ((decltype(&name))dlsym(cupti, #name))

int main()
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	CUpti_SubscriberHandle subscriber;
	float *data;

	EXPECT(cupti);
	EXPECT(CUPTI(cuptiSubscribe)(&subscriber, watch, NULL) == CUPTI_SUCCESS);
	EXPECT(CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) ==
	       CUPTI_SUCCESS);
	EXPECT(CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) ==
	       CUPTI_SUCCESS);
	CHECK(cudaMalloc(&data, 1024));
	EXPECT(nr_allocs == 1 && alloc_size == 1024);
	scale<<<1, 256>>>(data, 2);
	CHECK(cudaGetLastError());
	EXPECT(nr_launches == 1 && nr_driver_launches == 1);
	EXPECT(CUPTI(cuptiUnsubscribe)(subscriber) == CUPTI_SUCCESS);
	scale<<<1, 256>>>(data, 3);
	CHECK(cudaFree(data));
	EXPECT(nr_launches == 1 && depth == 0);
	check_maps();
	return 0;
}
