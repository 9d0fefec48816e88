#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make reproduce: a list of published reports becomes runs, and one report that shows each row next
# to its published figures. tests/unit/test_plan.c plans every list of the project.
load helpers
load reports

setup() {
    need_tool plan manifest report
    export ARTIFACTS=$WORK/artifacts TIME=0
    mkdir -p "$WORK/files/models" "$WORK/files/claims" && cd "$WORK/files" || return
    small_model models/small.yaml
    an_experiment a 'target_accuracy: 0.05'
    an_experiment b 'strategy: dp' 'world_size: 2' 'virtual_shards: 2' 'target_accuracy: 0.999'
    an_experiment c 'virtual_shards: 2'
    cat >claims/X1.yaml <<'YAML'
schema: lockstep.claim/1
name: X1
rows:
  - {name: one, experiment: a, where: table 1, accuracy: 12.34, seconds_per_epoch: 5.5, note: their box}
  - {name: two, experiment: b, accuracy: [20, 30], total_seconds: 77}
  - {name: three, seconds_per_epoch: 1.00}
  - {name: four, seconds_per_epoch: 2.00}
statements: [{kind: speedup, ratio: 3.00, of: three, than: four}]
YAML
    cat >claims/X2.yaml <<'YAML'
schema: lockstep.claim/1
name: X2
rows:
  - {name: none, experiment: workers/loader_workers-0}
  - {name: one, experiment: workers/loader_workers-1, speed_up: 1.5, over: none, measured: false}
YAML
    cat >workers.yaml <<'YAML'
schema: lockstep.study/1
name: workers
title: Loader workers
base: a.yaml
vary: {epochs: [1], loader_workers: [0, 1]}
YAML
    cat >list.yaml <<'YAML'
schema: lockstep.reproduction/1
name: rows
title: Two reports
quick: {epochs: 1}
reports:
  - source: X1
    title: The first
    claim: claims/X1.yaml
    runs:
      - a.yaml
      - {experiment: b.yaml, set: {epochs: 1}, against: b-alone}
      - {experiment: b.yaml, name: b-alone, set: {epochs: 1, strategy: single, world_size: 1}, against: none, quick: false}
  - source: X2
    claim: claims/X2.yaml
    runs: [c.yaml]
    studies: [workers.yaml]
YAML
}

# an_experiment NAME LINE...
an_experiment() {
    local name=$1
    shift
    printf '%s\n' "schema: lockstep.experiment/1" "name: $name" "dataset: synthetic" "model: small" "global_batch: 128" \
        "epochs: 2" "optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}" "$@" >"$name.yaml"
}

reproduce() {
    (cd "$ROOT" && exec "$BIN/pipeline" reproduce "$WORK/files/list.yaml")
}

# content RUN: its model's content hash.
content() {
    "$BIN/manifest" get "$ARTIFACTS/$1/seed-42/train/manifest.yaml" results.model
}

# ---- The plan --------------------------------------------------------------------------------------------------

@test "plan reproduction: the folder and the settings of each run" {
    succeeds "$BIN/plan" reproduction list.yaml --out plan.yaml
    [ "${lines[0]}" = $'a\ta.yaml' ] || fail "$output"
    [ "${lines[1]}" = $'rows/b\tb.yaml\tepochs=1' ]
    [ "${lines[2]}" = $'rows/b-alone\tb.yaml\tepochs=1\tstrategy=single\tworld_size=1\tname=b-alone' ]
    [ "${lines[3]}" = $'c\tc.yaml' ]
    [[ ${lines[5]} == $'workers/loader_workers-1\ta.yaml\tepochs=1\tloader_workers=1\t'* ]]
    [ "$("$BIN/manifest" get plan.yaml runs.1.full_epochs runs.1.against runs.4.study | paste -sd ' ')" = "2 b-alone workers" ]
    # A seed is in the name of the link; other settings must not replace the existing runs.
    succeeds "$BIN/plan" reproduction list.yaml --set seed=3
    [[ ${lines[0]} == $'a\t'* && ${lines[4]} == $'workers/'* ]] || fail "$output"
    succeeds "$BIN/plan" reproduction list.yaml --set optimizer.lr=0.5
    [[ ${lines[0]} == $'rows-optimizer.lr=0.5/a\t'* && ${lines[4]} == $'rows-optimizer.lr=0.5/workers/'* ]] || fail "$output"
    # The quick run's settings override those that a study sets once.
    succeeds "$BIN/plan" reproduction list.yaml --quick --out quick.yaml
    [ "${#lines[@]}" -eq 5 ] || fail "$output"
    [ "${lines[0]}" = $'rows-quick/a\ta.yaml\tepochs=1' ]
    [ "$("$BIN/manifest" get quick.yaml changed.0)" = epochs=1 ]
    fails_with 3 "runs.1.against" "$BIN/manifest" get quick.yaml runs.1.against
}

