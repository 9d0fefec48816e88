#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make calibrate: the counts of verdict_counts, on turns with known times, and the slow-down of
# slow_steps.so. Its long sessions are not run here.

load helpers
load reports

setup() {
    begin_report
    counts=$BIN/../obj/release/tests/bench/verdict_counts
    slow_steps=$BIN/../obj/release/tests/bench/slow_steps.so
    if [ ! -x "$counts" ] || [ ! -e "$slow_steps" ]; then skip "verdict_counts and slow_steps.so are not built for $BIN"; fi
}

# turns FOLDER EXECUTIONS NOISE PERCENT...: what time-runs writes, of arms that are slower by so much.
turns() {
    "$PYTHON" "$ROOT/tests/fixtures/draw_turns.py" "$@"
}

@test "equal arms are the same, and a slow-down above the noise is found" {
    turns t 12 0.3 0 0 0.1 4
    succeeds "$counts" same steady t 0 0 0.1 4
    # Two comparisons that share no execution, of two arms.
    [[ $output =~ ^"| steady | 200 | "[12]" | "[0-9]" | "(19[1-9]|200)" | 0 | "(19[1-9]|200)" | ±"[0-9.]+" % | 6.0 | 0.5 |"$ ]] || fail "$output"
    succeeds "$counts" slower steady t 0 0 0.1 4
    [[ $output == "| steady | "*" % (+"*") | 100 % ("*") | 4 % |" ]] || fail "$output"
}

@test "a comparison with wide intervals takes two minutes" {
    turns t 30 8 0 0
    succeeds "$counts" same steady t 0 0
    [[ $output == "| steady | 200 | 1 | "*" | 2.0 |" ]] || fail "$output"
}

@test "a missed goal is exit code 4, and is named" {
    turns t 8 0.3 0 5 5
    fails_with 4 'idle: comparisons of equals that differ: [0-9]+ instead of at most 10; intervals' "$counts" same idle t 0 0 0
    fails_with 4 'bursts: comparisons that find the slow-down: 0 instead of at least 160' "$counts" slower bursts t 6 0 0
}

@test "a ratio by turns is compared with that of whole executions" {
    local round
    turns t 12 0.3 100 0
    for round in 1 2 3 4 5; do
        a_run "w/$round-1" start="2026-01-01T00:0$round:00Z" epochs="3,2.0$round"
        a_run "w/$round-2" start="2026-01-01T00:0$round:30Z" epochs="3,1.01$((2 + round % 2))"
    done
    succeeds "$counts" real idle t "half the work" w/*/train
    [[ $output =~ ^"| half the work | idle | 2.0"[0-9]*" (".*") | "2.0[0-9]*" (".*") | "(19|20)" | 20 |"$ ]] || fail "$output"
    succeeds "$counts" real bursts t "half the work"
    [[ $output == "| half the work | bursts | 2.0"*") | | | |" ]] || fail "$output"
    fails_with 3 'too few executions: 2 instead of 6 or more' "$counts" real idle t x w/1-*/train
}

# pair FOLDER WORD... RUN:SECONDS...: a session of arms that load the machine unlike, 10 s an execution.
pair() {
    "$PYTHON" "$ROOT/tests/fixtures/make_turns.py" "$@"
}

@test "unlike arms: comparisons without a quiet moment decide nothing, and those with another sign contradict" {
    a_run a threads=1
    a_run b threads=2
    pair before executions=20 a:0.001 b:0.0005
    pair after executions=20 a:0.001 b:0.00051
    succeeds "$counts" unlike idle before "2 threads" before after
    [[ $output =~ ^"| 2 threads | idle | (0."[0-9]+" to 0."[0-9]+") | 0."[0-9]+" (0."[0-9]+" to 0."[0-9]+") | 100 | 0 | 12.0 | 2.0 |"$ ]] || fail "$output"
    pair busy executions=20 demand=1 a:0.001 b:0.002
    succeeds "$counts" unlike steady busy "2 threads" before after
    [[ $output == "| 2 threads | steady | (0."*") | none | 0 | 0 | 0.0 | 2.0 |" ]] || fail "$output"
    fails_with 4 'bursts: 2 threads: 0 instead of at least 80' "$counts" unlike bursts busy "2 threads" before after
    pair odd executions=40 a:0.001 b:0.002
    fails_with 4 'bursts: 2 threads: 100 instead of at most 5' "$counts" unlike bursts odd "2 threads" before after

}

