#include "image_readers.h"

#include <stdlib.h>
#include <string.h>

/*
 * A reader of the outermost level of PTX: which entries there are, and which variables. Bodies of
 * functions are skipped. Grammar: "Parallel Thread Execution ISA", chapters 4.3, 5.4 and 11.1.
 */
struct cursor {
	const char *at;
	const char *end;
};

struct token {
	char kind; /* 'w' a word, number or directive; '"' a string; a punctuation mark; 0 the end
		    */
	const char *text;
	size_t length;
};

/* The bytes that an initialiser gives, as far as they fit. */
struct initialiser {
	unsigned char *bytes;
	size_t size;
	size_t room;
};

struct declaration {
	size_t element_size;
	size_t nr_elements; /* of a value: 4 in ".v4" */
	size_t alignment;
	bool is_float;
	bool is_managed;
};

#define MAX_SIZE ((size_t)1 << 40)

static const struct {
	const char *name;
	unsigned char size;
	bool is_float;
} types[] = {
	{".b8", 1, false},         {".u8", 1, false},     {".s8", 1, false},
	{".b16", 2, false},        {".u16", 2, false},    {".s16", 2, false},
	{".f16", 2, false},        {".bf16", 2, false},   {".b32", 4, false},
	{".u32", 4, false},        {".s32", 4, false},    {".f16x2", 4, false},
	{".bf16x2", 4, false},     {".f32", 4, true},     {".b64", 8, false},
	{".u64", 8, false},        {".s64", 8, false},    {".f64", 8, true},
	{".b128", 16, false},      {".texref", 8, false}, {".surfref", 8, false},
	{".samplerref", 8, false},
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '.' || c == '%';
}

static bool looking_at(const struct cursor *cursor, const char *text)
{
	/* Byte by byte: unsized text is known to be there only up to its NUL. */
	for (size_t i = 0; text[i]; i++)
		if (cursor->at + i == cursor->end || cursor->at[i] != text[i])
			return false;
	return true;
}

/* Over white space and comments. Stops at NUL. */
static void skip_blank(struct cursor *cursor)
{
	while (cursor->at < cursor->end && *cursor->at) {
		if (is_space(*cursor->at)) {
			cursor->at++;
		} else if (looking_at(cursor, "//")) {
			while (cursor->at < cursor->end && *cursor->at && *cursor->at != '\n')
				cursor->at++;
		} else if (looking_at(cursor, "/*")) {
			cursor->at += 2;
			while (cursor->at < cursor->end && *cursor->at && !looking_at(cursor, "*/"))
				cursor->at++;
			if (looking_at(cursor, "*/"))
				cursor->at += 2;
		} else {
			return;
		}
	}
}

static struct token next_token(struct cursor *cursor)
{
	struct token token = {0};

	skip_blank(cursor);
	if (cursor->at == cursor->end || !*cursor->at)
		return token;
	token.text = cursor->at;
	if (is_word(*cursor->at)) {
		token.kind = 'w';
		while (cursor->at < cursor->end && is_word(*cursor->at))
			cursor->at++;
	} else if (*cursor->at == '"') {
		token.kind = '"';
		do
			cursor->at++;
		while (cursor->at < cursor->end && *cursor->at != '"' && *cursor->at != '\n');
		if (cursor->at < cursor->end)
			cursor->at++;
	} else {
		token.kind = *cursor->at++;
	}
	token.length = (size_t)(cursor->at - token.text);
	return token;
}

static bool is_token(const struct token *token, const char *text)
{
	return token->length == strlen(text) && !memcmp(token->text, text, token->length);
}

/* Behind an opening bracket: to behind the one that closes it. */
static void skip_nested(struct cursor *cursor, char open, char close)
{
	size_t depth = 1;
	struct token token;

	while (depth && (token = next_token(cursor)).kind) {
		if (token.kind == open)
			depth++;
		else if (token.kind == close)
			depth--;
	}
}

bool sg_image_ptx_is(const char *text, size_t size)
{
	struct cursor cursor = {text,
				size == SG_IMAGE_UNSIZED ? (const char *)UINTPTR_MAX : text + size};

	skip_blank(&cursor);
	return looking_at(&cursor, ".version");
}

