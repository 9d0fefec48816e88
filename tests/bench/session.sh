# SPDX-License-Identifier: MIT
# Shared by the scripts that measure in rounds. Sourced, not run: creates $BENCH, and removes it at
# the end.
# shellcheck shell=bash

BENCH=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-bench.XXXXXX")
export BENCH
# shellcheck source=tests/bench/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
ROUNDS=${ROUNDS:-$([ -n "$QUICK" ] && echo 1 || echo 5)}
BENCH_LIMIT=${BENCH_LIMIT:-900} # seconds per measurement; PyTorch's first tries all variants
results=${ARTIFACTS:-artifacts}/bench

# A measurement runs in the background while the shell waits: so a signal ends it at once, with all
# processes that it has started.
child=
finish() {
    [ -z "$child" ] || kill "$child" 2>/dev/null || true
    rm -rf "$BENCH"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || fail "ROUNDS=$ROUNDS: a number from 1 on"
[ -x "$BIN/train-single" ] || fail "'$BIN/train-single' is not built"
mkdir -p "$results"

# measure SCRIPT ARGUMENT...: runs a script of measure/; its output goes to $BENCH/line, its errors
# to $BENCH/errors.
measure() {
    local code=0 script=$1
    shift
    timeout -k 10 "$BENCH_LIMIT" "$bench_folder/measure/$script" "$@" >"$BENCH/line" 2>"$BENCH/errors" </dev/null &
    child=$!
    wait "$child" || code=$?
    child=
    return "$code"
}

# trim TEXT: removes blanks around it.
trim() {
    local text=$1
    text=${text#"${text%%[![:space:]]*}"}
    echo "${text%"${text##*[![:space:]]}"}"
}

# warn_of_haste: warns if the figures are not worth quoting.
warn_of_haste() {
    if [ -n "$QUICK" ] || [ "$ROUNDS" -lt 5 ]; then
        echo "QUICK or fewer than 5 rounds: no figure of this run is worth quoting"
    fi
}
