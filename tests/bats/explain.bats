#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make explain: the runs between two experiments, their execution, and the report on them.
# tests/unit/test_plan.c walks every pair of the project's experiments.
load helpers
load reports

setup() {
    need_tool plan manifest
    export ARTIFACTS=$WORK/artifacts TIME=0
    mkdir -p "$WORK/files/models" && cd "$WORK/files" || return
    small_model models/small.yaml
    an_experiment a
    an_experiment b strategy=ddp world_size=2 virtual_shards=2 global_batch=256 loader_workers=1
}

# an_experiment NAME [KEY=VALUE]...
an_experiment() {
    local name=$1 pair
    shift
    cat >"$name.yaml" <<YAML
schema: lockstep.experiment/1
name: $name
dataset: synthetic
model: small
epochs: 4
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
YAML
    [[ " $* " == *" global_batch="* ]] || echo "global_batch: 64" >>"$name.yaml"
    for pair; do echo "${pair%%=*}: ${pair#*=}" >>"$name.yaml"; done
}

explain() {
    (cd "$ROOT" && exec "$BIN/pipeline" explain "$WORK/files/a.yaml" "$WORK/files/b.yaml" "$@")
}

# effect ID: its value in the report's CSV.
effect() {
    figure "$ARTIFACTS/explain-a-b/report/report.csv" "$1"
}

# steps FILE CONDITION: the names of the items `s` of the ladder for which Python's condition holds.
steps() {
    json "$1" "' '.join(s['name'] for s in page['plan']['items'] if s['compared'] and ($2))"
}

# of NAME EXPRESSION: what it gives for the comparison `c` of that item of the ladder, or of `all`,
# in out/report.json.
of() {
    json out/report.json "[($2) for c in [page['plan']['all']] + [s['compared'] for s in page['plan']['items'] if s['compared']] if c['name'] == '$1'][0]"
}

# ---- The plan --------------------------------------------------------------------------------------------------

@test "plan ladder: one factor at a time, and the reason for a changed order" {
    succeeds "$BIN/plan" ladder a.yaml b.yaml --out plan.yaml
    [ "$(cut -f 1 <<<"$output" | paste -sd ' ')" = "00-a 01-loader-workers 02-virtual-shards 03-world-size \
04-global-batch 05-global-batch-scaled-rate" ] || fail "$output"
    [[ $stderr == "plan: '02-virtual-shards' is changed before 'world-size', which cannot yet change alone: \
'virtual_shards' is 1: it must be a multiple of 'world_size', which is 2" ]] || fail "$stderr"
    [[ ${lines[3]} == *$'\ta.yaml\t'*$'\tstrategy=ddp\tworld_size=2\t'* ]] || fail "${lines[3]}"
    [ "$("$BIN/manifest" get plan.yaml runs.3.changes.world_size.1)" = 2 ]
    succeeds "$BIN/plan" ladder a.yaml b.yaml --set epochs=1 -q
    [ -z "$stderr" ] || fail "$stderr"
    [[ ${lines[0]} == *$'\tepochs=1\t'* ]]
}

@test "plan ladder: validation, and views of the test images, are rungs" {
    an_experiment b validation='{samples: 20}' keep=best early_stopping='{patience: 3}' stop_at='{accuracy: 0.9}' tta=mirror shard_seed=1
    succeeds "$BIN/plan" ladder a.yaml b.yaml
    [ "$(cut -f 1 <<<"$output" | paste -sd ' ')" = "00-a 01-validation 02-test-views 03-shard_seed" ] || fail "$output"
    [[ ${lines[1]} == *'validation={samples: 20}'*'keep=best'*'stop_at={accuracy: 0.9}'* ]] || fail "${lines[1]}"
    # And back: the keys are absent there.
    succeeds "$BIN/plan" ladder b.yaml a.yaml
    [[ ${lines[1]} == *'validation=null'* && ${lines[2]} == *'tta=null'* ]] || fail "$output"
}

@test "plan: an error is reported in one line, and nothing is written" {
    fails_with 2 "they would run the same" "$BIN/plan" ladder a.yaml a.yaml --out plan.yaml
    fails_with 2 "expected 'ladder A B', 'study FILE'" "$BIN/plan" ladder a.yaml --out plan.yaml
    fails_with 2 "expected 'ladder A B', 'study FILE'" "$BIN/plan" walk a.yaml b.yaml
    fails_with 2 "--set 'epochs=0'" "$BIN/plan" ladder a.yaml b.yaml --set epochs=0 --out plan.yaml
    fails_with 3 "cannot find experiment: 'none.yaml' does not exist" "$BIN/plan" ladder a.yaml none.yaml --out plan.yaml
    fails_with 1 "none/plan.yaml" "$BIN/plan" ladder a.yaml b.yaml -q --out none/plan.yaml
    [ ! -e plan.yaml ]
    TOOL=plan fails_with 1 "No space" sh -c "'$BIN/plan' ladder a.yaml b.yaml -q >/dev/full"
}

