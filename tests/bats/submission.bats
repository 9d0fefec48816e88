#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make submission: one archive with everything to hand in, and the commands that repeat the runs.
load helpers

TOOLS="manifest synth-cifar shard train-single train-dp evaluate report bench-allreduce"

setup_file() {
    local tool
    for tool in $TOOLS; do
        [ -x "${BIN:-$BATS_TEST_DIRNAME/../../build/bin}/$tool" ] || return 0
    done
    export EXECUTIONS=1 ARTIFACTS=$BATS_FILE_TMPDIR/artifacts FILES=$BATS_FILE_TMPDIR/files
    mkdir -p "$FILES"
    cat >"$FILES/small.yaml" <<'YAML'
schema: lockstep.model/1
name: small
input: [3, 12, 12]
layers: [conv: {out: 4, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]
YAML
    an_experiment one single 1
    an_experiment two dp 2
    submit >"$BATS_FILE_TMPDIR/log" 2>&1
}

# an_experiment NAME STRATEGY WORLD_SIZE
an_experiment() {
    cat >"$FILES/$1.yaml" <<YAML
schema: lockstep.experiment/1
name: $1
title: "It's $1"
dataset: synthetic
model: small.yaml
strategy: $2
world_size: $3
virtual_shards: 2
global_batch: 128
epochs: 1
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
YAML
}

submit() {
    (cd "$ROOT" && SET="loader_workers=1" exec "$BIN/pipeline" submission "$FILES/one.yaml" "$FILES/two.yaml")
}

setup() {
    # shellcheck disable=SC2086
    need_tool $TOOLS
    ARCHIVE=$ARTIFACTS/submission-one-two-loader_workers=1.tar.gz
    [ -s "$ARCHIVE" ] || fail "$(cat "$BATS_FILE_TMPDIR/log")"
    cd "$WORK" || return
}

# has FILE: the archive contains it.
has() {
    grep -qxF "submission-one-two-loader_workers=1/$1" <<<"$output" || fail "$1 is missing:" "$output"
}

@test "one folder with everything to hand in, and no data" {
    [[ $(tail -n 1 "$BATS_FILE_TMPDIR/log") == "submission: $ARCHIVE" ]]
    succeeds tar tzf "$ARCHIVE"
    [ "$(cut -d / -f 1 <<<"$output" | sort -u)" = submission-one-two-loader_workers=1 ] || fail "$output"
    local file
    for file in README.md run-again.sh environment.yaml report/report.{html,md,csv,tex} experiments/{one,two}.yaml \
        experiments/models/small.yaml models/{one,two}-seed-42.st.zst manifests/report/manifest.yaml \
        manifests/{one,two}/seed-42/{train,evaluate}/manifest.yaml manifests/data/synthetic-3x12x12/manifest.yaml \
        manifests/data/synthetic-3x12x12/shards-2-0/manifest.yaml manifests/machine/allreduce-1-2-4-8/manifest.yaml; do
        has "$file"
    done
    ! command -v gnuplot >/dev/null || has figures/loss.svg
    [[ $output != *train.st.zst* && $output != *shard-0* && $output != *state.st.zst* ]] || fail "$output"
    tar xzf "$ARCHIVE"
    # The experiments are complete: the settings, every default, and no path of this machine.
    run ! grep -r -- "$FILES" submission-one-two-loader_workers=1/experiments
    grep -qx 'loader_workers: 1' submission-one-two-loader_workers=1/experiments/two.yaml
    grep -qx 'model: small' submission-one-two-loader_workers=1/experiments/two.yaml
    cmp submission-one-two-loader_workers=1/models/one-seed-42.st.zst "$ARTIFACTS/one/seed-42/train/model.st.zst"
    [ "$("$BIN/manifest" get submission-one-two-loader_workers=1/environment.yaml two/seed-42.execution.tool)" = train-dp ]
    grep -Eq '\| two/seed-42 \| train-dp \| [0-9.]+ % \|' submission-one-two-loader_workers=1/README.md || fail "$(cat submission-one-two-loader_workers=1/README.md)"
    if grep -n '@' submission-one-two-loader_workers=1/README.md; then fail "a placeholder was not replaced"; fi
}

@test "other settings make another archive" {
    local first
    first=$(sha256sum <"$ARCHIVE")
    (cd "$ROOT" && "$BIN/pipeline" submission "$FILES/one.yaml" "$FILES/two.yaml" SET="optimizer.lr=0.01")
    [ "$(sha256sum <"$ARCHIVE")" = "$first" ]
    tar tzf "$ARTIFACTS/submission-one-two-optimizer.lr=0.01.tar.gz" | grep -qx 'submission-one-two-optimizer.lr=0.01/README.md'
}

@test "the same runs give the same bytes, whatever the timestamps" {
    local first
    first=$(sha256sum <"$ARCHIVE")
    REPORT_FLAGS="--lang zh" submit
    local chinese=submission-one-two-loader_workers=1,lang=zh
    tar xzOf "$ARTIFACTS/$chinese.tar.gz" "$chinese/README.md" | grep -q '^## 重新运行'
    tar xzOf "$ARTIFACTS/$chinese.tar.gz" "$chinese/report/report.md" | grep -q '测试准确率'
    tar xzOf "$ARTIFACTS/$chinese.tar.gz" "$chinese/run-again.sh" | grep -q -- '^run report .* --lang zh$'
    [ "$first" = "$(sha256sum <"$ARCHIVE")" ] || fail "the English archive was replaced"
    touch "$ARTIFACTS"/*/seed-42/*/*
    submit
    [ "$first" = "$(sha256sum <"$ARCHIVE")" ] || fail "the archive has different bytes"
    [ "$(TZ=UTC tar tvzf "$ARCHIVE" --numeric-owner | awk '{ print $2, $4 }' | sort -u)" = "0/0 1970-01-01" ]
}

@test "the archive is enough to repeat the runs and to compare the models" {
    tar xzf "$ARCHIVE"
    succeeds sh submission-one-two-loader_workers=1/run-again.sh again
    [[ $output == *$'\none/seed-42: the same model\ntwo/seed-42: the same model' ]] || fail "$output"
    cmp again/one/seed-42/train/model.st.zst again/two/seed-42/train/model.st.zst
    [ -s again/report/report.html ]
    # The README's command checks them.
    local check
    check=$(sed -n 's/^lockstep manifest //p' submission-one-two-loader_workers=1/README.md)
    [[ $check == "verify again/"* ]] || fail "no command in the README"
    # shellcheck disable=SC2086 # words, and a pattern
    succeeds "$BIN/manifest" $check
    [[ $stderr == "manifest: "*" files checked" ]] || fail "$stderr"
    sed -i 's/lr: 0.02/lr: 0.03/' submission-one-two-loader_workers=1/experiments/two.yaml
    run sh submission-one-two-loader_workers=1/run-again.sh other
    [ "$status" -eq 4 ]
    [[ $output == *$'\ntwo/seed-42: a DIFFERENT model' ]] || fail "$output"
}

@test "runs on own data are repeated from that data, which is not in the archive" {
    # The folder is used as it is, and its shards go to the outputs.
    "$BIN/synth-cifar" -q --shape 3,12,12 --train 512 --test 128 --seed 9 --out "$WORK/it's mine"
    local before
    before=$(cd "$WORK/it's mine" && ls -A && sha256sum -- *)
    cd "$FILES" || return # any other folder
    ARTIFACTS=$WORK/own EXECUTIONS=1 DATA="$WORK/it's mine/" succeeds "$BIN/pipeline" submission two.yaml
    [[ $output != *$'\n'"fetch "* && $output != "fetch "* ]] || fail "$output"
    [ "$(cd "$WORK/it's mine" && ls -A && sha256sum -- *)" = "$before" ] || fail "the data folder changed"
    [[ ${lines[-1]} == "submission: $WORK/own/submission-two.tar.gz" ]] || fail "$output"
    cd "$WORK" || return
    tar xzf own/submission-two.tar.gz
    [ -s submission-two/manifests/data/own/manifest.yaml ]
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    grep -qF '`DATA=`' submission-two/README.md || fail "$(cat submission-two/README.md)"
    run ! grep -rF "it's mine" submission-two/run-again.sh submission-two/README.md
    run ! grep -q '^run synth-cifar' submission-two/run-again.sh
    mv "it's mine" elsewhere
    DATA=$WORK/elsewhere succeeds sh submission-two/run-again.sh again
    [[ ${lines[-1]} == "two/seed-42: the same model" ]] || fail "$output"
    run sh submission-two/run-again.sh none
    [ "$status" -ne 0 ]
    [[ $output == *DATA* ]] || fail "$output"
    grep -qF 'compares their contents' submission-two/README.md || fail "$(cat submission-two/README.md)"
    run ! grep -qE '@[A-Z]+@|pinned' submission-two/README.md
    "$BIN/synth-cifar" -q --shape 3,12,12 --train 512 --test 128 --seed 10 --out "$WORK/other"
    DATA=$WORK/other TOOL=run-again.sh fails_with 3 "'.*/other/train.st.zst' is another data set: expected the contents " \
        sh submission-two/run-again.sh untouched
    [ ! -e untouched ] || fail "$(find untouched)"
    # Any other folder is refused before anything is made.
    mkdir "$WORK/empty"
    ARTIFACTS=$WORK/none DATA=$WORK/empty fails_with 3 "DATA='$WORK/empty': it has no train.st.zst" \
        "$BIN/pipeline" submission "$FILES/two.yaml"
    [ ! -e "$WORK/none" ]
}

@test "the author's text is in the archive, and is part of the repeated report" {
    printf '# My text\n' >"$WORK/my own.md"
    REPORT_FLAGS="--author 'Li Ming' --discussion '$WORK/my own.md'" submit
    tar xzf "$ARCHIVE"
    rm "$WORK/my own.md"
    succeeds sh submission-one-two-loader_workers=1/run-again.sh again
    grep -q '<h3>My text</h3>' again/report/report.html
    submit
}

@test "a model that is too large is left out, and the README lists it" {
    MODEL_LIMIT=0 succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" SET="loader_workers=1" \
        EXPS="$FILES/two.yaml" submission
    [[ ${lines[-1]} == "submission: $ARTIFACTS/submission-two-loader_workers=1.tar.gz" ]] || fail "$output"
    run ! grep -q models/two <(tar tzf "$ARTIFACTS/submission-two-loader_workers=1.tar.gz")
    tar xzOf "$ARTIFACTS/submission-two-loader_workers=1.tar.gz" submission-two-loader_workers=1/README.md >README.md
    grep -Eq '^- two/seed-42: [0-9]+ B, > 0 MiB$' README.md || fail "$(cat README.md)"
}

@test "STATES=N: the archive has whole trainings, and replay finds them equal" {
    local archive packed train=runs/one/seed-42/train
    ARTIFACTS=$WORK/artifacts
    cp -a "$BATS_FILE_TMPDIR/artifacts" "$ARTIFACTS"
    STATES=4 submit >log 2>&1 || fail "$(cat log)"
    archive=$(tail -n 1 log)
    archive=${archive#submission: }
    # The finished trainings kept no states: each is executed once more, with the same bits.
    [ "$(grep -c '^train .*/2/train: running' log)" = 2 ] || fail "$(cat log)"
    STATES=4 submit >log 2>&1 || fail "$(cat log)"
    ! grep -q ': running' log || fail "$(cat log)"
    tar xzf "$archive"
    packed=$PWD/$(basename "$archive" .tar.gz)
    grep -q 'lockstep replay' "$packed/README.md" || fail "$(cat "$packed/README.md")"
    ! grep -q '@' "$packed/README.md" || fail "$(grep '@' "$packed/README.md")"
    "$BIN/synth-cifar" -q --shape 3,12,12 --out data
    succeeds "$BIN/replay" "$packed/runs/two/seed-42" --train data/train.st.zst --segments 4
    [[ $output == *"4 of 4 segments trained again, 100 % of the steps: equal"* ]] || fail "$output"
    zstd -dcq "$packed/$train/model.st.zst" >plain
    printf 'x' | dd of=plain bs=1 seek=$(($(stat -c %s plain) - 9)) conv=notrunc status=none
    zstd -qf plain -o "$packed/$train/model.st.zst"
    fails_with 3 "model.st.zst': its content is not the one in the manifest" \
        "$BIN/replay" "${packed}/runs/one/seed-42" --train data/train.st.zst --segments 4
}
