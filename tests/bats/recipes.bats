#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# All ingredients of a training together, and single ones within it, against PyTorch with the same random draws, which are
# computed in Python, by docs/formats.md.
load helpers
load training

setup_file() {
    file_data 310
}

setup() {
    begin_training
    need_torch
    need_program zstd
    PEER=$ROOT/tests/python/torch_training.py
}

# airbench94 of experiments/airbench, with fewer filters, images and steps, and at another rate: 6 steps in an epoch.
airbench94() {
    sed 's/out: 64,/out: 8,/; s/out: 256,/out: 16,/' "$ROOT/experiments/models/airbench94.yaml" >small.yaml
    "$BIN/train-single" -q --experiment "$ROOT/experiments/airbench/airbench94.yaml" --train "$train" --out run \
        --dump-order order.u32 --set dataset=synthetic --set model=./small.yaml --set global_batch=48 --set epochs=5.4 \
        --set optimizer.lr=0.1 --set seed=4
}

RECIPE='{"batch": 48, "drop_last": true, "seed": 4, "label_smoothing": 0.2,
    "lr": 0.1, "momentum": 0.85, "nesterov": true, "weight_decay": 0.0013304348,
    "one_cycle": {"pct_start": 0.23, "div_factor": 5, "final_div_factor": 2.857142857, "anneal_strategy": "linear"},
    "average": {"kind": "lookahead", "decay": 0.95, "every": 5, "ramp": 3},
    "tensors": [["whiten.weight", {"init": "whiten", "trained_epochs": 0}],
                ["whiten.bias", {"init": "zero", "trained_epochs": 3}],
                ["*conv*.weight", {"init": "dirac"}],
                ["*norm*.weight", {"trained_epochs": 0}],
                ["*norm*.bias", {"lr_factor": 64, "weight_decay": 0.000020788043}]],
    "augment": [{"horizontal_flip": {"p": 0.5, "alternate": true}},
                {"random_crop": {"padding": 2, "padding_mode": "reflect"}}]}'

# otherwise PATTERN OLD NEW: the recipe with a difference is noticed.
otherwise() {
    [[ $RECIPE == *"$2"* ]] || fail "no $2"
    run "$PYTHON" "$PEER" recipe run/model.st.zst "$train" order.u32 "${RECIPE/"$2"/"$3"}"
    [[ $status -ne 0 && $output =~ $1 ]] || fail "$2 as $3: $output"
}

# From the values of this seed no rounding decides which value of a pool is the largest.
@test "airbench94 as a whole: initial values, losses and weights at the end are those of PyTorch in double" {
    airbench94
    succeeds "$PYTHON" "$PEER" recipe run/model.st.zst "$train" order.u32 "$RECIPE"
    otherwise 'whiten.bias: off by' '"trained_epochs": 3' '"trained_epochs": 4'
}

# smooth OPTIONS KEY=VALUE...: 21 steps with these keys of the experiment, and with the same as OPTIONS of PyTorch. The
# network has no kinks, so that a small error is an error of the loss.
smooth() {
    cat >smooth.yaml <<'END'
schema: lockstep.model/1
name: smooth
input: [3, 32, 32]
layers: [conv: {out: 8, kernel: 5, stride: 2}, gelu, avg_pool: {size: 2}, flatten, dropout: {p: 0.3},
         linear: {out: 10}]
END
    write_experiment e.yaml model=smooth.yaml virtual_shards=1 global_batch=48 epochs=3 "${@:2}"
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --dump-order order.u32
    RECIPE="{\"batch\": 48, \"seed\": 11, $1}"
    succeeds "$PYTHON" "$PEER" recipe run/model.st.zst "$train" order.u32 "$RECIPE"
}

# augmented ENTRIES OPTIONS KEY=VALUE...: with these entries of `augment`.
augmented() {
    smooth "\"lr\": 0.02, \"momentum\": 0.9, \"augment\": [$1]$2" 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' \
        "augment=[$1]" "${@:3}"
}

@test "augmentation and dropout in a training: PyTorch's, with the same draws: crop, flip, affine maps, cutout" {
    augmented '{"random_crop": {"padding": 4}}, {"horizontal_flip": {"p": 0.3}},
        {"random_affine": {"degrees": 25, "translate": [0.2, 0.1], "scale": [0.8, 1.3]}}, {"cutout": {"size": 8}}' ''
    otherwise 'loss is off' '"scale": [0.8, 1.3]' '"scale": [0.8, 1.29]'
}

@test "augmentation and dropout in a training: reflected and alternating, filled with the mean, and mixup" {
    augmented '{"cutout": {"size": 9, "fill": "mean"}}, {"horizontal_flip": {"p": 0.6, "alternate": true}},
        {"random_affine": {"degrees": 0, "translate": [0.1, 0.25], "scale": [1, 1]}},
        {"random_crop": {"padding": 3, "padding_mode": "reflect"}}' \
        ', "classes": 10, "mixup": {"alpha": 0.3}' 'mixup={alpha: 0.3}'
    otherwise 'loss is off' ', "fill": "mean"' ''
}

@test "a cosine after a warm-up, and scaling of the rate by the root of the batch: PyTorch's" {
    smooth '"lr": 0.02, "momentum": 0.9, "cosine": true, "warmup_epochs": 1, "lr_scaling": {"kind": "sqrt", "base_batch": 27}' \
        'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' 'schedule={kind: cosine, warmup_epochs: 1}' \
        'lr_scaling={kind: sqrt, base_batch: 27}'
    otherwise 'step 2: the loss is off' '"base_batch": 27' '"base_batch": 28'
    otherwise 'step 10: the loss is off' '"cosine": true' '"cosine": false'
}

@test "Adam with weight decay, and a constant rate after a warm-up: PyTorch's" {
    smooth '"kind": "adam", "lr": 0.0005, "betas": [0.8, 0.98], "eps": 1e-6, "weight_decay": 0.02, "warmup_epochs": 2' \
        'optimizer={kind: adam, lr: 0.0005, betas: [0.8, 0.98], eps: 1e-6, weight_decay: 0.02}' \
        'schedule={kind: constant, warmup_epochs: 2}'
    otherwise 'the loss is off' '"adam"' '"adamw"'
}

# 310 samples in steps of 48: the last step of an epoch has 22, in shards of 6, 6, 5 and 5.
@test "batch norm over each of four shards, and over all of them: PyTorch's" {
    cat >norms.yaml <<'END'
schema: lockstep.model/1
name: norms
input: [3, 32, 32]
layers: [conv: {out: 8, kernel: 5, stride: 2, bias: false}, batch_norm: {momentum: 0.3}, gelu, avg_pool: {size: 2},
         flatten, linear: {out: 12, bias: false}, batch_norm, silu, linear: {out: 10}]
END
    local keys=(model=norms.yaml virtual_shards=4 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}')
    smooth '"lr": 0.02, "momentum": 0.9, "shards": 1' "${keys[@]}" sync_batch_norm=true
    smooth '"lr": 0.02, "momentum": 0.9, "shards": 4' "${keys[@]}"
    otherwise 'loss is off' '"shards": 4' '"shards": 3'
}
