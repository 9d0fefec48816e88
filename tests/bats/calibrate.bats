#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make calibrate, without its trainings: the counts, on manifests with known times.

load helpers
load reports

setup() {
    begin_report
    counts=$BIN/../obj/release/tests/bench/verdict_counts
    [ -x "$counts" ] || skip "verdict_counts is not built for $BIN"
}

# rounds [KEY=VALUE]...: 12 rounds of two executions, whose times differ pseudo-randomly by a few
# thousandths.
rounds() {
    local round one noise=12345
    for round in 10 11 12 13 14 15 16 17 18 19 20 21; do
        for one in 1 2; do
            noise=$((noise * 16807 % 2147483647))
            a_run "runs/$round-$one" key=a start="2026-01-01T00:$round:${one}0Z" epochs="1.00$((noise % 9000 + 1000)),1.00$((noise % 9000 + 1000))" "$@"
        done
    done
}

@test "equal runs rarely differ, and a slow-down is found" {
    rounds
    succeeds "$counts" runs/*/train
    [[ $output == *"| 3 | 200 | "*"| 5 | 200 | "*"| 10 | 200 | "* ]] || fail "$output"
    [[ $output != *"none |"* ]] || fail "no slow-down was detected: $output"
}

@test "too few executions are reported" {
    rounds
    fails_with 2 'expected 22 executions or more' "$counts" runs/1*-1/train
}
