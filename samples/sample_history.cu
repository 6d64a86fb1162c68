/*
 * Runs out after some epochs: a history of losses that was meant to hold numbers holds the buffers
 * they were computed in. Each is small against what a step needs, and none of them ever goes.
 */
#include <vector>

#include "device_buffer.cuh"

constexpr size_t nr_epochs = 16, steps_per_epoch = 8;

static struct book device = {"device"}, managed = {"managed"};
static size_t nr_losses, nr_activations, nr_weights; /* how many there are: 1 to 8 to 32 */

using Buffer = DeviceBuffer<float>;

__global__ void multiply(const float *weights, float *activations, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		activations[i] = weights[i] * 0.5f;
}

__global__ void compare(const float *activations, float *losses, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		losses[i] = activations[i] * activations[i];
}

__global__ void sum(const float *losses, size_t n, float *total)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		atomicAdd(total, losses[i]);
}

/* A number that host and device both see. */
class ManagedNumber {
public:
	ManagedNumber()
	{
		CHECK(cudaMallocManaged(&number_, sizeof(*number_)));
		book_alloc(&managed, sizeof(*number_));
		*number_ = 0;
	}

	ManagedNumber(const ManagedNumber &) = delete;
	ManagedNumber &operator=(const ManagedNumber &) = delete;

	~ManagedNumber()
	{
		CHECK(cudaFree(number_));
		book_free(&managed, sizeof(*number_));
	}

	float *get() const
	{
		return number_;
	}

private:
	float *number_;
};

static Buffer forward(const Buffer &weights)
{
	Buffer activations = Buffer::allocate(device, nr_activations);

	multiply<<<grid(nr_activations), 256>>>(weights.data(), activations.data(), nr_activations);
	return activations;
}

static Buffer compute_loss(const Buffer &activations)
{
	Buffer losses = Buffer::allocate(device, nr_losses);

	compare<<<grid(nr_losses), 256>>>(activations.data(), losses.data(), nr_losses);
	return losses;
}

static void train_step(const Buffer &weights, std::vector<Buffer> &history,
		       const ManagedNumber &mean)
{
	Buffer activations = forward(weights);
	Buffer losses = compute_loss(activations);

	sum<<<grid(nr_losses), 256>>>(losses.data(), nr_losses, mean.get());
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	/* The mistake: the mean is all that anybody looks at later. */
	history.push_back(std::move(losses));
}

/* Everything is gone when it returns, however it does. */
static void train(size_t &step)
{
	Buffer weights = Buffer::allocate(device, nr_weights);
	std::vector<Buffer> history;
	ManagedNumber mean;

	for (; step < nr_epochs * steps_per_epoch; step++) {
		vs_step(step);
		train_step(weights, history, mean);
	}
}

int main()
{
	size_t free_bytes, total, step = 0;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	/* Weights and activations are 40; so it is full after some 50 steps, in a seventh epoch. */
	nr_losses = free_bytes / 88 / (2 * MIB) * (2 * MIB) / sizeof(float);
	nr_activations = 8 * nr_losses;
	nr_weights = 32 * nr_losses;
	try {
		train(step);
	} catch (const std::bad_alloc &) {
		fprintf(stderr, "out of memory in epoch %zu\n", step / steps_per_epoch);
		/* A step has its activations when it asks for the loss: this is what fails first. */
		printf("failed_step=%zu\nwanted=%zu\n", step, nr_losses * sizeof(float));
		printf("retained_per_step=%zu\n", nr_losses * sizeof(float));
		book_print(&device);
		book_print(&managed);
		printf("ooms=1\n");
		return 3;
	}
	fprintf(stderr, "that should not have fitted\n");
	return 1;
}