# ---- The pipeline ----------------------------------------------------------------------------------------------

@test "make explain runs every rung, and more ranks give the same model" {
    need_tool synth-cifar shard train-single train-ddp evaluate report
    local folder=$ARTIFACTS/explain-a-b rung
    succeeds explain
    local answer=$output
    # Before the first training it prints the runs to come and their duration.
    local before=${output%%$'\ntrain '*}
    [ "$(grep -c '^run .*: planned: train-' <<<"$before")" -eq 6 ] || fail "$output"
    [[ $before == *$'\nrun       '"$folder/03-world-size/seed-42: planned: train-ddp, run "*$'\nestimate  all: about '* ]] || fail "$before"
    for rung in 00-a 01-loader-workers 02-virtual-shards 03-world-size 04-global-batch 05-global-batch-scaled-rate; do
        [ -s "$folder/$rung/seed-42/evaluate/manifest.yaml" ] || fail "$rung did not run" "$output"
    done
    cmp "$folder/00-a/seed-42/train/model.st.zst" "$folder/01-loader-workers/seed-42/train/model.st.zst"
    cmp "$folder/02-virtual-shards/seed-42/train/model.st.zst" "$folder/03-world-size/seed-42/train/model.st.zst"
    run "$BIN/tensor" diff "$folder"/{01-loader-workers,02-virtual-shards}/seed-42/train/model.st.zst
    [ "$status" -eq 4 ]
    [ "$("$BIN/manifest" get "$folder/03-world-size/seed-42/train/manifest.yaml" run.execution.tool)" = train-ddp ]
    [ "$(effect 03-world-size.accuracy_effect)" = 0 ]
    [ "$(effect 01-loader-workers.accuracy_effect)" = 0 ]
    grep -q '^03-world-size.accuracy_effect,.*,0,0,fraction,identical,' "$folder/report/report.csv"
    [ "$(steps "$folder/report/report.json" "s['compared']['identical']")" = "01-loader-workers 03-world-size" ]
    # Tables first: the last lines are what one sees.
    [[ $answer == *$'\nControl: scaled rate '*$'\nWhat makes the difference from a to b?\n'* ]] || fail "$answer"
    [[ $answer == *$'\nEach run was executed once.'* ]] || fail "$answer"
    # A verdict takes three executions; without one no change of time is shown.
    grep -Eq '^\| \*\*World size, strategy\*\* \| [0-9.]+(†)? \| no verdict' "$folder/report/report.md" ||
        fail "$(cat "$folder/report/report.md")"
    grep -qF "'virtual\\_shards' is 1: it must be a multiple of 'world\\_size', which is 2" "$folder/report/report.md"
    succeeds "$BIN/manifest" verify "$folder/report/manifest.yaml"

    # The second time nothing runs, and the answer is still given.
    succeeds explain
    [[ $output != *": running"* ]] || fail "$output"
    [[ $output == *"What makes the difference from a to b?"* ]]
    [[ $output == *"estimate  all: nothing left to run"* ]] || fail "$output"
    # --why traces an effect back to both runs.
    succeeds "$BIN/report" "$folder"/0* --plan "$folder/plan.yaml" --why 04-global-batch.accuracy_effect
    [[ $output == *"03-world-size.accuracy = "*": agrees"*"04-global-batch.accuracy = "*": agrees"* ]] || fail "$output"
}

@test "make explain: views of the test images are a rung that trains nothing" {
    need_tool synth-cifar train-single evaluate report
    local folder=$ARTIFACTS/explain-a-b
    an_experiment b loader_workers=1 tta=mirror-shift
    succeeds explain
    [ "$(grep -c '^train .*: running' <<<"$output")" -eq 2 ] || fail "$output"
    [ "$(readlink "$folder/02-test-views/seed-42")" = "$(readlink "$folder/01-loader-workers/seed-42")" ] ||
        fail "$(ls -l "$folder"/*)"
    [ "$("$BIN/manifest" get "$folder/02-test-views/seed-42/evaluate-mirror-shift/manifest.yaml" parameters.views)" = mirror-shift ]
    # The accuracies are those of the two evaluations.
    for rung in 01-loader-workers/evaluate 02-test-views/evaluate-mirror-shift; do
        [ "$(figure "$folder/report/report.csv" "${rung%/*}.accuracy")" = \
            "$("$BIN/manifest" get "$folder/${rung%/*}/seed-42/${rung#*/}/manifest.yaml" results.accuracy)" ] || fail "$rung"
    done
    grep -qF '| **Views of the test images** |' "$folder/report/report.md"
    grep -qF 'The accuracy of 02-test-views is that of the mean logits of several views' "$folder/report/report.md"
    succeeds explain
    [[ $output != *": running"* ]] || fail "$output"
}

