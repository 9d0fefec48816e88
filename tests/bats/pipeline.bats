#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make experiment: which stages run, which are up to date, and what happens when a stage fails.
load helpers
load training

TOOLS="pipeline manifest synth-cifar shard train-single train-ddp evaluate report"

# One finished run of a small experiment, which each test copies.
setup_file() {
    # shellcheck disable=SC2086
    are_built $TOOLS || return 0
    file_data 200 # for tests that need no stage before training
    cat >"$BATS_FILE_TMPDIR/net.yaml" <<'YAML'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {out: 4, kernel: 4, stride: 4}, relu, flatten, linear: {out: 10}]
YAML
    export FIRST=$BATS_FILE_TMPDIR/first
    write_experiment "$BATS_FILE_TMPDIR/tiny.yaml"
    ARTIFACTS=$FIRST run_pipeline experiment "$BATS_FILE_TMPDIR/tiny.yaml" >"$BATS_FILE_TMPDIR/first.log" 2>&1
}

setup() {
    # shellcheck disable=SC2086
    need_tool $TOOLS
    export ARTIFACTS=$WORK/artifacts
    TINY=$BATS_FILE_TMPDIR/tiny.yaml
}

write_experiment() {
    cat >"$1" <<YAML
schema: lockstep.experiment/1
name: tiny
dataset: synthetic
model: $BATS_FILE_TMPDIR/net.yaml
strategy: ${2:-ddp}
world_size: ${3:-2}
virtual_shards: 2
global_batch: 64
epochs: 1
seed: 7
optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}
YAML
}

# Runs the tool in the root of the checkout.
run_pipeline() {
    (cd "$ROOT" && exec "$BIN/pipeline" "$@")
}

finished_run() {
    cp -a "$FIRST" "$ARTIFACTS"
}

# ran STAGE, did_not_run STAGE: according to the output of the last succeeds.
ran() {
    grep -q "^$1 .*: running" <<<"$output" || fail "$1 did not run:" "$output"
}
did_not_run() {
    ! grep -q "^$1 .*: running" <<<"$output" || fail "$1 ran:" "$output"
    grep -q "^$1 .*: up to date" <<<"$output" || fail "$1 is not up to date:" "$output"
}

@test "one command goes from data to report, and prints the path of the report" {
    cat "$BATS_FILE_TMPDIR/first.log"
    local file
    for file in data/synthetic/train.st.zst data/synthetic/shards-2-0/shard-00001-of-00002.st.zst \
        tiny/seed-7/train/{model.st.zst,steps.st.zst,manifest.yaml} \
        tiny/seed-7/evaluate/{predictions.st.zst,manifest.yaml} \
        tiny/report/report.{html,md,csv}; do
        [ -s "$FIRST/$file" ] || fail "$file is missing"
    done
    [ "$(tail -n 1 "$BATS_FILE_TMPDIR/first.log")" = "report: $FIRST/tiny/report/report.html" ]
    succeeds "$BIN/manifest" verify "$FIRST"/{data/synthetic,tiny/seed-7/train,tiny/seed-7/evaluate,tiny/report}/manifest.yaml
}

@test "a second run does nothing" {
    finished_run
    local before after stage
    succeeds run_pipeline experiment "$TINY"
    before=$(cd "$ARTIFACTS" && find . -type f ! -name '*.lock' -printf '%p %T@\n' | sort)
    succeeds run_pipeline experiment "$TINY"
    for stage in fetch shard train evaluate report; do did_not_run "$stage"; done
    after=$(cd "$ARTIFACTS" && find . -type f ! -name '*.lock' -printf '%p %T@\n' | sort)
    [ "$before" = "$after" ]
}

@test "published figures are shown beside the published work, also of other epochs, and no other" {
    write_experiment "$WORK/tiny.yaml"
    cat >"$WORK/claim.yaml" <<'YAML'
schema: lockstep.claim/1
name: R9
rows: [{name: row, experiment: tiny, accuracy: 90.00}]
YAML
    EPOCHS=2 succeeds run_pipeline experiment "$WORK/tiny.yaml"
    grep -q '^| \*\*tiny\*\* | Test accuracy | 90.00 %, 1 epoch | .* | R9 |' "$ARTIFACTS"/tiny-epochs=2/report/report.md ||
        fail "$(grep R9 "$ARTIFACTS"/*/report/report.md)"
    SET="global_batch=32" succeeds run_pipeline experiment "$WORK/tiny.yaml"
    ! grep R9 "$ARTIFACTS"/tiny-global_batch=32/report/report.md || fail "figures of other work are shown as published"
}

