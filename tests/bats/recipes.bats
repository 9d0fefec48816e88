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
}

# airbench94 of experiments/airbench, with fewer filters, images and steps, at another rate, and with means in place of
# its max pools, which are kinks: 3 steps in an epoch.
airbench94() {
    make_data few 112
    train=few/train.st.zst
    sed 's/out: 64,/out: 8,/; s/out: 256,/out: 16,/; s/max_pool/avg_pool/' "$ROOT/experiments/models/airbench94.yaml" >small.yaml
    "$BIN/train-single" -q --experiment "$ROOT/experiments/airbench/airbench94.yaml" --train "$train" --out run \
        --dump-order order.u32 --set dataset=synthetic --set model=./small.yaml --set global_batch=32 --set epochs=5.4 \
        --set optimizer.lr=0.1 --set seed=4
}

TENSORS='[["whiten.weight", {"init": "whiten", "trained_epochs": 0}], ["whiten.bias", {"init": "zero", "trained_epochs": 3}],
    ["*conv*.weight", {"init": "dirac"}], ["*norm*.weight", {"trained_epochs": 0}],
    ["*norm*.bias", {"lr_factor": 64, "weight_decay": 0.000020788043}]]'

@test "airbench94 as a whole: initial values, losses and weights at the end are PyTorch's" {
    airbench94
    follows_torch '"batch": 32, "drop_last": true, "seed": 4, "label_smoothing": 0.2,
        "lr": 0.1, "momentum": 0.85, "nesterov": true, "weight_decay": 0.0013304348,
        "one_cycle": {"pct_start": 0.23, "div_factor": 5, "final_div_factor": 2.857142857, "anneal_strategy": "linear"},
        "average": {"kind": "lookahead", "decay": 0.95, "every": 5, "ramp": 3},
        "augment": [{"horizontal_flip": {"p": 0.5, "alternate": true}},
                    {"random_crop": {"padding": 2, "padding_mode": "reflect"}}], "tensors": '"$TENSORS" \
        "\"tensors\": ${TENSORS/': 3}'/': 4}'}"
    [[ $output == *'"trained_epochs": 4'*whiten.bias\ is\ off* ]] || fail "$output"
}

# augmented ENTRIES OTHER OPTIONS KEY=VALUE...: with these entries of `augment`, and not with the OTHER ones.
augmented() {
    smooth 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' "augment=[$1]" "${@:4}"
    follows_torch "\"lr\": 0.02, \"momentum\": 0.9, \"augment\": [$1]$3" "\"augment\": [$2]"
}

@test "augmentation and dropout in a training: PyTorch's, with the same draws: crop, flip, affine maps, cutout" {
    local entries='{"random_crop": {"padding": 4}}, {"horizontal_flip": {"p": 0.3}},
        {"random_affine": {"degrees": 25, "translate": [0.2, 0.1], "scale": [0.8, 1.3]}}, {"cutout": {"size": 8}}'
    augmented "$entries" "${entries/1.3/1.29}" ''
}

@test "augmentation and dropout in a training: resized crops" {
    local entries='{"horizontal_flip": {"p": 0.5}}, {"random_resized_crop": {"scale": [0.2, 1], "ratio": [0.5, 2.5]}},
        {"cutout": {"size": 6}}'
    augmented "$entries" "${entries/0.2/0.21}" ''
}

@test "augmentation and dropout in a training: colours" {
    local entries='{"random_crop": {"padding": 4}}, {"color_jitter": {"brightness": 0.4, "contrast": 1.3, "saturation": 0.6, "hue": 0.2}}'
    augmented "$entries" "${entries/1.3/1.31}" ''
}

@test "augmentation and dropout in a training: reflected and alternating, filled with the mean, and mixup" {
    local entries='{"cutout": {"size": 9, "fill": "mean"}}, {"horizontal_flip": {"p": 0.6, "alternate": true}},
        {"random_affine": {"degrees": 0, "translate": [0.1, 0.25], "scale": [1, 1]}},
        {"random_crop": {"padding": 3, "padding_mode": "reflect"}}'
    augmented "$entries" "${entries/', "fill": "mean"'/}" ', "classes": 10, "mixup": {"alpha": 0.3}' 'mixup={alpha: 0.3}'
}

@test "a cosine after a warm-up, and scaling of the rate by the root of the batch: PyTorch's" {
    smooth 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' 'schedule={kind: cosine, warmup_epochs: 1}' \
        'lr_scaling={kind: sqrt, base_batch: 27}'
    follows_torch '"lr": 0.02, "momentum": 0.9, "cosine": true, "warmup_epochs": 1, "lr_scaling": {"kind": "sqrt", "base_batch": 27}' \
        '"lr_scaling": {"kind": "sqrt", "base_batch": 28}' '"cosine": false' '"lr": 0.02002'
    [[ $output == *28*'step 2: the loss is off'*false*'step 10: the loss is off'* ]] || fail "$output"
}

@test "a cosine that falls once an epoch: PyTorch's" {
    smooth 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' 'schedule={kind: cosine, by_epoch: true}'
    follows_torch '"lr": 0.02, "momentum": 0.9, "cosine": "by epoch"' '"cosine": true'
}

@test "a rate that falls on a plateau of the loss: PyTorch's" {
    smooth 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}' epochs=5 \
        'schedule={kind: plateau, factor: 0.3, patience: 0, threshold: 0.2, cooldown: 1, min_lr: 0.004}'
    local plateau='"factor": 0.3, "patience": 0, "threshold": 0.2, "cooldown": 1, "min_lr": 0.004'
    follows_torch "\"lr\": 0.02, \"momentum\": 0.9, \"plateau\": {$plateau}" "\"plateau\": {${plateau/0.3/0.31}}" \
        "\"plateau\": {${plateau/': 1'/': 0'}}" "\"plateau\": {${plateau/0.004/0.003}}"
}

@test "Adam with weight decay, and a constant rate after a warm-up: PyTorch's" {
    smooth 'optimizer={kind: adam, lr: 0.0005, betas: [0.8, 0.98], eps: 1e-6, weight_decay: 0.02}' \
        'schedule={kind: constant, warmup_epochs: 2}'
    follows_torch '"kind": "adam", "lr": 0.0005, "betas": [0.8, 0.98], "eps": 1e-6, "weight_decay": 0.02, "warmup_epochs": 2' \
        '"kind": "adamw"' '"lr": 0.0005005' '"eps": 2e-6' '"betas": [0.8, 0.981]' \
        '"tensors": [["*.bias", {"weight_decay": 0}]]'
}

@test "Adadelta with weight decay: PyTorch's" {
    smooth 'optimizer={kind: adadelta, lr: 0.5, rho: 0.8, eps: 1e-5, weight_decay: 0.02}'
    follows_torch '"kind": "adadelta", "lr": 0.5, "rho": 0.8, "eps": 1e-5, "weight_decay": 0.02' \
        '"lr": 0.5005' '"rho": 0.801' '"eps": 2e-5' '"weight_decay": 0.03'
}

# 310 samples in steps of 48: the last step of an epoch has 22, in shards of 6, 6, 5 and 5.
@test "batch norm over each of four shards, and over all of them: PyTorch's" {
    local keys=(model=norms.yaml virtual_shards=4 'optimizer={kind: sgd, lr: 0.02, momentum: 0.9}')
    smooth "${keys[@]}" sync_batch_norm=true
    follows_torch '"lr": 0.02, "momentum": 0.9, "shards": 1' '"shards": 2'
    smooth "${keys[@]}"
    follows_torch '"lr": 0.02, "momentum": 0.9, "shards": 4' '"shards": 3'
}
