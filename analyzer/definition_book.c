#include "definition_book.h"

#include <stdlib.h>
#include <string.h>

#include "block_file.h"
#include "codec.h"
#include "definitions_reader.h"
#include "grow.h"
#include "pack.h"

/* A definition that is no stack: its bytes. */
struct row {
	uint64_t number; /* definitions before it */
	size_t at;
	size_t size;
};

struct stack {
	uint64_t number;
	struct vs_definitions_stack row;
};

struct module {
	uint64_t number;
	uint64_t end; /* definitions before its MODULE_END; UINT64_MAX: there is none */
	struct vs_definition_module definition;
};

struct vs_definition_book {
	struct vs_definitions_reader nodes;
	struct vs_pack bytes; /* of rows */
	struct row *rows;
	size_t nr_rows;
	size_t rows_capacity;
	struct stack *stacks;
	size_t nr_stacks;
	size_t stacks_capacity;
	uint32_t *first_stacks; /* of each site: which of the stacks */
	struct module *modules;
	size_t nr_modules;
	size_t modules_capacity;
	uint64_t nr_definitions;
	struct vs_site *all_sites;
	struct vs_shared_stacks shared;
};

/* ---- Reading -------------------------------------------------------------------------------- */

static int add_row(struct vs_definition_book *book, const uint8_t *bytes, size_t size)
{
	int err = VS_GROW(book->rows, book->rows_capacity, book->nr_rows + 1);

	if (err)
		return err;
	book->rows[book->nr_rows++] = (struct row){book->nr_definitions, book->bytes.size, size};
	vs_pack_put_bytes(&book->bytes, bytes, size);
	return book->bytes.error;
}

static int add_module(struct vs_definition_book *book, const struct vs_module *module)
{
	struct vs_definition_module *copy;
	int err = VS_GROW(book->modules, book->modules_capacity, book->nr_modules + 1);

	if (err)
		return err;
	book->modules[book->nr_modules].number = book->nr_definitions;
	book->modules[book->nr_modules].end = UINT64_MAX;
	copy = &book->modules[book->nr_modules].definition;
	err = vs_definitions_copy_module(copy, module);
	book->nr_modules += !err;
	return err;
}

/* A row of a block. Returns the bytes it takes. */
static int take_row(struct vs_definition_book *book, const uint8_t *bytes, size_t size)
{
	struct vs_definitions_stack stack;
	struct vs_record record;
	bool is_record;
	int taken, err = 0;

	if (bytes[0] == VS_RECORD_STACK) {
		taken = vs_definitions_reader_get_stack(bytes, size, &stack);
		if (taken < 0)
			return taken;
		err = VS_GROW(book->stacks, book->stacks_capacity, book->nr_stacks + 1);
		if (err)
			return err;
		book->stacks[book->nr_stacks++] = (struct stack){book->nr_definitions++, stack};
		return taken;
	}
	taken = vs_definitions_reader_get(&book->nodes, bytes, size, &record, &is_record, NULL);
	if (taken < 0 || !is_record)
		return taken;
	if (record.type == VS_RECORD_MODULE)
		err = add_module(book, &record.module);
	/* Devices and pools are in snapshots. */
	if (!err && record.type != VS_RECORD_DEVICE && record.type != VS_RECORD_POOL)
		err = add_row(book, bytes, (size_t)taken);
	book->nr_definitions++;
	return err ? err : taken;
}

static int take_block(struct vs_definition_book *book, const struct vs_block_file *file)
{
	const struct vs_block_header *header = &file->header;
	size_t at = 0;
	uint32_t i;
	int taken;

	if (header->kind != VS_BLOCK_DEFINITIONS)
		return header->kind == VS_BLOCK_EVENTS ? -VS_ERR_CORRUPT : 0;
	for (i = 0; i < header->nr_records; i++) {
		if (at == header->raw_size)
			return -VS_ERR_CORRUPT;
		taken = take_row(book, file->raw + at, header->raw_size - at);
		if (taken < 0)
			return taken;
		at += (size_t)taken;
	}
	return at == header->raw_size ? 0 : -VS_ERR_CORRUPT;
}