@test "on a read-only disk finished stages are up to date, and only missing results fail" {
    need_read_only
    finished_run
    local stage
    cd "$ROOT" || return
    succeeds read_only "$ARTIFACTS" "$BIN/pipeline" experiment "$TINY"
    for stage in fetch shard train evaluate report; do did_not_run "$stage"; done
    TMPDIR=/nowhere succeeds read_only "$ARTIFACTS" "$BIN/pipeline" experiment "$TINY"
    REPORT_FLAGS="--title x" TOOL=pipeline fails_with 1 "cannot lock stage: '.*/tiny/report': it cannot be written \(now --title x.*: ARTIFACTS=FOLDER names another folder" \
        read_only "$ARTIFACTS" "$BIN/pipeline" experiment "$TINY"
    SEED=8 TOOL=pipeline fails_with 1 "cannot write to '$ARTIFACTS': Read-only file system: ARTIFACTS=FOLDER names" \
        read_only "$ARTIFACTS" "$BIN/pipeline" experiment "$TINY"
    TOOL=pipeline fails_with 1 "cannot make folder: '$ARTIFACTS/new': Read-only file system: ARTIFACTS=FOLDER names" \
        read_only "$ARTIFACTS" env ARTIFACTS="$ARTIFACTS/new" "$BIN/pipeline" experiment "$TINY"
    # Without its lock, as after copying.
    rm "$ARTIFACTS/tiny/.report.lock"
    succeeds read_only "$ARTIFACTS" "$BIN/pipeline" experiment "$TINY"
    did_not_run report
}

# at_terminal COMMAND...: runs it at a terminal without a known width, 80 columns.
at_terminal() {
    "$PYTHON" -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"
}

@test "at a terminal each stage leaves one line, with a name and what came out, that fits" {
    succeeds at_terminal "$BIN/pipeline" experiment "$TINY" SET=repeats=2
    local lines
    # What is left of a line: all after the last time that it was cleared.
    lines=$(tr -d '\r' <<<"$output" | sed 's/.*\x1b\[K//' | grep -E '^(fetch|shard|train|evaluate|report) ')
    [ "$(wc -l <<<"$lines")" -eq 7 ] || fail "$lines"
    grep -q '^train     tiny, seed 7: [0-9.]* s, accuracy 0\.[0-9]*, loss [0-9.]*' <<<"$lines" || fail "$lines"
    grep -q '^evaluate  tiny, seed 8: [0-9.]* s, accuracy 0\.[0-9]*$' <<<"$lines" || fail "$lines"
    grep -q '^report    1 run: ' <<<"$lines" || fail "$lines"
    ! wider_than 79 <<<"$lines" || fail "too long"
    ! grep -q train-ddp <<<"$output" || fail "$output"
    [[ $output == *"tiny, seed 8, run 2 of 2"* ]] || fail "$output"
    succeeds at_terminal "$BIN/pipeline" experiment "$TINY" SET=repeats=2
    [[ $output == *"train     tiny, seed 7: up to date"* ]] || fail "$output"
    # A long name leaves no room for the course of the loss.
    sed 's/^name: .*/name: an-experiment-of-a-longer-name/' "$TINY" >"$WORK/longer.yaml"
    succeeds at_terminal "$BIN/pipeline" experiment "$WORK/longer.yaml" EPOCHS=3
    lines=$(tr -d '\r' <<<"$output" | sed 's/.*\x1b\[K//' | grep '^train ')
    [[ $lines =~ ^"train     an-experiment-of-a-longer-name: "[0-9.]+" s, accuracy 0."[0-9]+", loss "[0-9.]+$ ]] || fail "$lines"
}

