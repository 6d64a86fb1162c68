/*
 * Processes that work on each other's memory by handles, as the well-known sample does it with the
 * runtime: the parent has a buffer and an event on each device, children open all of them, take
 * turns with the events, and read at the end what another one left in their buffer.
 */
#include <string.h>

#include <cuda_runtime_api.h>

#include "share_family.h"

#define SIZE        ((size_t)4 << 20)
#define MAX_DEVICES 4

struct area {
	int nr_devices;
	cudaIpcMemHandle_t memory[SG_FAMILY_SIZE];
	cudaIpcEventHandle_t events[SG_FAMILY_SIZE];
};

static int be_child(struct sg_share_family *family, int number)
{
	struct area *area = (struct area *)(void *)family->area;
	void *buffers[SG_FAMILY_SIZE];
	cudaEvent_t events[SG_FAMILY_SIZE];
	cudaStream_t stream;
	unsigned char *copy = malloc(SIZE);

	sg_share_family_meet(family); /* the handles are there */
	MUST(!copy);
	MUST(cudaSetDevice(number % area->nr_devices));
	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		MUST(cudaIpcOpenMemHandle(&buffers[i], area->memory[i],
					  cudaIpcMemLazyEnablePeerAccess));
		MUST(cudaIpcOpenEventHandle(&events[i], area->events[i]));
	}
	/* Everybody writes to each buffer, one after the other. */
	for (int turn = 0; turn < SG_FAMILY_SIZE; turn++) {
		int i = (number + turn) % SG_FAMILY_SIZE;

		MUST(cudaStreamWaitEvent(stream, events[i], 0));
		MUST(cudaMemsetAsync(buffers[i], 16 * i + number, SIZE, stream));
		MUST(cudaEventRecord(events[i], stream));
		MUST(cudaStreamSynchronize(stream));
		sg_share_family_meet(family);
	}
	/* The last one to write here was the next child. */
	MUST(cudaMemcpyAsync(copy, buffers[number], SIZE, cudaMemcpyDeviceToHost, stream));
	MUST(cudaStreamSynchronize(stream));
	for (size_t i = 0; i < SIZE; i++)
		MUST(copy[i] != 16 * number + (number + 1) % SG_FAMILY_SIZE);
	sg_share_family_meet(family);
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		MUST(cudaIpcCloseMemHandle(buffers[i]));
		MUST(cudaEventDestroy(events[i]));
	}
	MUST(cudaStreamDestroy(stream));
	free(copy);
	return 0;
}

static int be_parent(struct sg_share_family *family)
{
	struct area *area = (struct area *)(void *)family->area;
	void *buffers[SG_FAMILY_SIZE];
	cudaEvent_t events[SG_FAMILY_SIZE];
	struct cudaDeviceProp prop;
	int failed;

	sg_share_family_start();
	MUST(cudaGetDeviceCount(&area->nr_devices));
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		MUST(cudaSetDevice(i % area->nr_devices));
		MUST(cudaGetDeviceProperties(&prop, i % area->nr_devices));
		MUST(!prop.unifiedAddressing || !prop.ipcEventSupported);
		MUST(cudaMalloc(&buffers[i], SIZE));
		MUST(cudaIpcGetMemHandle(&area->memory[i], buffers[i]));
		MUST(cudaEventCreateWithFlags(&events[i],
					      cudaEventDisableTiming | cudaEventInterprocess));
		MUST(cudaIpcGetEventHandle(&area->events[i], events[i]));
	}
	sg_share_family_meet(family);
	for (int turn = 0; turn <= SG_FAMILY_SIZE; turn++)
		sg_share_family_meet(family);
	failed = sg_share_family_wait();
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		MUST(cudaSetDevice(i % area->nr_devices));
		MUST(cudaEventSynchronize(events[i]));
		MUST(cudaEventDestroy(events[i]));
		MUST(cudaFree(buffers[i]));
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct sg_share_family *family;
	int number = sg_share_family_join(argc, argv, &family);

	return number < 0 ? be_parent(family) : be_child(family, number);
}