/* ".target sm_90a, debug": 90. */
int sg_image_ptx_get_arch(const char *text, size_t size)
{
	struct cursor cursor = {text, text + size};
	struct token token;
	int arch = 0;

	while ((token = next_token(&cursor)).kind)
		if (is_token(&token, ".target"))
			break;
	token = next_token(&cursor);
	if (token.kind != 'w' || token.length < 4 || memcmp(token.text, "sm_", 3))
		return 0;
	for (size_t i = 3; i < token.length && arch < 1000; i++) {
		if (token.text[i] < '0' || token.text[i] > '9')
			break;
		arch = 10 * arch + (token.text[i] - '0');
	}
	return arch;
}

/* An integer or the bits of a floating-point constant. Of decimal fractions, their value. */
static uint64_t parse_number(const struct token *token, const struct declaration *declaration)
{
	char text[64];
	uint64_t bits = 0;
	double value;
	float narrow;

	if (token->length >= sizeof(text))
		return 0;
	memcpy(text, token->text, token->length);
	text[token->length] = '\0';
	if (text[0] == '0' && text[1] && strchr("fFdD", text[1]))
		return strtoull(text + 2, NULL, 16);
	if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
		return strtoull(text + 2, NULL, 2);
	if (!declaration->is_float)
		return strtoull(text, NULL, 0);
	value = strtod(text, NULL);
	if (declaration->element_size == sizeof(narrow)) {
		narrow = (float)value;
		memcpy(&bits, &narrow, sizeof(narrow));
	} else {
		memcpy(&bits, &value, sizeof(value));
	}
	return bits;
}

static uint64_t negate(uint64_t bits, const struct declaration *declaration)
{
	if (declaration->is_float)
		return bits ^ (uint64_t)1 << (8 * declaration->element_size - 1);
	return 0 - bits;
}

static bool append(struct initialiser *init, uint64_t bits, const struct declaration *declaration)
{
	size_t size = declaration->element_size;

	if (init->room - init->size < size) {
		size_t room = init->room ? 2 * init->room : 64;
		unsigned char *bytes = realloc(init->bytes, room);

		if (!bytes)
			return false;
		init->bytes = bytes;
		init->room = room;
	}
	memset(init->bytes + init->size, 0, size);
	memcpy(init->bytes + init->size, &bits, size < sizeof(bits) ? size : sizeof(bits));
	init->size += size;
	return true;
}

/*
 * Behind "=": one value or a list, up to the ',' or ';' that ends the declarator, which is left for
 * the caller. Addresses of other variables count as zero: nothing will follow them.
 */
static bool read_initialiser(struct cursor *cursor, const struct declaration *declaration,
			     struct initialiser *init)
{
	bool has_value = false, is_negative = false;
	uint64_t bits = 0;
	size_t depth = 0;

	for (;;) {
		struct cursor before = *cursor;
		struct token token = next_token(cursor);
		bool ends = !token.kind || token.kind == ';' || (token.kind == ',' && !depth);

		if (ends || token.kind == ',' || token.kind == '}') {
			if (has_value &&
			    !append(init, is_negative ? negate(bits, declaration) : bits,
				    declaration))
				return false;
			has_value = is_negative = false;
			bits = 0;
		}
		if (ends) {
			*cursor = before;
			return true;
		}
		if (token.kind == '{') {
			depth++;
		} else if (token.kind == '}') {
			depth -= depth > 0;
		} else if (token.kind == '(') {
			skip_nested(cursor, '(', ')');
		} else if (token.kind == '-') {
			is_negative = true;
		} else if (token.kind == 'w' && !has_value) {
			has_value = true;
			if (token.text[0] >= '0' && token.text[0] <= '9')
				bits = parse_number(&token, declaration);
		}
	}
}

/* Behind the name: "[4][8]". *count is 0 for an array whose initialiser tells its size. */
static bool read_dimensions(struct cursor *cursor, size_t *count)
{
	*count = 1;
	for (;;) {
		struct cursor before = *cursor;
		struct token token = next_token(cursor);
		size_t length;

		if (token.kind != '[') {
			*cursor = before;
			return true;
		}
		token = next_token(cursor);
		if (token.kind == ']') {
			*count = 0;
			continue;
		}
		if (token.kind != 'w' || token.length > 20)
			return false;
		length = parse_number(&token, &(struct declaration){.element_size = 8});
		if (length > MAX_SIZE || *count > MAX_SIZE / (length ? length : 1) ||
		    next_token(cursor).kind != ']')
			return false;
		*count *= length;
	}
}

