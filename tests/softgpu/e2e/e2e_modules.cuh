#ifndef SG_E2E_MODULES_CUH
#define SG_E2E_MODULES_CUH

#include "e2e_check.cuh"

void e2e_modules_use_left();
void e2e_modules_use_right();

/* Many kernels that differ in nothing but a number. */
template <int N> static __global__ void numbered(int *data)
{
	data[0] = N;
}

template <int N> struct launcher {
	static void run()
	{
		cudaFuncAttributes attributes;

		CHECK(cudaFuncGetAttributes(&attributes, numbered<N>));
		numbered<N><<<1, 32>>>(nullptr);
		CHECK(cudaGetLastError());
		launcher<N - 1>::run();
	}
};

template <> struct launcher<-1> {
	static void run()
	{
	}
};

#endif
