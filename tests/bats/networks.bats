#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The networks of experiments/models: logits and one step of training are those of PyTorch.
load helpers

setup() {
    need_tool synth-cifar train-single evaluate
    need_torch
}

# same_step MODEL COUNT [NAME]: one step from the same weights on the same COUNT images of $shape; it, its loss, and the logits
# afterwards, are PyTorch's, of the network that the model file describes or torch_models.py defines. From the weights of
# $seed no rounding decides whether a ReLU passes a value, or which value of a pool is the largest. From many others' it
# does; a gradient then goes to another place.
same_step() {
    local rate folder model=$1 count=$2 init=() peers=$ROOT/tests/python
    local logits=("$peers/torch_peer.py") training=("$peers/torch_training.py")
    [ -z "${3:-}" ] || logits=("$peers/torch_models.py" "$3") training=("${logits[@]}" training)
    "$BIN/synth-cifar" -q --train "$count" --test "$count" --shape "${shape:-3,32,32}" --out "$WORK/few"
    for rate in 1e-30 0.5; do
        folder=$WORK/step-$rate
        cat >"$WORK/step.yaml" <<EOT
schema: lockstep.experiment/1
name: step
dataset: synthetic
model: $model
strategy: single
world_size: 1
virtual_shards: 1
global_batch: $count
epochs: 1
seed: $seed
${normalize:+normalize: $normalize}
optimizer: {kind: sgd, lr: $rate, momentum: 0.85, nesterov: true, weight_decay: 0.001}
EOT
        # The weights that both start from: a step of no effect makes them.
        [ "$rate" = 1e-30 ] || init=(--init "$WORK/step-1e-30/model.st.zst" --dump-order "$WORK/order")
        succeeds "$BIN/train-single" -q --experiment "$WORK/step.yaml" --train "$WORK/few/train.st.zst" \
            --out "$folder" "${init[@]}"
    done
    succeeds with_torch "${training[@]}" "$WORK/step-0.5/model.st.zst" "$WORK/step-1e-30/model.st.zst" \
        "$WORK/few/train.st.zst" "$WORK/order" \
        "{\"batch\": $count, \"lr\": 0.5, \"momentum\": 0.85, \"nesterov\": true, \"weight_decay\": 0.001}"
    succeeds "$BIN/evaluate" -q --data "$WORK/few/test.st.zst" --model "$WORK/step-0.5/model.st.zst" --out "$WORK/evaluate"
    succeeds with_torch "${logits[@]}" logits "$WORK/step-0.5/model.st.zst" "$WORK/few/test.st.zst" "$WORK/evaluate/predictions.st.zst"
}

@test "airbench94: the logits, and one step of training, are PyTorch's" {
    local seed=7
    same_step "$ROOT/experiments/models/airbench94.yaml" 16
}

@test "airbench95: the logits, and one step of training, are PyTorch's" {
    local seed=7
    same_step "$ROOT/experiments/models/airbench95.yaml" 8
}

# named MODEL PARAMETERS COUNT SEED: the network of the model file is the one that torch_models.py defines.
named() {
    local seed=$4
    succeeds with_torch "$ROOT/tests/python/torch_models.py" "$1" parameters "$2"
    same_step "$ROOT/experiments/models/$1.yaml" "$3" "$1"
}

@test "wrn-16-4: parameters, logits and one step of training are those of its definition in PyTorch" {
    named wrn-16-4 2748890 4 7
}

@test "resnet18: parameters, logits and one step of training are those of its definition in PyTorch" {
    named resnet18 11173962 4 4
}

@test "densenet121: parameters, logits and one step of training are those of its definition in PyTorch" {
    named densenet121 6956298 2 1
}

# Their steps are not compared: a bias between a layer and batch norm has no gradient, and its way is rounding alone.
@test "googlenet, mobilenet_v2 and shufflenet_v2: parameters and logits are those of their definitions in PyTorch" {
    local row name count models=$ROOT/tests/python/torch_models.py
    "$BIN/synth-cifar" -q --train 8 --test 8 --out "$WORK/few"
    for row in "googlenet 6166250" "mobilenet_v2 2296922" "shufflenet_v2 1263854"; do
        read -r name count <<<"$row"
        succeeds with_torch "$models" "$name" parameters "$count"
        cat >"$WORK/step.yaml" <<EOT
schema: lockstep.experiment/1
name: step
dataset: synthetic
model: $ROOT/experiments/models/$name.yaml
global_batch: 8
epochs: 1
optimizer: {kind: sgd, lr: 0.1}
EOT
        succeeds "$BIN/train-single" -q --experiment "$WORK/step.yaml" --train "$WORK/few/train.st.zst" --out "$WORK/$name"
        succeeds "$BIN/evaluate" -q --data "$WORK/few/test.st.zst" --model "$WORK/$name/model.st.zst" --out "$WORK/$name-logits"
        succeeds with_torch "$models" "$name" logits "$WORK/$name/model.st.zst" "$WORK/few/test.st.zst" \
            "$WORK/$name-logits/predictions.st.zst"
    done
}

# large SIDE SEED: images of this side. Their own normalisation would make the means of the first batch norm almost 0, and
# a relative error of these a matter of luck.
large() {
    local shape=3,$1,$1 seed=$2 normalize='{mean: [0.2, 0.3, 0.1], std: [0.2, 0.25, 0.3]}'
    sed "s/224, 224/$1, $1/" "$ROOT/tests/fixtures/large.yaml" >"$WORK/large.yaml"
    same_step "$WORK/large.yaml" 6
}

@test "images of 64x64: the logits, the loss, and one step of training, are PyTorch's" {
    large 64 7
}

@test "images of 224x224: the logits, the loss, and one step of training, are PyTorch's" {
    large 224 7
}
