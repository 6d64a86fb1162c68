#include "share_family.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int area_fd = -1;
static int sockets[SG_FAMILY_SIZE]; /* the parent's ends */
static pid_t children[SG_FAMILY_SIZE];

static struct sg_share_family *map_family(int fd)
{
	void *family = mmap(NULL, sizeof(struct sg_share_family), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);

	MUST(family == MAP_FAILED);
	return family;
}

static struct sg_share_family *create_family(void)
{
	struct sg_share_family *family;
	pthread_barrierattr_t attr;

	area_fd = memfd_create("family", 0);
	MUST(area_fd < 0);
	MUST(ftruncate(area_fd, sizeof(*family)));
	family = map_family(area_fd);
	MUST(pthread_barrierattr_init(&attr));
	MUST(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_barrier_init(&family->barrier, &attr, SG_FAMILY_SIZE + 1));
	return family;
}

int sg_share_family_join(int argc, char **argv, struct sg_share_family **family)
{
	/* Child: number, descriptor of the area; its socket is standard input. */
	if (argc == 3) {
		*family = map_family(atoi(argv[2]));
		return atoi(argv[1]);
	}
	*family = create_family();
	return -1;
}

/* A child that ends badly leaves others at the barrier for good: end all. */
static void notice_child(int signal)
{
	int status;

	(void)signal;
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		if (children[i] <= 0 || waitpid(children[i], &status, WNOHANG) != children[i])
			continue;
		children[i] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			_exit(1);
	}
}

void sg_share_family_start(void)
{
	char number[16], area[16];

	snprintf(area, sizeof(area), "%d", area_fd);
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		int pair[2];

		MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
		sockets[i] = pair[0];
		snprintf(number, sizeof(number), "%d", i);
		children[i] = fork();
		MUST(children[i] < 0);
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			dup2(pair[1], STDIN_FILENO);
			execl("/proc/self/exe", "child", number, area, (char *)NULL);
			_exit(127);
		}
		close(pair[1]);
	}
	signal(SIGCHLD, notice_child);
	notice_child(0); /* one may have gone before */
}

void sg_share_family_meet(struct sg_share_family *family)
{
	int error = pthread_barrier_wait(&family->barrier);

	MUST(error && error != PTHREAD_BARRIER_SERIAL_THREAD);
}

void sg_share_family_hand(int fd)
{
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		union {
			struct cmsghdr header;
			char space[CMSG_SPACE(sizeof(int))];
		} control = {.header = {.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS,
					.cmsg_len = CMSG_LEN(sizeof(int))}};
		struct iovec part = {.iov_base = (char[]){'!'}, .iov_len = 1};
		struct msghdr header = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = &control,
					.msg_controllen = sizeof(control.space)};

		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		MUST(sendmsg(sockets[i], &header, MSG_NOSIGNAL) != 1);
	}
}

int sg_share_family_take(void)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {{0}};
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr header = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = sizeof(control.space)};
	int fd = -1;

	MUST(recvmsg(STDIN_FILENO, &header, MSG_CMSG_CLOEXEC) != 1);
	MUST(!header.msg_controllen || control.header.cmsg_type != SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

int sg_share_family_wait(void)
{
	int failed = 0, status;

	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < SG_FAMILY_SIZE; i++)
		if (children[i] > 0 && (waitpid(children[i], &status, 0) != children[i] ||
					!WIFEXITED(status) || WEXITSTATUS(status)))
			failed = 1;
	return failed;
}
