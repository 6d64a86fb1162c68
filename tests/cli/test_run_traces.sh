#!/usr/bin/env bash
# The traces that `vramscope run` leaves: names, number, and what becomes of them when things go wrong.
# With the real recorder, on the simulated GPU.
#
# Expects also: RECORDER (folder of libvramscope.so), STANDINS.
# shellcheck source=cli_cases.sh
source "${BASH_SOURCE[0]%/*}/cli_cases.sh"
: "${RECORDER:?}" "${STANDINS:?}"
export VRAMSCOPE_LIBDIR=$RECORDER SOFTGPU_LIBDIR=$STANDINS
probe=$FIXTURES/alloc_probe

# expect_files NAME...: these and no others are here; a number of three digits or more is a PID.
expect_files() {
	local got

	got=$(find . -mindepth 1 -printf '%P\n' | sed -E 's/\.[0-9]{3,}/.PID/g' | sort | uniq -c | sed -E 's/^ +//' | tr '\n' ' ')
	[[ $got == "$*${1:+ }" ]] || fail "expected the files $*, there are $got"
}

# expect_allocs N TRACE: the trace holds that many, and can be read without complaint.
expect_allocs() {
	local text

	text=$("$VRAMSCOPE" report --json "$2" 2>&1) || fail "report of $2 ends with $?: $text"
	text=$(grep -m1 -o '"allocs": *[0-9]*' <<<"$text" | grep -o '[0-9]*$')
	[[ $text == "$1" ]] || fail "expected $1 allocations in $2, got '$text'"
}

test_name_is_made_of_program_and_process() {
	run --softgpu "$probe" alloc alloc
	expect_status 0
	expect_files 1 alloc_probe.PID.vscope
	[[ $err =~ ^'vramscope: '[0-9]+' events in alloc_probe.'[0-9]+'.vscope; next: vramscope report alloc_probe.'[0-9]+'.vscope'$ ]] ||
		fail "unexpected last line"
	expect_allocs 2 alloc_probe.*.vscope
}

# Many are not counted but looked up in the last block, which a trace without its end does not have.
test_many_events_are_told_with_and_without_an_end() {
	run --softgpu -o trace "$probe" pairs
	expect_status 0
	[[ $err =~ ^'vramscope: 120 00'[0-9]' events in trace; ' ]] || fail "unexpected last line"
	expect_allocs 60000 trace
	run --softgpu -o killed "$probe" pairs kill
	[[ $err =~ 'vramscope: 120 00'[0-9]' events in killed; ' ]] || fail "unexpected last line"
}

test_process_without_cuda_leaves_no_trace() {
	run --softgpu sh -c 'true; ls; echo done' "$probe"
	expect_err "$nothing_seen"
	expect_files
}

test_each_process_has_a_trace() {
	run --softgpu -o trace "$probe" alloc spawn alloc alloc spawn alloc alloc alloc
	expect_status 0
	expect_files 1 trace 2 trace.PID
	[[ $err == *"in 3 traces; next: vramscope report trace trace."* ]] || fail "unexpected last line"
	expect_allocs 1 trace
}

test_program_that_becomes_another_adds_a_number() {
	run --softgpu -o trace "$probe" alloc exec alloc alloc exec alloc alloc alloc
	expect_status 0
	expect_files 1 trace 1 trace.PID 1 trace.PID.1
	expect_allocs 1 trace
	expect_allocs 2 trace.*[0-9][0-9]
	expect_allocs 3 trace.*.1
}

test_pattern_names_process_and_rank() {
	RANK=3 run --softgpu -o 'r%r.%p.%%.vscope' "$probe" alloc
	expect_files 1 r3.PID.%.vscope
}

test_trace_of_an_earlier_run_is_replaced() {
	run --softgpu -o trace "$probe" alloc alloc
	run --softgpu -o trace "$probe" alloc
	expect_files 1 trace
	expect_allocs 1 trace
	RANK=3 run --softgpu -o 'r%r' "$probe" alloc alloc
	RANK=3 run --softgpu -o 'r%r' "$probe" alloc
	expect_files 1 r3 1 trace
	expect_allocs 1 r3
}