@test "make explain passes on EPOCHS, SEED and SET; repeats give intervals over seeds" {
    need_tool synth-cifar shard train-single evaluate report
    an_experiment b optimizer='{kind: sgd, lr: 0.001, momentum: 0.9}'
    sed -i '/^optimizer: .*0.02/d' b.yaml
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" A="$WORK/files/a.yaml" B="$WORK/files/b.yaml" \
        EPOCHS=1 SEED=7 SET="repeats=3" explain
    # All runs of a seed precede the next seed.
    [ "$(grep -c '^train .*: running' <<<"$output")" -eq 6 ] || fail "$output"
    [[ $(grep '^train ' <<<"$output" | sed -n 2p) == *01-learning-rate/seed-7/train* ]] || fail "$output"
    # The runs of these settings have a separate folder, and in it the report of these seeds.
    local folder=$ARTIFACTS/explain-a-b-epochs=1
    [ -s "$folder/report-repeats=3,seed=7/report.html" ] || fail "$(ls "$ARTIFACTS"/explain-*)"
    [ ! -e "$ARTIFACTS/explain-a-b" ]
    [ "$("$BIN/manifest" get "$folder/01-learning-rate/seed-9/train/manifest.yaml" parameters.epochs)" = 1 ]
    grep -q "p: paired t, 3 seeds, corrected for 1 verdict (Holm)" "$folder/report-repeats=3,seed=7/report.md"
    [ "$(sed -n '/^What makes the difference/,/^report: /p' <<<"$output" | grep -v '^report: ' | wc -L)" -le 100 ] || fail "$output"
}

@test "make explain has a rung for each pattern of 'tensors'" {
    need_tool synth-cifar train-single evaluate report
    an_experiment a 'tensors={bn1.bias: {lr_factor: 2}}'
    an_experiment b 'tensors={"*.bias": {weight_decay: 0.1}, bn1.bias: {lr_factor: 2, trained_epochs: 1}, conv1.weight: {init: whiten}}'
    succeeds explain
    local folder=$ARTIFACTS/explain-a-b rung
    for rung in 00-a 01-tensors..bias 02-tensors.bn1.bias 03-tensors.conv1.weight; do
        [ -s "$folder/$rung/seed-42/evaluate/manifest.yaml" ] || fail "$rung did not run" "$output"
    done
    grep -qF '| **tensors.conv1.weight** |' "$folder/report/report.md"
    "$BIN/manifest" get "$folder/03-tensors.conv1.weight/seed-42/train/manifest.yaml" parameters.tensors >last
    "$BIN/train-single" --experiment b.yaml --print-parameters >b.parameters
    cmp last <("$BIN/manifest" get b.parameters tensors)
}

@test "make explain: errors are reported before anything runs" {
    need_tool train-single synth-cifar
    local tool
    mkdir bin
    for tool in train-single synth-cifar shard evaluate report; do ln -s "$BIN/$tool" bin/; done
    TOOL=pipeline fails_with 1 "its strategy is ddp, and .*train-ddp' is not built" explain --tools "$PWD/bin"
    [ -z "$output" ] || fail "$output"
    cd "$ROOT" || return
    fails_with 3 "cannot find experiment: 'nope'" "$BIN/pipeline" explain nope single
    fails_with 2 "cannot explain: 'scaling': it is a study" "$BIN/pipeline" explain single scaling
    fails_with 2 "explain: a name is missing: expected A=NAME B=NAME" "$BIN/pipeline" explain single
    fails_with 2 "explain: B is missing" "$BIN/pipeline" explain A=single
    [ ! -e "$ARTIFACTS" ]
}

# ---- The report, on runs with known figures --------------------------------------------------

# a_rung NAME [KEY=VALUE]...: a run of that name, executed three times.
a_rung() {
    thrice "$1" name="$1" "${@:2}"
}

