# SPDX-License-Identifier: MIT
# Experiment files through a train tool: refusals with their exit codes, and nothing is left behind.
# tests/unit/test_experiment.c tests the meaning of each key.
# shellcheck shell=bash disable=SC2154 # output and stderr are set by helpers.bash

load helpers

setup_file() {
    [ -x "$BIN/synth-cifar" ] || return 0
    "$BIN/synth-cifar" --train 128 --test 32 --shape 3,12,12 --out "$BATS_FILE_TMPDIR/data" -q
}

setup() {
    need_tool train-single train-ddp synth-cifar
    cd "$WORK" || return 1
    data=$BATS_FILE_TMPDIR/data
    mkdir models
    small_model models/small.yaml
    cat > x.yaml <<'END'
schema: lockstep.experiment/1
name: x
dataset: synthetic
model: small
world_size: 2
virtual_shards: 4
global_batch: 32
epochs: 1
optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}
END
}

# refuses CODE PATTERN [--set …]: train-single refuses x.yaml and leaves no file.
refuses() {
    local code=$1 pattern=$2
    shift 2
    fails_with "$code" "$pattern" "$BIN/train-single" --experiment x.yaml \
        --train "$data/train.st.zst" --out out "$@" || return 1
    nothing_in out
}

@test "experiment: an unknown key names file, line, column and the nearest" {
    echo 'global_bach: 64' >> x.yaml
    refuses 3 "x.yaml:10:1: unknown key 'global_bach': did you mean 'global_batch'\?"
}

@test "experiment: PyTorch's words for keys and options are answered with ours" {
    echo 'batch_size: 64' >> x.yaml
    refuses 3 "x.yaml:10:1: unknown key 'batch_size': did you mean 'global_batch'\? It counts .* all devices together"
    sed -i 's/^batch_size.*/num_workers: 4/' x.yaml
    refuses 3 "x.yaml:10:1: unknown key 'num_workers': did you mean 'loader_workers'"
    sed -i 's/^num_workers.*/qqqq: 4/' x.yaml
    refuses 3 "x.yaml:10:1: unknown key 'qqqq': the keys are: schema, name, title"
    sed -i 's/^qqqq.*/schedule: {kind: step, step_size: 30}/' x.yaml
    refuses 3 "x.yaml:10:24: unknown key 'step_size': did you mean 'milestones'"
    sed -i '/^schedule/d; s/lr: 0.01/learning_rate: 0.01/' x.yaml
    refuses 3 "x.yaml:9:24: unknown key 'learning_rate': did you mean 'lr'"
    sed -i 's/learning_rate: 0.01/lr: 0.01/' x.yaml
    refuses 2 "unknown key 'lr': did you mean 'optimizer.lr'" --set lr=1
    refuses 2 "unknown option: '--epoch': did you mean '--set epochs=1'\?" --epoch 1
    refuses 2 "unknown option: '--batch-size=8': did you mean '--set global_batch=8'\?" --batch-size=8
    refuses 2 "unknown option: '-b': did you mean '--set global_batch=8'\?" -b 8
    refuses 2 "unknown option: '--gpu=0': did you mean '--device'\?" --gpu=0
    refuses 2 "'--resume=FILE': --resume takes no value: resume from the state in --out" --resume=FILE
    refuses 2 "'FILE': --resume takes no value: resume from the state in --out" --resume FILE
    refuses 2 "unknown key 'opt': did you mean 'optimizer'\?" --set opt=adam
    refuses 2 "unknown key 'base': it is a key of files" --set base=single
    refuses 2 "'schedule': expected a mapping, such as \{kind: cosine\}" --set schedule=cosine
    refuses 2 "'stop_at': expected a mapping, such as \{accuracy: 0.95\}" --set stop_at=0.95
    refuses 2 "'stop_at.accuracy': .* got 95; 95 % is 0.95" --set stop_at.accuracy=95
    refuses 2 "unknown option: '--opt': it is a key" --opt adam
    refuses 2 "unknown key 'augment.flip': 'augment' has no keys" --set augment.flip=true
    refuses 2 "one of sgd, adam, adamw, adadelta, got 'radam': another optimizer" --set optimizer.kind=radam
    sed -i 's/conv: {out/conv: {out_channels/' models/small.yaml
    refuses 3 "unknown key 'out_channels': did you mean 'out'"
    sed -i 's/conv: {out_channels: [0-9]*/conv: {out: 4, padding: same/' models/small.yaml
    refuses 3 "'padding': expected a number, got 'same': for a window of 3 at stride 1 that is 1"
}

