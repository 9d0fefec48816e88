#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Settings of single tensors: initial values, factors of the rate, decay, epochs of training.
load helpers
load training

setup_file() {
    file_data 320
}

setup() {
    begin_training
    PEER=$ROOT/tests/python/torch_tensors.py
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {out: 24, kernel: 2, stride: 2, name: first}, gelu, avg_pool: {size: 3}, batch_norm: {name: norm1},
         conv: {out: 32, kernel: 3, padding: 1, bias: false}, batch_norm: {name: norm2}, gelu, avg_pool: {size: 2},
         flatten, linear: {out: 64}, silu, linear: {out: 10}]
END
}

FROZEN='tensors={"*": {trained_epochs: 0}}'

# train OUT KEY=VALUE...: trains net.yaml.
train() {
    local out=$1
    shift
    write_experiment e.yaml model=net.yaml virtual_shards=1 global_batch=64 epochs=5 "$@"
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out "$out"
}

# compared KIND ARGUMENTS TENSORS OTHER...: training with these settings, each in JSON, follows PyTorch's (follows_torch).
compared() {
    local tensors
    tensors=$("$PYTHON" -c 'import json, sys
print("{" + ", ".join(json.dumps(p) + ": " + json.dumps(s) for p, s in json.loads(sys.argv[1])) + "}")' "$3")
    smooth model=net.yaml "optimizer={\"kind\": $1, $2}" "tensors=$tensors"
    follows_torch "\"kind\": $1, $2, \"tensors\": $3" "${@:4}"
}

SETTINGS='[["*norm*.bias", {"lr_factor": 8, "weight_decay": 0.0003}], ["first.weight", {"trained_epochs": 0}],
         ["first.bias", {"trained_epochs": 3, "lr_factor": 2}], ["fc1.*", {"lr_factor": 0.5, "weight_decay": 0}],
         ["fc1.weight", {"lr_factor": 0.25}], ["conv2.*", {"weight_decay": 0.02}], ["norm2.weight", {"trained_epochs": 2}]]'

FREEZING='[["first.*", {"trained_epochs": 0}], ["norm1.weight", {"trained_epochs": 0}], ["conv2.weight", {"trained_epochs": 2}],
           ["fc2.bias", {"trained_epochs": 1}]]'

@test "groups of tensors follow PyTorch: SGD with Nesterov momentum (live)" {
    need_torch
    compared '"sgd"' '"lr": 0.004, "momentum": 0.9, "nesterov": true, "weight_decay": 0.005' "$SETTINGS" \
        '"lr": 0.004004' "\"tensors\": ${SETTINGS/0.0003/0.0004}" "\"tensors\": ${SETTINGS/': 0.25'/': 0.2501'}"
}

@test "groups of tensors follow PyTorch: AdamW (live)" {
    need_torch
    compared '"adamw"' '"lr": 0.0005, "betas": [0.9, 0.99], "eps": 1e-6, "weight_decay": 0.05' "$SETTINGS" \
        '"lr": 0.0005005' '"eps": 2e-6' "\"tensors\": ${SETTINGS/0.0003/0.01}" "\"tensors\": ${SETTINGS/': 3,'/': 2,'}"
}

RELEASED='[["first.*", {"frozen_epochs": 2}], ["norm2.*", {"frozen_epochs": 1, "trained_epochs": 3, "lr_factor": 2}],
          ["conv2.weight", {"frozen_epochs": 1, "weight_decay": 0.02}]]'

@test "tensors that are frozen in the first epochs follow PyTorch, with SGD and Adam (live)" {
    need_torch
    compared '"sgd"' '"lr": 0.004, "momentum": 0.9, "weight_decay": 0.005' "$RELEASED" \
        "\"tensors\": ${RELEASED/'"frozen_epochs": 2'/'"frozen_epochs": 1'}"
    compared '"adam"' '"lr": 0.0005, "betas": [0.9, 0.99], "eps": 1e-6' "$RELEASED" \
        "\"tensors\": ${RELEASED/'"frozen_epochs": 2'/'"frozen_epochs": 1'}"
}

# Without the frozen tensors the norm is smaller, from the start and after an epoch.
@test "the norm of a clipped gradient is that of the tensors that are trained, as in PyTorch (live)" {
    need_torch
    compared '"sgd"' '"lr": 0.01, "momentum": 0.9, "clip_norm": 0.4' "$FREEZING" '"clip_norm": 0.404' \
        "\"tensors\": ${FREEZING/'"trained_epochs": 1'/'"trained_epochs": 2'}"
}

# Every kind, with enough values for their moments: the weights of fc1 are 24,000.
@test "initial values: PyTorch's distributions, Dirac's filters, whitening (live)" {
    need_torch
    train default "$FROZEN"
    local kind
    for kind in kaiming_normal kaiming_uniform xavier_uniform; do
        train "$kind" 'tensors={"*": {trained_epochs: 0}, first.weight: {init: whiten}, conv2.weight: {init: dirac},
            fc1.weight: {init: '"$kind"'}, norm1.bias: {init: one}, "norm2.*": {init: zero}, norm2.bias: {init: default}}'
        succeeds with_torch "$PEER" "$kind/model.st.zst" default/model.st.zst "$train" \
            '[["first.weight", "whiten"], ["conv2.weight", "dirac"], ["fc1.weight", "'"$kind"'"], ["norm1.bias", "one"],
              ["norm2.weight", "zero"], ["norm2.bias", "default"], ["fc2.weight", "default"], ["fc1.bias", "default"]]' 11
    done
    # Fewer outputs than channels, and fewer filters than there are eigenvectors.
    sed -i 's/out: 24, kernel: 2/out: 40, kernel: 3/; s/out: 32, kernel: 3/out: 20, kernel: [2, 3]/' net.yaml
    train default "$FROZEN"
    train few 'tensors={"*": {trained_epochs: 0}, first.weight: {init: whiten}, conv2.weight: {init: dirac}}'
    succeeds with_torch "$PEER" few/model.st.zst default/model.st.zst "$train" \
        '[["first.weight", "whiten"], ["conv2.weight", "dirac"]]' 11
}

