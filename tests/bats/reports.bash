# SPDX-License-Identifier: MIT
# Shared by the bats files on reports.
# shellcheck shell=bash

# begin_report: for setup, in a new folder. $REPORT is the tool.
# shellcheck disable=SC2034 # for files that load this
begin_report() {
    need_tool report
    REPORT=$BIN/report
    mkdir "$WORK/files" && cd "$WORK/files" || return
}

# a_run DIR [KEY=VALUE]... [-- DIR [KEY=VALUE]...]...: runs with known figures; settings as in make_run.py.
a_run() {
    "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "$@"
}

# says FILE TEXT: the file contains that text; lacks FILE TEXT: it does not.
says() {
    grep -qF -- "$2" "$1" || fail "$1 does not contain: $2" "$(cat "$1")"
}

lacks() {
    ! grep -qF -- "$2" "$1" || fail "$1 contains: $2"
}

# figure FILE ID: its value in report.csv.
figure() {
    awk -F, -v id="$2" '$1 == id { print $4; found = 1 } END { exit !found }' "$1"
}

# json FILE EXPRESSION: what Python's expression gives for the tree `page` in that file.
json() {
    "$PYTHON" -c "import json, sys; page = json.load(open(sys.argv[1], encoding='utf-8')); print($2)" "$1"
}

# compared FILE NAME EXPRESSION: what it gives for the comparison `c` of that experiment.
compared() {
    json "$1" "[($3) for e in page['experiments'] for c in [e['compared']] if e['name'] == '$2'][0]"
}

# three_times FOLDER [KEY=VALUE]...: executions 1, 2, 3, with epochs of 1, 1.2 and 1.1 s.
three_times() {
    local folder=$1 n=0 seconds runs=()
    for seconds in 2,1,1.01,0.99,1 2,1.2,1.21,1.19,1.2 2,1.1,1.11,1.09,1.1; do
        n=$((n + 1))
        runs+=(-- "$folder/$n" epochs="$seconds" start="2026-01-0${n}T00:00:00Z" "${@:2}")
    done
    a_run "${runs[@]:1}"
}

# thrice DIR [KEY=VALUE]...: three executions, whose epochs take 1, 1.01 and 0.99 times the given
# time, and an arm for in_turns that takes as long as the first.
thrice() {
    local folder=$1 n=0 pair epochs=2,1,1.02,0.98,1 seconds rest=() runs=()
    shift
    for pair; do
        case $pair in
        epochs=*) epochs=${pair#*=} ;;
        *) rest+=("$pair") ;;
        esac
    done
    while read -r seconds; do
        n=$((n + 1))
        runs+=(-- "$folder/$n" "${rest[@]}" epochs="$seconds")
    done < <(awk -F, -v OFS=, -v given="$epochs" 'BEGIN {
        split("1 1.01 0.99", factors, " ")
        for (k = 1; k <= 3; k++) { $0 = given; for (i = 1; i <= NF; i++) $i *= factors[k]; print }
    }')
    a_run "${runs[@]:1}"
    printf '%s\n' "$folder/1" >>arms
}

# in_turns COMMAND...: the command, with a folder of the turns that the runs of `thrice` took together.
in_turns() {
    local folder runs=()
    while read -r folder; do [ ! -d "$folder" ] || runs+=("$folder"); done < <(sort -u arms)
    rm -rf turns
    "$PYTHON" "$ROOT/tests/fixtures/make_turns.py" turns executions=5 spread=0.005 "${runs[@]}"
    "$@" --turns turns
}

# plan_of_a_ladder: plan.yaml, from slow to quick.
plan_of_a_ladder() {
    cat >plan.yaml <<'YAML'
schema: lockstep.plan/1
kind: ladder
experiment: a.yaml
from: slow
to: quick
runs:
  - {name: 00-slow, role: start, set: []}
  - {name: 01-loader-workers, role: step, set: [], factors: [loader-workers], changes: {loader_workers: ["0", "4"]}}
  - {name: 02-world-size, role: step, set: [], factors: [world-size], changes: {world_size: ["1", "2"]}}
  - {name: 03-global-batch, role: step, set: [], factors: [global-batch], changes: {global_batch: ["64", "128"]}}
  - {name: 04-scaled, role: control, set: []}
  - {name: 05-rest, role: step, set: [], factors: [rest], changes: {augment: ["[]", "x"], seed: ["1", "2"]}}
YAML
}

# runs_of_a_ladder: that plan and its runs, each executed three times.
runs_of_a_ladder() {
    need_tool report
    plan_of_a_ladder
    thrice 00-slow name=00-slow ranks=1 epochs=4,4,4.04,3.96,4
    thrice 01-loader-workers name=01-loader-workers ranks=1 workers=4 epochs=1,1,1.01,0.99,1
    thrice 02-world-size name=02-world-size workers=4 epochs=2,2,2.02,1.98,2
    thrice 03-global-batch name=03-global-batch workers=4 batch=128 epochs=2,2.01,2,1.99,2 right=40
    thrice 04-scaled name=04-scaled workers=4 batch=128 epochs=2,2.01,2,1.99,2 right=72
    thrice 05-rest name=05-rest workers=4 batch=128 epochs=2,2,2.02,1.98,2 right=41 seed=2
}

# key_of WORD: the key that make_run.py gives a run with key=WORD.
key_of() {
    printf %s "$1" | sha256sum | cut -d ' ' -f 1
}

# plan_of FILE KIND: a plan with the entries on standard input.
plan_of() {
    printf 'schema: lockstep.plan/1\nkind: %s\nruns:\n' "$2" >"$1"
    cat >>"$1"
}
