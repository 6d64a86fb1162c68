#include "private_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <zlib.h>

#include "imports.h"
#include "message.h"

#if defined(__x86_64__)
#define UNWIND_LOCAL "_ULx86_64_"
#define UNWIND_ALL   "_Ux86_64_"
#elif defined(__aarch64__)
#define UNWIND_LOCAL "_ULaarch64_"
#define UNWIND_ALL   "_Uaarch64_"
#endif

/* Written once by vs_private_library_open(). */
static struct vs_writer_zlib zlib;
static struct vs_private_library_unwind unwind;

/* ISO C knows no cast from a data pointer to a function's. */
#define TAKE(pointer, handle, name) (*(void **)(void *)&(pointer) = dlsym((handle), (name)))

static bool is_in_program(const char *name)
{
	return dlsym(RTLD_DEFAULT, name) != NULL;
}

static void *open_privately(const char *name)
{
	int flags = RTLD_NOW | RTLD_LOCAL;

	/* Sanitizers end a program that binds deeply. */
	if (!is_in_program("__asan_init") && !is_in_program("__tsan_init") &&
	    !is_in_program("__msan_init"))
		flags |= RTLD_DEEPBIND;
	return dlopen(name, flags);
}

/* ---- libz ------------------------------------------------------------------------------------ */

/* What deflate needs at its default settings, and some more: zconf.h. */
#define ARENA_SIZE (512u << 10)

/*
 * compress2, but with memory of our own: malloc is the program's, or that of another one who stands
 * in front of it, and whoever forked us may have held its lock. All of it begins anew with every
 * block, so it does not matter what a parent was in the middle of. One thread at a time, the
 * writer's.
 */
static struct {
	int (*begin)(z_streamp stream, int level, const char *version, int size);
	int (*run)(z_streamp stream, int flush);
	int (*change)(z_streamp stream, int level, int strategy);
	int (*end)(z_streamp stream);
	unsigned char *arena; /* NULL: none yet */
	size_t used;
} deflater;

static void *take_memory(void *unused, unsigned nr, unsigned size)
{
	size_t room = ((size_t)nr * size + 15) & ~(size_t)15;
	void *memory = deflater.arena + deflater.used;

	(void)unused;
	if (room > ARENA_SIZE - deflater.used)
		return NULL;
	deflater.used += room;
	return memory;
}

static void give_memory(void *unused, void *memory)
{
	(void)unused;
	(void)memory;
}

static bool begin_arena(void)
{
	void *arena = deflater.arena;

	if (!arena)
		arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	if (arena == MAP_FAILED)
		return false;
	deflater.arena = arena;
	deflater.used = 0;
	return true;
}

static int begin_stream(z_stream *stream, unsigned char *out, unsigned long out_size,
			const unsigned char *in, int level)
{
	*stream = (z_stream){
		.zalloc = take_memory,
		.zfree = give_memory,
		.next_in = (unsigned char *)(uintptr_t)in,
		.next_out = out,
		.avail_out = (unsigned)out_size,
	};
	if (!begin_arena() || out_size > UINT32_MAX)
		return Z_MEM_ERROR;
	return deflater.begin(stream, level, ZLIB_VERSION, (int)sizeof(*stream));
}

static int end_stream(z_stream *stream, int result, unsigned long *out_size)
{
	*out_size = stream->total_out;
	deflater.end(stream);
	return result == Z_STREAM_END ? Z_OK : Z_BUF_ERROR;
}

static int compress_block(unsigned char *out, unsigned long *out_size, const unsigned char *in,
			  unsigned long size, int level)
{
	z_stream stream;
	int result;

	if (size > UINT32_MAX)
		return Z_MEM_ERROR;
	result = begin_stream(&stream, out, *out_size, in, level);
	if (result != Z_OK)
		return result;
	stream.avail_in = (unsigned)size;
	return end_stream(&stream, deflater.run(&stream, Z_FINISH), out_size);
}

/* All of a part goes in before the next is compressed in another way. */
static int compress_part(z_stream *stream, const struct vs_byte_texture_part *part, int level)
{
	int strategy =
		part->texture == VS_BYTE_TEXTURE_UNEVEN ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY;
	int result = deflater.change(stream, part->texture == VS_BYTE_TEXTURE_DENSE ? 0 : level,
				     strategy);

	if (result != Z_OK || part->size > UINT32_MAX)
		return Z_BUF_ERROR;
	stream->avail_in = (unsigned)part->size;
	result = deflater.run(stream, Z_NO_FLUSH);
	/* There is room for more than it can need. */
	return result == Z_OK && !stream->avail_in ? Z_OK : Z_BUF_ERROR;
}

