#include "share_player.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#define MAX_THINGS 64

/* Whatever the player keeps by number. */
static struct thing {
	void *memory;
	cudaEvent_t event;
	cudaMemPool_t pool;
	CUmemGenericAllocationHandle physical;
	size_t size;
} things[MAX_THINGS];
static unsigned nr_things;

static bool send_message(int socket, const struct sg_share_message *message)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (message->fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control.space);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &message->fd, sizeof(int));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof(*message);
}

static bool receive_message(int socket, struct sg_share_message *message)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
	struct msghdr header = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = sizeof(control.space)};

	if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*message))
		return false;
	message->fd = -1;
	if (header.msg_controllen && control.header.cmsg_type == SCM_RIGHTS)
		memcpy(&message->fd, CMSG_DATA(&control.header), sizeof(int));
	return true;
}

static struct thing *new_thing(struct sg_share_message *answer)
{
	answer->index = nr_things;
	return &things[nr_things++ % MAX_THINGS];
}

static int obey_memory(const struct sg_share_message *order, struct thing *thing,
		       struct sg_share_message *answer)
{
	cudaIpcMemHandle_t handle;
	int error;

	switch (order->order) {
	case SG_SHARE_MALLOC:
		thing = new_thing(answer);
		error = (int)cudaMalloc(&thing->memory, order->size);
		answer->size = (uintptr_t)thing->memory;
		return error;
	case SG_SHARE_FREE:
		return (int)cudaFree(thing->memory);
	case SG_SHARE_GET_MEM_HANDLE:
		return (int)cudaIpcGetMemHandle((cudaIpcMemHandle_t *)(void *)answer->bytes,
						thing->memory);
	case SG_SHARE_OPEN_MEM:
		memcpy(&handle, order->bytes, sizeof(handle));
		thing = new_thing(answer);
		error = (int)cudaIpcOpenMemHandle(&thing->memory, handle,
						  cudaIpcMemLazyEnablePeerAccess);
		answer->size = (uintptr_t)thing->memory;
		return error;
	case SG_SHARE_CLOSE_MEM:
		return (int)cudaIpcCloseMemHandle(thing->memory);
	case SG_SHARE_WRITE:
		return (int)cudaMemcpy((char *)thing->memory + order->offset, &order->value,
				       sizeof(order->value), cudaMemcpyHostToDevice);
	default:
		return (int)cudaMemcpy(&answer->value, (char *)thing->memory + order->offset,
				       sizeof(answer->value), cudaMemcpyDeviceToHost);
	}
}

static int use_event(cudaEvent_t event)
{
	cudaError_t error = cudaEventRecord(event, NULL);

	if (!error)
		error = cudaStreamWaitEvent(NULL, event, 0);
	if (!error)
		error = cudaEventQuery(event);
	return (int)(error ? error : cudaEventSynchronize(event));
}

static int obey_event(const struct sg_share_message *order, struct thing *thing,
		      struct sg_share_message *answer)
{
	cudaIpcEventHandle_t handle;

	switch (order->order) {
	case SG_SHARE_CREATE_EVENT:
		return (int)cudaEventCreateWithFlags(&new_thing(answer)->event,
						     (unsigned)order->size);
	case SG_SHARE_GET_EVENT_HANDLE:
		return (int)cudaIpcGetEventHandle((cudaIpcEventHandle_t *)(void *)answer->bytes,
						  thing->event);
	case SG_SHARE_OPEN_EVENT:
		memcpy(&handle, order->bytes, sizeof(handle));
		return (int)cudaIpcOpenEventHandle(&new_thing(answer)->event, handle);
	case SG_SHARE_USE_EVENT:
		return use_event(thing->event);
	default:
		return (int)cudaEventDestroy(thing->event);
	}
}

/* Physical memory at an address, where it can be copied to. */
static int map_physical(struct thing *thing)
{
	const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address;
	CUresult result = cuMemAddressReserve(&address, thing->size, 0, 0, 0);

	if (result == CUDA_SUCCESS)
		result = cuMemMap(address, thing->size, 0, thing->physical, 0);
	if (result == CUDA_SUCCESS)
		result = cuMemSetAccess(address, thing->size, &access, 1);
	thing->memory = (void *)(uintptr_t)address;
	return (int)result;
}

static int drop_physical(struct thing *thing)
{
	CUdeviceptr address = (uintptr_t)thing->memory;
	CUresult result = cuMemUnmap(address, thing->size);

	if (result == CUDA_SUCCESS)
		result = cuMemAddressFree(address, thing->size);
	if (result == CUDA_SUCCESS)
		result = cuMemRelease(thing->physical);
	return (int)result;
}

