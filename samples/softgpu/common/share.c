#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "card_inside.h"
#include "log.h"

/*
 * A descriptor given out holds entry N by a read lock on byte LOCK_BASE + N of the card's file,
 * where no bytes are, and has that as its position, by which it is known.
 */
#define LOCK_BASE ((off_t)1 << 62)

static unsigned get_slot(const struct sg_card *card)
{
	return (unsigned)(card->own - card->shared->slots);
}

static void set_hold(struct sg_card_entry *entry, unsigned slot, bool is_held)
{
	uint64_t bit = (uint64_t)1 << slot % 64;

	if (is_held)
		atomic_fetch_or(&entry->holders[slot / 64], bit);
	else
		atomic_fetch_and(&entry->holders[slot / 64], ~bit);
}

static bool is_held_by(const struct sg_card_entry *entry, unsigned slot)
{
	return atomic_load(&entry->holders[slot / 64]) >> slot % 64 & 1;
}

/* The first slot that holds the entry, or -1. */
static int find_holder(const struct sg_card_entry *entry)
{
	for (unsigned i = 0; i < SG_CARD_NR_SLOTS / 64; i++) {
		uint64_t bits = atomic_load(&entry->holders[i]);

		if (bits)
			return (int)(i * 64) + __builtin_ctzll(bits);
	}
	return -1;
}

/* Whether a descriptor of the entry is open anywhere. */
static bool is_locked(const struct sg_card *card, uint32_t index)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BASE + index, .l_len = 1};

	return card->fd >= 0 && fcntl(card->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool is_charged(const struct sg_card_entry *entry)
{
	return atomic_load(&entry->id) && entry->share.device >= 0;
}

void sg_share_add_sizes(const struct sg_card_shared *shared, uint64_t used[SG_MAX_DEVICES])
{
	for (int i = 0; i < shared->nr_entries; i++)
		if (is_charged(&shared->entries[i]))
			used[shared->entries[i].share.device] += shared->entries[i].share.size;
}

uint64_t sg_share_get_size_of(const struct sg_card_shared *shared, int slot, int device)
{
	uint64_t size = 0;

	for (int i = 0; i < shared->nr_entries; i++) {
		const struct sg_card_entry *entry = &shared->entries[i];
		int holder;

		if (!is_charged(entry) || entry->share.device != device)
			continue;
		/* Who made it, as long as that one holds it; then whoever comes first. */
		holder = is_held_by(entry, (unsigned)entry->maker) ? entry->maker
								   : find_holder(entry);
		if (holder == slot)
			size += entry->share.size;
	}
	return size;
}

void sg_share_drop_slot(struct sg_card_shared *shared, int slot)
{
	for (int i = 0; i < shared->nr_entries; i++)
		set_hold(&shared->entries[i], (unsigned)slot, false);
}

/* Remove an entry if nobody holds it. Lock held; the sums are the caller's business. */
static bool remove_if_unused(struct sg_card *card, struct sg_card_entry *entry)
{
	uint32_t index = (uint32_t)(entry - card->shared->entries);

	if (!atomic_load(&entry->id) || find_holder(entry) >= 0 || is_locked(card, index))
		return false;
	/* First the bytes: who dies here leaves an entry that the next one finds again. */
	if (entry->kind == SG_SHARE_MEMORY &&
	    fallocate(card->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)entry->share.offset, (off_t)entry->share.size) < 0)
		sg_log_say("memory of the host cannot be given back: %s", strerror(errno));
	atomic_store(&entry->id, 0);
	if ((int32_t)index < card->shared->first_free)
		card->shared->first_free = (int32_t)index;
	return true;
}

bool sg_share_sweep(struct sg_card *card)
{
	bool any = false;

	for (int i = 0; i < card->shared->nr_entries; i++)
		any |= remove_if_unused(card, &card->shared->entries[i]);
	return any;
}

/* The entry of a key if it is there. Lock held. */
static struct sg_card_entry *find_entry(struct sg_card *card, const struct sg_share_key *key)
{
	struct sg_card_entry *entry;

	if (!key->id || key->index >= SG_SHARE_MAX)
		return NULL;
	entry = &card->shared->entries[key->index];
	return atomic_load(&entry->id) == key->id && entry->kind == key->kind ? entry : NULL;
}

static void hold(struct sg_card *card, struct sg_card_entry *entry)
{
	set_hold(entry, get_slot(card), true);
	card->nr_holds[entry - card->shared->entries]++;
}

static struct sg_card_entry *find_free(struct sg_card *card)
{
	struct sg_card_shared *shared = card->shared;

	for (int attempt = 0; attempt < 2; attempt++) {
		for (int i = shared->first_free; i < SG_SHARE_MAX; i++) {
			if (atomic_load(&shared->entries[i].id))
				continue;
			shared->first_free = i;
			if (i >= shared->nr_entries)
				shared->nr_entries = i + 1;
			return &shared->entries[i];
		}
		if (!sg_share_sweep(card))
			break;
	}
	return NULL;
}

