#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Runs that were executed several times, as tests/fixtures/make_run.py writes them.

load helpers
load reports

setup() {
    begin_report
}

@test "executions of one run are pooled: a geometric mean of their times, one accuracy" {
    three_times runs/abc key=one
    succeeds "$REPORT" runs/abc --out out --summary
    [ "$output" = "tiny: test accuracy 0.7000, 1.097 s per epoch (3 executions)" ] || fail "$output"
    says out/report.md "An epoch took 1.10 s"
    says out/report.md "| **Executions** | 3 |"
    says out/report.md "geometric means over the executions"
    [ "$(figure out/report.csv tiny.executions)" = 3 ]
    [ "$(figure out/report.csv tiny.seconds_per_epoch)" = 1.09696131 ]
    [ "$(figure out/report.csv tiny.execution.2.seconds_per_epoch)" = 1.2 ]
    # Single epochs and steps are those of the middle execution.
    [ "$(figure out/report.csv tiny.step.wall)" = 110 ]
    [ "$(grep -c '^tiny.accuracy,' out/report.csv)" -eq 1 ]
    for n in 1 2 3; do
        says out/manifest.yaml "path: ../runs/abc/$n/train/manifest.yaml"
        says out/manifest.yaml "path: ../runs/abc/$n/evaluate/predictions.st.zst"
        says out/report.md "runs/abc/$n/train/manifest.yaml"
    done
    succeeds "$REPORT" runs/abc --why tiny.seconds_per_epoch
    [[ $output == *"tiny.seconds_per_epoch = 1.09696131 s"*"execution.1.seconds_per_epoch = 1 s"*"runs/abc/1/train/manifest.yaml: results.seconds_per_epoch"*"agrees"*"runs/abc/3/train"* ]] || fail "$output"
    succeeds "$REPORT" runs/abc --why tiny.executions
    [[ $output == *"2: runs/abc/2/train"* ]] || fail "$output"
}

@test "one execution: the report gives only the number of executions" {
    a_run runs/abc/1
    succeeds "$REPORT" runs/abc --out out --summary
    [ "$output" = "tiny: test accuracy 0.7000, 1.000 s per epoch (1 execution)" ] || fail "$output"
    says out/report.md "| **Executions** | 1 |"
    lacks out/report.md "geometric means over the executions"
    lacks out/report.csv "tiny.execution.1"
    says out/report.csv "tiny.executions,tiny,executions,1,"
}

@test "unfinished executions do not count; a run without a finished one is refused" {
    three_times runs/abc key=one
    rm runs/abc/2/train/manifest.yaml
    succeeds "$REPORT" runs/abc --summary
    [[ $output == *"1.049 s per epoch (2 executions)"* ]] || fail "$output"
    rm runs/abc/[13]/train/manifest.yaml
    fails_with 3 "none of its executions is finished" "$REPORT" runs/abc --summary
}

@test "links and copies give the same report, and do not count twice" {
    three_times runs/abc key=one
    mkdir exp single copies
    ln -s ../runs/abc exp/seed-1
    ln -s ../runs/abc/2 single/seed-1
    cp -r runs/abc copies/abc
    succeeds "$REPORT" runs/abc --summary
    expected=$output
    for folders in exp exp/seed-1 copies/abc "runs/abc copies/abc" "runs/abc exp single" \
        "runs/abc/1 runs/abc/2 runs/abc/3" "runs/abc/1/train runs/abc/1/evaluate runs/abc"; do
        # shellcheck disable=SC2086 # several folders
        succeeds "$REPORT" $folders --summary
        [ "$output" = "$expected" ] || fail "$folders: $output"
    done
    succeeds "$REPORT" single --summary
    [[ $output == *"1.200 s per epoch (1 execution)"* ]] || fail "$output"
}

@test "executions of one run that are unlike are refused, with both folders and what differs" {
    local change reason
    three_times runs/abc key=one
    while IFS='|' read -r change reason; do
        rm -rf runs/abc/4
        a_run runs/abc/4 key=one epochs=2,9,9,9,9 start=2026-02-01T00:00:00Z "$change"
        fails_with 3 "cannot pool executions of one run: 'runs/abc/1/train' and 'runs/abc/4/train' are unlike: $reason: give only those" \
            "$REPORT" runs/abc --out out
        nothing_in out
    done <<'END'
host=there|host here vs there
threads=2|threads per rank 1 vs 2
version=other|build test vs other
execution={"isa": "v4"}|instruction set v3 vs v4
execution={"loader_workers": 3}|loader workers 0 vs 3
execution={"devices": ["cuda:0"]}|device differs
execution={"hosts": [{"host": "a", "ranks": 2}]}|hosts differs
resumed=1|'runs/abc/4/train' was resumed
END
    succeeds "$REPORT" runs/abc/[123] --summary
    [[ $output == *"1.097 s per epoch (3 executions)"* ]] || fail "$output"
}

@test "a single resumed execution has no times" {
    a_run runs/xyz/1 name=resumed resumed=1
    succeeds "$REPORT" runs/xyz --summary
    [ "$output" = "resumed: test accuracy 0.7000, no times: it was resumed (1 execution)" ] || fail "$output"
    a_run runs/uvw/1 name=restarted restarted=1
    succeeds "$REPORT" runs/uvw --summary
    [ "$output" = "restarted: test accuracy 0.7000, no times: it was restarted after a process died (1 execution)" ] || fail "$output"
}

@test "executions of one run that ended in different models are reported" {
    three_times runs/abc key=one
    a_run runs/abc/4 key=one bits=other
    fails_with 4 "'runs/abc/1/train' in [0-9a-f]{64}, 'runs/abc/4/train' in [0-9a-f]{64}" \
        "$REPORT" runs/abc --out out
    nothing_in out
    fails_with 4 "different models" "$REPORT" runs/abc/1 --baseline runs/abc/4 --out out
}

@test "a ratio uses the geometric means over the executions" {
    three_times runs/abc key=one
    three_times runs/xyz key=two name=slow
    a_run runs/xyz/4 key=two name=slow epochs=2,2,2,2,2
    succeeds "$REPORT" runs/xyz --baseline runs/abc --out out
    # Geometric means of 1, 1.2, 1.1 and of the same multiplied by 2.
    awk -F, '$1 == "slow.speedup" { m = log(1.32); exit !(sprintf("%.4f", $4) == sprintf("%.4f", exp(m / 3 - (m + log(2)) / 4)) && $5 == "" && $6 == "") }' \
        out/report.csv || fail "$(grep slow.speedup out/report.csv)"
    [ "$(figure out/report.csv slow.executions)" = 4 ]
    [ "$(figure out/report.csv slow.seconds_per_epoch)" = 1.27467944 ]
}

@test "two executions of one key are compared if one is the baseline" {
    a_run a key=one
    a_run b key=one threads=2 epochs=2,0.5,0.5,0.5,0.5
    succeeds "$REPORT" b --baseline a --out out
    [ "$(grep -c speedup, out/report.csv)" -eq 1 ]
    says out/report.md "the model is the same, bit for bit"
}

@test "times are pooled over the executions of all seeds; accuracies count once per seed" {
    three_times runs/one seed=1 right=70
    three_times runs/two seed=2 right=72
    succeeds "$REPORT" runs/one runs/two --out out
    says out/report.md "| **tiny** | 2 | 71.00 % | 1.41 |"
    [ "$(figure out/report.csv tiny.mean_seconds_per_epoch)" = 1.09696131 ]
}
