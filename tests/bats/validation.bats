#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Validation samples: left out of training, and the choice by them: the best epoch, the end of
# training. same-bits.bats has their bits with every tool.
load helpers
load training
load reports

setup_file() {
    file_data 610 200
    file_shards
}

setup() {
    begin_training epochs=6 'optimizer={kind: sgd, lr: 0.03, momentum: 0.9}' 'validation={samples: 100, seed: 4}'
    shards=$BATS_FILE_TMPDIR/shards
}

# train OUT OPTION...: trains e.yaml.
train() {
    rm -rf "$1"
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out "$@"
}

# results PATH OUT: of its manifest.
results() {
    "$BIN/manifest" get "$2/manifest.yaml" "results.$1"
}

# accuracies OUT: of its epochs, one per line.
accuracies() {
    local epoch
    for epoch in 0 1 2 3 4 5; do results "epochs.$epoch.accuracy" "$1" 2>/dev/null || break; done
}

# best OUT: the number of the first epoch with the best accuracy.
best() {
    accuracies "$1" | awk '$1 > most { most = $1; at = NR } END { print at }'
}

@test "exactly the validation samples are left out, and the accuracies and losses are theirs" {
    train run --dump-order order --set 'schedule={kind: plateau}'
    [ "$(results samples run)" = 510 ] || fail "$(results samples run)"
    [ "$(results steps run)" = 48 ] || fail "$(results steps run)"
    "$BIN/evaluate" -q --model run/model.st.zst --data "$train" --out evaluation
    "$BIN/tensor" export --format csv --out logits.csv evaluation/predictions.st.zst logits
    "$BIN/tensor" export --format csv --out labels.csv evaluation/predictions.st.zst labels
    "$BIN/tensor" export --format csv --out ids.csv evaluation/predictions.st.zst ids
    "$BIN/tensor" export --format csv --out losses.csv run/steps.st.zst epochs.loss
    "$PYTHON" - "$(accuracies run | tail -n 1)" <<'END'
import math, struct, sys
order = [i for i, in struct.iter_unpack("<I", open("order", "rb").read())]
trained = set(order)
assert len(order) == 6 * 510 and len(trained) == 510, (len(order), len(trained))
rows = lambda name: [line for line in open(name) if line[0] in "-0123456789"]
ids = [int(line) for line in rows("ids.csv")]
labels = [int(line) for line in rows("labels.csv")]
logits = [[float(x) for x in line.split(",")] for line in rows("logits.csv")]
left = [i for i, id in enumerate(ids) if id not in trained]
assert len(left) == 100, len(left)
right = sum(logits[i].index(max(logits[i])) == labels[i] for i in left)
assert abs(right / 100 - float(sys.argv[1])) < 1e-9, (right, sys.argv[1])
loss = sum(math.log(sum(map(math.exp, logits[i]))) - logits[i][labels[i]] for i in left) / 100
assert abs(loss - float(rows("losses.csv")[-1])) < 1e-6, (loss, rows("losses.csv"))
END
    # Another seed leaves out others; the number of shards does not matter.
    sha256sum <order >one
    train run --dump-order order --set validation.seed=5
    ! sha256sum <order | cmp -s - one || fail "the seed of the validation has no effect"
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out other --dump-order order --stop-after-steps 8
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out two --dump-order two.order --stop-after-steps 8 --set virtual_shards=2
    "$PYTHON" -c 'import struct
a, b = [sorted(i for i, in struct.iter_unpack("<I", open(f, "rb").read())) for f in ("order", "two.order")]
assert a == b and len(set(a)) == 510, len(set(a))'
}

@test "whitening filters do not depend on the validation samples" {
    printf '%s\n' 'tensors: {conv1.weight: {init: whiten, trained_epochs: 0}}' >>e.yaml
    train run --set epochs=1 --dump-order order
    zstd -dcq "$train" >plain
    "$PYTHON" - <<'END'
import json, struct
trained = {i for i, in struct.iter_unpack("<I", open("order", "rb").read())}
data = bytearray(open("plain", "rb").read())
start = 8 + int.from_bytes(data[:8], "little")
header = json.loads(data[8:start])
def place(name):
    first, end = header[name]["data_offsets"]
    return start + first, (end - first) // header[name]["shape"][0]
(ids, _), (images, size) = place("ids"), place("images")
for n in range(header["ids"]["shape"][0]):
    if int.from_bytes(data[ids + 4 * n:ids + 4 * n + 4], "little") not in trained:
        data[images + size * n:images + size * (n + 1)] = bytes(size)
open("black", "wb").write(data)
END
    zstd -q black -o black.st.zst
    train=black.st.zst train other --set epochs=1
    for run in run other; do "$BIN/tensor" export --format csv --out $run.csv $run/model.st.zst conv1.weight; done
    cmp run.csv other.csv
}