@test "plan reproduction: a report is a folder with experiments, studies, rows and a claim" {
    local top=experiments
    mkdir -p $top/models $top/X1 $top/X2 $top/lists
    mv models/small.yaml $top/models
    mv a.yaml b.yaml $top/X1
    mv c.yaml workers.yaml $top/X2
    sed -i 's/base: a.yaml/base: a/' $top/X2/workers.yaml
    mv claims/X1.yaml $top/X1/claim.yaml
    sed -i 's/^rows:/title: The first\nrows:/' $top/X1/claim.yaml
    cat >$top/X1/report.yaml <<'YAML'
schema: lockstep.report/1
runs: [a, {experiment: b, set: {epochs: 1}}]
YAML
    printf '%s\n' 'schema: lockstep.reproduction/1' 'name: rows' 'reports: all' >$top/lists/list.yaml
    succeeds "$BIN/plan" reproduction $top/lists/list.yaml --out plan.yaml
    [ "$output" = $'a\texperiments/X1/a.yaml\nrows/b\texperiments/X1/b.yaml\tepochs=1' ] || fail "$output"
    [ "$("$BIN/manifest" get plan.yaml reports.0.source reports.0.title reports.0.claim | paste -sd ,)" = \
        "X1,The first,experiments/X1/claim.yaml" ] || fail "$(cat plan.yaml)"
    # Another report has another folder.
    printf '%s\n' 'schema: lockstep.report/1' 'source: X2' 'runs: [c]' 'studies: [workers]' >$top/X2/report.yaml
    succeeds "$BIN/plan" reproduction $top/lists/list.yaml --out plan.yaml
    [[ ${lines[2]} == $'c\texperiments/X2/c.yaml' && ${lines[4]} == $'workers/loader_workers-1\texperiments/X1/a.yaml\t'* ]] || fail "$output"
    # Only some of them, and by path.
    sed -i 's/^reports: .*/reports: [X2, ..\/X1\/report.yaml]/' $top/lists/list.yaml
    succeeds "$BIN/plan" reproduction $top/lists/list.yaml
    [[ ${lines[0]} == $'c\t'* && ${lines[3]} == $'a\texperiments/lists/../X1/a.yaml' ]] || fail "$output"
    # Errors are reported in the file that contains them.
    sed -i 's/^reports: .*/reports: [X3]/' $top/lists/list.yaml
    fails_with 3 "lists/list.yaml:3:11: 'reports': .*report.yaml': No such file" "$BIN/plan" reproduction $top/lists/list.yaml
    sed -i 's/^reports: .*/reports: al/' $top/lists/list.yaml
    fails_with 3 "lists/list.yaml:3:10: 'reports': expected a list, or the word 'all'" "$BIN/plan" reproduction $top/lists/list.yaml
    sed -i 's/^reports: .*/reports: all/' $top/lists/list.yaml
    sed -i 's/\[a, /[a, aa, /' $top/X1/report.yaml
    fails_with 3 "experiments/X1/report.yaml:2:11: 'experiment': cannot find experiment: 'aa': did you mean 'a'" \
        "$BIN/plan" reproduction $top/lists/list.yaml
    printf '%s\n' 'schema: lockstep.report/1' 'runs: [c]' >$top/X2/report.yaml
    sed -i 's/aa, //' $top/X1/report.yaml
    fails_with 3 "experiments/X2/report.yaml:1:1: 'source' is missing" "$BIN/plan" reproduction $top/lists/list.yaml
    # Two files of one name.
    cp $top/X1/a.yaml $top/X2/a.yaml
    fails_with 3 "two experiments are called 'a': 'experiments/X1/a.yaml' and 'experiments/X2/a.yaml'" \
        "$BIN/plan" reproduction $top/lists/list.yaml
}

