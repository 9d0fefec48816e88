#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Studies of accuracy: they take no time for time, and JOBS=N trains several runs at the same time.
load helpers
load training

setup() {
    need_tool pipeline synth-cifar train-single evaluate report
    export ARTIFACTS=$WORK/artifacts
    mkdir -p "$WORK/files" && cd "$WORK/files" || return
    cat >net.yaml <<'YAML'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {out: 4, kernel: 4, stride: 4}, relu, flatten, linear: {out: 10}]
YAML
    cat >base.yaml <<'YAML'
schema: lockstep.experiment/1
name: base
dataset: synthetic
model: net.yaml
global_batch: 64
epochs: 2
seed: 7
optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}
YAML
    "$BIN/synth-cifar" -q --train 512 --test 64 --out data
    study '{optimizer.lr: [0.001, 0.01, 0.1]}'
}

# study VARY: rates.yaml.
study() {
    printf 'schema: lockstep.study/1\nname: rates\nbase: base.yaml\nvary: %s\n' "$1" >rates.yaml
}

# pipeline WORD...: make experiment of the study.
pipeline() {
    "$BIN/pipeline" experiment rates.yaml DATA=data "$@"
}

# models: the content hashes of the models, by seed and rate.
models() {
    sha256sum "$ARTIFACTS"/rates*/optimizer.lr-*/seed-*/train/model.st.zst | cut -d ' ' -f 1
}

@test "turns are taken if a value changes speed, or TIME=1 asks for them" {
    succeeds pipeline
    [ ! -e "$ARTIFACTS/turns" ] || fail "$output"
    [[ $output == *"no value changes it, so nothing is timed; TIME=1 times the runs"* ]] || fail "$output"
    [[ $output != *"s per epoch"* && $output != *"s / epoch"* ]] || fail "$output"
    succeeds pipeline TIME=1
    [ -n "$(find "$ARTIFACTS/turns" -name manifest.yaml)" ]
    [[ $output == *"s per epoch (in turns)"* && $output == *"s / epoch"* ]] || fail "$output"
    rm -rf "$ARTIFACTS/turns"
    study '{optimizer.lr: [0.01, 0.1], global_batch: [32, 64]}'
    succeeds pipeline TIME=0 JOBS=2
    [ ! -e "$ARTIFACTS/turns" ] || fail "$output"
    [[ $output != *"nothing is timed"* ]] || fail "$output"
    succeeds pipeline
    [ -n "$(find "$ARTIFACTS/turns" -name manifest.yaml)" ]
    # TIME is also a format of the program `time`, and JOBS the tests that make runs at the same time.
    study '{optimizer.lr: [0.001, 0.01, 0.1]}'
    TIME="%E" JOBS=x succeeds pipeline
    TIME=1 succeeds pipeline DRY_RUN=1
    [[ $output == *"estimate  turns: 3 runs"* ]] || fail "$output"
    TOOL=pipeline fails_with 2 "TIME: 'x': expected a whole number from 0 to 1" pipeline TIME=x
}

@test "JOBS=2: the models of one at a time, and a line for each run" {
    succeeds pipeline SET=repeats=2
    models >one
    rm -rf "$ARTIFACTS"
    succeeds pipeline SET=repeats=2 JOBS=2
    models >two
    diff one two
    [ "$(wc -l <two)" -eq 6 ]
    [[ $output == *$'\ntrain     6 runs: 2 at a time\n'* ]] || fail "$output"
    [ "$(grep -c '^train .*/seed-[78]/train: running' <<<"$output")" -eq 6 ] || fail "$output"
    [ "$(grep -Ec '^train .*/seed-[78]/train: [0-9.]+ s, accuracy 0\.[0-9]+, loss ' <<<"$output")" -eq 6 ] || fail "$output"
    # Nothing else, and no line of a training among others.
    [ "$(grep -c '^train' <<<"$output")" -eq 13 ] || fail "$output"
    # What evaluate says of the accuracies of so few images.
    ! grep -v '^evaluate: ' <<<"$stderr" | grep . || fail "$stderr"
    # Two are at work before the first has ended.
    [ "$(grep '^train .*/seed-' <<<"$output" | head -2 | grep -c ': running')" -eq 2 ] || fail "$output"
    [ "$("$BIN/manifest" get "$ARTIFACTS"/rates*/optimizer.lr-0.01/seed-7/train/manifest.yaml run.execution.threads)" = 1 ]
    succeeds pipeline SET=repeats=2 JOBS=2
    [ "$(grep -c '^train .*: up to date' <<<"$output")" -eq 6 ] || fail "$output"
    [[ $output != *": running"* && $output != *"at a time"* ]] || fail "$output"
}