@test "the report gives the cost of each step in time and accuracy" {
    runs_of_a_ladder
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --out out
    says out/report.md '# What makes the difference from slow to quick?'
    # The answer comes first, then the causes, what accuracies are worth, and the steps that made a difference.
    says out/report.md '**Always answering '
    sed -n 5p out/report.md | grep -Eq '^\*\*The largest difference in time came from loader workers: 4.00 times as fast \[3\.[0-9]+, 4\.[0-9]+\]\.\*\*$'
    grep -Eq '^- \*\*All together\*\*: quick is 2.00 times as fast \[2\.00, 2\.00\]; the accuracies were not tested\.$' out/report.md
    grep -Eq '^- \*\*Loader workers\*\*: 4.00 times as fast \[3\.[0-9]+, 4\.[0-9]+\]\.$' out/report.md
    grep -Eq '^- \*\*World size, strategy\*\*: 2.00 times as long \[1\.[0-9]+, 2\.[0-9]+\]\.$' out/report.md
    [ "$(steps out/report.json "s['compared']['time']['kind'] == 'same'")" = "03-global-batch 04-scaled 05-rest" ]
    grep -Eq '^\| \*\*Loader workers\*\* \| 1.00 \| -3.00 \| \[-3\.[0-9]+, -2\.[0-9]+\] \| faster \|' out/report.md
    [ "$(steps out/report.json "s['changes'] == [{'key': 'loader_workers', 'from': '0', 'to': '4'}]")" = 01-loader-workers ]
    [ "$(steps out/report.json "s['compared']['identical']")" = "01-loader-workers 02-world-size" ]
    says out/report.md '| **World size, strategy** | 70.00 % | 0 |  | same model |'
    grep -Eq '^\| \*\*Global batch\*\* \| 40.00 % \| -30.00 \| \[-3[0-9.]+, -2[0-9.]+\] \| of two models: different \| [0-9.e-]+ \|' out/report.md
    says out/report.md "<small>p: McNemar's, 100 samples of one seed, corrected for 2 verdicts (Holm).</small>"
    [ "$(of 03-global-batch "c['accuracy_verdict']['tests'], c['accuracy_verdict']['of_models'], c['accuracy_verdict']['adjusted'] < 1e-6")" = "(2, True, True)" ]
    grep -Eq '^- \*\*Global batch\*\*: -30.00 points \[.*\] \(one seed: SET="repeats=3" shows whether it is chance\)\.$' out/report.md
    # The next step is compared with this step, not with the control run.
    grep -q '^| \*\*Control: scaled rate\*\* | 72.00 % | +32.00 |' out/report.md
    grep -q '^| \*\*Rest: augment, seed\*\* | 41.00 % | +1.00 |' out/report.md
    [ "$(of 05-rest "c['baseline'], c['accuracy_verdict']['missing']")" = "('03-global-batch', 'seeds')" ]
    says out/report.md 'A verdict on accuracy needs runs of one common seed, or of 3: SET="repeats=3".'
    [ "$(json out/report.json "[s['cause'] for s in page['plan']['items'] if s['cause']]")" = \
        "[{'most': True, 'one_seed': True, 'step': '03-global-batch'}]" ]
    grep -Eq '^\*\*The accuracy was lost because the learning rate was not scaled with the batch\*\*: a scaled rate gives back \+32\.00 points \[.*\], with one seed\.$' out/report.md
    says out/report.md "The cause is not world size and strategy, which leaves the model the same, bit for bit."
    [ "$(json out/report.json "page['plan']['walks'], [s['published'] for s in page['plan']['items'] if s['published']]")" = "[] []" ]
    lacks out/report.md "ublished"
    grep -q '^01-loader-workers.seconds_per_epoch_effect,01-loader-workers,seconds_per_epoch_effect,-\(3\.0\|2\.9\)[0-9]*,-3' out/report.csv
    grep -q '^all.time_ratio,all,time_ratio,\(2\|1\.99\)[0-9.]*,' out/report.csv
    grep -q 'id="timewalk-title"' out/report.html
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --answer --lang zh
    [[ $output == *"从 slow 到 quick，差别来自哪些因素？"*"加载线程数：速度为 4.00 倍 ["* ]] || fail "$output"
}

