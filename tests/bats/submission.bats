#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make submission: one archive with everything to hand in, and the commands that repeat the runs.
load helpers
load submissions

setup_file() {
    # shellcheck disable=SC2086
    are_built $SUBMISSION_TOOLS || return 0
    export TIME=0 ARTIFACTS=$BATS_FILE_TMPDIR/artifacts FILES=$BATS_FILE_TMPDIR/files
    small_experiments "$FILES"
    submit >"$BATS_FILE_TMPDIR/log" 2>&1
}

submit() {
    (cd "$ROOT" && SET="loader_workers=1" exec "$BIN/pipeline" submission "$FILES/one.yaml" "$FILES/two.yaml")
}

setup() {
    # shellcheck disable=SC2086
    need_tool $SUBMISSION_TOOLS
    ARCHIVE=$ARTIFACTS/submission-one-two-loader_workers=1.tar.gz
    [ -s "$ARCHIVE" ] || fail "$(cat "$BATS_FILE_TMPDIR/log")"
    cd "$WORK" || return
}

# key NAME: the first digits of its run's key. execution NAME: its first execution, in the archive.
key() {
    "$BIN/manifest" get "$ARTIFACTS/$1-loader_workers=1/seed-42/train" key | cut -c 1-12
}
execution() {
    echo "runs/$(key "$1")/1"
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
    for file in README.md run-again.sh plan.yaml report/report.{html,md,csv} report/manifest.yaml \
        experiments/{one,two}.yaml experiments/models/small.yaml "$(execution one)"/train/{model,steps}.st.zst \
        "$(execution two)"/{train/{manifest.yaml,steps.st.zst},evaluate/{manifest.yaml,predictions.st.zst}} \
        data/synthetic-3x12x12/{,shards-2-0/}manifest.yaml machine/allreduce-1-2-4-8/manifest.yaml; do
        has "$file"
    done
    has figures/loss.svg
    ! command -v pandoc >/dev/null || has report/report.tex
    [[ $output != *train.st.zst* && $output != *shard-0* && $output != *state.st.zst* ]] || fail "$output"
    tar xzf "$ARCHIVE"
    # The experiments are complete: the settings, every default, and no path of this machine.
    run ! grep -r -- "$FILES" submission-one-two-loader_workers=1/experiments
    grep -qx 'loader_workers: 1' submission-one-two-loader_workers=1/experiments/two.yaml
    grep -qx 'model: small' submission-one-two-loader_workers=1/experiments/two.yaml
    cmp "submission-one-two-loader_workers=1/$(execution one)/train/model.st.zst" "$ARTIFACTS/one-loader_workers=1/seed-42/train/model.st.zst"
    # The report was made from the packed files, and names no other.
    ! grep -F "$BATS_FILE_TMPDIR" submission-one-two-loader_workers=1/report/report.csv || fail "a file outside"
    [ -z "$(find submission-one-two-loader_workers=1 -name '.*')" ] || fail "hidden files"
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    grep -Eq '\| two/seed-42 \| `runs/[0-9a-f]{12}` \| train-dp \| [0-9.]+ % \|' submission-one-two-loader_workers=1/README.md || fail "$(cat submission-one-two-loader_workers=1/README.md)"
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
    local chinese=submission-one-two-loader_workers=1-lang=zh
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
    # The README's command checks the archive.
    cp "$ARCHIVE" .
    local check
    check=$(sed -n 's/^lockstep //p' submission-one-two-loader_workers=1/README.md)
    # shellcheck disable=SC2086 # words
    succeeds "$BIN/lockstep" $check
    [[ ${lines[-1]} == "submission-one-two-loader_workers=1.tar.gz: not shown" ]] || fail "$output"
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
    measured "$WORK/own"
    ARTIFACTS=$WORK/own TIME=0 DATA="$WORK/it's mine/" succeeds "$BIN/pipeline" submission two.yaml
    [[ $output != *$'\n'"fetch "* && $output != "fetch "* ]] || fail "$output"
    [ "$(cd "$WORK/it's mine" && ls -A && sha256sum -- *)" = "$before" ] || fail "the data folder changed"
    [[ ${lines[-1]} == "submission: $WORK/own/submission-two.tar.gz" ]] || fail "$output"
    cd "$WORK" || return
    tar xzf own/submission-two.tar.gz
    [ -s submission-two/data/own/manifest.yaml ]
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
    run ! grep -q model.st.zst <(tar tzf "$ARTIFACTS/submission-two-loader_workers=1.tar.gz")
    tar xzOf "$ARTIFACTS/submission-two-loader_workers=1.tar.gz" submission-two-loader_workers=1/README.md >README.md
    grep -Eq '^- two/seed-42: [0-9]+ B, > 0 MiB$' README.md || fail "$(cat README.md)"
}

@test "STATES=N: the archive has whole trainings, and replay finds them equal" {
    local archive packed
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
    grep -q 'trains$' "$packed/README.md" || fail "$(cat "$packed/README.md")"
    ! grep -q '@' "$packed/README.md" || fail "$(grep '@' "$packed/README.md")"
    "$BIN/synth-cifar" -q --shape 3,12,12 --out data
    local one two
    one=$packed/runs/$(key one)/2/train
    two=$packed/runs/$(key two)/2/train
    succeeds "$BIN/replay" "$two" --train data/train.st.zst --segments 4
    [[ $output == *"4 of 4 segments trained again, 100 % of the steps: equal"* ]] || fail "$output"
    zstd -dcq "$one/model.st.zst" >plain
    printf 'x' | dd of=plain bs=1 seek=$(($(stat -c %s plain) - 9)) conv=notrunc status=none
    zstd -qf plain -o "$one/model.st.zst"
    fails_with 3 "model.st.zst': its content is not the one in the manifest" \
        "$BIN/replay" "$one" --train data/train.st.zst --segments 4
}

@test "the turns that times come from go along, and are verified" {
    local name=submission-one-two
    export ARTIFACTS=$WORK/own
    measured "$ARTIFACTS"
    (cd "$ROOT" && TIME='' succeeds "$BIN/pipeline" submission "$FILES/one.yaml" "$FILES/two.yaml")
    tar xzf "$ARTIFACTS/$name.tar.gz"
    [ -s "$(echo "$name"/turns/*/turns.st.zst)" ] || fail "$(find "$name")"
    grep -q 'took turns' "$name/report/report.md" || fail "the report has no turns"
    succeeds "$BIN/pipeline" verify SUBMISSION="$name"
    [[ $output == *"figures     equal "*"report      equal "* ]] || fail "$output"
    cp "$(find "$name" -name steps.st.zst | head -n 1)" other.st.zst
    cp other.st.zst "$(echo "$name"/turns/*/turns.st.zst)"
    run --separate-stderr "$BIN/pipeline" verify SUBMISSION="$name"
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    grep -q '^files *different .*turns.st.zst' <<<"$output" || fail "$output" "$stderr"
}

@test "initial weights go along: the runs are repeated, verified and replayed from them" {
    export ARTIFACTS=$WORK/own SET=
    local packed=$WORK/submission-begun run
    measured "$ARTIFACTS"
    small_experiments "$WORK/files"
    "$BIN/synth-cifar" -q --shape 3,12,12 --out data/synthetic-3x12x12
    "$BIN/train-single" -q --experiment files/one.yaml --train data/synthetic-3x12x12/train.st.zst --set seed=3 --out before
    cp before/model.st.zst files/begin.st.zst
    sed 's/^name: one/name: begun/' files/one.yaml >files/begun.yaml
    printf 'initial_weights: {file: begin.st.zst}\n' >>files/begun.yaml
    succeeds "$BIN/pipeline" submission files/begun.yaml STATES=2
    fails_with 3 "its initial weights, 'files/begin.st.zst', have more than 0 MiB: MODEL_LIMIT=1 packs them" \
        "$BIN/pipeline" submission files/begun.yaml STATES=2 MODEL_LIMIT=0
    tar xzf "$ARTIFACTS/submission-begun.tar.gz"
    cmp "$packed/experiments/begun.weights" files/begin.st.zst
    mv files gone
    succeeds sh "$packed/run-again.sh" again
    [[ $output == *$'\nbegun/seed-42: the same model' ]] || fail "$output"
    verifies() { "$BIN/pipeline" verify SUBMISSION="$packed" ARTIFACTS=verified SEGMENTS=2; }
    succeeds verifies
    [[ $output == *"begun/seed-42: 2 of 2 parts trained again"* ]] || fail "$output"
    ! grep -q ' different  ' <<<"$output" || fail "$output"
    run=$(echo "$packed"/runs/*/1/train)
    succeeds "$BIN/replay" "$run" --train data/synthetic-3x12x12/train.st.zst --init "$packed/experiments/begun.weights" --segments 2
    fails_with 3 "it began with 'begin.st.zst': pass that file as --init" "$BIN/replay" "$run" --train data/synthetic-3x12x12/train.st.zst
    cp again/begun/seed-42/train/model.st.zst "$packed/experiments/begun.weights"
    run --separate-stderr verifies
    [[ $status -eq 4 && $output == *"begun/seed-42: its initial weights are not those that are packed"* ]] || fail "$output" "$stderr"
}
