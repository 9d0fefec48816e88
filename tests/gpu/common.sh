# SPDX-License-Identifier: MIT
# Shared by the scripts that check a GPU. Sourced, not run: creates $WORK, and removes it at the
# end.
#
#     BIN                    the tools
#     LOCKSTEP_CUDA_LIBRARY  the backend: ../lib/lockstep-cuda.so, relative to BIN
#     DEVICE                 which GPU: cuda:0
#     QUICK                  tiny sizes, for a dry run
#     PROGRESS               a file for `progress`; none by default
# shellcheck shell=bash

gpu_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$gpu_folder/../.." && pwd)
BIN=${BIN:-$root/build/bin}
LOCKSTEP_CUDA_LIBRARY=${LOCKSTEP_CUDA_LIBRARY:-$BIN/../lib/lockstep-cuda.so}
DEVICE=${DEVICE:-cuda:0}
QUICK=${QUICK:-}
export LC_ALL=C BIN LOCKSTEP_CUDA_LIBRARY DEVICE QUICK
WORK=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-gpu.XXXXXX")
trap 'rm -rf "$WORK"' EXIT

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# progress DONE ALL WHAT: for the one who is told that time ran out.
progress() {
    [ -z "${PROGRESS:-}" ] || echo "$1 of $2 $3" >"$PROGRESS"
}

# drawn FOLDER IMAGES MODEL: draws data for a model's input.
drawn() {
    "$BIN/synth-cifar" -q --train "$2" --test 1 --seed 3 --shape "$(sed -n 's/^input: *\[\(.*\)\].*/\1/p' "$3" | tr -d ' ')" --out "$1"
}

# trained TOOL MODEL BATCH SHARDS DATA OUT OPTION...: trains one epoch on the drawn data, on $DEVICE
# with --math fast unless an option overrides it.
trained() {
    local tool=$1 model=$2 batch=$3 shards=$4 data=$5 out=$6
    shift 6
    rm -rf "$out"
    "$BIN/$tool" -q --experiment "$root/experiments/R001/single.yaml" --set "model=$model" --set dataset=synthetic --set normalize=null --set epochs=1 \
        --set "global_batch=$batch" --set "virtual_shards=$shards" --loader-workers 0 --device "$DEVICE" --math fast "$@" \
        --train "$data/train.st.zst" --out "$out"
}

# content RUN: its model's content hash.
content() {
    "$BIN/tensor" hash "$1/model.st.zst" | cut -d ' ' -f 1
}
