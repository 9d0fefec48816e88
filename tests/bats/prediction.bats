#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Predicted scaling next to measured scaling, on runs and collectives with known figures
# (tests/fixtures/make_run.py), and by make on a small study. tests/unit/test_scaling_model.c tests
# the model's arithmetic.

load helpers
load reports

setup() {
    need_tool manifest
    begin_report
}

# run_of NAME [KEY=VALUE]... [-- PYTHON]: a_run with one thread per rank, a model of 10 parameters
# (a record of 192 bytes: weight, bias and tail take a cache line each), and PYTHON applied to the
# train manifest m.
run_of() {
    local name=$1
    local -a keys=()
    shift
    for (( ; $# > 0; )); do
        [ "$1" != -- ] || break
        keys+=("$1")
        shift
    done
    a_run "$name" name="$name" batch=72 shards=12 threads=1 "${keys[@]}" || return
    "$PYTHON" - "$name/train/manifest.yaml" "${2:-}" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))
m["parameters"]["architecture"] = {"schema": "lockstep.model/1", "name": "net", "input": [1, 2, 2],
                                   "layers": ["flatten", {"linear": {"out": 2}}]}
exec(sys.argv[2])
json.dump(m, open(sys.argv[1], "w"))
END
}

# collectives DIR [HOST] [REDUCE]: alpha 1 ms, beta 1 us per byte for 4 ranks; a copy has 0 and 1
# us.
collectives() {
    mkdir -p "$1"
    cat >"$1/manifest.yaml" <<END
schema: lockstep.manifest/1
tool: bench-allreduce
inputs: []
outputs: []
parameters: {reduce: ${3:-exact}}
results:
  world_sizes:
    - {world_size: 1, simulated: false, alpha_seconds: 0, beta_seconds_per_byte: 1.0e-6, relative_error: 0.25}
    - {world_size: 4, simulated: true, alpha_seconds: 0.001, beta_seconds_per_byte: 1.0e-6, relative_error: 0.125}
run: {host: ${2:-here}, cpu: A Processor, cores: 4}
END
}

# An epoch of `one` takes 1 s, 10 steps: load 0.1, update 0.05, comm 0.05, and 0.8 of computing. On four ranks and cores:
# 0.025 + 0.2 + 0.05, and 10 x (1 ms + 1 us x 192 bytes x 2 vectors, as 3 of 12 shards are not a whole subtree).
@test "predicted and measured, with the error" {
    run_of one ranks=1
    run_of four ranks=4 epochs=2,0.3,0.3,0.3,0.3
    run_of same ranks=4 shards=8 epochs=2,0.3,0.3,0.3,0.3
    collectives m
    succeeds "$BIN/report" four same --baseline one --collectives m --out out
    says out/report.md '## Predicted and measured'
    says out/report.md '| **four** | 4 | one | 0.0250 | 0.2000 | 0.0500 | 0.0138 | 0.2888 | 0.3000 | -3.7 % |'
    says out/report.md '| **same** | 4 | one | 0.0250 | 0.2000 | 0.0500 | 0.0119 | 0.2869 | 0.3000 | -4.4 % |'
    says out/report.md '| **4** | 1000.000 | 1000.0000 | 12.5 % | † |'
    lacks out/report.md 'copy by one thread'
    lacks out/report.md 'projected to one device'
    [ "$(figure out/report.csv four.predicted_seconds_per_epoch)" = 0.28884 ]
    [ "$(figure out/report.csv four.prediction_error)" = -0.0372 ]
    grep -q '^four.predicted_seconds_per_epoch,.*,s,prediction,m/manifest.yaml: results.world_sizes.1,$' out/report.csv
    says out/manifest.yaml 'm/manifest.yaml'
    succeeds "$BIN/report" four --baseline one --collectives m --why four.predicted_seconds_per_epoch
    [[ $output == *"with"*"m/manifest.yaml: results.world_sizes.1"*"one.seconds_per_epoch = 1 s"*"four.seconds_per_epoch = 0.3 s"* ]] || fail "$output"
    succeeds "$BIN/report" four --baseline one --collectives m --out out --lang zh
    says out/report.md '## 预测与实测'
    # Without measured collectives nothing is predicted; measuring them again gives another report.
    succeeds "$BIN/report" four --baseline one --out out
    lacks out/report.md 'Predicted'
    lacks out/report.md 'A prediction'
    key=$("$BIN/report" four --baseline one --collectives m --out out --print-key)
    sed -i 's/alpha_seconds: 0.001/alpha_seconds: 0.002/' m/manifest.yaml
    [ "$key" != "$("$BIN/report" four --baseline one --collectives m --out out --print-key)" ]
}

