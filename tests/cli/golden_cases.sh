# The cases of run.sh. Each starts in an empty folder of its own.
# shellcheck shell=bash

commands() {
	"$VRAMSCOPE" help | sed -n '/^  [a-z]* *[A-Z]/s/^  \([a-z]*\) .*/\1/p'
}

case_no_command() {
	v
}

case_overview() {
	v help
}

# Three ways to ask, one answer.
case_help_is_the_same_however_asked() {
	local command

	for command in $(commands); do
		if cmp -s <("$VRAMSCOPE" help "$command") <("$VRAMSCOPE" "$command" --help) &&
			cmp -s <("$VRAMSCOPE" help "$command") <("$VRAMSCOPE" "$command" -h); then
			echo "$command: the same"
		else
			echo "$command: not the same"
		fi
	done
	cmp <("$VRAMSCOPE" help) <("$VRAMSCOPE" --help)
	cmp <("$VRAMSCOPE" help) <("$VRAMSCOPE" -h)
	cmp <("$VRAMSCOPE" version) <("$VRAMSCOPE" --version)
}

case_help_of_each_command() {
	local command

	for command in $(commands); do
		v help "$command"
		echo
	done
}

case_version() {
	v version
}

case_unknown_commands() {
	v reprot
	v heat
	v fragmentation
	v xyzzy
	v help xyzzy
	v --verbose
	v ''
}

case_usage_errors() {
	v version now
	v help run now
	v run
	v run --
	v run --no-stack -- true
	v run --frobnicate -- true
	v run --no-stacks=1 -- true
	v run --stack-depth
	v run --stack-depth 0 true
	v run --stack-depth 513 true
	v run --stack-depth=ten true
	v run --children=maybe true
	v run --jax-allocator=jemalloc true
	v run -o
	v run -o '' true
	v run -o '%d.vscope' true
	v run -x true
	SOFTGPU_LIBDIR=$STANDINS v run --softgpu=lots true
	SOFTGPU_LIBDIR=$STANDINS v run --softgpu=t4,sms=none true
	v run --softgpu=8X true
	v run --softgpu=1M true
	v run --json true
}

case_dryrun_usage_errors() {
	v dryrun
	v dryrun true
	v dryrun --gpu t4
	v dryrun --gpu ''  true
	v dryrun --gpu 1M true
	v dryrun --gup t4 true
	SOFTGPU_LIBDIR=$STANDINS v dryrun --gpu rtx9090 true
	SOFTGPU_LIBDIR=$STANDINS v dryrun --gpu rtx4090x99 true
	SOFTGPU_LIBDIR=$STANDINS v dryrun --gpu t4,colour=red true
	SOFTGPU_LIBDIR=$STANDINS v dryrun --gpu t4 --report nowhere/report.txt true
	SOFTGPU_LIBDIR=$STANDINS v dryrun --gpu t4 no-such-program
}

case_dryrun_lists_cards() {
	SOFTGPU_LIBDIR=$STANDINS v dryrun --gpu list
}

case_analysis_usage_errors() {
	v report
	v report --top
	v report --top 0 some.vscope
	v report --device first some.vscope
	v report --at noon some.vscope
	v report --from 2s --to 1s some.vscope
	v report --color=sometimes some.vscope
	v report --jsom some.vscope
	v check
	v check --quite some.vscope
	v recover
	v recover -o
	v recover -o '' some.vscope
	v recover -o one.vscope some.vscope other.vscope
	v recover -o one.vscope --run some.vscope
	v recover --json some.vscope
}

case_full_disk() {
	"$VRAMSCOPE" help >/dev/full || echo "[exit $?]"
}

# ---- Traces that are none ---------------------------------------------------------------------

make_bad_traces() {
	"$FIXTURES/make_trace" good.vscope 3
	"$FIXTURES/make_trace" no-end.vscope 3 cut
	: >empty.vscope
	head -c 5 good.vscope >cut-in-header.vscope
	head -c -20 good.vscope >cut-in-end.vscope
	head -c $(($(stat -c %s good.vscope) / 2)) good.vscope >cut-in-middle.vscope
	head -c 4000 /dev/zero >zeros.vscope
	echo 'This is a letter.' >letter.txt
	"$FIXTURES/make_trace" newer.vscope 3 newer
	{
		head -c 150 good.vscope
		printf 'XXXX'
		tail -c +155 good.vscope
	} >damaged.vscope
	ln -s loop.vscope loop.vscope
	mkdir folder.vscope
	mkfifo pipe.vscope
}

bad_traces=(missing.vscope letter.txt/trace.vscope loop.vscope empty.vscope cut-in-header.vscope
	zeros.vscope letter.txt newer.vscope folder.vscope pipe.vscope /dev/null)

