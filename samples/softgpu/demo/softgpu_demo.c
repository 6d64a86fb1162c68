/*
 * A training loop that runs out of GPU memory, in the way real ones do: every step keeps one tensor
 * too many. Written against the CUDA runtime API like any other program; it does not know that the
 * card under it is simulated, except that it says so.
 *
 * It sizes itself by the free memory it finds, so that it ends after about as many steps on
 * every card. Exit: 0 if memory ran out as announced, 1 if anything else happened.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define NR_LAYERS  8
#define MAX_KEPT   1000
#define PRINT_EACH 10 /* steps */
#define PAGE_SIZE  ((size_t)2 << 20)

/* The free memory is cut into 64 units: 16 + 16 + 24 are needed, what is left lasts for 64 steps.
 */
#define NR_UNITS         64
#define WEIGHT_UNITS     2
#define ACTIVATION_UNITS 3
#define NEEDED_UNITS     (NR_LAYERS * (2 * WEIGHT_UNITS + ACTIVATION_UNITS))
#define NR_STEPS         64

struct tensor {
	void *ptr; /* device memory, owned; NULL when there is none */
	size_t size;
};

struct training {
	struct tensor weights[NR_LAYERS];
	struct tensor gradients[NR_LAYERS];
	struct tensor activations[NR_LAYERS];
	struct tensor kept[MAX_KEPT]; /* the mistake */
	size_t nr_kept;
	size_t unit_size;
	size_t kept_size;
};

static double to_mib(size_t size)
{
	return (double)size / (1 << 20);
}

/* Large requests take whole pages; asking for whole ones keeps the sums below easy to follow. */
static size_t round_to_pages(size_t size)
{
	return size < PAGE_SIZE ? size : size - size % PAGE_SIZE;
}

static cudaError_t tensor_init(struct tensor *tensor, size_t size)
{
	cudaError_t result = cudaMalloc(&tensor->ptr, size);

	if (result != cudaSuccess)
		tensor->ptr = NULL;
	tensor->size = size; /* also on failure: the report names what was asked for */
	return result;
}

static void tensor_fini(struct tensor *tensor)
{
	cudaFree(tensor->ptr); /* NULL is allowed */
	tensor->ptr = NULL;
}

static void fini_all(struct tensor *tensors, size_t nr_tensors)
{
	while (nr_tensors)
		tensor_fini(&tensors[--nr_tensors]);
}

static cudaError_t build_model(struct training *run)
{
	cudaError_t result = cudaSuccess;
	int i;

	for (i = 0; i < NR_LAYERS && result == cudaSuccess; i++) {
		result = tensor_init(&run->weights[i], WEIGHT_UNITS * run->unit_size);
		if (result == cudaSuccess)
			result = tensor_init(&run->gradients[i], WEIGHT_UNITS * run->unit_size);
	}
	return result;
}

/*
 * One step: a forward pass that stores the activations of every layer, a backward pass that drops
 * them, and the loss. On failure *failed is the tensor for which there was no room.
 */
static cudaError_t run_step(struct training *run, float loss, struct tensor **failed)
{
	struct tensor *output = &run->kept[run->nr_kept];
	cudaError_t result;
	int i;

	for (i = 0; i < NR_LAYERS; i++) {
		*failed = &run->activations[i];
		result = tensor_init(*failed, ACTIVATION_UNITS * run->unit_size);
		if (result != cudaSuccess)
			return result;
	}
	*failed = output;
	result = tensor_init(output, run->kept_size);
	if (result != cudaSuccess)
		return result;
	result = cudaMemcpy(output->ptr, &loss, sizeof(loss), cudaMemcpyHostToDevice);
	/*
	 * Here is the mistake. Only the loss is wanted for the curve at the end, one number, but
	 * the whole output tensor that holds it is put on the list and lives on.
	 */
	run->nr_kept++;
	for (i = NR_LAYERS; i-- > 0;)
		tensor_fini(&run->activations[i]);
	return result;
}