/* A place in the card's file. False if it cannot grow. */
static bool take_place(struct sg_card *card, struct sg_share *share)
{
	struct sg_card_shared *shared = card->shared;
	uint64_t end;
	struct rlimit limit;

	if (__builtin_add_overflow(shared->next_offset, share->size, &end) ||
	    end > (uint64_t)LOCK_BASE)
		return false;
	/* Beyond the limit the kernel answers with a signal that ends the program. */
	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur < end ||
	    ftruncate(card->fd, (off_t)end) < 0)
		return false;
	share->offset = shared->next_offset;
	shared->next_offset = end;
	return true;
}

int sg_share_create(struct sg_card *card, enum sg_share_kind kind, struct sg_share *share,
		    struct sg_share_key *key)
{
	struct sg_card_shared *shared = card->shared;
	struct sg_card_entry *entry;
	struct sg_card_slot *slot;
	int err = -1;

	sg_card_lock(card);
	slot = sg_card_take_slot(card);
	entry = slot && card->fd >= 0 ? find_free(card) : NULL;
	if (!entry || (kind == SG_SHARE_MEMORY && !take_place(card, share)))
		goto unlock;
	share->pid = getpid();
	for (unsigned i = 0; i < SG_CARD_NR_SLOTS / 64; i++)
		atomic_store(&entry->holders[i], 0);
	entry->kind = kind;
	entry->maker = (int32_t)get_slot(card);
	entry->share = *share;
	card->nr_holds[entry - shared->entries] = 0;
	hold(card, entry);
	*key = (struct sg_share_key){.id = ++shared->next_id,
				     .index = (uint32_t)(entry - shared->entries),
				     .kind = kind};
	if (share->device >= 0)
		atomic_fetch_sub(&slot->size[share->device], share->size);
	atomic_store(&entry->id, key->id);
	err = 0;
unlock:
	sg_card_unlock(card);
	return err;
}

int sg_share_open(struct sg_card *card, const struct sg_share_key *key, struct sg_share *share)
{
	struct sg_card_entry *entry;

	sg_card_lock(card);
	entry = sg_card_take_slot(card) ? find_entry(card, key) : NULL;
	if (entry) {
		/* The last one that held it may have died since it was last looked at. */
		sg_card_reap(card);
		entry = find_entry(card, key);
	}
	if (entry) {
		hold(card, entry);
		*share = entry->share;
	}
	sg_card_unlock(card);
	return entry ? 0 : -1;
}

void sg_share_close(struct sg_card *card, const struct sg_share_key *key)
{
	struct sg_card_entry *entry;

	sg_card_lock(card);
	entry = find_entry(card, key);
	if (entry && card->nr_holds[key->index] && --card->nr_holds[key->index] == 0) {
		set_hold(entry, get_slot(card), false);
		if (find_holder(entry) >= 0)
			sg_card_reap(card); /* they may be dead */
		else if (remove_if_unused(card, entry) && entry->share.device >= 0)
			card->shared->used[entry->share.device] -= entry->share.size;
	}
	sg_card_unlock(card);
}

bool sg_share_exists(struct sg_card *card, const struct sg_share_key *key)
{
	bool exists;

	sg_card_lock(card);
	exists = find_entry(card, key) != NULL;
	sg_card_unlock(card);
	return exists;
}

int sg_share_export(struct sg_card *card, const struct sg_share_key *key)
{
	struct flock lock = {.l_type = F_RDLCK,
			     .l_whence = SEEK_SET,
			     .l_start = LOCK_BASE + key->index,
			     .l_len = 1};
	char path[32];
	int fd;

	/* A lock belongs to what open() made: every descriptor needs one of its own. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", card->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (lseek(fd, LOCK_BASE + key->index, SEEK_SET) < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int sg_share_identify(struct sg_card *card, int fd, struct sg_share_key *key)
{
	struct stat theirs, ours;
	off_t position;
	int err = -1;

	if (card->fd < 0 || fstat(fd, &theirs) < 0 || fstat(card->fd, &ours) < 0 ||
	    theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev)
		return -1;
	position = lseek(fd, 0, SEEK_CUR);
	if (position < LOCK_BASE || position >= LOCK_BASE + SG_SHARE_MAX)
		return -1;
	*key = (struct sg_share_key){.index = (uint32_t)(position - LOCK_BASE)};
	sg_card_lock(card);
	key->id = atomic_load(&card->shared->entries[key->index].id);
	key->kind = card->shared->entries[key->index].kind;
	err = key->id ? 0 : -1;
	sg_card_unlock(card);
	return err;
}

int sg_share_get_file(const struct sg_card *card)
{
	return card->fd;
}

uint64_t sg_share_get_card_id(const struct sg_card *card)
{
	struct stat st;

	return card->fd >= 0 && fstat(card->fd, &st) == 0 ? st.st_ino : 0;
}
