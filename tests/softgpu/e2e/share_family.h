#ifndef SG_SHARE_FAMILY_H
#define SG_SHARE_FAMILY_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A parent and its children that meet on shared host memory, as programs with several processes do:
 * the children are the same program after exec, told their number, and know nothing else. For the
 * programs share_ipc.c, share_memmap.c and share_pool.c, which a script runs.
 */
#define SG_FAMILY_SIZE 3    /* children */
#define SG_FAMILY_AREA 8192 /* bytes that are the program's own */

struct sg_share_family {
	pthread_barrier_t barrier; /* of the parent and all children */
	_Alignas(64) char area[SG_FAMILY_AREA];
};

/* Ends the program, which its family notices. Works for runtime and driver: both say 0 for well. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		int must_error = (int)(call);                                                      \
                                                                                                   \
		if (must_error) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, must_error); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The number of this child, -1 in the parent. The family is there in both. */
int sg_share_family_join(int argc, char **argv, struct sg_share_family **family);

/* Parent: start the children. */
void sg_share_family_start(void);

/* Wait until everybody is here. A member that has failed ends all. */
void sg_share_family_meet(struct sg_share_family *family);

/* Descriptors: the parent hands one to each child; a child takes them in that order. */
void sg_share_family_hand(int fd);
int sg_share_family_take(void);

/* Parent: 0 if all children have ended well. */
int sg_share_family_wait(void);

#endif