@test "TENSORBOARD=DIR: each training writes its curves, in a folder of its own" {
    finished_run
    TENSORBOARD=$WORK/board succeeds run_pipeline experiment "$TINY"
    [ ! -e "$WORK/board" ] # it was trained before
    TENSORBOARD=$WORK/board succeeds run_pipeline experiment "$TINY" SET=repeats=2
    [ "$(cd "$WORK/board" && find . -type f)" = ./tiny/seed-8/events.out.tfevents.lockstep ] || fail "$(find "$WORK/board")"
}

@test "other threads and devices do not make a training stale" {
    finished_run
    THREADS=1 DEVICE=cpu succeeds run_pipeline experiment "$TINY"
    did_not_run train
}

@test "a launcher starts the ranks of ddp, and does not make the training stale" {
    need_tool train-ddp
    local port
    port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # launch OPTION -n RANKS COMMAND...
    cat >"$WORK/launch" <<END
#!/bin/bash
export MASTER_PORT=$port
END
    cat >>"$WORK/launch" <<'END'
echo "$1 $2 $3" >>"${0%/*}/launched"
export WORLD_SIZE=$3 MASTER_ADDR=127.0.0.1
for ((RANK = 1; RANK < WORLD_SIZE; RANK++)); do RANK=$RANK "${@:4}" & done
RANK=0 "${@:4}"
END
    chmod +x "$WORK/launch"
    export SET="strategy=ddp; world_size=2" DATA=$BATS_FILE_TMPDIR/data
    LAUNCHER="$WORK/launch --quietly" succeeds run_pipeline experiment "$TINY"
    [ "$(cat "$WORK/launched")" = "--quietly -n 2" ]
    [ "$("$BIN/manifest" get "$ARTIFACTS"/tiny-*/seed-7/train/manifest.yaml run.execution.world_size)" = 2 ]
    succeeds run_pipeline experiment "$TINY"
    did_not_run train
}

@test "another learning rate trains again, but does not fetch or shard again" {
    finished_run
    SET="optimizer={kind: sgd, lr: 0.02}; epochs=1" succeeds run_pipeline experiment "$TINY"
    did_not_run fetch
    did_not_run shard
    ran train
    ran evaluate
    ran report
    [ "$("$BIN/manifest" get "$ARTIFACTS"/tiny-*/seed-7/train/manifest.yaml parameters.optimizer.lr)" = 0.02 ]
}

@test "other report flags run only the report again, and another language has its own folder" {
    finished_run
    local english
    english=$(sha256sum <"$ARTIFACTS/tiny/report/report.html")
    REPORT_FLAGS="--lang zh" succeeds run_pipeline experiment "$TINY"
    did_not_run train
    did_not_run evaluate
    ran report
    [ -s "$ARTIFACTS/tiny/report-lang=zh/report.html" ]
    [ "$(sha256sum <"$ARTIFACTS/tiny/report/report.html")" = "$english" ]
    [ ! -e "$ARTIFACTS/tiny/plan-lang=zh.yaml" ] # the same plan
    REPORT_FLAGS="--lang=zh" succeeds run_pipeline experiment "$TINY"
    did_not_run report
    REPORT_FLAGS="--lang en" succeeds run_pipeline experiment "$TINY"
    did_not_run report
    [ ! -e "$ARTIFACTS/tiny/report-lang=en" ]
}

@test "other THREADS have executions and a report of their own: a time belongs to the threads that took it" {
    local key
    finished_run
    THREADS=3 succeeds run_pipeline experiment "$TINY"
    ran train
    [[ $output == *"(execution 2: execution 1 was trained with another number of threads)"* ]] || fail "$output"
    [ -s "$ARTIFACTS/tiny-threads=3/report/report.html" ]
    # Each report is on its own execution, also when it is made anew.
    key=$("$BIN/manifest" get "$ARTIFACTS/tiny-threads=3/seed-7/train/manifest.yaml" key)
    grep -q "runs/${key:0:12}/2/train" "$ARTIFACTS/tiny-threads=3/report/manifest.yaml"
    run ! grep -q "runs/${key:0:12}/1/train" "$ARTIFACTS/tiny-threads=3/report/manifest.yaml"
    THREADS=3 succeeds run_pipeline experiment "$TINY"
    did_not_run train
    succeeds run_pipeline experiment "$TINY" REPORT_FLAGS="--title again"
    did_not_run train
    grep -q "runs/${key:0:12}/1/train" "$ARTIFACTS/tiny/report/manifest.yaml"
    run ! grep -q "runs/${key:0:12}/2/train" "$ARTIFACTS/tiny/report/manifest.yaml"
    [ -s "$ARTIFACTS/tiny-threads=3/plan.yaml" ]
    SET="epochs=1" THREADS=3 succeeds run_pipeline experiment "$TINY"
    [ -s "$ARTIFACTS/tiny-epochs=1,threads=3/report/report.html" ]
}