case_bad_traces() {
	local name

	make_bad_traces
	for name in "${bad_traces[@]}"; do
		v info "$name"
	done
}

# To be read as far as they go, with exit status 3.
case_damaged_traces() {
	local name

	make_bad_traces
	for name in no-end cut-in-end cut-in-middle damaged; do
		"$VRAMSCOPE" report "$name.vscope" 2>&1 >/dev/null || echo "[exit $?]"
	done
}

# what COMMAND... : all it prints, and its exit status.
what() {
	"$VRAMSCOPE" "$@" 2>&1
	echo "[exit $?]"
}

case_all_commands_say_the_same_of_a_bad_trace() {
	local command name options
	local -A expected

	make_bad_traces
	for name in "${bad_traces[@]}"; do
		expected[$name]=$(what info "$name")
	done
	for command in $(commands); do
		case $command in
		run | dryrun | doctor | help | version) continue ;;
		heatmap) options=(-o picture.png) ;;
		html) options=(-o picture.html) ;;
		*) options=() ;;
		esac
		for name in "${bad_traces[@]}"; do
			[[ $(what "$command" "${options[@]}" "$name") == "${expected[$name]}" ]] ||
				v "$command" "${options[@]}" "$name"
		done
		echo "$command: asked"
	done
	[[ ! -e picture.png && ! -e picture.html ]] || echo "there is a picture of nothing"
}

# ---- check ------------------------------------------------------------------------------------

case_check() {
	"$FIXTURES/make_trace" good.vscope 3
	"$FIXTURES/make_trace" odd.vscope 3 odd
	v check good.vscope
	v check odd.vscope good.vscope
	v check --quiet good.vscope
	v check -q good.vscope odd.vscope good.vscope
	v check good.vscope missing.vscope
	COLUMNS=50 v check odd.vscope
}

case_check_damaged_traces() {
	local name

	make_bad_traces
	for name in no-end cut-in-end cut-in-middle damaged; do
		v check -q "$name.vscope"
	done
}

