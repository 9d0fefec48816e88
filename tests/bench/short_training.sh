# SPDX-License-Identifier: MIT
# Trainings of a few steps on an emulated GPU, for scripts that look at one step. It is sourced from
# the root of the checkout. BIN: the tools. BATCH: samples of a step (64). MODELS: names in
# experiments/models (lenet-bn). SHARDS: virtual ones of the batch (4).
# shellcheck shell=bash
: "${BATCH:=64}" "${MODELS:=lenet-bn}" "${SHARDS:=4}"
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# prepare MODEL: makes data and an experiment.
prepare() {
    rm -rf "$work/data"
    "$BIN/synth-cifar" -q --train $((4 * BATCH)) --test 16 --seed 1 --out "$work/data"
    cat >"$work/e.yaml" <<END
schema: lockstep.experiment/1
name: short
dataset: synthetic
model: $PWD/experiments/models/$1.yaml
strategy: single
world_size: 1
virtual_shards: $SHARDS
global_batch: $BATCH
epochs: 1
seed: 1
optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}
END
}

# train MATH STEPS
train() {
    "$BIN/train-single" -q --experiment "$work/e.yaml" --train "$work/data/train.st.zst" --device cuda \
        --math "$1" --stop-after-steps "$2" --out "$work/run" >"$work/said" 2>&1 || [ $? = 5 ] ||
        { cat "$work/said" >&2; exit 1; }
    rm -rf "$work/run"
}

# kernels MATH STEPS: lists those of a training of so many steps (tests/emulation/counts.cc).
kernels() {
    LOCKSTEP_EMULATED_KERNELS=$work/list train "$1" "$2"
    cat "$work/list"
    rm "$work/list"
}

# The last step of a training of three: what one of two has not. No kernel runs after the last step.
kernels_of_step() {
    local before all
    before=$(kernels "$1" 2 | wc -l)
    kernels "$1" 3 >"$work/all"
    all=$(wc -l <"$work/all")
    tail -n $((all - before)) "$work/all"
}