static int take_stretch(struct vs_definition_book *book, struct vs_block_file *file,
			const struct vs_reader_block *stretch)
{
	int got, err = 0;

	file->offset = stretch->offset;
	while (file->offset < stretch->end && !err) {
		bool is_first = file->offset == stretch->offset;

		got = vs_block_file_next(file);
		if (got <= 0)
			return got ? got : -VS_ERR_CORRUPT;
		if (is_first && file->header.payload_crc != stretch->payload_crc)
			return -VS_ERR_CORRUPT;
		err = take_block(book, file);
	}
	return err;
}

static int take_blocks(struct vs_definition_book *book, int fd,
		       const struct vs_index_directory *directory)
{
	struct vs_block_file file;
	size_t i;
	int err = vs_block_file_init(&file, fd);

	for (i = 0; i < directory->nr_stretches && !err; i++)
		err = take_stretch(book, &file, &directory->stretches[i].block);
	vs_block_file_fini(&file);
	if (!err && book->nr_definitions != directory->nr_definitions)
		err = -VS_ERR_CORRUPT;
	return err;
}

/* ---- Sites ---------------------------------------------------------------------------------- */

static int make_sites(struct vs_definition_book *book, size_t nr)
{
	struct vs_shared_stacks *shared = &book->shared;
	size_t i;

	book->all_sites = calloc(nr, sizeof(book->all_sites[0]));
	book->first_stacks = calloc(nr, sizeof(book->first_stacks[0]));
	shared->sites = calloc(nr, sizeof(shared->sites[0]));
	if (!book->all_sites || !shared->sites || !book->first_stacks)
		return -VS_ERR_NO_MEMORY;
	shared->nr_sites = nr;
	for (i = 0; i < nr; i++) {
		shared->sites[i] = &book->all_sites[i];
		shared->sites[i]->index = (uint32_t)i;
		shared->sites[i]->book = i ? book : NULL; /* the first has no frames */
	}
	return 0;
}

/* They are numbered as they come, so none is above all before it by more than 1. */
static int find_sites(struct vs_definition_book *book, const struct vs_index_directory *directory)
{
	struct vs_shared_stacks *shared = &book->shared;
	size_t nr_sites = 1, i;
	int err;

	if (directory->nr_stacks != book->nr_stacks)
		return -VS_ERR_CORRUPT;
	for (i = 0; i < book->nr_stacks; i++) {
		if (directory->stack_sites[i] > nr_sites)
			return -VS_ERR_CORRUPT;
		nr_sites += directory->stack_sites[i] == nr_sites;
	}
	err = make_sites(book, nr_sites);
	shared->sites_of = directory->stack_sites;
	shared->nr = book->nr_stacks;
	shared->by_number = calloc(2 * book->nr_stacks + 1, sizeof(shared->by_number[0]));
	if (!shared->by_number)
		return -VS_ERR_NO_MEMORY;
	shared->nr_numbers = (uint32_t)(2 * book->nr_stacks);
	/* The first of a number counts. */
	for (i = book->nr_stacks; i-- > 0 && !err;) {
		uint32_t id = book->stacks[i].row.id;

		book->first_stacks[directory->stack_sites[i]] = (uint32_t)i;
		if (id < shared->nr_numbers)
			shared->by_number[id] = (uint32_t)i + 1;
		else
			err = vs_id_map_put(&shared->by_id, id, (void *)(uintptr_t)(i + 1));
	}
	return err;
}

/* All modules of the number that are there by then. */
static void end_modules(struct vs_definition_book *book, const struct vs_index_directory *directory)
{
	size_t i, k;

	for (i = 0; i < directory->nr_module_ends; i++) {
		const struct vs_index_module_end *end = &directory->module_ends[i];

		for (k = 0; k < book->nr_modules; k++) {
			struct module *module = &book->modules[k];

			if (module->number < end->nr_definitions && module->end == UINT64_MAX &&
			    module->definition.id == end->module)
				module->end = end->nr_definitions;
		}
	}
}

int vs_definition_book_create(struct vs_definition_book **out, const struct vs_reader *reader,
			      const struct vs_index_directory *directory)
{
	struct vs_definition_book *book = calloc(1, sizeof(*book));
	int err;

	if (!book)
		return -VS_ERR_NO_MEMORY;
	err = take_blocks(book, vs_reader_get_fd(reader), directory);
	if (!err)
		err = find_sites(book, directory);
	if (err) {
		vs_definition_book_destroy(book);
		return err;
	}
	end_modules(book, directory);
	*out = book;
	return 0;
}

