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
