#!/usr/bin/env bash
# Programs with and without the hooks: same output, same results, same exit status; and every call
# is seen, however the program reaches CUDA.
set -u
unset LD_AUDIT LD_PRELOAD "${!SOFTGPU_@}"
export SOFTGPU_MEMORY=1G
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.driver"' EXIT

fail() {
	printf '  line %s: %s\n' "${BASH_LINENO[0]}" "$1"
	[[ ! -s $work/diff ]] || sed 's/^/  /' "$work/diff"
	exit 1
}

# in_order FILE: libraries that a program found mapped come in the order of random addresses.
in_order() {
	grep -v '^mapped ' "$1"
	grep '^mapped ' "$1" | sort
}

# compare STATUS PROGRAM...: runs it twice; the events are in $work/events then.
compare() {
	local want=$1 status

	shift
	rm -f "$work"/*
	"$@" >"$work/plain.out" 2>"$work/plain.err"
	status=$?
	[[ $status == "$want" ]] || fail "exit status $status without the hooks"
	HOOKS_EVENTS=$work/events LD_PRELOAD=$HOOKS "$@" >"$work/hooked.out" 2>"$work/hooked.err"
	status=$?
	[[ $status == "$want" ]] || fail "exit status $status with the hooks"
	diff <(in_order "$work/plain.out") <(in_order "$work/hooked.out") >"$work/diff" ||
		fail "the output differs"
	diff "$work/plain.err" "$work/hooked.err" >"$work/diff" || fail "standard error differs"
	touch "$work/events"
}

# count REGEX: lines of the events.
count() {
	grep -cE "$1" "$work/events"
}

# What program_runtime.c does, whichever name it goes by.
expect_events() {
	[[ $(count '^alloc device ') == 5 ]] || fail "device allocations: $(count '^alloc device ')"
	[[ $(count '^alloc managed ') == 1 ]] || fail "managed allocations"
	[[ $(count '^alloc pinned ') == 1 ]] || fail "pinned allocations"
	[[ $(count '^alloc async ') == 2 ]] || fail "asynchronous allocations"
	[[ $(count '^fail device ') == 1 ]] || fail "failed allocations"
	[[ $(count '^free ') == 12 ]] || fail "frees: $(count '^free ')"
	[[ $(count '^unfree ') == 3 ]] || fail "failed frees: $(count '^unfree ')"
	[[ $(count '^context reset 0 0') == 1 ]] || fail "the reset"
}

test_shared_runtime() {
	compare 7 "$PROGRAM_SHARED"
	expect_events
	[[ $(count ' cudaMalloc$') == 4 ]] || fail "expected the runtime's names"
	[[ $(count ' cuMem') == 0 ]] || fail "expected no name of the driver"
}

# The same program, of the releases that are here.
test_shared_runtime_of_each_release() {
	local release program

	for release in 11 12 13; do
		program=PROGRAM_SHARED_$release
		[[ -n ${!program:-} ]] || continue
		compare 7 "${!program}"
		expect_events
		[[ $(count ' cudaMalloc$') == 4 ]] || fail "expected the names of $release's runtime"
		[[ $(count ' cuMem') == 0 ]] || fail "expected no name of the driver"
	done
}

test_static_runtime() {
	compare 7 "$PROGRAM_STATIC"
	expect_events
	[[ $(count ' cuMemAlloc_v2$') == 4 ]] || fail "expected the driver's names"
}

test_linked_driver() {
	compare 8 "$PROGRAM_DRIVER"
	[[ $(count '^alloc ') == 3 && $(count '^fail ') == 3 ]] || fail "allocations"
	[[ $(count '^context destroyed 1 0') == 1 ]] || fail "the context"
}

test_driver_by_dlsym() {
	compare 8 "$PROGRAM_DLSYM"
	[[ $(count '^alloc ') == 3 && $(count '^fail ') == 3 ]] || fail "allocations"
	[[ $(count '^context destroyed 1 0') == 1 ]] || fail "the context"
}

test_recording_that_is_off() {
	HOOKS_OFF=1 compare 7 "$PROGRAM_SHARED"
	[[ $(count '') == 0 ]] || fail "expected no event"
}

test_program_without_cuda() {
	compare 0 /bin/ls /
	[[ $(count '') == 0 ]] || fail "expected no event"
}

# NVIDIA's own runtimes on softgpu, without the audit library, up to their refusal.
only_driver() {
	mkdir -p "$work.driver"
	ln -sf "$STANDINS/libcuda.so.1" "$work.driver/libcuda.so.1"
	echo "$work.driver"
}

refused() {
	local dir

	[[ -n $1 ]] || return 0
	dir=$(only_driver)
	LD_LIBRARY_PATH=$dir compare 0 "$1"
	grep -q 'cudaMalloc 500' "$work/hooked.out" || fail "expected a refusal with error 500"
	[[ $(count '^(alloc|fail|free) ') == 0 ]] || fail "expected no event"
	# Every look-up goes through us, and all are answered as before.
	SOFTGPU_LOG=lookups LD_LIBRARY_PATH=$dir "$1" 2>"$work/plain.log" >/dev/null
	SOFTGPU_LOG=lookups LD_LIBRARY_PATH=$dir LD_PRELOAD=$HOOKS "$1" 2>"$work/hooked.log" >/dev/null
	[[ $(grep -c lookup "$work/plain.log") -gt 300 ]] || fail "expected hundreds of look-ups"
	diff <(grep lookup "$work/plain.log") <(grep lookup "$work/hooked.log") >"$work/diff" ||
		fail "the look-ups differ"
	rm -rf "$dir"
}

test_nvidias_shared_runtime_is_refused_all_the_same() {
	refused "$PROBE_REAL"
}

test_nvidias_runtime_of_each_release_is_refused_all_the_same() {
	local release program

	for release in 11 12 13; do
		program=PROBE_REAL_$release
		refused "${!program:-}"
	done
}

test_nvidias_static_runtime_is_refused_all_the_same() {
	refused "$PROBE_REAL_STATIC"
}

failed=0 ran=0
while read -r _ _ name; do
	[[ $name == test_* ]] || continue
	ran=$((ran + 1))
	if ("$name"); then
		echo "ok      $name"
	else
		echo "FAILED  $name"
		failed=$((failed + 1))
	fi
done < <(declare -F)
echo "$ran cases, $failed failed"
((ran > 0 && failed == 0))
