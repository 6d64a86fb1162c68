#include "line_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_info.h"
#include "recorder.h"
#include "resolve.h"

#define EXPORT      __attribute__((visibility("default")))
#define MAX_NAMES   256
#define MAX_HANDLES 64
#define NR_DEVICES  16

static _Thread_local struct vs_thread thread;
static const char *names[MAX_NAMES];
static unsigned nr_names;
static bool device_is_known[NR_DEVICES];
static char lines[1 << 16];
static size_t lines_size;
static int must_spoil;
/* A test may wait for a lock; programs with many threads run on this recorder, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Handles by number; 0 in the table: gone. */
struct numbers {
	uint64_t handles[MAX_HANDLES];
	uint32_t nr_handles;
};
static struct numbers contexts, pools;
static _Atomic uint64_t nr_forgotten_contexts;

static const char *const kinds[] = {
#define VS_MEMORY_KIND(NAME, text) text,
#include "memory_kind.def"
#undef VS_MEMORY_KIND
};

static void spoil(void)
{
	if (must_spoil)
		errno = EXDEV;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	const char *path = getenv("HOOKS_EVENTS");
	char line[512];
	va_list arguments;
	int size, fd;

	va_start(arguments, format);
	size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= sizeof(line))
		return;
	pthread_mutex_lock(&lock);
	if (lines_size + (size_t)size < sizeof(lines)) {
		memcpy(lines + lines_size, line, (size_t)size);
		lines_size += (size_t)size;
	}
	pthread_mutex_unlock(&lock);
	fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	if (fd >= 0) {
		if (write(fd, line, (size_t)size) < 0)
			abort();
		close(fd);
	}
	spoil();
}

EXPORT void vs_line_recorder_take(char *text, size_t size)
{
	snprintf(text, size, "%.*s", (int)lines_size, lines);
	lines_size = 0;
}

EXPORT unsigned long vs_line_recorder_get_nr_unsure(void)
{
	return vs_resolve_get_nr_unsure();
}

EXPORT void vs_line_recorder_spoil_errno(int is_on)
{
	must_spoil = is_on;
}

static uint32_t find_locked(struct numbers *numbers, uint64_t handle, bool *is_new)
{
	*is_new = false;
	for (uint32_t i = 0; i < numbers->nr_handles; i++)
		if (numbers->handles[i] == handle)
			return i + 1;
	if (numbers->nr_handles == MAX_HANDLES)
		return 0;
	*is_new = true;
	numbers->handles[numbers->nr_handles++] = handle;
	return numbers->nr_handles;
}

static uint32_t find(struct numbers *numbers, uint64_t handle, bool *is_new)
{
	uint32_t number;

	pthread_mutex_lock(&lock);
	number = find_locked(numbers, handle, is_new);
	pthread_mutex_unlock(&lock);
	return number;
}

static void forget(struct numbers *numbers, uint64_t handle)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < numbers->nr_handles; i++)
		if (numbers->handles[i] == handle)
			numbers->handles[i] = 0;
	pthread_mutex_unlock(&lock);
}

static const char *get_api(const struct vs_thread *self)
{
	return self->api ? names[self->api - 1] : "?";
}

struct vs_thread *vs_guard_enter(enum vs_guard_level level, uint32_t api, const void *frame)
{
	if (getenv("HOOKS_OFF"))
		return NULL;
	if (!thread.depth++) {
		thread.api = api;
		thread.frame = frame;
	}
	if (level == VS_GUARD_DRIVER)
		thread.nr_driver++;
	return &thread;
}

void vs_guard_leave(struct vs_thread *self, enum vs_guard_level level)
{
	self->depth--;
	if (level == VS_GUARD_DRIVER)
		self->nr_driver--;
}

uint32_t vs_recorder_name(const char *text)
{
	uint32_t number = 0;

	pthread_mutex_lock(&lock);
	if (nr_names < MAX_NAMES) {
		names[nr_names++] = text;
		number = nr_names;
	}
	pthread_mutex_unlock(&lock);
	spoil();
	return number;
}

void vs_recorder_add_alloc(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			   uint64_t address, uint64_t size, uint32_t pool, uint32_t context)
{
	self->nr_events++;
	say("alloc %s %d %lx %lu pool=%u context=%u %s\n", kinds[kind], (int)device, address, size,
	    pool, context, get_api(self));
}

void vs_recorder_add_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address)
{
	self->nr_events++;
	say("free %s %lx %s\n", kinds[kind], address, get_api(self));
}

