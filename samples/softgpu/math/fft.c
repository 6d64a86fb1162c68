/*
 * libcufft: plans. A plan's handle is a small number; it holds a work area of its own unless the
 * program brings one. How large the real one is depends on the factors of the sizes and is not
 * public: here it is one copy of the complex data.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "math_call.h"
#include "math_device.h"

/* cufftResult */
#define INVALID_PLAN  1
#define ALLOC_FAILED  2
#define INVALID_VALUE 4
#define INVALID_SIZE  8

#define MAX_RANK 3

struct plan {
	bool is_used;
	bool is_made;
	bool brings_own_area; /* cufftSetAutoAllocation(plan, 0) */
	size_t work_size;
	void *area;
	void *stream;
};

/* The lock guards the table; a plan itself belongs to one thread at a time. */
static struct {
	pthread_mutex_t lock;
	struct plan **plans;
	int nr_plans;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

int sg_math_bad_handle(void)
{
	return INVALID_PLAN;
}

static struct plan *get(int handle)
{
	struct plan *plan = NULL;

	pthread_mutex_lock(&table.lock);
	if (handle >= 1 && handle <= table.nr_plans && table.plans[handle - 1]->is_used)
		plan = table.plans[handle - 1];
	pthread_mutex_unlock(&table.lock);
	return plan;
}

/* 0 when memory is out. Handles of destroyed plans are not given out again. */
static int add(void)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct plan **plans;
	int handle = 0;

	if (!plan)
		return 0;
	plan->is_used = true;
	pthread_mutex_lock(&table.lock);
	plans = realloc(table.plans, (size_t)(table.nr_plans + 1) * sizeof(*plans));
	if (plans) {
		table.plans = plans;
		plans[table.nr_plans++] = plan;
		handle = table.nr_plans;
	} else {
		free(plan);
	}
	pthread_mutex_unlock(&table.lock);
	return handle;
}

SG_MATH_API(int, cufftCreate, int *handle)
{
	int made;

	if (!handle)
		return INVALID_VALUE;
	made = add();
	if (!made)
		return ALLOC_FAILED;
	*handle = made;
	return 0;
}

SG_MATH_API(int, cufftDestroy, int handle)
{
	struct plan *plan = get(handle);

	if (!plan)
		return INVALID_PLAN;
	sg_math_device_free(plan->area);
	plan->area = NULL;
	plan->is_used = false;
	return 0;
}

/* cufftType: the double precision ones are Z2Z, D2Z, Z2D. */
static bool is_double(int type)
{
	return type == 0x69 || type == 0x6a || type == 0x6c;
}

/* cudaDataType: CUDA_R_64F, CUDA_C_64F; CUDA_R_16F, CUDA_C_16F and their bfloat16 kin. */
static size_t complex_size(int data_type)
{
	if (data_type == 1 || data_type == 5)
		return 16;
	return data_type == 2 || data_type == 6 || data_type == 14 || data_type == 15 ? 4 : 8;
}

static int work_size(int rank, const long long *n, long long batch, size_t element, size_t *size)
{
	size_t nr = 1;

	if (rank < 1 || rank > MAX_RANK || !n || batch < 1)
		return INVALID_SIZE;
	for (int i = 0; i < rank; i++) {
		if (n[i] < 1)
			return INVALID_SIZE;
		nr *= (size_t)n[i];
	}
	*size = nr * (size_t)batch * element;
	return 0;
}

static int make(int handle, int rank, const long long *n, long long batch, size_t element,
		size_t *size)
{
	static int noted;
	struct plan *plan = get(handle);
	size_t needed = 0;
	int err;

	if (!plan)
		return INVALID_PLAN;
	err = work_size(rank, n, batch, element, &needed);
	if (err)
		return err;
	if (!plan->brings_own_area) {
		sg_math_device_free(plan->area);
		plan->area = NULL;
		if (sg_math_device_alloc(&plan->area, needed) != 0)
			return ALLOC_FAILED;
	}
	plan->work_size = sg_math_call_note_size("cuFFT-work-area", needed, &noted);
	plan->is_made = true;
	sg_math_call_put_size(size, needed);
	return 0;
}

static size_t element_of(int type)
{
	return is_double(type) ? 16 : 8;
}

static int widen(int rank, const int *n, long long *wide)
{
	if (rank < 1 || rank > MAX_RANK || !n)
		return INVALID_SIZE;
	for (int i = 0; i < rank; i++)
		wide[i] = n[i];
	return 0;
}

SG_MATH_API(int, cufftMakePlan1d, int plan, int nx, int type, int batch, size_t *size)
{
	return make(plan, 1, (const long long[]){nx}, batch, element_of(type), size);
}

SG_MATH_API(int, cufftMakePlan2d, int plan, int nx, int ny, int type, size_t *size)
{
	return make(plan, 2, (const long long[]){nx, ny}, 1, element_of(type), size);
}

SG_MATH_API(int, cufftMakePlan3d, int plan, int nx, int ny, int nz, int type, size_t *size)
{
	return make(plan, 3, (const long long[]){nx, ny, nz}, 1, element_of(type), size);
}

SG_MATH_API(int, cufftMakePlanMany, int plan, int rank, const int *n, const int *inembed,
	    int istride, int idist, const int *onembed, int ostride, int odist, int type, int batch,
	    size_t *size)
{
	long long wide[MAX_RANK];
	int err = widen(rank, n, wide);

	(void)inembed;
	(void)istride;
	(void)idist;
	(void)onembed;
	(void)ostride;
	(void)odist;
	return err ? err : make(plan, rank, wide, batch, element_of(type), size);
}

