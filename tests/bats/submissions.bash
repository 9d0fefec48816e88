# SPDX-License-Identifier: MIT
# Shared by the bats files on submissions: two small experiments that end in the same model.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for files that load this
SUBMISSION_TOOLS="pipeline manifest synth-cifar shard train-single train-dp evaluate report bench-allreduce"

# small_experiments FOLDER: one.yaml (one process) and two.yaml (two replicas), with their model.
small_experiments() {
    mkdir -p "$1"
    small_model "$1/small.yaml"
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
