#include "unwind_cfi.h"

#include <string.h>

#include "unwind_arch.h"

/* More nested than any compiler makes them. */
#define NR_REMEMBERED 8

/* A longer entry is no entry: the largest functions there are have a tenth of it. */
#define ENTRY_MAX (1u << 20)

/* Pointer encodings (DW_EH_PE_*): how it is stored, what it is relative to. */
enum {
	POINTER_FORMAT = 0x0f,
	POINTER_BASE = 0x70,
	POINTER_ABSENT = 0xff,
	POINTER_PCREL = 0x10,
	POINTER_DATAREL = 0x30,
	TABLE_OF_SDATA4 = 0x3b, /* .eh_frame_hdr: signed, 4 bytes, relative to its start */
};

/* Call frame instructions (DW_CFA_*); the first three have an operand in their low six bits. */
enum {
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* ---- Numbers --------------------------------------------------------------------------------- */

/* What is left to read. Behind the end every number is 0, and is_bad says so once and for all. */
struct input {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad;
};

static bool has(struct input *in, uint64_t size)
{
	if ((uint64_t)(in->end - in->at) < size)
		in->is_bad = true;
	return !in->is_bad;
}

static void skip(struct input *in, uint64_t size)
{
	if (has(in, size))
		in->at += size;
}

/* size bytes in the machine's own order. */
static uint64_t get_bytes(struct input *in, unsigned size)
{
	uint64_t value = 0;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "low bytes come first");
	if (has(in, size)) {
		memcpy(&value, in->at, size);
		in->at += size;
	}
	return value;
}

static int64_t get_signed_bytes(struct input *in, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (int64_t)(get_bytes(in, size) << unused) >> unused;
}

