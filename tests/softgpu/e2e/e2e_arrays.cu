/*
 * Images as programs keep them: arrays, layers, cubes, mipmaps, textures and surfaces of them. The
 * kernels would sample them; here all that counts is that everything is set up and copied right.
 */
#include "e2e_check.cuh"

static const int width = 100, height = 60;

__global__ void sample_image(cudaTextureObject_t image, float *result)
{
	*result = tex2D<float>(image, threadIdx.x + 0.5F, 0.5F);
}

__global__ void sample_cube(cudaTextureObject_t cube, float4 *result)
{
	*result = texCubemap<float4>(cube, 1, 0, 0);
}

__global__ void write_image(cudaSurfaceObject_t image)
{
	surf2Dwrite(1.0F, image, threadIdx.x * 4, 0);
}

static float pixel(int x, int y, int layer)
{
	return (float)(x + 1000 * y + 7 * layer);
}

static cudaTextureObject_t make_texture(const cudaResourceDesc &resource, bool is_normalized)
{
	cudaTextureDesc sampling = {};
	cudaTextureObject_t texture = 0;

	sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeClamp;
	sampling.filterMode = cudaFilterModeLinear;
	sampling.readMode = cudaReadModeElementType;
	sampling.normalizedCoords = is_normalized;
	CHECK(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr));
	EXPECT(texture != 0);
	return texture;
}

static void check_image()
{
	cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>(), got;
	static float from[height][width], to[height][width];
	cudaResourceDesc resource = {};
	cudaTextureObject_t texture;
	cudaSurfaceObject_t surface;
	cudaArray_t image;
	cudaExtent extent;
	unsigned flags;
	float *result;

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			from[y][x] = pixel(x, y, 0);
	CHECK(cudaMallocArray(&image, &desc, width, height, cudaArraySurfaceLoadStore));
	CHECK(cudaArrayGetInfo(&got, &extent, &flags, image));
	EXPECT(got.x == 32 && got.f == cudaChannelFormatKindFloat);
	EXPECT(extent.width == width && extent.height == height && extent.depth == 0);
	EXPECT(flags == cudaArraySurfaceLoadStore);
	CHECK(cudaMemcpy2DToArray(image, 0, 0, from, sizeof(from[0]), sizeof(from[0]), height,
				  cudaMemcpyHostToDevice));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = image;
	texture = make_texture(resource, false);
	CHECK(cudaCreateSurfaceObject(&surface, &resource));
	CHECK(cudaMalloc(&result, sizeof(*result)));
	sample_image<<<1, 32>>>(texture, result);
	CHECK(cudaGetLastError());
	write_image<<<1, 32>>>(surface);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy2DFromArray(to, sizeof(to[0]), image, 0, 0, sizeof(to[0]), height,
				    cudaMemcpyDeviceToHost));
	EXPECT(!memcmp(from, to, sizeof(from)));
	CHECK(cudaDestroySurfaceObject(surface));
	CHECK(cudaDestroyTextureObject(texture));
	CHECK(cudaFreeArray(image));
	CHECK(cudaFree(result));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeArray(image));
}

static void check_cube()
{
	const int side = 16;
	cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
	static float4 from[6][side][side], to[6][side][side];
	cudaMemcpy3DParms up = {}, down = {};
	cudaResourceDesc resource = {};
	cudaTextureObject_t texture;
	cudaArray_t cube;
	float4 *result;

	for (int face = 0; face < 6; face++)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < side; x++)
				from[face][y][x] = make_float4(pixel(x, y, face), 1, 2, 3);
	CHECK(cudaMalloc3DArray(&cube, &desc, make_cudaExtent(side, side, 6), cudaArrayCubemap));
	up.srcPtr = make_cudaPitchedPtr(from, sizeof(from[0][0]), side, side);
	up.dstArray = cube;
	up.extent = make_cudaExtent(side, side, 6);
	up.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&up));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = cube;
	texture = make_texture(resource, true);
	CHECK(cudaMalloc(&result, sizeof(*result)));
	sample_cube<<<1, 1>>>(texture, result);
	CHECK(cudaGetLastError());
	/* One face of it. */
	down.srcArray = cube;
	down.srcPos = make_cudaPos(0, 0, 4);
	down.dstPtr = make_cudaPitchedPtr(to[4], sizeof(to[0][0]), side, side);
	down.extent = make_cudaExtent(side, side, 1);
	down.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&down));
	EXPECT(!memcmp(from[4], to[4], sizeof(from[4])));
	CHECK(cudaDestroyTextureObject(texture));
	CHECK(cudaFreeArray(cube));
	CHECK(cudaFree(result));
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaMalloc3DArray(&cube, &desc, make_cudaExtent(side, side, 5),
				       cudaArrayCubemap));
}