@test "a ladder of one step: the step and the total have the same verdict, or none" {
    need_tool report
    plan_of_a_ladder
    sed -i '/02-world\|03-glob\|05-rest/d' plan.yaml
    a_run 00-slow name=00-slow ranks=1 -- 01-loader-workers name=01-loader-workers ranks=1 workers=4 \
        -- 04-scaled name=04-scaled ranks=1 workers=4 bits=y
    # One comparison alone would find a difference, p = 0.038; it is one of two.
    "$PYTHON" "$ROOT/tests/fixtures/make_turns.py" turns spread=0.02 00-slow:0.001 01-loader-workers:0.001054 04-scaled:0.001054
    succeeds "$BIN/report" 0* --plan plan.yaml --turns turns --out out
    [ "$(of 01-loader-workers "c['time']")" = "$(of all "c['time']")" ]
    [ "$(of all "c['time']['kind'], c['time']['tests']")" = "('undecided', 2)" ]
    sed -n 5p out/report.md | grep -Eq '^\*\*quick may be [0-9.]+ to [0-9.]+ % slower: undecided; the model is the same, bit for bit\.\*\*$'
    [ "$(grep '^all.time_ratio' out/report.csv | cut -d , -f 4-8)" = "$(grep '^01-loader-workers.time_ratio' out/report.csv | cut -d , -f 4-8)" ]
    grep -q '^- No step shows a difference in time.$' out/report.md
    # Whole trainings cannot show that there is no difference, either.
    succeeds "$BIN/report" 0* --plan plan.yaml --out out
    grep -q '^- There is no verdict on the time of any step.$' out/report.md
    [ "$(of all "c['time']['kind'], c['time']['missing']")" = "('none', 'turns')" ]
    grep -q '^| \*\*Loader workers\*\* | .* | no verdict: took no turns |' out/report.md
    says out/report.md "A verdict on time needs runs that took turns in 3 executions: the same command without TIME=0."
}

@test "the learning rate is not called the cause if scaling it recovers little or nothing was lost" {
    runs_of_a_ladder
    rm -r 04-scaled
    a_rung 04-scaled workers=4 batch=128 right=50
    succeeds "$BIN/report" 0* --plan plan.yaml --answer
    one_line
    [[ $output == *"The learning rate, which was not scaled with the batch, explains less than half of the lost accuracy: a scaled rate gives back only +10.00 points ["*"], with one seed."* ]] || fail "$output"
    rm -r 04-scaled
    a_rung 04-scaled workers=4 batch=128 right=30
    succeeds "$BIN/report" 0* --plan plan.yaml --answer
    one_line
    [[ $output != *"not scaled with the batch"* ]] || fail "$output"
    rm -r 03-global-batch
    a_rung 03-global-batch workers=4 batch=128 right=71
    rm -r 04-scaled
    a_rung 04-scaled workers=4 batch=128 right=90
    succeeds "$BIN/report" 0* --plan plan.yaml --answer
    one_line
    [[ $output != *"not scaled with the batch"* ]] || fail "$output"
}

@test "the largest difference is named if it is certain, also if it is only a cost here" {
    need_tool report
    plan_of_a_ladder
    sed -i '/03-glob\|scaled\|rest/d' plan.yaml
    a_rung 00-slow ranks=1 cores=2 epochs=4,4,4.04,3.96,4
    a_rung 01-loader-workers ranks=1 cores=2 workers=4 epochs=2,2,2.02,1.98,2
    # Half as long, then twice as long.
    a_rung 02-world-size cores=2 workers=4 epochs=4,4,4.04,3.96,4
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --out out
    [ "$(steps out/report.json "s['compared']['time']['kind'] == 'different'")" = "01-loader-workers 02-world-size" ]
    [ "$(json out/report.json "page['plan']['largest_in_time']")" = None ]
    says out/report.md '**quick takes the same time within ±3 %; the model is the same, bit for bit.**'
    rm -r 02-world-size
    a_rung 02-world-size ranks=4 cores=2 workers=4 epochs=9,9,9.04,8.96,9
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --out out
    sed -n 5p out/report.md | grep -Eq '^\*\*The largest difference in time came from world size and strategy: [34][0-9]{2}–[34][0-9]{2} % more time on these 2 cores\.\*\*$'
    grep -Eq '^- \*\*World size, strategy\*\*: [34][0-9]{2}–[34][0-9]{2} % more time on these 2 cores\.$' out/report.md
}

# ---- Published figures -----------------------------------------------------------------------------------------

# walk QUANTITY EXPRESSION: what it gives for the walk `w` of the published figures of that quantity.
walk() {
    json out/report.json "[($2) for w in page['plan']['walks'] if w['quantity'] == '$1'][0]"
}

# claim SOURCE ROW...: more rows of the claim of that name.
claim() {
    local file=experiments/claim-$1.yaml
    [ -e "$file" ] || printf '%s\n' 'schema: lockstep.claim/1' "name: $1" 'rows:' >"$file"
    shift
    printf '  - %s\n' "$@" >>"$file"
}

