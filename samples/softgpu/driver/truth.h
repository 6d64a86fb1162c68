#ifndef SG_TRUTH_H
#define SG_TRUTH_H

#include <stdbool.h>

/*
 * What a yes or no reads as that a kernel should have written (SOFTGPU_BOOL, docs/softgpu.md). All
 * that is known of it is the kernel: the last one that the thread has launched. A conjunction asks
 * whether all is as it should be ("no probability is negative, and none infinite"), and is taken to
 * hold; anything else is taken not to.
 */

/* By its name: one of PyTorch's that joins by "and", or multiplies, two yes or no. */
bool sg_truth_is_conjunction(const char *kernel);

/* What the last kernel of this thread was. */
void sg_truth_set_last(bool is_conjunction);

/* What a byte reads as that nobody has written. */
unsigned char sg_truth_get_byte(void);

#endif
