#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reports on DataParallel, pipelines and DistributedDataParallel: on runs with known figures, and on
# real ones, where the report must agree with their manifests.

load helpers
load reports
load training

setup() {
    begin_report
    heading="Time lost to parallelism"
}

# noted FILE ID: value, unit and note in report.csv.
noted() {
    awk -F, -v id="$2" '$1 == id { print $4 "," $7 "," $8; found = 1 } END { exit !found }' "$1"
}

dp_run() {
    a_run "$@" execution='{"strategy": "dp", "replicas": [{"busy": 0.75, "waiting": 0.05, "bytes": 4194304},
        {"busy": 0.5, "waiting": 0.3, "bytes": 2097152}, {"busy": 0.55, "waiting": 0.25, "bytes": 2097152}],
        "seconds_per_step": {"broadcast": 0.010, "scatter": 0.020, "forward": 0.100, "gather": 0.005, "loss": 0.001,
        "scatter_gradient": 0.004, "backward": 0.200, "reduce": 0.040, "update": 0.020}, "bytes_per_step":
        {"broadcast": 100, "scatter": 20, "gather": 3, "scatter_gradient": 3, "reduce": 101}}'
}

mp_run() {
    a_run "$@" execution='{"strategy": "mp", "stages": [{"first": "conv1", "last": "pool2", "busy": 0.7, "waiting": 0.25,
        "bytes_sent_per_step": 4096, "bytes": 1048576}, {"first": "conv3", "last": "fc1", "busy": 0.5, "waiting": 0.45,
        "bytes_sent_per_step": 4096, "bytes": 524288}], "micro_batches": 2, "bubble_measured": 0.35,
        "bubble_predicted": 0.3333333333333333, "bytes_per_step": 8192}'
}

ddp_run() {
    local vectors=$1
    shift
    a_run "$@" execution="{\"vectors_per_reduction\": $vectors, \"bytes_sent_per_step\": 5000}"
}

@test "dp: activities with their bytes, replicas, the master against the others" {
    dp_run a
    succeeds "$REPORT" a --out out
    says out/report.md "## $heading"
    says out/report.md "| Phase | tiny, ms / step | % | bytes / step |"
    says out/report.md "| **broadcast parameters** | 10.0000 | 2.5 % | 100 |"
    says out/report.md "| **forward** | 100.0000 | 25.0 % |  |"
    says out/report.md "| **scatter their gradients** | 4.0000 | 1.0 % | 3 |"
    says out/report.md "| **Sum** | 400.0000 | 100.0 % | 227 |"
    says out/report.md "| **tiny** | 0, the master | 75.0 % | 20.0 % | 5.0 % | 4.0 |"
    says out/report.md "| **tiny** | 2 | 55.0 % | 20.0 % | 25.0 % | 2.0 |"
    says out/report.md "**tiny**: a replica spends 20.0 % of a step on copying and reducing and 20.0 % on waiting. Only the master works for 16.2 % of the step. The master is busy for 75.0 % of it, the other replicas for 50.0 % to 55.0 %."
    [ "$(json out/report.json "*(page['runs'][0]['execution'][k] for k in ('kind', 'idlest', 'busiest'))")" = "replicas 1 2" ]
    [ "$(json out/report.json "page['runs'][0]['execution']['shares']['forward']")" = 0.25 ]
    [ "$(noted out/report.csv tiny.dp.broadcast)" = 10,ms, ]
    [ "$(noted out/report.csv tiny.dp.bytes.reduce)" = 101,bytes, ]
    [ "$(noted out/report.csv tiny.replica.1.busy)" = 0.5,fraction, ]
    says out/report.csv "tiny.replica.1.busy,tiny,replica.1.busy,0.5,,,fraction,,a/train/manifest.yaml: run.execution.replicas.1.busy"
}

@test "mp: stages, and the bubble next to the predicted one" {
    mp_run a
    succeeds "$REPORT" a --out out
    says out/report.md "| **tiny** | 2 | 2 | 35.0 % | 33.3 % |"
    says out/report.md "| **tiny** | 0 | conv1 to pool2 | 70.0 % | 5.0 % | 25.0 % | 4096 | 1.0 |"
    says out/report.md "**tiny**: a stage is idle for 35.0 % of a step (the bubble)."
    says out/report.md "S = 2 stages with M = 2 micro-batches would cost 33.3 %."
    says out/report.md "Its busiest stage is 0 (conv1 to pool2) with 70.0 %, its idlest 1 (conv3 to fc1) with 50.0 %."
    [ "$(noted out/report.csv tiny.bubble_measured)" = 0.35,fraction, ]
    [ "$(noted out/report.csv tiny.stage.0.bytes_sent_per_step)" = 4096,bytes, ]
    # Two shards are two micro-batches: 1 / (2 + 1).
    succeeds "$REPORT" a --why tiny.bubble_predicted
    [[ $output == *"S = 2, M = 2): agrees"* ]] || fail "$output"
    sed -i 's/"bubble_predicted": 0.33/"bubble_predicted": 0.23/' a/train/manifest.yaml
    fails_with 4 "recomputed" "$REPORT" a --why tiny.bubble_predicted
}

