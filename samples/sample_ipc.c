/*
 * Two processes and one card: a lender that allocates, and a borrower that opens what it is told
 * of. Opened memory is not the borrower's own: it costs the card nothing more, and the books have
 * it apart.
 */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

#define NR_BUFFERS 3
#define BUFFER(i)  ((size_t)((i) + 1) * 4 * MIB)
#define POOLED     (3 * MIB)
#define OWN        (2 * MIB)
#define LINE       STDIN_FILENO /* the borrower's end of it */

/* What the lender says of its memory, with the pool's descriptor. */
struct offer {
	cudaIpcMemHandle_t buffers[NR_BUFFERS];
	cudaIpcMemHandle_t freed; /* of memory that is gone */
	struct cudaMemPoolPtrExportData pooled;
};

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static void send_offer(int line, struct offer *offer, int fd)
{
	union control control = {.header = {.cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS,
					    .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec part = {.iov_base = offer, .iov_len = sizeof(*offer)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(line, &message, 0) != (ssize_t)sizeof(*offer))
		exit(1);
}

static int receive_offer(int line, struct offer *offer)
{
	union control control = {{0}};
	struct iovec part = {.iov_base = offer, .iov_len = sizeof(*offer)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};
	int fd = -1;

	if (recvmsg(line, &message, 0) != (ssize_t)sizeof(*offer) || !message.msg_controllen)
		exit(1);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static void *open_buffer(struct book *ipc, cudaIpcMemHandle_t handle, size_t size)
{
	void *memory;

	if (cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
		cudaGetLastError(); /* seen */
		book_failed(ipc);
		return NULL;
	}
	book_alloc(ipc, size);
	return memory;
}

static void *import_pooled(struct book *ipc, struct offer *offer, int fd)
{
	cudaMemPool_t pool;
	void *memory;

	CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
						   cudaMemHandleTypePosixFileDescriptor, 0));
	CHECK(cudaMemPoolImportPointer(&memory, pool, &offer->pooled));
	book_alloc(ipc, POOLED);
	return memory;
}

/* Opens everything, gives back a part, and leaves the rest to its end. */
static int borrow(void)
{
	struct book device = {.name = "device"}, ipc = {.name = "ipc"};
	void *buffers[NR_BUFFERS], *pooled, *own = device_alloc(&device, OWN);
	struct offer offer;
	int fd = receive_offer(LINE, &offer);

	for (int i = 0; i < NR_BUFFERS; i++) {
		buffers[i] = open_buffer(&ipc, offer.buffers[i], BUFFER(i));
		if (!own || !buffers[i])
			return 1;
		CHECK(cudaMemcpy(buffers[i], own, OWN, cudaMemcpyDeviceToDevice));
	}
	pooled = import_pooled(&ipc, &offer, fd);
	if (open_buffer(&ipc, offer.freed, 1))
		return 1;
	CHECK(cudaIpcCloseMemHandle(buffers[0]));
	book_free(&ipc, BUFFER(0));
	CHECK(cudaFreeAsync(pooled, NULL));
	book_free(&ipc, POOLED);
	printf("process=borrower\n");
	book_print(&device);
	book_print(&ipc);
	fflush(stdout);
	return 0;
}

static pid_t start_borrower(int line)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(line, LINE);
	execl("/proc/self/exe", "ipc", "borrower", (char *)NULL);
	_exit(127);
}

static int lend(int line)
{
	const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
					       .handleTypes = cudaMemHandleTypePosixFileDescriptor,
					       .location = {.type = cudaMemLocationTypeDevice}};
	struct book device = {.name = "device"}, async = {.name = "async"};
	void *buffers[NR_BUFFERS], *pooled, *gone;
	struct offer offer;
	cudaMemPool_t pool;
	int fd, status;

	for (int i = 0; i < NR_BUFFERS; i++) {
		buffers[i] = device_alloc(&device, BUFFER(i));
		CHECK(cudaIpcGetMemHandle(&offer.buffers[i], buffers[i]));
	}
	gone = device_alloc(&device, 5 * MIB);
	CHECK(cudaIpcGetMemHandle(&offer.freed, gone));
	device_free(&device, gone, 5 * MIB);
	CHECK(cudaMemPoolCreate(&pool, &props));
	CHECK(cudaMemPoolExportToShareableHandle(&fd, pool, props.handleTypes, 0));
	CHECK(cudaMallocFromPoolAsync(&pooled, POOLED, pool, NULL));
	book_alloc(&async, POOLED);
	CHECK(cudaMemPoolExportPointer(&offer.pooled, pooled));
	send_offer(line, &offer, fd);
	close(fd);
	if (wait(&status) < 0 || status)
		return 1;
	for (int i = 1; i < NR_BUFFERS; i++)
		device_free(&device, buffers[i], BUFFER(i));
	printf("process=lender\n");
	book_print(&device);
	book_print(&async);
	return 0;
}

int main(int argc, char **argv)
{
	int pair[2];

	(void)argv;
	if (argc == 2)
		return borrow();
	/* Before CUDA is used: a child cannot go on with its parent's device. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    start_borrower(pair[1]) < 0)
		return 1;
	return lend(pair[0]);
}
