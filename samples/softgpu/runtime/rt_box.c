#include "rt_box.h"

#include "rt_channel.h"

/* One side of a copy of linear memory: enough pitch, enough rows in a slice. */
static cudaError_t check_memory(const struct sg_rt_box_end *end, const struct cudaExtent *extent)
{
	const struct cudaPitchedPtr *memory = &end->memory;
	const struct cudaPos *pos = &end->pos;

	if (pos->x > memory->pitch || extent->width > memory->pitch - pos->x)
		return cudaErrorInvalidPitchValue;
	if (extent->depth + pos->z > 1 &&
	    (pos->y > memory->ysize || extent->height > memory->ysize - pos->y))
		return cudaErrorInvalidValue;
	return cudaSuccess;
}

/* The elements of an end. Those of memory are bytes: it goes by the other end. */
static cudaError_t get_element(const struct sg_rt_box_end *end, struct sg_rt_element *element)
{
	/* An array or memory, never both. */
	if (!end->array == !end->memory.ptr)
		return cudaErrorInvalidValue;
	*element = (struct sg_rt_element){.unit_size = 1, .unit_side = 1};
	return end->array ? sg_rt_channel_of_array(end->array, element, NULL) : cudaSuccess;
}

/* Elements to bytes, rows of elements to rows of units. */
static cudaError_t convert_pos(struct cudaPos *pos, const struct sg_rt_element *element)
{
	if (pos->x % element->unit_side || pos->y % element->unit_side ||
	    __builtin_mul_overflow(pos->x / element->unit_side, (size_t)element->unit_size,
				   &pos->x))
		return cudaErrorInvalidValue;
	pos->y /= element->unit_side;
	return cudaSuccess;
}

static cudaError_t convert_extent(struct cudaExtent *extent, const struct sg_rt_element *element)
{
	size_t side = element->unit_side;
	size_t width = extent->width / side + (extent->width % side != 0);

	extent->height = extent->height / side + (extent->height % side != 0);
	return __builtin_mul_overflow(width, (size_t)element->unit_size, &extent->width)
		       ? cudaErrorInvalidValue
		       : cudaSuccess;
}

cudaError_t sg_rt_box_convert(struct sg_rt_box *box)
{
	struct sg_rt_element to, from;
	cudaError_t error = get_element(&box->target, &to);

	if (!error)
		error = get_element(&box->source, &from);
	if (error)
		return error;
	/* Of two arrays, elements have the same size; planar ones have none that could be copied.
	 */
	if (!to.unit_size || !from.unit_size ||
	    (box->target.array && box->source.array &&
	     (to.unit_size != from.unit_size || to.unit_side != from.unit_side)))
		return cudaErrorInvalidValue;
	error = convert_pos(&box->target.pos, &to);
	if (!error)
		error = convert_pos(&box->source.pos, &from);
	if (!error)
		error = convert_extent(&box->extent, box->target.array ? &to : &from);
	if (!error && !box->target.array)
		error = check_memory(&box->target, &box->extent);
	if (!error && !box->source.array)
		error = check_memory(&box->source, &box->extent);
	return error;
}
