#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# 50 steps of SGD from the same weights over the same batches as PyTorch: the losses agree step by step.
load helpers

# tests/golden/make_loss_curves.py trained on the same images.
setup() {
    need_tool synth-cifar train-single tensor
    need_python
    need_program zstd
    "$BIN/synth-cifar" -q --train 610 --test 10 --out "$WORK/data"
    IMAGES=$WORK/data/train.st.zst
    PEER=$ROOT/tests/python/torch_training.py
    COMPARE=$ROOT/tests/python/compare_losses.py
    GOLDEN=$ROOT/tests/golden
}

# start_from MODEL: the model and its golden initial weights.
start_from() {
    MODEL=$ROOT/experiments/models/$1.yaml
    INIT=$GOLDEN/$1-init.safetensors
}

# train SETTINGS: trains $MODEL for $LENGTH epochs from $INIT; leaves steps.st and order.u32 in $WORK. SETTINGS are lines
# of the experiment.
train() {
    cat >"$WORK/experiment.yaml" <<EOT
schema: lockstep.experiment/1
name: loss-curves
dataset: synthetic
model: $MODEL
strategy: single
world_size: 1
virtual_shards: 1
global_batch: 64
epochs: ${LENGTH:-5}
seed: 1
$1
EOT
    "$BIN/train-single" -q --experiment "$WORK/experiment.yaml" --train "$IMAGES" --out "$WORK/run" \
        --init "$INIT" --dump-order "$WORK/order.u32"
    zstd -dcq "$WORK/run/steps.st.zst" >"$WORK/steps.st"
}

# The golden curves are for these images in this order: if either changes, regenerate them (make
# golden).
same_work() {
    local images
    images=$("$BIN/tensor" hash "$IMAGES")
    succeeds "$PYTHON" "$ROOT/tests/python/safetensors_reader.py" "$GOLDEN/loss-curves.safetensors"
    [[ $output == *"images=${images%% *}"* ]] || fail "the images of synth-cifar differ from those of the golden file"
    "$PYTHON" "$ROOT/tests/python/safetensors_reader.py" "$GOLDEN/loss-curves.safetensors" order >"$WORK/golden-order"
    od -An -v -w4 -tu4 "$WORK/order.u32" | tr -d ' ' | cmp - "$WORK/golden-order" ||
        fail "the order of the samples differs from the golden file"
}

golden_curve() {
    start_from "$1"
    train "optimizer: {kind: sgd, lr: $2, momentum: 0.9}"
    same_work
    succeeds "$PYTHON" "$COMPARE" "$WORK/steps.st" "$GOLDEN/loss-curves.safetensors" "$1"
}

@test "lenet: the losses match PyTorch's (golden file)" {
    golden_curve lenet 0.05
}

@test "lenet-bn: the losses match PyTorch's (golden file)" {
    golden_curve lenet-bn 0.001
}

@test "the comparison fails if the losses differ" {
    start_from lenet
    train "optimizer: {kind: sgd, lr: 0.05, momentum: 0.8}"
    same_work
    run "$PYTHON" "$COMPARE" "$WORK/steps.st" "$GOLDEN/loss-curves.safetensors" lenet
    [ "$status" -ne 0 ]
    [[ $output =~ step\ [2-9]:\ loss ]] || fail "$output"
}

# live_curve YAML JSON: PyTorch trains now, with the same settings in both notations.
live_curve() {
    train "$1"
    "$PYTHON" "$PEER" losses "$WORK/run/model.st.zst" "$INIT" "$IMAGES" "$WORK/order.u32" "$2" >"$WORK/theirs"
    succeeds "$PYTHON" "$COMPARE" "$WORK/steps.st" "$WORK/theirs"
}

@test "lenet: Nesterov, weight decay, warm-up and steps of the rate follow PyTorch (live)" {
    need_torch
    start_from lenet
    live_curve "optimizer: {kind: sgd, lr: 0.02, momentum: 0.9, nesterov: true, weight_decay: 0.005}
schedule: {kind: multistep, milestones: [2, 4], gamma: 0.5, warmup_epochs: 1}" \
        '{"batch": 64, "lr": 0.02, "momentum": 0.9, "nesterov": true, "weight_decay": 0.005,
          "milestones": [2, 4], "gamma": 0.5, "warmup_epochs": 1}'
}

@test "lenet-bn: linear scaling of the rate and weight decay follow PyTorch (live)" {
    need_torch
    start_from lenet-bn
    live_curve "optimizer: {kind: sgd, lr: 0.00025, momentum: 0.9, weight_decay: 0.01}
lr_scaling: {kind: linear, base_batch: 16}" \
        '{"batch": 64, "lr": 0.00025, "momentum": 0.9, "weight_decay": 0.01,
          "lr_scaling": {"kind": "linear", "base_batch": 16}}'
}

