#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Checkpoints between Lockstep and PyTorch, in both directions.
load helpers

setup() {
    need_tool synth-cifar train-single evaluate tensor manifest
    READER=$ROOT/tests/python/safetensors_reader.py
    PEER=$ROOT/tests/python/torch_peer.py
    "$BIN/synth-cifar" -q --train 200 --test 150 --out "$WORK/data"
}

# train MODEL: a short run; writes run/model.st.zst in $WORK.
train() {
    cat >"$WORK/experiment.yaml" <<EOT
schema: lockstep.experiment/1
name: interop
dataset: synthetic
model: $1
strategy: single
world_size: 1
virtual_shards: 1
global_batch: 50
epochs: 2
seed: 3
normalize: {mean: [0.4, 0.5, 0.6], std: [0.2, 0.25, 0.3]}
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
EOT
    "$BIN/train-single" -q --experiment "$WORK/experiment.yaml" --train "$WORK/data/train.st.zst" --out "$WORK/run"
}

evaluate() {
    succeeds "$BIN/evaluate" -q --data "$WORK/data/test.st.zst" --out "$WORK/evaluate" "$@"
}

# A network with other shapes than LeNet's: strides, padding, windows that are not square, no bias.
odd_model() {
    cat >"$WORK/odd.yaml" <<'EOT'
schema: lockstep.model/1
name: odd
input: [3, 32, 32]
layers:
  - conv: {out: 7, kernel: [3, 5], stride: [1, 2], padding: [1, 2], bias: false}
  - batch_norm: {eps: 0.001, momentum: 0.2}
  - relu
  - avg_pool: {size: 3, stride: 2, padding: 1}
  - conv: {out: 9, kernel: 3, stride: 2}
  - max_pool: {size: [3, 2], stride: 1, padding: [1, 0]}
  - relu
  - flatten
  - batch_norm
  - linear: {out: 31, bias: false}
  - relu
  - linear: {out: 10}
EOT
}

# same_logits MODEL [OPTION...]: evaluates run/model.st.zst; PyTorch compares its own logits with the
# predictions.
same_logits() {
    train "$1"
    evaluate --model "$WORK/run/model.st.zst" "${@:2}"
    succeeds with_torch "$PEER" logits "$WORK/run/model.st.zst" "$WORK/data/test.st.zst" \
        "$WORK/evaluate/predictions.st.zst"
}

# A checkpoint by PyTorch, plain and compressed, gives PyTorch's accuracy.
checkpoint_by_torch() {
    local model=$1 theirs ours data=$WORK/data/test.st.zst
    train "$model"
    theirs=$(with_torch "$PEER" invent "$WORK/run/model.st.zst" "$data" "$WORK/theirs.safetensors")
    "$PYTHON" "$READER" "$WORK/theirs.safetensors" | grep -q 'num_batches_tracked I64 \[\]' ||
        fail "the checkpoint lacks num_batches_tracked"
    zstd -q "$WORK/theirs.safetensors"
    local file
    for file in theirs.safetensors theirs.safetensors.zst; do
        rm -rf "$WORK/evaluate"
        evaluate --model "$WORK/$file" --architecture "$model" --mean 0.4,0.5,0.6 --std 0.2,0.25,0.3
        ours=$("$BIN/manifest" get "$WORK/evaluate/manifest.yaml" results.accuracy)
        awk -v a="$ours" -v b="$theirs" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' ||
            fail "$file: accuracy $ours in Lockstep, $theirs in PyTorch"
    done
}