# The images of the smallest ids decide, in any file and at any place.
@test "whitening takes 5000 images, the same from shards and in any strategy" {
    local settings='tensors={first.weight: {init: whiten, trained_epochs: 0}}'
    "$BIN/synth-cifar" -q --train 5600 --test 10 --seed 3 --out many
    "$BIN/shard" -q --shards 4 --in many/train.st.zst --out shards
    write_experiment e.yaml model=net.yaml "$settings"
    whitened() {
        rm -rf run
        "$BIN/$1" -q --experiment e.yaml --train "$2" --out run --stop-after-steps 1 "${@:3}"
        "$BIN/tensor" cat run/state.st.zst model.first.weight | sha256sum
    }
    local expected
    expected=$(whitened train-single many/train.st.zst)
    [ "$(whitened train-single shards)" = "$expected" ]
    [ "$(whitened train-ddp shards --world-size 4)" = "$expected" ]
    [ "$(whitened train-mp many/train.st.zst --world-size 2)" = "$expected" ]
    rm -rf run
    "$BIN/train-single" -q --experiment e.yaml --train shards --out run --set epochs=1 \
        --set 'tensors={"*": {trained_epochs: 0}, first.weight: {init: whiten}}'
    need_torch
    succeeds with_torch "$PEER" run/model.st.zst run/model.st.zst many/train.st.zst '[["first.weight", "whiten"]]' 11
}

@test "a pattern that matches nothing, and values that do not suit: refused before anything is written" {
    write_experiment e.yaml model=net.yaml 'tensors={frist.weight: {init: whiten}}'
    local go=("$BIN/train-single" -q --experiment e.yaml --train "$train" --out run)
    fails_with 3 "no trained tensor of model 'net' matches 'frist.weight': did you mean 'first.weight'" "${go[@]}"
    fails_with 2 "'norm1.running_mean' is not trained" "${go[@]}" --set 'tensors={norm1.running_mean: {init: one}}'
    fails_with 2 "'dirac' cannot be for 'fc1.weight'" "${go[@]}" --set 'tensors={"*.weight": {init: dirac}, "norm*": {init: one}}'
    fails_with 2 "unknown key 'tensor': did you mean 'tensors'" "${go[@]}" --set 'tensor={}'
    nothing_in run
}

@test "--init gives all values, with a message; the other settings apply" {
    train initial "$FROZEN"
    write_experiment e.yaml model=net.yaml 'tensors={first.weight: {init: whiten, trained_epochs: 0}}'
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --out run --init initial/model.st.zst
    [[ $stderr == *"'initial/model.st.zst' gives all initial values: 'init' of 'tensors' has no effect"* ]] || fail "$stderr"
    cmp <("$BIN/tensor" cat run/model.st.zst first.weight) <("$BIN/tensor" cat initial/model.st.zst first.weight)
    [ "$("$BIN/tensor" cat run/model.st.zst first.bias | sha256sum)" != \
        "$("$BIN/tensor" cat initial/model.st.zst first.bias | sha256sum)" ]
    write_experiment e.yaml model=net.yaml 'tensors={first.weight: {trained_epochs: 0}}'
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --out run --init initial/model.st.zst
    [[ $stderr != *"no effect"* ]] || fail "$stderr"
}

@test "a run has one key; another order of patterns is another experiment" {
    local order='tensors={first.*: {lr_factor: 2}, "*.bias": {lr_factor: 0.5}}'
    write_experiment e.yaml model=net.yaml "$order"
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run
    succeeds "$BIN/manifest" verify run/manifest.yaml
    [ "$("$BIN/train-single" --experiment e.yaml --train "$train" --print-key)" = "$("$BIN/manifest" get run/manifest.yaml key)" ]
    write_experiment e.yaml model=net.yaml 'tensors={"*.bias": {lr_factor: 0.5}, first.*: {lr_factor: 2}}'
    [ "$("$BIN/train-single" --experiment e.yaml --train "$train" --print-key)" != "$("$BIN/manifest" get run/manifest.yaml key)" ]
    fails_with 3 "it is from a run with a different 'tensors'" "$BIN/train-single" -q --experiment e.yaml --train "$train" \
        --out run --resume
    # The resolved experiment is an experiment.
    write_experiment e.yaml model=net.yaml "$order"
    "$BIN/train-single" --experiment e.yaml --print-parameters | sed '/^architecture:/,$d; s|^model: .*|model: ./net.yaml|' >resolved.yaml
    grep -qF -- "- {first.*: {lr_factor: 2}}" resolved.yaml || fail "$(cat resolved.yaml)"
    [ "$("$BIN/train-single" --experiment resolved.yaml --train "$train" --print-key)" = "$("$BIN/manifest" get run/manifest.yaml key)" ]
}
