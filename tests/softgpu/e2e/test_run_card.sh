#!/usr/bin/env bash
# Who shares a card: the processes of one softgpu-run, and nobody else.
# shellcheck source=e2e_cases.sh
source "${BASH_SOURCE[0]%/*}/e2e_cases.sh"
export SOFTGPU_LIBDIR=$STANDINS SOFTGPU_MEMORY=1G SOFTGPU_CONTEXT=2M
export CARD_HOLDER LAUNCHER
unset LD_LIBRARY_PATH
part=600000000 # once fits, twice does not

# Two holders, the second started while the first is there; PREFIX comes before each.
two_holders='
	coproc $PREFIX "$CARD_HOLDER" $PART
	read -r first <&"${COPROC[0]}"
	second=$($PREFIX "$CARD_HOLDER" $PART </dev/null)
	echo "$first, $second"'

test_processes_of_one_run_share_a_card() {
	PREFIX='' PART=$part run "$LAUNCHER" bash -c "$two_holders"
	[[ $out == "malloc 0, malloc 2" ]] || fail "expected the second to find the card full"
}

test_two_runs_do_not_share_a_card() {
	PREFIX=$LAUNCHER PART=$part run bash -c "$two_holders"
	[[ $out == "malloc 0, malloc 0" ]] || fail "expected a card for each"
}

test_two_runs_that_name_a_card_share_it() {
	PREFIX="$LAUNCHER --card test-run-$$" PART=$part run bash -c "$two_holders"
	[[ $out == "malloc 0, malloc 2" ]] || fail "expected the second to find the card full"
}

test_run_in_a_run_shares_its_card() {
	PREFIX=$LAUNCHER PART=$part run "$LAUNCHER" bash -c "$two_holders"
	[[ $out == "malloc 0, malloc 2" ]] || fail "expected the second to find the card full"
}

test_processes_without_a_run_have_a_card_each() {
	export LD_LIBRARY_PATH=$STANDINS
	PREFIX='' PART=$part run bash -c "$two_holders"
	[[ $out == "malloc 0, malloc 0" ]] || fail "expected a card for each"
}

run_cases
