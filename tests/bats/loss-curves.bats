#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Trainings from the same weights over the same batches as PyTorch: the losses agree step by step. One setting after the
# other; recipes.bats has them together.
load helpers
load training

setup_file() {
    file_data 310
}

setup() {
    begin_training
    need_tool tensor
    GOLDEN=$ROOT/tests/golden
}

# The golden curves are for these images in this order: if either changes, regenerate them (make
# golden).
same_work() {
    local hash
    hash=$("$BIN/tensor" hash images/train.st.zst)
    succeeds "$PYTHON" "$ROOT/tests/python/safetensors_reader.py" "$GOLDEN/loss-curves.safetensors"
    [[ $output == *"images=${hash%% *}"* ]] || fail "the images of synth-cifar differ from those of the golden file"
    "$PYTHON" "$ROOT/tests/python/safetensors_reader.py" "$GOLDEN/loss-curves.safetensors" order >golden-order
    od -An -v -w4 -tu4 order.u32 | tr -d ' ' | cmp - golden-order ||
        fail "the order of the samples differs from the golden file"
}

# golden_curve MODEL OPTIMIZER: 50 steps, as tests/golden/make_loss_curves.py, and the comparison, in $status and $output.
golden_curve() {
    "$BIN/synth-cifar" -q --train 610 --test 10 --out images
    write_experiment e.yaml "model=$ROOT/experiments/models/$1.yaml" virtual_shards=1 global_batch=64 epochs=5 seed=1 \
        "optimizer={kind: sgd, $2}"
    "$BIN/train-single" -q --experiment e.yaml --train images/train.st.zst --out run --init "$GOLDEN/$1-init.safetensors" \
        --dump-order order.u32
    zstd -dcq run/steps.st.zst >steps.st
    same_work
    run "$PYTHON" "$ROOT/tests/python/compare_losses.py" steps.st "$GOLDEN/loss-curves.safetensors" "$1"
}

@test "lenet: the losses match PyTorch's (golden file)" {
    golden_curve lenet 'lr: 0.05, momentum: 0.9'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "lenet-bn: the losses match PyTorch's (golden file)" {
    golden_curve lenet-bn 'lr: 0.001, momentum: 0.9'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "the comparison fails if the losses differ" {
    golden_curve lenet 'lr: 0.05, momentum: 0.8'
    [[ $status -ne 0 && $output =~ step\ [2-9]:\ loss ]] || fail "$output"
}

@test "Nesterov, weight decay, warm-up and steps of the rate follow PyTorch (live)" {
    need_torch
    smooth 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9, nesterov: true, weight_decay: 0.005}' \
        'schedule={kind: multistep, milestones: [1, 2], gamma: 0.5, warmup_epochs: 1}'
    follows_torch '"lr": 0.02, "momentum": 0.9, "nesterov": true, "weight_decay": 0.005,
        "milestones": [1, 2], "gamma": 0.5, "warmup_epochs": 1' \
        '"lr": 0.02002' '"momentum": 0.901' '"nesterov": false' '"weight_decay": 0.00505' \
        '"tensors": [["*.bias", {"weight_decay": 0}]]' '"milestones": [1]' '"warmup_epochs": 0'
}

@test "linear scaling of the rate follows PyTorch (live)" {
    need_torch
    smooth 'optimizer={kind: sgd, lr: 0.005, momentum: 0.9}' 'lr_scaling={kind: linear, base_batch: 16}'
    follows_torch '"lr": 0.005, "momentum": 0.9, "lr_scaling": {"kind": "linear", "base_batch": 16}' \
        '"lr_scaling": {"kind": "sqrt", "base_batch": 16}'
}

@test "rates on straight lines, and OneCycleLR, follow PyTorch (live)" {
    need_torch
    local sgd='optimizer={kind: sgd, lr: 0.05, momentum: 0.9}' options='"lr": 0.05, "momentum": 0.9'
    smooth "$sgd" 'schedule={kind: linear, points: [[0.3, 0.2], [1.75, 1], [2.4, 0.07]]}'
    follows_torch "$options"', "points": [[0.3, 0.2], [1.75, 1], [2.4, 0.07]]' \
        '"points": [[0.3, 0.2], [1.75, 1], [2.4, 0.071]]'
    smooth "$sgd" 'schedule={kind: one_cycle}'
    follows_torch "$options"', "one_cycle": {}' '"one_cycle": {"pct_start": 0.31}'
    smooth "$sgd" 'schedule={kind: one_cycle, pct_start: 0.23, div_factor: 5, final_div_factor: 20, anneal: linear}'
    follows_torch "$options"',
        "one_cycle": {"pct_start": 0.23, "div_factor": 5, "final_div_factor": 20, "anneal_strategy": "linear"}' \
        '"one_cycle": {"pct_start": 0.23, "div_factor": 5, "final_div_factor": 20, "anneal_strategy": "cos"}'
}

@test "full batches only, as PyTorch (live)" {
    need_torch
    smooth 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' drop_last=true
    follows_torch '"lr": 0.02, "momentum": 0.9, "drop_last": true'
}

@test "gradient clipping follows PyTorch (live)" {
    need_torch
    smooth 'optimizer={kind: sgd, lr: 0.1, momentum: 0.9, clip_norm: 0.3}'
    follows_torch '"lr": 0.1, "momentum": 0.9, "clip_norm": 0.3' '"clip_norm": 0.303' '"lr": 0.1001' '"clip_norm": 1e9'
}

@test "averages of the weights, and of statistics, follow PyTorch (live)" {
    need_torch
    local keys=(model=norms.yaml 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}') options='"lr": 0.02, "momentum": 0.9'
    smooth "${keys[@]}" 'average={kind: lookahead, decay: 0.95, every: 4, ramp: 2}'
    follows_torch "$options"', "average": {"kind": "lookahead", "decay": 0.95, "every": 4, "ramp": 2}' \
        '"average": {"kind": "lookahead", "decay": 0.951, "every": 4, "ramp": 2}'
    smooth "${keys[@]}" 'average={kind: ema, decay: 0.9}'
    follows_torch "$options"', "average": {"kind": "ema", "decay": 0.9}' '"average": {"kind": "ema", "decay": 0.901}'
}

@test "label smoothing, and mixup, follow PyTorch (live)" {
    need_torch
    local sgd='optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' options='"lr": 0.02, "momentum": 0.9'
    smooth "$sgd" label_smoothing=0.2
    follows_torch "$options"', "label_smoothing": 0.2' '"label_smoothing": 0.2001'
    smooth "$sgd" label_smoothing=0.1 'mixup={alpha: 0.4}'
    follows_torch "$options"', "label_smoothing": 0.1, "classes": 10, "mixup": {"alpha": 0.4}' \
        '"classes": 10, "mixup": {"alpha": 0.41}'
}

@test "a network with branches follows PyTorch (live)" {
    need_torch
    sed 's/relu/silu/; s/max_pool/avg_pool/' "$ROOT/tests/fixtures/residual.yaml" >branches.yaml
    smooth model=branches.yaml 'optimizer={kind: sgd, lr: 0.002, momentum: 0.9, weight_decay: 0.001}'
    follows_torch '"lr": 0.002, "momentum": 0.9, "weight_decay": 0.001' '"lr": 0.002002' '"weight_decay": 0.0011'
}
