#ifndef SG_CARD_ACTOR_H
#define SG_CARD_ACTOR_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Another process on a card, played by the test program itself after exec, told what to do through
 * pipes: one request, one reply. It ends when it is killed or when its pipe is closed.
 */
struct sg_card_actor {
	pid_t pid;
	int to;
	int from;
};

enum sg_card_request_kind {
	SG_CARD_REQUEST_CHARGE,
	SG_CARD_REQUEST_UNCHARGE,
	SG_CARD_REQUEST_USAGE,
	SG_CARD_REQUEST_CLOSE,
	SG_CARD_REQUEST_LEAVE, /* the first thread ends, a second one goes on */
};

struct sg_card_request {
	enum sg_card_request_kind kind;
	int device;
	uint64_t size;
};

struct sg_card_reply {
	int result;
	int nr_devices;
	uint64_t total;
	uint64_t used;
};

/* main() of the test program hands over here first. -1: this process is the test, not an actor. */
int sg_card_actor_run(int argc, char **argv);

/* NULL name: a private card. The card is open when the first reply comes. */
struct sg_card_actor sg_card_actor_start(const char *name, uint64_t capacity, int nr_devices);
void sg_card_actor_send(struct sg_card_actor *actor, enum sg_card_request_kind kind, int device,
			uint64_t size);
struct sg_card_reply sg_card_actor_receive(struct sg_card_actor *actor);

/* send and receive */
struct sg_card_reply sg_card_actor_ask(struct sg_card_actor *actor, enum sg_card_request_kind kind,
				       int device, uint64_t size);

/* SIGKILL; returns when it is dead, which leaves a zombie until sg_card_actor_bury(). */
void sg_card_actor_kill(struct sg_card_actor *actor);
void sg_card_actor_bury(struct sg_card_actor *actor);

#endif