/* LEB128, DWARF 5, section 7.6. Bits beyond the 64th are dropped. */
static uint64_t get_uleb(struct input *in)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)get_bytes(in, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static int64_t get_sleb(struct input *in)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)get_bytes(in, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

bool vs_unwind_cfi_get_signed(const uint8_t **at, const uint8_t *end, int64_t *value)
{
	struct input in = {.at = *at, .end = end};
	int64_t found = get_sleb(&in);

	if (in.is_bad)
		return false;
	*at = in.at;
	*value = found;
	return true;
}

/* The value alone. */
static uint64_t get_format(struct input *in, uint8_t encoding)
{
	switch (encoding & POINTER_FORMAT) {
	case 0x00: /* an address */
	case 0x04:
	case 0x0c:
		return get_bytes(in, 8);
	case 0x01:
		return get_uleb(in);
	case 0x02:
		return get_bytes(in, 2);
	case 0x03:
		return get_bytes(in, 4);
	case 0x09:
		return (uint64_t)get_sleb(in);
	case 0x0a:
		return (uint64_t)get_signed_bytes(in, 2);
	case 0x0b:
		return (uint64_t)get_signed_bytes(in, 4);
	default:
		in->is_bad = true;
		return 0;
	}
}

/* Where it points to. data: what POINTER_DATAREL is relative to. */
static uint64_t get_pointer(struct input *in, uint8_t encoding, uint64_t data)
{
	uint64_t place = (uintptr_t)in->at;
	uint64_t value = get_format(in, encoding);

	switch (encoding & POINTER_BASE) {
	case 0:
		return value;
	case POINTER_PCREL:
		return value + place;
	case POINTER_DATAREL:
		return value + data;
	default:
		in->is_bad = true;
		return 0;
	}
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* What all entries with the same CIE share. */
struct common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointer_encoding;
	bool has_augmentation; /* entries have a length of data that we skip */
	bool is_signal;
	struct input program;
};

/*
 * The bytes of the entry or CIE at an address, behind its length; the length is in them, too, for
 * the sake of pointers. A length of 0 is the end of all entries; 0xffffffff would be the 64-bit
 * format, which is not used.
 */
static bool open_record(const struct vs_unwind_cfi_bytes *bytes, uintptr_t address,
			struct input *in)
{
	uintptr_t start = (uintptr_t)bytes->start, end = (uintptr_t)bytes->end;
	uint64_t size;

	if (address < start || address > end)
		return false;
	*in = (struct input){.at = bytes->start + (address - start), .end = bytes->end};
	size = get_bytes(in, 4);
	if (size == 0 || size > ENTRY_MAX || !has(in, size))
		return false;
	in->end = in->at + size;
	return true;
}

/* The letters of the augmentation and the data that goes with them. */
static void read_augmentation(struct input *in, const char *letters, struct common *common)
{
	struct input data = {0};
	uint64_t size;

	if (*letters != 'z') {
		in->is_bad |= *letters != '\0'; /* without a length it cannot even be skipped */
		return;
	}
	common->has_augmentation = true;
	size = get_uleb(in);
	if (!has(in, size))
		return;
	data.at = in->at;
	data.end = in->at + size;
	skip(in, size);
	for (letters++; *letters && !data.is_bad; letters++) {
		if (*letters == 'R')
			common->pointer_encoding = (uint8_t)get_bytes(&data, 1);
		else if (*letters == 'L')
			skip(&data, 1);
		else if (*letters == 'P')
			get_format(&data, (uint8_t)get_bytes(&data, 1));
		else if (*letters == 'S')
			common->is_signal = true;
		else
			data.is_bad = true; /* it may mean anything */
	}
	in->is_bad |= data.is_bad;
}

static bool read_common(const struct vs_unwind_cfi_bytes *bytes, uintptr_t address,
			struct common *common)
{
	const char *letters;
	struct input in;
	unsigned version;
	size_t length;

	memset(common, 0, sizeof(*common));
	if (!open_record(bytes, address, &in) || get_bytes(&in, 4) != 0)
		return false; /* not 0: this is an entry, no CIE */
	version = (unsigned)get_bytes(&in, 1);
	letters = (const char *)in.at;
	length = strnlen(letters, (size_t)(in.end - in.at));
	skip(&in, length + 1); /* bad if no byte is left for the zero */
	if (in.is_bad || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && get_bytes(&in, 2) != sizeof(void *))
		return false; /* size of an address, and of a segment: none */
	common->code_align = get_uleb(&in);
	common->data_align = get_sleb(&in);
	common->return_register = version == 1 ? get_bytes(&in, 1) : get_uleb(&in);
	read_augmentation(&in, letters, common);
	common->program = in;
	return !in.is_bad && common->return_register == VS_UNWIND_ARCH_DWARF_RETURN;
}

/* ---- Programs -------------------------------------------------------------------------------- */

struct machine {
	const struct common *common;
	struct input in;
	uint64_t location; /* of the instruction that the row holds for */
	uint64_t pc;
	struct vs_unwind_cfi_row *row;
	const struct vs_unwind_cfi_row *initial; /* NULL while the CIE's own program runs */
	struct vs_unwind_cfi_row remembered[NR_REMEMBERED];
	unsigned nr_remembered;
};

/* A register of interest, or NULL. */
static struct vs_unwind_cfi_rule *find_rule(struct vs_unwind_cfi_row *row, uint64_t number)
{
	switch (number) {
	case VS_UNWIND_ARCH_DWARF_SP:
		return &row->registers[VS_UNWIND_CFI_SP];
	case VS_UNWIND_ARCH_DWARF_BP:
		return &row->registers[VS_UNWIND_CFI_BP];
	case VS_UNWIND_ARCH_DWARF_RETURN:
		return &row->registers[VS_UNWIND_CFI_RETURN];
	default:
		return NULL;
	}
}

static void set_place(struct machine *machine, uint64_t number, enum vs_unwind_cfi_place place,
		      int64_t offset)
{
	struct vs_unwind_cfi_rule *rule = find_rule(machine->row, number);

	if (rule)
		*rule = (struct vs_unwind_cfi_rule){.place = place, .offset = offset};
}

/* Unsigned, so that no damage overflows. */
static int64_t scale(const struct machine *machine, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)machine->common->data_align);
}

static void restore(struct machine *machine, uint64_t number)
{
	const struct vs_unwind_cfi_row *initial = machine->initial;
	struct vs_unwind_cfi_rule *rule = find_rule(machine->row, number);

	if (!initial)
		machine->in.is_bad = true;
	else if (rule)
		*rule = initial->registers[rule - machine->row->registers];
}

static struct vs_unwind_cfi_bytes get_expression(struct input *in)
{
	uint64_t size = get_uleb(in);
	const uint8_t *start = in->at;

	skip(in, size);
	return (struct vs_unwind_cfi_bytes){.start = start, .end = in->at};
}