@test "plan reproduction: errors are reported with line and column, and nothing is written" {
    sed 's/against: b-alone/against: b-allone/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:6:5: 'against: b-allone': this report has no such run" \
        "$BIN/plan" reproduction bad.yaml --out plan.yaml
    sed 's/runs: \[c.yaml\]/runs: [c.yaml, a.yaml]/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:15:20: two runs are called 'a'; rename one with 'name'" \
        "$BIN/plan" reproduction bad.yaml --out plan.yaml
    sed 's/set: {epochs: 1}, against: b/set: {epochs: none}, against: b/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:11:9: run 'b': --set 'epochs=none': 'epochs': expected a number" \
        "$BIN/plan" reproduction bad.yaml --out plan.yaml
    sed 's/claim:/claimm:/' list.yaml >bad.yaml
    fails_with 3 "unknown key 'claimm': did you mean 'claim'" "$BIN/plan" reproduction bad.yaml --out plan.yaml
    fails_with 2 "--quick applies only to 'reproduction'" "$BIN/plan" study workers.yaml --quick
    [ ! -e plan.yaml ]
}

@test "plan reproduction: errors in the quick settings are reported with line and column, too" {
    sed 's/quick: {epochs: 1}/quick: {epochs: many}/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:4:17: run 'a': 'epochs': expected a number, got 'many'" \
        "$BIN/plan" reproduction bad.yaml --quick --out plan.yaml
    sed 's/quick: {epochs: 1}/quick: {loader_workers: 1, epoch: 1}/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:4:28: unknown key 'epoch': did you mean 'epochs'" \
        "$BIN/plan" reproduction bad.yaml --out plan.yaml
    sed 's/quick: {epochs: 1}/quick: 1/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:4:8: 'quick': expected a mapping" "$BIN/plan" reproduction bad.yaml --out plan.yaml
    # Settings of a single run, and settings that do not fit the experiment.
    sed 's/runs: \[c.yaml\]/runs: [{experiment: c.yaml, quick: {global_batch: 0}}]/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:15:55: run 'c': 'global_batch': expected an integer" \
        "$BIN/plan" reproduction bad.yaml --quick --out plan.yaml
    sed 's/runs: \[c.yaml\]/runs: [{experiment: c.yaml, quick: [1]}]/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:15:40: 'quick': expected a mapping" "$BIN/plan" reproduction bad.yaml --out plan.yaml
    sed 's/quick: {epochs: 1}/quick: {global_batch: 127}/' list.yaml >bad.yaml
    fails_with 3 "bad.yaml:4:23: run 'b': .*'virtual_shards' is 2: it must divide" \
        "$BIN/plan" reproduction bad.yaml --quick --out plan.yaml
    # Errors that only a study can have.
    sed -i 's/a.yaml/d.yaml/' workers.yaml
    an_experiment d "schedule: {kind: multistep, milestones: [1], gamma: 0.1, warmup_epochs: 2}"
    sed '/epochs: \[1\]/s/epochs: \[1\], //' -i workers.yaml
    fails_with 3 "list.yaml:4:17: study .*workers.yaml': 'schedule.warmup_epochs' is 2: more than the 1 epochs" \
        "$BIN/plan" reproduction list.yaml --quick --out plan.yaml
    # Errors on the command line are reported as such.
    fails_with 2 "^plan: --set 'epochs=few': " "$BIN/plan" reproduction list.yaml --set epochs=few
    [ ! -e plan.yaml ]
}

# ---- The pipeline ----------------------------------------------------------------------------------------------

