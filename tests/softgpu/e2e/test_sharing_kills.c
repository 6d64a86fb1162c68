/*
 * Processes that share whatever they can get hold of, and are killed wherever they are: holding
 * locks, half way through opening, with descriptors on their way. Afterwards the card is empty and
 * works. A lock that died would stop the others for good.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvml.h>

#define NR_PROCESSES 4
#define NR_KILLS     60
#define NR_HELD      16
#define NR_POSTED    64

/* Where they leave handles for each other; torn ones are as good as any. */
struct mailbox {
	_Atomic uint64_t nr_steps; /* of all processes together */
	unsigned char memory[NR_POSTED][64];
	unsigned char events[NR_POSTED][64];
};

struct held {
	void *memory; /* cudaMalloc */
	void *opened; /* cudaIpcOpenMemHandle */
	CUmemGenericAllocationHandle physical;
	int fd;
	cudaEvent_t event;
};

static unsigned draw(unsigned *seed, unsigned limit)
{
	return (unsigned)rand_r(seed) % limit;
}

static bool lend(struct mailbox *box, struct held *held, unsigned *seed)
{
	cudaIpcMemHandle_t handle;
	uint64_t value = 1;

	if (held->memory) {
		bool is_ok = cudaFree(held->memory) == cudaSuccess;

		held->memory = NULL;
		return is_ok;
	}
	if (cudaMalloc(&held->memory, (size_t)1 << (9 + draw(seed, 14))) != cudaSuccess) {
		held->memory = NULL;
		return true; /* full */
	}
	if (cudaMemcpy(held->memory, &value, sizeof(value), cudaMemcpyHostToDevice) != cudaSuccess)
		return false;
	if (cudaIpcGetMemHandle(&handle, held->memory) != cudaSuccess)
		return false;
	memcpy(box->memory[draw(seed, NR_POSTED)], &handle, sizeof(handle));
	return true;
}

/* That it cannot be opened is usual; what was opened can be used, whoever is dead. */
static bool borrow(const struct mailbox *box, struct held *held, unsigned *seed)
{
	cudaIpcMemHandle_t handle;
	uint64_t value = 2;

	if (held->opened) {
		bool is_ok = cudaMemcpy(&value, held->opened, sizeof(value),
					cudaMemcpyDeviceToHost) == cudaSuccess &&
			     value <= 2 && cudaIpcCloseMemHandle(held->opened) == cudaSuccess;

		held->opened = NULL;
		return is_ok;
	}
	memcpy(&handle, box->memory[draw(seed, NR_POSTED)], sizeof(handle));
	if (cudaIpcOpenMemHandle(&held->opened, handle, cudaIpcMemLazyEnablePeerAccess) !=
	    cudaSuccess) {
		held->opened = NULL;
		return true;
	}
	return cudaMemcpy(held->opened, &value, sizeof(value), cudaMemcpyHostToDevice) ==
	       cudaSuccess;
}

static bool share_physical(struct held *held)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .requestedHandleTypes =
						  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

	if (held->physical) {
		bool is_ok = cuMemRelease(held->physical) == CUDA_SUCCESS;

		held->physical = 0;
		return is_ok;
	}
	if (held->fd > 0) { /* nothing else may hold it any more */
		void *handle = (void *)(intptr_t)held->fd;
		bool is_ok = cuMemImportFromShareableHandle(&held->physical, handle, type) ==
			     CUDA_SUCCESS;

		close(held->fd);
		held->fd = 0;
		return is_ok;
	}
	if (cuMemCreate(&held->physical, (size_t)4 << 20, &prop, 0) != CUDA_SUCCESS) {
		held->physical = 0;
		return true;
	}
	return cuMemExportToShareableHandle(&held->fd, held->physical, type, 0) == CUDA_SUCCESS;
}

