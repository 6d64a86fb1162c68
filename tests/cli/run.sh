#!/usr/bin/env bash
# What vramscope prints, compared with golden/*.txt.
#
#   tests/cli/run.sh              all cases, with what ./dev build made
#   tests/cli/run.sh CASE...      some
#   tests/cli/run.sh --update     record anew; then look at the difference that git shows
#
# A case is a function case_NAME in golden_cases.sh; its output is golden/NAME.txt. There, a line of
# stderr begins with "! ", and what depends on the machine or the moment is a word in capitals.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BUILD:-$here/../../build/release}
: "${VRAMSCOPE:=$build/bin/vramscope}" "${FIXTURES:=$build/tests/cli/fixtures}"
: "${VERDICT_TRACES:=$build/tests/make_verdict_traces}" "${STANDINS:=$build/softgpu}"
export VRAMSCOPE_LIBDIR=$FIXTURES/stub

update=
if [[ ${1:-} == --update ]]; then
	update=yes
	shift
fi

# Nothing of the user's shines through.
unset LD_AUDIT LD_PRELOAD GLIBC_TUNABLES NO_COLOR TMPDIR STUB_ALLOCS
unset "${!SOFTGPU_@}" VRAMSCOPE_{FOLDER,INDEX,OUTPUT,REPLACE,RUN}
export COLUMNS=100 LC_ALL=C TERM=dumb

work=$(realpath "$(mktemp -d)")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# v ARGUMENT...: runs vramscope and shows all there is to see of it. path: its PATH, if not ours.
v() {
	local status=0 word

	printf '$ vramscope'
	for word; do
		if [[ -z $word || $word == *[\ \$\;]* ]]; then
			printf " '%s'" "$word"
		else
			printf ' %s' "$word"
		fi
	done
	echo
	PATH=${path:-$PATH} "$VRAMSCOPE" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	cat "$work/out"
	sed 's/^/! /' "$work/err"
	[[ $status == 0 ]] || echo "[exit $status]"
}

# shellcheck source=golden_cases.sh
source "$here/golden_cases.sh"

normalise() {
	sed -E -e "s|$work/here|HERE|g; s|$work|WORK|g; s|$FIXTURES|FIXTURES|g" \
		-e 's/\b[0-9]+\.[0-9]+\.[0-9]+, trace format [0-9]+/VERSION, trace format NUMBER/' \
		-e '/python\.4711/!s/\.[0-9]+\.vscope/.PID.vscope/g; s/\.vscope\.[0-9]+/.vscope.PID/g'
}

run_case() {
	rm -rf "$work/here"
	mkdir "$work/here"
	(cd "$work/here" && "case_$1") 2>&1 | normalise >"$work/got"
	if [[ $update ]]; then
		cp "$work/got" "$here/golden/$1.txt"
	elif ! diff -u --label "golden/$1.txt" --label "vramscope" "$here/golden/$1.txt" \
		"$work/got"; then
		echo "FAILED  $1"
		return 1
	fi
	echo "ok      $1"
}

if (($#)); then
	cases=("$@")
else
	mapfile -t cases < <(declare -F | sed -n 's/^declare -f case_//p')
	[[ ! $update ]] || rm -f "$here"/golden/*.txt
fi
failed=0
for name in "${cases[@]}"; do
	run_case "$name" || failed=$((failed + 1))
done
for file in "$here"/golden/*.txt; do
	name=${file##*/}
	declare -F "case_${name%.txt}" >/dev/null || {
		echo "FAILED  $name belongs to no case"
		failed=$((failed + 1))
	}
done
((!failed)) || echo "$failed of ${#cases[@]} failed; if they are right: tests/cli/run.sh --update"
exit $((failed > 0))
