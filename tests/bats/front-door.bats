#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Commands as users type them, and the accidents that must not happen: no training is lost or
# repeated, and a misspelt setting trains nothing.
load helpers
load training

TOOLS="pipeline manifest synth-cifar shard train-single train-ddp evaluate report tensor"

# One finished run of a small experiment, which each test copies.
setup_file() {
    # shellcheck disable=SC2086
    are_built $TOOLS || return 0
    # Few and small images: these tests check a training's inputs, not its results.
    "$BIN/synth-cifar" -q --train 400 --test 64 --shape 3,12,12 --seed 3 --out "$BATS_FILE_TMPDIR/data"
    small_model "$BATS_FILE_TMPDIR/small.yaml"
    export FIRST=$BATS_FILE_TMPDIR/first DATA=$BATS_FILE_TMPDIR/data
    write_experiment "$BATS_FILE_TMPDIR/tiny.yaml" model="$BATS_FILE_TMPDIR/small.yaml" epochs=2
    ARTIFACTS=$FIRST pipeline experiment "$BATS_FILE_TMPDIR/tiny.yaml" >"$BATS_FILE_TMPDIR/first.log" 2>&1
}

setup() {
    # shellcheck disable=SC2086
    need_tool $TOOLS
    export ARTIFACTS=$WORK/artifacts
    TINY=$BATS_FILE_TMPDIR/tiny.yaml
    cp -a "$FIRST" "$ARTIFACTS"
}

pipeline() {
    (cd "$ROOT" && exec "$BIN/pipeline" "$@")
}

# by_make TARGET SETTING...: calls make with the existing tools.
by_make() {
    make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" "$@"
}

# trained: the number of trainings that the last call started.
trained() {
    grep -c '^train .*: running' <<<"$output" || true
}

# kept_runs: the number of runs in the store. executions KEY: the number of a run's executions.
kept_runs() {
    find "$ARTIFACTS/runs" -mindepth 1 -maxdepth 1 -type d | wc -l
}
executions() {
    find "$ARTIFACTS/runs/$1" -mindepth 1 -maxdepth 1 -name '[0-9]*' | wc -l
}

# state_of FOLDER: everything in a folder, with its contents.
state_of() {
    (cd "$1" && find . -type f ! -name '*.lock' ! -name .lock -exec sha256sum {} + | sort)
}

@test "a typing error in any setting leaves the finished run unchanged" {
    local before wrong
    before=$(state_of "$ARTIFACTS/runs")
    for wrong in DEVICE=cuda DEVICE=cdua THREADS=0 SET=epoch=3 SET=optimizer.lr=fast SET=dataset=cifar11 \
        SET=model=lnet SET=global_batch=7 LAUNCHER=/nowhere/mpirun LAUNCHER="mpirn -v" REPORT_FLAGS="--lang xx" \
        EPOCHS=three EPOCHS=0; do
        run pipeline experiment "$TINY" "$wrong" SEED=11
        [ "$status" -ne 0 ] || fail "$wrong: exit 0" "$output"
        [ "$(state_of "$ARTIFACTS/runs")" = "$before" ] || fail "$wrong changed a run" "$output"
    done
    succeeds pipeline experiment "$TINY"
    [ "$(trained)" -eq 0 ]
}

@test "frequent slips have a message with the remedy" {
    fails_with 2 "SET: 'epochs=1 seed=3': assignments are separated by ';': SET=\"epochs=1; seed=3\"" \
        "$BIN/pipeline" experiment "$TINY" SET="epochs=1 seed=3"
    fails_with 2 "SET=\"dataset=synthetic; optimizer.lr=0.1\"" \
        "$BIN/pipeline" experiment "$TINY" SET="dataset=synthetic  optimizer.lr=0.1"
    SET="title=a b=c; optimizer={kind: sgd, lr: 0.01}" succeeds pipeline experiment "$TINY" DRY_RUN=1
    cd "$ROOT" || return
    fails_with 2 "'model': there is no model 'resnet17': did you mean 'resnet18'\?$" \
        "$BIN/pipeline" experiment single SET="model=resnet17"
    fails_with 2 "there is no model 'zzzzzz': '.*/models/zzzzzz.yaml' does not exist$" \
        "$BIN/pipeline" experiment single SET="model=zzzzzz"
    fails_with 2 "compare: a second name is missing: expected EXPS=\"single NAME\", the first one is the baseline; for one alone: experiment" \
        "$BIN/pipeline" compare EXPS=single
    run make -C "$ROOT" -s BIN="$WORK/it's wrong" EXP=single ARTIFACTS="$ARTIFACTS" experiment
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "make experiment: BIN='$WORK/it's wrong' has no program 'pipeline': leave BIN out to build the tools" ] || fail "$output"
}

