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

# shellcheck disable=SC2034
NAME=submission-one-two

# file_submission: for setup_file: both experiments, packed with their states, in $NAME.tar.gz and in
# the folder $NAME. begin_verifying: for setup: a copy of the folder in $WORK; the archive is $ARCHIVE,
# the runs of both experiments are $one and $two.
file_submission() {
    # shellcheck disable=SC2086
    are_built $SUBMISSION_TOOLS || return 0
    export TIME=0 FILES=$BATS_FILE_TMPDIR/files
    small_experiments "$FILES"
    cd "$BATS_FILE_TMPDIR" || return 1
    pack artifacts STATES=4 "$FILES/one.yaml" "$FILES/two.yaml" >log 2>&1 || cat log
    mv artifacts/$NAME.tar.gz . || return 1
    tar xzf $NAME.tar.gz
}

# pack ARTIFACTS WORD...: make submission, quietly.
pack() {
    local artifacts=$1
    shift
    measured "$artifacts"
    "$BIN/pipeline" submission ARTIFACTS="$artifacts" "$@"
}

begin_verifying() {
    # shellcheck disable=SC2086
    need_tool $SUBMISSION_TOOLS
    ARCHIVE=$BATS_FILE_TMPDIR/$NAME.tar.gz
    [ -s "$ARCHIVE" ] || fail "$(cat "$BATS_FILE_TMPDIR/log")"
    cp -r "$BATS_FILE_TMPDIR/$NAME" "$WORK/"
    cd "$WORK" || return
    local keys
    keys=$("$BIN/manifest" get "$NAME/plan.yaml" runs.0.keys.0 runs.1.keys.0)
    # shellcheck disable=SC2034
    one=$NAME/runs/${keys:0:12}/1
    two=$(tail -n 1 <<<"$keys")
    two=$NAME/runs/${two:0:12}/1
}

# repack: the changed folder, as an archive of that name.
repack() {
    tar czf "$NAME.tar.gz" "$NAME"
}