SG_MATH_API(int, cufftMakePlanMany64, int plan, int rank, const long long *n,
	    const long long *inembed, long long istride, long long idist, const long long *onembed,
	    long long ostride, long long odist, int type, long long batch, size_t *size)
{
	(void)inembed;
	(void)istride;
	(void)idist;
	(void)onembed;
	(void)ostride;
	(void)odist;
	return make(plan, rank, n, batch, element_of(type), size);
}

SG_MATH_API(int, cufftXtMakePlanMany, int plan, int rank, const long long *n,
	    const long long *inembed, long long istride, long long idist, int input_type,
	    const long long *onembed, long long ostride, long long odist, int output_type,
	    long long batch, size_t *size, int execution_type)
{
	(void)inembed;
	(void)istride;
	(void)idist;
	(void)input_type;
	(void)onembed;
	(void)ostride;
	(void)odist;
	(void)output_type;
	return make(plan, rank, n, batch, complex_size(execution_type), size);
}

/* cufftPlanX: create and make in one. */
static int plan_new(int *handle, int rank, const long long *n, int batch, int type)
{
	int err = cufftCreate(handle);

	if (err)
		return err;
	err = make(*handle, rank, n, batch, element_of(type), NULL);
	if (err)
		cufftDestroy(*handle);
	return err;
}

SG_MATH_API(int, cufftPlan1d, int *plan, int nx, int type, int batch)
{
	return plan_new(plan, 1, (const long long[]){nx}, batch, type);
}

SG_MATH_API(int, cufftPlan2d, int *plan, int nx, int ny, int type)
{
	return plan_new(plan, 2, (const long long[]){nx, ny}, 1, type);
}

SG_MATH_API(int, cufftPlan3d, int *plan, int nx, int ny, int nz, int type)
{
	return plan_new(plan, 3, (const long long[]){nx, ny, nz}, 1, type);
}

SG_MATH_API(int, cufftPlanMany, int *plan, int rank, const int *n, const int *inembed, int istride,
	    int idist, const int *onembed, int ostride, int odist, int type, int batch)
{
	long long wide[MAX_RANK];
	int err = widen(rank, n, wide);

	(void)inembed;
	(void)istride;
	(void)idist;
	(void)onembed;
	(void)ostride;
	(void)odist;
	return err ? err : plan_new(plan, rank, wide, batch, type);
}

SG_MATH_API(int, cufftGetSize, int handle, size_t *size)
{
	const struct plan *plan = get(handle);

	if (!plan)
		return INVALID_PLAN;
	sg_math_call_put_size(size, plan->work_size);
	return 0;
}

SG_MATH_API(int, cufftGetSizeMany, int handle, int rank, const int *n, const int *inembed,
	    int istride, int idist, const int *onembed, int ostride, int odist, int type, int batch,
	    size_t *size)
{
	long long wide[MAX_RANK];
	int err = widen(rank, n, wide);

	(void)inembed;
	(void)istride;
	(void)idist;
	(void)onembed;
	(void)ostride;
	(void)odist;
	if (!get(handle))
		return INVALID_PLAN;
	if (err || !size)
		return err ? err : INVALID_VALUE;
	return work_size(rank, wide, batch, element_of(type), size);
}

SG_MATH_API(int, cufftSetAutoAllocation, int handle, int is_wanted)
{
	struct plan *plan = get(handle);

	if (!plan)
		return INVALID_PLAN;
	plan->brings_own_area = !is_wanted;
	return 0;
}

SG_MATH_API(int, cufftSetWorkArea, int handle, void *area)
{
	struct plan *plan = get(handle);

	(void)area; /* the program's; what the plan had for itself goes back */
	if (!plan)
		return INVALID_PLAN;
	sg_math_device_free(plan->area);
	plan->area = NULL;
	return 0;
}

SG_MATH_API(int, cufftSetStream, int handle, void *stream)
{
	struct plan *plan = get(handle);

	if (!plan)
		return INVALID_PLAN;
	plan->stream = stream;
	return 0;
}

SG_MATH_API(int, cufftGetVersion, int *version)
{
	if (!version)
		return INVALID_VALUE;
	*version = sg_math_version[SG_MATH_MAJOR_VERSION] * 1000 +
		   sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
		   sg_math_version[SG_MATH_PATCH_LEVEL];
	return 0;
}

SG_MATH_API(int, cufftGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? INVALID_VALUE : 0;
}

/* Executions: nothing is computed, but a plan must be one and ready. */
static int check_ready(int handle)
{
	const struct plan *plan = get(handle);

	return plan && plan->is_made ? 0 : INVALID_PLAN;
}

#define EXECUTE(name)                                                \
	SG_MATH_API(int, name, int plan, const void *from, void *to) \
	{                                                            \
		(void)from;                                          \
		(void)to;                                            \
		return check_ready(plan);                            \
	}

#define EXECUTE_DIRECTED(name)                                                      \
	SG_MATH_API(int, name, int plan, const void *from, void *to, int direction) \
	{                                                                           \
		(void)from;                                                         \
		(void)to;                                                           \
		(void)direction;                                                    \
		return check_ready(plan);                                           \
	}

EXECUTE_DIRECTED(cufftExecC2C)
EXECUTE_DIRECTED(cufftExecZ2Z)
EXECUTE_DIRECTED(cufftXtExec)
EXECUTE(cufftExecR2C)
EXECUTE(cufftExecC2R)
EXECUTE(cufftExecD2Z)
EXECUTE(cufftExecZ2D)
