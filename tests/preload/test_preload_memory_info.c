#include "memory_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lifecycle.h"
#include "live_log.h"
#include "recorder.h"
#include "session.h"
#include "thread.h"

/* ---- Doubles: NVML, and the recorder that samples go to -------------------------------------- */

static struct {
	_Atomic uint64_t used[4]; /* by NVML's number of the device */
	_Atomic uint32_t nr_processes;
	_Atomic uint32_t pids[12];
	_Atomic uint64_t sizes[12];
	atomic_bool is_missing;
	atomic_bool is_slow; /* it does not come back */
	_Atomic uint32_t nr_opened;
	atomic_bool is_open; /* there is a trace */
	_Atomic uint64_t nr_records;
	_Atomic uint64_t nr_records_per_question; /* somebody records meanwhile */
	_Atomic uint32_t nr_told;
	_Atomic uint32_t nr_failures_told;
	struct vs_memory_sampled told; /* the last one; read when nobody writes */
	char fact[256];
} world;

static struct vs_settings settings;
static struct vs_live_log live_log;
static _Thread_local struct vs_thread_state self;

bool vs_nvml_open(char *what, size_t what_size)
{
	atomic_fetch_add(&world.nr_opened, 1);
	while (atomic_load(&world.is_slow))
		usleep(1000);
	strncpy(what, atomic_load(&world.is_missing) ? "not here" : "1.2.3", what_size);
	return !atomic_load(&world.is_missing);
}

void *vs_nvml_find(const struct vs_nvml_name *name)
{
	return name->uuid[0] < 4 ? (void *)&world.used[name->uuid[0]] : NULL;
}

bool vs_nvml_get_memory(void *device, struct vs_memory_info *info)
{
	assert_true(vs_thread_self()->base.is_inside);
	info->used_size = atomic_load((_Atomic uint64_t *)device);
	info->total_size = 1000;
	atomic_fetch_add(&world.nr_records, atomic_load(&world.nr_records_per_question));
	return true;
}

int vs_nvml_get_processes(void *device, struct vs_nvml_process *processes, uint32_t max)
{
	uint32_t nr = atomic_load(&world.nr_processes);

	(void)device;
	for (uint32_t i = 0; i < nr && i < max; i++)
		processes[i] = (struct vs_nvml_process){atomic_load(&world.pids[i]),
							atomic_load(&world.sizes[i])};
	return (int)nr;
}

struct vs_thread_state *vs_thread_self(void)
{
	return &self;
}

const struct vs_settings *vs_lifecycle_settings(void)
{
	return &settings;
}

bool vs_lifecycle_is_without_thread(void)
{
	return false;
}

bool vs_lifecycle_is_open(void)
{
	return atomic_load(&world.is_open);
}

struct vs_live_log *vs_lifecycle_peek_log(void)
{
	return vs_lifecycle_is_open() ? &live_log : NULL;
}

struct vs_live_log *vs_session_log(void)
{
	return &live_log;
}

uint64_t vs_live_log_count_records(const struct vs_live_log *log)
{
	assert_ptr_equal(log, &live_log);
	return atomic_load(&world.nr_records);
}

bool vs_recorder_add_memory(struct vs_thread *thread, const struct vs_memory_sampled *sampled)
{
	assert_false(thread->is_inside);
	if (!vs_lifecycle_is_open())
		return false;
	world.told = *sampled;
	if (sampled->info.flags & VS_MEMORY_INFO_FAILURE)
		atomic_fetch_add(&world.nr_failures_told, sampled->info.device == 3 ? 1 : 100);
	atomic_fetch_add(&world.nr_told, 1);
	return true;
}

void vs_recorder_add_fact(const char *key, const char *value)
{
	assert_string_equal(key, "nvml");
	strncpy(world.fact, value, sizeof(world.fact) - 1);
}

uint32_t vs_recorder_keep_name(const char *text)
{
	return text[0] ? 77 : VS_NO_ID;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&settings, 0, sizeof(settings));
	settings.meminfo_ms = 60000; /* time decides nothing here */
	vs_memory_info_forget();
	for (uint8_t i = 0; i < 4; i++) {
		struct vs_nvml_name name = {.uuid = {(uint8_t)(3 - i)}};

		vs_memory_info_add_device(i, &name);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	atomic_store(&world.is_slow, false);
	vs_memory_info_stop();
	while (vs_memory_info_is_running())
		usleep(1000);
	return 0;
}

static void wait_until_told(uint32_t nr)
{
	while (atomic_load(&world.nr_told) < nr)
		usleep(1000);
}

static void test_look_asks_the_device_of_that_name(void **state)
{
	uint64_t used = 0;

	(void)state;
	atomic_store(&world.used[3], 42); /* CUDA's first is NVML's last */
	assert_true(vs_memory_info_look(0, &used));
	assert_int_equal(used, 42);
	assert_true(vs_memory_info_look(3, &used));
	assert_int_equal(used, 0);
	assert_false(vs_memory_info_look(99, &used));
	assert_int_equal(atomic_load(&world.nr_told), 0); /* there is no trace */
	assert_string_equal(world.fact, "1.2.3");
}

static void test_missing_nvml_is_a_fact_and_nothing_else(void **state)
{
	uint64_t used;

	(void)state;
	atomic_store(&world.is_missing, true);
	assert_false(vs_memory_info_look(0, &used));
	while (vs_memory_info_is_running())
		usleep(1000);
	assert_string_equal(world.fact, "off: not here");
	assert_false(vs_memory_info_look(0, &used));
	assert_int_equal(atomic_load(&world.nr_opened), 1);
}

