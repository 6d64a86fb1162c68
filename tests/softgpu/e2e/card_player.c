#include "card_player.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#define MAX_BLOCKS 64

struct order {
	enum sg_card_player_order order;
	uint64_t size;
};

static void *blocks[MAX_BLOCKS];
static unsigned nr_blocks;

static struct sg_card_player_answer obey(const struct order *order)
{
	struct sg_card_player_answer answer = {.error = cudaErrorInvalidValue};
	size_t free_size = 0, total = 0;

	switch (order->order) {
	case SG_CARD_PLAYER_MALLOC:
		if (nr_blocks == MAX_BLOCKS)
			break;
		answer.error = (int)cudaMalloc(&blocks[nr_blocks], order->size);
		nr_blocks += answer.error == cudaSuccess;
		break;
	case SG_CARD_PLAYER_FREE:
		if (nr_blocks)
			answer.error = (int)cudaFree(blocks[--nr_blocks]);
		break;
	case SG_CARD_PLAYER_GET_FREE:
		answer.error = (int)cudaMemGetInfo(&free_size, &total);
		answer.size = free_size;
	}
	return answer;
}

static int serve(void)
{
	struct sg_card_player_answer answer = {.error = (int)cudaFree(NULL)};
	struct order order;

	do {
		if (write(STDOUT_FILENO, &answer, sizeof(answer)) != sizeof(answer))
			return 1;
		if (read(STDIN_FILENO, &order, sizeof(order)) != sizeof(order))
			return 0;
		answer = obey(&order);
	} while (1);
}

/* All sorts of sizes, so that a kill hits every part of the bookkeeping. Out of memory is usual. */
static int storm(unsigned seed)
{
	struct sg_card_player_answer answer = {0};

	do { /* the others may leave no room for a context, but they also give back */
		answer.error = (int)cudaFree(NULL);
	} while (answer.error == cudaErrorMemoryAllocation);
	if (write(STDOUT_FILENO, &answer, sizeof(answer)) != sizeof(answer) || answer.error)
		return 1;
	for (;;) {
		unsigned i = (unsigned)rand_r(&seed) % MAX_BLOCKS;
		size_t size = (size_t)1 << ((unsigned)rand_r(&seed) % 25);

		if (blocks[i]) {
			if (cudaFree(blocks[i]) != cudaSuccess)
				return 1;
			blocks[i] = NULL;
		} else if (rand_r(&seed) % 2) {
			(void)cudaMalloc(&blocks[i], size);
		} else {
			(void)cudaMallocAsync(&blocks[i], size, NULL);
		}
	}
}

int sg_card_player_run(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "player"))
		return serve();
	if (argc == 3 && !strcmp(argv[1], "storm"))
		return storm((unsigned)strtoul(argv[2], NULL, 10));
	return -1;
}

static struct sg_card_player start(const char *card, const char *how, const char *seed)
{
	struct sg_card_player_answer answer;
	struct sg_card_player player;
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	player.pid = fork();
	assert_true(player.pid >= 0);
	if (player.pid == 0) {
		/* A test that fails leaves nobody behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		setenv("SOFTGPU_CARD", card, 1);
		execl("/proc/self/exe", "card_player", how, seed, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	player.to = to[1];
	player.from = from[0];
	assert_int_equal(read(player.from, &answer, sizeof(answer)), sizeof(answer));
	assert_int_equal(answer.error, cudaSuccess);
	return player;
}

struct sg_card_player sg_card_player_start(const char *card)
{
	return start(card, "player", NULL);
}

struct sg_card_player sg_card_player_start_storm(const char *card, unsigned seed)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", seed);
	return start(card, "storm", text);
}

struct sg_card_player_answer sg_card_player_ask(struct sg_card_player *player,
						enum sg_card_player_order order, uint64_t size)
{
	struct order message = {.order = order, .size = size};
	struct sg_card_player_answer answer;

	assert_int_equal(write(player->to, &message, sizeof(message)), sizeof(message));
	assert_int_equal(read(player->from, &answer, sizeof(answer)), sizeof(answer));
	return answer;
}

void sg_card_player_kill(struct sg_card_player *player)
{
	siginfo_t info;

	assert_int_equal(kill(player->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)player->pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_code, CLD_KILLED);
}

void sg_card_player_bury(struct sg_card_player *player)
{
	assert_int_equal(waitpid(player->pid, NULL, 0), player->pid);
	close(player->to);
	close(player->from);
}

void sg_card_player_dismiss(struct sg_card_player *player)
{
	int status;

	close(player->to);
	assert_int_equal(waitpid(player->pid, &status, 0), player->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(player->from);
}