static void set_expression(struct machine *machine)
{
	uint64_t number = get_uleb(&machine->in);
	struct vs_unwind_cfi_bytes expression = get_expression(&machine->in);
	struct vs_unwind_cfi_rule *rule = find_rule(machine->row, number);

	if (rule)
		*rule = (struct vs_unwind_cfi_rule){.place = VS_UNWIND_CFI_EXPRESSION,
						    .expression = expression};
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->row->cfa_register = number;
	machine->row->cfa_offset = offset;
	machine->row->cfa_expression = (struct vs_unwind_cfi_bytes){0};
}

static void advance(struct machine *machine, uint64_t factored)
{
	machine->location += factored * machine->common->code_align;
}

/* The row as a whole, the CFA included. */
static void remember(struct machine *machine)
{
	if (machine->nr_remembered < NR_REMEMBERED)
		machine->remembered[machine->nr_remembered++] = *machine->row;
	else
		machine->in.is_bad = true;
}

static void recall(struct machine *machine)
{
	if (machine->nr_remembered > 0)
		*machine->row = machine->remembered[--machine->nr_remembered];
	else
		machine->in.is_bad = true;
}

/* Instructions that say something about the CFA. False: it is none of them. */
static bool run_cfa(struct machine *machine, uint8_t code)
{
	struct vs_unwind_cfi_row *row = machine->row;
	struct input *in = &machine->in;
	uint64_t number;

	switch (code) {
	case CFA_DEF_CFA:
		number = get_uleb(in);
		set_cfa(machine, number, (int64_t)get_uleb(in));
		return true;
	case CFA_DEF_CFA_SF:
		number = get_uleb(in);
		set_cfa(machine, number, scale(machine, (uint64_t)get_sleb(in)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(machine, get_uleb(in), row->cfa_offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		row->cfa_offset = (int64_t)get_uleb(in);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		row->cfa_offset = scale(machine, (uint64_t)get_sleb(in));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		row->cfa_expression = get_expression(in);
		return true;
	default:
		return false;
	}
}

/* Instructions that say where a register is. False: it is none of them. */
static bool run_register(struct machine *machine, uint8_t code)
{
	struct input *in = &machine->in;
	uint64_t number;

	switch (code) {
	case CFA_OFFSET_EXTENDED:
		number = get_uleb(in);
		set_place(machine, number, VS_UNWIND_CFI_AT_CFA, scale(machine, get_uleb(in)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		number = get_uleb(in);
		set_place(machine, number, VS_UNWIND_CFI_AT_CFA,
			  scale(machine, (uint64_t)get_sleb(in)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		number = get_uleb(in);
		set_place(machine, number, VS_UNWIND_CFI_AT_CFA, scale(machine, -get_uleb(in)));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(machine, get_uleb(in));
		return true;
	case CFA_UNDEFINED:
		set_place(machine, get_uleb(in), VS_UNWIND_CFI_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set_place(machine, get_uleb(in), VS_UNWIND_CFI_SAME, 0);
		return true;
	case CFA_EXPRESSION:
		set_expression(machine);
		return true;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF: /* as long, signed or not */
		set_place(machine, get_uleb(in), VS_UNWIND_CFI_OTHER, 0);
		get_uleb(in);
		return true;
	case CFA_VAL_EXPRESSION:
		set_place(machine, get_uleb(in), VS_UNWIND_CFI_OTHER, 0);
		get_expression(in);
		return true;
	default:
		return false;
	}
}

/* All others; an unknown one is bad. */
static void run_other(struct machine *machine, uint8_t code)
{
	struct input *in = &machine->in;

	switch (code) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		machine->location = get_pointer(in, machine->common->pointer_encoding, 0);
		break;
	case CFA_ADVANCE1:
		advance(machine, get_bytes(in, 1));
		break;
	case CFA_ADVANCE2:
		advance(machine, get_bytes(in, 2));
		break;
	case CFA_ADVANCE4:
		advance(machine, get_bytes(in, 4));
		break;
	case CFA_REMEMBER_STATE:
		remember(machine);
		break;
	case CFA_RESTORE_STATE:
		recall(machine);
		break;
	case CFA_GNU_ARGS_SIZE:
		get_uleb(in);
		break;
	default:
		in->is_bad = true;
		break;
	}
}

/* Until the row that holds for pc is complete. */
static bool run(struct machine *machine)
{
	struct input *in = &machine->in;

	while (in->at < in->end && machine->location <= machine->pc && !in->is_bad) {
		uint8_t code = (uint8_t)get_bytes(in, 1);
		uint8_t low = code & 0x3f;

		switch (code & 0xc0) {
		case CFA_ADVANCE:
			advance(machine, low);
			break;
		case CFA_OFFSET:
			set_place(machine, low, VS_UNWIND_CFI_AT_CFA, scale(machine, get_uleb(in)));
			break;
		case CFA_RESTORE:
			restore(machine, low);
			break;
		default:
			if (!run_cfa(machine, code) && !run_register(machine, code))
				run_other(machine, code);
		}
	}
	return !in->is_bad;
}

static bool run_programs(const struct common *common, struct input program, uint64_t location,
			 uint64_t pc, struct vs_unwind_cfi_row *row)
{
	struct vs_unwind_cfi_row initial;
	struct machine machine;

	/* Not all of it: the remembered rows are large, and mostly not used. */
	machine.common = common;
	machine.in = common->program;
	machine.location = location;
	machine.pc = pc;
	machine.row = row;
	machine.initial = NULL;
	machine.nr_remembered = 0;
	if (!run(&machine) || machine.location != location)
		return false; /* a CIE says what holds everywhere */
	initial = *row;
	machine.in = program;
	machine.initial = &initial;
	machine.nr_remembered = 0;
	return run(&machine);
}

enum vs_unwind_cfi_result vs_unwind_cfi_read(const struct vs_unwind_cfi_bytes *bytes,
					     uintptr_t entry, uintptr_t pc,
					     struct vs_unwind_cfi_row *row)
{
	struct vs_unwind_cfi_row found = {0};
	struct common common;
	uint64_t start, size;
	uintptr_t place;
	struct input in;

	if (!open_record(bytes, entry, &in))
		return VS_UNWIND_CFI_UNKNOWN;
	place = (uintptr_t)in.at;
	/* How far back its CIE is. */
	if (!read_common(bytes, place - (uintptr_t)get_bytes(&in, 4), &common))
		return VS_UNWIND_CFI_UNKNOWN;
	start = get_pointer(&in, common.pointer_encoding, 0);
	size = get_format(&in, common.pointer_encoding);
	if (common.has_augmentation)
		skip(&in, get_uleb(&in));
	if (in.is_bad)
		return VS_UNWIND_CFI_UNKNOWN;
	if (pc - start >= size)
		return VS_UNWIND_CFI_NONE;
	found.is_signal = common.is_signal;
	if (!run_programs(&common, in, start, pc, &found))
		return VS_UNWIND_CFI_UNKNOWN;
	*row = found;
	return VS_UNWIND_CFI_FOUND;
}

/* ---- .eh_frame_hdr --------------------------------------------------------------------------- */

/* A row of its table; both relative to its start. */
struct table_row {
	int32_t code;
	int32_t entry;
};

static struct table_row get_row(const uint8_t *table, uint64_t index)
{
	struct table_row row;

	memcpy(&row, table + index * sizeof(row), sizeof(row));
	return row;
}

enum vs_unwind_cfi_result vs_unwind_cfi_find_entry(const struct vs_unwind_cfi_bytes *bytes,
						   uintptr_t header, uintptr_t pc, uintptr_t *entry)
{
	int64_t wanted = (int64_t)(pc - header);
	uint64_t low = 0, high;
	struct table_row row;
	struct input in;
	uint8_t codes[4];

	if (header < (uintptr_t)bytes->start || header > (uintptr_t)bytes->end)
		return VS_UNWIND_CFI_UNKNOWN;
	in.at = bytes->start + (header - (uintptr_t)bytes->start);
	in.end = bytes->end;
	in.is_bad = false;
	/* Version, then encodings: of where .eh_frame is, of the number of rows, of the rows. */
	for (unsigned i = 0; i < sizeof(codes); i++)
		codes[i] = (uint8_t)get_bytes(&in, 1);
	if (codes[0] != 1 || codes[2] == POINTER_ABSENT || codes[3] != TABLE_OF_SDATA4)
		return VS_UNWIND_CFI_UNKNOWN;
	if (codes[1] != POINTER_ABSENT)
		get_format(&in, codes[1]);
	high = get_format(&in, codes[2]);
	if (in.is_bad || high > (uint64_t)(in.end - in.at) / sizeof(row))
		return VS_UNWIND_CFI_UNKNOWN;
	/* The last row that begins at or before pc is one below high. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (get_row(in.at, middle).code <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (high == 0)
		return VS_UNWIND_CFI_NONE;
	row = get_row(in.at, high - 1);
	*entry = header + (uintptr_t)(intptr_t)row.entry;
	return VS_UNWIND_CFI_FOUND;
}