@test "ddp: the factor, traffic, and the shares of a step" {
    ddp_run 1 a
    ddp_run 2 b name=odd seed=2
    succeeds "$REPORT" a b --out out
    # The fixture's phases: no copy, comm and wait 5 % each.
    says out/report.md "| **tiny** | 2 | 1 | 5000 | 5.0 % | 5.0 % | 90.0 % |"
    says out/report.md "| **odd** | 2 | 2 | 5000 | 5.0 % | 5.0 % | 90.0 % |"
    says out/report.md "**tiny**: the shards of a rank are a whole subtree of the sum, so it contributes one vector per reduction."
    says out/report.md "**odd**: the shards of a rank are not a whole subtree of the sum, so rank 0 contributes 2 vectors per reduction instead of one."
    says out/report.md "Exposed communication takes 5.0 % of a step, waiting 5.0 %; a rank is busy for 90.0 % of it."
    [ "$(noted out/report.csv odd.vectors_per_reduction)" = 2,, ]
    for metric in busy copying waiting; do
        succeeds "$REPORT" a --why "tiny.$metric"
        [[ $output == *": agrees"* ]] || fail "tiny.$metric: $output"
    done
    sed -i 's/"reduce": "exact"/"reduce": "fast"/' b/train/manifest.yaml
    succeeds "$REPORT" b --out fast
    says fast/report.md "**odd**: reduced by --reduce fast, one vector per rank: not exact."
    says fast/report.md "| **odd** | 2 | 1 | 5000 |"
    sed -i 's/"bytes_sent_per_step"/"buckets": 3, "hidden_comm_per_step": 0.00125, &/' a/train/manifest.yaml
    succeeds "$REPORT" a --out beside
    says beside/report.md "| **tiny** | 2 | 1 | 5000 | 5.0 % | 1.2500 | 5.0 % | 90.0 % |"
    [ "$(noted beside/report.csv tiny.hidden_comm_per_step)" = 0.00125,s, ]
    succeeds "$REPORT" a --why tiny.hidden_comm_per_step
}