@test "make reproduce: an estimate, every run, and one report by source; a second call does nothing" {
    need_tool synth-cifar shard train-single train-dp evaluate bench-allreduce
    local report=$ARTIFACTS/rows/report
    succeeds reproduce
    # The data comes first: a run is timed, and its inputs are known. Nothing trains before the
    # estimate.
    local before=${output%%$'\ntrain '*}
    [[ $before == "fetch "*$'\nestimate '* ]] || fail "$output"
    [[ $(grep '^estimate' <<<"$before" | head -n 1) =~ ^"estimate  $ARTIFACTS/a/seed-42: 2 epochs, "[0-9]+" s"$ ]] || fail "$output"
    [[ $before == *$'\n'"estimate  finished: 0 of 6 runs"$'\n'"estimate  all: about "* ]] || fail "$output"
    [ "$(content rows/b)" = "$(content rows/b-alone)" ]
    # Published next to our own, with the number of epochs.
    says "$report/report.md" "# Two reports"
    grep -Eq '^\| X1 \| \*\*a\*\* \| 2 \| 12.34 % \| [0-9.]+ % \| 5.5 \| [0-9.]+ \|' "$report/report.md" || fail "$(cat "$report/report.md")"
    grep -Eq '^\| X1 \| \*\*b\*\* \| 1 of 2 \| 20–30 % \| [0-9.]+ % \|  \| [0-9.]+ ' "$report/report.md" || fail "$(cat "$report/report.md")"
    # The answer counts the one row of full length.
    [ "$(json "$report/report.json" "*(page['reproduction'][k] for k in ('whole', 'compared', 'within'))")" = "3 1 0" ]
    says "$report/report.md" "**No, not in accuracy: the published one is outside our 95 % interval in the only row with the same number of epochs.**"
    # The difference of that row comes first.
    says "$report/report.md" "![differences](figures/differences.svg)"
    # Without a verdict there is no speed-up of ours.
    # shellcheck disable=SC2016 # Markdown
    grep -Eq '^\| X2 \| \*\*workers: loader\\_workers-1\*\* \|.*\| 1.5 \| `[0-9a-f]+` \|' "$report/report.md" || fail "$(cat "$report/report.md")"
    ! grep -q '^| X2 | .*loader..workers-0' "$report/report.md" || fail "the report has a row without figures"
    grep -q '^| \*\*a\*\* | Test accuracy | 12.34 % | .* | X1, table 1 | their box |$' "$report/report.md" || fail "$(cat "$report/report.md")"
    # Per source: its comparisons, each with its own baseline, its findings, its study.
    says "$report/report.md" "## X1: The first"
    grep -Eq '^\| \*\*b\*\* \| b-alone \|.*\| yes \| \+0.00 \| same model \| 99.9 % not reached \|' "$report/report.md" || fail "$(cat "$report/report.md")"
    grep -Eq '^\| \*\*a\*\* \|  \| baseline \|.*\| [0-9.]+ s to 5 % \|' "$report/report.md" || fail "$(cat "$report/report.md")"
    says "$report/report.md" "**Arithmetic error**: 'three' 3.00 times as fast as 'four': the rows give a different figure"
    [ "$(grep -c '^## ' "$report/report.md")" -ge 4 ]
    says "$report/report.md" "### Loader workers"
    says "$report/manifest.yaml" "claims/X1.yaml"
    [[ $output == *$'\nTwo reports\n'* ]] || fail "$output"
    succeeds "$BIN/manifest" verify "$report/manifest.yaml"
    # --why traces a figure back to both runs.
    succeeds "$BIN/report" "$ARTIFACTS"/{a,rows/b,rows/b-alone,c,workers/loader_workers-{0,1}} --plan "$ARTIFACTS/rows/plan.yaml" --why b.speedup
    [[ $output == *"b-alone.seconds_per_epoch = "*": agrees"*"b.seconds_per_epoch = "*": agrees"* ]] || fail "$output"
    # Its tables go into a document.
    cp "$ROOT/docs/results.md" results.md
    REPORT=$report/report.md DOCS=results.md succeeds "$ROOT/pipelines/write-results.sh"
    grep -Eq '^\| X1 \| \*\*b\*\* \| 1 of 2 \|' results.md || fail "$(cat results.md)"
    says results.md "### X1: The first"
    succeeds reproduce
    [[ $output != *": running"* && $output == *"estimate  all: nothing left to run"* ]] || fail "$output"
    [ -z "$(find "$ARTIFACTS" -name '.work-*')" ]
    # Missing runs are named, and only these are estimated.
    local kept
    kept=$(readlink -f "$ARTIFACTS/c/seed-42")
    mv "$kept" "$WORK/kept"
    DRY_RUN=1 succeeds reproduce
    [[ $output == *"estimate  $ARTIFACTS/c/seed-42: 2 epochs, "*$'\n'"estimate  finished: 5 of 6 runs"* ]] || fail "$output"
    [[ $output != *"estimate  $ARTIFACTS/a/"* && $output != *$'\n'train* ]] || fail "$output"
    mv "$WORK/kept" "$kept"
    need_read_only
    cd "$ROOT" && succeeds read_only "$ARTIFACTS" "$BIN/pipeline" reproduce "$WORK/files/list.yaml"
    [[ $output != *": running"* && $output == *"estimate  all: nothing left to run"* ]] || fail "$output"
}

