#ifndef SG_SHARE_PLAYER_H
#define SG_SHARE_PLAYER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Another process that shares memory with others: the test program itself after exec, told what to
 * do through a socket that carries descriptors, too. It keeps what it makes by number. It ends when
 * it is killed or when its socket is closed.
 */
struct sg_share_player {
	pid_t pid;
	int socket;
};

enum sg_share_order {
	/* memory: the answer's index is its number */
	SG_SHARE_MALLOC,         /* cudaMalloc of size; the answer's size: address */
	SG_SHARE_FREE,           /* cudaFree */
	SG_SHARE_GET_MEM_HANDLE, /* bytes */
	SG_SHARE_OPEN_MEM,       /* of bytes; size: address */
	SG_SHARE_CLOSE_MEM,
	SG_SHARE_WRITE, /* value at offset of memory of index, by a copy */
	SG_SHARE_READ,  /* value */
	/* events */
	SG_SHARE_CREATE_EVENT, /* size: flags */
	SG_SHARE_GET_EVENT_HANDLE,
	SG_SHARE_OPEN_EVENT,
	SG_SHARE_USE_EVENT, /* record, wait, query, synchronize */
	SG_SHARE_DESTROY_EVENT,
	/* physical memory, mapped where it can be copied to */
	SG_SHARE_CREATE_PHYSICAL, /* of size, shareable */
	SG_SHARE_EXPORT_PHYSICAL, /* fd */
	SG_SHARE_IMPORT_PHYSICAL, /* of fd; size: as mapped */
	SG_SHARE_DROP_PHYSICAL,   /* unmap and release */
	/* pools */
	SG_SHARE_CREATE_POOL,
	SG_SHARE_EXPORT_POOL, /* fd */
	SG_SHARE_IMPORT_POOL, /* of fd */
	SG_SHARE_DESTROY_POOL,
	SG_SHARE_POOL_MALLOC, /* of size from the pool of index */
	SG_SHARE_POOL_FREE,
	SG_SHARE_EXPORT_POINTER,
	SG_SHARE_IMPORT_POINTER, /* of bytes, from the pool of index */
	/* other */
	SG_SHARE_GET_FREE, /* size */
	SG_SHARE_RESET,    /* cudaDeviceReset */
	SG_SHARE_IDENTIFY, /* bytes: UUID and PCI id of device 0 */
};

struct sg_share_message {
	union {
		enum sg_share_order order;
		int error; /* cudaError_t, or CUresult of driver calls */
	};
	unsigned index;
	uint64_t size;
	uint64_t offset;
	uint64_t value;
	unsigned char bytes[64];
	int fd; /* -1: none; the receiver has to close it */
};

/* main() of the test program hands over here first. -1: this process is the test, not a player. */
int sg_share_player_run(int argc, char **argv);

/* Started on that card, with CUDA_VISIBLE_DEVICES set unless NULL; it has a context already. */
struct sg_share_player sg_share_player_start(const char *card, const char *visible);

/* Do as the message says; an fd in it is sent along and stays the caller's. */
struct sg_share_message sg_share_player_tell(struct sg_share_player *player,
					     const struct sg_share_message *message);

/* The same with a few of the fields. */
struct sg_share_message sg_share_player_ask(struct sg_share_player *player,
					    enum sg_share_order order, unsigned index,
					    uint64_t size);

/* SIGKILL; returns when it is dead, which leaves a zombie until it is buried. */
void sg_share_player_kill(struct sg_share_player *player);
void sg_share_player_bury(struct sg_share_player *player);

/* Let it end by itself, without freeing anything; it must succeed. */
void sg_share_player_dismiss(struct sg_share_player *player);

#endif