@test "another seed has a separate folder; repeats run consecutive seeds" {
    finished_run
    SEED=8 SET="repeats=2" succeeds run_pipeline experiment "$TINY"
    ran train
    [ -s "$ARTIFACTS/tiny/seed-8/train/model.st.zst" ]
    [ -s "$ARTIFACTS/tiny/seed-9/evaluate/manifest.yaml" ]
    SEED=x TOOL=pipeline fails_with 2 "SEED: 'x'" run_pipeline experiment "$TINY"
    SEED=-1 TOOL=pipeline fails_with 2 "SEED: '-1': expected a whole number from 0 to" run_pipeline experiment "$TINY"
    SEED=9223372036854775808 TOOL=pipeline fails_with 2 "SEED: .*: expected a whole number from 0 to 9223372036854775807" run_pipeline experiment "$TINY"
    SEED=9223372036854775806 SET="repeats=3" TOOL=pipeline fails_with 2 "3 seeds from 9223372036854775806: the largest seed is" \
        run_pipeline experiment "$TINY"
}

@test "an output that was removed or cut is made again" {
    finished_run
    rm "$ARTIFACTS/tiny/seed-7/train/model.st.zst"
    truncate -s -1 "$ARTIFACTS/data/synthetic/shards-2-0/shard-00000-of-00002.st.zst"
    succeeds run_pipeline experiment "$TINY"
    did_not_run fetch
    ran shard
    ran train
    did_not_run evaluate
}

@test "data that was changed in place is detected, even with the old size and time" {
    finished_run
    local data=$ARTIFACTS/data/synthetic
    touch -r "$data/test.st.zst" "$WORK/time"
    printf 'x' | dd of="$data/test.st.zst" bs=1 seek=1000 conv=notrunc status=none
    touch -r "$WORK/time" "$data/test.st.zst"
    TOOL=train-ddp fails_with 3 "data/synthetic/test.st.zst'" run_pipeline experiment "$TINY"
}

# start_long [COMMAND...]: starts a long training in the background, with COMMAND, and waits until it
# has saved. Sets $pid, the pipeline, and $train, the folder of the training.
start_long() {
    : >"$WORK/log" # of an earlier call
    (
        cd "$ROOT"
        TMPDIR=$WORK/temporary SET="epochs=2500" exec "$@" "$BIN/pipeline" experiment "$TINY" >"$WORK/log" 2>&1 3>&-
    ) &
    pid=$!
    train=$(training_of "$WORK/log")
    wait_for_epoch "$WORK/log" || fail "$(cat "$WORK/log")"
}

@test "a training that was killed is resumed, not finished" {
    finished_run
    local pid train
    mkdir "$WORK/temporary"
    start_long setsid
    kill -KILL -- "-$pid"
    wait "$pid" || true
    [ ! -e "$train/manifest.yaml" ]
    start_long setsid
    wait_until grep -q "resuming from step" "$WORK/log"
    kill -KILL -- "-$pid"
    wait "$pid" || true
    grep -q "^shard .*: up to date" "$WORK/log" || fail "$(cat "$WORK/log")"
    # The finished run of other settings is still the current one.
    succeeds run_pipeline experiment "$TINY"
    did_not_run train
}

