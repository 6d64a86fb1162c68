#ifndef VS_SAME_REPLAY_H
#define VS_SAME_REPLAY_H

#include "replay.h"

/*
 * Fails the test unless two replays hold the same: everything but observers, where things are in
 * memory, and how trees and tables look inside.
 */
void assert_same_replay(const struct vs_replay *one, const struct vs_replay *other);

#endif