@test "keep: best is the model after the first epoch with the best accuracy" {
    local epoch
    train last
    train best --set keep=best
    [ "$(accuracies last)" = "$(accuracies best)" ] || fail "$(accuracies last; accuracies best)"
    epoch=$(best last)
    [ "$epoch" -lt 6 ] || fail "the last epoch is the best: this tests nothing: $(accuracies last)"
    [ "$(results best_epoch best)" = "$epoch" ] || fail "epoch $(results best_epoch best), not $epoch"
    [ "$(results validation_accuracy best)" = "$(accuracies last | sed -n "${epoch}p")" ]
    [ "$(results validation_accuracy last)" = "$(accuracies last | tail -n 1)" ]
    train short --set epochs="$epoch"
    same_model "$(content short/model.st.zst)" best "epoch $epoch"
    succeeds "$BIN/manifest" verify best/manifest.yaml
    succeeds "$BIN/report" best --out report
    # Edited figures of the choice are found.
    sed -i "s/^  best_epoch: .*/  best_epoch: 6/" best/manifest.yaml
    fails_with 4 "best_epoch" "$BIN/report" best --out report
    sed -i "s/^  best_epoch: .*/  best_epoch: $epoch/; s/^  validation_accuracy: .*/  validation_accuracy: 0.99/" best/manifest.yaml
    fails_with 4 "validation_accuracy" "$BIN/report" best --out report
}

@test "keep: best is the averaged model, if weights are averaged" {
    local epoch average='average={kind: ema, decay: 0.8}'
    train last --set "$average"
    train best --set "$average" --set keep=best
    epoch=$(best last)
    [ "$epoch" -lt 6 ] || fail "the last epoch is the best: this tests nothing: $(accuracies last)"
    [ "$(accuracies last)" = "$(accuracies best)" ] || fail "$(accuracies last; accuracies best)"
    train short --set "$average" --set epochs="$epoch"
    same_model "$(content short/model.st.zst)" best "epoch $epoch"
    train plain --set epochs="$epoch"
    [ "$(content plain/model.st.zst)" != "$(content best/model.st.zst)" ] || fail "the average is the model"
}

@test "early stopping ends after the patience, and a resumed run ends after the same epoch" {
    local epoch expected
    sed -i 's/^seed: .*/seed: 16/' e.yaml # whose best accuracy is an early one
    train last
    epoch=$(($(best last) + 2))
    [ "$epoch" -lt 6 ] || fail "the patience does not run out: this tests nothing: $(accuracies last)"
    train run --set early_stopping.patience=2
    [ "$(accuracies run | wc -l)" = "$epoch" ] || fail "$(accuracies run) of $(accuracies last)"
    [ "$(results steps run)" = $((8 * epoch)) ]
    train short --set epochs="$epoch"
    expected=$(content short/model.st.zst)
    same_model "$expected" run "epoch $epoch"
    succeeds "$BIN/manifest" verify run/manifest.yaml
    # Finished: there is nothing to resume, and more epochs would not be trained either.
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --out run --resume --set early_stopping.patience=2
    [[ $stderr == *"is already complete"* ]] || fail "$stderr"
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --resume --set early_stopping.patience=2 --set epochs=9
    same_model "$expected" run "nine epochs"
    [ "$(results steps run)" = $((8 * epoch)) ]
}

@test "stop_at ends after the first epoch with that accuracy, with every tool, also resumed" {
    local epoch at expected stop
    train last
    epoch=$(best last)
    at=$(accuracies last | sed -n "${epoch}p")
    [[ $epoch -gt 1 && $epoch -lt 6 ]] || fail "the best epoch is an end: this tests nothing: $(accuracies last)"
    train short --set epochs="$epoch"
    expected=$(content short/model.st.zst)
    rm -rf run
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --out run --set stop_at.accuracy="$at"
    [[ $stderr == *"stopping after epoch $epoch: validation accuracy ${at}"*", 'stop_at' is $at"* ]] || fail "$stderr"
    same_model "$expected" run "stop_at $at"
    [ "$(results steps run)" = $((8 * epoch)) ]
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.stop_at.accuracy)" = "$at" ]
    succeeds "$BIN/report" run --out report
    grep -qF "tiny: its number of epochs, $epoch, was chosen by 100 validation samples of the training data" report/report.md ||
        fail "$(cat report/report.md)"
    succeeds "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out ddp --world-size 2 --set stop_at.accuracy="$at" \
        --set virtual_shards=2
    train two --set virtual_shards=2 --set stop_at.accuracy="$at"
    same_model "$(content two/model.st.zst)" ddp "two ranks"
    for stop in 3 $((8 * (epoch - 1))) $((8 * epoch - 1)); do
        train run --set stop_at.accuracy="$at" --stop-after-steps "$stop"
        succeeds "$BIN/train-single" -q --experiment e.yaml --train "$shards" --out run --resume --set stop_at.accuracy="$at"
        same_model "$expected" run "stopped after $stop"
    done
    # An accuracy that is not reached changes nothing but the key.
    train all --set stop_at.accuracy=1
    same_model "$(content last/model.st.zst)" all "stop_at 1"
    [ "$("$BIN/manifest" get all/manifest.yaml key)" != "$("$BIN/manifest" get last/manifest.yaml key)" ]
}