/* Returns the bytes that the group holds. */
static size_t print_group(const char *name, const struct tensor *tensors, size_t nr_tensors)
{
	size_t size = 0;
	size_t nr_live = 0;
	size_t i;

	for (i = 0; i < nr_tensors; i++) {
		if (!tensors[i].ptr)
			continue;
		size += tensors[i].size;
		nr_live++;
	}
	printf("  %-24s %9.1f MiB in %zu tensors\n", name, to_mib(size), nr_live);
	return size;
}

static void print_free(const char *when)
{
	size_t free_size = 0;
	size_t total_size = 0;

	if (cudaMemGetInfo(&free_size, &total_size) == cudaSuccess)
		printf("%-26s %9.1f MiB free of %.1f MiB\n", when, to_mib(free_size),
		       to_mib(total_size));
}

static void print_end(const struct training *run, const struct tensor *failed, int step,
		      cudaError_t result)
{
	size_t free_size = 0;
	size_t total_size = 0;
	size_t size = 0;

	printf("\nStep %d failed: cudaMalloc of %.1f MiB returned %s (%s).\n", step,
	       to_mib(failed->size), cudaGetErrorName(result), cudaGetErrorString(result));
	printf("Held at that moment:\n");
	size += print_group("weights", run->weights, NR_LAYERS);
	size += print_group("gradients", run->gradients, NR_LAYERS);
	size += print_group("activations", run->activations, NR_LAYERS);
	size += print_group("outputs kept by mistake", run->kept, run->nr_kept);
	if (cudaMemGetInfo(&free_size, &total_size) != cudaSuccess)
		return;
	printf("  %-24s %9.1f MiB\n", "context and rounding",
	       to_mib(total_size - free_size - size));
	printf("  %-24s %9.1f MiB of %.1f MiB\n\n", "free", to_mib(free_size), to_mib(total_size));
	printf("Each step kept its whole output, %.1f MiB, for the sake of one number, the loss.\n",
	       to_mib(run->kept_size));
}

/* Trains until something fails, which is the plan. */
static cudaError_t train(struct training *run)
{
	struct tensor *failed = NULL;
	cudaError_t result;
	char when[32];
	int step = 0;

	do {
		step++;
		result = run_step(run, 1.0f / (float)step, &failed);
		if (result == cudaSuccess && step % PRINT_EACH == 0) {
			snprintf(when, sizeof(when), "after step %d", step);
			print_free(when);
		}
	} while (result == cudaSuccess && run->nr_kept < MAX_KEPT);

	if (result == cudaErrorMemoryAllocation)
		print_end(run, failed, step, result);
	return result;
}

static cudaError_t open_device(struct training *run)
{
	struct cudaDeviceProp prop;
	size_t free_size;
	size_t total_size;
	cudaError_t result = cudaGetDeviceProperties(&prop, 0);

	if (result != cudaSuccess)
		return result;
	printf("Device 0: %s, %.1f MiB, compute capability %d.%d\n", prop.name,
	       to_mib(prop.totalGlobalMem), prop.major, prop.minor);
	printf("It is simulated by softgpu: memory is counted as on a card, kernels do not run.\n\n");
	result = cudaMemGetInfo(&free_size, &total_size);
	if (result != cudaSuccess)
		return result;
	run->unit_size = round_to_pages(free_size / NR_UNITS);
	run->kept_size = round_to_pages((free_size - NEEDED_UNITS * run->unit_size) / NR_STEPS);
	return cudaSuccess;
}

int main(void)
{
	static struct training run;
	cudaError_t result = open_device(&run);

	if (result == cudaSuccess) {
		print_free("at the start");
		result = build_model(&run);
	}
	if (result == cudaSuccess) {
		print_free("weights and gradients made");
		result = train(&run);
	}
	if (result != cudaErrorMemoryAllocation || !run.nr_kept) {
		fprintf(stderr,
			"softgpu-demo: expected to run out of memory while training, got: %s\n",
			cudaGetErrorString(result));
		return EXIT_FAILURE;
	}
	fini_all(run.activations, NR_LAYERS);
	fini_all(run.kept, run.nr_kept);
	print_free("without the kept outputs:");
	fini_all(run.gradients, NR_LAYERS);
	fini_all(run.weights, NR_LAYERS);
	return EXIT_SUCCESS;
}
