#ifndef SG_CARD_H
#define SG_CARD_H

#include <stdint.h>
#include <sys/types.h>

#include "config.h"

/*
 * The card: the physical memory of the simulated devices, shared by every process that names the
 * same card. It is a memfd that each of its processes keeps open and mapped; a newcomer finds it
 * through /proc/PID/fd of any process of the same user. There is no file: when the last process is
 * gone the kernel takes it away, however that process ended.
 *
 * A process owns one slot: its pid, its start time, and the bytes it holds on each device. The sums
 * are guarded by a robust mutex. A holder that died in the middle leaves a slot whose words are
 * each either old or new; the next to lock rebuilds the sums from the slots. A slot whose process
 * is gone is taken back by whoever next finds no room or asks for the usage: memory of a killed
 * process is free for the first one that wants it.
 *
 * The process that creates the card decides its devices; others follow what they find.
 *
 * A child of fork() goes on with the card its parent opened, but holds nothing of it until it
 * charges for itself.
 *
 * Any thread may call any of these.
 */
struct sg_card;

struct sg_card_process {
	pid_t pid;
	uint64_t size; /* bytes held on the device */
};

/*
 * Find the card of that name, or make it; NULL name: one for this opener alone. NULL with a
 * line on standard error when no memory can be had. A card that cannot be searched for (no /proc)
 * is made private, and said.
 */
struct sg_card *sg_card_open(const char *name, const struct sg_config *config);
void sg_card_close(struct sg_card *card);

int sg_card_get_nr_devices(const struct sg_card *card);

/*
 * Take bytes of a device for this process: 0, or -1 if there is no room (nothing is taken then).
 * Takes a slot for the calling process the first time.
 */
int sg_card_charge(struct sg_card *card, int device, uint64_t size);

/* Give bytes back; never more than this process holds. */
void sg_card_uncharge(struct sg_card *card, int device, uint64_t size);

/* Capacity and bytes held by all living processes. */
void sg_card_get_usage(struct sg_card *card, int device, uint64_t *total, uint64_t *used);

/* Processes that hold memory of the device, at most max of them; returns how many there are. */
unsigned sg_card_get_processes(struct sg_card *card, int device, struct sg_card_process *out,
			       unsigned max);

#endif
