#ifndef SG_MANY_KERNELS_H
#define SG_MANY_KERNELS_H

/*
 * A program with as much device code as PyTorch brings: what nvcc's code does before main(), done
 * by hand.
 */
#define SG_MANY_KERNELS_NR      24133
#define SG_MANY_KERNELS_NR_VARS 18430
#define SG_MANY_KERNELS_VAR     64 /* bytes of a variable; the i-th has i % 7 more */

/* Makes the names; not part of what a program does. Once, before the next. */
void sg_many_kernels_init(void);

void sg_many_kernels_register(void);
void sg_many_kernels_unregister(void);

/* What stands for the kernel or variable on the host. */
const void *sg_many_kernels_get_kernel(int i);
const void *sg_many_kernels_get_var(int i);

#endif