@test "ending the pipeline ends its training" {
    setpriv --pdeathsig TERM true 2>/dev/null || skip "setpriv does not support --pdeathsig"
    local pid train signal
    mkdir "$WORK/temporary"
    for signal in TERM HUP KILL; do
        rm -rf "$ARTIFACTS"
        finished_run
        start_long
        kill -s "$signal" "$pid"
        wait "$pid" || true
        # It saves before it ends, and keeps the folder locked until then.
        timeout 300 flock "$train/.lock" true || fail "the training continues after SIG$signal"
        [ ! -e "$train/manifest.yaml" ]
        wait_until all_ended "--out $train"
        [ -z "$(ls -A "$WORK/temporary")" ] || fail "SIG$signal leaves $(ls -A "$WORK/temporary")"
    done
}

@test "leftovers of a killed call are removed by the next call, unless they are in use" {
    finished_run
    local holder used=$ARTIFACTS/.work-used
    mkdir "$used" "$ARTIFACTS/.work-left"
    : >"$ARTIFACTS/.work-left/in-use"
    exec {holder}>"$used/in-use"
    flock "$holder"
    succeeds run_pipeline experiment "$TINY"
    [ ! -e "$ARTIFACTS/.work-left" ]
    [ -e "$used/in-use" ]
    exec {holder}>&-
    succeeds run_pipeline experiment "$TINY"
    [ ! -e "$used" ]
}

@test "two calls at once share their common stages" {
    local one two
    write_experiment "$WORK/one.yaml" single
    write_experiment "$WORK/two.yaml" ddp
    run_pipeline experiment "$WORK/one.yaml" >"$WORK/one.log" 2>&1 &
    one=$!
    run_pipeline experiment "$WORK/two.yaml" >"$WORK/two.log" 2>&1 &
    two=$!
    wait "$one" || fail "$(cat "$WORK/one.log")"
    wait "$two" || fail "$(cat "$WORK/two.log")"
    [ "$(cat "$WORK"/{one,two}.log | grep -c '^fetch .*running')" -eq 1 ]
    [ "$(cat "$WORK"/{one,two}.log | grep -c '^shard .*running')" -eq 1 ]
    # They are also the same experiment, by two tools.
    cmp "$ARTIFACTS/one/seed-7/train/model.st.zst" "$ARTIFACTS/two/seed-7/train/model.st.zst"
}

@test "compare reports several experiments against the first one" {
    finished_run
    measured "$ARTIFACTS"
    write_experiment "$WORK/base.yaml" single 1
    TOOL=pipeline fails_with 2 "have the same name, 'tiny'" run_pipeline compare "$WORK/base.yaml" "$TINY"
    sed -i 's/^name: .*/name: base/' "$WORK/base.yaml"
    TIME=0 succeeds run_pipeline compare "$WORK/base.yaml" "$TINY"
    [ -s "$ARTIFACTS/compare-base-tiny/report.html" ] || fail "$output"
}

@test "a failing tool ends the pipeline with its exit code and message" {
    finished_run
    export SET="epochs=many"
    TOOL=pipeline fails_with 2 "--set 'epochs=many'" run_pipeline experiment "$TINY"
    export SET="optimizer={kind: sgd, lr: 1000000}"
    run run_pipeline experiment "$TINY"
    [ "$status" -eq 1 ] || fail "exit code $status" "$output"
    [[ $output == *"train-ddp: "* ]]
    local train
    printf '%s\n' "$output" >"$WORK/log"
    train=$(training_of "$WORK/log")
    [ ! -e "$train/manifest.yaml" ]
    [ ! -e "$train/model.st.zst" ]
}

@test "an experiment that cannot run is reported in one line" {
    TOOL=pipeline fails_with 3 "cannot find experiment: 'nope'" run_pipeline experiment nope
    write_experiment "$WORK/bad.yaml"
    echo 'epoch: 3' >>"$WORK/bad.yaml"
    TOOL=pipeline fails_with 3 "bad.yaml:12:1: .*epoch" run_pipeline experiment "$WORK/bad.yaml"
    write_experiment "$WORK/mp.yaml" mp
    if [ ! -e "$BIN/train-mp" ]; then
        TOOL=pipeline fails_with 1 "train-mp' is not built" run_pipeline experiment "$WORK/mp.yaml"
    fi
}

