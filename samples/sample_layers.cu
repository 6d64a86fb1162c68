/*
 * Says what it is doing, and fails where nobody looks for it: forward and backward of the first
 * steps fit, because gradients are only added up in them; the optimizer makes its moments when it
 * is first called, and these are twice the weights.
 */
#include <optional>
#include <vector>

#include "device_buffer.cuh"

constexpr int nr_layers = 8;
constexpr size_t steps_per_update = 4, nr_steps = 16;

static struct book device = {"device"}, async = {"async"};

using Buffer = DeviceBuffer<float>;

/* Memory in the order of a stream: there from here on, and free for the stream's next request. */
class StreamBuffer {
public:
	static StreamBuffer allocate(size_t count, cudaStream_t stream)
	{
		float *data;

		CHECK(cudaMallocAsync(&data, count * sizeof(float), stream));
		book_alloc(&async, count * sizeof(float));
		return StreamBuffer(data, count, stream);
	}

	StreamBuffer(StreamBuffer &&other) noexcept
		: data_(std::exchange(other.data_, nullptr)), count_(other.count_),
		  stream_(other.stream_)
	{
	}

	StreamBuffer(const StreamBuffer &) = delete;
	StreamBuffer &operator=(const StreamBuffer &) = delete;

	~StreamBuffer()
	{
		if (!data_)
			return;
		CHECK(cudaFreeAsync(data_, stream_));
		book_free(&async, count_ * sizeof(float));
	}

	float *data() const
	{
		return data_;
	}

private:
	StreamBuffer(float *data, size_t count, cudaStream_t stream)
		: data_(data), count_(count), stream_(stream)
	{
	}

	float *data_;
	size_t count_;
	cudaStream_t stream_;
};

__global__ void apply_layer(const float *weights, float *activations, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		activations[i] = weights[2 * i] + weights[2 * i + 1];
}

__global__ void add_gradients(const float *activations, float *gradients, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		gradients[2 * i] += activations[i];
}

__global__ void update(float *weights, float *gradients, float *mean, float *variance, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i >= n)
		return;
	mean[i] += 0.1f * (gradients[i] - mean[i]);
	variance[i] += 0.01f * (gradients[i] * gradients[i] - variance[i]);
	weights[i] -= mean[i] * rsqrtf(variance[i] + 1e-8f);
	gradients[i] = 0;
}

class Layer {
public:
	explicit Layer(size_t nr_weights)
		: weights_(Buffer::allocate(device, nr_weights)), gradients_(make_gradients())
	{
	}

	StreamBuffer forward(cudaStream_t stream) const
	{
		size_t n = weights_.count() / 2;
		StreamBuffer activations = StreamBuffer::allocate(n, stream);

		apply_layer<<<grid(n), 256, 0, stream>>>(weights_.data(), activations.data(), n);
		return activations;
	}

	void backward(const StreamBuffer &activations, cudaStream_t stream) const
	{
		size_t n = weights_.count() / 2;

		add_gradients<<<grid(n), 256, 0, stream>>>(activations.data(), gradients_.data(),
							   n);
	}

	/* The first call makes the moments. */
	void optimize(cudaStream_t stream)
	{
		size_t n = weights_.count();

		if (!mean_)
			mean_.emplace(make_moment());
		if (!variance_)
			variance_.emplace(make_moment());
		update<<<grid(n), 256, 0, stream>>>(weights_.data(), gradients_.data(),
						    mean_->data(), variance_->data(), n);
	}

private:
	Buffer make_gradients() const
	{
		return Buffer::allocate(device, weights_.count());
	}

	Buffer make_moment() const
	{
		return Buffer::allocate(device, weights_.count());
	}

	Buffer weights_, gradients_;
	std::optional<Buffer> mean_, variance_;
};

static std::vector<Layer> build_model(size_t nr_weights)
{
	Phase init("init");
	std::vector<Layer> model;

	for (int i = 0; i < nr_layers; i++)
		model.push_back(Layer(nr_weights));
	return model;
}

static void train_step(std::vector<Layer> &model, size_t step, cudaStream_t stream)
{
	std::vector<StreamBuffer> activations;

	vs_step(step);
	{
		Phase forward("forward");

		for (const Layer &layer : model)
			activations.push_back(layer.forward(stream));
	}
	{
		Phase backward("backward");

		for (size_t i = model.size(); i-- > 0; activations.pop_back())
			model[i].backward(activations[i], stream);
		CHECK(cudaStreamSynchronize(stream));
	}
	if ((step + 1) % steps_per_update == 0) {
		Phase optimizer("optimizer");

		for (Layer &layer : model)
			layer.optimize(stream);
	}
	CHECK(cudaGetLastError());
}

/* Everything is gone when it returns, however it does. */
static void train(size_t nr_weights, size_t &step, cudaStream_t stream)
{
	std::vector<Layer> model = build_model(nr_weights);

	for (; step < nr_steps; step++)
		train_step(model, step, stream);
}

int main()
{
	size_t free_bytes, total, nr_weights, step = 0;
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMemGetInfo(&free_bytes, &total));
	/* Of 28, weights and gradients take 16, activations 4 more for a while; all moments are 16. */
	nr_weights = free_bytes / 28 / (2 * MIB) * (2 * MIB) / sizeof(float);
	try {
		train(nr_weights, step, stream);
		fprintf(stderr, "that should not have fitted\n");
		return 1;
	} catch (const std::bad_alloc &) {
		printf("failed_step=%zu\nfailed_phase=optimizer\n", step);
	}
	CHECK(cudaStreamDestroy(stream));
	printf("wanted=%zu\n", nr_weights * sizeof(float));
	book_print(&device);
	book_print(&async);
	printf("ooms=1\n");
	return 3;
}
