#!/usr/bin/env bash
# From experiment files to a report: fetch, shard, train, evaluate, report, each skipped when it is done.
#
#     pipelines/experiment.sh experiment NAME|FILE.yaml       an experiment, or a study
#     pipelines/experiment.sh compare NAME|FILE.yaml...       the first one is the baseline
#     pipelines/experiment.sh explain A B                     from A to B, one factor at a time
#     pipelines/experiment.sh reproduce [LIST.yaml]           every row of published reports
#     pipelines/experiment.sh submission NAME|FILE.yaml...    compare, as one archive to hand in
#
# `make experiment EXP=NAME`, `make compare EXPS="NAME NAME"`, `make explain A=NAME B=NAME`, `make reproduce` and
# `make submission EXPS="NAME NAME"` are the usual way in; they build first.
#
# Settings come from the environment, as make hands its command line on:
#     BIN, ARTIFACTS            folders of the tools (build/bin) and for all outputs (artifacts)
#     SEED                      the first seed, instead of the experiment's; an experiment with repeats: N uses N
#     EPOCHS                    epochs of every experiment: short for SET="epochs=N"
#     SET                       assignments between semicolons: "epochs=1; optimizer.lr=0.01"
#     DEVICE                    where to train and evaluate: auto, cpu, cuda, or a list, cuda:0,cuda:1, which the ranks
#                               of an experiment take in turn. Another kind of device makes a stage stale, another list
#                               of the same kind does not
#     THREADS                   how wide to train; never makes a stage stale
#     LAUNCHER                  what starts the ranks of train-ddp, perhaps on several hosts: "mpirun --hostfile hosts",
#                               "srun --mpi=pmix"; -n RANKS is added. Without it train-ddp starts them here
#     RESUME                    not empty: a training that was stopped goes on from its state; reproduce always does so
#     QUICK                     reproduce: 1 makes it short in the way that the list says
#     CIFAR10_FROM, CIFAR100_FROM, MNIST_FROM, FASHION_MNIST_FROM
#                               archive, folder or URL of the data; without it the official addresses
#     REPORT_FLAGS              more options for report: "--lang zh"
#     MODEL_LIMIT               submission: the largest model that goes into the archive, MiB (4)
#
# What is made:
#     ARTIFACTS/data/DATASET/{train,test}.st.zst and, for V > 1 virtual shards, shards-V-SHARD_SEED/
#     ARTIFACTS/NAME/seed-S/{train,evaluate}/ and ARTIFACTS/NAME/report/
#     ARTIFACTS/compare-NAME-NAME/
#     ARTIFACTS/explain-A-B/{plan.yaml,report/} and ARTIFACTS/explain-A-B/NN-FACTOR/seed-S/{train,evaluate}/
#     ARTIFACTS/STUDY/{plan.yaml,report/} and ARTIFACTS/STUDY/KEY-VALUE/seed-S/{train,evaluate}/
#     ARTIFACTS/LIST/{plan.yaml,report/} of reproduce, LIST-quick with QUICK=1. An experiment or study that is run as it
#         stands lies where it always does; any other one below ARTIFACTS/LIST/
#     ARTIFACTS/submission-NAME-NAME.tar.gz
#     ARTIFACTS/.work-*/ while it is needed
#     ARTIFACTS/machine/allreduce-RANKS/: what an all-reduce takes here, for a study of the world size and a comparison
#
# Everything is resolved, and every tool looked for, before the first run. With repeats all runs of one seed come
# before the next seed, so that a machine that grows slower does so for all alike.
# shellcheck disable=SC2031 # a subshell of submission.sh keeps its changes to itself
set -euo pipefail
export LC_ALL=C

BIN=${BIN:-build/bin}
ARTIFACTS=${ARTIFACTS:-artifacts}
[[ $ARTIFACTS != -* ]] || ARTIFACTS=./$ARTIFACTS # no option of a program

parts=${BASH_SOURCE[0]%/*}
# shellcheck source=pipelines/stages.sh
source "$parts/stages.sh"
# shellcheck source=pipelines/runs.sh
source "$parts/runs.sh"
# shellcheck source=pipelines/estimate.sh
source "$parts/estimate.sh"
# shellcheck source=pipelines/submission.sh
source "$parts/submission.sh"

# measure_collectives: what an all-reduce takes on this machine, so that the report can put predicted scaling beside the
# measured. Measured once a machine, for 1, 2, 4 and 8 ranks and whatever else the runs have. Sets the array $collectives.
measure_collectives() {
    local ranks dir
    ranks=$(printf '%s\n' 1 2 4 8 "${!worlds[@]}" | sort -nu | paste -sd ,)
    dir=$ARTIFACTS/machine/allreduce-${ranks//,/-}
    stage measure "$dir" bench-allreduce --world-size "$ranks" --out "$dir"
    collectives=(--collectives "$dir")
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

# compare NAME...: the first one is the baseline. Sets $joined, "-NAME-NAME", and $out, the folder of the report.
compare() {
    local experiment
    for experiment; do add_experiment "$experiment"; done
    run_all
    joined=$(printf -- '-%s' "${@##*/}")
    joined=${joined//.yaml/}
    out=$ARTIFACTS/compare$joined
    unset 'worlds[1]'
    [ "${#worlds[@]}" -eq 0 ] || measure_collectives
    report_on "$out" --baseline "${runs[0]}" "${collectives[@]}"
}

usage() {
    echo "usage: experiment.sh experiment NAME | compare NAME... | explain A B |" >&2
    echo "       reproduce [LIST.yaml] | submission NAME..." >&2
    echo "       make experiment EXP=NAME; make compare EXPS=\"NAME NAME\"; make explain A=NAME B=NAME; there are: $(known_experiments)" >&2
    exit 2
}

trap 'remove_work' EXIT
remove_old_work
parse_set
runs=()
collectives=()
declare -A worlds=() # numbers of ranks and replicas of the runs

# A function, so that the shell has read all of this file before the first run: these may take hours, and nobody shall have
# to leave the checkout alone meanwhile.
main() {
    command=${1:-}
    { [ $# -gt 1 ] && [ -n "$2" ]; } || [ "$command" = reproduce ] || usage
    shift
    for tool in train-single manifest; do
        [ -x "$BIN/$tool" ] || fail 1 "cannot run: '$BIN/$tool' is not built"
    done
    case $command in
    experiment)
        [ $# -eq 1 ] || usage
        find_file "$1"
        if is_study "$file"; then
            add_plan "$name" study "$file"
            run_all
            [ "${#worlds[@]}" -lt 2 ] || measure_collectives
            report_on "$ARTIFACTS/$name/report" --plan "$ARTIFACTS/$name/plan.yaml" "${collectives[@]}"
        else
            add_experiment "$1"
            run_all
            report_on "$ARTIFACTS/$name/report"
        fi
        ;;
    compare)
        compare "$@"
        ;;
    submission)
        compare "$@"
        pack "$out"
        echo "submission: $archive"
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
    reproduce)
        [ $# -le 1 ] || usage
        resume=auto
        add_reproduction "${1:-experiments/reproductions/reproduce.yaml}"
        check_runs
        estimate
        make_runs
        unset 'worlds[1]'
        [ "${#worlds[@]}" -eq 0 ] || measure_collectives
        report_on "$ARTIFACTS/$name/report" --plan "$ARTIFACTS/$name/plan.yaml" "${collectives[@]}"
        ;;
    *) usage ;;
    esac
}

main "$@"
exit