@test "other settings get a separate run, and earlier settings find theirs again" {
    local first
    first=$(readlink "$ARTIFACTS/tiny-data=data/seed-11")
    succeeds pipeline experiment "$TINY" SET="optimizer.lr=0.02"
    [ "$(trained)" -eq 1 ]
    [[ $output == *"running (optimizer.lr 0.01 → 0.02)"* ]] || fail "$output"
    [ "$(readlink "$ARTIFACTS/tiny-optimizer.lr=0.02,data=data/seed-11")" != "$first" ]
    [ -s "$ARTIFACTS/tiny-optimizer.lr=0.02,data=data/report/report.html" ] || fail "$output"
    succeeds pipeline experiment "$TINY"
    [ "$(trained)" -eq 0 ]
    [ "$(readlink "$ARTIFACTS/tiny-data=data/seed-11")" = "$first" ]
    [ "$(kept_runs)" -eq 2 ]
}

@test "the name is not part of a run: a copy under another name is the same run, shown under the new name" {
    sed 's/^name: .*/name: renamed/' "$TINY" >"$WORK/renamed.yaml"
    succeeds pipeline experiment "$WORK/renamed.yaml"
    [ "$(trained)" -eq 0 ]
    [[ $output == *$'\nrenamed: test accuracy '* ]] || fail "$output"
    grep -q renamed "$ARTIFACTS"/renamed-data=*/report/report.md
    [ "$(kept_runs)" -eq 1 ]
    [[ $output != *"reports call it"* ]] || fail "$output"
    # A name that is not the file's is said.
    cp "$WORK/renamed.yaml" "$WORK/copied.yaml"
    succeeds pipeline experiment "$WORK/copied.yaml"
    [[ $output == *"copied.yaml"*"reports call it 'renamed', after its 'name'; its folder is 'copied'"* ]] || fail "$output"
}

@test "a file without schema, or with another one, is named with the line to add" {
    mkdir -p "$WORK/own/experiments/models"
    grep -v '^schema' "$TINY" >"$WORK/own/experiments/t4.yaml"
    echo 'schema: lockstep.model/1' >"$WORK/own/experiments/models/net.yaml"
    cd "$WORK/own" || return
    TOOL=pipeline fails_with 3 "'experiments/t4.yaml' has no 'schema:' line: add 'schema: lockstep.experiment/1'" \
        "$BIN/pipeline" experiment t4
    TOOL=train-single fails_with 3 "'experiments/t4.yaml' has no 'schema:' line" \
        "$BIN/train-single" --experiment t4 --print-parameters
    TOOL=train-single fails_with 3 "t4.yaml:1:1: 'schema' is missing: add 'schema: lockstep.experiment/1'" \
        "$BIN/train-single" --experiment experiments/t4.yaml --print-parameters
    TOOL=pipeline fails_with 3 "'experiments/models/net.yaml' has 'schema: lockstep.model/1'" "$BIN/pipeline" experiment net
}

@test "two experiments with the same name or the same content are refused" {
    mkdir "$WORK/a" "$WORK/b"
    write_experiment "$WORK/a/x.yaml" name=x
    write_experiment "$WORK/b/x.yaml" name=x optimizer='{kind: sgd, lr: 0.5}'
    TOOL=pipeline fails_with 2 "a/x.yaml' and '.*b/x.yaml' have the same name, 'x'" \
        pipeline compare EXPS="$WORK/a/x.yaml $WORK/b/x.yaml"
    write_experiment "$WORK/b/y.yaml" name=y
    TOOL=pipeline fails_with 2 "'x' and 'y' are the same run" pipeline compare EXPS="$WORK/a/x.yaml $WORK/b/y.yaml"
    TOOL=pipeline fails_with 2 "x.yaml' is named twice" pipeline submission EXPS="$WORK/a/x.yaml $WORK/a/x.yaml"
    [ ! -e "$ARTIFACTS/x" ]
}