@test "a kill after the best epoch loses nothing" {
    local stop
    train whole --set keep=best
    for stop in $((8 * $(best whole))) $((8 * $(best whole) + 3)) 47; do
        train run --set keep=best --stop-after-steps "$stop"
        unfinished run
        succeeds "$BIN/train-single" -q --experiment e.yaml --train "$shards" --out run --resume --set keep=best
        same_model "$(content whole/model.st.zst)" run "stopped after $stop"
        [ "$(results best_epoch run)" = "$(results best_epoch whole)" ]
    done
}

@test "training does not read test data; the report says what was chosen by what" {
    train run/train --set keep=best --test "$BATS_FILE_TMPDIR/missing.st.zst"
    [ "$(grep -c 'path:.*train.st.zst' run/train/manifest.yaml)" -eq 1 ]
    ! grep -q 'missing' <(sed -n '/^inputs:/,/^outputs:/p' run/train/manifest.yaml) || fail "test data is an input"
    [ "$("$BIN/train-single" --experiment e.yaml --train "$train" --set keep=best --print-key)" = \
        "$("$BIN/manifest" get run/train/manifest.yaml key)" ]
    succeeds "$BIN/report" run --out untested
    grep -qF '100 validation samples of the training data; test data was not read.' untested/report.md
    "$BIN/evaluate" -q --model run/train/model.st.zst --data "$test" --out run/evaluate
    succeeds "$BIN/report" run --out report
    grep -qF "tiny: its model, that after epoch $(results best_epoch run/train), was chosen by 100 validation samples of the \
training data; test data was read after training." report/report.md || fail "$(cat report/report.md)"
    grep -qF 'Validation accuracy' report/report.md
}

@test "refused: a choice by test data, and more samples than there are" {
    write_experiment plain.yaml
    fails_with 2 "'keep: best' needs 'validation'" "$BIN/train-single" --experiment plain.yaml --train "$train" --out run --set keep=best
    fails_with 2 "'early_stopping' needs 'validation'" "$BIN/train-single" --experiment plain.yaml --train "$train" --out run \
        --set early_stopping.patience=1
    fails_with 2 "'stop_at' needs 'validation': .* test data must not choose" "$BIN/train-single" --experiment plain.yaml \
        --train "$train" --test "$test" --out run --set stop_at.accuracy=0.9
    fails_with 2 "'keep: best' needs a whole number of 'epochs', not 1.5" "$BIN/train-single" --experiment e.yaml \
        --train "$train" --out run --set keep=best --set epochs=1.5
    fails_with 3 "it has 610 samples, and 'validation.samples' is 610" "$BIN/train-single" --experiment e.yaml \
        --train "$train" --out run --set validation.samples=610
    nothing_in run
    train run --stop-after-steps 9 --set keep=best
    fails_with 3 "a different 'keep'" "$BIN/train-single" --experiment e.yaml --train "$train" --out run --resume
    fails_with 3 "a different 'validation.seed'" "$BIN/train-single" --experiment e.yaml --train "$train" --out run --resume \
        --set keep=best --set validation.seed=5
}

# chosen OPTIONS KEY=VALUE...: trains with these keys. The samples, the accuracy of each epoch, the epoch that is kept and
# the last one are those that Python computes, the accuracies by PyTorch from the state after each epoch.
chosen() {
    local options=$1 pair set=(--set virtual_shards=3 --set "$LENET_BN" --set seed=4 --set optimizer.lr=0.01)
    shift
    for pair; do set+=(--set "$pair"); done
    train run --keep-states 6 --dump-order order "${set[@]}"
    succeeds with_torch "$ROOT/tests/python/torch_validation.py" run "$train" order \
        "$("$BIN/manifest" --json get run/manifest.yaml results | sed 's/^{"results"://; s/}$//')" \
        "{\"samples\": 100, \"seed\": 4, \"shards\": 3, \"order_seed\": 4, \"batch\": 72, \"epochs\": 6, $options}"
    CHOICE=${output#*best epoch }
}

@test "the samples, the best epoch and the end are those that Python and PyTorch compute from the states" {
    need_torch
    chosen '"keep": "last", "averaged": false'
    chosen '"keep": "best", "averaged": true, "shard_seed": 7' keep=best 'average={kind: ema, decay: 0.8}' shard_seed=7
    chosen '"keep": "best", "averaged": false, "patience": 2' keep=best early_stopping.patience=2
    [[ $CHOICE == '3 last 5' ]] || fail "the end is not an early one: this tests little: $output"
    local at
    at=$(results epochs.1.accuracy run)
    chosen "\"keep\": \"last\", \"averaged\": false, \"stop_at\": $at" stop_at.accuracy="$at"
    [[ $CHOICE == *' last 2' ]] || fail "stop_at does not end the training: this tests little: $output"
    chosen '"keep": "last", "averaged": false, "patience": 1, "min_delta": 0.05' \
        'early_stopping={patience: 1, min_delta: 0.05}'
    [[ $CHOICE == '2 last 2' ]] || fail "min_delta does not end the training: this tests little: $output"
}