static int compress_parts(unsigned char *out, unsigned long *out_size, const unsigned char *in,
			  const struct vs_byte_texture_part *parts, uint32_t nr_parts, int level)
{
	z_stream stream;
	int result = begin_stream(&stream, out, *out_size, in, level);

	if (result != Z_OK)
		return result;
	for (uint32_t i = 0; i < nr_parts && result == Z_OK; i++)
		if (parts[i].size)
			result = compress_part(&stream, &parts[i], level);
	if (result == Z_OK)
		result = deflater.run(&stream, Z_FINISH);
	return end_stream(&stream, result, out_size);
}

static void open_zlib(void)
{
	void *handle = open_privately("libz.so.1");

	if (handle) {
		TAKE(zlib.bound, handle, "compressBound");
		TAKE(deflater.begin, handle, "deflateInit_");
		TAKE(deflater.run, handle, "deflate");
		TAKE(deflater.change, handle, "deflateParams");
		TAKE(deflater.end, handle, "deflateEnd");
	}
	if (zlib.bound && deflater.begin && deflater.run && deflater.end)
		zlib.compress = compress_block;
	if (zlib.compress && deflater.change)
		zlib.compress_parts = compress_parts;
	if (!zlib.compress)
		vs_message_print("libz.so.1 cannot be used, traces are not compressed", NULL);
}

/* ---- libunwind ------------------------------------------------------------------------------- */

/*
 * libunwind sees whether memory can be read by writing it to a pipe, which it opens in the
 * program's table of files and keeps. A program that closes the files it finds and opens others
 * under their numbers would then see bytes vanish from them, and the files closed. So it gets no
 * pipe: its calls are led to the functions below, which answer for the descriptor -1 it is left
 * with.
 */
static int refuse_pipe(int ends[2], int flags)
{
	(void)ends;
	(void)flags;
	errno = EMFILE;
	return -1;
}

static ssize_t read_for_unwind(int fd, void *bytes, size_t size)
{
	if (fd != -1)
		return read(fd, bytes, size);
	errno = EAGAIN; /* the pipe is good, and empty */
	return -1;
}

/* Whether a byte can be read: as if it had been written. */
static ssize_t probe(const void *address)
{
	char byte;
	struct iovec to = {.iov_base = &byte, .iov_len = 1};
	struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = 1};

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1)
		return 1;
	/* Where the call itself is forbidden it is enough that the page is mapped: it asked. */
	return errno == EFAULT ? -1 : 1;
}

static ssize_t write_for_unwind(int fd, const void *bytes, size_t size)
{
	return fd == -1 ? probe(bytes) : write(fd, bytes, size);
}

static long call_for_unwind(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_write && (int)a == -1)
		return probe((const void *)(uintptr_t)b);
	return syscall(number, a, b, c, d, e, f);
}

static void take_pipe_away(void *handle)
{
	vs_imports_replace(handle, "pipe2", (void *)(uintptr_t)refuse_pipe);
	vs_imports_replace(handle, "read", (void *)(uintptr_t)read_for_unwind);
	vs_imports_replace(handle, "write", (void *)(uintptr_t)write_for_unwind);
	vs_imports_replace(handle, "syscall", (void *)(uintptr_t)call_for_unwind);
}

static void open_unwind(void)
{
	void *handle = open_privately("libunwind.so.8");

	if (handle) {
		TAKE(unwind.backtrace, handle, "unw_backtrace");
		TAKE(unwind.flush, handle, UNWIND_ALL "flush_cache");
		TAKE(unwind.space, handle, UNWIND_LOCAL "local_addr_space");
		TAKE(unwind.set_caching_policy, handle, UNWIND_LOCAL "set_caching_policy");
		TAKE(unwind.get_context, handle, UNWIND_ALL "getcontext");
		TAKE(unwind.init_local, handle, UNWIND_LOCAL "init_local");
		TAKE(unwind.step, handle, UNWIND_LOCAL "step");
		TAKE(unwind.get_register, handle, UNWIND_LOCAL "get_reg");
	}
	if (unwind.backtrace)
		take_pipe_away(handle);
	else
		vs_message_print("libunwind.so.8 cannot be used, some stacks are cut", NULL);
}

void vs_private_library_open(bool with_unwind)
{
	open_zlib();
	/*
	 * libunwind keeps what it learnt until the very end of a thread and then takes a lock,
	 * which crashes in ThreadSanitizer: to that one the thread is gone already.
	 */
	if (with_unwind && !is_in_program("__tsan_init"))
		open_unwind();
}

const struct vs_writer_zlib *vs_private_library_zlib(void)
{
	return zlib.compress ? &zlib : NULL;
}

const struct vs_private_library_unwind *vs_private_library_unwind(void)
{
	return unwind.backtrace ? &unwind : NULL;
}