@test "misspelt settings are refused, with a suggestion, and nothing is started" {
    local before setting
    before=$(state_of "$ARTIFACTS")
    while IFS='|' read -r setting meant; do
        run by_make experiment EXP="$TINY" "$setting"
        [ "$status" -ne 0 ] || fail "$setting: exit 0" "$output"
        [[ $output == *"pipeline: unknown setting: '$setting'$meant"*" accepts EXP "* ]] || fail "$setting:" "$output"
        [[ $output != *running* ]] || fail "$output"
    done <<'END'
EPOCH=3|: did you mean EPOCHS?
LR=0.01|: did you mean SET="optimizer.lr=0.01"?
CIFAR_FROM=x|: did you mean CIFAR10_FROM?
epochs=3|: did you mean EPOCHS?
SEEDS=3|: did you mean SEED?
END
    run by_make compare EXP="$TINY"
    [[ $status -ne 0 && $output == *"pipeline: compare does not accept EXP: expected EXPS="* ]] || fail "$output"
    run by_make experiment
    [[ $status -ne 0 && $output == *"pipeline: experiment: a name is missing: expected EXP=NAME"* ]] || fail "$output"
    run by_make explain A=single
    [[ $status -ne 0 && $output == *"pipeline: explain: B is missing: expected A=NAME B=NAME"* ]] || fail "$output"
    run by_make experiment EXP=sinlge
    [[ $status -ne 0 && $output == *"did you mean 'single'?"* ]] || fail "$output"
    for setting in R001/single single.yaml; do
        run by_make experiment EXP="$setting"
        [[ $status -ne 0 && $output == *"'$setting' does not exist: did you mean 'single'?"* ]] || fail "$output"
    done
    for setting in 'EXPS=single,ddp4' 'EXPS=single, ddp4' 'EXPS=single;ddp4'; do
        run by_make compare "$setting"
        [[ $status -ne 0 && $output == *"'single"[,\;]*"': names are separated by blanks: EXPS=\"single ddp4\""* ]] || fail "$output"
    done
    TOOL=pipeline fails_with 2 "'single,ddp4': names are separated by blanks" "$BIN/pipeline" experiment single,ddp4
    TOOL=pipeline fails_with 2 "'EXPERIMENT=ddp4': did you mean EXP\?" "$BIN/pipeline" experiment EXPERIMENT=ddp4
    # Tools that were built or installed find the experiments of their folder from any other one.
    mkdir -p "$WORK/alone/bin"
    cp "$BIN/pipeline" "$WORK/alone/bin"
    cd / || return
    TOOL=pipeline fails_with 3 "cannot find experiment: 'single': no such file, and no folder 'experiments'" \
        "$WORK/alone/bin/pipeline" experiment single
    succeeds "$BIN/pipeline" --experiments
    [[ $'\n'$output$'\n' == *$'\nsingle\n'* ]] || fail "$output"
    run by_make experiments EXP="$TINY"
    [[ $status -ne 0 && $output == *"did you mean 'experiment'?"* ]] || fail "$status $output"
    run by_make experiment EXP="$TINY" EPOCHS=three
    [[ $status -ne 0 && $output == *"pipeline: EPOCHS: 'three': expected a number above 0 and at most 2500"* ]] || fail "$output"
    # A blank after '=', or quotes that are missing: the rest is a goal, which make would find last.
    local goals
    for goals in "experiment EXP=$TINY EPOCHS= 3" "submission EXPS=$TINY 3" "quickstart SEED= 3"; do
        # shellcheck disable=SC2086 # words
        run by_make $goals
        [[ $status -eq 2 && $output == *"'3' is not a target; a setting has no blank, except in quotes: "* ]] || fail "$output"
    done
    run by_make quickstart EPOCH=3
    [[ $status -ne 0 && $output == *"pipeline: unknown setting: 'EPOCH=3': did you mean EPOCHS?"* ]] || fail "$output"
    run by_make quickstart EXP=single
    [[ $status -ne 0 && $output == *"make quickstart accepts no EXP: make experiment EXP=NAME"* ]] || fail "$output"
    [ "$(state_of "$ARTIFACTS")" = "$before" ]
}

