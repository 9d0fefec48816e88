# SPDX-License-Identifier: MIT
# train-mp: layers cut into stages, with the shards flowing through them. same-bits.bats tests that
# its bits are those of train-single.

load helpers
load training

setup_file() {
    file_data 200 50
}

setup() {
    begin_training strategy=mp world_size=2 "$LENET_BN"
}

execution() {
    "$BIN/manifest" get out/manifest.yaml "run.execution.$1"
}

@test "--help and --version" {
    succeeds "$BIN/train-mp" --help
    [[ $output == *--world-size* ]]
    succeeds "$BIN/train-mp" --version
}

@test "the experiment sets the stages, and evaluation uses all of them" {
    echo 'stages: [fc1]' >> e.yaml
    succeeds "$BIN/train-mp" -v --experiment e.yaml --train "$train" --test "$test" --out out
    [[ $stderr == *"stage 0: layers conv1 to "* ]]
    [[ $stderr == *"stage 1: layers fc1 to fc3"* ]]
    [ "$(execution stages.1.first)" = fc1 ]
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test" --out single
    [ "$("$BIN/manifest" get out/manifest.yaml results.test_accuracy)" = \
        "$("$BIN/manifest" get single/manifest.yaml results.test_accuracy)" ]
    succeeds "$BIN/manifest" diff out/manifest.yaml single/manifest.yaml
}

@test "without stages: equal parts of the counted work" {
    succeeds "$BIN/train-mp" -q --experiment e.yaml --train "$train" --out out
    [ "$(execution stages.1.first)" = conv2 ]
    succeeds "$BIN/train-mp" -q --experiment e.yaml --train "$train" --out out --world-size 5
    [ "$(execution stages.4.first)" = fc3 ]
}

@test "the bubble, measured and as (S-1)/(M+S-1), and the bytes between stages" {
    succeeds "$BIN/train-mp" -q --experiment e.yaml --train "$train" --out out
    [ "$(execution bubble_predicted)" = 0.2 ] # two stages, four shards
    awk -v v="$(execution bubble_measured)" 'BEGIN { exit !(v > 0 && v < 1) }'
    # conv1's unit ends in 6×14×14 features: activations and gradients in groups of 16. In the first
    # two steps each of the four shards has 18 samples, which are two groups, and in the last one
    # 14.
    [ "$(execution bytes_per_step)" -eq $((2 * (8 + 8 + 4) * 6 * 14 * 14 * 16 * 4 / 3)) ]
    # Half of that is activations, sent by the first stage; half is their gradients.
    for stage in 0 1; do
        [ "$(execution stages.$stage.bytes_sent_per_step)" -eq $(((8 + 8 + 4) * 6 * 14 * 14 * 16 * 4 / 3)) ]
    done
    [ "$(execution stages.0.last) $(execution stages.1.last)" = "pool1 fc3" ]
    [ "$(execution micro_batches)" = 4 ]
    # The bubble is the stages' mean waiting time.
    awk -v a="$(execution stages.0.waiting)" -v b="$(execution stages.1.waiting)" -v bubble="$(execution bubble_measured)" \
        'BEGIN { d = (a + b) / 2 - bubble; exit !(d < 1e-9 && d > -1e-9) }' || fail "the bubble differs from the waiting time of the stages"
}

@test "a stage in the middle sends both ways" {
    succeeds "$BIN/train-mp" -q --experiment e.yaml --train "$train" --out out --world-size 3
    local down up
    down=$(execution stages.0.bytes_sent_per_step)
    up=$(execution stages.2.bytes_sent_per_step)
    [ "$(execution stages.1.bytes_sent_per_step)" -eq $((down + up)) ]
}

@test "one shard is plain model parallelism" {
    write_experiment e.yaml strategy=mp world_size=2 virtual_shards=1 "$LENET_BN"
    succeeds "$BIN/train-mp" -q --experiment e.yaml --train "$train" --out out
    [ "$(execution bubble_predicted)" = 0.5 ]
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out single
    same_model "$(content single/model.st.zst)" out "two stages, one shard"
}

@test "impossible cuts are refused, with line and column if they are in a file, and nothing is left" {
    fails_with 2 "'world_size' is 9: model 'lenet-bn' can be cut into at most 5 stages" \
        "$BIN/train-mp" --experiment e.yaml --train "$train" --out out --set virtual_shards=9 --set global_batch=72 --set world_size=9
    echo 'stages: [relu1]' >> e.yaml
    fails_with 3 "^train-mp: e.yaml:[0-9]+:10: 'stages': 'relu1': a stage begins with a convolution or a linear layer" \
        "$BIN/train-mp" --experiment e.yaml --train "$train" --out out
    sed -i '$d' e.yaml
    fails_with 2 "model 'lenet-bn' has no layer 'conv9'" "$BIN/train-mp" --experiment e.yaml --train "$train" --out out --set 'stages=[conv9]'
    fails_with 2 "too few convolutions and linear layers for 6 stages" "$BIN/train-mp" --experiment e.yaml --train "$train" --out out --world-size 6
    [ ! -e out/manifest.yaml ]
}
