/*
 * Runs out although enough is free: batches of sentences that differ in length, on an allocator
 * such as frameworks have. Each batch hands a small state to the next ones; it comes to lie behind
 * whatever was alive just then, and when that is gone it stands between two holes.
 */
#include <map>
#include <vector>

#include "device_buffer.cuh"

constexpr int nr_buckets = 3, nr_batches = 72;
constexpr size_t nr_tokens = 80; /* of the first bucket's sentences, at most */

static struct book device = {"device"}, blocks = {"pool.tensors"};

/*
 * Splits segments, first fit, joins what is freed, and keeps segments until cudaMalloc fails. Knows
 * the holes it had when it could not serve a request.
 */
class CachingAllocator {
public:
	size_t segment_size = 0; /* what it takes from cudaMalloc at a time, at least */

	void *allocate(size_t size)
	{
		char *address = take(size);

		if (!address && (grow(size) || (empty_cache() && grow(size))))
			address = take(size);
		if (!address) {
			note_failure(size);
			throw std::bad_alloc();
		}
		book_alloc(&blocks, size);
		vs_pool_alloc(pool_, address, size);
		return address;
	}

	void release(void *memory)
	{
		char *address = static_cast<char *>(memory);

		for (Segment &segment : segments_) {
			auto piece = segment.find(address);

			if (piece == segment.end())
				continue;
			vs_pool_free(pool_, memory);
			book_free(&blocks, piece->second.size);
			piece->second.is_used = false;
			join(segment, piece);
			return;
		}
	}

	void print_failure() const
	{
		printf("wanted=%zu\nhole_bytes=%zu\nlargest_hole_bytes=%zu\nholes=%d\n", wanted_,
		       hole_bytes_, largest_hole_, nr_holes_);
	}

private:
	struct Piece {
		size_t size;
		bool is_used;
	};
	using Segment = std::map<char *, Piece>;

	char *take(size_t size)
	{
		for (Segment &segment : segments_) {
			for (auto &[address, piece] : segment) {
				if (piece.is_used || piece.size < size)
					continue;
				if (piece.size > size)
					segment[address + size] = {piece.size - size, false};
				piece = {size, true};
				return address;
			}
		}
		return nullptr;
	}

	bool grow(size_t size)
	{
		size_t wanted = size > segment_size ? size : segment_size;
		char *memory = static_cast<char *>(device_alloc(&device, wanted));

		if (memory)
			segments_.push_back({{memory, {wanted, false}}});
		return memory;
	}

	static bool is_whole(const Segment &segment)
	{
		return segment.size() == 1 && !segment.begin()->second.is_used;
	}

	bool empty_cache()
	{
		size_t nr_before = segments_.size();

		for (size_t i = segments_.size(); i-- > 0;) {
			if (!is_whole(segments_[i]))
				continue;
			device_free(&device, segments_[i].begin()->first,
				    segments_[i].begin()->second.size);
			segments_.erase(segments_.begin() + static_cast<long>(i));
		}
		return segments_.size() < nr_before;
	}

	static void join(Segment &segment, Segment::iterator piece)
	{
		auto next = std::next(piece);

		if (next != segment.end() && !next->second.is_used) {
			piece->second.size += next->second.size;
			segment.erase(next);
		}
		if (piece != segment.begin() && !std::prev(piece)->second.is_used) {
			std::prev(piece)->second.size += piece->second.size;
			segment.erase(piece);
		}
	}

	void note_failure(size_t size)
	{
		vs_pool_oom(pool_, size);
		book_failed(&blocks);
		wanted_ = size;
		for (const Segment &segment : segments_) {
			for (const auto &[address, piece] : segment) {
				if (piece.is_used || is_whole(segment))
					continue;
				hole_bytes_ += piece.size;
				nr_holes_++;
				if (piece.size > largest_hole_)
					largest_hole_ = piece.size;
			}
		}
	}

	vs_pool pool_ = vs_pool_create("tensors", 0, 0);
	std::vector<Segment> segments_;
	size_t wanted_ = 0, hole_bytes_ = 0, largest_hole_ = 0;
	int nr_holes_ = 0;
};

static CachingAllocator allocator;

class Tensor {
public:
	static Tensor allocate(size_t size)
	{
		return Tensor(allocator.allocate(size));
	}

	Tensor(Tensor &&other) noexcept : data_(std::exchange(other.data_, nullptr))
	{
	}

	Tensor(const Tensor &) = delete;
	Tensor &operator=(const Tensor &) = delete;

	~Tensor()
	{
		if (data_)
			allocator.release(data_);
	}

	float *data() const
	{
		return static_cast<float *>(data_);
	}

private:
	explicit Tensor(void *data) : data_(data)
	{
	}

	void *data_;
};

__global__ void embed(float *hidden, size_t n)
{
	size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;

	if (i < n)
		hidden[i] = float(i % 64);
}

/* Tokens of the longest sentence of a batch; those of one bucket are about the same. */
static size_t sentence_length(int bucket, int batch)
{
	return (nr_tokens << bucket) - (unsigned(batch) * 2654435761u >> 16) % 20;
}

static Tensor load_batch(size_t tokens, cudaStream_t stream)
{
	/* Eight of the first bucket, with their states, fill a segment. */
	size_t n = tokens * (allocator.segment_size / 9 / nr_tokens / sizeof(float));
	Tensor batch = Tensor::allocate(n * sizeof(float));

	embed<<<grid(n), 256, 0, stream>>>(batch.data(), n);
	CHECK(cudaGetLastError());
	return batch;
}

/* What the rest of the epoch needs to know of a batch. */
static Tensor keep_state()
{
	return Tensor::allocate(allocator.segment_size / 128);
}

/* All batches of a bucket at once: the longer they are, the fewer. */
static void train_bucket(int bucket, std::vector<Tensor> &states, cudaStream_t stream)
{
	std::vector<Tensor> batches;

	for (int i = 0; i < nr_batches >> bucket; i++) {
		batches.push_back(load_batch(sentence_length(bucket, i), stream));
		states.push_back(keep_state());
	}
	CHECK(cudaStreamSynchronize(stream));
}

/* Every tensor is gone when it returns, however it does. */
static void train_epoch(int &bucket, cudaStream_t stream)
{
	Tensor weights = Tensor::allocate(2 * allocator.segment_size);
	std::vector<Tensor> states;

	for (; bucket < nr_buckets; bucket++) {
		vs_step(uint64_t(bucket));
		train_bucket(bucket, states, stream);
	}
}

int main()
{
	size_t free_bytes, total;
	cudaStream_t stream;
	int bucket = 0;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMemGetInfo(&free_bytes, &total));
	/* Two for the weights, nine for the first bucket, and then the device is full. */
	allocator.segment_size = free_bytes / 11 / (2 * MIB) * (2 * MIB);
	try {
		train_epoch(bucket, stream);
		fprintf(stderr, "that should not have fitted\n");
		return 1;
	} catch (const std::bad_alloc &) {
		printf("failed_step=%d\n", bucket);
	}
	CHECK(cudaStreamDestroy(stream));
	allocator.print_failure();
	book_print(&device);
	book_print(&blocks);
	printf("ooms=1\n");
	return 3;
}
