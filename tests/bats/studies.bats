#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Studies: every variant is run, and one report shows the varied settings and, for loader workers,
# the waiting time of a step. tests/unit/test_plan.c tests study files.
load helpers
load reports

setup() {
    need_tool plan manifest
    export ARTIFACTS=$WORK/artifacts
    mkdir -p "$WORK/files" && cd "$WORK/files" || return
}

write_study() {
    small_model small.yaml
    cat >base.yaml <<'YAML'
schema: lockstep.experiment/1
name: base
dataset: synthetic
model: small.yaml
global_batch: 128
epochs: 4
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
YAML
    cat >workers.yaml <<'YAML'
schema: lockstep.study/1
name: workers
base: base.yaml
vary: {loader_workers: [0, 2]}
YAML
    cat >ranks.yaml <<'YAML'
schema: lockstep.study/1
name: ranks
title: More ranks
base: base.yaml
vary: {virtual_shards: [2], strategy: [ddp], epochs: [1], world_size: [1, 2]}
YAML
}

experiment() {
    (cd "$ROOT" && exec "$BIN/pipeline" experiment "$@")
}

@test "plan study: a line for each variant; an error is reported with line and column" {
    write_study
    succeeds "$BIN/plan" study ranks.yaml --out plan.yaml
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[1]} == world_size-2$'\tbase.yaml\tvirtual_shards=2\tstrategy=ddp\tepochs=1\tworld_size=2\t'* ]] || fail "$output"
    [ "$("$BIN/manifest" get plan.yaml runs.1.values.world_size)" = 2 ]
    rm plan.yaml
    sed -i 's/world_size: \[1, 2\]/world_size: [1, 3]/' ranks.yaml
    fails_with 3 "ranks.yaml:5:7: variant 'world_size-3': .*'virtual_shards' is 2: it must be a multiple" \
        "$BIN/plan" study ranks.yaml --out plan.yaml
    fails_with 3 "cannot plan a study: 'base.yaml': it is an experiment; use .lockstep plan runs." "$BIN/plan" study base.yaml --out plan.yaml
    [ ! -e plan.yaml ]
}

@test "a study of loader workers runs every variant and ends with a verdict" {
    need_tool synth-cifar train-single evaluate report
    write_study
    succeeds experiment "$PWD/workers.yaml"
    local folder=$ARTIFACTS/workers
    cmp "$folder"/loader_workers-{0,2}/seed-42/train/model.st.zst
    [ "$("$BIN/manifest" get "$folder/loader_workers-2/seed-42/train/manifest.yaml" run.execution.loader_workers)" = 2 ]
    one_line
    [[ $output =~ (Loading\ bounds\ the\ step\ with|Computing\ bounds\ the\ step\ with|Undecided\ what\ bounds\ it:)\ loader_workers ]] || fail "$output"
    sed -n 5p "$folder/report/report.md" | grep -q '^\*\*.*loader..workers.* the fastest\|^\*\*No difference in time can be told\|^\*\*There is no verdict on which is the fastest' || fail "the report does not begin with a verdict"
    grep -q '| Load share |' "$folder/report/report.md"
    grep -q '^loader_workers-0.load_share,' "$folder/report/report.csv"
    succeeds "$BIN/report" "$folder"/loader* --plan "$folder/plan.yaml" --why loader_workers-0.load_share
    [[ $output == *"loader_workers-0.step.load = "*": agrees"* ]] || fail "$output"
    # Turns go on if other programs left too few quiet rounds.
    succeeds experiment "$PWD/workers.yaml"
    ! grep -E '^(train|evaluate) .*: running' <<<"$output" || fail "$output"
}

@test "make experiment runs a study and passes SET on; compare refuses a study" {
    need_tool synth-cifar shard train-ddp evaluate report
    write_study
    measured "$ARTIFACTS"
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" EXP="$PWD/ranks.yaml" SET="title=x" experiment
    cmp "$ARTIFACTS"/ranks/world_size-{1,2}/seed-42/train/model.st.zst
    local report="$ARTIFACTS/ranks/report-title=x"
    [ ! -e "$ARTIFACTS/ranks/report" ]
    grep -q '^# More ranks' "$report/report.md"
    grep -Fq '| world\_size | s / epoch | ' "$report/report.md"
    if grep -q 'bounds the step' "$report/report.md"; then fail "the report has a verdict on the loader"; fi
    # It is found by name among the experiments, but cannot be compared as one.
    run experiment nope
    [[ $output == *"has these: "*" scaling"* ]] || fail "$output"
    cd "$ROOT" || return
    fails_with 2 "cannot compare: 'workers': it is a study" "$BIN/pipeline" compare single workers
}

# ---- The verdict, on runs with known figures --------------------------------------------------

# items EXPRESSION: what it gives for each variant `v` in out/report.json.
items() {
    json out/report.json "[($1) for v in page['plan']['items']]"
}

variant() {
    thrice "loader_workers-$1" name="loader_workers-$1" workers="$1" "${@:2}"
}