static int obey_physical(const struct sg_share_message *order, struct thing *thing,
			 struct sg_share_message *answer)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .requestedHandleTypes =
						  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUresult result;

	switch (order->order) {
	case SG_SHARE_CREATE_PHYSICAL:
		thing = new_thing(answer);
		thing->size = order->size;
		result = cuMemCreate(&thing->physical, order->size, &prop, 0);
		return result == CUDA_SUCCESS ? map_physical(thing) : (int)result;
	case SG_SHARE_EXPORT_PHYSICAL:
		return (int)cuMemExportToShareableHandle(
			&answer->fd, thing->physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	case SG_SHARE_IMPORT_PHYSICAL:
		thing = new_thing(answer);
		thing->size = order->size;
		result = cuMemImportFromShareableHandle(&thing->physical,
							(void *)(intptr_t)order->fd,
							CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
		return result == CUDA_SUCCESS ? map_physical(thing) : (int)result;
	default:
		return drop_physical(thing);
	}
}

static int obey_pool(const struct sg_share_message *order, struct thing *thing,
		     struct sg_share_message *answer)
{
	const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
					       .handleTypes = cudaMemHandleTypePosixFileDescriptor,
					       .location = {.type = cudaMemLocationTypeDevice}};
	struct cudaMemPoolPtrExportData data;

	switch (order->order) {
	case SG_SHARE_CREATE_POOL:
		return (int)cudaMemPoolCreate(&new_thing(answer)->pool, &props);
	case SG_SHARE_EXPORT_POOL:
		return (int)cudaMemPoolExportToShareableHandle(
			&answer->fd, thing->pool, cudaMemHandleTypePosixFileDescriptor, 0);
	case SG_SHARE_IMPORT_POOL:
		return (int)cudaMemPoolImportFromShareableHandle(
			&new_thing(answer)->pool, (void *)(intptr_t)order->fd,
			cudaMemHandleTypePosixFileDescriptor, 0);
	case SG_SHARE_DESTROY_POOL:
		return (int)cudaMemPoolDestroy(thing->pool);
	case SG_SHARE_POOL_MALLOC:
		return (int)cudaMallocFromPoolAsync(&new_thing(answer)->memory, order->size,
						    thing->pool, NULL);
	case SG_SHARE_POOL_FREE:
		return (int)cudaFreeAsync(thing->memory, NULL);
	case SG_SHARE_EXPORT_POINTER:
		return (int)cudaMemPoolExportPointer(
			(struct cudaMemPoolPtrExportData *)(void *)answer->bytes, thing->memory);
	default:
		memcpy(&data, order->bytes, sizeof(data));
		return (int)cudaMemPoolImportPointer(&new_thing(answer)->memory, thing->pool,
						     &data);
	}
}

static int identify(unsigned char bytes[64])
{
	CUresult result = cuDeviceGetUuid_v2((CUuuid *)(void *)bytes, 0);

	return (int)(result ? result : cuDeviceGetPCIBusId((char *)bytes + 16, 48, 0));
}

static struct sg_share_message obey(const struct sg_share_message *order)
{
	struct sg_share_message answer = {.index = order->index, .fd = -1};
	struct thing *thing = &things[order->index % MAX_THINGS];
	size_t free_size = 0, total;

	if (order->order <= SG_SHARE_READ) {
		answer.error = obey_memory(order, thing, &answer);
	} else if (order->order <= SG_SHARE_DESTROY_EVENT) {
		answer.error = obey_event(order, thing, &answer);
	} else if (order->order <= SG_SHARE_DROP_PHYSICAL) {
		answer.error = obey_physical(order, thing, &answer);
	} else if (order->order <= SG_SHARE_IMPORT_POINTER) {
		answer.error = obey_pool(order, thing, &answer);
	} else if (order->order == SG_SHARE_GET_FREE) {
		answer.error = (int)cudaMemGetInfo(&free_size, &total);
		answer.size = free_size;
	} else if (order->order == SG_SHARE_RESET) {
		answer.error = (int)cudaDeviceReset();
	} else {
		answer.error = identify(answer.bytes);
	}
	return answer;
}

int sg_share_player_run(int argc, char **argv)
{
	struct sg_share_message answer = {.fd = -1}, order;

	if (argc != 2 || strcmp(argv[1], "share_player") != 0)
		return -1;
	answer.error = (int)cudaFree(NULL);
	do {
		if (!send_message(STDIN_FILENO, &answer))
			return 1;
		if (answer.fd >= 0)
			close(answer.fd);
		if (!receive_message(STDIN_FILENO, &order))
			return 0;
		answer = obey(&order);
		if (order.fd >= 0)
			close(order.fd);
	} while (1);
}

struct sg_share_player sg_share_player_start(const char *card, const char *visible)
{
	struct sg_share_player player;
	struct sg_share_message hello;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	player.pid = fork();
	assert_true(player.pid >= 0);
	if (player.pid == 0) {
		/* A test that fails leaves nobody behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pair[1], STDIN_FILENO);
		setenv("SOFTGPU_CARD", card, 1);
		if (visible)
			setenv("CUDA_VISIBLE_DEVICES", visible, 1);
		execl("/proc/self/exe", "share_player", "share_player", (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	player.socket = pair[0];
	assert_true(receive_message(player.socket, &hello));
	assert_int_equal(hello.error, cudaSuccess);
	return player;
}

struct sg_share_message sg_share_player_tell(struct sg_share_player *player,
					     const struct sg_share_message *message)
{
	struct sg_share_message answer;

	assert_true(send_message(player->socket, message));
	assert_true(receive_message(player->socket, &answer));
	return answer;
}

struct sg_share_message sg_share_player_ask(struct sg_share_player *player,
					    enum sg_share_order order, unsigned index,
					    uint64_t size)
{
	struct sg_share_message message = {.order = order, .index = index, .size = size, .fd = -1};

	return sg_share_player_tell(player, &message);
}

void sg_share_player_kill(struct sg_share_player *player)
{
	siginfo_t info;

	assert_int_equal(kill(player->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)player->pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_code, CLD_KILLED);
}

void sg_share_player_bury(struct sg_share_player *player)
{
	assert_int_equal(waitpid(player->pid, NULL, 0), player->pid);
	close(player->socket);
}

void sg_share_player_dismiss(struct sg_share_player *player)
{
	int status;

	close(player->socket);
	assert_int_equal(waitpid(player->pid, &status, 0), player->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
