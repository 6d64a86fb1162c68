/* Rows and slices: what is copied lands where it should, and the gaps between stay as they were. */
#include "e2e_check.cuh"

static void check_rows()
{
	const size_t width = 1000, height = 37;
	static unsigned char from[height][width], to[height][width + 24];
	size_t pitch;
	void *device;

	for (size_t y = 0; y < height; y++)
		for (size_t x = 0; x < width; x++)
			from[y][x] = (unsigned char)(x + 3 * y);
	memset(to, 0xee, sizeof(to));
	CHECK(cudaMallocPitch(&device, &pitch, width, height));
	EXPECT(pitch >= width && pitch % 512 == 0);
	CHECK(cudaMemset2D(device, pitch, 0xab, pitch, height));
	CHECK(cudaMemcpy2D(device, pitch, from, width, width, height, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2D(to, width + 24, device, pitch, width + 24, height,
			   cudaMemcpyDeviceToHost));
	for (size_t y = 0; y < height; y++) {
		EXPECT(!memcmp(to[y], from[y], width));
		EXPECT(to[y][width] == 0xab && to[y][width + 23] == 0xab);
	}
	/* A window out of the middle. */
	memset(to, 0xee, sizeof(to));
	CHECK(cudaMemcpy2D(&to[2][10], width + 24, (char *)device + 5 * pitch + 100, pitch, 50, 4,
			   cudaMemcpyDeviceToHost));
	for (size_t y = 0; y < 4; y++)
		EXPECT(!memcmp(&to[2 + y][10], &from[5 + y][100], 50));
	EXPECT(to[1][10] == 0xee && to[2][9] == 0xee && to[2][60] == 0xee && to[6][10] == 0xee);
	EXPECT_ERROR(cudaErrorInvalidPitchValue, cudaMemcpy2D(device, width - 1, from, width, width,
							      height, cudaMemcpyHostToDevice));
	CHECK(cudaFree(device));
}

static unsigned char voxel(size_t x, size_t y, size_t z)
{
	return (unsigned char)(x + 16 * y + 101 * z);
}

static void check_volume()
{
	const size_t nx = 60, ny = 14, nz = 9;
	static unsigned char from[nz][ny][nx], to[nz][ny][nx];
	cudaMemcpy3DParms up = {}, down = {};
	cudaPitchedPtr device;

	for (size_t z = 0; z < nz; z++)
		for (size_t y = 0; y < ny; y++)
			for (size_t x = 0; x < nx; x++)
				from[z][y][x] = voxel(x, y, z);
	CHECK(cudaMalloc3D(&device, make_cudaExtent(nx, ny, nz)));
	EXPECT(device.pitch >= nx && device.xsize == nx && device.ysize == ny);
	CHECK(cudaMemset3D(device, 0x55, make_cudaExtent(nx, ny, nz)));
	up.srcPtr = make_cudaPitchedPtr(from, nx, nx, ny);
	up.dstPtr = device;
	up.extent = make_cudaExtent(nx, ny, nz);
	up.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&up));
	/* A block from the inside, to another place. */
	memset(to, 0xee, sizeof(to));
	down.srcPtr = device;
	down.srcPos = make_cudaPos(7, 3, 2);
	down.dstPtr = make_cudaPitchedPtr(to, nx, nx, ny);
	down.dstPos = make_cudaPos(1, 2, 3);
	down.extent = make_cudaExtent(20, 5, 4);
	down.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&down));
	for (size_t z = 0; z < 4; z++)
		for (size_t y = 0; y < 5; y++)
			for (size_t x = 0; x < 20; x++)
				EXPECT(to[3 + z][2 + y][1 + x] == voxel(7 + x, 3 + y, 2 + z));
	EXPECT(to[3][2][0] == 0xee && to[3][2][21] == 0xee && to[2][2][1] == 0xee);
	EXPECT(to[3][1][1] == 0xee && to[3][7][1] == 0xee && to[7][2][1] == 0xee);
	CHECK(cudaFree(device.ptr));
}

int main()
{
	size_t before;

	CHECK(cudaFree(0));
	before = free_memory();
	check_rows();
	check_volume();
	EXPECT(free_memory() == before);
	check_maps();
	return 0;
}