write_plan() {
    cat >plan.yaml <<'YAML'
schema: lockstep.plan/1
kind: study
experiment: base.yaml
name: workers
vary: [loader_workers]
runs:
  - {name: loader_workers-0, role: variant, set: [], values: {loader_workers: 0}}
  - {name: loader_workers-2, role: variant, set: [], values: {loader_workers: 2}}
  - {name: loader_workers-4, role: variant, set: [], values: {loader_workers: 4}}
YAML
}

@test "a published speed-up is shown next to ours over the same run, not over the first run" {
    need_tool report
    write_plan
    variant 0 epochs=4,4,4.04,3.96,4
    variant 2 epochs=2,2,2.02,1.98,2
    variant 4
    sed -i 's/ values: {loader_workers: 2}/ published: [{source: X, claim: gone.yaml, speed_up: 1}],&/
        s/ values: {loader_workers: 4}/ published: [{source: X, where: table 1, claim: gone.yaml, speed_up: ~1.5, over: loader_workers-2}],&/' plan.yaml
    succeeds in_turns "$BIN/report" loader* --plan plan.yaml --out out
    # 2 s against 1 s; over loader_workers-0 it would be 4.
    grep -qF '| **loader\_workers-4** | Speed-up | ~1.5 | 2.00 | X, table 1 |' out/report.md || fail "$(cat out/report.md)"
    # The row that is the base of others has no speed-up.
    grep -q '^| \*\*loader..workers-2\*\* | Speed-up | 1 |  |' out/report.md || fail "$(cat out/report.md)"
}

