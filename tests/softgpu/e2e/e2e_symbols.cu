/*
 * Variables of the device: their sizes, their initial values, copies to and from them. Compiled
 * without compression (CMakeLists.txt), because values in a compressed image cannot be known.
 */
#include "e2e_check.cuh"

struct parameters {
	double scale;
	int table[6];
};

__device__ int counts[5] = {10, 20, 30, 40, 50};
__device__ int zeroes[1000];
static __device__ parameters inner = {2.5, {1, 2, 3, 4, 5, 6}};
__constant__ float weights[4] = {0.25f, 0.5f, 0.75f, 1.0f};
__constant__ char text[] = "a constant text";
__managed__ long shared_counter = 77;
__managed__ float shared_row[3000];

static __global__ void use()
{
	counts[0] += zeroes[0] + inner.table[0] + (int)weights[0] + text[0];
	shared_counter += (long)shared_row[0];
}

static void check_sizes()
{
	size_t size;

	CHECK(cudaGetSymbolSize(&size, counts));
	EXPECT(size == sizeof(counts));
	CHECK(cudaGetSymbolSize(&size, zeroes));
	EXPECT(size == sizeof(zeroes));
	CHECK(cudaGetSymbolSize(&size, inner));
	EXPECT(size == sizeof(inner));
	CHECK(cudaGetSymbolSize(&size, weights));
	EXPECT(size == sizeof(weights));
	CHECK(cudaGetSymbolSize(&size, text));
	EXPECT(size == sizeof(text));
}

static void check_initial_values()
{
	int host_counts[5], host_zeroes[1000];
	parameters host_inner;
	float host_weights[4];
	char host_text[16];

	CHECK(cudaMemcpyFromSymbol(host_counts, counts, sizeof(host_counts)));
	for (int i = 0; i < 5; i++)
		EXPECT(host_counts[i] == 10 * (i + 1));
	memset(host_zeroes, 0xff, sizeof(host_zeroes));
	CHECK(cudaMemcpyFromSymbol(host_zeroes, zeroes, sizeof(host_zeroes)));
	for (int i = 0; i < 1000; i++)
		EXPECT(host_zeroes[i] == 0);
	CHECK(cudaMemcpyFromSymbol(&host_inner, inner, sizeof(host_inner)));
	EXPECT(host_inner.scale == 2.5 && host_inner.table[5] == 6);
	CHECK(cudaMemcpyFromSymbol(host_weights, weights, sizeof(host_weights)));
	EXPECT(host_weights[0] == 0.25f && host_weights[3] == 1.0f);
	CHECK(cudaMemcpyFromSymbol(host_text, text, sizeof(host_text)));
	EXPECT(!strcmp(host_text, "a constant text"));
}

static void check_copies()
{
	const float new_weights[2] = {8, 9};
	int value = 4711, all[5];
	float row[4];
	void *address;

	CHECK(cudaMemcpyToSymbol(counts, &value, sizeof(value), 2 * sizeof(int)));
	CHECK(cudaMemcpyFromSymbol(all, counts, sizeof(all)));
	EXPECT(all[1] == 20 && all[2] == 4711 && all[3] == 40);
	CHECK(cudaGetSymbolAddress(&address, counts));
	value = 0;
	CHECK(cudaMemcpy(&value, (int *)address + 2, sizeof(value), cudaMemcpyDeviceToHost));
	EXPECT(value == 4711);
	CHECK(cudaMemcpyToSymbolAsync(weights, new_weights, sizeof(new_weights), sizeof(float),
				      cudaMemcpyHostToDevice, 0));
	CHECK(cudaMemcpyFromSymbolAsync(row, weights, sizeof(row), 0, cudaMemcpyDeviceToHost, 0));
	CHECK(cudaDeviceSynchronize());
	EXPECT(row[0] == 0.25f && row[1] == 8 && row[2] == 9 && row[3] == 1);
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaMemcpyToSymbol(counts, all, sizeof(all), sizeof(int)));
	EXPECT_ERROR(cudaErrorInvalidSymbol,
		     cudaMemcpyToSymbol((const void *)&value, &value, sizeof(value)));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(address)); /* not the program's to free */
}

static void check_managed()
{
	cudaPointerAttributes attributes;
	long value = 0;
	size_t size;

	EXPECT(shared_counter == 77 && shared_row[2999] == 0);
	shared_counter = 78;
	shared_row[2999] = 1.5f;
	CHECK(cudaPointerGetAttributes(&attributes, &shared_counter));
	EXPECT(attributes.type == cudaMemoryTypeManaged);
	CHECK(cudaMemcpy(&value, &shared_counter, sizeof(value), cudaMemcpyDefault));
	EXPECT(value == 78);
	value = 79;
	CHECK(cudaMemcpyToSymbol(shared_counter, &value, sizeof(value)));
	EXPECT(shared_counter == 79);
	CHECK(cudaGetSymbolSize(&size, shared_row));
	EXPECT(size == sizeof(shared_row));
}

int main()
{
	check_sizes();
	check_initial_values();
	use<<<1, 1>>>();
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	check_copies();
	check_managed();
	/* A reset takes the variables with it; the next use starts them anew. */
	CHECK(cudaDeviceReset());
	check_initial_values();
	check_maps();
	return 0;
}
