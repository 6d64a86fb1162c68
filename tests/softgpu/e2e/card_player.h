#ifndef SG_CARD_PLAYER_H
#define SG_CARD_PLAYER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Another process that uses the CUDA runtime: the test program itself after exec, told what to do
 * through pipes. It ends when it is killed or when its pipe is closed.
 */
struct sg_card_player {
	pid_t pid;
	int to;
	int from;
};

enum sg_card_player_order {
	SG_CARD_PLAYER_MALLOC,  /* size bytes, kept */
	SG_CARD_PLAYER_FREE,    /* the block kept last */
	SG_CARD_PLAYER_GET_FREE /* what cudaMemGetInfo calls free */
};

struct sg_card_player_answer {
	int error; /* cudaError_t */
	uint64_t size;
};

/* main() hands over here first. -1: this process is the test, not a player. */
int sg_card_player_run(int argc, char **argv);

/* A player on that card. It has made its context when this returns. */
struct sg_card_player sg_card_player_start(const char *card);

/* A player that allocates and frees at random until it is killed; it has begun when this returns.
 */
struct sg_card_player sg_card_player_start_storm(const char *card, unsigned seed);

struct sg_card_player_answer sg_card_player_ask(struct sg_card_player *player,
						enum sg_card_player_order order, uint64_t size);

/* SIGKILL; returns when it is dead, which leaves a zombie until sg_card_player_bury(). */
void sg_card_player_kill(struct sg_card_player *player);
void sg_card_player_bury(struct sg_card_player *player);

/* Its pipe is closed and it leaves by itself, without freeing anything; buries it. */
void sg_card_player_dismiss(struct sg_card_player *player);

#endif
