# SPDX-License-Identifier: MIT
# Shared by the bench scripts. Sourced, not run.
#
# Environment, set by tests/bench/run and tests/bench/growth:
#     BENCH      folder for data, models, programs and runs
#     BIN        the tools;  PYTHON, CC: as in the Makefile
#     CONVOLUTION    the program of convolution.c; needed for rows that measure convolutions
#     TORCH_PYTHON   the Python with PyPI's PyTorch; empty: none
#     QUICK      1: tiny sizes, to check that everything works; the figures mean nothing
#     IMAGES     number of drawn training images (50,000; QUICK: 2,560)
#     CIFAR10_FROM, MNIST_FROM
#                archive and folder of real data, used instead of drawn images if given;
#                QUICK ignores them
#
# A script in tests/bench/measure/ takes KEY=VALUE arguments, measures one thing once, and prints
# one line:
#     VALUE KIB [NOTE]
# the figure, the largest resident set of any of its processes, and a note for the table's reader.
# Exit code 77: it cannot be measured here; the last line of standard error says why.
# shellcheck shell=bash

bench_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench_folder/../.." && pwd)
BIN=${BIN:-$root/build/bin}
PYTHON=${PYTHON:-/usr/bin/python3}
TORCH_PYTHON=${TORCH_PYTHON:-}
CC=${CC:-cc}
BENCH=${BENCH:?a folder to work in: BENCH=FOLDER}
QUICK=${QUICK:-}
[ "$QUICK" != 0 ] || QUICK=
IMAGES=${IMAGES:-$([ -n "$QUICK" ] && echo 2560 || echo 50000)}
TEST_IMAGES=$([ -n "$QUICK" ] && echo 512 || echo 10000)
SKIPPED=77
export LC_ALL=C BIN PYTHON TORCH_PYTHON CC QUICK IMAGES

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

skip() {
    printf '%s\n' "$*" >&2
    exit "$SKIPPED"
}

# read_arguments KEY=VALUE...: into the array `arg`; a later value replaces an earlier one.
declare -A arg=()
read_arguments() {
    local word
    for word; do
        [[ $word == *=* ]] || fail "'$word' is not KEY=VALUE"
        # shellcheck disable=SC2034 # for scripts that source this
        arg[${word%%=*}]=${word#*=}
    done
}

# cpu_has FLAG: a flag as /proc/cpuinfo spells it.
cpu_has() {
    grep -qw -m 1 "$1" /proc/cpuinfo 2>/dev/null
}

# program NAME [FLAG...]: the path of tests/bench/NAME.c's program, compiled on first use. The archive
# of tests/gpu/pack has it beside the tests.
program() {
    local name=$1 path=$BIN/../obj/release/tests/bench/$1
    if [ $# -eq 1 ] && [ -x "$path" ]; then
        echo "$path"
        return
    fi
    path=$BENCH/programs/$(printf '%s' "$@" | tr -c 'A-Za-z0-9_' -)
    shift
    if [ ! -x "$path" ]; then
        mkdir -p "$BENCH/programs"
        # shellcheck disable=SC2086 # CC may be a command with arguments
        $CC -O3 -pthread -D_GNU_SOURCE -ffp-contract=fast "$@" "$bench_folder/$name.c" -o "$path.new" >&2 ||
            fail "cannot compile $name.c"
        mv "$path.new" "$path"
    fi
    echo "$path"
}

# usage COMMAND...: runs it; sets $seconds to its wall time and $kib to its largest resident set.
# Its standard output goes to $BENCH/output. Returns the command's exit code.
usage() {
    local runner code=0
    runner=$(program usage) || exit
    "$runner" "$BENCH/usage" "$@" >"$BENCH/output" || code=$?
    [ "$code" -eq 0 ] || return "$code"
    # shellcheck disable=SC2034 # for callers
    read -r seconds kib <"$BENCH/usage"
}

# torch_version PYTHON: of its PyTorch, without the import, which takes a second.
torch_version() {
    "$1" -c 'import os, runpy; from importlib.util import find_spec
print(runpy.run_path(os.path.join(find_spec("torch").submodule_search_locations[0], "version.py"))["__version__"])'
}

# data KIND: the folder of the data of that kind, cifar or mnist, created on first use.
data() {
    local kind=$1 from='' tool folder=$BENCH/data/$1
    if [ ! -e "$folder/manifest.yaml" ]; then
        case $kind in
        cifar) from=${CIFAR10_FROM:-} tool=fetch-cifar ;;
        mnist) from=${MNIST_FROM:-} tool=fetch-mnist ;;
        *) fail "no such data: '$kind'" ;;
        esac
        if [ -n "$from" ] && [ -z "$QUICK" ]; then
            "$BIN/$tool" -q --from "$from" --out "$folder" >&2 || exit
        else
            drawn "$IMAGES" "$([ "$kind" = cifar ] && echo 3,32,32 || echo 1,28,28)" "$folder"
        fi
    fi
    echo "$folder"
}

