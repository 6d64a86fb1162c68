#include "tensorflow_dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compose.h"

/* ---- Bytes: protobuf's wire format ----------------------------------------------------------- */

struct input {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad;
};

struct field {
	uint32_t number;
	uint64_t value;     /* of a number; of 32 bits: as they are */
	struct input bytes; /* of a message or text */
};

static uint64_t get_varint(struct input *in)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	in->is_bad = true;
	return 0;
}

static uint64_t get_fixed(struct input *in, unsigned size)
{
	uint64_t value = 0;

	if ((size_t)(in->end - in->at) < size) {
		in->is_bad = true;
		return 0;
	}
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)*in->at++ << 8 * i;
	return value;
}

/* False: the end, or damage. */
static bool get_field(struct input *in, struct field *field)
{
	uint64_t key, size;

	if (in->is_bad || in->at == in->end)
		return false;
	key = get_varint(in);
	memset(field, 0, sizeof(*field));
	field->number = (uint32_t)(key >> 3);
	switch (key & 7) {
	case 0:
		field->value = get_varint(in);
		break;
	case 1:
		field->value = get_fixed(in, 8);
		break;
	case 5:
		field->value = get_fixed(in, 4);
		break;
	case 2:
		size = get_varint(in);
		if (in->is_bad || size > (size_t)(in->end - in->at)) {
			in->is_bad = true;
			break;
		}
		field->bytes = (struct input){.at = in->at, .end = in->at + size};
		in->at += size;
		break;
	default:
		in->is_bad = true;
	}
	return !in->is_bad;
}

/* ---- The message ----------------------------------------------------------------------------- */

enum {
	DUMP_CHUNK = 3,
	DUMP_STATS = 5,
	CHUNK_SIZE = 2,
	CHUNK_REQUESTED = 3,
	CHUNK_IN_USE = 8,
	STATS_FRAGMENTATION = 5,
};

static bool read_chunk(struct vs_tensorflow_dump *dump, struct input in)
{
	uint64_t size = 0, requested = 0;
	bool is_used = false;
	struct field field;

	while (get_field(&in, &field)) {
		if (field.number == CHUNK_SIZE)
			size = field.value;
		else if (field.number == CHUNK_REQUESTED)
			requested = field.value;
		else if (field.number == CHUNK_IN_USE)
			is_used = field.value;
	}
	if (is_used) {
		dump->nr_used++;
		dump->used_size += size;
		dump->requested_size += requested;
	} else {
		dump->nr_free++;
		dump->free_size += size;
		if (size > dump->largest_free)
			dump->largest_free = size;
	}
	return !in.is_bad;
}

static bool read_stats(struct vs_tensorflow_dump *dump, struct input in)
{
	struct field field;

	while (get_field(&in, &field)) {
		uint32_t bits = (uint32_t)field.value;
		float share;

		if (field.number != STATS_FRAGMENTATION)
			continue;
		memcpy(&share, &bits, sizeof(share));
		if (share >= 0 && share <= 1)
			dump->fragmentation = (uint32_t)(share * 1000 + 0.5f);
	}
	return !in.is_bad;
}

