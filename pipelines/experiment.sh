#!/usr/bin/env bash
# From experiment files to a report: fetch, shard, train, evaluate, report, each skipped when it is done.
#
#     pipelines/experiment.sh experiment NAME|FILE.yaml       an experiment, or a study
#     pipelines/experiment.sh compare NAME|FILE.yaml...       the first one is the baseline
#     pipelines/experiment.sh explain A B                     from A to B, one factor at a time
#
# `make experiment EXP=NAME`, `make compare EXPS="NAME NAME"` and `make explain A=NAME B=NAME` are the usual way in;
# they build first.
#
# Settings come from the environment, as make hands its command line on:
#     BIN, ARTIFACTS            folders of the tools (build/bin) and for all outputs (artifacts)
#     SEED                      the first seed, instead of the experiment's; an experiment with repeats: N uses N
#     EPOCHS                    epochs of every experiment: short for SET="epochs=N"
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
#     ARTIFACTS/explain-A-B/{plan.yaml,report/} and ARTIFACTS/explain-A-B/NN-FACTOR/seed-S/{train,evaluate}/
#     ARTIFACTS/STUDY/{plan.yaml,report/} and ARTIFACTS/STUDY/KEY-VALUE/seed-S/{train,evaluate}/
#
# Everything is resolved, and every tool looked for, before the first run. With repeats all runs of one seed come
# before the next seed, so that a machine that grows slower does so for all alike.
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

# Folders that stages of this call have seen to: runs share fetch and shard.
declare -A seen=()