@test "loader bound and compute bound, with the measured range" {
    need_tool report
    write_plan
    variant 0 load=0.8 epochs=4,4,4.04,3.96,4
    variant 2 load=0.5 epochs=2,2,2.02,1.98,2
    variant 4 load=0.125 'published=[{"source": "R004", "load_seconds": 0.0005, "accuracy": [70, 80]}]'
    succeeds in_turns "$BIN/report" loader* --plan plan.yaml --answer
    one_line
    [[ $output == *"loader_workers 4 is the fastest: 4.00 times as fast ["*"], compared with loader_workers 0."* ]] || fail "$output"
    [[ $output == *"Loading bounds the step with loader_workers 0."* ]] || fail "$output"
    [[ $output == *"Computing bounds the step with loader_workers 4."* ]] || fail "$output"
    [[ $output == *"Undecided what bounds it: loader_workers 2."* ]] || fail "$output"
    succeeds in_turns "$BIN/report" loader* --plan plan.yaml --out out
    grep -Eq '^\| \*\*2\*\* \| 2.00 \| 2.00× \| \[1.9[0-9], 2.0[0-9]\] \| [0-9.e-]+ \| faster \| 50.0 % \| \[50.0, 50.0\] \| 70.00 % \| 10.50 \|' out/report.md ||
        fail "$(cat out/report.md)"
    [ "$(items "v['bound']")" = "['loader', 'undecided', 'compute']" ]
    [ "$(items "v['in_time']")" = "['behind', 'behind', 'first']" ]
    [ "$(items "v['compared'] and v['compared']['time']['tests']")" = "[None, 2, 2]" ]
    [ "$(json out/report.json "[tuple(round(f[k], 9) for k in ('value', 'low', 'high')) for f in page['figures'] if f['id'].endswith('.load_share')]")" = "[(0.8, 0.8, 0.8), (0.5, 0.5, 0.5), (0.125, 0.125, 0.125)]" ]
    grep -qF '| **loader\_workers-4** | Load, s / step | 0.0005 | 0.0125 | R004 |' out/report.md
    grep -qF '| **loader\_workers-4** | Test accuracy | 70–80 % | 70.00 % | R004 |' out/report.md
    succeeds in_turns "$BIN/report" loader* --plan plan.yaml --answer --lang zh
    one_line
    [[ ${output// /} == *"受加载限制：loader_workers0。"* ]] || fail "$output"
}

@test "one execution per variant, and runs without times" {
    need_tool report
    write_plan
    a_run 0 name=loader_workers-0 workers=0 load=0.8 epochs=4,4,4
    a_run 2 name=loader_workers-2 workers=2 load=0.4 epochs=2,2,2
    a_run 4 name=loader_workers-4 workers=4 resumed=1
    succeeds "$BIN/report" 0 2 4 --plan plan.yaml --answer
    one_line
    [[ $output == *"There is no verdict on which is the fastest."*"Loading bounds the step with loader_workers 0. Computing bounds the step with loader_workers 2."* ]] || fail "$output"
    succeeds "$BIN/report" 0 2 4 --plan plan.yaml --out out
    [ "$(items "v['bound']")" = "['loader', 'compute', None]" ]
    [ "$(items "v['compared'] and v['compared']['time']['missing']")" = "[None, 'turns', 'like-for-like']" ]
    grep -qF "| no verdict: took no turns |" out/report.md
    says out/report.md "No times are shown for loader\_workers-4: it was resumed,"
    says out/report.md "A verdict on time needs runs that took turns in 3 executions: the same command without TIME=0."
}

@test "a sweep of two keys is a table of accuracies, shaded" {
    need_tool report
    local n=0 rate batch seed
    printf 'schema: lockstep.plan/1\nkind: study\nexperiment: base.yaml\nname: sweep\nvary: [optimizer.lr, global_batch]\nruns:\n' >plan.yaml
    for rate in 0.01 0.1; do
        for batch in 32 64 128; do
            n=$((n + 1))
            for seed in 1 2 3; do
                "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "r$n/seed-$seed" name="r$n" seed="$seed" batch="$batch" bits="$n-$seed" right=$((50 + 3 * n + seed))
            done
            echo "  - {name: r$n, role: variant, set: [], values: {optimizer.lr: $rate, global_batch: $batch}}" >>plan.yaml
        done
    done
    succeeds "$BIN/report" r? --plan plan.yaml --out out
    grep -qF '**Best: optimizer.lr 0.1, global\_batch 128, 70.00 % ±' out/report.md || fail "$(head -30 out/report.md)"
    grep -qF '| **0.01** | 55.00 % | 58.00 % | 61.00 % |' out/report.md
    grep -qF '| **0.1** | 64.00 % | 67.00 % | 70.00 % |' out/report.md
    # From the lowest accuracy, which has no shade, to the highest.
    grep -q 'class=n title="report DIR... --why r1.mean_accuracy">' out/report.html
    grep -q 'style="background:rgba(var(--shade),0.85)" title="report DIR... --why r6.mean_accuracy">' out/report.html
}

# a_rate RATE ACCURACY...: three seeds of a variant of that rate, in per cent.
a_rate() {
    local rate=$1 seed=0 right
    shift
    for right; do
        seed=$((seed + 1))
        a_run "$rate/$seed" name="optimizer.lr-$rate" bits="$rate" seed="$seed" right="$right"
    done
}

write_rates() {
    local rate
    printf 'schema: lockstep.plan/1\nkind: study\nexperiment: base.yaml\nname: rates\nvary: [optimizer.lr]\nruns:\n' >plan.yaml
    for rate; do
        echo "  - {name: optimizer.lr-$rate, role: variant, set: [], values: {optimizer.lr: $rate}}" >>plan.yaml
    done
}

@test "three seeds that do not tell two values apart: the difference, its interval, and how many seeds would" {
    need_tool report
    write_rates 0.01 0.03 0.1
    a_rate 0.01 91 90 94
    a_rate 0.03 33 45 80
    a_rate 0.1 11 12 10
    succeeds "$BIN/report" 0.* --plan plan.yaml --out out
    says out/report.md '**Best: optimizer.lr 0.01, 91.67 % ± 5.17.** Not to be told from it: optimizer.lr 0.03. About 6 seeds of each would tell: SET="repeats=6".'
    # Differences of 58, 45 and 14 points: 39 ± 4.303 x 13.05.
    says out/report.md '- **optimizer.lr 0.03**: -39.00 points [-95.15, +17.15], p = 0.096, corrected for 2 comparisons: they cannot be told apart yet. If mean and spread stay as they are, 6 seeds decide, with a probability of 80 %.'
    says out/report.md '| -39.00 [-95.15, +17.15] | not to be told apart (p = 0.096) |'
    says out/report.md '| -80.67 [-88.26, -73.08] | worse (p = 0.00096) |'
    [ "$(json out/report.json "page['plan']['seeds_needed'], [v['against_best'] and v['against_best']['seeds_needed'] for v in page['plan']['items']]")" = "6 [None, 6, None]" ]
    succeeds "$BIN/report" 0.* --plan plan.yaml --out out --lang zh
    says out/report.md '与之无法区分：optimizer.lr 0.03。每个取值约 6 个种子即可区分：SET="repeats=6"。'
    # Seeds that are not common are two means.
    a_run b/4 name=optimizer.lr-0.03 bits=0.03 seed=4 right=33 -- b/5 name=optimizer.lr-0.03 bits=0.03 seed=5 right=45 -- b/6 name=optimizer.lr-0.03 bits=0.03 seed=6 right=80
    succeeds "$BIN/report" 0.01 b 0.1 --plan plan.yaml --out out
    [ "$(json out/report.json "[v['against_best'] and v['against_best']['test'] for v in page['plan']['items']]")" = "[None, 'apart', 'seeds']" ]
    says out/report.md '- **optimizer.lr 0.03**: -39.00 points ['
}

@test "one seed of each value: the test images compare the models, not the settings" {
    need_tool report
    write_rates 0.01 0.03
    a_rate 0.01 91
    a_rate 0.03 33
    succeeds "$BIN/report" 0.* --plan plan.yaml --out out
    says out/report.md 'Every other model is worse. With one seed of each, the test images compare these models, and say nothing about the settings: SET="repeats=3" compares those.'
    says out/report.md '| a worse model (p = '
    succeeds "$BIN/report" 0.* --plan plan.yaml --out out --lang zh
    says out/report.md '其余模型都更差。每个取值仅一个种子：测试图像比较的是这些模型，不能说明设置本身；SET="repeats=3" 才能比较设置。'
}
