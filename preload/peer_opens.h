#ifndef VS_PEER_OPENS_H
#define VS_PEER_OPENS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Memory of other processes that is open. Who opens it once more gets the address that is there
 * already, and it stays until it was closed as often: neither that opening nor that closing changes
 * anything. Any thread; no lock.
 */

/* It was opened. True: it was open before. */
bool vs_peer_opens_add(uint64_t address);

/* It is about to be closed. True: it stays open; false also if nobody knows it. */
bool vs_peer_opens_take(uint64_t address);

/* Contexts are about to go, and what is open in them: nothing is known any more. */
void vs_peer_opens_forget(void);

#endif