void vs_definition_book_destroy(struct vs_definition_book *book)
{
	size_t i;

	if (!book)
		return;
	vs_definitions_reader_fini(&book->nodes);
	vs_pack_fini(&book->bytes);
	for (i = 0; i < book->shared.nr_sites; i++)
		free(book->all_sites[i].frames);
	for (i = 0; i < book->nr_modules; i++)
		free(book->modules[i].definition.path);
	free(book->rows);
	free(book->stacks);
	free(book->first_stacks);
	free(book->modules);
	free(book->all_sites);
	free(book->shared.sites);
	vs_id_map_fini(&book->shared.by_id);
	free(book->shared.by_number);
	free(book);
}

/* ---- Giving --------------------------------------------------------------------------------- */

/* What a module's addresses belong to depends on those that had gone before. */
static int give_ends(const struct vs_index_directory *directory, size_t *next, uint64_t nr_records,
		     uint64_t nr_given, struct vs_definitions *definitions)
{
	int err = 0;

	for (; *next < directory->nr_module_ends && !err; ++*next) {
		const struct vs_index_module_end *end = &directory->module_ends[*next];
		struct vs_record record = {.type = VS_RECORD_MODULE_END,
					   .module_end = {end->module}};

		if (end->nr_definitions > nr_given || end->record > nr_records)
			break;
		err = vs_definitions_add(definitions, &record);
	}
	return err;
}

static size_t count_stacks(const struct vs_definition_book *book, uint64_t nr_definitions)
{
	size_t low = 0, high = book->nr_stacks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (book->stacks[middle].number < nr_definitions)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int vs_definition_book_give(const struct vs_definition_book *book,
			    const struct vs_index_directory *directory, uint64_t nr_records,
			    uint64_t nr_definitions, struct vs_definitions *definitions)
{
	struct vs_record record;
	size_t next = 0, i;
	int err = 0;

	if (nr_definitions > book->nr_definitions)
		return -VS_ERR_CORRUPT;
	vs_definitions_share(definitions, &book->shared, count_stacks(book, nr_definitions));
	for (i = 0; i < book->nr_rows && !err; i++) {
		const struct row *row = &book->rows[i];

		if (row->number >= nr_definitions)
			break;
		err = give_ends(directory, &next, nr_records, row->number, definitions);
		if (!err &&
		    vs_codec_get_record(book->bytes.bytes + row->at, row->size, &record, NULL) < 0)
			err = -VS_ERR_CORRUPT;
		if (!err)
			err = vs_definitions_add(definitions, &record);
	}
	return err ? err : give_ends(directory, &next, nr_records, nr_definitions, definitions);
}

/* The module that held the address when a stack was defined; the newest one first. */
static const struct vs_definition_module *find_module(const struct vs_definition_book *book,
						      uint64_t address, uint64_t number)
{
	size_t i;

	for (i = book->nr_modules; i-- > 0;) {
		const struct module *module = &book->modules[i];

		if (module->number < number && module->end > number &&
		    address >= module->definition.start && address < module->definition.end)
			return &module->definition;
	}
	return NULL;
}

void vs_definition_book_read_site(struct vs_definition_book *book, uint32_t index)
{
	const struct stack *stack = &book->stacks[book->first_stacks[index]];
	struct vs_site *site = &book->all_sites[index];
	uint64_t addresses[VS_STACK_MAX];
	struct vs_stack found;
	uint32_t i;

	vs_definitions_reader_walk(&book->nodes, &stack->row, &found, addresses);
	site->is_cut = found.is_cut || found.is_deep;
	site->frames = calloc(found.nr_frames + 1u, sizeof(site->frames[0]));
	if (!site->frames)
		return;
	site->nr_frames = found.nr_frames;
	for (i = 0; i < found.nr_frames; i++) {
		site->frames[i].address = addresses[i];
		/* A return address may be the first byte behind its module: look at the call. */
		if (!vs_frame_is_special(addresses[i]))
			site->frames[i].module = find_module(book, addresses[i] - 1, stack->number);
	}
}
