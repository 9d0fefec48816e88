# What the scripts of the bench share. Loaded, not run.
#
# Environment, set by tests/bench/run and tests/bench/growth:
#     BENCH      folder for data, models, programs and runs
#     BIN        the tools;  PYTHON, CC: as in the Makefile
#     QUICK      1: tiny sizes, to see that everything works; no figure of it means anything
#     IMAGES     images of the training data (50,000; QUICK: 2,560), drawn ones
#     CIFAR10_FROM, MNIST_FROM
#                archive and folder of real data, used instead of drawn ones where they are given, but not by QUICK
#
# A script in tests/bench/measure/ takes KEY=VALUE arguments, measures one thing once, and prints one line:
#     VALUE KIB [NOTE]
# the figure, the largest resident set of any of its processes, and what a reader of the table should know.
# Exit code 77: it cannot be measured here; the last line of standard error says why.
# shellcheck shell=bash

bench_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench_folder/../.." && pwd)
BIN=${BIN:-$root/build/bin}
PYTHON=${PYTHON:-/usr/bin/python3}
CC=${CC:-cc}
BENCH=${BENCH:?a folder to work in: BENCH=FOLDER}
QUICK=${QUICK:-}
[ "$QUICK" != 0 ] || QUICK=
IMAGES=${IMAGES:-$([ -n "$QUICK" ] && echo 2560 || echo 50000)}
TEST_IMAGES=$([ -n "$QUICK" ] && echo 512 || echo 10000)
SKIPPED=77
export LC_ALL=C BIN PYTHON CC QUICK IMAGES

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
        # shellcheck disable=SC2034 # for those who load this
        arg[${word%%=*}]=${word#*=}
    done
}

# cpu_has FLAG: as the processor calls it in /proc/cpuinfo.
cpu_has() {
    grep -qw -m 1 "$1" /proc/cpuinfo 2>/dev/null
}

# program NAME [FLAG...]: the path of tests/bench/NAME.c, compiled when it is first asked for.
program() {
    local name=$1 path
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

# usage COMMAND...: runs it; $seconds and $kib become its wall time and its largest resident set.
# Its standard output goes to $BENCH/output. Its exit code is that of the command.
usage() {
    local runner code=0
    runner=$(program usage) || exit
    "$runner" "$BENCH/usage" "$@" >"$BENCH/output" || code=$?
    [ "$code" -eq 0 ] || return "$code"
    # shellcheck disable=SC2034 # for those who call this
    read -r seconds kib <"$BENCH/usage"
}

# data KIND: the folder of the data of that kind, cifar or mnist, made when it is first asked for.
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

# images_in FILE: of a dataset file.
images_in() {
    "$BIN/tensor" info "$1" | sed -n 's/^ *images: .*shape: \[\([0-9]*\),.*/\1/p'
}

# model_path NAME|FILE: the description of a model.
model_path() {
    case $1 in
    */*) echo "$1" ;;
    *) echo "$root/experiments/models/$1.yaml" ;;
    esac
}

# model_shape MODEL: of its input, as "C,H,W".
model_shape() {
    sed -n 's/^input: *\[\(.*\)\].*/\1/p' "$(model_path "$1")" | tr -d ' '
}

# model_data MODEL: the kind of data that it is made for.
model_data() {
    case $(model_shape "$1") in
    3,32,32) echo cifar ;;
    1,28,28) echo mnist ;;
    *) fail "no data for the input of model '$1'" ;;
    esac
}

# trained MODEL: a model.st.zst of it, after one step on a few images, made when it is first asked for. It carries the
# description of the network for PyTorch, and is what evaluate gets.
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

# flop MODEL: counted floating-point operations of a training step, a sample.
flop() {
    "$BIN/train-single" --experiment "$root/experiments/R001/single.yaml" --set "model=$(model_path "$1")" \
        --set normalize=null --print-parameters | awk -f "$bench_folder/flop.awk"
}