@test "a run of JOBS=2 gives its model, and is trained again where times count" {
    succeeds pipeline JOBS=2
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: fast' 'base: base.yaml' 'optimizer: {lr: 0.1}' >fast.yaml
    succeeds "$BIN/pipeline" compare base.yaml fast.yaml DATA=data
    [ "$(grep -c '^train .*: running (execution 2: execution 1 was trained beside others)' <<<"$output")" -eq 2 ] || fail "$output"
    [[ $output == *"s per epoch (in turns)"* ]] || fail "$output"
    # So are the runs of a study that is to be timed.
    rm -rf "$ARTIFACTS"
    succeeds pipeline JOBS=2
    succeeds pipeline TIME=1
    [ "$(grep -c '^train .*: running (execution 2: execution 1 was trained beside others)' <<<"$output")" -eq 3 ] || fail "$output"
    [[ $output == *"s per epoch (in turns)"* ]] || fail "$output"
}

@test "JOBS is refused where runs are timed" {
    local message="these runs are timed, so one trains after the other"
    TOOL=pipeline fails_with 2 "JOBS=2: $message" pipeline JOBS=2 TIME=1
    TOOL=pipeline fails_with 2 "JOBS=2: $message" pipeline JOBS=2 WHOLE=1
    fails_with 2 "JOBS=2: $message" "$BIN/pipeline" experiment base.yaml DATA=data JOBS=2
    fails_with 2 "compare does not accept JOBS" "$BIN/pipeline" compare base.yaml base.yaml JOBS=2
    TOOL=pipeline fails_with 2 "JOBS: '0': expected a whole number from 1" pipeline JOBS=0
    [ ! -e "$ARTIFACTS/runs" ]
}

@test "the first run that fails stops the others, which go on in the next call" {
    # The second rate ends in a loss that is not finite; the first trains for long.
    study '{optimizer.lr: [0.001, 1000000, 0.01]}'
    run --separate-stderr pipeline JOBS=2 EPOCHS=2500
    [ "$status" -eq 1 ] || fail "$status" "$output" "$stderr"
    # shellcheck disable=SC2154 # set by run
    [ "$(grep -c 'train-single: cannot continue: .*the loss is nan' <<<"$stderr")" -eq 1 ] || fail "$stderr"
    [ "$(grep -c '^train .*/optimizer.lr-1000000/seed-7/train: failed$' <<<"$output")" -eq 1 ] || fail "$output"
    wait_until all_ended "$ARTIFACTS/runs/"
    [[ $output != *"optimizer.lr-0.01/"* ]] || fail "$output"
    [ -z "$(find "$ARTIFACTS/runs" -name manifest.yaml)" ]
    study '{optimizer.lr: [0.001, 0.01]}'
    succeeds pipeline JOBS=2 EPOCHS=2
    [ "$(find -L "$ARTIFACTS"/rates-epochs=2* -path '*/train/manifest.yaml' | wc -l)" -eq 2 ] || fail "$output"
}

# begin_long COMMAND...: a call of two long trainings, in the background; waits until both have saved.
begin_long() {
    study '{optimizer.lr: [0.001, 0.01]}'
    "$@" "$BIN/pipeline" experiment rates.yaml DATA=data JOBS=2 EPOCHS=2500 >log 2>&1 3>&- &
    pid=$!
    wait_until saved
}

saved() {
    [ "$(find "$ARTIFACTS/runs" -name state.st.zst 2>/dev/null | wc -l)" -eq 2 ]
}

@test "Ctrl-C ends all of them, saved, and the same command goes on" {
    local pid code=0
    begin_long "$PYTHON" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
os.execv(sys.argv[1], sys.argv[1:])'
    kill -INT -- "-$pid" # as the terminal does: the whole group
    wait "$pid" || code=$?
    [ "$code" -eq 130 ] || fail "exit code $code" "$(cat log)"
    run ! pgrep -f "$ARTIFACTS/runs/"
    begin_long setsid
    wait_until grep -q 'running (resumes where it stopped' log
    kill -TERM -- "-$pid"
    wait "$pid" || true
    [ "$(grep -c 'running (resumes where it stopped; RESUME=0 starts over)' log)" -eq 2 ] || fail "$(cat log)"
    wait_until all_ended "$ARTIFACTS/runs/"
}

@test "ending the pipeline ends its trainings, which save" {
    setpriv --pdeathsig TERM true 2>/dev/null || skip "setpriv does not support --pdeathsig"
    local pid signal train
    for signal in TERM KILL; do
        rm -rf "$ARTIFACTS"
        begin_long env
        kill -s "$signal" "$pid"
        wait "$pid" || true
        for train in "$ARTIFACTS"/runs/*/1/train; do
            timeout 300 flock "$train/.lock" true || fail "a training continues after SIG$signal"
            [ ! -e "$train/manifest.yaml" ]
        done
        wait_until all_ended "$ARTIFACTS/runs/"
    done
}
