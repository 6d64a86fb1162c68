#include "card_actor.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"

static struct sg_card *card;

static void serve(void);

/* The first thread's state, as the kernel shows it for the whole process. */
static char read_state(void)
{
	char path[64], text[512] = "", *after_name;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return '?';
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	after_name = strrchr(text, ')');
	return after_name ? after_name[2] : '?';
}

static void *serve_without_leader(void *unused)
{
	struct sg_card_reply reply = {.result = 0};

	while (read_state() != 'Z')
		sched_yield();
	if (write(STDOUT_FILENO, &reply, sizeof(reply)) == sizeof(reply))
		serve();
	_exit(0);
	return unused;
}

static void leave(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, serve_without_leader, NULL) != 0)
		_exit(1);
	pthread_exit(NULL);
}

static struct sg_card_reply do_request(const struct sg_card_request *request)
{
	struct sg_card_reply reply = {.result = 0};

	switch (request->kind) {
	case SG_CARD_REQUEST_CHARGE:
		reply.result = sg_card_charge(card, request->device, request->size);
		break;
	case SG_CARD_REQUEST_UNCHARGE:
		sg_card_uncharge(card, request->device, request->size);
		break;
	case SG_CARD_REQUEST_USAGE:
		reply.nr_devices = sg_card_get_nr_devices(card);
		sg_card_get_usage(card, request->device, &reply.total, &reply.used);
		break;
	case SG_CARD_REQUEST_CLOSE:
		sg_card_close(card);
		card = NULL;
		break;
	case SG_CARD_REQUEST_LEAVE:
		leave(); /* the reply comes from the other thread */
	}
	return reply;
}

static void serve(void)
{
	struct sg_card_request request;

	while (read(STDIN_FILENO, &request, sizeof(request)) == sizeof(request)) {
		struct sg_card_reply reply = do_request(&request);

		if (write(STDOUT_FILENO, &reply, sizeof(reply)) != sizeof(reply))
			break;
	}
}

int sg_card_actor_run(int argc, char **argv)
{
	struct sg_config config = {.nr_devices = 1};

	if (argc < 5 || strcmp(argv[1], "actor") != 0)
		return -1;
	config.profile.memory_size = strtoull(argv[3], NULL, 10);
	config.nr_devices = atoi(argv[4]);
	card = sg_card_open(*argv[2] ? argv[2] : NULL, &config);
	if (!card)
		return 1;
	serve();
	if (card)
		sg_card_close(card);
	return 0;
}

struct sg_card_actor sg_card_actor_start(const char *name, uint64_t capacity, int nr_devices)
{
	struct sg_card_actor actor;
	char capacity_text[32], devices_text[16];
	int to[2], from[2];

	snprintf(capacity_text, sizeof(capacity_text), "%llu", (unsigned long long)capacity);
	snprintf(devices_text, sizeof(devices_text), "%d", nr_devices);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	actor.pid = fork();
	assert_true(actor.pid >= 0);
	if (actor.pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execl("/proc/self/exe", "test_card", "actor", name ? name : "", capacity_text,
		      devices_text, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	actor.to = to[1];
	actor.from = from[0];
	return actor;
}

void sg_card_actor_send(struct sg_card_actor *actor, enum sg_card_request_kind kind, int device,
			uint64_t size)
{
	struct sg_card_request request = {.kind = kind, .device = device, .size = size};

	assert_int_equal(write(actor->to, &request, sizeof(request)), sizeof(request));
}

struct sg_card_reply sg_card_actor_receive(struct sg_card_actor *actor)
{
	struct sg_card_reply reply;

	assert_int_equal(read(actor->from, &reply, sizeof(reply)), sizeof(reply));
	return reply;
}

struct sg_card_reply sg_card_actor_ask(struct sg_card_actor *actor, enum sg_card_request_kind kind,
				       int device, uint64_t size)
{
	sg_card_actor_send(actor, kind, device, size);
	return sg_card_actor_receive(actor);
}

void sg_card_actor_kill(struct sg_card_actor *actor)
{
	siginfo_t info;

	assert_int_equal(kill(actor->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)actor->pid, &info, WEXITED | WNOWAIT), 0);
}

void sg_card_actor_bury(struct sg_card_actor *actor)
{
	assert_int_equal(waitpid(actor->pid, NULL, 0), actor->pid);
	close(actor->to);
	close(actor->from);
}