# published_runs [SOURCE]: p without loader workers, m with 4, q with 4 on two ranks, each with
# figures; those of m are from SOURCE. And the runs of the ladder from p to q, with its rungs m, and
# m at V = 2.
published_runs() {
    need_tool report
    sed 's/name: small/name: flat/; s/batch_norm, //' models/small.yaml >models/flat.yaml
    an_experiment p
    an_experiment m loader_workers=4
    an_experiment q loader_workers=4 strategy=ddp world_size=2
    sed -i 's/model: small/model: flat/' p.yaml m.yaml q.yaml
    mkdir -p experiments
    cp -r models experiments
    mv p.yaml m.yaml q.yaml experiments
    claim R9 '{name: a, experiment: p, total_seconds: 61}' \
        '{name: b, experiment: p, accuracy: 90.00, total_seconds: 60.0, load_seconds_per_step: 0.004, update_seconds_per_step: 0.001}' \
        '{name: q, experiment: q, accuracy: 60.00, total_seconds: 25.0, seconds_per_epoch: 6}'
    claim "${1:-R9}" '{name: m, experiment: m, accuracy: 91.00, total_seconds: 20.0, note: four}'
    succeeds "$BIN/plan" ladder experiments/p.yaml experiments/q.yaml --set epochs=5 --out plan.yaml -q
    a_rung 00-p ranks=1 shards=1 epochs=2,2,2.02,1.98,2 load=0.5
    a_rung 01-loader-workers ranks=1 shards=1 workers=4 epochs=1.6,1.6,1.61,1.59,1.6
    a_rung 02-virtual-shards ranks=1 workers=4 epochs=1.6,1.6,1.61,1.59,1.6 right=91
    a_rung 03-world-size workers=4 epochs=3.2,3.2,3.21,3.19,3.2 right=91
}

@test "published figures on the ladder: the cause of a source's speed-up, next to the measurement" {
    published_runs
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --out out
    # 60 / 20 and 20 / 25; the entry with more figures counts, and the total, which all three have.
    [ "$(walk total_seconds "[s['effect']['low'] for s in w['steps'] + [w['whole']]], w['cause']['direction'], w['cause']['step']")" = \
        "([3, 0.8, 2.4], 'faster', 0)" ]
    # Before anything that was measured here.
    [ "$(sed -n 5p out/report.md)" = "**In R9's own figures (60.0 → 20.0 → 25.0 s), loader workers gave 3.00 times the speed, world size and strategy 0.80 times.**" ] ||
        fail "$(head -20 out/report.md)"
    says out/report.md '**Here, the largest difference in time came from '
    lacks out/report.md "Where several factors"
    # The second step is measured from the run that is equal to m in V, too.
    [ "$(walk total_seconds "[(round(s['here']['ratio']['value'], 2), s['here']['baseline'], s['shards_before'], s['shards_after']) for s in w['steps']]")" = \
        "[(1.25, '00-p', 1, 1), (0.5, '01-loader-workers', 1, 2)]" ]
    says out/report.md 'Here, loading takes 50.0 % of a step of 00-p, so taking it off that step gives at most 2.00 times the speed. The measured 1.25 times [1.23, 1.27] agrees with that.'
    grep -qF 'A speed-up of 3.00, as in R9, requires a step that waits for data for at least 67 % of its time.' out/report.md
    grep -qF 'A step of R9 spent 80 % of its time on loading (0.004 s, then 0.001 s on the update).' out/report.md
    # Of 100 images, one is noise and 31 are not.
    [ "$(walk accuracy "[(s['effect']['low'], s['noise']) for s in w['steps']], w['cause']")" = "([(1, 100), (-31, None)], None)" ]
    says out/report.md '| **loader workers** | 90.00 → 91.00 %; within the noise of 100 test images | +1.00 points | same model: exactly 0 | four |'
    grep -Eq '^\| \*\*world size and strategy\*\* \| 91.00 → 60.00 % \| -31.00 points \| \+21.00 points \[.*\] \(batch norm over 64 → 32 samples; one seed\) \|' out/report.md
    grep -qF 'R9 trained for 4 epochs, but p trains for 5 epochs here' out/report.md
    # Next to the rungs, and as a separate walk.
    says out/report.md '| 10.50 | 60.0 s, 4 epochs (R9) | 00-p |'
    says out/report.md '| 16.50 | 6 s per epoch, 25.0 s, 4 epochs (R9) | 03-world-size |'
    grep -q '^| \*\*World size, strategy\*\* | 91.00 % | .* | 60.00 %, 4 epochs (R9) |' out/report.md
    grep -qF '| **loader workers** | 60.0 → 20.0 s | 3.00 times | 1.25 times as fast [' out/report.md
    says out/report.md '| **All together** | 60.0 → 25.0 s | 2.40 times | 1.60 times as long ['
    grep -q '^00-p.load_share,00-p,load_share,0.5,' out/report.csv
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --answer
    one_line
    [[ $output == *"In R9's own figures (60.0 → 20.0 → 25.0 s), loader workers gave 3.00 times the speed, "*"Here, loading takes 50.0 % "* ]] || fail "$output"
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --answer --lang zh
    output=$(tr -d '\n' <<<"$output")
    [[ $output == *"按 R9 自己的数据（60.0 → 20.0 → 25.0 秒），加载线程带来 3.00 倍的速度，进程数与策略带来 0.80 倍的速度。"* ]] || fail "$output"
}