@test "too few executions, and other arms, are refused" {
    turns t 5 0.3 0 0
    fails_with 3 "too few executions: 't/turns.st.zst': 5 instead of 6 or more" "$counts" same idle t 0 0
    fails_with 3 'not whole rounds of 3 arms' "$counts" same idle t 0 0 1
    fails_with 2 'two arms or more that were not slowed down' "$counts" slower idle t 0 1
    fails_with 2 "expected 'same', 'slower', 'real' or 'unlike'" "$counts" same other t 0 0
}

# calls WORKERS STEPS: how often the main thread of a training of so many steps reads the clock.
calls() {
    rm -rf run calls
    LD_PRELOAD=$slow_steps SLOW_CALLS_FILE=calls "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst \
        --threads 1 --loader-workers "$1" --stop-after-steps "$2" --out run
    cat calls
}

@test "slow_steps.so lengthens each step by the same work" {
    local ten twenty usual slow TIMEFORMAT=%U
    small_model model.yaml
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: e' 'dataset: synthetic' 'model: model.yaml' 'global_batch: 8' \
        'epochs: 1' 'optimizer: {kind: sgd, lr: 0.01}' >e.yaml
    "$BIN/synth-cifar" -q --shape 3,12,12 --train 400 --test 1 --out data
    ten=$(calls 0 10) twenty=$(calls 0 20)
    [ "$twenty" -gt "$ten" ] && [ $(((twenty - ten) % 10)) -eq 0 ] || fail "10 steps: $ten calls, 20 steps: $twenty"
    [ "$(calls 2 20)" -eq "$twenty" ] || fail "loader workers count: $(cat calls) calls instead of $twenty"
    usual=$({ time calls 0 20 >/dev/null; } 2>&1)
    slow=$({ time SLOW_CYCLES=$((2000000000 / twenty)) calls 0 20 >/dev/null; } 2>&1)
    [ "$(cat calls)" -eq "$twenty" ]
    awk -v usual="$usual" -v slow="$slow" 'BEGIN { exit !(slow - usual > 0.2) }' ||
        fail "2,000,000,000 cycles took $usual and $slow s"
}

@test "neighbours end with the process that started them" {
    local process
    # shellcheck disable=SC2016 # the inner shell's
    succeeds bash -c '"$@" 3>&- >/dev/null 2>&1 & until [ "$(pgrep -c -P $!)" -eq 2 ]; do sleep 0.05; done; echo $! $(pgrep -P $!)' \
        - "$PYTHON" "$ROOT/tests/bench/neighbours.py" bursts
    [ "$(wc -w <<<"$output")" -eq 3 ] || fail "$output"
    for process in $output; do wait_until has_ended "$process"; done
}
has_ended() {
    ! kill -0 "$1" 2>/dev/null
}

@test "kept sessions are judged again" {
    local kept=artifacts/bench/calibration
    export ARTIFACTS=artifacts COUNTS=$counts SLOW_STEPS=$slow_steps JUDGE=1
    fails_with 1 'has no session: run without JUDGE' "$ROOT/tests/bench/calibrate"
    turns "$kept/steady/arms" 12 0.3 0 0 4
    touch "$kept/steady/arms/manifest.yaml"
    echo 0 0 4 >"$kept/list"
    succeeds "$ROOT/tests/bench/calibrate"
    [[ $output == *"| machine | 4 % slower | found in 80 % from |"*"| steady | 100 % ("*") | 4 % |"* ]] || fail "$output"
    turns "$kept/idle/arms" 12 0.3 0 5 4
    touch "$kept/idle/arms/manifest.yaml"
    fails_with 4 'missed: idle: comparisons of equals that differ: 200 instead' "$ROOT/tests/bench/calibrate"
    says artifacts/bench/calibration.md '| idle | 200 | '
    cp "$ROOT/docs/performance.md" docs.md
    touch artifacts/bench/calibration.txt
    DOCS=docs.md fails_with 1 'not all of idle, steady and bursts' "$ROOT/tests/bench/write-docs" calibration
    turns "$kept/bursts/arms" 12 0.3 0 0 4
    touch "$kept/bursts/arms/manifest.yaml"
    fails_with 4 'missed: idle' "$ROOT/tests/bench/calibrate"
    DOCS=docs.md succeeds "$ROOT/tests/bench/write-docs" calibration
    says docs.md '| bursts | 200 | '
    MACHINE=quiet fails_with 1 'idle, steady, loops, bursts or build' "$ROOT/tests/bench/calibrate"
}
