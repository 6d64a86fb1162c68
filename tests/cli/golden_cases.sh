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
	v run -o
	v run -o '' true
	v run -o '%d.vscope' true
	v run -x true
	v run --softgpu=lots true
	v run --softgpu=1M true
	v run --json true
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
		run | help | version) continue ;;
		heatmap) options=(-o picture.png) ;;
		*) options=() ;;
		esac
		for name in "${bad_traces[@]}"; do
			[[ $(what "$command" "${options[@]}" "$name") == "${expected[$name]}" ]] ||
				v "$command" "${options[@]}" "$name"
		done
		echo "$command: asked"
	done
	[[ ! -e picture.png ]] || echo "there is a picture of nothing"
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
}
