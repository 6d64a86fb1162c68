#include "codec.h"

#include <string.h>

/* ---- Encoding: put_X writes a field at p and returns the place behind -------------------------
 */

static uint8_t *put_u32(uint8_t *p, const uint32_t *value)
{
	return vs_wire_put_varint(p, *value);
}

static uint8_t *put_u64(uint8_t *p, const uint64_t *value)
{
	return vs_wire_put_varint(p, *value);
}

static uint8_t *put_flag(uint8_t *p, const bool *value)
{
	*p = *value;
	return p + 1;
}

/* VS_NO_DEVICE, the largest number, becomes 0, the shortest. */
static uint8_t *put_device(uint8_t *p, const uint32_t *value)
{
	return vs_wire_put_varint(p, *value + 1);
}

static uint8_t *put_kind(uint8_t *p, const enum vs_memory_kind *value)
{
	return vs_wire_put_varint(p, *value);
}

static uint8_t *put_owner(uint8_t *p, const enum vs_pool_owner *value)
{
	return vs_wire_put_varint(p, *value);
}

static uint8_t *put_change(uint8_t *p, const enum vs_context_change *value)
{
	return vs_wire_put_varint(p, *value);
}

static uint8_t *put_text_part(uint8_t *p, const struct vs_text *text, uint32_t max)
{
	uint32_t size = text->size < max ? text->size : max;

	p = vs_wire_put_varint(p, size);
	return vs_wire_put_bytes(p, text->bytes, size);
}

static uint8_t *put_text(uint8_t *p, const struct vs_text *text)
{
	return put_text_part(p, text, VS_CODEC_TEXT_MAX);
}

static uint8_t *put_short_text(uint8_t *p, const struct vs_text *text)
{
	return put_text_part(p, text, VS_CODEC_SHORT_TEXT_MAX);
}

static uint8_t *put_uuid(uint8_t *p, const uint8_t (*uuid)[16])
{
	return vs_wire_put_bytes(p, *uuid, sizeof(*uuid));
}

static uint8_t *put_build_id(uint8_t *p, const struct vs_module *module)
{
	uint32_t size = module->build_id_size;

	if (size > VS_BUILD_ID_MAX)
		size = VS_BUILD_ID_MAX;
	p = vs_wire_put_varint(p, size);
	return vs_wire_put_bytes(p, module->build_id, size);
}

/* Callers lie close to each other: differences are about half as long as addresses. */
static uint8_t *put_frames(uint8_t *p, const struct vs_stack *stack)
{
	uint32_t nr_frames = stack->nr_frames < VS_STACK_MAX ? stack->nr_frames : VS_STACK_MAX;
	bool is_deep = stack->is_deep || nr_frames < stack->nr_frames;
	uint64_t before = 0;

	*p++ = (uint8_t)((stack->is_cut ? VS_STACK_CUT : 0) | (is_deep ? VS_STACK_DEEP : 0));
	p = vs_wire_put_varint(p, nr_frames);
	for (uint32_t i = 0; i < nr_frames; i++) {
		p = vs_wire_put_varint(p, vs_wire_fold_sign(stack->frames[i] - before));
		before = stack->frames[i];
	}
	return p;
}

static uint8_t *put_fields(uint8_t *p, const struct vs_record *record)
{
	switch (record->type) {
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) p = put_##how(p, &record->member);
#define VS_FIELDS_END         break;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
	}
	return p;
}

size_t vs_codec_put_frame(uint8_t *out, uint8_t type, size_t body_size)
{
	/* One byte was kept for the size. Only definitions ever need the second one, and move. */
	out[0] = type;
	if (body_size < 0x80) {
		out[1] = (uint8_t)body_size;
		return 2 + body_size;
	}
	memmove(out + 3, out + 2, body_size);
	vs_wire_put_varint(out + 1, body_size);
	return 3 + body_size;
}

size_t vs_codec_put_record(uint8_t out[VS_CODEC_MAX], const struct vs_record *record)
{
	uint8_t *body = out + 2;
	uint8_t *p = body;

	if (vs_record_is_event(record->type)) {
		p = vs_wire_put_varint(p, record->time_ns);
		p = vs_wire_put_varint(p, record->thread);
	}
	p = put_fields(p, record);
	return vs_codec_put_frame(out, (uint8_t)record->type, (size_t)(p - body));
}

/* ---- Decoding: get_X reads a field through the cursor, which keeps the first error ----------- */

struct decoder {
	struct vs_wire wire;
	uint64_t *frames; /* the caller's: only a stack does not fit into its record */
};

static void get_u32(struct decoder *in, uint32_t *value)
{
	*value = vs_wire_get_varint32(&in->wire);
}

static void get_u64(struct decoder *in, uint64_t *value)
{
	*value = vs_wire_get_varint(&in->wire);
}

