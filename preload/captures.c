#include "captures.h"

#include <stdatomic.h>

#include "hot.h"

/*
 * Begun and not ended. A stream that is destroyed while it captures leaves it too high, which only
 * makes the hooks more careful than they need be.
 */
VS_HOT_DATA static _Atomic int nr_captures;

void vs_captures_begin(void)
{
	atomic_fetch_add_explicit(&nr_captures, 1, memory_order_relaxed);
}

void vs_captures_end(void)
{
	int before = atomic_load_explicit(&nr_captures, memory_order_relaxed);

	/* One that began before we were there may end. */
	while (before > 0 && !atomic_compare_exchange_weak(&nr_captures, &before, before - 1))
		;
}

bool vs_captures_has_any(void)
{
	return atomic_load_explicit(&nr_captures, memory_order_relaxed) > 0;
}

bool vs_captures_is_capturing(const struct vs_real *real, CUstream stream, bool per_thread)
{
	CUresult (*ask)(CUstream, CUstreamCaptureStatus *) =
		per_thread ? real->cuStreamIsCapturing_ptsz : real->cuStreamIsCapturing;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	/* cuda.h: asking never invalidates a capture. */
	return vs_captures_has_any() && ask && ask(stream, &status) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
