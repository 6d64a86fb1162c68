#include "message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compose.h"
#include "hot.h"
#include "usual.h"

#define LINE_MAX_SIZE 1024

struct line {
	size_t size;
	char bytes[LINE_MAX_SIZE];
};

/* Written once by vs_message_init(), before there is anybody to read it. */
static struct {
	bool is_open;
	dev_t device;
	ino_t inode;
} stderr_file;

enum post_state {
	POST_EMPTY,
	POST_BUSY, /* somebody writes or prints it */
	POST_FULL,
};

/* Whoever moves the state to BUSY owns the line until it moves it on. */
VS_HOT_DATA static _Atomic int post_state;
static struct line post_line;

void vs_message_init(void)
{
	struct stat file;
	int saved = errno;

	stderr_file.is_open = fstat(STDERR_FILENO, &file) == 0;
	if (stderr_file.is_open) {
		stderr_file.device = file.st_dev;
		stderr_file.inode = file.st_ino;
	}
	errno = saved;
}

static void compose(struct line *line, const char *text, va_list more)
{
	struct vs_compose out;

	/* One byte is kept for the newline, which takes the place of the terminator. */
	vs_compose_init(&out, line->bytes, sizeof(line->bytes));
	vs_compose_add(&out, "vramscope: ");
	for (; text; text = va_arg(more, const char *))
		vs_compose_add(&out, text);
	line->bytes[out.size] = '\n';
	line->size = out.size + 1;
}

static bool is_writable(void)
{
	struct pollfd poll_fd = {.fd = STDERR_FILENO, .events = POLLOUT};
	struct stat file;

	if (!stderr_file.is_open || fstat(STDERR_FILENO, &file) < 0)
		return false;
	if (file.st_dev != stderr_file.device || file.st_ino != stderr_file.inode)
		return false;
	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLOUT);
}

static void print_line(const struct line *line)
{
	static const struct timespec at_once;
	sigset_t pipe_set, old_set, pending;
	int saved = errno;
	bool was_pending;

	if (!is_writable())
		goto restore_errno;
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	/* So that a pending SIGPIPE of the program's own is not taken for ours. */
	was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
	if (write(STDERR_FILENO, line->bytes, line->size) < 0 && errno == EPIPE && !was_pending)
		while (sigtimedwait(&pipe_set, NULL, &at_once) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old_set, NULL);
restore_errno:
	errno = saved;
}

void vs_message_print(const char *text, ...)
{
	struct line line;
	va_list more;

	va_start(more, text);
	compose(&line, text, more);
	va_end(more);
	print_line(&line);
}

void vs_message_post(const char *text, ...)
{
	int state = atomic_load_explicit(&post_state, memory_order_relaxed);
	va_list more;

	/* BUSY: a thread is printing the one before; this one is not worth waiting for. */
	if (state == POST_BUSY ||
	    !atomic_compare_exchange_strong_explicit(&post_state, &state, POST_BUSY,
						     memory_order_acquire, memory_order_relaxed))
		return;
	va_start(more, text);
	compose(&post_line, text, more);
	va_end(more);
	/* While it is BUSY, as below: so the bit always says what the state does. */
	vs_usual_clear(VS_USUAL_SILENT);
	atomic_store_explicit(&post_state, POST_FULL, memory_order_release);
}

void vs_message_begin_in_child(void)
{
	if (atomic_load_explicit(&post_state, memory_order_relaxed) == POST_FULL)
		vs_usual_clear(VS_USUAL_SILENT);
}

void vs_message_flush(void)
{
	int state = POST_FULL;

	if (atomic_load_explicit(&post_state, memory_order_relaxed) != POST_FULL)
		return;
	if (!atomic_compare_exchange_strong_explicit(&post_state, &state, POST_BUSY,
						     memory_order_acquire, memory_order_relaxed))
		return;
	print_line(&post_line);
	vs_usual_set(VS_USUAL_SILENT);
	atomic_store_explicit(&post_state, POST_EMPTY, memory_order_release);
}