test_children_can_be_left_out() {
	run --softgpu -o trace --children=no "$probe" alloc spawn alloc alloc
	expect_files 1 trace
	expect_allocs 1 trace
}

test_killed_program_leaves_one_whole_file() {
	run --softgpu -o trace "$probe" alloc alloc alloc kill
	expect_status 137
	expect_files 1 trace
	expect_allocs 3 trace
	run --softgpu -o other "$probe" alloc alloc _exit
	expect_status 0
	expect_files 1 other 1 trace
	expect_allocs 2 other
}

test_child_that_was_killed_leaves_one_whole_file() {
	run --softgpu -o trace "$probe" alloc spawn alloc alloc kill
	expect_files 1 trace 1 trace.PID
	expect_allocs 2 trace.*
}

# start_probe WORD...: in the background, with the trace `trace`, until it says that it is ready.
start_probe() {
	mkfifo in out
	exec 8<>out 9<>in
	"$VRAMSCOPE" run --softgpu -o trace "$probe" "$@" <in >out 2>/dev/null 8<&- 9<&- &
	read -r line <&8
	rm in out
}

test_killed_launcher_leaves_what_was_recorded() {
	start_probe alloc alloc ready
	kill -KILL $!
	wait $! 2>/dev/null
	expect_allocs 2 trace
}

test_trace_that_is_being_written_can_be_read() {
	start_probe alloc alloc ready alloc
	expect_allocs 2 trace
	echo >&9
	wait $!
	expect_allocs 3 trace
	expect_files 1 trace
}

# A rank beside us has the name; its trace must stay.
test_trace_that_is_being_written_is_not_replaced() {
	start_probe alloc alloc ready
	run --softgpu -o trace "$probe" alloc
	[[ $err == *" in trace."*[0-9]"; next: "* ]] || fail "ours has no other name"
	expect_allocs 1 trace.*[0-9]
	expect_allocs 2 trace
	echo >&9
	wait $!
	expect_allocs 2 trace
}

test_old_trace_stays_until_there_is_a_new_one() {
	local before

	run --softgpu -o trace "$probe" alloc alloc alloc
	before=$(cksum <trace)
	run --softgpu -o trace sh -c ':'
	[[ $(cksum <trace) == "$before" ]] || fail "the old trace was touched"
	run --softgpu -o trace sh -c 'cksum <trace; exec "$0" alloc' "$probe"
	expect_out "$before"
	expect_files 1 trace
	expect_allocs 1 trace
}

test_trace_is_where_the_run_was_started() {
	mkdir sub
	run --softgpu sh -c 'cd sub && exec "$0" alloc' "$probe"
	expect_files 1 alloc_probe.PID.vscope 1 sub
	[[ $err == *"next: vramscope report alloc_probe."* ]] || fail "unexpected last line"
}

test_traces_of_one_run_know_each_other() {
	run --softgpu -o trace "$probe" alloc spawn alloc alloc spawn alloc alloc alloc
	run --softgpu -o other "$probe" alloc
	out=$("$VRAMSCOPE" info trace | grep -A9 '^part of run' | sed -E 's/[0-9]{3,}/NUMBER/g')
	expect_out "part of run   NUMBER.NUMBER: 3 traces in this folder
              trace (pid NUMBER, started by NUMBER)
              trace.NUMBER (pid NUMBER, started by NUMBER)
              trace.NUMBER (pid NUMBER, started by NUMBER)"
	out=$("$VRAMSCOPE" report --run --json trace.* | grep -c '"trace":')
	expect_out 3
}

test_process_that_goes_on_keeps_its_log() {
	mkfifo in out
	exec 9<>in
	run --softgpu -o trace sh -c 'flock lock "$0" alloc ready alloc <in >out & read line <out' \
		"$probe"
	[[ $err == *" in trace (1 still being written); next: vramscope report trace" ]] ||
		fail "unexpected last line"
	expect_allocs 1 trace
	echo >&9
	flock lock true # waits for it
	expect_allocs 2 trace
	expect_files 1 in 1 lock 1 out 1 trace
}

run_cases