@test "a pure-Python reader opens model.st.zst" {
    train "$ROOT/experiments/models/lenet-bn.yaml"
    zstd -dcq "$WORK/run/model.st.zst" >"$WORK/model.safetensors"
    succeeds "$PYTHON" "$READER" "$WORK/model.safetensors"
    local line
    for line in 'conv1.weight F32 [6,3,5,5]' 'bn1.running_var F32 [6]' 'fc1.weight F32 [120,400]' 'fc3.bias F32 [10]'; do
        grep -qxF "$line" <<<"$output" || fail "no '$line' in: $output"
    done
    [[ $output == *'model={'*'"lenet-bn"'* ]] || fail "no model in the metadata: $output"
    [[ $output != *module.* && $output != *num_batches_tracked* ]] || fail "$output"

    # The content hash is that of the bytes that Python reads.
    local hash
    hash=$("$BIN/tensor" hash "$WORK/run/model.st.zst")
    [ "${hash%% *}" = "$("$PYTHON" "$READER" "$WORK/model.safetensors" --hash)" ] || fail "$hash"
}

@test "PyTorch loads our lenet-bn and gives the same logits" {
    need_torch
    same_logits "$ROOT/experiments/models/lenet-bn.yaml"
}

@test "PyTorch loads our network of odd shapes and gives the same logits" {
    need_torch
    odd_model
    same_logits "$WORK/odd.yaml"
}

@test "PyTorch takes a network with branches from here and gives the same logits" {
    need_torch
    same_logits "$ROOT/tests/fixtures/residual.yaml"
}

@test "the mean over views of the test images is PyTorch's" {
    local views
    need_torch
    odd_model
    for views in mirror mirror-shift; do
        same_logits "$WORK/odd.yaml" --tta "$views"
        rm -rf "$WORK/views" && mv "$WORK/evaluate" "$WORK/views"
    done
    # They are not the logits of the images alone.
    evaluate --model "$WORK/run/model.st.zst"
    run "$BIN/tensor" diff "$WORK/evaluate/predictions.st.zst" "$WORK/views/predictions.st.zst"
    [ "$status" -eq 4 ] || fail "$output"
}

@test "a checkpoint of lenet-bn by PyTorch has the same accuracy in Lockstep" {
    need_torch
    checkpoint_by_torch "$ROOT/experiments/models/lenet-bn.yaml"
}

@test "a checkpoint of odd shapes by PyTorch has the same accuracy in Lockstep" {
    need_torch
    odd_model
    checkpoint_by_torch "$WORK/odd.yaml"
}

@test "a plain safetensors file with num_batches_tracked is evaluated and trained on" {
    # This file is committed and was written by PyTorch, so that this test needs no torch.
    local init=$ROOT/tests/golden/lenet-bn-init.safetensors model=$ROOT/experiments/models/lenet-bn.yaml
    "$PYTHON" "$READER" "$init" | grep -q num_batches_tracked || fail "the file lacks num_batches_tracked"
    evaluate --model "$init" --architecture "$model" --mean 0.5,0.5,0.5 --std 0.5,0.5,0.5
    train "$model"
    succeeds "$BIN/train-single" -q --experiment "$WORK/experiment.yaml" --train "$WORK/data/train.st.zst" \
        --init "$init" --out "$WORK/again"
}

@test "a checkpoint by PyTorch without --architecture, --mean, --std: the message names these options" {
    local init=$ROOT/tests/golden/lenet-init.safetensors
    fails_with 3 "'$init'.*--architecture" "$BIN/evaluate" --model "$init" --data "$WORK/data/test.st.zst" --out "$WORK/e"
    fails_with 3 '--mean' "$BIN/evaluate" --model "$init" --data "$WORK/data/test.st.zst" --out "$WORK/e" \
        --architecture "$ROOT/experiments/models/lenet.yaml"
    nothing_in "$WORK/e"
}

@test "a checkpoint of another network is refused, and the tensor is named" {
    local init=$ROOT/tests/golden/lenet-init.safetensors
    fails_with 3 'bn1\.(weight|bias|running_mean)' "$BIN/evaluate" --model "$init" --data "$WORK/data/test.st.zst" \
        --out "$WORK/e" --architecture "$ROOT/experiments/models/lenet-bn.yaml" --mean 0,0,0 --std 1,1,1
    nothing_in "$WORK/e"
}