@test "experiment: a missing file, broken YAML, a wrong type, a wrong schema" {
    sed -i 's/epochs: 1/epochs: one/' x.yaml
    refuses 3 "x.yaml:8:9: 'epochs': expected a number, got 'one'"
    sed -i 's/epochs: one/epochs: [1/' x.yaml
    refuses 3 "x.yaml:8:9: this '\[' is not closed by '\]'"
    sed -i '1s/experiment/model/' x.yaml
    sed -i 's/epochs: \[1/epochs: 1/' x.yaml
    refuses 3 "x.yaml:1:9: 'schema': expected lockstep.experiment/1"
    # Its other keys are not reported as unknown.
    echo 'layers: []' >>x.yaml
    refuses 3 "x.yaml:1:9: 'schema': expected lockstep.experiment/1"
    rm x.yaml
    refuses 3 "'x.yaml': No such file or directory"
}

@test "experiment: shards that do not divide the batch" {
    sed -i 's/virtual_shards: 4/virtual_shards: 6/' x.yaml
    refuses 3 "x.yaml:6:17: 'virtual_shards' is 6: it must divide 'global_batch', which is 32"
    sed -i 's/virtual_shards: 6/virtual_shards: 4/' x.yaml
    refuses 2 "--set 'global_batch=30': 'virtual_shards' is 4: it must divide" --set global_batch=30
}

@test "experiment: a world size that does not divide the shards" {
    refuses 2 "'--world-size 3': one device is one rank" --world-size 3
    fails_with 2 "'3' ranks do not divide the 4 virtual shards" "$BIN/train-ddp" --experiment x.yaml \
        --train "$data/train.st.zst" --out out --world-size 3
    nothing_in out
}

# Published values that were measured on other pictures are no reason for a warning.
@test "experiment: mean and deviation of bytes are refused, and those that are far from the data warned of, once" {
    local near far='normalize={mean: [0.00199, 0.00191, 0.00173], std: [0.00105, 0.001, 0.00108]}'
    echo 'normalize: {mean: [125.3, 123, 113.9], std: [63, 62.1, 66.7]}' >>x.yaml
    refuses 3 "x.yaml:10:20: 'normalize.mean': a mean .* at most 1, got 125.3; .* 125.3 / 255 = 0.4914"
    refuses 3 "'normalize.std': .* at most 1, got 63; .* 63 / 255 = 0.2471" --set 'normalize.mean=[0.4,0.4,0.4]'
    sed -i '$d' x.yaml
    succeeds "$BIN/train-ddp" --experiment x.yaml --train "$data/train.st.zst" --out far --set "$far"
    [ "$(grep -c "'normalize' is far from the data: channel 0 has mean 0.4.* and not 0.00199 and 0.00105" <<<"$stderr")" = 1 ] ||
        fail "$stderr"
    for near in '[0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]' '[0.1307, 0.1307, 0.1307], std: [0.3081, 0.3081, 0.3081]' \
        '[0, 0, 0], std: [1, 1, 1]' '[0.922, 0.922, 0.922], std: [0.084, 0.084, 0.084]'; do
        succeeds "$BIN/train-single" --experiment x.yaml --train "$data/train.st.zst" --out near --set "normalize={mean: $near}"
        [[ $stderr != *"far from"* ]] || fail "$stderr"
    done
}

@test "experiment: a bad --set exits 2 and is quoted" {
    refuses 2 "--set 'optimizer.lrr=1': unknown key 'optimizer.lrr': did you mean 'optimizer.lr'" \
        --set optimizer.lrr=1
    refuses 2 "--set 'epochs': expected KEY=VALUE" --set epochs
    refuses 2 "--set 'epochs=0': 'epochs': expected a number above 0" --set epochs=0
    refuses 2 "--set 'augment=\[1': value:1:1: this '\[' is not closed by '\]'" --set 'augment=[1'
}