# On two cores: computing is divided by two, and each core does two ranks' updates. If this machine
# has too few devices, the report projects.
@test "more ranks than cores: marked as simulated, and projected to one device per rank" {
    run_of one ranks=1 cores=2
    run_of four ranks=4 cores=2 epochs=2,0.6,0.6,0.6,0.6
    collectives m
    succeeds "$BIN/report" four --baseline one --collectives m --out out
    says out/report.md '| **four** | 4 | one | 0.0500 | 0.4000 | 0.1000 | 0.0138 | 0.5638† | 0.6000† | -6.0 % |'
    says out/report.md '| **four** | 4 | 0.0250 | 0.2000 | 0.0500 | 0.0138 | 0.2888† | 3.46× one |'
    says out/report.md 'A projection, not a measurement'
    # An error from disturbed times says nothing about the prediction.
    run_of busy ranks=4 cores=2 epochs=2,0.6,0.6,0.6,0.6 \
        execution='{"machine": {"wall_seconds": 10, "cpu_seconds": 15, "waited_seconds": 6, "others_seconds": 9.5, "cores": 2}}'
    succeeds "$REPORT" busy --baseline one --collectives m --out busy-page
    says busy-page/report.md '| 0.5638† | 0.6000† | none: the machine was busy |'
    [ "$(figure out/report.csv four.projected_seconds_per_epoch)" = 0.28884 ]
    grep -q '^four.predicted_seconds_per_epoch,.*,prediction; SIMULATED,' out/report.csv
}

# The master loads and updates. Three replicas receive 32 floats of parameters each (two cache
# lines), 54 samples of 4 pixels, a label and an id, and twice 3 groups of 16 × 2 logits; two
# vectors of 192 bytes come back: 4326 bytes per step, at 1 us each. Published by R000: 34.80 / 4
# ms, so 2.21 times.
@test "DataParallel: copies, and a published projection next to ours" {
    run_of single ranks=1 cores=1 execution='{"tool": "train-single", "strategy": "single"}'
    local bytes
    collectives m
    # A run's own counters play no part in its prediction.
    for bytes in 1100 9999999; do
        rm -rf sim
        run_of sim ranks=4 cores=1 epochs=2,1.2,1.2,1.2,1.2 'published=[{"source": "R000", "projected_speed_up": 2.21}]' execution='
            {"tool": "train-dp", "strategy": "dp", "replicas": [{"busy": 0.5, "waiting": 0.5, "bytes": 1}],
            "bytes_per_step": {"broadcast": 2000, "scatter": 500, "gather": 200, "scatter_gradient": 200, "reduce": '$bytes'}}'
        succeeds "$BIN/report" sim --baseline single --collectives m --out out
        says out/report.md '| **sim** | 4 | single | 0.1000 | 0.8000 | 0.0500 | 0.0433 | 0.9933† | 1.20† | -17.2 % |'
        says out/report.md '| **1: copy by one thread** | 0.000 | 1000.0000 | 25.0 % |'
        says out/report.md '| **sim** | 4 | 0.1000 | 0.2000 | 0.0500 | 0.0433 | 0.3933 | 2.54× single | 2.21× (R000) |'
    done
}

@test "a prediction has an interval from the executions of its base run" {
    local n=0 seconds
    for seconds in 1 1.02 0.98; do
        n=$((n + 1))
        run_of "one/$n" ranks=1 epochs="2,$seconds,$seconds"
        sed -i 's,"name": "one/[0-9]","name": "one",' "one/$n/train/manifest.yaml"
    done
    run_of four ranks=4 epochs=2,0.3,0.3
    collectives m
    succeeds "$BIN/report" four --baseline one --collectives m --out out
    # 0.275 times an epoch, with t = 4.303 standard errors of 0.02 / sqrt 3.
    says out/report.md '| 0.2888 | [0.2752, 0.3025] | 0.3000 |'
    awk -F, '$1 == "four.predicted_seconds_per_epoch" { exit !(sprintf("%.4f %.4f", $5, $6) == "0.2752 0.3025") }' out/report.csv
}

