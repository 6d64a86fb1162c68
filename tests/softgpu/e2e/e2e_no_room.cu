/*
 * Somebody else has the whole card when the program starts: its first calls fail for want of
 * memory. Later there is room, and the very same calls work.
 */
#include "e2e_check.cuh"

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static __global__ void work(int *data)
{
	data[0] = 1;
}

static cudaError_t launch()
{
	work<<<1, 32>>>(nullptr);
	return cudaGetLastError();
}

/* Takes all there is and waits to be killed. */
static void hold(int ready)
{
	size_t free_bytes, total;
	void *data;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(cudaMemGetInfo(&free_bytes, &total));
	CHECK(cudaMalloc(&data, free_bytes));
	EXPECT(write(ready, "", 1) == 1);
	pause();
}

int main()
{
	char card[32], byte;
	int ready[2];
	void *data;
	pid_t holder;

	snprintf(card, sizeof(card), "e2e-no-room-%d", (int)getpid());
	setenv("SOFTGPU_CARD", card, 0);
	EXPECT(pipe(ready) == 0);
	holder = fork();
	EXPECT(holder >= 0);
	if (holder == 0)
		hold(ready[1]);
	close(ready[1]);
	EXPECT(read(ready[0], &byte, 1) == 1);
	EXPECT(launch() == cudaErrorMemoryAllocation);
	EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&data, 1));
	EXPECT(launch() == cudaErrorMemoryAllocation);
	EXPECT(kill(holder, SIGKILL) == 0);
	EXPECT(waitpid(holder, nullptr, 0) == holder);
	EXPECT(launch() == cudaSuccess);
	CHECK(cudaMalloc(&data, 1 << 20));
	CHECK(cudaFree(data));
	check_maps();
	return 0;
}
