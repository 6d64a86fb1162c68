/*
 * Finds DT_SONAME the way the dynamic loader does: program headers, dynamic section, string table,
 * all by address, never by section headers (a stripped or patched library may have none).
 *
 * Everything goes through pread. A file that somebody cuts while we look gives a short read; a
 * mapping would give the host program a SIGBUS.
 */
#include "elf_soname.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define PHDR_CHUNK   8
#define DYN_CHUNK    32
#define MAX_DYNAMICS 65536 /* entries; the largest libraries have about a hundred */

/* What one walk over the program headers needs to know to answer for one address. */
struct file_range {
	uint64_t offset;
	uint64_t size;
};

/* How many of @size bytes at @offset could be read. */
static size_t read_available(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;

	if (offset > INT64_MAX - size)
		return 0;
	while (done < size) {
		ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static int read_exact(int fd, void *bytes, size_t size, uint64_t offset)
{
	return read_available(fd, bytes, size, offset) == size ? 0 : -EINVAL;
}

static int read_header(int fd, Elf64_Ehdr *header)
{
	if (read_exact(fd, header, sizeof(*header), 0) != 0)
		return -ENOEXEC;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	/* The loader insists on this size, too. */
	if (header->e_phnum != 0 && header->e_phentsize != sizeof(Elf64_Phdr))
		return -EINVAL;
	return 0;
}

/* Reads program headers @first and following, at most PHDR_CHUNK; their number or -EINVAL. */
static int read_phdrs(int fd, const Elf64_Ehdr *header, unsigned int first, Elf64_Phdr *phdrs)
{
	unsigned int count = header->e_phnum - first;

	if (count > PHDR_CHUNK)
		count = PHDR_CHUNK;
	if (header->e_phoff > INT64_MAX - (uint64_t)header->e_phnum * sizeof(*phdrs))
		return -EINVAL;
	if (read_exact(fd, phdrs, count * sizeof(*phdrs),
		       header->e_phoff + (uint64_t)first * sizeof(*phdrs)) != 0)
		return -EINVAL;
	return (int)count;
}

/* The dynamic segment's address and size; the last one counts, as it does for the loader. */
static int find_dynamic(int fd, const Elf64_Ehdr *header, uint64_t *address, uint64_t *size)
{
	Elf64_Phdr phdrs[PHDR_CHUNK];
	bool found = false;

	for (unsigned int first = 0; first < header->e_phnum; first += PHDR_CHUNK) {
		int count = read_phdrs(fd, header, first, phdrs);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++) {
			if (phdrs[i].p_type != PT_DYNAMIC)
				continue;
			*address = phdrs[i].p_vaddr;
			*size = phdrs[i].p_filesz;
			found = true;
		}
	}
	return found ? 0 : -ENOENT;
}

/*
 * Which bytes of the file hold @address, up to the end of their segment. The last match counts:
 * where segments overlap, the loader maps the later one over the earlier.
 */
static int find_range(int fd, const Elf64_Ehdr *header, uint64_t address, struct file_range *range)
{
	Elf64_Phdr phdrs[PHDR_CHUNK];
	bool found = false;

	for (unsigned int first = 0; first < header->e_phnum; first += PHDR_CHUNK) {
		int count = read_phdrs(fd, header, first, phdrs);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++) {
			uint64_t into = address - phdrs[i].p_vaddr;

			if (phdrs[i].p_type != PT_LOAD || address < phdrs[i].p_vaddr ||
			    into >= phdrs[i].p_filesz || phdrs[i].p_offset > INT64_MAX - into)
				continue;
			range->offset = phdrs[i].p_offset + into;
			range->size = phdrs[i].p_filesz - into;
			found = true;
		}
	}
	return found ? 0 : -EINVAL;
}

/* The string table's address and the soname's place in it. */
static int read_dynamic(int fd, const struct file_range *range, uint64_t *strtab, uint64_t *soname)
{
	Elf64_Dyn entries[DYN_CHUNK];
	uint64_t nr_entries = range->size / sizeof(*entries);
	bool has_strtab = false, has_soname = false;

	if (nr_entries > MAX_DYNAMICS)
		nr_entries = MAX_DYNAMICS;
	for (uint64_t first = 0; first < nr_entries; first += DYN_CHUNK) {
		size_t count = DYN_CHUNK;

		if (count > nr_entries - first)
			count = (size_t)(nr_entries - first);
		if (read_exact(fd, entries, count * sizeof(*entries),
			       range->offset + first * sizeof(*entries)) != 0)
			return -EINVAL;
		for (size_t i = 0; i < count; i++) {
			if (entries[i].d_tag == DT_NULL)
				goto end;
			if (entries[i].d_tag == DT_STRTAB) {
				*strtab = entries[i].d_un.d_ptr;
				has_strtab = true;
			} else if (entries[i].d_tag == DT_SONAME) {
				*soname = entries[i].d_un.d_val;
				has_soname = true;
			}
		}
	}
end:
	if (!has_soname)
		return -ENOENT;
	return has_strtab ? 0 : -EINVAL;
}

static int read_string(int fd, const struct file_range *range, char *text, size_t size)
{
	char bytes[NAME_MAX + 1];
	size_t room = size < sizeof(bytes) ? size : sizeof(bytes);
	size_t wanted = range->size < room ? (size_t)range->size : room;
	size_t got = read_available(fd, bytes, wanted, range->offset);
	size_t length = strnlen(bytes, got);

	if (length == got)
		return got == room ? -ENAMETOOLONG : -EINVAL;
	memcpy(text, bytes, length + 1);
	return 0;
}

int sg_elf_soname_read(int fd, char *soname, size_t size)
{
	uint64_t address, dynamic_size, strtab, into;
	struct file_range range;
	Elf64_Ehdr header;
	int err;

	err = read_header(fd, &header);
	if (err)
		return err;
	err = find_dynamic(fd, &header, &address, &dynamic_size);
	if (err)
		return err;
	err = find_range(fd, &header, address, &range);
	if (err)
		return err;
	if (range.size > dynamic_size)
		range.size = dynamic_size;
	err = read_dynamic(fd, &range, &strtab, &into);
	if (err)
		return err;
	if (strtab > UINT64_MAX - into)
		return -EINVAL;
	err = find_range(fd, &header, strtab + into, &range);
	if (err)
		return err;
	return read_string(fd, &range, soname, size);
}
