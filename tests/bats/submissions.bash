# SPDX-License-Identifier: MIT
# Shared by the bats files on submissions: two small experiments that end in the same model.
# shellcheck shell=bash

SUBMISSION_TOOLS="pipeline manifest synth-cifar shard train-single train-dp evaluate report bench-allreduce"

# submission_tools_built: for setup_file, before $BIN is used.
submission_tools_built() {
    local tool
    for tool in $SUBMISSION_TOOLS; do
        [ -x "${BIN:-$BATS_TEST_DIRNAME/../../build/bin}/$tool" ] || return 1
    done
}

# small_experiments FOLDER: one.yaml (one process) and two.yaml (two replicas), with their model.
small_experiments() {
    mkdir -p "$1"
    cat >"$1/small.yaml" <<'YAML'
schema: lockstep.model/1
name: small
input: [3, 12, 12]
layers: [conv: {out: 4, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]
YAML
    small_experiment "$1" one single 1
    small_experiment "$1" two dp 2
}

# small_experiment FOLDER NAME STRATEGY WORLD_SIZE
small_experiment() {
    cat >"$1/$2.yaml" <<YAML
schema: lockstep.experiment/1
name: $2
title: "It's $2"
dataset: synthetic
model: small.yaml
strategy: $3
world_size: $4
virtual_shards: 2
global_batch: 128
epochs: 1
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
YAML
}
