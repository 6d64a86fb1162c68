#include "writer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.h"
#include "columns.h"
#include "coverage.h"
#include "crc32.h"
#include "definitions_writer.h"
#include "wire.h"

/* Pairs of INFO that are kept until they are written: one value of the greatest length at least. */
#define INFO_SIZE (2u * VS_WRITER_VALUE_MAX)

/* Definitions that are kept until they are written. More come in several flushes. */
#define DEFINITIONS_SIZE (1u << 20)

/* The drain shares the machine with the host: fast before small. */
#define ZLIB_LEVEL 1

/*
 * Events without a pattern are packed already as well as can be: where zlib takes away less than a
 * sixteenth, it is tried again only some blocks later. It would be half of the drain's work.
 */
#define LITTLE_GAIN 16
#define NR_PLAIN    15

/* People do not need it finer, and most bytes of an event are its time. */
#define TIME_UNIT_NS 1000u

/* The EVENTS block of a flush, while it is made. */
struct packing {
	struct vs_columns_bytes *content; /* its events; NULL: they are still in the columns */
	struct vs_block_header header;
	uint8_t *columns; /* where they belong in `raw`, behind what is covered */
	uint8_t *start;   /* of the block, in `out` */
	uint8_t *end;     /* when it is made */
};

/*
 * What was added waits in info, definitions, coverage and columns. A flush makes blocks of it in
 * `out`, all of them one behind the other, and writes them. If that fails they stay there, and
 * nothing more is taken until they are written.
 *
 * While another thread makes the last block (help), `raw`, `out`, `packing` and zlib are its own;
 * what is added meanwhile goes where it always goes.
 */
struct vs_writer {
	int fd;
	bool has_records;  /* INFO is over */
	bool needs_header; /* the file has none yet */
	struct vs_writer_zlib zlib;
	struct vs_columns *columns;
	struct vs_columns_bytes *spare;    /* to exchange; NULL: none yet, or it is being packed */
	const struct vs_writer_help *help; /* who makes a block now; NULL: nobody */
	struct packing packing;
	struct vs_stack_tree tree;
	struct vs_coverage coverage;
	size_t map_size;
	uint64_t file_size;  /* whole flushes only */
	uint64_t nr_events;  /* in the file */
	uint32_t nr_pending; /* waiting */
	uint32_t nr_pending_events;
	uint32_t nr_out; /* in `out` */
	uint32_t nr_out_events;
	uint64_t first_time_ns; /* of pending events */
	uint64_t last_time_ns;
	size_t info_size;
	size_t definitions_size;
	uint32_t nr_rows;
	uint32_t nr_plain;              /* EVENTS still to be stored as they are */
	struct vs_writer_totals totals; /* of a snapshot that is being written */
	uint64_t snapshot_offset;       /* where that begins */
	int snapshot_err;
	size_t out_size; /* > 0: they are to be written; the last flush has failed */
	uint8_t *raw;    /* room for the payload of EVENTS */
	uint8_t *out;    /* room for the blocks of a flush */
	uint8_t info[INFO_SIZE];
	uint8_t definitions[DEFINITIONS_SIZE];
};

/* ---- Bytes into the file --------------------------------------------------------------------- */

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -VS_ERR_IO;
		if (done == 0) {
			errno = EIO;
			return -VS_ERR_IO;
		}
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

/* If this fails, too, the reader meets a block that is cut: as good as none. */
static void cut_back(struct vs_writer *writer, uint64_t size)
{
	int saved = errno;

	if (ftruncate(writer->fd, (off_t)size) == 0)
		(void)lseek(writer->fd, (off_t)size, SEEK_SET);
	errno = saved;
}

