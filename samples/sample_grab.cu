/*
 * Takes nearly everything at the start and needs little of it: an inference engine with an arena,
 * sized by what is free and not by what its network needs.
 */
#include <vector>

#include "device_buffer.cuh"

constexpr int nr_layers = 12, nr_requests = 20;
constexpr size_t weights_size = 16 * MIB, activation_size = 24 * MIB;

static struct book device = {"device"}, pinned = {"pinned"}, blocks = {"pool.arena"};

/* One piece of memory, given out from its start on and taken back from its end. */
class Arena {
public:
	explicit Arena(size_t size)
		: pool_(vs_pool_create("arena", 0, size)),
		  memory_(DeviceBuffer<char>::allocate(device, size))
	{
	}

	Arena(const Arena &) = delete;
	Arena &operator=(const Arena &) = delete;

	~Arena()
	{
		rewind(0);
	}

	void *allocate(size_t size)
	{
		char *address = memory_.data() + used_;

		if (size > memory_.count() - used_)
			throw std::bad_alloc();
		used_ += size;
		sizes_.push_back(size);
		book_alloc(&blocks, size);
		vs_pool_alloc(pool_, address, size);
		return address;
	}

	size_t mark() const
	{
		return sizes_.size();
	}

	/* Takes back all that was given out since the mark. */
	void rewind(size_t mark)
	{
		while (sizes_.size() > mark) {
			used_ -= sizes_.back();
			vs_pool_free(pool_, memory_.data() + used_);
			book_free(&blocks, sizes_.back());
			sizes_.pop_back();
		}
	}

private:
	vs_pool pool_;
	DeviceBuffer<char> memory_;
	std::vector<size_t> sizes_;
	size_t used_ = 0;
};

__global__ void apply_layer(const float *weights, const float *in, float *out, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		out[i] = in[i] * weights[i % (weights_size / sizeof(float))];
}

static float *load_weights(Arena &arena)
{
	return static_cast<float *>(arena.allocate(weights_size));
}

static float *make_activation(Arena &arena)
{
	return static_cast<float *>(arena.allocate(activation_size));
}

/* A request needs two activations at a time, whatever the number of layers. */
static void answer(Arena &arena, const std::vector<float *> &weights, const float *host)
{
	size_t mark = arena.mark(), n = activation_size / sizeof(float);
	float *in = make_activation(arena), *out = make_activation(arena);

	CHECK(cudaMemcpyAsync(in, host, activation_size, cudaMemcpyHostToDevice));
	for (float *layer : weights) {
		apply_layer<<<grid(n), 256>>>(layer, in, out, n);
		CHECK(cudaGetLastError());
		std::swap(in, out);
	}
	CHECK(cudaDeviceSynchronize());
	arena.rewind(mark);
}

static void serve(size_t arena_size, const float *host)
{
	Arena arena(arena_size);
	std::vector<float *> weights;

	for (int i = 0; i < nr_layers; i++)
		weights.push_back(load_weights(arena));
	for (int i = 0; i < nr_requests; i++)
		answer(arena, weights, host);
}

int main()
{
	size_t free_bytes, total;
	float *host;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	CHECK(cudaMallocHost(&host, activation_size));
	book_alloc(&pinned, activation_size);
	serve(free_bytes / 10 * 9 / MIB * MIB, host);
	CHECK(cudaFreeHost(host));
	book_free(&pinned, activation_size);
	book_print(&device);
	book_print(&pinned);
	book_print(&blocks);
	printf("ooms=0\n");
	return 0;
}