@test "make finds finished runs on a read-only disk, and names ARTIFACTS where one is missing" {
    need_read_only
    succeeds by_make experiment EXP="$TINY"
    succeeds read_only "$ARTIFACTS" make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" experiment EXP="$TINY"
    [[ $output == *"report "*": up to date"* && $output != *running* ]] || fail "$output"
    run read_only "$ARTIFACTS" make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" experiment EXP="$TINY" SEED=8
    [[ $status -ne 0 && $output == *"ARTIFACTS=FOLDER names another folder"* && $output != *running* ]] || fail "$output"
}

@test "other targets accept any variable, and experiment accepts build variables" {
    succeeds make -C "$ROOT" -n BIN="$BIN" FOO=bar EPOCH=3 help
    succeeds by_make experiment EXP="$TINY" CFLAGS=-O1 V=1 PREFIX=/nowhere
    [ "$(trained)" -eq 0 ]
}

@test "a name with a blank, a quote or a command is not executed" {
    local name trap="$WORK/trapped"
    for name in "\$(touch $trap)" "\$(shell touch $trap)" "\`touch $trap\`" "'; touch $trap; '" "a b" '"' "\$\$x"; do
        run by_make experiment EXP="$name"
        [ "$status" -ne 0 ] || fail "$name" "$output"
        [[ $output == *"cannot find experiment: '"* ]] || fail "$name" "$output"
        run by_make experiment EXP="$TINY" SET="title=$name"
        run by_make experiment EXP="$TINY" DATA="$name"
        [ ! -e "$trap" ] || fail "$name was executed"
    done
}

# stop_early EPOCHS: stops a training once it has saved.
stop_early() {
    local pid
    (cd "$ROOT" && EPOCHS=$1 exec "$BIN/pipeline" --by-make experiment EXP="$TINY" >"$WORK/log" 2>&1 3>&-) &
    pid=$!
    wait_for_epoch "$WORK/log"
    pkill -USR1 -f -- "--out $ARTIFACTS/runs/.*/train"
    wait "$pid" || return 0
}

@test "the same command resumes a stopped training; RESUME=0 starts over in a separate folder" {
    local train finished
    finished=$(readlink "$ARTIFACTS/tiny-data=data/seed-11")
    stop_early 2500
    grep -q "make experiment" "$WORK/log" || fail "$(cat "$WORK/log")"
    train=$(readlink -f "$(training_of "$WORK/log")")
    [ ! -e "$train/manifest.yaml" ]
    # 2500 epochs take too long: only the start is checked.
    (cd "$ROOT" && EPOCHS=2500 exec "$BIN/pipeline" experiment "$TINY" >"$WORK/again" 2>&1 3>&-) &
    wait_until grep -q 'resuming from step' "$WORK/again"
    pkill -USR1 -f -- "--out $ARTIFACTS/runs/.*/train"
    wait $! || true
    grep -q 'running (resumes where it stopped; RESUME=0 starts over)' "$WORK/again" || fail "$(cat "$WORK/again")"
    (cd "$ROOT" && EPOCHS=2500 RESUME=0 exec "$BIN/pipeline" experiment "$TINY" >"$WORK/anew" 2>&1 3>&-) &
    wait_for_epoch "$WORK/anew"
    pkill -USR1 -f -- "--out $ARTIFACTS/runs/.*/train"
    wait $! || true
    [ -s "$train/state.st.zst" ]
    # Nothing replaces the finished run.
    [ "$(readlink "$ARTIFACTS/tiny-data=data/seed-11")" = "$finished" ] || fail "$(cat "$WORK/anew")"
    succeeds pipeline runs
    [[ $output == *" 0+2 "*"+N: executions that were stopped or are running"* ]] || fail "$output"
}

@test "killing make stops the pipeline and the training, and the next make resumes" {
    local make
    make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" experiment EXP="$TINY" EPOCHS=2500 >"$WORK/log" 2>&1 3>&- &
    make=$!
    wait_for_epoch "$WORK/log"
    kill -KILL "$make"
    wait "$make" || true
    wait_until all_ended "$ARTIFACTS"
    # It was stopped by a signal, and saved.
    grep -q 'stopped by SIGTERM at step .*make experiment' "$WORK/log" || fail "$(cat "$WORK/log")"
    make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" experiment EXP="$TINY" EPOCHS=2500 >"$WORK/again" 2>&1 3>&- &
    make=$!
    wait_until grep -q 'resuming from step' "$WORK/again"
    kill -KILL "$make"
    wait "$make" || true
    wait_until all_ended "$ARTIFACTS"
}