static void check_mipmap()
{
	cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
	const int side = 64;
	static uchar4 pixels[side * side], back[side * side];
	cudaResourceDesc resource = {};
	cudaMipmappedArray_t mipmap;
	cudaTextureObject_t texture;
	cudaArray_t level;

	CHECK(cudaMallocMipmappedArray(&mipmap, &desc, make_cudaExtent(side, side, 0), 7));
	for (int i = 0; i < 7; i++) {
		size_t n = (size_t)side >> i, row = n * sizeof(uchar4);

		memset(pixels, 10 + i, n * row);
		CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
		CHECK(cudaMemcpy2DToArray(level, 0, 0, pixels, row, row, n,
					  cudaMemcpyHostToDevice));
	}
	for (int i = 0; i < 7; i++) {
		size_t n = (size_t)side >> i, row = n * sizeof(uchar4);

		CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
		CHECK(cudaMemcpy2DFromArray(back, row, level, 0, 0, row, n,
					    cudaMemcpyDeviceToHost));
		EXPECT(back[0].x == 10 + i && back[n * n - 1].w == 10 + i);
	}
	resource.resType = cudaResourceTypeMipmappedArray;
	resource.res.mipmap.mipmap = mipmap;
	texture = make_texture(resource, true);
	CHECK(cudaDestroyTextureObject(texture));
	CHECK(cudaFreeMipmappedArray(mipmap));
	EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaGetMipmappedArrayLevel(&level, mipmap, 0));
}

static void check_peers()
{
	int can_access = 0;

	CHECK(cudaDeviceCanAccessPeer(&can_access, 0, 1));
	EXPECT(can_access == 1);
	CHECK(cudaDeviceEnablePeerAccess(1, 0));
	EXPECT_ERROR(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
	CHECK(cudaDeviceDisablePeerAccess(1));
	EXPECT_ERROR(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
}

static void check_managed()
{
	cudaMemLocation here = {}, host = {};
	const size_t size = 1 << 20;
	int where = -7;
	char *memory;

	here.type = cudaMemLocationTypeDevice;
	host.type = cudaMemLocationTypeHost;
	CHECK(cudaMallocManaged(&memory, size));
	memset(memory, 1, size);
	CHECK(cudaMemAdvise(memory, size, cudaMemAdviseSetPreferredLocation, here));
	CHECK(cudaMemAdvise(memory, size, cudaMemAdviseSetAccessedBy, host));
	CHECK(cudaMemPrefetchAsync(memory, size, here, 0, 0));
	CHECK(cudaMemRangeGetAttribute(&where, sizeof(where),
				       cudaMemRangeAttributeLastPrefetchLocation, memory, size));
	EXPECT(where == 0);
	CHECK(cudaMemPrefetchAsync(memory, size, host, 0, 0));
	CHECK(cudaDeviceSynchronize());
	EXPECT(memory[0] == 1 && memory[size - 1] == 1);
	CHECK(cudaFree(memory));
}

int main()
{
	size_t before;

	CHECK(cudaFree(0));
	before = free_memory();
	check_image();
	check_cube();
	check_mipmap();
	EXPECT(free_memory() == before);
	check_managed();
	check_peers();
	EXPECT(free_memory() == before);
	check_maps();
	return 0;
}
