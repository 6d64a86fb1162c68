/*
 * Images: arrays and mipmaps of both APIs, pitched memory, levels that cost nothing of their own,
 * some kept to the end, and one image that is larger than the card.
 */
#include <cuda.h>

#include "sample.h"

#define WIDTH  ((size_t)1920)
#define HEIGHT ((size_t)1080)
#define FRAMES 8

#define DRIVER(call)                                                                  \
	do {                                                                          \
		CUresult driver_result = (call);                                      \
                                                                                      \
		if (driver_result != CUDA_SUCCESS) {                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
				(int)driver_result);                                  \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

static struct book device = {.name = "device"};
static struct book arrays = {.name = "array"};

static const struct cudaChannelFormatDesc rgba = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc scalar = {32, 0, 0, 0, cudaChannelFormatKindFloat};

/* Rows as the device likes them; what they cost is told by the pitch. */
static void upload_frame(void)
{
	struct cudaExtent extent = {100, 50, 20};
	struct cudaPitchedPtr volume;
	size_t pitch;
	void *rows;

	CHECK(cudaMallocPitch(&rows, &pitch, WIDTH * 4, HEIGHT));
	book_alloc(&device, pitch * HEIGHT);
	CHECK(cudaMemset2D(rows, pitch, 0, WIDTH * 4, HEIGHT));
	CHECK(cudaMalloc3D(&volume, extent));
	book_alloc(&device, volume.pitch * extent.height * extent.depth);
	CHECK(cudaFree(rows));
	book_free(&device, pitch * HEIGHT);
	CHECK(cudaFree(volume.ptr));
	book_free(&device, volume.pitch * extent.height * extent.depth);
}

static cudaArray_t make_frame(void)
{
	cudaArray_t frame;

	CHECK(cudaMallocArray(&frame, &rgba, WIDTH, HEIGHT, 0));
	book_alloc(&arrays, WIDTH * HEIGHT * 4);
	return frame;
}

static void free_frame(cudaArray_t frame)
{
	CHECK(cudaFreeArray(frame));
	book_free(&arrays, WIDTH * HEIGHT * 4);
}

/* A volume and a cube, of which the cube stays. */
static void make_scene(void)
{
	struct cudaExtent space = {64, 80, 48}, sky = {128, 128, 6};
	cudaArray_t volume, cube;

	CHECK(cudaMalloc3DArray(&volume, &scalar, space, 0));
	book_alloc(&arrays, (size_t)64 * 80 * 48 * 4);
	CHECK(cudaMalloc3DArray(&cube, &rgba, sky, cudaArrayCubemap));
	book_alloc(&arrays, (size_t)128 * 128 * 6 * 4);
	CHECK(cudaFreeArray(volume));
	book_free(&arrays, (size_t)64 * 80 * 48 * 4);
}

/* More levels are asked for than there are: 256, 128, ... 1. */
static void make_mipmap(void)
{
	struct cudaExtent extent = {256, 256, 0};
	cudaMipmappedArray_t mipmap;
	cudaArray_t level;
	size_t size = 0;

	for (size_t side = 256; side; side /= 2)
		size += side * side * 4;
	CHECK(cudaMallocMipmappedArray(&mipmap, &rgba, extent, 20, 0));
	book_alloc(&arrays, size);
	/* A level is a part of it and no allocation. */
	CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, 8));
	CHECK(cudaFreeMipmappedArray(mipmap));
	book_free(&arrays, size);
}

static void use_driver(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 640, .Height = 480, .Format = CU_AD_FORMAT_HALF, .NumChannels = 2};
	CUDA_ARRAY3D_DESCRIPTOR packed = {
		.Width = 512, .Height = 256, .Format = CU_AD_FORMAT_BC1_UNORM, .NumChannels = 4};
	CUDA_ARRAY3D_DESCRIPTOR layered = {
		.Width = 32,
		.Height = 32,
		.Depth = 10,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1,
		.Flags = CUDA_ARRAY3D_LAYERED,
	};
	CUarray image, compressed;
	CUmipmappedArray mipmap;

	DRIVER(cuArrayCreate(&image, &flat));
	book_alloc(&arrays, (size_t)640 * 480 * 2 * 2);
	DRIVER(cuArray3DCreate(&compressed, &packed));
	book_alloc(&arrays, (size_t)512 * 256 / 2);
	/* Layers do not shrink with the levels. */
	DRIVER(cuMipmappedArrayCreate(&mipmap, &layered, 2));
	book_alloc(&arrays, (size_t)(32 * 32 + 16 * 16) * 10 * 4);
	DRIVER(cuArrayDestroy(image));
	book_free(&arrays, (size_t)640 * 480 * 2 * 2);
	DRIVER(cuArrayDestroy(compressed));
	book_free(&arrays, (size_t)512 * 256 / 2);
	DRIVER(cuMipmappedArrayDestroy(mipmap));
	book_free(&arrays, (size_t)(32 * 32 + 16 * 16) * 10 * 4);
}

/* An image for a card that is larger than this one. */
static cudaArray_t load_atlas(void)
{
	struct cudaChannelFormatDesc wide = {32, 32, 32, 32, cudaChannelFormatKindFloat};
	cudaArray_t atlas = NULL;

	if (cudaMallocArray(&atlas, &wide, 16384, 16384, 0) != cudaSuccess) {
		cudaGetLastError(); /* seen */
		book_failed(&arrays);
	}
	return atlas;
}

int main(void)
{
	cudaArray_t frames[FRAMES];
	cudaArray_t atlas;

	upload_frame();
	make_scene();
	make_mipmap();
	use_driver();
	for (int i = 0; i < FRAMES; i++)
		frames[i] = make_frame();
	for (int i = 2; i < FRAMES; i++)
		free_frame(frames[i]);
	atlas = load_atlas();
	book_print(&device);
	book_print(&arrays);
	printf("ooms=%d\n", atlas ? 0 : 1);
	printf("wanted=%zu\n", (size_t)16384 * 16384 * 16);
	return atlas ? 0 : 3;
}