# drawn IMAGES SHAPE FOLDER
drawn() {
    "$BIN/synth-cifar" -q --train "$1" --test "$TEST_IMAGES" --shape "$2" --out "$3" >&2 || exit
}

# images_in FILE: the number of images in a dataset file.
images_in() {
    "$BIN/tensor" info "$1" | sed -n 's/^ *images: .*shape: \[\([0-9]*\),.*/\1/p'
}

# model_path NAME|FILE: the path of a model's description.
model_path() {
    case $1 in
    */*) echo "$1" ;;
    *) echo "$root/experiments/models/$1.yaml" ;;
    esac
}

# model_shape MODEL: its input's shape, as "C,H,W".
model_shape() {
    sed -n 's/^input: *\[\(.*\)\].*/\1/p' "$(model_path "$1")" | tr -d ' '
}

# model_data MODEL: the kind of its data.
model_data() {
    case $(model_shape "$1") in
    3,32,32) echo cifar ;;
    1,28,28) echo mnist ;;
    *) fail "no data for the input of model '$1'" ;;
    esac
}

# trained MODEL: a model.st.zst of it, after one step on a few images, created on first use. It
# contains the description of the network for PyTorch; evaluate also reads it.
trained() {
    local folder
    folder=$BENCH/models/$(basename "$1" .yaml)
    if [ ! -e "$folder/run/manifest.yaml" ]; then
        "$BIN/synth-cifar" -q --train 64 --test 1 --shape "$(model_shape "$1")" --out "$folder" >&2 || exit
        "$BIN/train-single" -q --experiment "$root/experiments/R001/single.yaml" --set "model=$(model_path "$1")" \
            --set dataset=synthetic --set normalize=null --set epochs=1 --set loader_workers=0 --train "$folder/train.st.zst" \
            --out "$folder/run" >&2 || exit
    fi
    echo "$folder/run/model.st.zst"
}

# convolution_model KIND: the path of a network with a convolution of that kind, called `measured`, from activations of
# 32x32 positions.
convolution_model() {
    local channels=64 options path=$BENCH/models/convolution-$1.yaml
    case $1 in
    3x3) options='out: 64, kernel: 3, padding: 1' ;;
    3x3-direct) channels=12 options='out: 64, kernel: 3, padding: 1' ;;
    1x1) options='out: 64, kernel: 1' ;;
    3x3-stride-2) options='out: 128, kernel: 3, stride: 2, padding: 1' ;;
    1x1-stride-2) options='out: 128, kernel: 1, stride: 2' ;;
    5x5) options='out: 64, kernel: 5, padding: 2' ;;
    grouped) options='out: 64, kernel: 3, padding: 1, groups: 8' ;;
    depthwise) options='out: 64, kernel: 3, padding: 1, groups: 64' ;;
    *) fail "no such kind of convolution: '$1'" ;;
    esac
    mkdir -p "$BENCH/models"
    cat >"$path" <<END
schema: lockstep.model/1
name: convolution
input: [3, 32, 32]
layers: [conv: {out: $channels, kernel: 1}, batch_norm, relu, conv: {name: measured, $options}, batch_norm, relu,
         global_avg_pool, flatten, linear: {out: 10}]
END
    echo "$path"
}

# flop MODEL [LAYER]: counted floating-point operations of a training step, per sample: in the direct form, and executed.
# With LAYER: of one of its passes.
flop() {
    "$BIN/train-single" --experiment "$root/experiments/R001/single.yaml" --set "model=$(model_path "$1")" \
        --set normalize=null --print-parameters | awk -v only="${2:-}" -f "$bench_folder/flop.awk"
}
