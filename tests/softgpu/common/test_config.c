#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"

/* What a process with a given environment made of it, and what it said. */
struct outcome {
	struct sg_config config;
	char card[100];
	char said[1000];
};

static void clear_environment(void)
{
	for (size_t i = 0; environ[i];) {
		char name[100];

		if (strncmp(environ[i], "SOFTGPU_", 8) != 0) {
			i++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
		unsetenv(name);
	}
}

/* In the child: the configuration goes out on one pipe, standard error on the other. */
static _Noreturn void report_config(const char *name, const char *value, int config_fd, int said_fd)
{
	struct outcome outcome = {.card = ""};

	dup2(said_fd, STDERR_FILENO);
	if (name)
		setenv(name, value, 1);
	outcome.config = *sg_config_get();
	snprintf(outcome.card, sizeof(outcome.card), "%s", outcome.config.card);
	_exit(write(config_fd, &outcome, sizeof(outcome)) != sizeof(outcome));
}

/*
 * The configuration is read once per process, so each reading gets one of its own. The caller must
 * not have read it: fork() hands that on.
 */
static struct outcome read_config(const char *name, const char *value)
{
	struct outcome outcome;
	int config_fds[2], said_fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(config_fds), 0);
	assert_int_equal(pipe(said_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		report_config(name, value, config_fds[1], said_fds[1]);
	close(config_fds[1]);
	close(said_fds[1]);
	assert_int_equal(read(config_fds[0], &outcome, sizeof(outcome)), sizeof(outcome));
	n = read(said_fds[0], outcome.said, sizeof(outcome.said) - 1);
	outcome.said[n > 0 ? n : 0] = '\0';
	close(config_fds[0]);
	close(said_fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return outcome;
}

static void test_defaults_are_a_small_card_of_one_device(void **state)
{
	struct outcome outcome = read_config(NULL, NULL);

	(void)state;
	assert_string_equal(outcome.said, "");
	assert_string_equal(outcome.config.profile.key, "softgpu");
	assert_int_equal(outcome.config.profile.memory_size, 8 * SG_GIB);
	assert_int_equal(outcome.config.profile.context_size, 318 * SG_MIB);
	assert_int_equal(outcome.config.profile.cc, 90);
	assert_int_equal(outcome.config.nr_devices, 1);
	assert_int_equal(outcome.config.nvml_mode, SG_NVML_NORMAL);
	assert_int_equal(outcome.config.driver_version, 13000);
	assert_int_equal(outcome.config.backing, SG_BACKING_EXACT);
	assert_int_equal(outcome.config.exact_below, 64 * SG_KIB);
}

static void test_settings_are_taken_without_a_word(void **state)
{
	(void)state;
	assert_int_equal(read_config("SOFTGPU_MEMORY", "24G").config.profile.memory_size,
			 24 * SG_GIB);
	assert_int_equal(read_config("SOFTGPU_CONTEXT", "0").config.profile.context_size, 0);
	assert_int_equal(read_config("SOFTGPU_DEVICES", "0").config.nr_devices, 0);
	assert_int_equal(read_config("SOFTGPU_DEVICES", "16").config.nr_devices, SG_MAX_DEVICES);
	assert_int_equal(read_config("SOFTGPU_CC", "89").config.profile.cc, 89);
	assert_int_equal(read_config("SOFTGPU_DRIVER_VERSION", "12040").config.driver_version,
			 12040);
	assert_int_equal(read_config("SOFTGPU_EXACT_BELOW", "1M").config.exact_below, SG_MIB);
	assert_false(read_config("SOFTGPU_MANAGED", "0").config.profile.has_oversubscription);
	assert_string_equal(read_config("SOFTGPU_DEVICES", "16").said, "");
	assert_string_equal(read_config("SOFTGPU_MEMORY", "").said, ""); /* empty is unset */
}

static void test_profile_is_chosen_by_its_key(void **state)
{
	struct outcome outcome = read_config("SOFTGPU_PROFILE", "rtx4090");

	(void)state;
	assert_string_equal(outcome.said, "");
	assert_int_equal(outcome.config.profile.cc, 89);
	assert_int_equal(outcome.config.profile.nr_multiprocessors, 128);
	assert_int_equal(outcome.config.backing, SG_BACKING_ZERO); /* 24 GB */
}

static void test_unknown_profile_is_answered_with_the_known_ones(void **state)
{
	struct outcome outcome = read_config("SOFTGPU_PROFILE", "rtx5090");

	(void)state;
	assert_string_equal(outcome.said,
			    "softgpu: SOFTGPU_PROFILE=rtx5090 is none of the cards softgpu, t4, "
			    "v100-32g, a10, a100-40g, a100-80g, l4, l40s, rtx3090, rtx4090, "
			    "h100-80g, h200, b200; using softgpu\n");
}

static void test_variables_go_before_the_profile(void **state)
{
	struct outcome outcome;

	(void)state;
	setenv("SOFTGPU_PROFILE", "a100-40g", 1);
	outcome = read_config("SOFTGPU_MEMORY", "4G");
	assert_int_equal(outcome.config.profile.memory_size, 4 * SG_GIB);
	assert_int_equal(outcome.config.profile.nr_multiprocessors, 108);
	assert_int_equal(outcome.config.backing, SG_BACKING_EXACT);
	unsetenv("SOFTGPU_PROFILE");
}

static void test_behaviour_of_nvml_is_chosen_by_a_word(void **state)
{
	(void)state;
	assert_int_equal(read_config("SOFTGPU_NVML", "normal").config.nvml_mode, SG_NVML_NORMAL);
	assert_int_equal(read_config("SOFTGPU_NVML", "container").config.nvml_mode,
			 SG_NVML_CONTAINER);
	assert_int_equal(read_config("SOFTGPU_NVML", "mig").config.nvml_mode, SG_NVML_MIG);
	assert_int_equal(read_config("SOFTGPU_NVML", "wsl").config.nvml_mode, SG_NVML_WSL);
}

static void test_memory_comes_in_whole_pages(void **state)
{
	(void)state;
	/* Down for what there is, up for what is taken. */
	assert_int_equal(read_config("SOFTGPU_MEMORY", "5M").config.profile.memory_size,
			 4 * SG_MIB);
	assert_int_equal(read_config("SOFTGPU_CONTEXT", "5M").config.profile.context_size,
			 6 * SG_MIB);
}

static void test_bad_values_are_said_and_defaulted(void **state)
{
	static const char *const bad[][2] = {
		{"SOFTGPU_PROFILE", "h1oo"}, {"SOFTGPU_MEMORY", "lots"},
		{"SOFTGPU_MEMORY", "1M"}, /* less than a page */
		{"SOFTGPU_CONTEXT", "-1"},   {"SOFTGPU_DEVICES", "17"},
		{"SOFTGPU_DEVICES", "-1"},   {"SOFTGPU_DEVICES", "2x"},
		{"SOFTGPU_CC", "9.0"},       {"SOFTGPU_DRIVER_VERSION", "13"},
		{"SOFTGPU_BACKING", "some"}, {"SOFTGPU_EXACT_BELOW", "64Q"},
		{"SOFTGPU_MANAGED", "yes"},  {"SOFTGPU_DEVICES", "99999999999999999999"},
		{"SOFTGPU_NVML", "docker"},  {"SOFTGPU_NVML", "mig wsl"},
		{"SOFTGPU_SMS", "0"},        {"SOFTGPU_ADDRESSES", "pack"},
	};
	struct outcome plain = read_config(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct outcome outcome = read_config(bad[i][0], bad[i][1]);
		char start[200];

		snprintf(start, sizeof(start), "softgpu: %s=%s is ", bad[i][0], bad[i][1]);
		assert_memory_equal(outcome.said, start, strlen(start));
		/* One line, and only one. */
		assert_ptr_equal(strchr(outcome.said, '\n'), strchr(outcome.said, '\0') - 1);
		outcome.config.card = plain.config.card;
		assert_memory_equal(&outcome.config, &plain.config, sizeof(plain.config));
	}
}

static void test_backing_follows_the_memory_of_all_devices(void **state)
{
	(void)state;
	assert_int_equal(read_config("SOFTGPU_MEMORY", "16G").config.backing, SG_BACKING_EXACT);
	assert_int_equal(read_config("SOFTGPU_MEMORY", "17G").config.backing, SG_BACKING_ZERO);
	assert_int_equal(read_config("SOFTGPU_DEVICES", "2").config.backing, SG_BACKING_EXACT);
	assert_int_equal(read_config("SOFTGPU_DEVICES", "3").config.backing, SG_BACKING_ZERO);
}

static void test_backing_can_be_chosen(void **state)
{
	(void)state;
	assert_int_equal(read_config("SOFTGPU_BACKING", "zero").config.backing, SG_BACKING_ZERO);
	setenv("SOFTGPU_MEMORY", "80G", 1);
	assert_int_equal(read_config("SOFTGPU_BACKING", "exact").config.backing, SG_BACKING_EXACT);
	assert_int_equal(read_config("SOFTGPU_BACKING", "auto").config.backing, SG_BACKING_ZERO);
	assert_int_equal(read_config("SOFTGPU_BACKING", "").config.backing, SG_BACKING_ZERO);
	unsetenv("SOFTGPU_MEMORY");
}

static void test_card_has_the_name_the_user_gave(void **state)
{
	(void)state;
	assert_string_equal(read_config("SOFTGPU_CARD", "mine").card, "mine");
}

static void test_card_without_a_name_is_the_process_s_own(void **state)
{
	struct outcome one = read_config(NULL, NULL);
	struct outcome other = read_config("SOFTGPU_CARD", "");

	(void)state;
	assert_string_not_equal(one.card, "");
	assert_string_not_equal(one.card, other.card);
}

static void test_configuration_does_not_follow_later_changes(void **state)
{
	const struct sg_config *config;

	(void)state;
	setenv("SOFTGPU_DEVICES", "3", 1);
	setenv("SOFTGPU_CARD", "before", 1);
	config = sg_config_get();
	setenv("SOFTGPU_DEVICES", "5", 1);
	setenv("SOFTGPU_CARD", "behind", 1);
	assert_ptr_equal(sg_config_get(), config);
	assert_int_equal(config->nr_devices, 3);
	assert_string_equal(config->card, "before");
	clear_environment();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_a_small_card_of_one_device),
		cmocka_unit_test(test_settings_are_taken_without_a_word),
		cmocka_unit_test(test_profile_is_chosen_by_its_key),
		cmocka_unit_test(test_unknown_profile_is_answered_with_the_known_ones),
		cmocka_unit_test(test_variables_go_before_the_profile),
		cmocka_unit_test(test_behaviour_of_nvml_is_chosen_by_a_word),
		cmocka_unit_test(test_memory_comes_in_whole_pages),
		cmocka_unit_test(test_bad_values_are_said_and_defaulted),
		cmocka_unit_test(test_backing_follows_the_memory_of_all_devices),
		cmocka_unit_test(test_backing_can_be_chosen),
		cmocka_unit_test(test_card_has_the_name_the_user_gave),
		cmocka_unit_test(test_card_without_a_name_is_the_process_s_own),
		/* Last: reads the configuration of this process. */
		cmocka_unit_test(test_configuration_does_not_follow_later_changes),
	};

	clear_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