@test "what loader workers gained beyond the bound of their share is said to be so" {
    published_runs
    rm -r 00-p
    a_rung 00-p ranks=1 shards=1 epochs=2,2,2.02,1.98,2 load=0.1
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --out out
    says out/report.md 'Here, loading takes 10.0 % of a step of 00-p, so taking it off that step gives at most 1.11 times the speed. Measured were 1.25 times [1.23, 1.27]: the bound leaves out what loading costs the computing beside it, in memory and caches, and comes from whole trainings.'
    succeeds in_turns "$BIN/report" 0* --plan plan.yaml --out out --lang zh
    says out/report.md '最多加速到 1.11 倍。实测为 1.25 倍 [1.23, 1.27]：上限未计入加载对同时进行的计算造成的内存与缓存开销，且取自完整的训练。'
}

@test "published: one accuracy in other numbers of epochs; here the epochs are equal" {
    published_runs
    rm experiments/claim-*
    claim R9 '{name: p, experiment: p, accuracy: 90, epochs: 8}' '{name: m, experiment: m, accuracy: 90.01, epochs: 2}'
    sed -i 's/^epochs: .*/epochs: 8/' experiments/p.yaml
    sed -i 's/^epochs: .*/epochs: 2/' experiments/[mq].yaml
    succeeds "$BIN/plan" ladder experiments/p.yaml experiments/q.yaml --set epochs=5 --out plan.yaml -q
    succeeds "$BIN/report" 0* --plan plan.yaml --out out
    grep -qF '| **loader workers** | 90 → 90.01 %; 8 → 2 epochs | 0.25 times the epochs | same model: exactly 0 (both of 5 epochs) |' out/report.md ||
        fail "$(grep -A9 'Published figures along' out/report.md)"
    [ "$(walk accuracy "[(s['factors'], s['epochs_ratio'], s['noise']) for s in w['steps']]")" = "[(['loader-workers'], 0.25, None)]" ]
    # Another accuracy after another number of epochs has two possible causes.
    sed -i 's/accuracy: 90.01/accuracy: 70/' experiments/claim-R9.yaml
    succeeds "$BIN/plan" ladder experiments/p.yaml experiments/q.yaml --set epochs=5 --out plan.yaml -q
    succeeds "$BIN/report" 0* --plan plan.yaml --out out
    says out/report.md '| **loader workers + the number of epochs together** | 90 → 70 %; 8 → 2 epochs | -20.00 points | same model: exactly 0 (both of 5 epochs) |'
    says out/report.md 'Where several factors changed together, the figures do not show which was the cause.'
}

@test "published figures of different sources are not compared with each other" {
    published_runs R8
    succeeds "$BIN/report" 0* --plan plan.yaml --out out
    # From p to q R9 has both ends, but its factors stay together; R8 has one end, and is not
    # mentioned.
    [ "$(json out/report.json "[(w['source'], w['quantity'], [s['factors'] for s in w['steps']], w['cause']) for w in page['plan']['walks']]")" = \
        "[('R9', 'total_seconds', [['loader-workers', 'world-size']], None), ('R9', 'accuracy', [['loader-workers', 'world-size']], None)]" ]
    says out/report.md '| **loader workers + world size and strategy together** | 60.0 → 25.0 s | 2.40 times |'
    [ "$(grep -c 'Where several factors changed together, the figures do not show which was the cause.' out/report.md)" -eq 1 ]
    says out/report.md '| 8.50 | 20.0 s, 4 epochs (R8) | 01-loader-workers |'
    ! grep -q "R8's\|own figures\|Here, loading takes" out/report.md || fail "figures of other work are shown as published"
    sed -i '/name: q/d' experiments/claim-R9.yaml
    claim R7 '{name: q, experiment: q, total_seconds: 25.0}'
    succeeds "$BIN/plan" ladder experiments/p.yaml experiments/q.yaml --set epochs=5 --out plan.yaml -q
    succeeds "$BIN/report" 0* --plan plan.yaml --answer
    [[ $output != *"own figures"* && $output != *"Here, loading takes"* ]] || fail "$output"
    succeeds "$BIN/report" 0* --plan plan.yaml --out none
    [ "$(json none/report.json "page['plan']['walks']")" = "[]" ]
    # With this setting the work is not the published work.
    succeeds "$BIN/plan" ladder experiments/p.yaml experiments/q.yaml --set global_batch=32 --out plan.yaml -q
    ! grep -q 'source: R' plan.yaml || fail "figures of other work are shown as published"
    sed 's/^  role: start/  role: start\n  published: [{source: A, total_seconds: 0}]/' plan.yaml >bad.yaml
    fails_with 3 "'total_seconds': expected a number or .LOW, HIGH. above 0" "$BIN/report" 0* --plan bad.yaml --out out
}