# Their records refer to nothing: only what is said of the files matters.
case_check_and_recover_traces_of_all_versions() {
	local path

	# shellcheck disable=SC2154 # run.sh says where it is
	cp -r "$here"/../data/v* .
	for path in v*/*.vscope; do
		v check -q "$path" | grep -v -e ' undefined ' -e ' events, ' -e ' time before '
		v recover -o new.vscope "$path"
	done
}

case_check_killed_programs() {
	local how

	for how in whole running missing newer other unknown; do
		"$FIXTURES/make_trace" "$how.vscope" 3 killed 5 "$how"
		v check "$how.vscope" | grep -v '^  ok '
	done
}

case_check_json() {
	"$FIXTURES/make_trace" odd.vscope 3 odd
	v check --json odd.vscope
	"$FIXTURES/make_trace" whole.vscope 3 killed 5 whole
	v check --json --quiet odd.vscope missing.vscope whole.vscope |
		grep -v -e '"verdict": "ok"' -e '"name"' -e '"count' -e '"reason": null' -e '^      *[{}]'
}

# ---- why, frag, retained, peak ----------------------------------------------------------------

case_why() {
	local verdict

	"$VERDICT_TRACES" .
	for verdict in fragmentation capacity retention pool limit preallocation other-process unknown \
		killed growing fine; do
		v why --no-index "$verdict.vscope"
	done
}

case_why_json() {
	"$VERDICT_TRACES" .
	v why --json --no-index capacity.vscope
	v why --json --no-index fragmentation.vscope fine.vscope | grep -v -e '"stack": ' \
		-e '^ *"\(function\|file\|line\|module\|address\|inlined\)"'
}

case_why_in_ascii_on_a_narrow_terminal() {
	"$VERDICT_TRACES" .
	COLUMNS=50 v why --ascii --no-index retention.vscope
}

case_report_begins_with_the_cause() {
	"$VERDICT_TRACES" .
	v report --no-index fragmentation.vscope
	v report --no-index unmarked.vscope
	v report --no-index killed.vscope
	v report --no-index --at peak capacity.vscope
}

# Of a part of the trace, too, the end is known.
case_report_of_the_beginning() {
	"$VERDICT_TRACES" .
	v report --no-index --to 3 fine.vscope
	v report --no-index --json --to 3 fine.vscope | grep '"complete"'
	v report --no-index --to 1 killed.vscope
}

case_frag() {
	"$VERDICT_TRACES" .
	v frag --no-index --top 3 fragmentation.vscope
	v frag --no-index --top 2 --request 200MiB --over-time --at 20 fragmentation.vscope
	v frag --no-index --request 7.5GiB capacity.vscope
	v frag --request some capacity.vscope
	v frag --request 0 capacity.vscope
}

case_map() {
	"$VERDICT_TRACES" .
	v map --no-index fragmentation.vscope
	COLUMNS=40 v map --no-index --ascii retention.vscope
	COLUMNS=300 v map --no-index --at peak preallocation.vscope
	v map --no-index --at 20 fragmentation.vscope
}

case_heatmap_of_a_part() {
	"$VERDICT_TRACES" .
	v heatmap --width 4 --height 8 --pool tensors -o pool.csv fragmentation.vscope
	cat pool.csv
	v heatmap --width 4 --height 8 --segment 0x7f0800100000 -o segment.csv fragmentation.vscope
	cat segment.csv
	v heatmap --by site --width 2 --height 2 --segment 7f0800100000 -o site.csv \
		fragmentation.vscope
	head -n 2 site.csv
	v heatmap --pool tensors --at oom -o pool.svg fragmentation.vscope
	v heatmap --pool tensors --dark -o pool.pdf fragmentation.vscope
	v heatmap --pool tensor -o no.png fragmentation.vscope
	v heatmap --pool tensors -o no.png capacity.vscope
	v heatmap --pool tensors --device 1 -o no.png fragmentation.vscope
	v heatmap --segment 0x10 -o no.png fragmentation.vscope
	v heatmap --segment 0x10 --from 1 --to 2 -o no.png fragmentation.vscope
	v heatmap --segment 0x10 --at oom -o no.png fragmentation.vscope
	v heatmap --segment tensors -o no.png fragmentation.vscope
	v heatmap --pool tensors --segment 0x10 -o no.png fragmentation.vscope
	ls -- *.png *.svg *.pdf 2>/dev/null
}

case_retained() {
	"$VERDICT_TRACES" .
	v retained --no-index growing.vscope unmarked.vscope fine.vscope
	v retained --no-index --derive-steps growing.vscope
}

case_peak() {
	"$VERDICT_TRACES" .
	v peak --no-index retention.vscope fine.vscope limit.vscope
}

# ---- recover ----------------------------------------------------------------------------------

case_recover() {
	"$FIXTURES/make_trace" good.vscope 3
	"$FIXTURES/make_trace" one.vscope 3 killed 5 whole
	"$FIXTURES/make_trace" two.vscope 0 killed 1 whole
	v recover good.vscope
	v recover good.vscope one.vscope missing.vscope two.vscope
	ls
	v recover one.vscope
	v check one.vscope two.vscope | grep -v '^  ok '
}

case_recover_into_another_file() {
	"$FIXTURES/make_trace" pair.vscope 3 killed 5 whole
	"$FIXTURES/make_trace" good.vscope 3
	cp pair.vscope before
	cp pair.vscope.live before.live
	v recover -o new.vscope pair.vscope
	v recover pair.vscope -ogood.copy
	v recover --output good.copy good.vscope
	cmp good.vscope good.copy
	cmp before pair.vscope
	cmp before.live pair.vscope.live
	v check -q new.vscope
	v recover new.vscope
	ls
}

case_recover_by_the_name_of_the_log() {
	"$FIXTURES/make_trace" pair.vscope 3 killed 5 whole
	v recover -o new.vscope pair.vscope.live
	mkdir logs
	mv pair.vscope.live logs/one
	v recover pair.vscope
	v recover logs/one
	"$FIXTURES/make_trace" pair.vscope 3 killed 5 whole
	ln -s ../pair.vscope logs/link
	v recover logs/link
	"$FIXTURES/make_trace" pair.vscope 3 killed 5 whole
	v recover *.vscope*
	ls -R
}

case_recover_refuses() {
	local how

	for how in running newer other unknown; do
		"$FIXTURES/make_trace" "$how.vscope" 3 killed 5 "$how"
		v recover "$how.vscope"
		v recover -o new.vscope "$how.vscope"
	done
	"$FIXTURES/make_trace" short.vscope 3 killed 5 whole
	truncate -s 20000 short.vscope.live
	v recover short.vscope
	"$FIXTURES/make_trace" cut.vscope 3 cut
	v recover cut.vscope
	ls
}

case_recover_keeps_what_can_be_read() {
	make_bad_traces
	v recover damaged.vscope
	"$FIXTURES/make_trace" missing.vscope 3 killed 5 missing
	v recover -o new.vscope missing.vscope
	v recover missing.vscope
	v recover missing.vscope good.vscope
	v check -q missing.vscope
	cmp missing.vscope new.vscope
	"$FIXTURES/make_trace" pair.vscope 3 killed 5 whole
	printf 'XXXX' | dd of=pair.vscope bs=1 seek=150 conv=notrunc status=none
	v recover pair.vscope
	v check -q pair.vscope
}

case_recover_cannot_write() {
	"$FIXTURES/make_trace" pair.vscope 3 killed 5 whole
	mkdir folder
	mkfifo pipe
	v recover -o no/such/new.vscope pair.vscope
	v recover -o folder pair.vscope
	v recover -o pipe pair.vscope
	v recover -o pair.vscope pair.vscope
	v recover -o ./pair.vscope.live pair.vscope
	# Into a pipe: the limit is for all files.
	(ulimit -f 0 && trap '' XFSZ && "$VRAMSCOPE" recover pair.vscope 2>&1 || echo "[exit $?]") | cat
	ls
	v recover pair.vscope
}

# ---- run --------------------------------------------------------------------------------------

case_run_sees_no_cuda() {
	v run -- echo hello
	v run true
	v run -o trace.vscope -- sh -c 'exit 3'
	ls
}

case_run_names_the_trace() {
	export STUB_ALLOCS=3
	v run -- true
	v run -o trace.vscope -- true
	v run -o 'a trace; mine' -- true
	STUB_ALLOCS=1 v run -o "$work/elsewhere.vscope" -- true
	STUB_ALLOCS=12345 v run -o trace.vscope true
	v run -- sh -c 'true; /bin/true; exit 4'
	v run -o trace.vscope -- sh -c '/bin/true; /bin/true; :'
}

case_run_with_many_traces_names_the_largest() {
	STUB_ALLOCS=1 v run -- bash -c \
		'for i in 1 2 3 4 5 6 7 8; do STUB_ALLOCS=$i env true; done; exec env STUB_ALLOCS=99 cat'
}

case_run_replaces_the_trace_of_an_earlier_run() {
	STUB_ALLOCS=5 v run -o trace.vscope true
	STUB_ALLOCS=2 v run -o trace.vscope true
	ls
	v run -o trace.vscope true
	ls
}

# The command would leave a file behind.
case_run_says_first_that_it_cannot_write() {
	v run -o no/such/folder/trace.vscope touch started
	v run -o /proc/trace.vscope touch started
	v run -o /dev/null touch started
	touch file
	v run -o file/trace.vscope touch started
	v run -o . touch started
	v run -o ./ touch started
	v run -o "$(printf '%0300d' 0)" touch started
	mkdir folder.vscope
	v run -o folder.vscope touch started
	mkfifo pipe
	v run -o pipe touch started
	VRAMSCOPE_OUTPUT=no/such/trace v run touch started
	(cd /proc && v run touch "$work/here/started")
	ls
}

case_run_cannot_find_the_recorder() {
	VRAMSCOPE_LIBDIR=nowhere v run touch started
	VRAMSCOPE_LIBDIR= v run touch started | sed 's|^! vramscope: .*/lib/|! vramscope: .../lib/|'
	mkdir 'with blank'
	cp "$FIXTURES/stub/libvramscope.so" 'with blank'
	VRAMSCOPE_LIBDIR='with blank' v run touch started
	SOFTGPU_LIBDIR=nowhere v run --softgpu touch started
	ls
}