@test "unusual settings are accepted, or refused before anything runs" {
    local name="$WORK/an experiment's.yaml"
    write_experiment "$name"
    ARTIFACTS="$WORK/[odd] * folder/" DATA=$BATS_FILE_TMPDIR/data succeeds run_pipeline experiment "$name"
    [ -s "$WORK/[odd] * folder/an experiment's-data=data/report/report.html" ] || fail "$output"
    cd "$WORK"
    write_experiment "$WORK/a"$'\t'"tab.yaml"
    TOOL=pipeline fails_with 2 "a tab or a line break" run_pipeline experiment "$WORK/a"$'\t'"tab.yaml"
    THREADS=0 TOOL=pipeline fails_with 2 "THREADS: '0'" run_pipeline experiment "$TINY"
    DEVICE=gpu TOOL=train-ddp fails_with 2 "'--device gpu'" run_pipeline experiment "$TINY"
    MATH=exactly TOOL=train-ddp fails_with 2 "'--math': expected exact or fast, got 'exactly'" run_pipeline experiment "$TINY"
    TOOL=pipeline fails_with 1 "'/nowhere/train-ddp' is not built" run_pipeline --tools /nowhere experiment "$TINY"
    [ ! -e "$ARTIFACTS" ]
    touch file
    ARTIFACTS=$WORK/file TOOL=pipeline fails_with 1 "cannot make folder: '$WORK/file': Not a directory" run_pipeline experiment "$TINY"
    local before
    before=$(ls -A "$ROOT")
    ARTIFACTS=-q TOOL=pipeline fails_with 3 "cannot find experiment" run_pipeline experiment nope
    [ "$(ls -A "$ROOT")" = "$before" ]
}

@test "make experiment passes its settings on, and reports the tool's exit code" {
    export DATA=$BATS_FILE_TMPDIR/data
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" EXP="$TINY" SET="epochs=1; optimizer.lr=0.5" THREADS=1 SEED=3 experiment
    [ "$("$BIN/manifest" get "$ARTIFACTS"/tiny-epochs=1,*/seed-3/train/manifest.yaml parameters.optimizer.lr)" = 0.5 ]
    run make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" EXP="$TINY" SET="optimizer.lr=fast" experiment
    [ "$status" -eq 2 ]
    [[ $output == *"pipeline: --set 'optimizer.lr=fast'"*"Error 2"* ]] || fail "$output"
    run make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$WORK/it's" EXP="isn't" experiment
    [[ $output == *"cannot find experiment: 'isn't'"* ]] || fail "$output"
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$WORK/it's one" EXP="$TINY" experiment
    [ -s "$WORK/it's one/tiny-data=data/report/report.html" ] || fail "$output"
}

@test "an experiment file with the name of a reserved folder is refused" {
    local name file
    for name in data machine runs reproduce .work-x . ..; do
        file=$WORK/$name.yaml
        cp "$TINY" "$file"
        TOOL=pipeline fails_with 2 "its results cannot go in a folder called '$name'" run_pipeline experiment "$file"
        TOOL=pipeline fails_with 2 "called '$name'" run_pipeline compare "$TINY" "$file"
        [ ! -e "$ARTIFACTS" ] || fail "files were created: $(ls "$ARTIFACTS")"
    done
}

# A gnuplot that first runs its argument, then the system's gnuplot.
fake_gnuplot() {
    mkdir -p "$WORK/fake"
    printf '#!/bin/sh\n%s\n' "$1" >"$WORK/fake/gnuplot"
    chmod +x "$WORK/fake/gnuplot"
}

@test "a gnuplot that fails leaves no finished report; the next call makes it" {
    finished_run
    rm -r "$ARTIFACTS/tiny/report"
    fake_gnuplot 'exit 7'
    run env PATH="$WORK/fake:$PATH" "$BIN/pipeline" experiment "$TINY"
    [ "$status" -eq 1 ] || fail "exit code $status" "$output"
    [[ $output == *"cannot draw 'loss': 'gnuplot' failed with exit code 7"* ]] || fail "$output"
    [ ! -e "$ARTIFACTS/tiny/report/manifest.yaml" ] || fail "the report counts as finished"
    succeeds run_pipeline experiment "$TINY"
    ran report
    grep -q '<svg ' "$ARTIFACTS/tiny/report/report.html"
    succeeds run_pipeline experiment "$TINY"
    did_not_run report
}

