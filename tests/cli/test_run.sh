#!/usr/bin/env bash
# A command under `vramscope run` finds the world as it would without it.
# shellcheck source=cli_cases.sh
source "${BASH_SOURCE[0]%/*}/cli_cases.sh"

# same COMMAND...: prints, says and ends the same with and without vramscope, but for the last line.
same() {
	local plain_out plain_err plain_status=0

	plain_out=$("$@" 2>"$work/stderr") || plain_status=$?
	plain_err=$(<"$work/stderr")
	run -- "$@"
	expect_out "$plain_out"
	expect_err "${plain_err:+$plain_err
}$nothing_seen"
	expect_status $plain_status
}

test_output_and_exit_status_are_the_same() {
	same echo hello
	same sh -c 'echo out; echo err >&2; exit 42'
	same ls /no/such/file
	same false
}

test_arguments_are_the_same() {
	same printf '<%s>' "a b" '' '*' -o --help -- '%p'
	run printf '<%s>' --no-stacks --
	expect_out '<--no-stacks><-->'
}

test_standing_in_the_system_is_the_same() {
	same pwd
	same sh -c 'ulimit -a; umask'
	same nice
	# Process group, session, terminal.
	same cut -d' ' -f5-8 /proc/self/stat
	(umask 027 && ulimit -n 100 && same sh -c 'umask; ulimit -n')
	(cd / && run -o "$work/here/x" pwd && expect_out /)
}

test_signals_that_are_ignored_or_blocked_are_the_same() {
	same grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status
	(
		trap '' HUP CHLD PIPE USR1
		same grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status
	)
}

test_open_files_are_the_same() {
	local list='cd /proc/self/fd && echo *'

	same sh -c "$list"
	same sh -c "$list" <&-
	exec 7<"$0" 8>"$work/here/eight"
	same sh -c "$list; echo written >&8"
	exec 7<&- 8>&-
	out=$(wc -l <eight)
	expect_out 2
}

test_closed_streams_are_closed_for_the_command() {
	out=$("$VRAMSCOPE" run sh -c '[ -e /proc/self/fd/0 ] && echo open || echo closed' \
		<&- 2>"$work/stderr")
	expect_out closed
	"$VRAMSCOPE" run sh -c '[ -e /proc/$$/fd/1 ] || echo closed >&2' >&- 2>"$work/stderr"
	err=$(<"$work/stderr")
	expect_err "closed
$nothing_seen"
	out=$("$VRAMSCOPE" run sh -c '[ -e /proc/$$/fd/2 ] || echo closed' 2>&-)
	expect_out closed
	"$VRAMSCOPE" run true <&- >&- 2>&- || fail "three closed streams"
}

# Written by number 2 if that were free, it would be in the trace.
test_last_line_ends_up_in_no_trace() {
	STUB_ALLOCS=1 "$VRAMSCOPE" run -o trace.vscope true 2>&-
	! grep -q 'vramscope:' trace.vscope || fail "the line is in the trace"
}

test_much_data_passes_both_ways() {
	out=$(head -c 200000000 /dev/zero | "$VRAMSCOPE" run -- cat 2>/dev/null | cksum)
	expect_out "$(head -c 200000000 /dev/zero | cksum)"
}

test_reader_that_leaves_ends_the_command() {
	"$VRAMSCOPE" run yes 2>"$work/stderr" | head -n 1 >first
	status=${PIPESTATUS[0]}
	expect_status 141
	err=$(<"$work/stderr")
	expect_err "$nothing_seen"
}

# If vramscope held the pipe, its reader would wait for the command, and that for the reader.
test_output_ends_when_the_command_closes_it() {
	mkfifo gate
	"$VRAMSCOPE" run sh -c 'echo all; exec >&-; read line <gate' 2>/dev/null | {
		out=$(cat)
		echo go >gate
		expect_out all
	}
}

test_other_files_end_when_the_command_closes_them() {
	mkfifo gate pipe
	{
		out=$(cat <pipe)
		echo go >gate
		expect_out all
	} &
	"$VRAMSCOPE" run sh -c 'echo all >&7; exec 7>&-; read line <gate' 7>pipe 2>/dev/null
	wait $! || exit 1
}

test_input_that_the_command_leaves_is_left() {
	printf 'one\ntwo\n' >input
	out=$({
		"$VRAMSCOPE" run sh -c 'read line; echo $line' 2>/dev/null
		cat
	} <input)
	expect_out "one
two"
}

# Its trace comes with its first call of CUDA.
test_process_that_outlives_the_command_is_told_and_not_waited_for() {
	mkfifo gate
	run sh -c '(exec >/dev/null 2>&1; read line <gate) & exit 6'
	expect_status 6
	expect_err "vramscope: no CUDA call was seen so far; 1 process of the command still runs, and will have a trace with the first one"
	echo go >gate
}

