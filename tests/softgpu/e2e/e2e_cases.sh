# For the scripts beside it. A case is a function test_...; run_cases runs all of them, each in a
# subshell, so that none sees what another has set.
# shellcheck shell=bash
set -u

unset LD_AUDIT LD_PRELOAD "${!SOFTGPU_@}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	printf '  line %s: %s\n' "${BASH_LINENO[0]}" "$1"
	[[ -z ${out:-} ]] || printf '  stdout: %s\n' "$out"
	[[ -z ${err:-} ]] || printf '  stderr: %s\n' "$err"
	exit 1
}

# run COMMAND...: output in $out, stderr in $err, exit status in $status.
run() {
	out=$("$@" 2>"$work/stderr") && status=0 || status=$?
	err=$(<"$work/stderr")
}

# A folder with our libcuda.so.1 and nothing else; sets $only_driver.
make_only_driver() {
	only_driver=$work/only_driver
	mkdir -p "$only_driver"
	ln -sf "$STANDINS/libcuda.so.1" "$only_driver/libcuda.so.1"
}

# exported FILE: its dynamic functions, with their versions, sorted.
exported() {
	nm -D --defined-only "$1" | awk '$2 ~ /[TWi]/ { print $3 }' | sort -u
}

# unwritten FILE: names that nobody has written, and their per-thread twins. Behind a generated
# function they are in a section of their own; without one they are weak.
unwritten() {
	{
		objdump -t "$1" | sed -n 's/.* sg_missing\t.* sg_do_/missing /p'
		nm -D --defined-only "$1" | sed -n 's/@.*//;s/^[0-9a-f]* W /missing /p
			s/^[0-9a-f]* T /exported /p'
	} | awk '
		$1 == "missing" { missing[$2] }
		{ known[$2] }
		END {
			for (name in known) {
				plain = name
				sub(/_pt[sd][sz]$/, "", plain)
				if (plain in missing)
					print name
			}
		}' | sort
}

# refuses LIBRARY CODE [FIRST]: every unwritten name answers with that code.
refuses() {
	local library=$STANDINS/$1 code=$2 wrong

	shift 2
	unwritten "$library" >"$work/names"
	[[ -s $work/names ]] || {
		echo "  nothing is unwritten in $library"
		exit 0
	}
	run "$CALL_NAMES" "$library" "$@" <"$work/names"
	[[ $status == 0 ]] || fail "status $status"
	[[ $(wc -l <<<"$out") == $(wc -l <"$work/names") ]] || fail "not all of them came back"
	wrong=$(awk -v code="$code" '$2 != code || $3 != code' <<<"$out")
	[[ -z $wrong ]] || fail "expected $code:"$'\n'"$wrong"
}

# A per-thread twin is the same code, under the plain name.
said_once() {
	grep -v '_pt[sd][sz]$' "$work/names" | sort | sed 's/.*/softgpu: & is not supported/' >"$work/expected"
	sort <<<"$err" | cmp -s - "$work/expected" || fail "expected each name to be said once"
}

# Functions that make, free, describe or carry memory, and the contexts they live in.
memory_names='^(cuMem|cuArray|cuMipmappedArray|cuIpc|cuPointer|cuCtx|cuDevicePrimaryCtx'
memory_names+='|cuGraph[A-Za-z]*Mem|cuDevice[A-Za-z]*GraphMem|cu[A-Za-z]*MemPool)'

# lookups PROGRAM FOLDER: "name version flags" of each question about memory, sorted.
lookups() {
	rm -f "$work/lookups"
	SOFTGPU_LOG=lookups SOFTGPU_LOG_FILE=$work/lookups LD_LIBRARY_PATH=$2 "$1" \
		>/dev/null 2>&1 || fail "$1 failed"
	sed -n 's/^softgpu: lookup //p' "$work/lookups" | grep -E "$memory_names" | sort -u
}

# doors PROGRAM FOLDER CALLER: each dlopen and dlsym of that caller.
doors() {
	rm -f "$work/doors"
	DL_OBSERVER=$work/doors LD_PRELOAD=$DL_OBSERVER_LIBRARY LD_LIBRARY_PATH=$2 "$1" \
		>/dev/null || fail "$1 failed"
	sed -n "s/ $3\$//p" "$work/doors"
}

run_cases() {
	local name failed=0 ran=0

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
}