@test "experiment: an error in the model file is reported with its line and column" {
    sed -i 's/batch_norm/bach_norm/' models/small.yaml
    refuses 3 "models/small.yaml:4:37: unknown layer 'bach_norm': did you mean 'batch_norm'"
    sed -i 's/model: small/model: smal/' x.yaml
    refuses 3 "x.yaml:4:8: 'model': there is no model 'smal': did you mean 'small'"
}

@test "experiment: --set changes the run, and the manifest records the resolved settings" {
    need_tool manifest
    succeeds "$BIN/train-single" --experiment x.yaml --train "$data/train.st.zst" --out out \
        --set optimizer.lr=0.02 --set 'title="a: b"' --set schedule.warmup_epochs=1
    succeeds "$BIN/manifest" get out/manifest.yaml parameters.optimizer.lr parameters.title \
        parameters.schedule.warmup_epochs parameters.architecture.layers.0.conv.name parameters.seed
    [ "$output" = $'0.02\na: b\n1\nconv1\n42' ]
    succeeds "$BIN/manifest" verify out/manifest.yaml
}

@test "experiment: a file with 'base' and its differences is the same run as the complete file" {
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: y' 'base: x' 'optimizer: {lr: 0.02}' >y.yaml
    succeeds "$BIN/train-single" --experiment y.yaml --print-parameters
    [[ $output != *base:* ]] || fail "$output"
    [ "$("$BIN/train-single" --experiment y.yaml --train "$data/train.st.zst" --print-key)" = \
        "$("$BIN/train-single" --experiment x.yaml --set optimizer.lr=0.02 --train "$data/train.st.zst" --print-key)" ]
    echo 'world_siez: 2' >>y.yaml
    fails_with 3 "^train-single: y.yaml:5:1: unknown key 'world_siez': did you mean 'world_size'" \
        "$BIN/train-single" --experiment y.yaml --print-parameters
    sed -i 's/^name: x/nmae: x/' x.yaml
    sed -i '$d' y.yaml
    fails_with 3 "^train-single: x.yaml:[0-9]+:1: unknown key 'nmae'" "$BIN/train-single" --experiment y.yaml --print-parameters
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: y' 'base: y' >y.yaml
    fails_with 3 "^train-single: y.yaml:3:7: 'base': 'y.yaml' is this file, or based on it" \
        "$BIN/train-single" --experiment y.yaml --print-parameters
}

@test "experiment: exceeded limits are reported with line and column of the model file" {
    sed 's/max_pool: {size: 2}/max_pool: {size: [64, 4]}/' models/small.yaml >models/pool.yaml
    refuses 3 "models/pool.yaml:4:72: 'size': expected a window of at most 255 values, got 64x4 = 256" --set model=pool
    sed 's/input: .3,/input: [17,/' models/small.yaml >models/wide.yaml
    refuses 3 "models/wide.yaml:3:9: 'input': expected at most 16 channels, got 17" --set model=wide
    sed 's/relu/ReLU/' models/small.yaml >models/torch.yaml
    refuses 3 "models/torch.yaml:4:[0-9]+: unknown layer 'ReLU': did you mean 'relu'\? The layers are: conv, linear" --set model=torch
    sed 's/linear: {out: 10}/&, softmax/' models/small.yaml >models/torch.yaml
    refuses 3 "models/torch.yaml:4:[0-9]+: unknown layer 'softmax': the loss includes it" --set model=torch
}

@test "experiment: every shipped experiment is valid" {
    local count=0 file
    while read -r file; do
        succeeds "$BIN/train-single" --experiment "$file" --print-parameters || return 1
        [[ $output == *"architecture:"* ]] || fail "$file"
        count=$((count + 1))
    done < <(grep -lr '^schema: lockstep.experiment/1' "$ROOT/experiments")
    [ "$count" -ge 21 ] || fail "$count experiments"
}
