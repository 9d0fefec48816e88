# SPDX-License-Identifier: MIT
# Augmentation and dropout: random, but the same bits with every tool and execution.

load helpers
load training

AUGMENT='[{random_crop: {padding: 4}}, {horizontal_flip: {p: 0.5}}, {random_affine: {degrees: 10, translate: [0.1, 0.1], scale: [0.9, 1.1]}}]'

setup_file() {
    file_data 610
    file_shards
    cat >"$BATS_FILE_TMPDIR/net.yaml" <<'END'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {out: 6, kernel: 5}, batch_norm, relu, max_pool: {size: 2}, dropout: {p: 0.1}, conv: {out: 8, kernel: 3},
         relu, avg_pool: {size: 2}, flatten, linear: {out: 32}, relu, dropout: {p: 0.5}, linear: {out: 10}]
END
}

setup() {
    begin_training "model=$BATS_FILE_TMPDIR/net.yaml" "augment=$AUGMENT"
}

# train TOOL OUT OPTION...: trains e.yaml.
train() {
    local tool=$1 out=$2
    shift 2
    succeeds "$BIN/$tool" -q --experiment e.yaml --out "$out" "$@"
}

# expect: trains the model that all others are compared with.
expect() {
    train train-single reference --train "$train" --threads 1 --loader-workers 0
    expected=$(content reference/model.st.zst)
}

@test "threads, loader workers and instruction sets" {
    local workers isa
    expect
    for workers in 0 1 3 8; do
        rm -rf run
        train train-single run --train "$train" --threads 2 --loader-workers "$workers"
        same_model "$expected" run "$workers workers"
    done
    for isa in baseline v3 v4; do
        rm -rf run
        LOCKSTEP_ISA=$isa run "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run
        [ "$status" -ne 2 ] || continue # not supported by this processor
        same_model "$expected" run "$isa"
    done
}

@test "resized crops and colours: instruction sets, loader workers and tools" {
    local isa
    write_experiment e.yaml "model=$BATS_FILE_TMPDIR/net.yaml" \
        'augment=[horizontal_flip, random_resized_crop: {scale: [0.2, 1]}, cutout: {size: 6}, color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}]'
    expect
    for isa in baseline v3 v4; do
        rm -rf run
        LOCKSTEP_ISA=$isa run "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --loader-workers 2
        [ "$status" -ne 2 ] || continue # not supported by this processor
        same_model "$expected" run "$isa"
    done
    rm -rf run
    train train-ddp run --train "$data/shards" --world-size 2
    same_model "$expected" run "train-ddp"
}

@test "every train tool, world sizes, sharded or not" {
    local world tool
    expect
    for world in 1 2 4; do
        for tool in train-ddp train-dp train-mp; do
            [ -x "$BIN/$tool" ] || continue
            rm -rf run
            train "$tool" run --train "$train" --world-size "$world" --loader-workers $((world / 2))
            same_model "$expected" run "$tool, $world"
        done
    done
    rm -rf run
    train train-ddp run --train "$data/shards" --world-size 2 --loader-workers 2
    same_model "$expected" run "shards"
}

@test "stopped and resumed by another tool, with other loader workers" {
    local stop
    expect
    for stop in 1 5 9 10 17; do
        rm -rf run
        train train-ddp run --train "$train" --world-size 2 --loader-workers 1 --stop-after-steps "$stop"
        unfinished run
        train train-single run --train "$data/shards" --loader-workers 3 --resume
        same_model "$expected" run "stopped after $stop"
    done
}

@test "every augmentation option, the dropout rate and the seed change the model" {
    local set hashes
    expect
    hashes=$expected
    for set in "augment=[]" "augment=[{random_crop: {padding: 4}}]" "augment=[{horizontal_flip: {p: 0.5}}]" \
        "augment=[{random_affine: {degrees: 10}}]" "augment=[{horizontal_flip: {p: 0}}]" "seed=12" \
        "augment=[{random_crop: {padding: 4, padding_mode: reflect}}]" "augment=[{cutout: {size: 8}}]" \
        "augment=[{horizontal_flip: {p: 0.5, alternate: true}}]" "augment=[{cutout: {size: 8, fill: mean}}]" \
        "augment=[random_resized_crop]" "augment=[{random_resized_crop: {scale: [0.5, 1]}}]" \
        "augment=[{random_resized_crop: {ratio: [1, 1]}}]" "augment=[{color_jitter: {brightness: 0.2}}]" \
        "augment=[{color_jitter: {contrast: 0.2}}]" "augment=[{color_jitter: {saturation: 0.2}}]" \
        "augment=[{color_jitter: {hue: 0.2}}]" "augment=[{color_jitter: {hue: 0}}]"; do
        rm -rf run
        train train-single run --train "$train" --set "$set"
        hashes+=$'\n'$(content run/model.st.zst)
    done
    # A flip with probability 0, and colours without a range, change nothing: three are equal among the nineteen.
    [ "$(sort -u <<<"$hashes" | wc -l)" -eq 17 ] || fail "$hashes"
    sed -i 's/p: 0.5}, linear/p: 0.4}, linear/' "$data/net.yaml"
    rm -rf run
    train train-single run --train "$train"
    sed -i 's/p: 0.4}, linear/p: 0.5}, linear/' "$data/net.yaml"
    [ "$(content run/model.st.zst)" != "$expected" ] || fail "the dropout rate has no effect"
}

@test "test images are not augmented, and evaluation applies no dropout" {
    expect
    train train-single run --train "$train" --test "$train" --loader-workers 2
    same_model "$expected" run "with test images"
    succeeds "$BIN/evaluate" -q --model run/model.st.zst --data "$train" --out once
    succeeds "$BIN/evaluate" -q --model run/model.st.zst --data "$train" --out again
    [ "$(content once/predictions.st.zst)" = "$(content again/predictions.st.zst)" ]
    [ "$("$BIN/manifest" get once/manifest.yaml results.accuracy)" = \
        "$("$BIN/manifest" get run/manifest.yaml results.test_accuracy)" ]
}

@test "a state cannot be resumed with a different augmentation" {
    train train-single run --train "$train" --stop-after-steps 3
    fails_with 3 "'augment'" "$BIN/train-single" --experiment e.yaml --train "$train" --out run --resume \
        --set 'augment=[]'
    fails_with 2 "unknown augmentation 'horizontal_flop': did you mean 'horizontal_flip'" "$BIN/train-single" \
        --experiment e.yaml --train "$train" --out other --set 'augment=[{horizontal_flop: {p: 1}}]'
    nothing_in other
}