@test "make reproduce: the runs of a report take turns, unless TIME=0" {
    need_tool synth-cifar shard train-single train-dp evaluate bench-allreduce
    measured "$ARTIFACTS"
    succeeds reproduce
    [ ! -e "$ARTIFACTS/turns" ]
    PRECISION='' TIME='' DRY_RUN=1 succeeds reproduce
    [[ $output == *"estimate  turns: "*" runs, to ±1 %: at most "* ]] || fail "$output"
}

@test "QUICK=1 has a separate folder, and its report is marked as shortened" {
    need_tool synth-cifar shard train-single train-dp evaluate bench-allreduce
    export QUICK=1
    measured "$ARTIFACTS"
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" LIST="$PWD/list.yaml" REPORT_FLAGS="--lang zh" reproduce
    [ ! -e "$ARTIFACTS/a" ]
    [ "$("$BIN/manifest" get "$ARTIFACTS/rows-quick/a/seed-42/train/manifest.yaml" parameters.epochs)" = 1 ]
    says "$ARTIFACTS/rows-quick/report-lang=zh/report.md" "已缩短或改动：每次运行都使用了 epochs=1。"
    says "$ARTIFACTS/rows-quick/report-lang=zh/report.md" "1 / 2"
    says "$ARTIFACTS/rows-quick/report-lang=zh/report.md" '“three”的速度是“four”的 3.00 倍：由各行得出的数字不同'
    REPORT_FLAGS='' succeeds reproduce
    says "$ARTIFACTS/rows-quick/report/report.md" "SHORTENED OR CHANGED: every run was made with epochs=1."
    cp "$ROOT/docs/results.md" results.md
    REPORT=$ARTIFACTS/rows-quick/report/report.md DOCS=results.md fails_with 1 "a shortened or changed run" \
        "$ROOT/pipelines/write-results.sh"
    cmp results.md "$ROOT/docs/results.md"
    [ -z "$(grep -o ' id="[^"]*"' "$ARTIFACTS/rows-quick/report/report.html" | sort | uniq -d)" ] || fail "an id is used twice"
}

# in_background LOG: reproduces in a separate process group. Sets $pid.
in_background() {
    (
        cd "$ROOT"
        exec setsid "$BIN/pipeline" reproduce "$WORK/files/list.yaml" >"$1" 2>&1
    ) &
    pid=$!
}

# until_there COMMAND...: waits until it succeeds; then ends the background processes.
until_there() {
    wait_until "$@" || true
    kill -TERM -- "-$pid" || true
    wait "$pid" || true
}

state_has() {
    "$BIN/tensor" info "$state" 2>/dev/null | grep -qF -- "$1"
}

@test "a reproduction that was stopped continues where it stopped" {
    need_tool synth-cifar shard train-single train-dp evaluate bench-allreduce
    local pid state=$ARTIFACTS/rows-epochs=1000/a/seed-42/train/state.st.zst
    export SET="epochs=1000"
    in_background "$WORK/log"
    until_there [ -e "$state" ]
    [ -z "$(find "$ARTIFACTS" -name '.work-*')" ]
    [ -e "$state" ] || fail "$(cat "$WORK/log")"
    [ ! -e "${state%/*}/manifest.yaml" ] || skip "the training finished before it could be stopped"
    # The rest is estimated, and trained from the state.
    in_background "$WORK/again"
    until_there grep -q '^train-single: resuming from step ' "$WORK/again"
    grep -q '^train-single: resuming from step ' "$WORK/again" || fail "$(cat "$WORK/again")"
    grep -Eq "^estimate  $ARTIFACTS/rows-epochs=1000/a/seed-42: 1000 epochs, .* left$" "$WORK/again" || fail "$(cat "$WORK/again")"
    # A state of other work is not continued, and not lost: a new run starts elsewhere.
    local first
    first=$(readlink -f "$state")
    state=$ARTIFACTS/rows-epochs=1000,optimizer.lr=0.5/a/seed-42/train/state.st.zst
    export SET="epochs=1000; optimizer.lr=0.5"
    in_background "$WORK/other"
    until_there state_has 'lr\":0.5'
    state_has 'lr\":0.5' || fail "$(cat "$WORK/other")"
    if grep -q 'resuming from step' "$WORK/other"; then fail "$(cat "$WORK/other")"; fi
    [ "$(readlink -f "$state")" != "$first" ]
    "$BIN/tensor" info "$first" | grep -qF 'lr\":0.02' || fail "$("$BIN/tensor" info "$first")"
}

@test "a missing list, a missing run and a run outside the plan are reported in one line" {
    cd "$ROOT" || return
    fails_with 3 "cannot find the list of reports: 'nope.yaml'" "$BIN/pipeline" reproduce nope.yaml
    local name
    cd "$WORK/files" || return
    "$BIN/plan" reproduction list.yaml --out plan.yaml >lines
    for name in a b b-alone c loader_workers-0; do
        "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "runs/$name" name="$name"
    done
    fails_with 3 "no run of 'loader_workers-1' among the folders" "$BIN/report" runs/* --plan plan.yaml --out out
    "$PYTHON" "$ROOT/tests/fixtures/make_run.py" runs/stranger name=stranger
    fails_with 3 "its experiment is 'stranger', which is not in the plan" "$BIN/report" runs/* --plan plan.yaml --out out
    [ ! -e out ]
}

# a_row NAME EPOCHS PUBLISHED: its run, with an accuracy of 70 % [60.4, 78.1].
a_row() {
    "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "runs/$1" name="$1" epochs="$2" right=70 \
        published="[{\"source\": \"X1\", \"accuracy\": $3}]"
}

@test "the answer counts the rows whose published accuracy is within our interval" {
    sed -i '/claim:/d' list.yaml
    "$BIN/plan" reproduction list.yaml --out plan.yaml >lines
    a_row a 2,1 75.0
    a_row c 2,1 '[78.5, 90]'
    a_row b 2,1,1 70.0 # of other epochs: not counted
    "$PYTHON" "$ROOT/tests/fixtures/make_run.py" runs/b-alone name=b-alone
    a_row loader_workers-0 1 '[50, 61]'
    "$PYTHON" "$ROOT/tests/fixtures/make_run.py" runs/loader_workers-1 name=loader_workers-1
    succeeds "$BIN/report" runs/* --plan plan.yaml --out out
    says out/report.md "**In part: the published accuracy is within our 95 % interval in 2 of 3 rows with the same number of epochs.**"
    # The nearest point of a range counts.
    [ "$(json out/report.json "*('%.1f' % r['difference']['value'] for r in page['reproduction']['rows'] if r['difference'])")" = \
        "-5.0 -8.5 9.0" ]
    sed -i 's/78.5/78/' runs/c/train/manifest.yaml
    succeeds "$BIN/report" runs/* --plan plan.yaml --answer
    one_line
    [[ $output == *"Yes, in accuracy: the published one is within our 95 % interval in all 3 rows"* ]] || fail "$output"
    sed -i 's/"accuracy": \(75.0\|\[\)/"accuracies": \1/' runs/*/train/manifest.yaml
    succeeds "$BIN/report" runs/* --plan plan.yaml --answer
    one_line
    [[ $output == *"Not known yet: no row with a published accuracy was run with its number of epochs."* ]] || fail "$output"
    succeeds "$BIN/report" runs/* --plan plan.yaml --answer --lang zh
    [[ $output == *"尚无答案"* ]] || fail "$output"
}
