#!/usr/bin/env bash
# Every name of the real libraries is exported by ours, in their version; what is not written says
# that it cannot be had.
set -u

# RELEASES: "11=FILE 12=FILE ..."; NAMES: cupti_names.txt; REAL: a real library of 13, or empty.
fail() {
	echo "$1"
	exit 1
}

exported() {
	nm -D --defined-only "$1" | awk '$2 ~ /[TW]/ { print $3 }' | sort -u
}

[[ -n $RELEASES ]] || {
	echo "no CUPTI headers here, and so no libraries"
	exit 77
}
for release in $RELEASES; do
	library=${release#*=}
	soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
	[[ $soname == "${library##*/}" ]] || fail "$library calls itself $soname"
	expected=$(awk -v release="${release%%=*}" -v soname="$soname" '
		/^#/ { next }
		{ for (i = 2; i <= NF; i++) if ($i == release) print $1 "@@" soname }' "$NAMES" | sort)
	differing=$(comm -3 <(exported "$library") - <<<"$expected")
	[[ -z $differing ]] || fail "$library: $differing"

	nm -D --defined-only "$library" | sed -n 's/@.*//;s/^[0-9a-f]* W //p' >"$WORK.names"
	(($(wc -l <"$WORK.names") > 50)) || fail "$library: too few unwritten names"
	answers=$("$CALL_NAMES" "$library" <"$WORK.names") || fail "$library: a name crashed"
	[[ $(wc -l <<<"$answers") == $(wc -l <"$WORK.names") ]] || fail "$library: not all came back"
	wrong=$(awk '!($2 == $3 && (/^cuptiEvent|^cuptiMetric/ ? $2 == 38 : $2 == 27 || $2 == 38 ||
		/^Initialize/ && $2 == 0))' <<<"$answers")
	[[ -z $wrong ]] || fail "$library: $wrong"
done
if [[ ! -e $REAL ]]; then
	echo "no libcupti.so.13 of NVIDIA's to compare with"
	exit 0
fi
newest=${RELEASES##*13=}
missing=$(comm -23 <(exported "$REAL") <(exported "${newest%% *}"))
[[ -z $missing ]] || fail "exported by NVIDIA's, not by ours: $missing"
