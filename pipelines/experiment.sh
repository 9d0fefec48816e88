#!/usr/bin/env bash
# From an experiment file to its report: fetch, shard, train, evaluate, report, each skipped when it is done.
#
#     pipelines/experiment.sh experiment NAME|FILE.yaml
#     pipelines/experiment.sh compare NAME|FILE.yaml...       the first one is the baseline
#
# `make experiment EXP=NAME` and `make compare EXPS="NAME NAME"` are the usual way in; they build first.
#
# Settings come from the environment, as make hands its command line on:
#     BIN, ARTIFACTS            folders of the tools (build/bin) and for all outputs (artifacts)
#     SEED                      the first seed, instead of the experiment's; an experiment with repeats: N uses N
#     SET                       assignments between semicolons: "epochs=1; optimizer.lr=0.01"
#     DEVICE, THREADS           where and how wide to train; no part of what makes a stage stale
#     RESUME                    not empty: a training that was stopped goes on from its state
#     CIFAR10_FROM, CIFAR100_FROM, MNIST_FROM, FASHION_MNIST_FROM
#                               archive, folder or URL of the data; without it the official addresses
#     REPORT_FLAGS              more options for report: "--lang zh"
#
# What is made:
#     ARTIFACTS/data/DATASET/{train,test}.st.zst and, for V > 1 virtual shards, shards-V-SHARD_SEED/
#     ARTIFACTS/NAME/seed-S/{train,evaluate}/ and ARTIFACTS/NAME/report/
#     ARTIFACTS/compare-NAME-NAME/
#
# A stage is done when its manifest is there, whole, and carries the key that the tool prints for this command
# (--print-key): what it reads, by content, and the parameters that matter for what it writes. The manifest is
# removed before a stage runs and written by the tool at its end, so a stage that was killed is not done.
set -euo pipefail
export LC_ALL=C

BIN=${BIN:-build/bin}
ARTIFACTS=${ARTIFACTS:-artifacts}

# fail CODE MESSAGE: one line, and the end.
fail() {
    echo "experiment: $2" >&2
    exit "$1"
}

# say STAGE WHICH WHAT
say() {
    printf '%-9s %s: %s\n' "$1" "$2" "$3"
}

# ---- Stages --------------------------------------------------------------------------------------------------

# Is the stage in DIR done? Returns 0 when it is; 1, with the reason in $why, when it is not.
why=
fresh() {
    local dir=$1 key=$2 code=0
    why=$("$BIN/manifest" -v fresh "$dir" "key=$key" 2>&1) || code=$?
    case $code in
    0) return 0 ;;
    3 | 4)
        why=${why#*is stale: }
        case $why in
        *"manifest.yaml': No such file"*) why= ;;
        *"key is"*) why="other inputs or parameters than before" ;;
        esac
        return 1
        ;;
    *)
        printf '%s\n' "$why" >&2
        exit "$code"
        ;;
    esac
}

# stage NAME DIR TOOL ARGUMENT...: runs TOOL, which fills DIR, unless that is done. Whoever else wants the same
# stage at the same time waits, and then finds it done.
stage() {
    local name=$1 dir=$2 tool=$3 key lock lock_file
    shift 3
    [ -x "$BIN/$tool" ] || fail 1 "cannot run stage $name: '$BIN/$tool' is not built"
    key=$("$BIN/$tool" "$@" --print-key) || exit

    mkdir -p "$(dirname "$dir")"
    lock_file=$(dirname "$dir")/.$(basename "$dir").lock
    exec {lock}>"$lock_file"
    flock -n "$lock" || {
        say "$name" "$dir" "waiting for another run of this stage"
        flock "$lock"
    }
    if fresh "$dir" "$key"; then
        say "$name" "$dir" "up to date"
    else
        say "$name" "$dir" "running${why:+ ($why)}"
        rm -f "$dir/manifest.yaml"
        "$BIN/$tool" "$@" || exit
        fresh "$dir" "$key" || fail 1 "stage $name is not done though $tool ended well: '$dir': $why"
    fi
    exec {lock}>&-
}

# fetch DATASET: the official data, or drawn images in the model's input shape. Sets $data.
fetch() {
    local dataset=$1 from=
    data=$ARTIFACTS/data/$dataset
    case $dataset in
    cifar10) from=${CIFAR10_FROM:-} ;;
    cifar100) from=${CIFAR100_FROM:-} ;;
    mnist) from=${MNIST_FROM:-} ;;
    fashion-mnist) from=${FASHION_MNIST_FROM:-} ;;
    esac
    case $dataset in
    cifar10 | cifar100)
        stage fetch "$data" fetch-cifar --dataset "$dataset" ${from:+--from "$from"} --out "$data"
        ;;
    mnist | fashion-mnist)
        stage fetch "$data" fetch-mnist --dataset "$dataset" ${from:+--from "$from"} --out "$data"
        ;;
    synthetic)
        local shape
        shape=$(parameter architecture.input.0),$(parameter architecture.input.1),$(parameter architecture.input.2)
        [ "$shape" = 3,32,32 ] || data+=-${shape//,/x}
        stage fetch "$data" synth-cifar --shape "$shape" --out "$data"
        ;;
    *) fail 3 "no stage fetches the data set '$dataset'" ;;
    esac
}