void vs_recorder_take_back_free(struct vs_thread *self, enum vs_memory_kind kind, uint64_t address,
				uint32_t error)
{
	self->nr_events++;
	say("unfree %s %lx %u\n", kinds[kind], address, error);
}

void vs_recorder_add_failure(struct vs_thread *self, enum vs_memory_kind kind, uint32_t device,
			     uint64_t size, uint32_t error, uint64_t free_size, uint64_t total_size,
			     uint32_t pool)
{
	self->nr_events++;
	say("fail %s %d %lu %u %lu/%lu pool=%u %s\n", kinds[kind], (int)device, size, error,
	    free_size, total_size, pool, get_api(self));
}

void vs_recorder_add_reserve(struct vs_thread *self, uint64_t address, uint64_t size)
{
	self->nr_events++;
	say("reserve %lx %lu\n", address, size);
}

void vs_recorder_add_unreserve(struct vs_thread *self, uint64_t address, uint64_t size)
{
	self->nr_events++;
	say("unreserve %lx %lu\n", address, size);
}

void vs_recorder_add_map(struct vs_thread *self, uint64_t address, uint64_t size, uint64_t handle,
			 uint64_t offset)
{
	self->nr_events++;
	say("map %lx %lu %lx %lu\n", address, size, handle, offset);
}

void vs_recorder_add_unmap(struct vs_thread *self, uint64_t address, uint64_t size)
{
	self->nr_events++;
	say("unmap %lx %lu\n", address, size);
}

void vs_recorder_add_context(struct vs_thread *self, enum vs_context_change change,
			     uint32_t context, uint32_t device)
{
	static const char *const words[] = {"created", "destroyed", "reset"};

	self->nr_events++;
	say("context %s %u %d\n", words[change], context, (int)device);
}

uint32_t vs_recorder_context(uint64_t handle)
{
	bool is_new;

	spoil();
	return handle ? find(&contexts, handle, &is_new) : 0;
}

void vs_recorder_forget_context(uint64_t handle)
{
	forget(&contexts, handle);
	nr_forgotten_contexts++;
	spoil();
}

uint64_t vs_recorder_get_nr_forgotten_contexts(void)
{
	return nr_forgotten_contexts;
}

uint32_t vs_recorder_driver_pool(uint64_t handle, uint32_t device)
{
	bool is_new;
	uint32_t number = find(&pools, handle, &is_new);

	if (is_new)
		say("pool %u %lx %d\n", number, handle, (int)device);
	return number;
}

uint32_t vs_recorder_create_driver_pool(uint64_t handle, uint32_t device, uint64_t limit_size)
{
	bool is_new;
	uint32_t number = find(&pools, handle, &is_new);

	if (is_new && !limit_size)
		say("pool %u %lx %d\n", number, handle, (int)device);
	else if (is_new)
		say("pool %u %lx %d limit=%lu\n", number, handle, (int)device, limit_size);
	return number;
}

void vs_recorder_add_pool_state(struct vs_thread *self, uint32_t pool, uint64_t reserved_size,
				uint64_t used_size)
{
	self->nr_events++;
	say("pool-state %u %lu %lu\n", pool, reserved_size, used_size);
}

void vs_recorder_end_driver_pool(struct vs_thread *self, uint64_t handle)
{
	bool is_new;

	self->nr_events++;
	say("pool-end %u\n", find(&pools, handle, &is_new));
	forget(&pools, handle);
}

bool vs_recorder_has_device(uint32_t device)
{
	return device < NR_DEVICES && device_is_known[device];
}

void vs_recorder_define_device(uint32_t device, const char *name, uint64_t total_size,
			       uint32_t compute_capability, const uint8_t uuid[16],
			       bool is_simulated)
{
	if (device < NR_DEVICES)
		device_is_known[device] = true;
	say("device %u %s %lu %u %d %02x\n", device, name, total_size, compute_capability,
	    is_simulated, uuid[0]);
}

/* ---- memory_info.h: nobody asks NVML -------------------------------------------------------- */

bool vs_memory_info_has_device(uint32_t device)
{
	(void)device;
	return true;
}

void vs_memory_info_add_device(uint32_t device, const struct vs_nvml_name *name)
{
	(void)device;
	(void)name;
}

bool vs_memory_info_look(uint32_t device, uint64_t *used_size)
{
	(void)device;
	(void)used_size;
	return false;
}

void vs_memory_info_add_context(uint32_t device, uint64_t size)
{
	(void)device;
	(void)size;
}

void vs_memory_info_forget_contexts(uint32_t device)
{
	(void)device;
}

void vs_memory_info_tell(struct vs_thread *self, uint32_t device)
{
	(void)self;
	(void)device;
}
