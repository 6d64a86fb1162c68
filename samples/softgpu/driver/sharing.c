#include "sharing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_FD 512 /* out of the way of programs that number their own descriptors */

/* A file of another process, opened once for all pages of it. */
struct sg_sharing_file {
	uint64_t inode;
	int fd;
	unsigned nr_users;
	struct sg_sharing_file *next;
};

/* Guarded by the memory lock. */
static struct sg_sharing *by_index[SG_SHARE_MAX]; /* what this process holds, by index of the key */
static struct sg_sharing *put_aside;
static struct sg_sharing_file *files;

CUdevice sg_sharing_find_device(int index, CUdevice otherwise)
{
	for (CUdevice d = 0; d < sg_init_get_nr_devices(); d++)
		if (sg_init_get_index(d) == index)
			return d;
	return otherwise;
}

/* Open the file of other pages of its process, too. NULL: it is not there. */
static struct sg_sharing_file *open_file(const struct sg_share *share)
{
	struct sg_sharing_file *file;
	struct stat st;
	char path[64];
	int fd, high;

	for (file = files; file; file = file->next) {
		if (file->inode == share->inode) {
			file->nr_users++;
			return file;
		}
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)share->pid, (int)share->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	file = fd < 0 ? NULL : malloc(sizeof(*file));
	if (!file || fstat(fd, &st) < 0 || st.st_ino != share->inode) {
		if (fd >= 0)
			close(fd);
		free(file);
		return NULL;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	*file = (struct sg_sharing_file){
		.inode = share->inode, .fd = fd, .nr_users = 1, .next = files};
	files = file;
	return file;
}

static void close_file(struct sg_sharing_file *file)
{
	struct sg_sharing_file **link = &files;

	if (!file || --file->nr_users)
		return;
	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	close(file->fd);
	free(file);
}

static struct sg_sharing *create_sharing(struct sg_run *run, const struct sg_share_key *key)
{
	struct sg_sharing *sharing = malloc(sizeof(*sharing));

	if (sharing)
		*sharing = (struct sg_sharing){.key = *key, .nr_users = 1, .run = run};
	return sharing;
}

static void install(struct sg_sharing *sharing)
{
	/* What others write is not seen here: whoever reads has to look. */
	sharing->run->is_written = true;
	sharing->run->sharing = sharing;
	by_index[sharing->key.index] = sharing;
}

/* Let the run show bytes of another file. */
static bool cover(struct sg_run *run, const struct sg_share_key *key, struct sg_arena_place place,
		  struct sg_sharing_file *file)
{
	const struct sg_node *node = &run->pages->node;
	struct sg_sharing *sharing = create_sharing(run, key);

	if (!sharing)
		return false;
	if (!sg_arena_cover(node->base, node->size, place)) {
		free(sharing);
		return false;
	}
	sharing->is_covered = true;
	sharing->place = place;
	sharing->file = file;
	install(sharing);
	return true;
}

struct sg_run *sg_sharing_take_run(struct sg_space *space, uint64_t size)
{
	struct sg_card *card = sg_init_get_card();
	struct sg_share share = {.device = -1};
	struct sg_arena_place place = {.fd = sg_share_get_file(card)};
	struct sg_share_key key;
	struct sg_run *run;

	run = sg_space_take_run(space, size);
	if (!run)
		return NULL;
	if (space->device >= 0)
		share.device = sg_init_get_index(space->device);
	share.size = run->pages->node.size;
	if (sg_share_create(card, SG_SHARE_MEMORY, &share, &key) < 0)
		goto give;
	run->charged = 0; /* it is the entry's now */
	place.offset = share.offset;
	if (!cover(run, &key, place, NULL))
		goto close;
	return run;
close:
	sg_share_close(card, &key);
give:
	sg_space_give_run(run);
	return NULL;
}

bool sg_sharing_lend_run(struct sg_run *run)
{
	struct sg_arena_place place = sg_space_locate(run, run->pages->node.base);
	struct sg_share share = {.device = sg_init_get_index(run->space->device),
				 .fd = place.fd,
				 .size = run->charged,
				 .offset = place.offset};
	struct sg_share_key none = {0};
	struct sg_sharing *sharing;
	struct stat st;

	/* Memory without a file (RLIMIT_FSIZE) is nobody else's to find. */
	if (place.fd < 0 || fstat(place.fd, &st) < 0)
		return false;
	share.inode = st.st_ino;
	sharing = create_sharing(run, &none);
	if (!sharing)
		return false;
	if (sg_share_create(sg_init_get_card(), SG_SHARE_LENT, &share, &sharing->key) < 0) {
		free(sharing);
		return false;
	}
	run->charged = 0;
	install(sharing);
	return true;
}

/* Pages of a share that this process holds now, and has not had before. */
static struct sg_run *map_share(struct sg_space *space, const struct sg_share_key *key,
				const struct sg_share *share, CUresult *result)
{
	struct sg_arena_place place = {.fd = sg_share_get_file(sg_init_get_card()),
				       .offset = share->offset};
	struct sg_sharing_file *file = NULL;
	struct sg_run *run;

	if (key->kind == SG_SHARE_LENT) {
		file = open_file(share);
		if (!file) {
			*result = CUDA_ERROR_MAP_FAILED;
			return NULL;
		}
		place.fd = file->fd;
	}
	*result = CUDA_ERROR_OUT_OF_MEMORY;
	run = sg_space_take_addresses(space, share->size);
	if (!run)
		goto close;
	if (cover(run, key, place, file))
		return run;
	sg_space_give_run(run);
close:
	close_file(file);
	return NULL;
}

struct sg_run *sg_sharing_open_run(struct sg_space *space, const struct sg_share_key *key,
				   CUresult *result)
{
	struct sg_sharing *known = key->index < SG_SHARE_MAX ? by_index[key->index] : NULL;
	struct sg_share share;
	struct sg_run *run;

	if (known && known->key.id == key->id) {
		known->nr_users++;
		return known->run;
	}
	if (sg_share_open(sg_init_get_card(), key, &share) < 0) {
		*result = CUDA_ERROR_INVALID_HANDLE;
		return NULL;
	}
	run = map_share(space, key, &share, result);
	if (!run)
		sg_share_close(sg_init_get_card(), key);
	return run;
}

/* Show the arena's own bytes again. */
static bool uncover(struct sg_run *run)
{
	const struct sg_node *node = &run->pages->node;

	close_file(run->sharing->file);
	run->is_written = false;
	return sg_arena_uncover(&run->space->arena, run->chunk, node->base, node->size);
}

bool sg_sharing_end(struct sg_run *run)
{
	struct sg_sharing *sharing = run->sharing;
	struct sg_card *card = sg_init_get_card();

	if (--sharing->nr_users)
		return false;
	by_index[sharing->key.index] = NULL;
	sg_share_close(card, &sharing->key);
	if (sharing->is_covered) {
		/* Addresses that still show the bytes of others are lost; it takes a full table. */
		if (!uncover(run))
			return false;
	} else if (sg_share_exists(card, &sharing->key)) {
		sharing->next = put_aside;
		put_aside = sharing;
		return false;
	}
	run->sharing = NULL;
	free(sharing);
	return true;
}

void sg_sharing_sweep(void)
{
	struct sg_sharing **link = &put_aside;

	while (*link) {
		struct sg_sharing *sharing = *link;

		if (sg_share_exists(sg_init_get_card(), &sharing->key)) {
			link = &sharing->next;
			continue;
		}
		*link = sharing->next;
		sharing->run->sharing = NULL;
		sg_space_give_run(sharing->run);
		free(sharing);
	}
}