bool vs_tensorflow_dump_read(struct vs_tensorflow_dump *dump, const void *bytes, size_t size)
{
	struct input in = {.at = bytes, .end = (const uint8_t *)bytes + size};
	struct vs_tensorflow_dump found = {0};
	struct field field;
	bool has_stats = false;

	while (get_field(&in, &field)) {
		if (field.number == DUMP_CHUNK && !read_chunk(&found, field.bytes))
			return false;
		if (field.number == DUMP_STATS) {
			has_stats = true;
			if (!read_stats(&found, field.bytes))
				return false;
		}
	}
	if (in.is_bad || !has_stats)
		return false;
	*dump = found;
	return true;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void add_count(struct vs_compose *text, uint64_t number, const char *what)
{
	vs_compose_add_number(text, number);
	vs_compose_add(text, what);
}

size_t vs_tensorflow_dump_tell(const struct vs_tensorflow_dump *dump,
			       char bytes[VS_TENSORFLOW_DUMP_TEXT_MAX])
{
	struct vs_compose text;

	vs_compose_init(&text, bytes, VS_TENSORFLOW_DUMP_TEXT_MAX);
	add_count(&text, dump->nr_used, " chunks in use, ");
	add_count(&text, dump->used_size, " bytes (");
	add_count(&text, dump->requested_size, " requested); ");
	add_count(&text, dump->nr_free, " free, ");
	add_count(&text, dump->free_size, " bytes, the largest ");
	add_count(&text, dump->largest_free, "; fragmentation ");
	add_count(&text, dump->fragmentation / 1000, ".");
	if (dump->fragmentation % 1000 < 100)
		vs_compose_add(&text, dump->fragmentation % 1000 < 10 ? "00" : "0");
	vs_compose_add_number(&text, dump->fragmentation % 1000);
	return text.size;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool read_file(struct vs_tensorflow_dump *dump, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_read = false;
	struct stat state;
	void *bytes;

	if (fd < 0)
		return false;
	if (fstat(fd, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0) {
		bytes = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			is_read = vs_tensorflow_dump_read(dump, bytes, (size_t)state.st_size);
			munmap(bytes, (size_t)state.st_size);
		}
	}
	close(fd);
	return is_read;
}

/* The time in microseconds that a file has in its name, 0: it is none of the allocator's. */
static uint64_t get_time(const char *file, const char *prefix, const char *name)
{
	size_t prefix_size = strlen(prefix), name_size = strlen(name);
	const char *digits = file + prefix_size + name_size + 2;
	char *end;
	uint64_t time;

	if (strncmp(file, prefix, prefix_size) != 0 || file[prefix_size] != '_' ||
	    strncmp(file + prefix_size + 1, name, name_size) != 0 ||
	    file[prefix_size + 1 + name_size] != '.' || *digits < '0' || *digits > '9')
		return 0;
	time = strtoull(digits, &end, 10);
	return *end ? 0 : time;
}

/* The allocator's files, of which those but the newest go. */
struct search {
	const char *prefix;
	const char *name;
	uint64_t newest_time; /* 0: there is none */
	char newest[NAME_MAX + 1];
};

static void look_at(struct search *search, int folder, const char *file)
{
	uint64_t time = get_time(file, search->prefix, search->name);
	struct vs_compose text;

	if (!time)
		return;
	if (time < search->newest_time) {
		unlinkat(folder, file, 0);
		return;
	}
	if (search->newest_time)
		unlinkat(folder, search->newest, 0);
	search->newest_time = time;
	vs_compose_init(&text, search->newest, sizeof(search->newest));
	vs_compose_add(&text, file);
}

/* By the kernel's own entries: opendir takes memory of the program. */
static void search_folder(struct search *search, int folder)
{
	_Alignas(struct dirent64) char entries[2048];
	long size;

	while ((size = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			look_at(search, folder, entry->d_name);
			at += entry->d_reclen;
		}
	}
}

bool vs_tensorflow_dump_take(struct vs_tensorflow_dump *dump, const char *prefix, const char *name)
{
	const char *slash = strrchr(prefix, '/');
	struct search search = {.name = name};
	char path[PATH_MAX];
	struct vs_compose text;
	bool is_read = false;
	int saved = errno;
	int folder;

	if (!slash)
		return false;
	search.prefix = slash + 1;
	vs_compose_init(&text, path, sizeof(path));
	vs_compose_add_bytes(&text, prefix, (size_t)(slash - prefix) + 1);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0) {
		search_folder(&search, folder);
		if (search.newest_time) {
			is_read = read_file(dump, folder, search.newest);
			unlinkat(folder, search.newest, 0);
		}
		close(folder);
	}
	errno = saved;
	return is_read;
}
