/*
 * A parent and three children that each use the device for themselves: two forked before CUDA was
 * touched, one of them replaced by exec, and one started anew while the parent is at work.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

/* Each process takes its number of mebibytes, frees half of it and leaves the rest. */
static int use_device(int number)
{
	struct book device = {.name = "device"};
	void *kept = device_alloc(&device, (size_t)number * 2 * MIB);
	void *gone = device_alloc(&device, (size_t)number * 2 * MIB);

	if (!kept || !gone)
		return 1;
	device_free(&device, gone, (size_t)number * 2 * MIB);
	printf("process=%d allocs=%lu frees=%lu bytes=%zu\n", number, device.allocs, device.frees,
	       device.bytes_allocated);
	fflush(stdout);
	return 0;
}

static pid_t start(int number, int is_exec)
{
	char text[16];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (!is_exec)
		_exit(use_device(number));
	snprintf(text, sizeof(text), "%d", number);
	execl("/proc/self/exe", "forker", text, (char *)NULL);
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	int failed;

	if (argc == 2)
		return use_device(atoi(argv[1]));
	failed = wait_for(start(2, 0));
	failed |= wait_for(start(3, 1));
	failed |= use_device(1);
	failed |= wait_for(start(4, 1));
	return failed;
}
