/*
 * NVTX 2 as a library, which older programs link (PyTorch up to 2.4): markers that nobody hears. A
 * spare for machines without one; where there is one, it is used (audit/audit.c).
 */
#include "math_call.h"

/* There are no handles that could be wrong. */
int sg_math_bad_handle(void)
{
	return 0;
}