/* All of it, or the file is as before. */
static int append(struct vs_writer *writer, const uint8_t *bytes, size_t size)
{
	if (!write_all(writer->fd, bytes, size)) {
		writer->file_size += size;
		return 0;
	}
	cut_back(writer, writer->file_size);
	return -VS_ERR_IO;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static size_t bound_of(const struct vs_writer_zlib *zlib, size_t size)
{
	size_t bound = zlib ? zlib->bound(size) : size;

	return VS_FORMAT_BLOCK_HEADER_SIZE + (bound > size ? bound : size);
}

/* Parts of a payload of `size` bytes that ends with columns; nothing is known of the rest. */
static uint32_t get_parts(const struct vs_writer *writer, size_t size,
			  struct vs_byte_texture_part parts[VS_COLUMNS_NR_PARTS + 1])
{
	uint32_t nr;
	const struct vs_columns_bytes *content = writer->packing.content;
	const struct vs_byte_texture_part *known =
		content ? vs_columns_bytes_get_parts(content, &nr)
			: vs_columns_get_parts(writer->columns, &nr);

	parts[0] = (struct vs_byte_texture_part){size, VS_BYTE_TEXTURE_REPEATING};
	memcpy(parts + 1, known, nr * sizeof(*parts));
	for (uint32_t i = 0; i < nr; i++)
		parts[0].size -= known[i].size;
	return nr + 1;
}

/* False: that would not make it smaller. */
static bool compress(const struct vs_writer *writer, uint8_t *out, unsigned long *out_size,
		     const uint8_t *raw, size_t size, bool has_columns)
{
	const struct vs_writer_zlib *zlib = &writer->zlib;
	struct vs_byte_texture_part parts[VS_COLUMNS_NR_PARTS + 1];
	int result;

	if (!zlib->compress)
		return false;
	*out_size = zlib->bound(size);
	if (has_columns && zlib->compress_parts)
		result = zlib->compress_parts(out, out_size, raw, parts,
					      get_parts(writer, size, parts), ZLIB_LEVEL);
	else
		result = zlib->compress(out, out_size, raw, size, ZLIB_LEVEL);
	return result == 0 && *out_size < size;
}

/* How put_block() is to go about it. */
enum how {
	ANY,
	WITH_COLUMNS, /* those that were finished last are the end of it */
	AS_IT_IS,     /* not compressed */
};

/* Puts a block at `out`, compressed if that makes it smaller and is wanted. Returns the place
 * behind. */
static uint8_t *put_block(const struct vs_writer *writer, uint8_t *out, const uint8_t *raw,
			  size_t size, struct vs_block_header *header, enum how how)
{
	uint8_t *payload = out + VS_FORMAT_BLOCK_HEADER_SIZE;
	unsigned long stored_size = 0;

	header->raw_size = (uint32_t)size;
	if (how != AS_IT_IS &&
	    compress(writer, payload, &stored_size, raw, size, how == WITH_COLUMNS)) {
		header->flags = VS_BLOCK_ZLIB;
	} else {
		vs_wire_put_bytes(payload, raw, size);
		stored_size = size;
	}
	header->stored_size = (uint32_t)stored_size;
	header->payload_crc = vs_crc32_add(0, payload, stored_size);
	vs_block_put_header(out, header);
	return payload + stored_size;
}

static uint8_t *put_info(struct vs_writer *writer, uint8_t *out)
{
	struct vs_block_header header = {.kind = VS_BLOCK_INFO};

	out = put_block(writer, out, writer->info, writer->info_size, &header, ANY);
	writer->info_size = 0;
	return out;
}

static uint8_t *put_definitions(struct vs_writer *writer, uint8_t *out)
{
	struct vs_block_header header = {
		.kind = VS_BLOCK_DEFINITIONS,
		.nr_records = writer->nr_rows,
	};

	out = put_block(writer, out, writer->definitions, writer->definitions_size, &header, ANY);
	writer->definitions_size = 0;
	writer->nr_rows = 0;
	return out;
}

/* As it will be read. */
static uint64_t round_time(uint64_t time_ns)
{
	return time_ns - time_ns % TIME_UNIT_NS;
}

/* The block of all events that wait, to be made at `out`. Others may be added from now on. */
static void begin_events(struct vs_writer *writer, uint8_t *out)
{
	struct packing *packing = &writer->packing;

	packing->header = (struct vs_block_header){
		.kind = VS_BLOCK_EVENTS,
		.nr_records = writer->nr_pending_events,
		.first_time_ns = round_time(writer->first_time_ns),
		.last_time_ns = round_time(writer->last_time_ns),
	};
	packing->columns = vs_coverage_put(writer->raw, &writer->coverage);
	packing->start = out;
	vs_coverage_clear(&writer->coverage);
	writer->first_time_ns = 0;
	writer->last_time_ns = 0;
	if (writer->spare && writer->nr_pending_events) {
		packing->content = vs_columns_exchange(writer->columns, writer->spare);
		writer->spare = NULL;
	}
}

/* Makes it; in any thread. */
static void pack_events(void *what)
{
	struct vs_writer *writer = what;
	struct packing *packing = &writer->packing;
	uint8_t *p = packing->columns;
	enum how how = ANY;

	if (packing->header.nr_records) {
		p += packing->content ? vs_columns_bytes_put(packing->content, p)
				      : vs_columns_finish(writer->columns, p);
		how = WITH_COLUMNS;
	}
	packing->end = put_block(writer, packing->start, writer->raw, (size_t)(p - writer->raw),
				 &packing->header, writer->nr_plain ? AS_IT_IS : how);
}

/* It is made. */
static void end_events(struct vs_writer *writer)
{
	const struct vs_block_header *header = &writer->packing.header;

	if (writer->packing.content)
		writer->spare = writer->packing.content;
	writer->packing.content = NULL;
	if (writer->nr_plain)
		writer->nr_plain--;
	else if (header->stored_size > header->raw_size - header->raw_size / LITTLE_GAIN)
		writer->nr_plain = NR_PLAIN;
	writer->out_size = (size_t)(writer->packing.end - writer->out);
}

/* Times of the first and the last event of a block, from events in a row. */
static void note_times(struct vs_writer *writer, const struct vs_record *events, uint32_t nr,
		       bool is_first)
{
	writer->last_time_ns = events[nr - 1].time_ns;
	if (is_first)
		writer->first_time_ns = events[0].time_ns;
}

/* ---- Flushing -------------------------------------------------------------------------------- */

/* Makes blocks of all that waits but its events. Returns the place behind them. */
static uint8_t *begin_flush(struct vs_writer *writer)
{
	uint8_t *p = writer->out;

	/* With the first block, in one write: a trace without INFO says nothing of its log. */
	if (writer->needs_header) {
		vs_block_put_file_header(p);
		p += VS_FORMAT_HEADER_SIZE;
		writer->needs_header = false;
	}
	if (writer->info_size)
		p = put_info(writer, p);
	if (writer->definitions_size)
		p = put_definitions(writer, p);
	return p;
}

/* Nothing waits any more: it is in `out`, or will be. */
static void move_pending(struct vs_writer *writer)
{
	writer->nr_out = writer->nr_pending;
	writer->nr_out_events = writer->nr_pending_events;
	writer->nr_pending = 0;
	writer->nr_pending_events = 0;
}

static int write_out(struct vs_writer *writer)
{
	int err = append(writer, writer->out, writer->out_size);

	if (err)
		return err;
	writer->nr_events += writer->nr_out_events;
	writer->nr_out = 0;
	writer->nr_out_events = 0;
	writer->out_size = 0;
	return 0;
}

/* Waits for what another thread makes. */
static void await_help(struct vs_writer *writer)
{
	if (!writer->help)
		return;
	writer->help->await();
	writer->help = NULL;
	end_events(writer);
}

/* What an earlier flush has left. */
static int write_rest(struct vs_writer *writer)
{
	await_help(writer);
	return writer->out_size ? write_out(writer) : 0;
}

int vs_writer_flush(struct vs_writer *writer)
{
	int err = write_rest(writer);
	uint8_t *p;

	if (err)
		return err;
	p = begin_flush(writer);
	writer->out_size = (size_t)(p - writer->out);
	if (writer->nr_pending) {
		begin_events(writer, p);
		pack_events(writer);
		end_events(writer);
	}
	move_pending(writer);
	return write_out(writer);
}

int vs_writer_flush_aside(struct vs_writer *writer, const struct vs_writer_help *help)
{
	int err = write_rest(writer);

	if (err)
		return err;
	if (!writer->nr_pending_events ||
	    (!writer->spare && vs_columns_bytes_create(&writer->spare)))
		return vs_writer_flush(writer);
	begin_events(writer, begin_flush(writer));
	move_pending(writer);
	if (help->give(pack_events, writer)) {
		writer->help = help;
		return 0;
	}
	pack_events(writer);
	end_events(writer);
	return write_out(writer);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

void vs_writer_begin_snapshot(struct vs_writer *writer, const struct vs_writer_totals *totals)
{
	writer->totals = *totals;
	writer->snapshot_offset = writer->file_size;
	writer->snapshot_err = 0;
}

void vs_writer_add_ring_end(struct vs_writer *writer, uint32_t ring, uint64_t end)
{
	vs_coverage_add_all(&writer->coverage, ring, end);
}

/* A block of all events that were added since the last one. Only the first says what is covered. */
static void write_snapshot_block(struct vs_writer *writer)
{
	struct vs_block_header header = {
		.kind = VS_BLOCK_SNAPSHOT,
		.nr_records = vs_columns_get_nr(writer->columns),
		.first_time_ns = round_time(writer->first_time_ns),
		.last_time_ns = round_time(writer->last_time_ns),
	};
	uint8_t *p = writer->raw;
	uint8_t *behind;

	p = vs_wire_put_varint(p, writer->totals.nr_events);
	p = vs_wire_put_varint(p, writer->totals.nr_lost);
	p = vs_coverage_put(p, &writer->coverage);
	vs_coverage_clear(&writer->coverage);
	if (header.nr_records)
		p += vs_columns_finish(writer->columns, p);
	behind = put_block(writer, writer->out, writer->raw, (size_t)(p - writer->raw), &header,
			   ANY);
	writer->first_time_ns = 0;
	writer->last_time_ns = 0;
	if (!writer->snapshot_err)
		writer->snapshot_err = append(writer, writer->out, (size_t)(behind - writer->out));
}

void vs_writer_add_to_snapshot(struct vs_writer *writer, const struct vs_record *event)
{
	if (vs_columns_is_full(writer->columns))
		write_snapshot_block(writer);
	note_times(writer, event, 1, !vs_columns_get_nr(writer->columns));
	vs_columns_add(writer->columns, event);
}

int vs_writer_end_snapshot(struct vs_writer *writer)
{
	write_snapshot_block(writer);
	if (writer->snapshot_err) {
		cut_back(writer, writer->snapshot_offset);
		writer->file_size = writer->snapshot_offset;
	}
	return writer->snapshot_err;
}

void vs_writer_move(struct vs_writer *writer, int fd, uint64_t nr_events)
{
	off_t size = lseek(fd, 0, SEEK_CUR);

	close(writer->fd);
	writer->fd = fd;
	writer->file_size = size > 0 ? (uint64_t)size : 0;
	writer->nr_events -= nr_events;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int create(struct vs_writer **writer, int fd, const struct vs_writer_zlib *zlib)
{
	size_t raw_size = 2 * VS_WIRE_VARINT_MAX + VS_COVERAGE_BOUND + vs_columns_bound();
	size_t map_size = sizeof(**writer) + raw_size + VS_FORMAT_HEADER_SIZE +
			  bound_of(zlib, raw_size) + bound_of(zlib, INFO_SIZE) +
			  bound_of(zlib, DEFINITIONS_SIZE);
	struct vs_writer *new;
	off_t here;

	new = mmap(NULL, map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED) {
		close(fd);
		return -VS_ERR_NO_MEMORY;
	}
	new->fd = fd;
	new->map_size = map_size;
	new->raw = (uint8_t *)(new + 1);
	new->out = new->raw + raw_size;
	vs_stack_tree_init(&new->tree, 1);
	if (zlib)
		new->zlib = *zlib;
	here = lseek(fd, 0, SEEK_CUR);
	new->file_size = here > 0 ? (uint64_t)here : 0;
	if (vs_columns_create(&new->columns, TIME_UNIT_NS)) {
		vs_writer_abandon(new);
		return -VS_ERR_NO_MEMORY;
	}
	*writer = new;
	return 0;
}

int vs_writer_create(struct vs_writer **writer, int fd, const struct vs_writer_zlib *zlib)
{
	struct vs_writer *new;
	int err;

	err = create(&new, fd, zlib);
	if (err)
		return err;
	new->needs_header = true;
	*writer = new;
	return 0;
}

int vs_writer_resume(struct vs_writer **writer, int fd, const struct vs_writer_zlib *zlib,
		     uint64_t nr_events, uint32_t next_node)
{
	struct vs_writer *new;
	int err;

	err = create(&new, fd, zlib);
	if (err)
		return err;
	new->nr_events = nr_events;
	vs_stack_tree_init(&new->tree, next_node);
	*writer = new;
	return 0;
}

void vs_writer_abandon(struct vs_writer *writer)
{
	await_help(writer);
	if (writer->spare)
		vs_columns_bytes_destroy(writer->spare);
	close(writer->fd);
	vs_stack_tree_fini(&writer->tree);
	if (writer->columns)
		vs_columns_destroy(writer->columns);
	munmap(writer, writer->map_size);
}

static int finish(struct vs_writer *writer, uint64_t nr_lost, enum vs_end how)
{
	struct vs_block_header header = {.kind = VS_BLOCK_END};
	uint8_t payload[VS_FORMAT_END_SIZE];
	struct vs_block_end end;
	int err, end_err, saved;
	uint8_t *behind;

	err = vs_writer_flush(writer);
	saved = errno;
	end.nr_events = writer->nr_events;
	end.nr_lost = nr_lost + writer->nr_out_events + writer->nr_pending_events;
	end.how = how;
	vs_block_put_end(payload, &end);
	behind = put_block(writer, writer->out, payload, sizeof(payload), &header, ANY);
	/* Tried after a failure, too: there may be room again, and the loss is worth a block. */
	end_err = append(writer, writer->out, (size_t)(behind - writer->out));
	if (!err && end_err) {
		err = end_err;
		saved = errno;
	}
	vs_writer_abandon(writer);
	errno = saved;
	return err;
}

int vs_writer_close(struct vs_writer *writer, uint64_t nr_lost)
{
	return finish(writer, nr_lost, VS_END_IN_ORDER);
}

int vs_writer_close_folded(struct vs_writer *writer, uint64_t nr_lost)
{
	return finish(writer, nr_lost, VS_END_FOLDED);
}

/* ---- What goes in ---------------------------------------------------------------------------- */

int vs_writer_add_info(struct vs_writer *writer, const char *key, const char *value)
{
	size_t key_size = strlen(key);
	size_t value_size = strnlen(value, VS_WRITER_VALUE_MAX);
	uint8_t *p;
	int err;

	if (writer->has_records || !key_size || key_size > UINT8_MAX)
		return -VS_ERR_INVALID;
	if (writer->out_size ||
	    writer->info_size + key_size + value_size + 2 * VS_WIRE_VARINT_MAX > INFO_SIZE) {
		err = vs_writer_flush(writer);
		if (err)
			return err;
	}
	p = writer->info + writer->info_size;
	p = vs_wire_put_varint(p, key_size);
	p = vs_wire_put_bytes(p, key, key_size);
	p = vs_wire_put_varint(p, value_size);
	p = vs_wire_put_bytes(p, value, value_size);
	writer->info_size = (size_t)(p - writer->info);
	return 0;
}

static void add_events(struct vs_writer *writer, const struct vs_record *events, uint32_t nr)
{
	note_times(writer, events, nr, !writer->nr_pending_events);
	vs_columns_add_some(writer->columns, events, nr);
	writer->nr_pending_events += nr;
}

static void add_definition(struct vs_writer *writer, const struct vs_record *record)
{
	writer->definitions_size +=
		vs_definitions_writer_put(writer->definitions + writer->definitions_size, record,
					  &writer->tree, &writer->nr_rows);
}

void vs_writer_cover(struct vs_writer *writer, uint32_t ring, uint64_t sequence, uint32_t nr)
{
	writer->has_records = true;
	writer->nr_pending += nr;
	vs_coverage_add_run(&writer->coverage, ring, sequence, nr);
}

uint32_t vs_writer_add_some(struct vs_writer *writer, const struct vs_record *records, uint32_t nr)
{
	uint32_t nr_events = nr;

	if (nr && !vs_record_is_event(records[nr - 1].type))
		nr_events--;
	if (nr_events)
		add_events(writer, records, nr_events);
	if (nr_events < nr)
		add_definition(writer, &records[nr_events]);
	return nr_events;
}

uint32_t vs_writer_add_run(struct vs_writer *writer, const struct vs_record *records, uint32_t nr,
			   uint32_t ring, uint64_t sequence)
{
	vs_writer_cover(writer, ring, sequence, nr);
	return vs_writer_add_some(writer, records, nr);
}

void vs_writer_add(struct vs_writer *writer, const struct vs_record *record, uint32_t ring,
		   uint64_t sequence)
{
	(void)vs_writer_add_run(writer, record, 1, ring, sequence);
}

uint32_t vs_writer_get_room(const struct vs_writer *writer)
{
	return vs_writer_is_full(writer) ? 0 : VS_COLUMNS_MAX - writer->nr_pending_events;
}

bool vs_writer_is_full(const struct vs_writer *writer)
{
	return writer->out_size || vs_columns_is_full(writer->columns) ||
	       vs_coverage_is_full(&writer->coverage) ||
	       writer->definitions_size + VS_DEFINITIONS_WRITER_MAX > DEFINITIONS_SIZE;
}

uint32_t vs_writer_get_nr_pending(const struct vs_writer *writer)
{
	return writer->nr_out + writer->nr_pending;
}

uint64_t vs_writer_get_size(const struct vs_writer *writer)
{
	return writer->file_size;
}

uint32_t vs_writer_get_next_node(const struct vs_writer *writer)
{
	return writer->tree.next_node;
}
