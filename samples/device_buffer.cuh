#ifndef VS_DEVICE_BUFFER_CUH
#define VS_DEVICE_BUFFER_CUH

/* What the samples in C++ share: memory and phases with the lifetime of an object. */
#include <new>
#include <utility>

#include "sample.h"
#include "vramscope.h"

/* An array on the device. */
template <typename T> class DeviceBuffer {
public:
	/* Throws std::bad_alloc, as operator new does, when the device is full. */
	static DeviceBuffer allocate(struct book &book, size_t count)
	{
		void *data = device_alloc(&book, count * sizeof(T));

		if (!data)
			throw std::bad_alloc();
		return DeviceBuffer(book, static_cast<T *>(data), count);
	}

	DeviceBuffer(DeviceBuffer &&other) noexcept
		: book_(other.book_), data_(std::exchange(other.data_, nullptr)),
		  count_(other.count_)
	{
	}

	DeviceBuffer(const DeviceBuffer &) = delete;
	DeviceBuffer &operator=(const DeviceBuffer &) = delete;

	~DeviceBuffer()
	{
		if (data_)
			device_free(book_, data_, count_ * sizeof(T));
	}

	T *data() const
	{
		return data_;
	}

	size_t count() const
	{
		return count_;
	}

private:
	DeviceBuffer(struct book &book, T *data, size_t count)
		: book_(&book), data_(data), count_(count)
	{
	}

	struct book *book_;
	T *data_;
	size_t count_;
};

/* What the program does while this lives. */
class Phase {
public:
	explicit Phase(const char *name)
	{
		vs_phase_push(name);
	}

	Phase(const Phase &) = delete;
	Phase &operator=(const Phase &) = delete;

	~Phase()
	{
		vs_phase_pop();
	}
};

/* Blocks of 256 threads for n elements. */
inline unsigned grid(size_t n)
{
	return static_cast<unsigned>((n + 255) / 256);
}

#endif
