#include "nvml_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"

void sg_nvml_fixture_set_environment(void)
{
	char card[64];

	snprintf(card, sizeof(card), "test_nvml-%d", (int)getpid());
	setenv("SOFTGPU_CARD", card, 1);
	setenv("SOFTGPU_DEVICES", "3", 1);
	setenv("SOFTGPU_MEMORY", "1G", 1);
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	unsetenv("SOFTGPU_PROFILE");
	unsetenv("SOFTGPU_NVML");
	unsetenv("SOFTGPU_CC");
	unsetenv("SOFTGPU_DRIVER_VERSION");
	unsetenv("SOFTGPU_LOG");
}

nvmlDevice_t sg_nvml_fixture_get_device(unsigned int index)
{
	nvmlDevice_t device = NULL;

	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(index, &device), NVML_SUCCESS);
	assert_non_null(device);
	return device;
}

int sg_nvml_fixture_init(void **state)
{
	(void)state;
	return nvmlInit_v2() != NVML_SUCCESS;
}

int sg_nvml_fixture_fini(void **state)
{
	(void)state;
	return nvmlShutdown() != NVML_SUCCESS;
}

pid_t sg_nvml_fixture_start_part(const char *part, const char *argument, int fd_to_read, int *from)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], fd_to_read);
		close(fds[0]);
		close(fds[1]);
		execl("/proc/self/exe", "test_nvml", part, argument, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	*from = fds[0];
	return pid;
}

int sg_nvml_fixture_hold(const char *size)
{
	struct sg_card *card;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test die first */
	card = sg_card_open(sg_config_get()->card, sg_config_get());
	if (!card || sg_card_charge(card, 1, strtoull(size, NULL, 10)) != 0)
		return 1;
	if (write(STDOUT_FILENO, "h", 1) != 1)
		return 1;
	pause();
	return 0;
}

pid_t sg_nvml_fixture_start_holder(const char *size)
{
	char byte;
	int from;
	pid_t pid = sg_nvml_fixture_start_part("hold", size, STDOUT_FILENO, &from);

	assert_int_equal(read(from, &byte, 1), 1);
	close(from);
	return pid;
}

void sg_nvml_fixture_kill(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

int sg_nvml_fixture_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
