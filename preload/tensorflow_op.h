#ifndef VS_TENSORFLOW_OP_H
#define VS_TENSORFLOW_OP_H

#include <stdint.h>

#include "guard.h"

/*
 * What TensorFlow says the calling thread is doing: the operation, and what its memory is for
 * (output, temp, ...), from the annotation that it keeps for its own messages. As a frame of a
 * stack (record.h), 0: nothing is said. The texts are copied: they live as long as the operation.
 * *run: the number of the run of a function that it belongs to, 0: of none.
 */
uint64_t vs_tensorflow_op_get(struct vs_thread *self, uint64_t *run);

#endif