# no_prediction REASON: the report on `four` and `one` shows that reason, and no figure.
no_prediction() {
    rm -rf out
    succeeds "$BIN/report" four one --collectives m --out out || return 1
    says out/report.md "| no prediction: $1 |" || return 1
    [ -z "$(figure out/report.csv four.predicted_seconds_per_epoch)" ] || fail "report.csv has a prediction"
    [ -z "$(figure out/report.csv four.prediction_error)" ] || fail "report.csv has a prediction"
    lacks out/report.md 'α, µs'
}

@test "without a prediction the reason is given" {
    run_of four ranks=4 epochs=2,0.3,0.3,0.3,0.3
    collectives m
    run_of one ranks=2
    no_prediction 'this report has no run on one rank'
    while IFS='|' read -r change reason; do
        rm -rf one
        run_of one ranks=1 "$change"
        no_prediction "$reason" || fail "$change"
    done <<'END'
resumed=1|one was resumed: its times come from several executions
batch=144|global batch 72 vs 144
workers=2|loader workers 0 vs 2
data=more|data differs
host=there|host here vs there
END
    rm -rf one
    run_of one ranks=1 -- 'm["results"]["epochs"] = [dict(x, phases={}) for x in m["results"]["epochs"]]'
    no_prediction 'one: the manifest has no phases'
    rm -rf one
    run_of one ranks=1
    collectives m there
    no_prediction 'the collectives were measured on another machine: there, A Processor'
    collectives m here fast
    no_prediction 'the run uses --reduce exact, the collectives were measured with fast'
    sed -i '/world_size: 4/d; s/fast/exact/' m/manifest.yaml
    no_prediction 'no collective was measured with 4 ranks'
    collectives m
    sed -i 's/world_size: 4, /world_size: 4, transport: shared memory, /' m/manifest.yaml
    rm -rf four
    run_of four ranks=4 -- 'm["run"]["execution"]["transport"] = "mpi"'
    no_prediction 'the run reduces over mpi, the collectives were measured over shared memory'
    rm -rf four
    run_of four ranks=4 -- 'm["run"]["execution"]["hosts"] = [dict(host=h, ranks=2) for h in "ab"]'
    no_prediction 'hosts of the run: 2, of the collectives: 1'
    rm -rf four
    run_of four ranks=4 resumed=1
    no_prediction 'four was resumed: its times come from several executions'
    says out/report.md '| **four** | 4 | one | no prediction'
    rm -rf four
    run_of four ranks=4 -- 'm["parameters"]["architecture"]["input"] = [1, 2, "x"]'
    rm -rf one
    run_of one ranks=1 -- 'm["parameters"]["architecture"]["input"] = [1, 2, "x"]'
    no_prediction 'the size of its messages is unknown'
}

@test "the prediction uses the run's reduction; the table for devices has both, with their transport" {
    run_of one ranks=1
    run_of four ranks=4 epochs=2,0.3,0.3,0.3,0.3
    collectives m here both
    sed -i 's/world_size: 4, /world_size: 4, reduce: exact, transport: nccl, /' m/manifest.yaml
    sed -n 's/reduce: exact/reduce: fast/; s/alpha_seconds: 0.001/alpha_seconds: 0.0005/; /world_size: 4/p' m/manifest.yaml >row
    sed -i '/world_size: 1/r row' m/manifest.yaml
    succeeds "$BIN/report" four one --collectives m --out out
    [ "$(figure out/report.csv four.predicted_seconds_per_epoch)" = 0.28884 ]
    grep -q 'results.world_sizes.2,$' out/report.csv || fail "$(cat out/report.csv)"
    lacks out/report.md '| nccl |'
    sed -i 's/reduce: both/reduce: both, devices: [cuda:0, cuda:1]/' m/manifest.yaml
    succeeds "$BIN/report" four one --collectives m --out out
    says out/report.md '| no prediction: the collectives were measured on cuda:0, cuda:1 |'
    says out/report.md 'Time to reduce a vector on cuda:0, cuda:1'
    says out/report.md '| **4** | fast | nccl | 500.000 | 1000.0000 | 12.5 % | † |'
    says out/report.md '| **4** | exact | nccl | 1000.000 | 1000.0000 | 12.5 % | † |'
    succeeds "$BIN/report" four one --collectives m --out out --lang zh
    says out/report.md '在 cuda:0, cuda:1 上归约'
}