@test "one drawing of all strategies in the page" {
    dp_run a
    mp_run b name=pipe
    ddp_run 1 c name=ranks
    succeeds "$REPORT" a b c --out out
    [ "$(grep -c '<title id="use-title">' out/report.html)" -eq 1 ]
    says out/report.html '>tiny, 0<'
    says out/report.html '>pipe, 0<'
    says out/report.html '>ranks, mean<'
    grep -B1 '>ranks, mean<' out/report.html | grep -qF 'text-anchor="end"' || fail "a short name is not next to its bar"
    # Next to the bars a long name would leave no room for them.
    ddp_run 1 d name=a-name-of-more-than-twenty-two-letters
    succeeds "$REPORT" c d --out long
    grep -B1 '>a-name-of-more-than-twenty-two-letters, mean<' long/report.html | grep -qF 'text-anchor="start"' ||
        fail "a long name is not above its bar"
    [ -z "$(grep -o ' id="[^"]*"' out/report.html | sort | uniq -d)" ] || fail "an id is used twice"
}

@test "a resumed run and a run without phases show only the reason" {
    dp_run a resumed=1
    succeeds "$REPORT" a --out out
    says out/report.md "**tiny**: not shown: tiny was resumed"
    lacks out/report.md "broadcast"
    lacks out/report.md "Busy"
    lacks out/report.csv "tiny.replica"
    lacks out/report.csv "tiny.busy"
    mp_run b
    sed -i 's/"phases": /"parts": /' b/train/manifest.yaml
    succeeds "$REPORT" b --out parts
    says parts/report.md "**tiny**: not shown: the manifest has no phases"
    lacks parts/report.md "conv1 to pool2"
}

@test "every run with simulated times has a mark" {
    dp_run a ranks=3 threads=2
    mp_run b name=pipe ranks=5
    sed -i 's/"bubble_predicted": 0.33*/"bubble_predicted": 0.6666666666666666/' b/train/manifest.yaml
    ddp_run 1 c name=many ranks=8
    succeeds "$REPORT" a b c --out out
    says out/report.md "tiny†, ms / step | % | bytes / step |"
    says out/report.md "**tiny†**: a replica spends"
    says out/report.md "| **tiny†** | 1 | 50.0 %"
    says out/report.md "| **pipe†** | 0 | conv1 to pool2 |"
    says out/report.md "| **many†** | 8 | 1 |"
    [ "$(noted out/report.csv tiny.replica.0.busy)" = 0.75,fraction,SIMULATED ]
    [ "$(noted out/report.csv tiny.dp.bytes.scatter)" = 20,bytes, ]
}

@test "in Chinese" {
    dp_run a
    mp_run b name=pipe
    ddp_run 3 c name=ranks
    succeeds "$REPORT" a b c --out out --lang zh
    says out/report.md "## 并行开销分析"
    says out/report.md "| **广播参数** | 10.0000 | 2.5 % | 100 |"
    says out/report.md "| **pipe** | 0 | conv1 至 pool2 |"
    says out/report.md "0 号进程每次归约需要 3 个向量"
    for text in busy Busy replica stage "a rank"; do
        lacks out/report.md "$text"
    done
}

@test "a malformed figure of a strategy is refused, with its line and column" {
    dp_run a
    sed -i 's/"busy": 0.5,/"busy": "much",/' a/train/manifest.yaml
    fails_with 3 "a/train/manifest.yaml:[0-9]+:[0-9]+: .*busy" "$REPORT" a --out out
    nothing_in out
}

# ---- Real runs ------------------------------------------------------------------------------------------------

get() {
    "$BIN/manifest" get "$1/train/manifest.yaml" "run.execution.$2"
}

# shown VALUE FORMAT [FACTOR]: in the tables' format.
shown() {
    awk -v v="$1" -v f="${3:-1}" "BEGIN { printf \"$2\", v * f }"
}

@test "real runs: the tables hold the numbers of the manifests; train-single has no table" {
    need_training
    local kind k
    make_data data 200 50
    for kind in single dp mp ddp; do
        write_experiment e.yaml name=$kind strategy=$kind world_size=2 "$LENET_BN"
        # V = 12 over 4 ranks: three shards each, no whole subtree.
        [ $kind != ddp ] || write_experiment e.yaml name=ddp strategy=ddp world_size=4 virtual_shards=12
        succeeds "$BIN/train-$kind" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst \
            --threads 1 --out "$kind/train"
    done
    succeeds "$REPORT" single --out alone
    lacks alone/report.md "$heading"
    succeeds "$REPORT" single dp mp ddp --out out
    for k in broadcast scatter gather scatter_gradient reduce; do
        grep -q "^| \*\*.*\*\* | $(shown "$(get dp seconds_per_step.$k)" '%.4f' 1000) | .* % | $(get dp bytes_per_step.$k) |$" \
            out/report.md || fail "dp, $k: not in the table" "$(cat out/report.md)"
    done
    for k in 0 1; do
        grep -Eq "^\| \*\*dp(†)?\*\* \| $k.* \| $(shown "$(get dp replicas.$k.busy)" %.1f 100) % \|" out/report.md ||
            fail "dp, replica $k: not in the table" "$(cat out/report.md)"
        grep -Eq "^\| \*\*mp(†)?\*\* \| $k \| $(get mp stages.$k.first) to $(get mp stages.$k.last) \| $(shown "$(get mp stages.$k.busy)" %.1f 100) % \|.*\| $(get mp stages.$k.bytes_sent_per_step) \|" \
            out/report.md || fail "mp, stage $k: not in the table" "$(cat out/report.md)"
    done
    grep -Eq "^\| \*\*mp(†)?\*\* \| 2 \| 4 \| $(shown "$(get mp bubble_measured)" %.1f 100) % \| 20.0 % \|" out/report.md ||
        fail "the bubble is not in the table" "$(cat out/report.md)"
    grep -Eq "^\| \*\*ddp(†)?\*\* \| 4 \| 2 \| $(get ddp bytes_sent_per_step) \|" out/report.md ||
        fail "ddp: not in the table" "$(cat out/report.md)"
    for k in mp.bubble_predicted dp.busy mp.waiting ddp.copying; do
        succeeds "$REPORT" dp mp ddp --why $k
        [[ $output == *": agrees"* ]] || fail "$k: $output"
    done
}

@test "a study that varies the world size has a column of busy fractions" {
    cat >plan.yaml <<'YAML'
schema: lockstep.plan/1
kind: study
experiment: base.yaml
name: ranks
vary: [world_size]
runs:
  - {name: one, role: variant, set: [], values: {world_size: 1}}
  - {name: two, role: variant, set: [], values: {world_size: 2}}
YAML
    a_run one name=one ranks=1
    ddp_run 1 two name=two load=0.55
    succeeds "$REPORT" one two --plan plan.yaml --out out
    says out/report.md '| world\_size | s / epoch | Verdict | Busy | Test accuracy |'
    # The fixture's comm and wait are 5 % each, halved if loading takes the rest.
    grep -Eq '^\| \*\*1\*\* .* \| 90.0 % \|' out/report.md || fail "$(cat out/report.md)"
    grep -Eq '^\| \*\*2\*\* .* \| 95.0 % \|' out/report.md || fail "$(cat out/report.md)"
    # Without a verdict there is no column of efficiencies, which would have to be explained.
    says out/report.md '<small>Busy: the share of a step'
    says out/report.md "1 - (copy + comm + wait) / wall time"
}