# stage NAME DIR TOOL ARGUMENT...: runs TOOL, which fills DIR, unless that is done. Whoever else wants the same
# stage at the same time waits, and then finds it done.
stage() {
    local name=$1 dir=$2 tool=$3 key lock lock_file
    shift 3
    [ -z "${seen[$dir]:-}" ] || return 0
    seen[$dir]=1
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

# Sets $file and $name of what was given by name or by path: an experiment or a study.
find_file() {
    case $1 in
    */* | *.yaml) file=$1 ;;
    *)
        file=experiments/$1.yaml
        [ -e "$file" ] || [ ! -e "experiments/studies/$1.yaml" ] || file=experiments/studies/$1.yaml
        ;;
    esac
    name=$(basename "$file" .yaml)
    [ -e "$file" ] ||
        fail 3 "cannot find experiment: '$1': $file does not exist; there are: $(known_experiments)"
}

is_study() {
    [ "$("$BIN/manifest" get "$1" schema 2>/dev/null)" = lockstep.study/1 ]
}

# The same for an experiment alone.
find_experiment() {
    find_file "$1"
    ! is_study "$file" || fail 2 "cannot $command: '$1': it is a study, not an experiment"
}

known_experiments() {
    find experiments experiments/studies -maxdepth 1 -name '*.yaml' | sed 's,.*/,,; s,\.yaml$,,' | LC_ALL=C sort | paste -sd ' '
}

# SET, EPOCHS and SEED as a list of assignments. Sets the array $given.
parse_set() {
    local -a assignments
    local assignment
    given=()
    IFS=';' read -ra assignments <<<"${SET:-}"
    for assignment in "${assignments[@]}" ${EPOCHS:+"epochs=$EPOCHS"} ${SEED:+"seed=$SEED"}; do
        assignment=${assignment#"${assignment%%[! ]*}"}
        assignment=${assignment%"${assignment##*[! ]}"}
        [ -z "$assignment" ] || given+=("$assignment")
    done
    [[ ${SEED:-0} =~ ^[0-9]+$ ]] || fail 2 "SEED: '$SEED' is not a number"
}

# ---- What is to run --------------------------------------------------------------------------------------------
# A line for each run, as `plan` prints them: its folder, the experiment file, the assignments; tabs between.
lines=()

# add_experiment NAME: the experiment with what was given.
add_experiment() {
    local file name
    find_experiment "$1"
    lines+=("$(printf '%s\t' "$name" "$file" "${given[@]}")")
}

# add_plan FOLDER ARGUMENT...: what `plan ARGUMENT...` decides.
add_plan() {
    local folder=$1 line
    local -a set=()
    shift
    for assignment in "${given[@]}"; do set+=(--set "$assignment"); done
    mkdir -p "$ARTIFACTS/$folder"
    "$BIN/plan" "$@" "${set[@]}" --out "$ARTIFACTS/$folder/plan.yaml" >"$work/lines" || exit
    while IFS= read -r line; do
        lines+=("$folder/$line")
        say run "$ARTIFACTS/$folder/${line%%$'\t'*}" planned
    done <"$work/lines"
}

# One resolved parameter of the experiment at hand.
parameter() {
    "$BIN/manifest" get "$resolved" "$1"
}

# open_run I: sets what run number I is: $dir, $file, the array $set, and $resolved, a file.
open_run() {
    local -a words
    local assignment
    IFS=$'\t' read -ra words <<<"${lines[$1]}"
    dir=$ARTIFACTS/${words[0]}
    file=${words[1]}
    set=()
    for assignment in "${words[@]:2}"; do set+=(--set "$assignment"); done
    resolved=$work/$1.yaml
}

# check_run I: can it be run at all? Notes what training needs to know.
check_run() {
    open_run "$1"
    "$BIN/train-single" --experiment "$file" "${set[@]}" --print-parameters >"$resolved" || exit
    strategy[$1]=$(parameter strategy)
    seed[$1]=$(parameter seed)
    repeats[$1]=$(parameter repeats)
    [ -x "$BIN/train-${strategy[$1]}" ] ||
        fail 1 "cannot train '$dir': its strategy is ${strategy[$1]}, and '$BIN/train-${strategy[$1]}' is not built; another tool can run it: SET='strategy=single'"
}

# prepare_run I: fetches and shards.
prepare_run() {
    local data shards shard_seed
    open_run "$1"
    shards=$(parameter virtual_shards)
    shard_seed=$(parameter shard_seed)
    fetch "$(parameter dataset)"
    train_on[$1]=$data/train.st.zst
    test_on[$1]=$data/test.st.zst
    if [ "$shards" -gt 1 ]; then
        train_on[$1]=$data/shards-$shards-$shard_seed
        stage shard "${train_on[$1]}" shard --shards "$shards" --seed "$shard_seed" --in "$data/train.st.zst" \
            --out "${train_on[$1]}"
    fi
}

# train_run I REPEAT
train_run() {
    local at=$1 s=$((seed[$1] + $2)) tool=train-${strategy[$1]}
    open_run "$at"
    dir+=/seed-$s
    stage train "$dir/train" "$tool" --experiment "$file" "${set[@]}" --set "seed=$s" \
        --train "${train_on[at]}" --test "${test_on[at]}" --out "$dir/train" \
        ${DEVICE:+--device "$DEVICE"} ${THREADS:+--threads "$THREADS"} ${RESUME:+--resume}
    stage evaluate "$dir/evaluate" evaluate --model "$dir/train/model.st.zst" --data "${test_on[at]}" \
        --out "$dir/evaluate"
}

# Everything up to the evaluations. Sets the array $runs: their folders.
run_all() {
    local i repeat more=1
    local -a strategy=() seed=() repeats=() train_on=() test_on=() set=()
    for i in "${!lines[@]}"; do check_run "$i"; done
    for i in "${!lines[@]}"; do prepare_run "$i"; done
    for ((repeat = 0; more; repeat++)); do
        more=0
        for i in "${!lines[@]}"; do
            [ "$repeat" -ge "${repeats[i]}" ] || train_run "$i" "$repeat"
            [ $((repeat + 1)) -ge "${repeats[i]}" ] || more=1
        done
    done
    for i in "${!lines[@]}"; do
        open_run "$i"
        for ((repeat = 0; repeat < repeats[i]; repeat++)); do runs+=("$dir/seed-$((seed[i] + repeat))"); done
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
    [ "${1:-}" != --plan ] || "$BIN/report" "${runs[@]}" "$@" "${flags[@]}" --answer
    echo "report: $out/report.html"
}

usage() {
    echo "usage: experiment.sh experiment NAME | compare NAME... | explain A B" >&2
    echo "       make experiment EXP=NAME; make compare EXPS=\"NAME NAME\"; make explain A=NAME B=NAME; there are: $(known_experiments)" >&2
    exit 2
}

work=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-experiment.XXXXXX")
trap 'rm -rf "$work"' EXIT
parse_set
runs=()

command=${1:-}
{ [ $# -gt 1 ] && [ -n "$2" ]; } || usage
shift
case $command in
experiment)
    [ $# -eq 1 ] || usage
    find_file "$1"
    if is_study "$file"; then
        add_plan "$name" study "$file"
        run_all
        report_on "$ARTIFACTS/$name/report" --plan "$ARTIFACTS/$name/plan.yaml"
    else
        add_experiment "$1"
        run_all
        report_on "$ARTIFACTS/$name/report"
    fi
    ;;
compare)
    for experiment; do add_experiment "$experiment"; done
    run_all
    joined=$(printf -- '-%s' "${@##*/}")
    report_on "$ARTIFACTS/compare${joined//.yaml/}" --baseline "${runs[0]}"
    ;;
explain)
    { [ $# -eq 2 ] && [ -n "$2" ]; } || usage
    find_experiment "$1"
    from=$file folder=explain-$name
    find_experiment "$2"
    folder+=-$name
    add_plan "$folder" ladder "$from" "$file"
    run_all
    report_on "$ARTIFACTS/$folder/report" --plan "$ARTIFACTS/$folder/plan.yaml"
    ;;
*) usage ;;
esac
