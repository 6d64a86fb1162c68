#include "torch_recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "hooks_cmocka.h"
#include "lifecycle.h"
#include "message.h"
#include "recorder.h"

struct vs_settings torch_recorder_settings;
bool torch_recorder_is_off;
uint32_t torch_recorder_recording = 1;
bool torch_recorder_is_quiet;
_Atomic unsigned torch_recorder_nr;

static _Atomic uint32_t mark = 1;
_Atomic uint32_t *vs_lifecycle_mark = &mark;

static _Thread_local struct vs_thread thread;
static char said[4096], printed[512];
static struct {
	char key[32];
	char value[512];
} facts[8];
static size_t nr_facts;
static _Atomic uint32_t last_pool;

/* ---- guard.h, lifecycle.h, message.h ---- */

struct vs_thread *vs_guard_enter(enum vs_guard_level level, uint32_t api, const void *frame)
{
	assert_int_equal(level, VS_GUARD_POOL);
	assert_int_equal(api, VS_NO_ID);
	assert_non_null(frame);
	if (torch_recorder_is_off)
		return NULL;
	thread.depth++;
	return &thread;
}

void vs_guard_leave(struct vs_thread *self, enum vs_guard_level level)
{
	assert_int_equal(level, VS_GUARD_POOL);
	self->depth--;
}

void vs_lifecycle_begin(void)
{
	fail(); /* it has begun */
}

const struct vs_settings *vs_lifecycle_settings(void)
{
	return &torch_recorder_settings;
}

uint32_t vs_lifecycle_recording(void)
{
	return torch_recorder_recording;
}

void vs_message_print(const char *text, ...)
{
	va_list rest;

	va_start(rest, text);
	for (; text; text = va_arg(rest, const char *))
		strncat(printed, text, sizeof(printed) - strlen(printed) - 1);
	va_end(rest);
	strncat(printed, "\n", sizeof(printed) - strlen(printed) - 1);
}

/* ---- recorder.h ---- */

__attribute__((format(printf, 2, 3))) static void say(struct vs_thread *self, const char *format,
						      ...)
{
	size_t used = strlen(said);
	va_list arguments;

	/* Between enter and leave, once. */
	assert_ptr_equal(self, &thread);
	assert_int_equal(self->depth, 1);
	atomic_fetch_add(&torch_recorder_nr, 1);
	if (torch_recorder_is_quiet)
		return;
	va_start(arguments, format);
	vsnprintf(said + used, sizeof(said) - used, format, arguments);
	va_end(arguments);
}

uint32_t vs_recorder_create_pool(struct vs_thread *self, enum vs_pool_owner owner, const char *name,
				 uint32_t device, uint64_t limit_size)
{
	uint32_t pool = atomic_fetch_add(&last_pool, 1) + 1;

	assert_int_equal(owner, VS_POOL_FRAMEWORK);
	assert_int_equal(limit_size, 0);
	say(self, "pool %u '%s' %u\n", pool, name, device);
	return pool;
}

void vs_recorder_add_block(struct vs_thread *self, uint32_t pool, uint64_t address, uint64_t size)
{
	say(self, "alloc %u %lx %lu\n", pool, address, size);
}

void vs_recorder_free_block(struct vs_thread *self, uint32_t pool, uint64_t address)
{
	say(self, "free %u %lx\n", pool, address);
}

void vs_recorder_fail_block(struct vs_thread *self, uint32_t pool, uint64_t size)
{
	say(self, "fail %u %lu\n", pool, size);
}

void vs_recorder_add_pool_state(struct vs_thread *self, uint32_t pool, uint64_t reserved_size,
				uint64_t used_size)
{
	say(self, "state %u %lu in %lu\n", pool, used_size, reserved_size);
}

void vs_recorder_quote_failure(struct vs_thread *self, uint32_t pool, const char *text, size_t size)
{
	say(self, "quote %u %.*s\n", pool, (int)size, text);
}

void vs_recorder_add_fact(const char *key, const char *value)
{
	assert_true(nr_facts < sizeof(facts) / sizeof(facts[0]));
	assert_null(torch_recorder_get_fact(key)); /* once each */
	snprintf(facts[nr_facts].key, sizeof(facts[0].key), "%s", key);
	snprintf(facts[nr_facts].value, sizeof(facts[0].value), "%s", value);
	nr_facts++;
	errno = EIO; /* whoever calls keeps the program's */
}

/* ---- For the tests ---- */

const char *torch_recorder_get(void)
{
	return said;
}

void torch_recorder_clear(void)
{
	said[0] = '\0';
	torch_recorder_nr = 0;
}

const char *torch_recorder_get_fact(const char *key)
{
	for (size_t i = 0; i < nr_facts; i++)
		if (!strcmp(facts[i].key, key))
			return facts[i].value;
	return NULL;
}

const char *torch_recorder_get_printed(void)
{
	return printed;
}

struct torch_model torch_recorder_load(const char *folder)
{
	struct torch_model model;
	void *c10, *cuda;
	char path[4096];

	snprintf(path, sizeof(path), "%s/lib/libc10.so", folder);
	c10 = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	snprintf(path, sizeof(path), "%s/lib/libc10_cuda.so", folder);
	cuda = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!c10 || !cuda)
		fail_msg("%s", dlerror());
	model.table = dlsym(cuda, "model_table");
	model.heard = dlsym(c10, "model_heard");
	model.nr_heard = dlsym(c10, "model_nr_heard");
	*(void **)(void *)&model.report_host = dlsym(c10, "model_report_host");
	assert_non_null(model.table);
	assert_non_null(model.report_host);
	return model;
}
