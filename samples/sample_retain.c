/*
 * Keeps one tensor in every step: nothing fails yet, but more is alive after each of them.
 */
#include "sample.h"
#include "vramscope.h"

#define STEPS      40
#define ACTIVATION (32 * MIB)
#define KEPT       (2 * MIB)

static struct book device = {.name = "device"};
static void *history[STEPS];

static void *forward(void)
{
	return device_alloc(&device, ACTIVATION);
}

/* The mistake: the tensor is kept where its value was meant. */
static void log_metrics(int step)
{
	history[step] = device_alloc(&device, KEPT);
}

static void train_step(int step)
{
	void *activation[3];

	vs_step((uint64_t)step);
	for (int i = 0; i < 3; i++)
		activation[i] = forward();
	log_metrics(step);
	for (int i = 0; i < 3; i++)
		device_free(&device, activation[i], ACTIVATION);
}

int main(void)
{
	void *weights = device_alloc(&device, 512 * MIB);

	for (int step = 0; step < STEPS; step++)
		train_step(step);
	device_free(&device, weights, 512 * MIB);
	printf("retained_per_step=%zu\nsteps=%d\n", KEPT, STEPS);
	book_print(&device);
	printf("ooms=0\n");
	return 0;
}
