#include "unwind_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* No page is smaller; asking twice about a larger one does no harm. */
#define PAGE_SIZE 4096u

/* So much of a thread's own stack is asked about at once. One that is deeper is not taken for it.
 */
#define OWN_MAX (16u << 20)

/* A frame larger than this is taken for a change of stacks. */
#define GAP_MAX (1u << 20)

/* Top of the first thread's stack; the loader's, in no header. */
extern void *__libc_stack_end;

static uintptr_t get_page(uintptr_t address)
{
	return address & ~(uintptr_t)(PAGE_SIZE - 1);
}

/*
 * The kernel reads the set before it looks at what to do with it, which is nonsense: EFAULT or
 * EINVAL. Unlike process_vm_readv, this call is never forbidden to a program that has a libc. Any
 * other answer is taken for a no.
 */
static bool is_page_readable(uintptr_t page)
{
	const size_t set_size = 8; /* as the kernel counts */
	int saved = errno;
	bool is_readable;

	is_readable = syscall(SYS_rt_sigprocmask, ~0, page, NULL, set_size) < 0 && errno == EINVAL;
	errno = saved;
	return is_readable;
}

/* The first page from start on that cannot be read; end if there is none before it. */
static uintptr_t find_hole(uintptr_t start, uintptr_t end)
{
	uintptr_t page = get_page(start);

	while (page < end && is_page_readable(page))
		page += PAGE_SIZE;
	return page < end ? page : end;
}

bool vs_unwind_memory_is_readable(uintptr_t address, uintptr_t size)
{
	uintptr_t end = address + size;

	return end >= address && end <= UINTPTR_MAX - PAGE_SIZE && find_hole(address, end) == end;
}

static void set_window(struct vs_unwind_window *window, uintptr_t start, uintptr_t end)
{
	window->start = start;
	window->size = end - start - (sizeof(uint64_t) - 1);
}

static uintptr_t get_end(const struct vs_unwind_window *window)
{
	return window->size ? window->start + window->size + (sizeof(uint64_t) - 1) : 0;
}

/*
 * Whether all from address up to where the own stack is known to be can be read: then it is a part
 * of it. A stack of somebody else's is not adjoined, or it would be of no use as a stack.
 */
static bool reaches(struct vs_unwind_own_stack *own, uintptr_t address, uintptr_t anchor)
{
	uintptr_t hole;

	if (address >= anchor || anchor - address > OWN_MAX || address < own->barrier)
		return false;
	hole = find_hole(address, anchor);
	if (hole == anchor)
		return true;
	own->barrier = hole;
	return false;
}

/*
 * The own stack ends where libc's description of the thread lies, which it puts at the top of the
 * stack; the first thread's ends where the kernel put the arguments of the program.
 */
static bool open_own(struct vs_unwind_own_stack *own, uintptr_t address)
{
	uintptr_t anchors[] = {(uintptr_t)pthread_self(), (uintptr_t)__libc_stack_end};

	if (own->window.size) {
		if (!reaches(own, address, own->window.start))
			return false;
		set_window(&own->window, get_page(address), get_end(&own->window));
		return true;
	}
	for (unsigned i = 0; i < sizeof(anchors) / sizeof(anchors[0]); i++) {
		if (!reaches(own, address, anchors[i]))
			continue;
		set_window(&own->window, get_page(address), anchors[i] & ~(uintptr_t)7);
		return vs_unwind_memory_has(&own->window, address);
	}
	return false;
}

bool vs_unwind_memory_open(struct vs_unwind_own_stack *own, struct vs_unwind_window *window,
			   uintptr_t address)
{
	uintptr_t start = get_page(address), end, known = get_end(window);

	if (vs_unwind_memory_has(window, address))
		return true;
	if (vs_unwind_memory_has(&own->window, address) || open_own(own, address)) {
		*window = own->window;
		return true;
	}
	if (address > UINTPTR_MAX - 2 * PAGE_SIZE)
		return false;
	end = get_page(address + sizeof(uint64_t) - 1) + PAGE_SIZE;
	/* Upwards on the same stack: frames are larger than pages at times. */
	if (known && address >= window->start && start <= known + GAP_MAX &&
	    find_hole(known, end) == end) {
		set_window(window, window->start, end);
		return true;
	}
	if (find_hole(start, end) != end)
		return false;
	set_window(window, start, end);
	return true;
}
