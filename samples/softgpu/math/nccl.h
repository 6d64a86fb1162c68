#ifndef SG_NCCL_H
#define SG_NCCL_H

#include <stddef.h>

#include "math_call.h"

/*
 * What the files of libnccl share. A communicator is bookkeeping: it knows how many ranks there are
 * and which one this is, and talks to none of them. What others would send is taken to be what this
 * rank has itself, as is true of the sizes and counts that programs compare at their start; what
 * one rank alone would send to the others (a broadcast) stays as it is.
 */
#define SG_NCCL_COMM SG_MATH_FIRST_OWN

/* ncclResult_t */
enum sg_nccl_result {
	SG_NCCL_SUCCESS = 0,
	SG_NCCL_CUDA_ERROR = 1,
	SG_NCCL_SYSTEM_ERROR = 2,
	SG_NCCL_INVALID_ARGUMENT = 4,
};

struct sg_nccl_comm {
	int nr_ranks;
	int rank;
	int device;
};

/* NULL if it is no communicator. Any thread. */
struct sg_nccl_comm *sg_nccl_comm_get(const void *handle);

#endif