case_run_cannot_start_the_command() {
	touch plain
	mkdir folder
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	v run -o trace.vscope no-such-command
	v run ./no-such-file
	v run ./plain
	v run ./folder
	v run ./plain/file
	v run ./script
	v run ''
	path=. v run plain
	ls
}

case_run_cannot_see_into_static_programs() {
	v run "$FIXTURES/static_program"
	printf '#!%s\n' "$FIXTURES/static_program" >script
	chmod +x script
	v run ./script
	STUB_ALLOCS=2 v run -o trace.vscope "$FIXTURES/static_program" then true
}

# The same program, but for the number of the machine in its header.
case_run_cannot_see_into_programs_of_other_machines() {
	cp "$FIXTURES/static_program" foreign
	printf '\x2b' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
	v run ./foreign
}

# ---- Runs of several processes ----------------------------------------------------------------

make_runs() {
	"$FIXTURES/make_trace" first.vscope 1 4700.1 4711 4700
	"$FIXTURES/make_trace" second.vscope 2 4700.1 4712 4711
	"$FIXTURES/make_trace" third.vscope 3 4700.1 4720 4711
	"$FIXTURES/make_trace" other.vscope 4 4800.1 4811 4800
	"$FIXTURES/make_trace" lonely.vscope 5
}

case_info_lists_the_run() {
	local name

	make_runs
	for name in second other lonely; do
		v info "$name.vscope" | grep -e '^\$' -e '^pid' -e '^started by' -e '^part of run' -e '^   '
		v info --json "$name.vscope" | sed -n '/^  "run"/,$p'
	done
	(mkdir below && cd below && v info ../third.vscope | grep -A4 '^part of run')
}

case_report_tells_of_the_whole_run() {
	make_runs
	v report --run third.vscope | grep -e '^\$' -e ' event'
	v report --run --json missing.vscope third.vscope lonely.vscope first.vscope other.vscope |
		grep -e '"trace"' -e '"events"' -e '"failed"' -e ! -e exit
}