static bool share_event(struct mailbox *box, struct held *held, unsigned *seed)
{
	const unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;
	cudaIpcEventHandle_t handle;

	if (held->event) {
		bool is_ok = cudaEventRecord(held->event, NULL) == cudaSuccess &&
			     cudaEventDestroy(held->event) == cudaSuccess;

		held->event = NULL;
		return is_ok;
	}
	if (draw(seed, 2)) {
		memcpy(&handle, box->events[draw(seed, NR_POSTED)], sizeof(handle));
		if (cudaIpcOpenEventHandle(&held->event, handle) != cudaSuccess)
			held->event = NULL;
		return true;
	}
	if (cudaEventCreateWithFlags(&held->event, flags) != cudaSuccess ||
	    cudaIpcGetEventHandle(&handle, held->event) != cudaSuccess)
		return false;
	memcpy(box->events[draw(seed, NR_POSTED)], &handle, sizeof(handle));
	return true;
}

static struct mailbox *map_mailbox(int fd)
{
	void *box = mmap(NULL, sizeof(struct mailbox), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return box == MAP_FAILED ? NULL : box;
}

/* Goes on until it is killed; a wrong step ends it, which the test notices. */
static int storm(int fd, unsigned seed)
{
	static struct held all[NR_HELD];
	struct mailbox *box = map_mailbox(fd);
	cudaError_t error;
	bool is_ok;

	do { /* the others may leave no room for a context, but they also give back */
		error = cudaFree(NULL);
	} while (error == cudaErrorMemoryAllocation);
	is_ok = box && error == cudaSuccess;
	while (is_ok) {
		struct held *held = &all[draw(&seed, NR_HELD)];

		switch (draw(&seed, 4)) {
		case 0:
			is_ok = lend(box, held, &seed);
			break;
		case 1:
			is_ok = borrow(box, held, &seed);
			break;
		case 2:
			is_ok = share_physical(held);
			break;
		default:
			is_ok = share_event(box, held, &seed);
		}
		box->nr_steps++;
	}
	fprintf(stderr, "a step failed: %s\n", cudaGetErrorName(cudaGetLastError()));
	return 1;
}

static pid_t start(int mailbox, unsigned seed)
{
	char text[16], fd[16];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(text, sizeof(text), "%u", seed);
	snprintf(fd, sizeof(fd), "%d", mailbox);
	execl("/proc/self/exe", "storm", "storm", fd, text, (char *)NULL);
	_exit(127);
}

static void kill_and_bury(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status)); /* not by itself, over a wrong step */
}

static uint64_t used_memory(void)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;

	assert_int_equal(nvmlDeviceGetHandleByIndex(0, &device), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
	return memory.used;
}

static void test_processes_killed_while_they_share_leave_an_empty_card(void **state)
{
	int fd = memfd_create("mailbox", 0);
	pid_t pids[NR_PROCESSES];
	struct mailbox *box;
	unsigned seed = 7;

	(void)state;
	assert_int_equal(ftruncate(fd, sizeof(*box)), 0);
	box = map_mailbox(fd);
	assert_non_null(box);
	for (unsigned i = 0; i < NR_PROCESSES; i++)
		pids[i] = start(fd, i);
	for (unsigned i = 0; i < NR_KILLS; i++) {
		unsigned victim = draw(&seed, NR_PROCESSES);
		uint64_t until = box->nr_steps + 50 + draw(&seed, 500);

		while (box->nr_steps < until) { /* what they do, not how long it takes */
			for (unsigned p = 0; p < NR_PROCESSES; p++)
				assert_int_equal(waitpid(pids[p], NULL, WNOHANG), 0);
			sched_yield();
		}
		kill_and_bury(pids[victim]);
		pids[victim] = start(fd, 100 + i);
	}
	for (unsigned i = 0; i < NR_PROCESSES; i++)
		kill_and_bury(pids[i]);
	assert_int_equal(used_memory(), 0);
	munmap(box, sizeof(*box));
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_killed_while_they_share_leave_an_empty_card),
	};
	char card[64];
	int status;

	if (argc == 4 && !strcmp(argv[1], "storm"))
		return storm(atoi(argv[2]), (unsigned)strtoul(argv[3], NULL, 10));
	snprintf(card, sizeof(card), "test-sharing-kills-%d", (int)getpid());
	setenv("SOFTGPU_CARD", card, 1);
	if (nvmlInit() != NVML_SUCCESS)
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	nvmlShutdown();
	return status;
}
