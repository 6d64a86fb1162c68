// Drives the allocators of a TensorFlow wheel, and has them tell what they look like: an oracle for
// the chunks in a trace.
//
// usage: bfc_storm driver|host SEED
//
// Random requests go to tsl::BFCAllocator and tensorflow::GPUBFCAllocator, made in the ways TensorFlow
// makes them: growing, all at once, with a limit that is reached, with regions that are given back, and by
// several threads. Their memory is the driver's (libcuda, as TensorFlow opens it), or the host's own. Now
// and then, when nothing is under way, RecordMemoryMap() is printed, and a mark is left in the trace:
//
//   map N NAME                        the mark is "map N"
//   chunk ADDRESS SIZE REQUESTED IN_USE
//
// BFC never touches the memory it divides.
#if __has_include("xla/tsl/framework/bfc_allocator.h")
#include "xla/tsl/framework/bfc_allocator.h"
#else
#include "tsl/framework/bfc_allocator.h"
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.h"
#include "tensorflow/core/protobuf/bfc_memory_map.pb.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// ---- Memory ------------------------------------------------------------------------------------

using Address = unsigned long long;

struct Driver {
	int (*alloc)(Address *, size_t);
	int (*free)(Address);
	int (*set_current)(void *);
	void *context;
};

Driver driver;
bool is_host;

void *Look(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "no %s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

void OpenDriver()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	auto init = reinterpret_cast<int (*)(unsigned)>(Look(library, "cuInit"));
	auto retain = reinterpret_cast<int (*)(void **, int)>(
		Look(library, "cuDevicePrimaryCtxRetain"));
	driver.set_current = reinterpret_cast<int (*)(void *)>(Look(library, "cuCtxSetCurrent"));
	driver.alloc = reinterpret_cast<int (*)(Address *, size_t)>(Look(library, "cuMemAlloc_v2"));
	driver.free = reinterpret_cast<int (*)(Address)>(Look(library, "cuMemFree_v2"));
	if (init(0) || retain(&driver.context, 0)) {
		fprintf(stderr, "the driver does not start\n");
		exit(1);
	}
}

class Memory : public tsl::SubAllocator {
    public:
	Memory() : tsl::SubAllocator({}, {})
	{
	}
	void *Alloc(size_t alignment, size_t size, size_t *received) override
	{
		Address address = 0;

		*received = size;
		if (is_host)
			return aligned_alloc(4096, (size + 4095) / 4096 * 4096);
		driver.set_current(driver.context);
		return driver.alloc(&address, size) ? nullptr : reinterpret_cast<void *>(address);
	}
	void Free(void *address, size_t size) override
	{
		if (is_host)
			free(address);
		else
			driver.free(reinterpret_cast<Address>(address));
	}
	bool SupportsCoalescing() const override
	{
		return false;
	}
	tsl::AllocatorMemoryType GetMemoryType() const override
	{
		return is_host ? tsl::AllocatorMemoryType::kHostPageable
			       : tsl::AllocatorMemoryType::kDevice;
	}
};

// ---- What is told ------------------------------------------------------------------------------

void Tell(tsl::BFCAllocator *allocator)
{
	static int nr;
	auto mark = reinterpret_cast<void (*)(const char *)>(dlsym(RTLD_DEFAULT, "vramscope_mark"));
	auto map = allocator->RecordMemoryMap();

	printf("map %d %s\n", nr, allocator->Name().c_str());
	for (const auto &chunk : map.chunk())
		printf("chunk %llu %llu %llu %d\n", static_cast<Address>(chunk.address()),
		       static_cast<Address>(chunk.size()),
		       chunk.in_use() ? static_cast<Address>(chunk.requested_size()) : 0,
		       chunk.in_use());
	if (mark)
		mark(("map " + std::to_string(nr)).c_str());
	nr++;
}

// ---- Requests ----------------------------------------------------------------------------------

