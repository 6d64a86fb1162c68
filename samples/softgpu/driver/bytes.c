#include "bytes.h"
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE        (64 * SG_KIB) /* from here on it pays to give memory back when clearing */
#define HOST_PAGE    4096
#define LONGEST_STEP (2 * SG_MIB)   /* of a copy, between two looks for holes */
#define KEEP_AT_MOST (128 * SG_MIB) /* with the zero backing, on one device */
#define CHECK_EVERY  1024           /* small writes between two looks at that */

/* One end of a copy: a stretch of bytes that is all alike. */
struct end {
	struct sg_span span;
	bool is_known; /* CUDA memory; else the program's own */
};

static bool keeps_everything(const struct end *end)
{
	return !end->is_known || end->span.is_host || sg_config_get()->backing == SG_BACKING_EXACT;
}

/* Whether all bytes there are known to be zero because nothing was ever written. */
static bool is_untouched(const struct end *end)
{
	return end->is_known && end->span.run && !end->span.is_host &&
	       !atomic_load_explicit(&end->span.run->is_written, memory_order_relaxed);
}

static void resolve(uint64_t address, uint64_t size, bool is_write, struct end *end)
{
	struct sg_block *next;

	end->is_known = sg_memory_get_span(address, size, is_write, &end->span);
	if (end->is_known)
		return;
	sg_memory_lock();
	next = sg_memory_find_from(address);
	if (next && next->node.base > address && next->node.base - address < size)
		size = next->node.base - address;
	sg_memory_unlock();
	end->span = (struct sg_span){
		.bytes = (char *)(uintptr_t)address, .size = size, .place = {.fd = -1}};
}

/* Whether nothing in the range is, or was, given out by CUDA. */
static bool is_programs_own(uint64_t address, uint64_t end)
{
	struct sg_block *block;
	bool is_own;

	sg_memory_lock();
	block = sg_memory_find_from(address);
	is_own = (!block || block->node.base >= end) && !sg_memory_is_ours(address);
	sg_memory_unlock();
	return is_own;
}

/* A range lies in CUDA's memory or outside; what begins in one and ends in the other is an error.
 */
bool sg_bytes_check(uint64_t address, uint64_t size, enum sg_bytes_side side, bool is_write)
{
	struct sg_span span;
	uint64_t end;

	if (!size)
		return true;
	if (!address || __builtin_add_overflow(address, size, &end))
		return false;
	if (side != SG_BYTES_DEVICE && is_programs_own(address, end))
		return true;
	while (address < end) {
		if (!sg_memory_get_span(address, end - address, is_write, &span) ||
		    (side == SG_BYTES_HOST && !span.is_host))
			return false;
		address += span.size;
	}
	return true;
}

/*
 * With the zero backing, small writes may pile up. Past the limit all of them are forgotten: the
 * device reads as zero again.
 */
static void limit_kept(const struct sg_span *span)
{
	_Atomic unsigned *nr_kept = &span->run->space->nr_kept;
	uint64_t offset, size;
	struct stat st;

	/* Each space counts for itself: one that is looked at must not hide another that grows. */
	if ((atomic_fetch_add_explicit(nr_kept, 1, memory_order_relaxed) + 1) % CHECK_EVERY)
		return;
	if (span->place.fd < 0 || fstat(span->place.fd, &st) < 0)
		return;
	sg_memory_lock();
	sg_space_get_extent_of_file(span->run, &offset, &size);
	sg_memory_unlock();
	if ((uint64_t)st.st_blocks * 512 > KEEP_AT_MOST &&
	    fallocate(span->place.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		      (off_t)size) < 0)
		return;
}

/* Whether nothing was ever written at a place of a file. To read it or to clear it would fill it.
 */
static bool is_hole(struct sg_arena_place place, uint64_t size)
{
	int saved = errno;
	off_t data = lseek(place.fd, (off_t)place.offset, SEEK_DATA);

	errno = saved;
	return data < 0 || (uint64_t)data >= place.offset + size;
}

/*
 * Clear the pages that hold something, and no other: of rows that lie across pages, each would fill
 * the page that the next one begins in.
 */
static void clear_data(const struct end *target, uint64_t size)
{
	uint64_t begin = target->span.place.offset, done = 0;

	while (done < size) {
		off_t data = lseek(target->span.place.fd, (off_t)(begin + done), SEEK_DATA);
		uint64_t end;

		if (data < 0 || (uint64_t)data >= begin + size)
			return;
		done = (uint64_t)data - begin;
		end = done + HOST_PAGE - (uint64_t)data % HOST_PAGE;
		if (end > size)
			end = size;
		memset(target->span.bytes + done, 0, end - done);
		done = end;
	}
}

static void clear(const struct end *target, uint64_t size)
{
	if (is_untouched(target))
		return;
	if (target->span.place.fd < 0)
		memset(target->span.bytes, 0, size);
	else if (size >= LARGE)
		sg_arena_discard(target->span.place, (uintptr_t)target->span.bytes, size);
	else
		clear_data(target, size);
}

static void mark_written(const struct end *target)
{
	if (target->is_known && target->span.run)
		atomic_store_explicit(&target->span.run->is_written, true, memory_order_relaxed);
}

/*
 * Bring bytes of a file to the target, without reading holes: that would fill them. Where data
 * begins can be asked cheaply. Where it ends cannot (SEEK_HOLE looks at every page of it), so ever
 * longer steps are taken while data follows data: of the hole behind it, no more is filled than
 * there was data.
 */
