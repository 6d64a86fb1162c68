#ifndef VS_POPULATE_H
#define VS_POPULATE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Linux 5.14. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Has the kernel give the process all pages of some memory that is soon used anyway, as far as it
 * can. Page by page takes longer; and what is read before it is written takes much longer: the page
 * of zeros that the kernel lends for that has to be taken away from all processors on which the
 * program runs.
 */
static inline void vs_populate(const void *memory, size_t size)
{
	const uintptr_t page = 4096; /* where they are larger, this is refused, or has no effect */
	uintptr_t start = ((uintptr_t)memory + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
	int saved = errno;

	if (start < end)
		(void)madvise((void *)start, end - start, MADV_POPULATE_WRITE);
	errno = saved;
}

#endif
