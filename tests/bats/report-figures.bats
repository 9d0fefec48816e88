#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every number has one source: the page shows figures of report.csv, and --why computes each again
# from the files.

load helpers
load reports
load training

setup() {
    begin_report
}

# ids FILE: the figures of a report.csv.
ids() {
    tail -n +2 "$1" | cut -d, -f1 | sort
}

# shown FILE: the figures in a page's cells.
shown() {
    grep -o -- '--why [^"]*"' "$1" | sed 's/^--why //; s/"$//; s/&amp;/\&/g' | sort -u
}

# walks DIR...: --why traces every figure of a report on these runs without a contradiction, and
# recomputes those that match $again. (`succeeds` would take longer than the tool, 1,500 times.)
walks() {
    local id why
    succeeds "$REPORT" "$@" --out out
    [ -z "$(ids out/report.csv | uniq -d)" ] || fail "duplicate ids: $(ids out/report.csv | uniq -d)"
    [ -z "$(comm -23 <(shown out/report.html) <(ids out/report.csv))" ] ||
        fail "ids on the page that are not in report.csv: $(comm -23 <(shown out/report.html) <(ids out/report.csv))"
    ids out/report.csv >all
    while read -r id; do
        "$REPORT" "$@" --why "$id" >explained 2>&1 </dev/null || fail "--why $id: exit code $?" "$(cat explained)"
        IFS= read -rd '' why <explained || true
        [[ $why != *"DOES NOT AGREE"* && $why != *BUT* ]] || fail "$id: $why"
        [[ ! $id =~ $again || $why == *": agrees"* ]] || fail "$id was not recomputed: $why"
    done <all
    rm -r out
}

# Figures in steps.st.zst and predictions.st.zst: all but totals, parameters, and counters of a
# strategy or a driver.
again='^[^.]+\.(accuracy|test_loss|train_loss|steps|seconds_per_epoch|seconds_to_target|busy|copying|waiting|exposed_comm'
again+='|step\..*|class\..*|confusion\..*|epochs\.[0-9]+\.(loss|seconds)|execution\.[0-9]+\.seconds_per_epoch|bubble_predicted'
again+='|mean_accuracy|mean_seconds_per_epoch|speedup|accuracy_difference|accuracy_effect|time_ratio|load_share)$'

@test "one run: every figure is recomputed" {
    a_run a target=0.3
    walks a
}

@test "executions, repeats and a baseline: their figures are traced to every run" {
    local seed
    three_times runs/abc
    for seed in 1 2 3; do
        a_run "other/seed-$seed" name=other seed="$seed" right=$((60 + seed)) epochs="2,2.0$seed,2,2.01,2"
    done
    walks runs/abc other --baseline runs/abc
}

@test "replicas, stages and ranks, and a run without times" {
    again='^pipe\.bubble_predicted$' # without times no file can be compared
    a_run dp name=dp execution='{"strategy": "dp", "replicas": [{"busy": 0.75, "waiting": 0.05, "bytes": 4194304},
        {"busy": 0.5, "waiting": 0.3, "bytes": 2097152}], "seconds_per_step": {"broadcast": 0.01, "scatter": 0.02,
        "forward": 0.1, "gather": 0.005, "loss": 0.001, "scatter_gradient": 0.004, "backward": 0.2, "reduce": 0.04,
        "update": 0.02}, "bytes_per_step": {"broadcast": 100, "scatter": 20, "gather": 3, "reduce": 101}}'
    a_run mp name=pipe ranks=2 execution='{"strategy": "mp", "stages": [{"first": "a", "last": "b", "busy": 0.7,
        "waiting": 0.25, "bytes_sent_per_step": 4096, "bytes": 1048576}, {"first": "c", "last": "d", "busy": 0.5,
        "waiting": 0.45, "bytes": 524288}], "micro_batches": 2, "bubble_measured": 0.35,
        "bubble_predicted": 0.3333333333333333}'
    a_run ddp name=ranks execution='{"vectors_per_reduction": 2, "bytes_sent_per_step": 5000,
        "hidden_comm_per_step": 0.001}'
    a_run resumed name=resumed resumed=1 target=0.3
    walks dp mp ddp resumed
}

@test "a study: its effects, its shares and its efficiency" {
    local workers
    for workers in 0 2 4; do a_run "w$workers" name="w$workers" workers="$workers" load="0.$((6 - workers))"; done
    {
        printf 'schema: lockstep.plan/1\nkind: study\nexperiment: base.yaml\nname: loaders\nvary: [loader_workers]\nruns:\n'
        printf '  - {name: w%d, role: variant, set: [], values: {loader_workers: %d}}\n' 0 0 2 2 4 4
    } >plan.yaml
    walks w0 w2 w4 --plan plan.yaml
}

