/*
 * Memory is full but not used: a cache that keeps what it once took, in bins by size. A pipeline
 * tried frames of several sizes and settled on the smallest; the bins of the others stay full, and
 * a library beside it finds no room for its workspace.
 */
#include <map>
#include <vector>

#include "device_buffer.cuh"

constexpr int nr_frames = 16; /* in flight */

static struct book device = {"device"}, blocks = {"pool.frames"};

/* Memory comes from cudaMalloc and goes, when it is freed, into the bin of its size for good. */
class BinnedCache {
public:
	void *allocate(size_t size)
	{
		std::vector<void *> &bin = bins_[size];
		void *memory;

		if (bin.empty()) {
			memory = device_alloc(&device, size);
			if (!memory)
				throw std::bad_alloc();
			held_ += size;
		} else {
			memory = bin.back();
			bin.pop_back();
		}
		book_alloc(&blocks, size);
		vs_pool_alloc(pool_, memory, size);
		return memory;
	}

	void release(void *memory, size_t size)
	{
		vs_pool_free(pool_, memory);
		book_free(&blocks, size);
		bins_[size].push_back(memory);
	}

	void print() const
	{
		printf("reserved=%zu\nused=%zu\nunused=%zu\n", held_, blocks.live,
		       held_ - blocks.live);
	}

private:
	vs_pool pool_ = vs_pool_create("frames", 0, 0);
	std::map<size_t, std::vector<void *>> bins_;
	size_t held_ = 0;
};

static BinnedCache cache;

class Frame {
public:
	static Frame allocate(size_t size)
	{
		return Frame(cache.allocate(size), size);
	}

	Frame(Frame &&other) noexcept
		: data_(std::exchange(other.data_, nullptr)), size_(other.size_)
	{
	}

	Frame(const Frame &) = delete;
	Frame &operator=(const Frame &) = delete;

	~Frame()
	{
		if (data_)
			cache.release(data_, size_);
	}

	unsigned char *data() const
	{
		return static_cast<unsigned char *>(data_);
	}

private:
	Frame(void *data, size_t size) : data_(data), size_(size)
	{
	}

	void *data_;
	size_t size_;
};

__global__ void blur(unsigned char *frame, size_t size)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i + 1 < size)
		frame[i] = static_cast<unsigned char>((frame[i] + frame[i + 1]) / 2);
}

/* All frames of one size, each on one of two streams. */
static std::vector<Frame> process(size_t size, const cudaStream_t streams[2])
{
	std::vector<Frame> frames;

	for (int i = 0; i < nr_frames; i++) {
		frames.push_back(Frame::allocate(size));
		blur<<<grid(size), 256, 0, streams[i % 2]>>>(frames.back().data(), size);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaStreamSynchronize(streams[0]));
	CHECK(cudaStreamSynchronize(streams[1]));
	return frames;
}

/* A library knows nothing of the cache. */
static DeviceBuffer<float> plan_transform(size_t size)
{
	return DeviceBuffer<float>::allocate(device, size / sizeof(float));
}

/* Whether the library found room. */
static bool run(size_t unit, size_t wanted, const cudaStream_t streams[2])
{
	for (size_t size = 8 * unit; size > unit; size /= 2)
		process(size, streams);
	/* From here on one part in fifteen is used of what the cache holds. */
	std::vector<Frame> frames = process(unit, streams);

	try {
		plan_transform(wanted);
	} catch (const std::bad_alloc &) {
		cache.print();
		return false;
	}
	return true;
}

int main()
{
	size_t free_bytes, total, wanted;
	cudaStream_t streams[2];

	CHECK(cudaStreamCreate(&streams[0]));
	CHECK(cudaStreamCreate(&streams[1]));
	CHECK(cudaMemGetInfo(&free_bytes, &total));
	wanted = free_bytes / 2 / MIB * MIB;
	/* Frames of 1, 2, 4 and 8 units: three quarters of the device, or a little less. */
	if (run(free_bytes / (20 * nr_frames) / (2 * MIB) * (2 * MIB), wanted, streams)) {
		fprintf(stderr, "that should not have fitted\n");
		return 1;
	}
	printf("wanted=%zu\n", wanted);
	book_print(&device);
	book_print(&blocks);
	printf("ooms=1\n");
	return 3;
}