@test "a report that was made without gnuplot is made again once gnuplot is available" {
    local program
    finished_run
    rm -r "$ARTIFACTS/tiny/report"
    mkdir "$WORK/few"
    for program in sh env; do
        ln -s "$(command -v "$program")" "$WORK/few/$program"
    done
    succeeds env PATH="$WORK/few" "$BIN/pipeline" experiment "$TINY"
    ran report
    grep -q 'gnuplot was not found' "$ARTIFACTS/tiny/report/report.md"
    # What only some users need to know is said beside the first report.
    [[ $output == *"note      report.tex: not made: pandoc is not installed"* ]] || fail "$output"
    succeeds env PATH="$WORK/few" "$BIN/pipeline" experiment "$TINY" REPORT_FLAGS="--title again"
    ran report
    [[ $output != *pandoc* ]] || fail "$output"
    succeeds run_pipeline experiment "$TINY"
    ran report
    grep -q '<svg ' "$ARTIFACTS/tiny/report/report.html"
}

@test "a manifest that was edited stops the report, and the run is named" {
    finished_run
    sed -i 's/lr: 0.01/lr: 0.02/' "$ARTIFACTS/tiny/seed-7/train/manifest.yaml"
    TOOL=pipeline run run_pipeline experiment "$TINY"
    [ "$status" -eq 4 ] || fail "exit code $status" "$output"
    [[ $output == *"cannot report on '$ARTIFACTS/runs/"*"its manifest was edited"* ]] || fail "$output"
    fails_with 4 '^manifest: 1 key does not match the manifest$' "$BIN/manifest" verify "$ARTIFACTS/tiny/seed-7/train"
    [[ $output == *"parameters and inputs give the key"* ]] || fail "$output"
}