@test "lenet: rates on straight lines, and OneCycleLR, follow PyTorch (live)" {
    need_torch
    start_from lenet
    live_curve "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9}
schedule: {kind: linear, points: [[0.3, 0.2], [1.75, 1], [4.4, 0.07]]}" \
        '{"batch": 64, "lr": 0.05, "momentum": 0.9, "points": [[0.3, 0.2], [1.75, 1], [4.4, 0.07]]}'
    live_curve "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9}
schedule: {kind: one_cycle}" '{"batch": 64, "lr": 0.05, "momentum": 0.9, "one_cycle": {}}'
    live_curve "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9}
schedule: {kind: one_cycle, pct_start: 0.23, div_factor: 5, final_div_factor: 20, anneal: linear}" \
        '{"batch": 64, "lr": 0.05, "momentum": 0.9,
          "one_cycle": {"pct_start": 0.23, "div_factor": 5, "final_div_factor": 20, "anneal_strategy": "linear"}}'
}

@test "lenet-bn: full batches only, as PyTorch (live)" {
    local LENGTH=6
    need_torch
    start_from lenet-bn
    live_curve "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9}
drop_last: true" '{"batch": 64, "lr": 0.001, "momentum": 0.9, "drop_last": true}'
}

@test "lenet: gradient clipping follows PyTorch (live)" {
    need_torch
    start_from lenet
    live_curve "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9, clip_norm: 0.3}" \
        '{"batch": 64, "lr": 0.1, "momentum": 0.9, "clip_norm": 0.3}'
    "$PYTHON" "$PEER" losses "$WORK/run/model.st.zst" "$INIT" "$IMAGES" "$WORK/order.u32" \
        '{"batch": 64, "lr": 0.1, "momentum": 0.9}' >"$WORK/unclipped"
    run "$PYTHON" "$COMPARE" "$WORK/steps.st" "$WORK/unclipped"
    [ "$status" -ne 0 ] || fail "nothing was clipped"
}

@test "lenet-bn: averages of the weights follow PyTorch (live)" {
    need_torch
    start_from lenet-bn
    live_curve "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9}
average: {kind: lookahead, decay: 0.95, every: 4, ramp: 2}" \
        '{"batch": 64, "lr": 0.001, "momentum": 0.9, "average": {"kind": "lookahead", "decay": 0.95, "every": 4, "ramp": 2}}'
    live_curve "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9}
average: {kind: ema, decay: 0.9}" \
        '{"batch": 64, "lr": 0.001, "momentum": 0.9, "average": {"kind": "ema", "decay": 0.9}}'
    run "$PYTHON" "$PEER" losses "$WORK/run/model.st.zst" "$INIT" "$IMAGES" "$WORK/order.u32" \
        '{"batch": 64, "lr": 0.001, "momentum": 0.9, "average": {"kind": "ema", "decay": 0.8}}'
    [[ $status -ne 0 && $output == *differs* ]] || fail "another decay was not noticed"
}

@test "lenet-bn: label smoothing follows PyTorch (live)" {
    need_torch
    start_from lenet-bn
    live_curve "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9}
label_smoothing: 0.2" \
        '{"batch": 64, "lr": 0.001, "momentum": 0.9, "label_smoothing": 0.2}'
}

@test "lenet-bn: mixup follows PyTorch (live)" {
    need_torch
    start_from lenet-bn
    live_curve "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9}
label_smoothing: 0.1
mixup: {alpha: 0.4}" \
        '{"batch": 64, "lr": 0.001, "momentum": 0.9, "label_smoothing": 0.1, "seed": 1, "classes": 10, "mixup": {"alpha": 0.4}}'
}

# Without dropout, which recipes.bats compares.
@test "a network with branches follows PyTorch (live)" {
    need_torch
    MODEL=$WORK/residual.yaml
    INIT=$WORK/initial/model.st.zst
    sed 's/dropout: {p: 0.25}/dropout: {p: 0}/' "$ROOT/tests/fixtures/residual.yaml" >"$MODEL"
    cat >"$WORK/initial.yaml" <<EOT
schema: lockstep.experiment/1
name: initial
dataset: synthetic
model: $MODEL
strategy: single
world_size: 1
global_batch: 64
epochs: 1
optimizer: {kind: sgd, lr: 1e-30}
EOT
    "$BIN/train-single" -q --experiment "$WORK/initial.yaml" --train "$IMAGES" --out "$WORK/initial"
    live_curve "optimizer: {kind: sgd, lr: 0.002, momentum: 0.9, weight_decay: 0.001}" \
        '{"batch": 64, "lr": 0.002, "momentum": 0.9, "weight_decay": 0.001}'
}