static CUresult read_declarator(struct sg_image *image, struct cursor *cursor,
				const struct token *name, const struct declaration *declaration)
{
	struct sg_image_variable variable = {.alignment = declaration->alignment,
					     .is_managed = declaration->is_managed};
	struct initialiser init = {0};
	struct cursor before;
	size_t count;
	bool added;

	if (!read_dimensions(cursor, &count))
		return CUDA_ERROR_INVALID_PTX;
	before = *cursor;
	if (next_token(cursor).kind != '=') {
		*cursor = before;
	} else if (!read_initialiser(cursor, declaration, &init)) {
		free(init.bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	variable.size = count * declaration->element_size * declaration->nr_elements;
	if (!count)
		variable.size = init.size;
	variable.data = init.bytes;
	variable.init_size = init.size < variable.size ? init.size : variable.size;
	added = sg_image_add_variable(image, name->text, name->length, &variable);
	free(init.bytes);
	return added ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* One word of what stands between ".global" and the name. */
static void read_modifier(struct cursor *cursor, const struct token *token,
			  struct declaration *declaration)
{
	if (is_token(token, ".align")) {
		struct token number = next_token(cursor);

		if (number.kind == 'w' && number.length <= 20)
			declaration->alignment =
				parse_number(&number, &(struct declaration){.element_size = 8});
	} else if (is_token(token, ".v2") || is_token(token, ".v4") || is_token(token, ".v8")) {
		declaration->nr_elements = (size_t)(token->text[2] - '0');
	} else if (is_token(token, ".attribute")) {
		struct token inner = next_token(cursor);

		while (inner.kind && inner.kind != ')' && inner.kind != ';') {
			if (is_token(&inner, ".managed"))
				declaration->is_managed = true;
			inner = next_token(cursor);
		}
	} else {
		for (size_t i = 0; i < SG_LENGTH(types); i++) {
			if (is_token(token, types[i].name)) {
				declaration->element_size = types[i].size;
				declaration->is_float = types[i].is_float;
			}
		}
	}
}

/* Behind ".global" or ".const", up to and with the ';'. */
static CUresult read_variables(struct sg_image *image, struct cursor *cursor)
{
	struct declaration declaration = {.nr_elements = 1};
	struct token token = next_token(cursor);
	CUresult result;

	while (token.kind == 'w' && token.text[0] == '.') {
		read_modifier(cursor, &token, &declaration);
		token = next_token(cursor);
	}
	for (;;) {
		if (token.kind != 'w' || !declaration.element_size)
			return CUDA_ERROR_INVALID_PTX;
		result = read_declarator(image, cursor, &token, &declaration);
		if (result != CUDA_SUCCESS)
			return result;
		token = next_token(cursor);
		if (token.kind == ';')
			return CUDA_SUCCESS;
		if (token.kind != ',')
			return CUDA_ERROR_INVALID_PTX;
		token = next_token(cursor);
	}
}

static CUresult read_entry(struct sg_image *image, struct cursor *cursor)
{
	struct token token = next_token(cursor);

	if (token.kind != 'w')
		return CUDA_ERROR_INVALID_PTX;
	return sg_image_add_kernel(image, token.text, token.length) ? CUDA_SUCCESS
								    : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sg_image_ptx_read(struct sg_image *image, const char *text, size_t size)
{
	struct cursor cursor = {text, text + size};
	CUresult result = CUDA_SUCCESS;
	bool is_extern = false;
	struct token token;

	while (result == CUDA_SUCCESS && (token = next_token(&cursor)).kind) {
		if (token.kind == '{') {
			skip_nested(&cursor, '{', '}');
			is_extern = false;
		} else if (token.kind == '(') {
			skip_nested(&cursor, '(', ')'); /* parameters may be .global too */
		} else if (token.kind == ';') {
			is_extern = false;
		} else if (is_token(&token, ".extern")) {
			is_extern = true; /* defined elsewhere */
		} else if (is_token(&token, ".visible") || is_token(&token, ".weak")) {
			is_extern = false; /* functions from elsewhere may end without a ';' */
		} else if (is_token(&token, ".entry")) {
			result = read_entry(image, &cursor);
			is_extern = false;
		} else if (is_extern) {
			continue;
		} else if (is_token(&token, ".global") || is_token(&token, ".const")) {
			result = read_variables(image, &cursor);
		}
	}
	return result;
}