@test "real runs: every figure agrees with the files of the tools" {
    need_training
    local kind
    make_data data 200 50
    for kind in single dp mp ddp; do
        write_experiment e.yaml name=$kind strategy=$kind world_size=2 epochs=2 "$LENET_BN"
        succeeds "$BIN/train-$kind" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst \
            --threads 1 --out "$kind/train"
        succeeds "$BIN/evaluate" -q --model "$kind/train/model.st.zst" --data data/test.st.zst --out "$kind/evaluate"
    done
    walks single dp mp ddp
}

@test "--why takes the folder of a report, or a file in it, and remembers its runs" {
    a_run a key=one
    a_run b name=other
    mkdir deep mine
    echo mine >mine/own.md
    succeeds "$REPORT" a b --baseline a --out deep/out --title "--why a" --author=b --template mine
    succeeds "$REPORT" deep/out --why other.accuracy_difference
    local first=$output
    for place in deep/out/ ./deep/out/report.html deep/out/report.csv "$PWD/deep/out"; do
        succeeds "$REPORT" "$place" --why other.accuracy_difference
        [ "$output" = "$first" ] || fail "$place" "$output"
    done
    # In the report's folder, as if it were given; from anywhere.
    (cd deep/out && succeeds "$REPORT" --why other.accuracy_difference && [[ $output == *"made by     train-"* ]]) || fail "$output"
    (cd / && succeeds "$REPORT" "$OLDPWD/deep/out" --json --why tiny.accuracy) || fail "$output"
    # A path from the root does not say where the others began: here.
    succeeds "$REPORT" a b --baseline a --out "$PWD/rooted"
    succeeds "$REPORT" rooted --why other.accuracy_difference
    # Its plan names the runs.
    printf 'schema: lockstep.plan/1\nkind: runs\nruns:\n  - {name: planned, keys: [%s]}\n' "$(key_of one)" >plan.yaml
    succeeds "$REPORT" a --plan plan.yaml --out planned
    succeeds "$REPORT" planned --why planned.accuracy
    # A command that this version does not know, as of another one.
    cp -r planned unknown
    sed -i 's/--plan/--plant/' unknown/manifest.yaml
    fails_with 3 "'unknown': the command in its manifest: .*'--plant'" "$REPORT" unknown --why planned.accuracy
    # A report that was moved no longer finds its runs.
    mv deep/out elsewhere
    fails_with 3 "'elsewhere': its run 'a' is not where it was: name the folders of its runs instead: report DIR" \
        "$REPORT" elsewhere --why tiny.accuracy
    fails_with 2 'missing arguments: expected the folders of runs, or of a report' "$REPORT" --why tiny.accuracy
    fails_with 3 "it was written by 'report'" "$REPORT" planned --summary
}

@test "--why begins with the arithmetic, and ends with the hashes" {
    a_run a
    a_run b name=other right=60
    succeeds "$REPORT" a b --baseline a --why other.accuracy_difference
    [[ $output == "other.accuracy_difference = -0.1 "*"recomputed  0.7 (70 of 100 correct): agrees"*"recomputed  0.6 (60 of 100 correct): agrees"*"files of tiny.accuracy"* ]] || fail "$output"
    [[ ${output%%files of*} != *content* ]] || fail "$output"
    succeeds "$REPORT" a --why tiny.accuracy
    [[ ${lines[1]} == "  recomputed  0.7 (70 of 100 correct): agrees" ]] || fail "$output"
}

@test "--why offers the figures that a name may mean" {
    a_run a
    a_run b name=other
    fails_with 2 "no such figure: 'accuracy': did you mean 'tiny.accuracy' or 'other.accuracy'\?" "$REPORT" a b --why accuracy
    # The folder's name instead of the run's; a part of a name; a misspelt one.
    fails_with 2 "did you mean 'tiny.accuracy'\?" "$REPORT" a --why a.accuracy
    fails_with 2 "did you mean 'tiny.confusion.cat.cat', .* or 'tiny.confusion.dog.dog'\?" "$REPORT" a --why confusion
    fails_with 2 "did you mean 'tiny.accuracy'\?" "$REPORT" a --why tiny.acuracy
    fails_with 2 "no such figure: 'zzz'; report.csv" "$REPORT" a --why zzz
}