class Storm {
    public:
	Storm(tsl::BFCAllocator *allocator, unsigned seed, size_t largest)
		: allocator_(allocator), random_(seed), largest_(largest)
	{
	}
	void Run(int nr)
	{
		for (int i = 0; i < nr; i++)
			if (live_.empty() || random_() % 100 < 55)
				Ask();
			else
				Free(random_() % live_.size());
	}
	void End()
	{
		while (!live_.empty())
			Free(live_.size() - 1);
	}

    private:
	void Ask()
	{
		// As many small ones as large ones, down to nothing.
		size_t size = random_() % (largest_ >> random_() % 20);
		// Who can do without does not wait.
		tsl::AllocationAttributes attributes(random_() % 4 == 0, false, nullptr);
		void *address = allocator_->AllocateRaw(64, size, attributes);

		if (address)
			live_.push_back(address);
	}
	void Free(size_t i)
	{
		allocator_->DeallocateRaw(live_[i]);
		live_[i] = live_.back();
		live_.pop_back();
	}

	tsl::BFCAllocator *allocator_;
	std::mt19937 random_;
	size_t largest_;
	std::vector<void *> live_;
};

void RunAlone(tsl::BFCAllocator *allocator, unsigned seed, size_t largest)
{
	Storm storm(allocator, seed, largest);

	for (int i = 0; i < 20; i++) {
		storm.Run(100);
		Tell(allocator);
	}
	storm.End();
	Tell(allocator);
}

void RunThreads(tsl::BFCAllocator *allocator, unsigned seed, size_t largest)
{
	std::vector<std::unique_ptr<Storm>> storms;

	for (unsigned i = 0; i < 4; i++)
		storms.push_back(std::make_unique<Storm>(allocator, seed + i, largest));
	for (int i = 0; i < 5; i++) {
		std::vector<std::thread> threads;

		for (auto &storm : storms)
			threads.emplace_back([&storm] { storm->Run(200); });
		for (auto &thread : threads)
			thread.join();
		Tell(allocator);
	}
	for (auto &storm : storms)
		storm->End();
	Tell(allocator);
}

void RunPlain(const char *name, bool can_grow, bool collects, size_t limit, unsigned seed)
{
	tsl::BFCAllocator::Options options;

	options.allow_growth = can_grow;
	options.allow_retry_on_failure = false; // nobody waits for memory that nobody frees
	options.garbage_collection = collects;
	tsl::BFCAllocator allocator(std::make_unique<Memory>(), limit, name, options);
	RunAlone(&allocator, seed, 16 * kMiB);
	RunThreads(&allocator, seed + 10, kMiB);
}

void RunGpu(const char *name, bool can_grow, size_t limit, unsigned seed)
{
	tensorflow::GPUBFCAllocator::Options options;

	options.allow_growth = can_grow;
	options.allow_retry_on_failure = false;
	tensorflow::GPUBFCAllocator allocator(std::make_unique<Memory>(), limit, name, options);
	RunAlone(&allocator, seed, 16 * kMiB);
	RunThreads(&allocator, seed + 10, kMiB);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[1], "driver") && strcmp(argv[1], "host"))) {
		fprintf(stderr, "usage: bfc_storm driver|host SEED\n");
		return 2;
	}
	unsigned seed = static_cast<unsigned>(atoi(argv[2]));

	is_host = !strcmp(argv[1], "host");
	if (!is_host)
		OpenDriver();
	RunPlain("growing_bfc", true, false, 512 * kMiB, seed);
	RunPlain("whole_bfc", false, false, 256 * kMiB, seed + 100);
	RunPlain("collecting_bfc", true, true, 48 * kMiB, seed + 200);
	// More than the device has: asks for less and less.
	if (!is_host)
		RunPlain("greedy_bfc", false, false, 2048 * kMiB, seed + 300);
	RunGpu("GPU_0_bfc", true, 256 * kMiB, seed + 400);
	RunGpu("GPU_0_bfc", false, 64 * kMiB, seed + 500);
	return 0;
}