test_environment_has_only_the_recorder_more() {
	local changed='^(LD_PRELOAD|TF_BFC_MEMORY_DUMP|VRAMSCOPE_(FOLDER|INDEX|RUN|TF_DUMP)|_)='

	[[ $(env | grep -Ev "$changed" | sort) == "$("$VRAMSCOPE" run env 2>/dev/null |
		grep -Ev "$changed" | sort)" ]] || fail "something else changed"
	run sh -c 'echo "$LD_PRELOAD"'
	expect_out "$FIXTURES/stub/libvramscope.so"
}

test_preloaded_libraries_of_the_user_stay() {
	LD_PRELOAD=$FIXTURES/stub/./libvramscope.so run sh -c 'echo "$LD_PRELOAD"'
	expect_out "$FIXTURES/stub/libvramscope.so:$FIXTURES/stub/./libvramscope.so"
}

test_run_within_run_preloads_once() {
	run "$VRAMSCOPE" run sh -c 'echo "$LD_PRELOAD"'
	expect_out "$FIXTURES/stub/libvramscope.so"
	expect_err "$nothing_seen
$nothing_seen"
}

test_options_become_variables() {
	run -o 'x.%p.%h.%r.vscope' --stack-depth=7 --no-stacks --free-stacks --no-python --no-pools --no-meminfo --no-hooks --max-size=2M \
		--children=no \
		sh -c 'env | grep ^VRAMSCOPE_ | grep -v -e INDEX -e LIBDIR -e RUN -e TF_DUMP | sort'
	expect_out "VRAMSCOPE_CHILDREN=no
VRAMSCOPE_FREE_STACKS=1
VRAMSCOPE_MAX_SIZE=2097152
VRAMSCOPE_NO_HOOKS=1
VRAMSCOPE_NO_MEMINFO=1
VRAMSCOPE_NO_POOLS=1
VRAMSCOPE_NO_PYTHON=1
VRAMSCOPE_NO_STACKS=1
VRAMSCOPE_OUTPUT=$work/here/x.%p.%h.%r.vscope
VRAMSCOPE_STACK_DEPTH=7"
}

test_variables_of_the_user_stay() {
	VRAMSCOPE_OUTPUT=mine VRAMSCOPE_NO_STACKS=1 run sh -c 'echo $VRAMSCOPE_OUTPUT $VRAMSCOPE_NO_STACKS'
	expect_out "$work/here/mine 1"
	VRAMSCOPE_OUTPUT=mine run -o other sh -c 'echo $VRAMSCOPE_OUTPUT'
	expect_out "$work/here/other"
}

test_nothing_is_left_behind() {
	run true
	STUB_ALLOCS=1 run -o trace.vscope true
	run -o trace.vscope no-such-command
	run sh -c 'kill -9 $$'
	expect_status 137
	out=$(ls -A "$TMPDIR")
	expect_out ''
	out=$(ls -A)
	expect_out trace.vscope
}

test_without_temporary_folder_the_command_runs() {
	STUB_ALLOCS=1 TMPDIR=/proc run -o trace.vscope echo ran
	expect_out ran
	expect_status 0
	expect_err "vramscope: the folder for temporary files cannot be written, so it is not known which traces there are"
}

# ---- What has the name already ---------------------------------------------------------------

# expect_trace NAME N: a trace of N allocations.
expect_trace() {
	[[ $("$VRAMSCOPE" report --json "$1") == *'"allocs": '"$2"[!0-9]* ]] ||
		fail "$1 is no trace of $2 allocations"
}

test_old_trace_stays_if_nothing_is_recorded() {
	STUB_ALLOCS=5 run -o trace.vscope true
	run -o trace.vscope true
	expect_err "$nothing_seen"
	expect_trace trace.vscope 5
}

test_old_trace_stays_if_the_command_cannot_be_started() {
	STUB_ALLOCS=5 run -o trace.vscope true
	STUB_ALLOCS=2 run -o trace.vscope no-such-command
	expect_status 127
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	STUB_ALLOCS=2 run -o trace.vscope ./script
	expect_status 127
	expect_trace trace.vscope 5
}

test_old_trace_is_replaced_by_the_first_process_that_records() {
	STUB_ALLOCS=5 run -o trace.vscope true
	run -o trace.vscope sh -c 'STUB_ALLOCS=1 /bin/true; STUB_ALLOCS=2 /bin/true'
	expect_trace trace.vscope 1
	out=$(echo trace.vscope.*)
	[[ $out =~ ^trace.vscope.[0-9]+$ ]] || fail "expected one more trace"
	expect_trace "$out" 2
}

test_empty_file_is_replaced() {
	: >trace.vscope
	STUB_ALLOCS=2 run -o trace.vscope true
	expect_trace trace.vscope 2
}

# The command would leave a file behind.
test_file_that_is_no_trace_is_refused() {
	echo 'Dear Anna,' >letter
	STUB_ALLOCS=1 run -o letter touch started
	expect_status 1
	expect_err "vramscope: letter: is there already and is no vramscope trace, so it is not replaced (remove it, or choose another name)"
	out=$(<letter)
	expect_out 'Dear Anna,'
	cp letter lett%7
	RANK=7 STUB_ALLOCS=1 run -o 'lett%%%r' touch started
	expect_status 1
	out=$(ls)
	expect_out 'lett%7
letter'
}

test_link_is_refused() {
	STUB_ALLOCS=5 run -o trace.vscope true
	ln -s trace.vscope link
	ln -s nowhere lost
	STUB_ALLOCS=1 run -o link touch started
	expect_status 1
	expect_err "vramscope: link: is a symbolic link; name the file itself"
	STUB_ALLOCS=1 run -o lost touch started
	expect_status 1
	expect_trace trace.vscope 5
	[[ ! -e started ]] || fail "it was started"
}

# The launcher has no rank, or another one: only its children know.
test_old_traces_of_all_ranks_are_replaced() {
	local ranks='for RANK in 0 1 2; do export RANK; /bin/true; done'

	run -o 'r%r.[x]*' sh -c "export STUB_ALLOCS=5; $ranks"
	run -o 'r%r.[x]*' sh -c "export STUB_ALLOCS=3; $ranks"
	out=$(ls)
	expect_out 'r0.[x]*
r1.[x]*
r2.[x]*'
	expect_trace 'r1.[x]*' 3
}

test_percent_sign_in_the_name_of_the_folder_is_none_of_ours() {
	mkdir '%p' && cd '%p' || exit 1
	STUB_ALLOCS=1 run -o trace.vscope true
	STUB_ALLOCS=2 run -o trace.vscope true
	expect_trace trace.vscope 2
	out=$(ls)
	expect_out trace.vscope
}

# What an earlier process of the outer run left is no old trace.
test_run_within_run_replaces_nothing() {
	STUB_ALLOCS=9 run -o trace.vscope true
	run -o trace.vscope \
		sh -c '"$0" run env STUB_ALLOCS=1 true; "$0" run env STUB_ALLOCS=2 true' "$VRAMSCOPE"
	[[ ${err##*$'\n'} == *" in 2 traces; next: vramscope report trace.vscope trace.vscope."* ]] ||
		fail "the outer run does not know the traces of the inner ones"
	expect_trace trace.vscope 1
	expect_trace trace.vscope.* 2
}

test_file_that_comes_meanwhile_stays() {
	STUB_ALLOCS=5 run -o trace.vscope true
	run -o trace.vscope sh -c 'echo mine >new; mv new trace.vscope; STUB_ALLOCS=1 /bin/true'
	out=$(<trace.vscope)
	expect_out mine
	expect_trace trace.vscope.* 1
}

# ---- Programs that cannot be recorded ---------------------------------------------------------

test_program_with_rights_of_its_own_is_announced_and_run() {
	cp "$(type -P echo)" privileged
	# Only the system's administrator can give a program away, and not everywhere.
	chown 65534 privileged 2>/dev/null && chmod 4755 privileged || return 0
	[[ $(findmnt -no OPTIONS -T .) != *nosuid* ]] && ! grep -q 'NoNewPrivs:.*1' /proc/self/status ||
		return 0
	run ./privileged hello
	expect_out hello
	expect_err "vramscope: ./privileged: cannot be recorded: it runs with privileges of its own
vramscope: nothing was recorded"
	expect_status 0
}

# ---- Folders ---------------------------------------------------------------------------------

test_traces_of_processes_that_went_elsewhere_are_here() {
	mkdir sub
	STUB_ALLOCS=1 run sh -c 'cd sub && /bin/true; cd / && exec /bin/true'
	[[ $err == *" in 3 traces; next: vramscope report "* ]] || fail "three processes have been there"
	out=$(find . -type f | sed 's/[0-9][0-9]*/PID/' | sort)
	expect_out "./sh.PID.vscope
./true.PID.vscope
./true.PID.vscope"
}

test_traces_elsewhere_are_named() {
	mkdir sub
	STUB_ALLOCS=1 run -o sub/trace sh -c 'cd sub && exec cat /dev/null'
	[[ $err == *" in 2 traces; next: vramscope report sub/trace sub/trace."* ]] ||
		fail "unexpected last line"
}

run_cases