static void copy_from_file(const struct end *target, const struct end *source, uint64_t size)
{
	uint64_t begin = source->span.place.offset, step = HOST_PAGE, done = 0;

	while (done < size) {
		struct end part = *target;
		off_t data = lseek(source->span.place.fd, (off_t)(begin + done), SEEK_DATA);
		uint64_t gap, length;

		if (data < 0 || (uint64_t)data >= begin + size)
			data = (off_t)(begin + size); /* nothing but a hole (ENXIO) */
		gap = (uint64_t)data - begin - done;
		if (gap) {
			part.span.bytes += done;
			part.span.place.offset += done;
			clear(&part, gap);
			done += gap;
			step = HOST_PAGE;
			continue;
		}
		mark_written(target);
		length = step - (begin + done) % HOST_PAGE;
		if (length > size - done)
			length = size - done;
		memmove(target->span.bytes + done, source->span.bytes + done, length);
		done += length;
		if (step < LONGEST_STEP)
			step *= 2;
	}
}

static bool is_in_one_page(struct sg_arena_place place, uint64_t size)
{
	return place.offset % HOST_PAGE + size <= HOST_PAGE;
}

/*
 * A single byte that goes from the device to the program is a yes or no that a kernel should have
 * written: whether all is valid, or done. Nobody knows which; the user may.
 */
static void answer_bool(const struct end *target, const struct end *source, uint64_t total)
{
	if (total == 1 && keeps_everything(target) && !keeps_everything(source) &&
	    sg_truth_get_byte()) {
		mark_written(target);
		*target->span.bytes = 1;
	}
}

/* total: size of the whole copy this is a part of. */
static void copy_part(const struct end *target, const struct end *source, uint64_t size,
		      uint64_t total)
{
	bool has_file = source->is_known && source->span.place.fd >= 0;
	bool keeps = keeps_everything(target);
	int saved = errno;

	if (!keeps && total > sg_config_get()->exact_below) {
		clear(target, size);
	} else if (is_untouched(source)) {
		clear(target, size);
		answer_bool(target, source, total);
	} else if (has_file && !is_in_one_page(source->span.place, size)) {
		copy_from_file(target, source, size);
	} else if (has_file && is_hole(source->span.place, size)) {
		clear(target, size);
		answer_bool(target, source, total);
	} else {
		mark_written(target);
		memmove(target->span.bytes, source->span.bytes, size);
	}
	if (!keeps && total <= sg_config_get()->exact_below)
		limit_kept(&target->span);
	errno = saved;
}

static void copy_range(uint64_t target, uint64_t source, uint64_t size, uint64_t total)
{
	while (size) {
		struct end to, from;
		uint64_t part;

		resolve(target, size, true, &to);
		resolve(source, size, false, &from);
		part = to.span.size < from.span.size ? to.span.size : from.span.size;
		copy_part(&to, &from, part, total);
		target += part;
		source += part;
		size -= part;
	}
}

void sg_bytes_copy(uint64_t target, uint64_t source, uint64_t size)
{
	copy_range(target, source, size, size);
}

void sg_bytes_copy_rows(uint64_t target, uint64_t target_pitch, uint64_t source,
			uint64_t source_pitch, uint64_t width, uint64_t nr_rows, uint64_t total)
{
	for (uint64_t row = 0; row < nr_rows; row++)
		copy_range(target + row * target_pitch, source + row * source_pitch, width, total);
}

/* first: how many bytes of a value were written before these. */
static void write_pattern(char *bytes, uint32_t value, unsigned value_size, uint64_t first,
			  uint64_t size)
{
	if (value_size == 1) {
		memset(bytes, (int)(value & 0xff), size);
		return;
	}
	/* Two blocks may meet in the middle of a value. */
	if (first % value_size || size % value_size) {
		for (uint64_t i = 0; i < size; i++)
			bytes[i] = (char)(value >> ((first + i) % value_size * 8));
		return;
	}
	for (uint64_t i = 0; i < size; i += value_size) {
		if (value_size == 2)
			memcpy(bytes + i, &(uint16_t){(uint16_t)value}, 2);
		else
			memcpy(bytes + i, &value, 4);
	}
}

static void fill_range(uint64_t target, uint32_t value, unsigned value_size, uint64_t size,
		       uint64_t total)
{
	int saved = errno;

	for (uint64_t done = 0; done < size;) {
		struct end to;
		bool keeps;

		resolve(target + done, size - done, true, &to);
		keeps = keeps_everything(&to);
		if (!value || (!keeps && total > sg_config_get()->exact_below)) {
			clear(&to, to.span.size);
		} else {
			mark_written(&to);
			write_pattern(to.span.bytes, value, value_size, done, to.span.size);
			if (!keeps)
				limit_kept(&to.span);
		}
		done += to.span.size;
	}
	errno = saved;
}

void sg_bytes_fill(uint64_t target, uint32_t value, unsigned value_size, uint64_t count)
{
	fill_range(target, value, value_size, count * value_size, count * value_size);
}

void sg_bytes_fill_rows(uint64_t target, uint64_t pitch, uint32_t value, unsigned value_size,
			uint64_t width, uint64_t nr_rows)
{
	uint64_t size = width * value_size;

	for (uint64_t row = 0; row < nr_rows; row++)
		fill_range(target + row * pitch, value, value_size, size, size * nr_rows);
}
