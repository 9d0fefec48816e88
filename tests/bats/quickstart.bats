#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make quickstart: the whole pipeline, without data and without a network.
load helpers

@test "quickstart ends with a report and needs no network" {
    need_tool manifest synth-cifar train-single evaluate report
    local report
    # Any use of a network would fail at a closed port.
    export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$WORK/artifacts" quickstart
    report=${lines[-1]#report: }
    [ "${lines[-1]}" = "report: $WORK/artifacts/quickstart/report/report.html" ] || fail "$output"
    grep -q '<svg' "$report" || fail "the report has no drawing"

    # It learned something: there are ten classes, so chance is 0.1.
    local accuracy
    accuracy=$("$BIN/manifest" get "$WORK"/artifacts/quickstart/seed-*/evaluate/manifest.yaml results.accuracy)
    awk -v a="$accuracy" 'BEGIN { exit !(a > 0.3) }' || fail "test accuracy $accuracy"

    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$WORK/artifacts" quickstart
    [[ $output != *running* ]] || fail "$output"
}

@test "quickstart in a new checkout also builds what the tools read" {
    succeeds env -u BIN make -C "$ROOT" -n -s BUILD="$WORK/build" ARTIFACTS="$WORK/artifacts" quickstart
    [[ $output == *"$WORK/build/share/lockstep/report/en/names.yaml"* ]] || fail "$output"
}
