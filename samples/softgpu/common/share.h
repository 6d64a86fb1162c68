#ifndef SG_SHARE_H
#define SG_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "card.h"

/*
 * What processes of one card share: memory, pools, events. A table on the card has an entry for
 * each; a process that uses one holds it, and so does every file descriptor that was made of it. An
 * entry is gone when nobody holds it any more. Processes that die are seen by the card (card.h),
 * which takes their holds back; a descriptor holds by a lock that the kernel drops when the last
 * copy of it is closed, wherever that is, also on its way through a socket.
 *
 * Memory that is shared is charged to its entry, not to a process: once, however many have it
 * open, and until the last of them is gone.
 *
 * Bytes of memory that was made to be shared are in the card's own file, which every process of the
 * card has open. So they outlive the process that made them.
 *
 * Any thread may call any of these.
 */
#define SG_SHARE_MAX 65536 /* entries of a card */

enum sg_share_kind {
	SG_SHARE_MEMORY = 1, /* pages in the card's file */
	SG_SHARE_LENT,       /* pages in a file of the process that made them */
	SG_SHARE_BLOCK,      /* an allocation in such pages, as long as it is not freed */
	SG_SHARE_POOL,
	SG_SHARE_EVENT,
};

/* Names an entry for good: an index is used again, an id never. */
struct sg_share_key {
	uint64_t id; /* 0: none */
	uint32_t index;
	uint32_t kind; /* enum sg_share_kind */
};

struct sg_share {
	int32_t device;  /* index on the card, -1: on the host */
	int32_t fd;      /* SG_SHARE_LENT: the file, as its process numbers it */
	uint64_t size;   /* charged to the device */
	uint64_t offset; /* of the bytes in their file */
	uint64_t inode;  /* SG_SHARE_LENT: of the file, to know it by */
	int32_t pid;     /* who made it */
	/* SG_SHARE_BLOCK: offset is that in the pages, */
	struct sg_share_key pages;
	uint64_t length; /* of the allocation */
	uint64_t pool;   /* id of the pool it is of; 0: none */
};

/*
 * Make an entry that this process holds. Its size is taken over from what this process has charged
 * on the device; SG_SHARE_MEMORY also gets a place in the card's file (offset is set). 0, or -1:
 * the table or the file is full, or the card has none; nothing has changed then.
 */
int sg_share_create(struct sg_card *card, enum sg_share_kind kind, struct sg_share *share,
		    struct sg_share_key *key);

/* Hold an entry, once more if this process does already. -1: there is no such entry (any more). */
int sg_share_open(struct sg_card *card, const struct sg_share_key *key, struct sg_share *share);

/* Undo one create or open. The last one of all takes the entry, its charge and its bytes away. */
void sg_share_close(struct sg_card *card, const struct sg_share_key *key);

/* Whether the entry is there: a cheap look, which takes the dead for living. */
bool sg_share_exists(struct sg_card *card, const struct sg_share_key *key);

/* A descriptor that holds the entry until it is closed; -1 if none can be had. */
int sg_share_export(struct sg_card *card, const struct sg_share_key *key);

/* The entry behind a descriptor of sg_share_export(). -1: it is none, or one of another card. */
int sg_share_identify(struct sg_card *card, int fd, struct sg_share_key *key);

/* The card's file, where bytes of SG_SHARE_MEMORY are; -1: there is none, nothing can be shared. */
int sg_share_get_file(const struct sg_card *card);

/* A number that tells the card from all others there are now. */
uint64_t sg_share_get_card_id(const struct sg_card *card);

#endif