@test "among several runs on one rank, the comparable one with the same strategy is the base" {
    run_of other ranks=1 batch=144
    run_of alone ranks=1 execution='{"tool": "train-single", "strategy": "single"}'
    run_of one ranks=1
    run_of four ranks=4 epochs=2,0.3,0.3,0.3,0.3
    collectives m
    succeeds "$BIN/report" four other alone one --collectives m --out out
    says out/report.md '| **four** | 4 | one | 0.0250 |'
    succeeds "$BIN/report" four other alone --collectives m --out out
    says out/report.md '| **four** | 4 | alone | 0.0250 |'
}

@test "invalid collectives are refused" {
    run_of one ranks=1
    fails_with 3 "'m/manifest.yaml'" "$BIN/report" one --collectives m --out out
    fails_with 3 "one/train/manifest.yaml:.*expected a manifest of bench-allreduce" "$BIN/report" one \
        --collectives one/train --out out
    collectives m
    sed -i '0,/alpha_seconds: 0,/s//alpha_seconds: -1,/' m/manifest.yaml
    fails_with 3 "m/manifest.yaml:8:.*'alpha_seconds': expected a number of at least 0" "$BIN/report" one --collectives m --out out
    sed -i 's/alpha_seconds: -1, //' m/manifest.yaml
    fails_with 3 "m/manifest.yaml:8:.*'alpha_seconds' is missing" "$BIN/report" one --collectives m --out out
    nothing_in out
}

# ---- By make -----------------------------------------------------------------------------------------------------------

experiment() {
    (cd "$ROOT" && exec "$BIN/pipeline" "$@")
}

# predicted REPORT NAME BASIS: there is a prediction for it, based on that run, and a measured
# epoch. The page of a busy machine shows no error, but report.csv has it.
predicted() {
    grep -Eq "^\| \*\*$2\*\* \| 3 \| $3 \|( [0-9.]+ \|){4} [0-9.]+(†)? \|( \[[0-9., ]+\] \|)?( +\|)? [0-9.]+(†)? \| ([+-][0-9.]+ %|none: the machine was busy) \|$" \
        "$1/report.md" || fail "$(cat "$1/report.md")"
    grep -Eq '^[^,]+,[^,]+,prediction_error,-?[0-9]' "$1/report.csv" || fail "$(grep prediction "$1/report.csv")"
}

# write_experiment NAME STRATEGY RANKS: a short experiment on small images.
write_experiment() {
    sed "s/^name: .*/name: $1/; s/^strategy: .*/strategy: $2/; s/^world_size: .*/world_size: $3/; s/^virtual_shards: .*/virtual_shards: 3/
        s/^global_batch: .*/global_batch: 66/; s/^epochs: .*/epochs: 1/; s,^model: .*,model: $PWD/small.yaml," \
        "$ROOT/experiments/quickstart.yaml" >"$1.yaml"
}

@test "make measures the all-reduce once per machine, for studies of the world size and comparisons" {
    need_tool synth-cifar shard train-single train-ddp train-dp evaluate bench-allreduce plan
    export ARTIFACTS=$WORK/artifacts TIME=0
    local machine=$ARTIFACTS/machine/allreduce-1-2-3-4-8
    small_model small.yaml
    write_experiment base ddp 3
    cat >ranks.yaml <<YAML
schema: lockstep.study/1
name: ranks
base: $PWD/base.yaml
vary: {world_size: [1, 3]}
YAML
    succeeds experiment experiment "$PWD/ranks.yaml"
    [[ $output == *"measure   $machine: running"* ]] || fail "$output"
    [ "$("$BIN/manifest" get "$machine/manifest.yaml" results.world_sizes.2.world_size)" = 3 ]
    predicted "$ARTIFACTS/ranks/report" 'world\\_size-3' 'world\\_size-1'
    succeeds experiment experiment "$PWD/ranks.yaml"
    [[ $output != *": running"* ]] || fail "$output"

    write_experiment alone single 1
    write_experiment replicas dp 3
    succeeds experiment compare "$PWD/alone.yaml" "$PWD/replicas.yaml"
    [[ $output == *"measure   $machine: up to date"* ]] || fail "$output"
    predicted "$ARTIFACTS/compare-alone-replicas" replicas alone

    # If no run has more than one rank, there is nothing to predict.
    { sed 's/^name: .*/name: other/' alone.yaml && echo 'seed: 5'; } >other.yaml
    succeeds experiment compare "$PWD/alone.yaml" "$PWD/other.yaml"
    [[ $output != *"measure "* ]] || fail "$output"
    TOOL=pipeline fails_with 2 "alone.yaml' is named twice" experiment compare "$PWD/alone.yaml" "$PWD/alone.yaml"
}