static void get_flag(struct decoder *in, bool *value)
{
	const uint8_t *byte = vs_wire_get_bytes(&in->wire, 1);

	if (byte && *byte > 1)
		in->wire.error = -VS_ERR_CORRUPT;
	*value = byte && *byte;
}

static void get_device(struct decoder *in, uint32_t *value)
{
	*value = vs_wire_get_varint32(&in->wire) - 1;
}

/* A number below `limit`: readers use it as an index. */
static uint32_t get_choice(struct decoder *in, uint32_t limit)
{
	uint32_t value = vs_wire_get_varint32(&in->wire);

	if (value < limit)
		return value;
	in->wire.error = -VS_ERR_CORRUPT;
	return 0;
}

static void get_kind(struct decoder *in, enum vs_memory_kind *value)
{
	*value = (enum vs_memory_kind)get_choice(in, VS_NR_MEMORY_KINDS);
}

static void get_owner(struct decoder *in, enum vs_pool_owner *value)
{
	*value = (enum vs_pool_owner)get_choice(in, VS_POOL_FRAMEWORK + 1);
}

static void get_change(struct decoder *in, enum vs_context_change *value)
{
	*value = (enum vs_context_change)get_choice(in, VS_CONTEXT_RESET + 1);
}

static void get_text(struct decoder *in, struct vs_text *text)
{
	uint32_t size = vs_wire_get_varint32(&in->wire);

	text->bytes = (const char *)vs_wire_get_bytes(&in->wire, size);
	text->size = text->bytes ? size : 0;
}

static void get_short_text(struct decoder *in, struct vs_text *text)
{
	get_text(in, text);
}

static void get_uuid(struct decoder *in, uint8_t (*uuid)[16])
{
	const uint8_t *bytes = vs_wire_get_bytes(&in->wire, sizeof(*uuid));

	if (bytes)
		memcpy(*uuid, bytes, sizeof(*uuid));
}

static void get_build_id(struct decoder *in, struct vs_module *module)
{
	uint32_t size = get_choice(in, VS_BUILD_ID_MAX + 1);
	const uint8_t *bytes = vs_wire_get_bytes(&in->wire, size);

	module->build_id_size = size;
	if (bytes)
		memcpy(module->build_id, bytes, size);
}

static void get_frames(struct decoder *in, struct vs_stack *stack)
{
	const uint8_t *flags = vs_wire_get_bytes(&in->wire, 1);
	uint64_t address = 0;

	stack->is_cut = flags && *flags & VS_STACK_CUT;
	stack->is_deep = flags && *flags & VS_STACK_DEEP;
	stack->nr_frames = get_choice(in, VS_STACK_MAX + 1);
	stack->frames = in->frames;
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		address += vs_wire_unfold_sign(vs_wire_get_varint(&in->wire));
		in->frames[i] = address;
	}
}

/* False: a record that came into the format later than this reader. */
static bool get_fields(struct decoder *in, struct vs_record *record)
{
	switch (record->type) {
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) get_##how(in, &record->member);
#define VS_FIELDS_END         return true;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
	}
	return false;
}

int vs_codec_get_body(const uint8_t *bytes, size_t size, struct vs_wire *body)
{
	struct vs_wire in;
	const uint8_t *type, *start;
	uint64_t body_size;

	vs_wire_init(&in, bytes, size);
	type = vs_wire_get_bytes(&in, 1);
	if (type && *type == 0)
		return -VS_ERR_CORRUPT; /* zeros are what a lost page consists of */
	body_size = vs_wire_get_varint(&in);
	if (body_size > VS_CODEC_MAX - (size_t)(in.next - bytes))
		return -VS_ERR_CORRUPT;
	start = vs_wire_get_bytes(&in, body_size);
	if (in.error)
		return in.error;
	vs_wire_init(body, start, body_size);
	return (int)(body->end - bytes);
}

int vs_codec_get_size(const uint8_t *bytes, size_t size)
{
	struct vs_wire body;

	return vs_codec_get_body(bytes, size, &body);
}

int vs_codec_get_record(const uint8_t *bytes, size_t size, struct vs_record *record,
			uint64_t frames[VS_STACK_MAX])
{
	struct vs_record decoded = {0};
	struct decoder body = {.frames = frames};
	int taken;

	taken = vs_codec_get_body(bytes, size, &body.wire);
	if (taken < 0)
		return taken;
	decoded.type = (enum vs_record_type)bytes[0];
	if (vs_record_is_event(decoded.type)) {
		decoded.time_ns = vs_wire_get_varint(&body.wire);
		decoded.thread = vs_wire_get_varint32(&body.wire);
	}
	if (!get_fields(&body, &decoded)) {
		memset(&decoded, 0, sizeof(decoded));
		decoded.type = (enum vs_record_type)bytes[0];
	} else if (body.wire.error) {
		return -VS_ERR_CORRUPT; /* a body that is there but too short is wrong, not cut */
	}
	*record = decoded;
	return taken;
}