@test "three seeds separate an effect on accuracy from chance" {
    need_tool report
    local seed
    plan_of_a_ladder
    sed -i '/world-size\|scaled\|rest/d' plan.yaml
    for seed in 1 2 3; do
        "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "s/seed-$seed" name=00-slow seed=$seed right=$((70 + seed))
        "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "w/seed-$seed" name=01-loader-workers seed=$seed right=$((70 + seed)) workers=4
        "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "b/seed-$seed" name=03-global-batch seed=$seed right=$((60 - seed)) batch=128
    done
    succeeds "$BIN/report" s w b --plan plan.yaml --out out
    # Differences -12, -14, -16: mean -14, standard error 2 / sqrt 3, t = 4.303.
    says out/report.md '- **Global batch**: -14.00 points [-18.97, -9.03].'
    says out/report.md '**The largest difference in accuracy came from the global batch: -14.00 points [-18.97, -9.03].**'
    grep -q '^| \*\*Global batch\*\* | 58.00 % | -14.00 | \[-18.97, -9.03\] | different | 0.0067 |' out/report.md
    [ "$(of 03-global-batch "c['accuracy_verdict']['test'], c['accuracy_verdict']['subject'], c['accuracy_verdict']['of_models']")" = "('seeds', 3, False)" ]
    says out/report.md '| **Loader workers** | 72.00 % | 0 |  | same model |'
    grep -q '^01-loader-workers.total_seconds_effect,01-loader-workers,total_seconds_effect,0,,,s,' out/report.csv
}

@test "a step without comparable times has no time effect, and gives the reason" {
    runs_of_a_ladder
    rm -r 02-world-size
    a_rung 02-world-size workers=4 host=there epochs=2,2,2.02,1.98,2
    succeeds "$BIN/report" 0* --plan plan.yaml --out out
    grep -q '^| \*\*World size, strategy\*\* | 2.00 | not like for like: host there vs here |' out/report.md
    [ "$(steps out/report.json "s['compared']['time']['missing'] == 'like-for-like'")" = "02-world-size 03-global-batch" ]
    # What has no verdict may be the largest.
    [ "$(json out/report.json "page['plan']['largest_in_time']")" = None ]
    grep -q '^02-world-size.seconds_per_epoch_effect,[^,]*,[^,]*,,,,s,not like for like: host there vs here,' out/report.csv
    rm -r 03-global-batch
    a_rung 03-global-batch workers=4 batch=128 resumed=1
    succeeds "$BIN/report" 0* --plan plan.yaml --out out
    grep -qF 'not like for like: 03-global-batch was resumed' out/report.md
}

@test "invalid plans, and runs that do not match the plan, are refused" {
    runs_of_a_ladder
    a_rung other
    fails_with 3 "its experiment is 'other', which is not in the plan" "$BIN/report" 0* other --plan plan.yaml --out out
    fails_with 3 "no run of '04-scaled' among the folders" "$BIN/report" 00* 01* 02* 03* 05* --plan plan.yaml --out out
    fails_with 2 "baseline cannot be used with this --plan" "$BIN/report" 0* --plan plan.yaml --baseline 00-slow --out out
    fails_with 2 "--answer requires --plan" "$BIN/report" 0* --answer
    sed 's/role: control/role: start/' plan.yaml >bad.yaml
    fails_with 3 "bad.yaml:11:.*'role': not allowed at this place" "$BIN/report" 0* --plan bad.yaml --out out
    sed 's/role: control/role: aside/' plan.yaml >bad.yaml
    fails_with 3 "expected start, step, control or variant, got 'aside'" "$BIN/report" 0* --plan bad.yaml --out out
    echo 'schema: lockstep.study/1' >bad.yaml
    fails_with 3 "expected a plan: schema lockstep.plan/1" "$BIN/report" 0* --plan bad.yaml --out out
    fails_with 3 "none.yaml" "$BIN/report" 0* --plan none.yaml --out out
    nothing_in out
}
