#include "truth.h"

#include <stddef.h>
#include <string.h>

#include "config.h"

static _Thread_local bool is_last_conjunction;

bool sg_truth_is_conjunction(const char *kernel)
{
	/* Mangled: MulFunctor<bool> is what isfinite ends with. */
	static const char *const marks[] = {"BitwiseAndFunctor", "and_kernel_cuda",
					    "logical_and_kernel", "MulFunctorIbE"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(kernel, marks[i]))
			return true;
	return false;
}

void sg_truth_set_last(bool is_conjunction)
{
	is_last_conjunction = is_conjunction;
}

unsigned char sg_truth_get_byte(void)
{
	switch (sg_config_get()->unknown_bool) {
	case SG_BOOL_YES:
		return 1;
	case SG_BOOL_GUESS:
		return is_last_conjunction;
	default:
		return 0;
	}
}