# models: the content of each kept model, with its learning rate.
models() {
    local run
    for run in "$ARTIFACTS"/runs/*/1; do
        echo "$("$BIN/manifest" get "$run/train" parameters.optimizer.lr) $(content "$run/train/model.st.zst")"
    done | sort
}

@test "two calls at once on two experiments of one name: two runs, and each report is of one run, or refused" {
    local rate expected round codes report
    for rate in 0.01 0.02; do
        mkdir "$WORK/$rate"
        sed "s/lr: 0.01/lr: $rate/" "$TINY" >"$WORK/$rate/tiny.yaml"
        run_pipeline experiment "$WORK/$rate/tiny.yaml" >/dev/null 2>&1
    done
    expected=$(models)
    [ "$(wc -l <<<"$expected")" = 2 ]
    for round in 1 2 3; do
        rm -r "$ARTIFACTS"
        mkdir "$ARTIFACTS"
        run_pipeline experiment "$WORK/0.01/tiny.yaml" >"$WORK/first.log" 2>&1 &
        run_pipeline experiment "$WORK/0.02/tiny.yaml" >"$WORK/second.log" 2>&1 && codes=0 || codes=$?
        wait $! && codes+=" 0" || codes+=" $?"
        [ "$(models)" = "$expected" ] || fail "round $round, exit codes $codes: different models" "$(models)" "$(cat "$WORK"/*.log)"
        [[ $codes =~ ^[0134]\ [0134]$ ]] || fail "round $round, exit codes $codes" "$(cat "$WORK"/*.log)"
        report=$ARTIFACTS/tiny/report
        [ ! -e "$report/manifest.yaml" ] || succeeds "$BIN/manifest" verify "$report"
        # A later pipeline that runs alone finds its own run, whatever the others left.
        for rate in 0.01 0.02; do
            succeeds run_pipeline experiment "$WORK/$rate/tiny.yaml"
            did_not_run train
            report=${lines[-1]#report: }
            report=${report%/*}
            grep -qE "^tiny,.*|^tiny\\.lr,.*,$rate," <(grep '^tiny.lr,' "$report/report.csv") || fail "$(cat "$report/report.csv")"
        done
    done
}

@test "initial_weights: training begins with them, and again when they change" {
    finished_run
    local begun=$ARTIFACTS/begun/seed-7/train first
    write_experiment "$WORK/begun.yaml"
    sed -i 's/^name: tiny/name: begun/' "$WORK/begun.yaml"
    printf "initial_weights: {file: weights.st.zst, except: ['fc1.*']}\n" >>"$WORK/begun.yaml"
    run ! run_pipeline experiment "$WORK/begun.yaml"
    [[ ${lines[-1]} == "train-ddp: cannot open: '$WORK/weights.st.zst': No such file or directory" ]] || fail "$output"
    cp "$FIRST/tiny/seed-7/train/model.st.zst" "$WORK/weights.st.zst"
    succeeds run_pipeline experiment "$WORK/begun.yaml"
    ran train
    first=$("$BIN/manifest" get "$begun/manifest.yaml" results.model key)
    "$BIN/train-single" -q --experiment "$TINY" --train "$ARTIFACTS/data/synthetic/train.st.zst" --init "$WORK/weights.st.zst" \
        --init-except 'fc1.*' --out "$WORK/by-option"
    [ "$("$BIN/manifest" get "$WORK/by-option/manifest.yaml" results.model)" = "$(head -n 1 <<<"$first")" ]
    # The same file under another name is the same run, which the store can train again.
    mv "$WORK/weights.st.zst" "$WORK/moved.st.zst"
    sed -i 's/file: weights/file: moved/' "$WORK/begun.yaml"
    succeeds run_pipeline experiment "$WORK/begun.yaml"
    did_not_run train
    rm "$begun/model.st.zst"
    succeeds run_pipeline experiment "$WORK/begun.yaml"
    ran train
    [ "$("$BIN/manifest" get "$begun/manifest.yaml" results.model key)" = "$first" ]
    # Other weights under the same name are another run.
    cp "$begun/model.st.zst" "$WORK/weights.st.zst"
    sed -i 's/file: moved/file: weights/' "$WORK/begun.yaml"
    succeeds run_pipeline experiment "$WORK/begun.yaml"
    [[ $output == *"train: running (different data, initial weights, kind of device, or version)"* ]] || fail "$output"
    # A comparison with the same training from nothing says what differs, and so does a ladder.
    measured "$ARTIFACTS"
    TIME=0 succeeds run_pipeline compare "$TINY" "$WORK/begun.yaml"
    grep -q "initial weights" "$(dirname "${lines[-1]#report: }")/report.md" || fail "$output"
    cd "$WORK"
    succeeds "$BIN/plan" ladder "$TINY" begun.yaml
    [[ $output == *"initial_weights={file: weights.st.zst, except: [fc1.*]}"* ]] || fail "$output"
}

@test "a key that another setting leaves without effect is named: by the pipeline, or by the train tool" {
    local line="'stages' has no effect here: strategy 'mp' alone reads it"
    write_experiment "$WORK/cut.yaml"
    echo 'stages: [fc1]' >>"$WORK/cut.yaml"
    succeeds run_pipeline experiment "$WORK/cut.yaml" DRY_RUN=1
    [[ $output == *"note      $WORK/cut.yaml: $line"* && $stderr != *"no effect"* ]] || fail "$output" "$stderr"
    succeeds run_pipeline experiment "$WORK/cut.yaml"
    [[ $output == *"note      $WORK/cut.yaml: $line"* && $stderr != *"no effect"* ]] || fail "$output" "$stderr"
    succeeds "$BIN/train-ddp" -q --experiment "$WORK/cut.yaml" --train "$ARTIFACTS/data/synthetic/train.st.zst" --out "$WORK/out"
    [ "$stderr" = "train-ddp: $line" ] || fail "$stderr"
    succeeds "$BIN/train-mp" -q --experiment "$WORK/cut.yaml" --train "$ARTIFACTS/data/synthetic/train.st.zst" --out "$WORK/mp"
    [ -z "$stderr" ] || fail "$stderr"
}

@test "a training of one step has no states to keep: STATES trains it once, and reports on it" {
    mkdir "$ARTIFACTS"
    cp -a "$FIRST/data" "$ARTIFACTS"
    succeeds run_pipeline experiment "$TINY" EPOCHS=0.001
    succeeds run_pipeline experiment "$TINY" EPOCHS=0.001 STATES=4
    did_not_run train
    [[ $output == *$'\n'"report: "* ]] || fail "$output"
}
