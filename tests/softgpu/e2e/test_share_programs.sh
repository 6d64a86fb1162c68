#!/usr/bin/env bash
# Programs of several processes, as people write them, from start to end under softgpu-run.
# shellcheck source=e2e_cases.sh
source "${BASH_SOURCE[0]%/*}/e2e_cases.sh"
export SOFTGPU_LIBDIR=$STANDINS SOFTGPU_MEMORY=4G
unset LD_LIBRARY_PATH

# expect_well LAUNCHER-OPTION... PROGRAM
expect_well() {
	run "$LAUNCHER" "$@"
	[[ $status == 0 && -z $err ]] || fail "expected it to end well"
}

test_memory_and_events_by_handles() {
	expect_well -n 1 "$SHARE_IPC"
	expect_well -n 2 "$SHARE_IPC"
}

test_physical_memory_by_descriptors() {
	expect_well -n 1 "$SHARE_MEMMAP"
}

test_pools_by_descriptors() {
	expect_well -n 1 "$SHARE_POOL"
	expect_well -n 2 "$SHARE_POOL"
}

test_large_cards_keep_what_is_small() {
	# Copies of MiB are forgotten there, so the programs find that out and say so: no crash.
	for program in "$SHARE_IPC" "$SHARE_MEMMAP" "$SHARE_POOL"; do
		run "$LAUNCHER" --backing zero "$program"
		[[ $status == 1 && $err == *copy* ]] || fail "expected it to find its bytes missing"
	done
}

test_processes_with_a_card_each_cannot_share() {
	export LD_LIBRARY_PATH=$STANDINS
	run "$SHARE_IPC"
	[[ $status == 1 && $err == *cudaIpcOpenMemHandle*205* ]] || fail "expected a clean error"
}

run_cases
