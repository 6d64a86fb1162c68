/*
 * Says what it is doing: init, data, forward, backward, optimizer. Runs out in the backward of step
 * 3, because activations of all steps so far are still there.
 */
#include "sample.h"
#include "vramscope.h"

static struct book device = {.name = "device"};

static void *backward(size_t size)
{
	return device_alloc(&device, size);
}

/* Returns 0 when the device is full. */
static int train_step(int step, size_t unit)
{
	void *batch, *gradient;

	vs_step((uint64_t)step);
	vs_phase_push("data");
	batch = device_alloc(&device, unit / 4);
	vs_phase_pop();
	vs_phase_push("forward");
	if (!device_alloc(&device, unit)) /* never freed: the mistake */
		return 0;
	vs_phase_pop();
	vs_phase_push("backward");
	gradient = backward(2 * unit);
	if (!gradient)
		return 0;
	vs_phase_pop();
	vs_phase_push("optimizer");
	device_free(&device, gradient, 2 * unit);
	device_free(&device, batch, unit / 4);
	vs_phase_pop();
	return 1;
}

int main(void)
{
	size_t free_bytes, total, unit;
	int step = 0;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	/* Weights 1, then step n needs n forwards, a quarter and two more: step 3 asks for 7.25. */
	unit = free_bytes / 7 / (4 * MIB) * (4 * MIB);
	vs_phase_push("init");
	if (!device_alloc(&device, unit))
		return 1;
	vs_phase_pop();
	while (train_step(step, unit))
		step++;
	printf("failed_step=%d\nfailed_phase=backward\nwanted=%zu\n", step, 2 * unit);
	book_print(&device);
	printf("ooms=1\n");
	return 3;
}