@test "more epochs continue a finished run if the schedule allows it, and give the same bits" {
    succeeds pipeline experiment "$TINY" EPOCHS=3
    [[ $output == *"running (epochs 2 → 3: continues $ARTIFACTS/runs/"* ]] || fail "$output"
    local gone_on
    gone_on=$(content "$ARTIFACTS/tiny-epochs=3,data=data/seed-11/train/model.st.zst")
    ARTIFACTS=$WORK/fresh succeeds pipeline experiment "$TINY" EPOCHS=3
    [ "$(content "$WORK/fresh/tiny-epochs=3,data=data/seed-11/train/model.st.zst")" = "$gone_on" ]
    # A cosine depends on the number of epochs.
    succeeds pipeline experiment "$TINY" SET="schedule={kind: cosine}"
    succeeds pipeline experiment "$TINY" SET="schedule={kind: cosine}" EPOCHS=3
    [[ $output == *"running (epochs 2 → 3, from the start: "*cosine* ]] || fail "$output"
}

@test "runs that are compared are trained once, and take turns to be timed" {
    local folder
    write_experiment "$WORK/other.yaml" name=other model="$BATS_FILE_TMPDIR/small.yaml" optimizer='{kind: sgd, lr: 0.02}'
    succeeds pipeline compare EXPS="$TINY $WORK/other.yaml"
    [ "$(trained)" -eq 1 ] || fail "$output"
    [[ $output == *"estimate  turns: 2 runs, to ±50 %: at most 2 min"* ]] || fail "$output"
    [[ $output == *$'\n'"time      $ARTIFACTS/turns/"*": running"* ]] || fail "$output"
    folder=$(echo "$ARTIFACTS"/turns/*)
    [ "$("$BIN/manifest" get "$folder/manifest.yaml" results.executions)" -ge 3 ]
    ! grep -q "no verdict" "$ARTIFACTS"/compare-tiny-other*/report.md || fail "no verdict on the page"
    succeeds pipeline compare EXPS="$TINY $WORK/other.yaml"
    [ "$(trained)" -eq 0 ]
    [[ $output == *"estimate  all: nothing left to run"*"$folder: up to date"* ]] || fail "$output"
    # A narrower interval takes more turns, beside those that are there.
    succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" PRECISION=40
    [[ $output == *"$folder: running (now 40"* ]] || fail "$output"
    TOOL=pipeline fails_with 2 "PRECISION: '0': expected per cent, above 0 and at most 100: 2" pipeline compare EXPS="$TINY $WORK/other.yaml" PRECISION=0
}

# tools_that_note_turns: $WORK/tools, whose time-runs writes its arguments to $WORK/arguments, and fails.
tools_that_note_turns() {
    mkdir "$WORK/tools"
    ln -s "$BIN"/* "$WORK/tools"
    rm "$WORK/tools/time-runs"
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/arguments"\nexit 1\n' "$WORK" >"$WORK/tools/time-runs"
    chmod +x "$WORK/tools/time-runs"
}

@test "WHOLE=1 times whole trainings, TIME=0 nothing" {
    write_experiment "$WORK/other.yaml" name=other model="$BATS_FILE_TMPDIR/small.yaml" optimizer='{kind: sgd, lr: 0.02}'
    tools_that_note_turns
    PRECISION='' succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" DRY_RUN=1
    [[ $output == *"estimate  turns: 2 runs, to ±1 %: at most 2 min"* ]] || fail "$output"
    succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" DRY_RUN=1 WHOLE=1
    [[ $output =~ "estimate  all: about "[0-9.]+" s, then turns for "[0-9.]+" s or more" ]] || fail "$output"
    [[ $output == *"estimate  turns: 2 runs, to ±50 %: 3 whole trainings of each, or more"* ]] || fail "$output"
    TIME=0 succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" --tools "$WORK/tools"
    [[ $output != *"estimate  turns"* && ! -e $WORK/arguments ]] || fail "$output"
    TIME=0 succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" --tools "$WORK/tools" DRY_RUN=1
    [[ $output == *"estimate  all: nothing left to run"* ]] || fail "$output"
    run pipeline compare EXPS="$TINY $WORK/other.yaml" --tools "$WORK/tools"
    [ "$status" -eq 1 ] || fail "$output"
    run ! grep -qx -- --whole "$WORK/arguments"
    short=$(grep -A 1 -x -- --out "$WORK/arguments" | tail -n 1)
    run pipeline compare EXPS="$TINY $WORK/other.yaml" --tools "$WORK/tools" WHOLE=1
    [ "$status" -eq 1 ] || fail "$output"
    grep -qx -- --whole "$WORK/arguments" || fail "$(cat "$WORK/arguments")"
    [ "$(grep -c '^train-single --experiment ' "$WORK/arguments")" -eq 2 ] || fail "$(cat "$WORK/arguments")"
    [ "$(grep -A 1 -x -- --out "$WORK/arguments" | tail -n 1)" != "$short" ]
    TOOL=pipeline fails_with 2 "TIME=0 times nothing, and WHOLE=1 whole trainings" \
        pipeline compare EXPS="$TINY $WORK/other.yaml" TIME=0 WHOLE=1
    TOOL=pipeline fails_with 2 "unknown setting: 'EXECUTIONS=3': WHOLE=1 times whole trainings, .* TIME=0 nothing; compare accepts" \
        pipeline compare EXPS="$TINY $WORK/other.yaml" EXECUTIONS=3
}

@test "the arms that a launcher starts are timed whole, and have it in front" {
    write_experiment "$WORK/ranks.yaml" name=ranks model="$BATS_FILE_TMPDIR/small.yaml" strategy=ddp world_size=2
    tools_that_note_turns
    printf '#!/bin/sh\nshift 3\nexec "$@"\n' >"$WORK/launch" # its ranks are those that train-ddp starts
    chmod +x "$WORK/launch"
    run pipeline compare EXPS="$TINY $WORK/ranks.yaml" --tools "$WORK/tools" LAUNCHER="$WORK/launch -q"
    [ "$status" -eq 1 ] || fail "$output"
    grep -qx -- --whole "$WORK/arguments" || fail "$output" "$(cat "$WORK/arguments")"
    grep -q "^$WORK/launch -q -n 2 $WORK/tools/train-ddp --experiment " "$WORK/arguments" || fail "$(cat "$WORK/arguments")"
    grep -q "^train-single --experiment " "$WORK/arguments" || fail "$(cat "$WORK/arguments")"
}

@test "whole trainings take turns, and give the verdict" {
    local folder
    write_experiment "$WORK/other.yaml" name=other model="$BATS_FILE_TMPDIR/small.yaml" optimizer='{kind: sgd, lr: 0.02}'
    succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" WHOLE=1
    folder=$(echo "$ARTIFACTS"/turns/*)
    [ "$("$BIN/manifest" get "$folder/manifest.yaml" results.executions)" -ge 3 ]
    ! grep -q "no verdict" "$ARTIFACTS"/compare-tiny-other*/report.md || fail "no verdict on the page"
    grep -q "arms took turns: [0-9]* whole trainings of each" "$ARTIFACTS"/compare-tiny-other*/report.md
    succeeds pipeline compare EXPS="$TINY $WORK/other.yaml" WHOLE=1
    [[ $output == *"estimate  all: nothing left to run"*"$folder: up to date"* ]] || fail "$output"
}

@test "two kept runs are compared by their keys, without a new file" {
    local keys
    succeeds pipeline experiment "$TINY" SET="optimizer.lr=0.02"
    mapfile -t keys < <(ls "$ARTIFACTS/runs")
    TIME=0 succeeds pipeline compare RUNS="${keys[0]:0:6} ${keys[1]}"
    [ "$(trained)" -eq 0 ]
    [[ $output == *"tiny-${keys[0]:0:6}: test accuracy "*"tiny-${keys[1]:0:6}: test accuracy "* ]] || fail "$output"
}

@test "another data set and missing data are refused, and the message gives the remedy" {
    "$BIN/synth-cifar" -q --train 100 --test 50 --shape 3,12,12 --out "$WORK/mine"
    write_experiment "$WORK/flowers.yaml" name=flowers dataset=flowers
    unset DATA
    TOOL=pipeline fails_with 3 "'flowers' is not an official data set: give DATA=DIR" pipeline experiment "$WORK/flowers.yaml"
    run pipeline experiment "$WORK/flowers.yaml" DATA="$WORK/mine" SET="virtual_shards=2"
    [[ $output != *"shard "* ]] || fail "it was sharded first" "$output"
    [[ $status -eq 3 && $output == *"it is 'synthetic', experiment 'flowers' needs 'flowers': pass other data, or SET=\"dataset=synthetic\"" ]] || fail "$status $output"
    [ ! -e "$ARTIFACTS/flowers" ]
    TOOL=pipeline fails_with 3 "DATA='$WORK/nothing': it has no train.st.zst" pipeline experiment "$TINY" DATA="$WORK/nothing"
    succeeds pipeline experiment "$TINY" DATA="$WORK/mine" SET="global_batch=20"
    [ "$(find "$WORK/mine" -type f ! -name .lock | wc -l)" -eq 3 ] || fail "$(find "$WORK/mine")"
}

@test "distclean keeps the runs" {
    cp -a "$ROOT/Makefile" "$ROOT/make" "$ROOT/pipelines" "$ROOT/scripts" "$WORK/"
    succeeds make -C "$WORK" -s ARTIFACTS="$ARTIFACTS" distclean
    [ "$(find "$ARTIFACTS/runs" -name model.st.zst | wc -l)" -eq 1 ]
    [ ! -e "$ARTIFACTS/data" ]
}

@test "DRY_RUN=1 prints the planned runs, and runs nothing" {
    succeeds pipeline compare EXPS="single ddp4" DRY_RUN=1 SET="dataset=synthetic; model=$BATS_FILE_TMPDIR/small.yaml"
    [ "$(trained)" -eq 0 ]
    [[ $output == *"planned: train-single, run "*"planned: train-ddp, run "*"estimate  all: about "*", then turns for at most 2 min"* ]] || fail "$output"
    [ "$(kept_runs)" -eq 1 ]
    succeeds pipeline experiment "$TINY" DRY_RUN=1 SET=repeats=3
    [ "$(grep -c '^run .*/seed-1[123]: planned' <<<"$output")" -eq 3 ] || fail "$output"
    succeeds pipeline experiment "$TINY" DRY_RUN=1
    [[ $output == *"estimate  all: nothing left to run"* ]] || fail "$output"
}

@test "DRY_RUN=1 downloads nothing, and says which data are missing" {
    mkdir "$WORK/bin"
    ln -s "$BIN"/* "$WORK/bin"
    rm "$WORK/bin/pipeline" "$WORK/bin/fetch-cifar"
    cp "$BIN/pipeline" "$WORK/bin"
    printf '#!/bin/sh\necho "fetch-cifar: no network" >&2\nexit 1\n' >"$WORK/bin/fetch-cifar"
    chmod +x "$WORK/bin/fetch-cifar"
    for from in '' http://127.0.0.1:1/cifar.tar.gz; do
        DATA='' CIFAR10_FROM=$from succeeds "$WORK/bin/pipeline" compare single ddp4 DRY_RUN=1
        [ "${lines[0]}" = "note      $ARTIFACTS/data/cifar10: these data are to be downloaded; DRY_RUN=1 downloads nothing, and without them keys and times are unknown" ] || fail "$output"
        [ "${lines[2]}" = "run       $ARTIFACTS/ddp4/seed-42: planned: train-ddp, data $ARTIFACTS/data/cifar10/shards-4-0" ] || fail "$output"
        [ "${#lines[@]}" -eq 3 ] || fail "$output"
    done
    # A file that is here already is read.
    touch "$WORK/here"
    DATA='' CIFAR10_FROM=$WORK/here run --separate-stderr "$WORK/bin/pipeline" compare single ddp4 DRY_RUN=1
    [ "$status" -eq 1 ] || fail "$output" "$stderr"
    [[ $output != *"downloads"* ]] || fail "$output"
}

@test "a source of data that does not exist is refused, also if the data are there" {
    mkdir -p "$ARTIFACTS/data/cifar10"
    touch "$ARTIFACTS/data/cifar10/test.st.zst"
    DATA='' CIFAR10_FROM=/nope fails_with 3 "cannot use CIFAR10_FROM: '/nope': No such file or directory" "$BIN/pipeline" experiment single
    DATA=$WORK/own CIFAR10_FROM=/nope fails_with 3 "DATA='$WORK/own'" "$BIN/pipeline" experiment single
}

@test "a command that fails before its work leaves no folder behind" {
    touch "$WORK/empty.tar.gz"
    ARTIFACTS=$WORK/none DATA='' CIFAR10_FROM=$WORK/empty.tar.gz run pipeline experiment single
    [ "$status" -eq 3 ] || fail "$output"
    [ ! -e "$WORK/none" ] || fail "$(find "$WORK/none")"
    fails_with 3 "'/nope'" "$BIN/fetch-mnist" --from /nope --out "$WORK/a/b"
    fails_with 3 "'/nope'" "$BIN/shard" --in /nope --shards 2 --out "$WORK/a/b"
    fails_with 3 "'/nope'" "$BIN/evaluate" --model /nope --data /nope --out "$WORK/a/b"
    fails_with 3 "'/nope'" "$BIN/train-single" --experiment "$TINY" --train /nope --out "$WORK/a/b"
    [ ! -e "$WORK/a" ] || fail "$(find "$WORK/a")"
}

@test "a program that is there, but cannot be run, is named with the reason" {
    mkdir -p "$WORK/path/folder" "$WORK/bin"
    touch "$WORK/path/noexec"
    PATH=$WORK/path:$PATH fails_with 2 "cannot use LAUNCHER: 'folder': Is a directory" "$BIN/pipeline" experiment "$TINY" LAUNCHER=folder
    PATH=$WORK/path:$PATH fails_with 2 "cannot use LAUNCHER: 'noexec': Permission denied" "$BIN/pipeline" experiment "$TINY" LAUNCHER=noexec
    fails_with 2 "cannot use LAUNCHER: '$WORK/path': Is a directory" "$BIN/pipeline" experiment "$TINY" LAUNCHER="$WORK/path"
    fails_with 2 "cannot find LAUNCHER: 'nowhere': no such program on PATH" "$BIN/pipeline" experiment "$TINY" LAUNCHER=nowhere
    touch "$WORK/bin/train-single"
    TOOL=pipeline fails_with 1 "cannot run '$WORK/bin/train-single': Permission denied" "$BIN/pipeline" --tools "$WORK/bin" experiment "$TINY"
    rm "$WORK/bin/train-single"
    TOOL=pipeline fails_with 1 "'$WORK/bin/train-single' is not built" "$BIN/pipeline" --tools "$WORK/bin" experiment "$TINY"
}

@test "a file in the current folder that has the name is suggested by its path" {
    cp "$TINY" "$WORK/mine.yaml"
    (cd "$WORK" && TOOL=pipeline fails_with 3 "cannot find experiment: 'mine': did you mean 'mine.yaml'\?" "$BIN/pipeline" experiment mine)
    (cd "$WORK" && fails_with 3 "cannot find experiment: 'mine': did you mean 'mine.yaml'\?" "$BIN/train-single" --experiment mine --train /nope --out out)
}

@test "own data with another number of classes have an estimate" {
    "$BIN/synth-cifar" -q --shape 3,8,8 --classes 3 --train 200 --test 30 --out "$WORK/three"
    printf '%s\n' 'schema: lockstep.model/1' 'name: three' 'input: [3, 8, 8]' 'layers: [flatten, linear: {out: 3}]' \
        >"$WORK/three.yaml"
    succeeds pipeline experiment "$TINY" DATA="$WORK/three" SET="model=$WORK/three.yaml; epochs=5" DRY_RUN=1
    [[ $output == *"estimate  all: about "* && $output != *"not measured"* ]] || fail "$output"
}

@test "a validation of more samples than a trial has does not prevent an estimate" {
    "$BIN/synth-cifar" -q --shape 3,8,8 --classes 3 --train 900 --test 30 --out "$WORK/many"
    printf '%s\n' 'schema: lockstep.model/1' 'name: three' 'input: [3, 8, 8]' 'layers: [flatten, linear: {out: 3}]' \
        >"$WORK/three.yaml"
    succeeds pipeline experiment "$TINY" DATA="$WORK/many" DRY_RUN=1 \
        SET="model=$WORK/three.yaml; epochs=5; validation={samples: 700}; keep=best; early_stopping={patience: 2}"
    [[ $output == *"estimate  all: about "* && $output != *"not measured"* ]] || fail "$output"
}