static void test_it_can_be_switched_off(void **state)
{
	uint64_t used;

	(void)state;
	settings.no_meminfo = true;
	atomic_store(&world.is_open, true);
	vs_memory_info_start();
	assert_false(vs_memory_info_look(0, &used));
	vs_memory_info_note_failure(0);
	assert_int_equal(atomic_load(&world.nr_opened), 0);
	assert_string_equal(world.fact, "off: not wanted");
}

static void test_what_hangs_is_waited_for_once(void **state)
{
	uint64_t used;

	(void)state;
	settings.meminfo_ms = 100;
	atomic_store(&world.is_slow, true);
	assert_false(vs_memory_info_look(0, &used));
	/* Not again: a loop of these would take minutes. */
	for (int i = 0; i < 1000; i++)
		assert_false(vs_memory_info_look(0, &used));
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
}

static void test_own_process_and_the_largest_others_are_told(void **state)
{
	(void)state;
	atomic_store(&world.nr_processes, 12);
	for (uint32_t i = 0; i < 12; i++) {
		atomic_store(&world.pids[i], i == 5 ? (uint32_t)getpid() : 0x7ffffff0u + i);
		atomic_store(&world.sizes[i], 100 + i);
	}
	atomic_store(&world.is_open, true);
	vs_memory_info_start();
	vs_memory_info_pass_on();
	wait_until_told(4);
	end(NULL);
	assert_int_equal(world.told.own.flags, VS_MEMORY_OWN_LISTED);
	assert_int_equal(world.told.own.own_size, 105);
	assert_int_equal(world.told.own.nr_others, 11);
	assert_int_equal(world.told.own.others_size, 12 * 100 + 66 - 105);
	assert_int_equal(world.told.nr_holders, VS_MEMORY_HOLDERS_MAX);
	for (uint32_t i = 0; i < VS_MEMORY_HOLDERS_MAX; i++)
		assert_true(world.told.holders[i].size == 111 - i - (111 - i <= 105));
	assert_int_equal(world.told.holders[0].name, VS_NO_ID); /* nobody has that number */
}

static void test_without_us_nobody_is_told(void **state)
{
	(void)state;
	atomic_store(&world.nr_processes, 2);
	atomic_store(&world.pids[0], 0x7ffffff0u);
	atomic_store(&world.pids[1], 0x7ffffff1u);
	atomic_store(&world.is_open, true);
	vs_memory_info_add_context(3, 64);
	vs_memory_info_add_context(3, 6);
	vs_memory_info_start();
	vs_memory_info_pass_on();
	wait_until_told(4);
	end(NULL);
	assert_int_equal(world.told.info.device, 3);
	assert_int_equal(world.told.own.flags, VS_MEMORY_OWN_CONTEXT);
	assert_int_equal(world.told.own.context_size, 70);
	assert_int_equal(world.told.own.nr_others, 0);
	assert_int_equal(world.told.nr_holders, 0);
}

static void test_failure_is_told_before_the_end(void **state)
{
	(void)state;
	atomic_store(&world.is_open, true);
	vs_memory_info_start();
	vs_memory_info_pass_on();
	wait_until_told(4);
	vs_memory_info_note_failure(3);
	end(NULL);
	assert_int_equal(atomic_load(&world.nr_failures_told), 1);
}

static void test_look_is_told_by_who_looked(void **state)
{
	uint64_t used;

	(void)state;
	atomic_store(&world.used[3], 500);
	assert_true(vs_memory_info_look(0, &used));
	atomic_store(&world.used[3], 999); /* later, and so not meant */
	vs_memory_info_add_context(0, 9);
	atomic_store(&world.is_open, true);
	vs_memory_info_tell(&self.base, 0);
	assert_int_equal(atomic_load(&world.nr_told), 1);
	assert_int_equal(world.told.info.used_size, 500);
	assert_int_equal(world.told.own.context_size, 9);
	vs_memory_info_forget_contexts(0);
	vs_memory_info_tell(&self.base, 0);
	assert_int_equal(world.told.own.flags, 0);
}

/* What opens the trace is an event that NVML knows of and the trace does not, yet. */
static void test_new_trace_is_not_asked_for_at_once(void **state)
{
	uint64_t used;

	(void)state;
	assert_true(vs_memory_info_look(0, &used));
	atomic_store(&world.is_open, true);
	vs_memory_info_start();
	usleep(20000); /* enough to see it, if it were so */
	assert_int_equal(atomic_load(&world.nr_told), 0);
	vs_memory_info_tell(&self.base, 0);
	vs_memory_info_pass_on();
	usleep(20000);
	assert_int_equal(atomic_load(&world.nr_told), 1);
	vs_memory_info_start(); /* the next one has been told of, too */
	vs_memory_info_pass_on();
	assert_true(vs_memory_info_look(0, &used));
	assert_int_equal(atomic_load(&world.nr_told), 1 + 4);
}

static void test_busy_program_is_told_of_all_the_same(void **state)
{
	(void)state;
	atomic_store(&world.nr_records_per_question, 1);
	atomic_store(&world.is_open, true);
	vs_memory_info_start();
	vs_memory_info_pass_on();
	wait_until_told(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_look_asks_the_device_of_that_name),
		TEST(test_missing_nvml_is_a_fact_and_nothing_else),
		TEST(test_it_can_be_switched_off),
		TEST(test_what_hangs_is_waited_for_once),
		TEST(test_own_process_and_the_largest_others_are_told),
		TEST(test_without_us_nobody_is_told),
		TEST(test_failure_is_told_before_the_end),
		TEST(test_look_is_told_by_who_looked),
		TEST(test_new_trace_is_not_asked_for_at_once),
		TEST(test_busy_program_is_told_of_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