# ---- Experiments ---------------------------------------------------------------------------------------------

# The file of an experiment that was given by name or by path. Sets $file and $name.
find_experiment() {
    case $1 in
    */* | *.yaml) file=$1 ;;
    *) file=experiments/$1.yaml ;;
    esac
    name=$(basename "$file" .yaml)
    [ -e "$file" ] && return
    [ ! -e "experiments/studies/$1.yaml" ] || fail 2 "cannot run study: '$1': only single experiments can be run yet"
    fail 3 "cannot find experiment: '$1': $file does not exist; there are: $(known_experiments)"
}

known_experiments() {
    find experiments -maxdepth 1 -name '*.yaml' | sed 's,.*/,,; s,\.yaml$,,' | LC_ALL=C sort | paste -sd ' '
}

# The assignments in $SET as arguments. Sets the array $set.
parse_set() {
    local -a assignments
    local assignment
    set=()
    IFS=';' read -ra assignments <<<"${SET:-}"
    for assignment in "${assignments[@]}"; do
        assignment=${assignment#"${assignment%%[! ]*}"}
        assignment=${assignment%"${assignment##*[! ]}"}
        [ -z "$assignment" ] || set+=(--set "$assignment")
    done
}

# One resolved parameter of the experiment at hand.
parameter() {
    "$BIN/manifest" get "$resolved" "$1"
}

# run_experiment NAME: everything up to the evaluation of every seed. Appends the folders to the array $runs.
run_experiment() {
    local file name data train_on strategy shards shard_seed seed first repeats dir
    find_experiment "$1"
    "$BIN/train-single" --experiment "$file" "${set[@]}" --print-parameters >"$resolved" || exit
    strategy=$(parameter strategy)
    shards=$(parameter virtual_shards)
    shard_seed=$(parameter shard_seed)
    first=${SEED:-$(parameter seed)}
    repeats=$(parameter repeats)
    [[ $first =~ ^[0-9]+$ ]] || fail 2 "SEED: '$first' is not a number"
    [ -x "$BIN/train-$strategy" ] ||
        fail 1 "cannot train '$name': its strategy is $strategy, and '$BIN/train-$strategy' is not built; another tool can run it: SET='strategy=single'"

    fetch "$(parameter dataset)"
    train_on=$data/train.st.zst
    if [ "$shards" -gt 1 ]; then
        train_on=$data/shards-$shards-$shard_seed
        stage shard "$train_on" shard --shards "$shards" --seed "$shard_seed" --in "$data/train.st.zst" --out "$train_on"
    fi
    for ((seed = first; seed < first + repeats; seed++)); do
        dir=$ARTIFACTS/$name/seed-$seed
        stage train "$dir/train" "train-$strategy" --experiment "$file" "${set[@]}" --set "seed=$seed" \
            --train "$train_on" --test "$data/test.st.zst" --out "$dir/train" \
            ${DEVICE:+--device "$DEVICE"} ${THREADS:+--threads "$THREADS"} ${RESUME:+--resume}
        stage evaluate "$dir/evaluate" evaluate --model "$dir/train/model.st.zst" --data "$data/test.st.zst" \
            --out "$dir/evaluate"
        runs+=("$dir")
    done
}

# report_on OUT OPTION...: the report over all runs.
report_on() {
    local out=$1 flags run
    shift
    # Words between blanks, as in make's other *FLAGS.
    read -ra flags <<<"${REPORT_FLAGS:-}"
    stage report "$out" report "${runs[@]}" --out "$out" "$@" "${flags[@]}"
    for run in "${runs[@]}"; do
        printf '%s: test accuracy %.4f, %.3f s an epoch\n' "$run" \
            "$("$BIN/manifest" get "$run/evaluate/manifest.yaml" results.accuracy)" \
            "$("$BIN/manifest" get "$run/train/manifest.yaml" results.seconds_per_epoch)"
    done
    echo "report: $out/report.html"
}

usage() {
    echo "usage: experiment.sh experiment NAME | compare NAME..." >&2
    echo "       make experiment EXP=NAME; make compare EXPS=\"NAME NAME\"; there are: $(known_experiments)" >&2
    exit 2
}

resolved=$(mktemp "${TMPDIR:-/tmp}/lockstep-experiment.XXXXXX")
trap 'rm -f "$resolved"' EXIT
parse_set
runs=()

command=${1:-}
{ [ $# -gt 1 ] && [ -n "$2" ]; } || usage
shift
case $command in
experiment)
    [ $# -eq 1 ] || usage
    run_experiment "$1"
    report_on "$ARTIFACTS/$(basename "$1" .yaml)/report"
    ;;
compare)
    for experiment; do run_experiment "$experiment"; done
    joined=$(printf -- '-%s' "${@##*/}")
    report_on "$ARTIFACTS/compare${joined//.yaml/}" --baseline "${runs[0]}"
    ;;
*) usage ;;
esac
