#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Kept runs: one folder per key, its executions, links to them; listing, comparing and
# removing kept runs.
load helpers

TOOLS="pipeline manifest synth-cifar shard train-single evaluate report"

# An experiment x in a folder of experiments, and one finished run of it, which each test copies.
setup_file() {
    # shellcheck disable=SC2086
    are_built $TOOLS || return 0
    local files=$BATS_FILE_TMPDIR/files
    mkdir -p "$files/experiments/models"
    small_model "$files/experiments/models/small.yaml"
    cat >"$files/experiments/x.yaml" <<'YAML'
schema: lockstep.experiment/1
name: x
dataset: synthetic
model: small
global_batch: 128
epochs: 1
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
YAML
    cd "$files" || return
    ARTIFACTS=$BATS_FILE_TMPDIR/first "$BIN/pipeline" experiment x >"$BATS_FILE_TMPDIR/first.log" 2>&1
}

setup() {
    # shellcheck disable=SC2086
    need_tool $TOOLS
    export ARTIFACTS=$WORK/artifacts
    cp -a "$BATS_FILE_TMPDIR/first" "$ARTIFACTS" || fail "$(cat "$BATS_FILE_TMPDIR/first.log")"
    cp -a "$BATS_FILE_TMPDIR/files" "$WORK/files"
    cd "$WORK/files" || return
    KEY=$(basename "$ARTIFACTS"/runs/*)
}

pipeline() {
    "$BIN/pipeline" "$@"
}

# trained N, evaluated N: the number of these stages that the last succeeds ran.
trained() {
    local count
    count=$(grep -c '^train .*: running' <<<"$output" || true)
    [ "$count" -eq "$1" ] || fail "$count trainings instead of $1:" "$output"
}
evaluated() {
    local count
    count=$(grep -c '^evaluate .*: running' <<<"$output" || true)
    [ "$count" -eq "$1" ] || fail "$count evaluations instead of $1:" "$output"
}

# key_of_link PLACE: KEY12 of the run that the link points to.
key_of_link() {
    basename "$(dirname "$(readlink -f "$ARTIFACTS/$1")")"
}

# all_of FOLDER: every file in it, with its content.
all_of() {
    (cd "$1" && find . -type f ! -name '*.lock' -exec sha256sum {} + | sort)
}

# ---- Links ---------------------------------------------------------------------------------------

@test "links in a folder that is itself a link to another place are valid" {
    rm -r "$ARTIFACTS/x"
    mkdir -p "$WORK/far/away/x"
    ln -s "$WORK/far/away/x" "$ARTIFACTS/x"
    succeeds pipeline experiment x
    trained 0
    [ "$(readlink -f "$WORK/far/away/x/seed-42")" = "$(readlink -f "$ARTIFACTS/runs/$KEY/1")" ] || fail "$(readlink "$ARTIFACTS/x/seed-42")"
    [ -e "$ARTIFACTS/x/seed-42/train/model.st.zst" ]
    # A link whose target is gone.
    rm -r "$ARTIFACTS/x"
    ln -s "$WORK/none/x" "$ARTIFACTS/x"
    fails_with 1 "$ARTIFACTS/x" pipeline experiment x
}

@test "a folder where a link belongs is not replaced, and nothing is trained" {
    rm -r "$ARTIFACTS/runs" "$ARTIFACTS/x/seed-42"
    mkdir "$ARTIFACTS/x/seed-42"
    echo mine >"$ARTIFACTS/x/seed-42/notes"
    fails_with 1 "x/seed-42': it is not a link; move it away" pipeline experiment x
    trained 0
    [ "$(cat "$ARTIFACTS/x/seed-42/notes")" = mine ]
}

# ---- Sharing -------------------------------------------------------------------------------------

@test "earlier settings find their run again; other settings make another run" {
    succeeds pipeline experiment x EPOCHS=2
    trained 1
    [[ $output == *"/x-epochs=2/seed-42/train: running (epochs 1 → 2: continues $ARTIFACTS/runs/$KEY/1, so it has no times of its own; TIME=1 trains it whole)"* ]] || fail "$output"
    [[ $output == *"x: "*", no times: it was resumed (1 execution)"* ]] || fail "$output"
    succeeds pipeline experiment x
    trained 0
    [ "$(readlink "$ARTIFACTS/x/seed-42")" = "../runs/$KEY/1" ]
    succeeds pipeline experiment x EPOCHS=2
    trained 0
    grep -q 'TIME=1 trains it whole' "$ARTIFACTS/x-epochs=2/report/report.md"
    [ "$(find "$ARTIFACTS/runs" -name manifest.yaml -path '*/train/*' | wc -l)" -eq 2 ]
}

@test "TIME=1: a run that continued another one is trained whole, once, and has its time" {
    succeeds pipeline experiment x EPOCHS=2
    succeeds pipeline experiment x EPOCHS=2 TIME=1
    trained 1
    [[ $output == *"running (execution 2: execution 1 was resumed, so it has no times)"* ]] || fail "$output"
    [[ $output == *" s per epoch (1 execution)"* ]] || fail "$output"
    succeeds pipeline experiment x EPOCHS=2 TIME=1
    trained 0
    # From the start at once: there is nothing to be continued.
    succeeds pipeline experiment x EPOCHS=3 TIME=1
    trained 1
    [[ $output != *"continues"* && $output == *" s per epoch (1 execution)"* ]] || fail "$output"
}

@test "the links of an experiment's name show its file's settings; other settings have a folder of their own" {
    succeeds pipeline experiment x EPOCHS=2
    [[ ${lines[-1]} == "report: $ARTIFACTS/x-epochs=2/report/report.html" ]] || fail "$output"
    [ "$(key_of_link x/seed-42)" = "$KEY" ]
    # A seed is in the link's name, so its link is the experiment's; only the report is another.
    succeeds pipeline experiment x SEED=5 SET="repeats=2; title=a b"
    [[ ${lines[-1]} == "report: $ARTIFACTS/x/report-repeats=2,title=ab,seed=5-"??????/report.html ]] || fail "$output"
    [ -s "$ARTIFACTS/x/seed-6/train/model.st.zst" ]
    # A comparison and a study name their runs' folders alike.
    sed 's/^name: x/name: y/; s/0.02/0.03/' experiments/x.yaml >experiments/y.yaml
    printf '%s\n' 'schema: lockstep.study/1' 'name: s' 'base: x' 'vary: {loader_workers: [0, 1]}' >experiments/s.yaml
    export TIME=0 EPOCHS=2
    succeeds pipeline compare x y SEED=5
    [[ ${lines[-1]} == "report: $ARTIFACTS/compare-x-y-epochs=2-seed=5/report.html" ]] || fail "$output"
    [ -s "$ARTIFACTS/compare-x-y-epochs=2-seed=5-plan.yaml" ]
    succeeds pipeline experiment s THREADS=1
    [ -L "$ARTIFACTS/s-epochs=2,threads=1/loader_workers-1/seed-42" ]
    [ "$(key_of_link x/seed-42)" = "$KEY" ]
    [ ! -e "$ARTIFACTS/y" ] && [ ! -e "$ARTIFACTS/s" ]
}

@test "two experiments of one name, and two data sets of one name, have folders of their own" {
    local folder
    for folder in 3 4; do
        mkdir -p "$folder/shapes"
        cp -r experiments/models "$folder"
        sed "s/0.02/0.0$folder/" experiments/x.yaml >"$folder/x.yaml"
        "$BIN/synth-cifar" --shape 3,12,12 --train 256 --test 64 --seed "$folder" --out "$folder/shapes" -q
    done
    succeeds pipeline experiment x
    succeeds pipeline experiment 3/x.yaml
    [[ ${lines[-1]} == "report: $ARTIFACTS/x-"????/report/report.html ]] || fail "$output"
    [[ $output == *"note      $ARTIFACTS/x-"????": not $ARTIFACTS/x, which belongs to $PWD/experiments/x.yaml"* ]] || fail "$output"
    succeeds pipeline experiment 4/x.yaml
    succeeds pipeline experiment x
    trained 0
    [ "$(key_of_link x/seed-42)" = "$KEY" ]
    [ "$(find "$ARTIFACTS" -path '*/x-????/seed-42' | wc -l)" -eq 2 ]
    for folder in 3 4; do succeeds pipeline experiment x DATA="$folder/shapes"; done
    succeeds pipeline runs
    [ "$(grep -c ' data shapes$' <<<"$output")" -eq 2 ] || fail "$output"
    [ "$(find "$ARTIFACTS" -path '*/x-data=shapes*/seed-42' | wc -l)" -eq 2 ]
    # So have their archives.
    for folder in 3 4; do TIME=0 succeeds pipeline submission "$folder/x.yaml"; done
    [ "$(find "$ARTIFACTS" -name 'submission-x*.tar.gz' | wc -l)" -eq 2 ] || fail "$(ls "$ARTIFACTS")"
    # A name is free again once its file is gone.
    mv experiments/x.yaml experiments/z.yaml
    succeeds pipeline experiment 4/x.yaml
    [[ ${lines[-1]} == "report: $ARTIFACTS/x/report/report.html" ]] || fail "$output"
}

@test "a run that fails or is stopped leaves the link on the finished run" {
    sed -i 's/0.02/1e6/' experiments/x.yaml
    TOOL=train-single fails_with 1 "cannot continue" "$BIN/pipeline" experiment x
    [ "$(key_of_link x/seed-42)" = "$KEY" ]
    [[ $output != *"seed-42/train: running"* ]] || fail "$output" # the folder named is that of the failed run
    grep -q "^train  *$ARTIFACTS/runs/[0-9a-f]*/1/train: running" <<<"$output" || fail "$output"
    # Without a finished run, the link shows the run in progress; one that failed before it wrote anything leaves none.
    TOOL=train-single fails_with 1 "cannot continue" "$BIN/pipeline" experiment x SEED=3
    grep -q "^train  *$ARTIFACTS/x/seed-3/train: running" <<<"$output" || fail "$output"
    [ ! -L "$ARTIFACTS/x/seed-3" ] || fail "$(ls -l "$ARTIFACTS/x")"
    # One that succeeds takes it.
    sed -i 's/1e6/0.01/' experiments/x.yaml
    succeeds pipeline experiment x
    [ "$(key_of_link x/seed-42)" != "$KEY" ]
    [ -s "$ARTIFACTS/x/seed-42/evaluate/manifest.yaml" ]
}

@test "a state without a revision of the arithmetic is not continued with more epochs" {
    local train=$ARTIFACTS/runs/$KEY/1/train
    zstd -dqc "$train/state.st.zst" >state.st
    "$PYTHON" "$ROOT/tests/python/poison.py" state.st old.st bits=
    zstd -qf old.st -o "$train/state.st.zst"
    sed -i "/path: state.st.zst/{n;s/bytes: .*/bytes: $(stat -c %s "$train/state.st.zst")/}" "$train/manifest.yaml"
    succeeds pipeline experiment x EPOCHS=2
    trained 1
    [[ $output == *"(epochs 1 → 2, from the start: its state does not record the revision of the arithmetic)"* ]] || fail "$output"
}

@test "an edited experiment or model of a kept run is written again from the run's manifest" {
    local run=$ARTIFACTS/runs/$KEY file
    succeeds pipeline experiment x
    [[ $output != *"written again"* ]] || fail "$output"
    for file in "$run/experiment.yaml" "$run"/models/*.yaml; do
        cp "$file" kept
        sed -i '0,/[0-9]\.*[0-9]*$/s//77/' "$file"
        ! cmp -s "$file" kept || fail "nothing was edited in $file"
        succeeds pipeline experiment x
        trained 0
        [[ $output == *"$run: experiment.yaml or its model was changed: written again"* ]] || fail "$file: $output"
        cmp "$file" kept || fail "$file"
    done
}

@test "a study and an experiment that share runs train them once" {
    printf '%s\n' 'schema: lockstep.study/1' 'name: s' 'base: x' 'vary: {loader_workers: [0, 1]}' >experiments/s.yaml
    TIME=0 succeeds pipeline experiment s
    trained 1
    [ "$(readlink -f "$ARTIFACTS/s/loader_workers-0/seed-42")" = "$(readlink -f "$ARTIFACTS/x/seed-42")" ]
    # No training runs for it any more, and it shows its own names.
    sed 's/^name: x/name: y/' experiments/x.yaml >experiments/y.yaml
    echo 'loader_workers: 1' >>experiments/y.yaml
    succeeds pipeline experiment y
    trained 0
    [[ $output == *$'\n'"y: test accuracy 0."* ]] || fail "$output"
}

@test "a study does not continue shorter runs, because it needs times" {
    printf '%s\n' 'schema: lockstep.study/1' 'name: s' 'base: x' 'vary: {loader_workers: [0], epochs: [2, 3]}' >experiments/s.yaml
    succeeds pipeline experiment s
    trained 2
    [[ $output != *": continues "* ]] || fail "$output"
    [[ $output != *"no times"* ]] || fail "$output"
}

@test "published figures come from the experiment's own file, even if another experiment trained the run" {
    sed 's/^name: x/name: y/' experiments/x.yaml >experiments/y.yaml
    echo 'title: The other' >>experiments/y.yaml
    printf '%s\n' 'schema: lockstep.claim/1' 'name: R9' 'rows: [{name: its, experiment: y, accuracy: 12.34, where: page 2}]' \
        >experiments/claim.yaml
    succeeds pipeline experiment y
    trained 0
    grep -q '^# The other' "$ARTIFACTS/y/report/report.md" || fail "$(head -n 3 "$ARTIFACTS/y/report/report.md")"
    grep -qF '12.34 %' "$ARTIFACTS/y/report/report.md" || fail "$(cat "$ARTIFACTS/y/report/report.md")"
    # With its place, and the claim that it comes from.
    grep -qF '| R9, page 2 |' "$ARTIFACTS/y/report/report.md" || fail "$(cat "$ARTIFACTS/y/report/report.md")"
    grep -q 'path: .*experiments/claim.yaml$' "$ARTIFACTS/y/report/manifest.yaml" || fail "$(cat "$ARTIFACTS/y/report/manifest.yaml")"
    succeeds pipeline experiment x
    [[ $output == *"/x/report: up to date"* ]] || fail "$output"
    ! grep -qF '12.34 %' "$ARTIFACTS/x/report/report.md" || fail "the published figure is shown for another experiment"
}

@test "two calls at once on one key train it once" {
    local one two
    pipeline experiment x SEED=5 >"$WORK/one" 2>&1 &
    one=$!
    pipeline experiment x SEED=5 >"$WORK/two" 2>&1 &
    two=$!
    wait "$one" || fail "$(cat "$WORK/one")"
    wait "$two" || fail "$(cat "$WORK/two")"
    [ "$(cat "$WORK"/{one,two} | grep -c '^train .*: running')" -eq 1 ] || fail "$(cat "$WORK"/{one,two})"
    [ "$(cd "$(readlink -f "$ARTIFACTS/x/seed-5")/.." && echo [0-9]*)" = 1 ]
}

# ---- Executions ----------------------------------------------------------------------------------

@test "the estimate covers only missing executions" {
    sed 's/^name: x/name: y/; s/0.02/0.03/' experiments/x.yaml >experiments/y.yaml
    export TIME=0
    succeeds pipeline compare x y
    [[ $output == *$'\n'"estimate  finished: 1 of 2 runs"$'\n'"estimate  all: about "* ]] || fail "$output"
    sed -i 's/^\(  total_seconds: \).*/\11000/' "$ARTIFACTS"/runs/*/*/train/manifest.yaml
    succeeds pipeline compare x y DRY_RUN=1
    [[ $output == *"estimate  all: nothing left to run"* ]] || fail "$output"
    # Another execution is expected to take as long as the one that lacks states.
    succeeds pipeline compare x y STATES=2 DRY_RUN=1
    [[ $output == *$'\n'"estimate  all: about 33 min"* ]] || fail "$output"
    [ ! -e "$ARTIFACTS/runs/$KEY/2" ]
}

@test "a further execution names what the finished ones lack" {
    need_tool time-runs
    succeeds pipeline experiment x STATES=2
    trained 1
    [[ $output == *"/2/train: running (execution 2: execution 1 kept no states)"* ]] || fail "$output"
    # Those of other threads do not count, nor, in a comparison, those of another version or host.
    local other
    sed 's/^name: x/name: y/; s/0.02/0.03/' experiments/x.yaml >experiments/y.yaml
    for other in "was trained with another number of threads:^command: .*/command: [train-single, --threads, \"9\"]" \
        "is from another version:^version: .*/version: 0.1" "is from another host:^  host: .*/  host: elsewhere"; do
        rm -r "$ARTIFACTS"
        cp -a "$BATS_FILE_TMPDIR/first" "$ARTIFACTS"
        sed -i "s/${other#*:}/" "$ARTIFACTS/runs/$KEY/1/train/manifest.yaml"
        succeeds pipeline compare x y
        [[ $output == *" (execution 2: execution 1 ${other%%:*})"* ]] || fail "$other: $output"
    done
    # The model of any of them will do where nothing is timed.
    TIME=0 succeeds pipeline compare x y
    trained 0
    [ "$(readlink "$ARTIFACTS/x/seed-42")" = "../runs/$KEY/1" ]
}

@test "executions that end in different models are reported, also by the next call" {
    sed -i "s/^\(  model: \).*/\1$(printf 'f%.0s' {1..64})/" "$ARTIFACTS/runs/$KEY/1/train/manifest.yaml"
    run --separate-stderr pipeline experiment x STATES=2
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    [[ $stderr == *"pipeline: two executions of one key end in different models: '$ARTIFACTS/runs/$KEY/1' in ffff"*"'$ARTIFACTS/runs/$KEY/2' in "* ]] || fail "$stderr"
    [ -s "$ARTIFACTS/runs/$KEY/1/train/model.st.zst" ]
    [ -s "$ARTIFACTS/runs/$KEY/2/train/model.st.zst" ]
    run --separate-stderr pipeline experiment x
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    [[ $stderr == *"end in different models"* ]] || fail "$stderr"
}

@test "an unfinished training runs again, and the reason is printed; RESUME=0 adds an execution" {
    local run=$ARTIFACTS/runs/$KEY
    rm "$run"/1/train/{manifest.yaml,state.st.zst}
    succeeds pipeline experiment x
    [[ $output == *"/train: running (not finished, and no state to resume from)"* ]] || fail "$output"
    rm "$run/1/train/manifest.yaml"
    succeeds pipeline experiment x RESUME=0
    [[ $output == *"/train: running (execution 2: started over by RESUME=0)"* ]] || fail "$output"
    [ "$(readlink "$ARTIFACTS/x/seed-42")" = "../runs/$KEY/2" ]
    [ -s "$run/1/train/state.st.zst" ]
    # An execution that lacks only its evaluation is not trained again.
    rm -r "$run/1" "$run/2/evaluate"
    succeeds pipeline experiment x RESUME=0
    trained 0
    evaluated 1
}

# ---- Listing, comparing --------------------------------------------------------------------------

@test "runs lists the kept runs, and their differences from the experiment file" {
    succeeds pipeline experiment x SET="optimizer.lr=0.5" SEED=5
    succeeds pipeline experiment x SET="optimizer.lr=0.5" SEED=5 STATES=2
    mkdir -p "$ARTIFACTS/runs/0123456789ab/1" "$ARTIFACTS/runs/no-key"
    succeeds pipeline runs
    [[ ${lines[0]} =~ ^KEY\ +NAME\ +DATE\ +ACCURACY\ %\ +S/EPOCH\ +EXECUTIONS\ +SIZE ]] || fail "$output"
    grep -Eq "^$KEY +x +[0-9]{4}-[0-9]{2}-[0-9]{2} +[0-9.]+ +[0-9.]+ +1 +[0-9.]+ [KM]iB +$" <<<"$output" || fail "$output"
    grep -Eq "^[0-9a-f]{12} +x .* 2 +[0-9.]+ [KM]iB +optimizer.lr 0.02 → 0.5, seed 5$" <<<"$output" || fail "$output"
    grep -Eq '^0123456789ab .* 0\+1 +.* not finished$' <<<"$output" || fail "$output"
    [[ ${lines[-1]} == "3 runs, "* ]] || fail "$output"
    succeeds pipeline runs "$KEY"
    # A run that is asked for is listed with its executions.
    [[ ${#lines[@]} -eq 4 && ${lines[1]} == "$KEY "* && ${lines[2]} == "  $KEY/1 "*" s/epoch" && ${lines[3]} == "1 run, "* ]] || fail "$output"
    fails_with 3 "no kept run has a key that begins with 'fffffffffffff'" "$BIN/pipeline" runs fffffffffffff
    # Without any experiment file, and without kept runs.
    mkdir -p "$WORK/alone/bin"
    cp "$BIN/pipeline" "$WORK/alone/bin"
    cd "$WORK"
    succeeds "$WORK/alone/bin/pipeline" runs
    grep -q "^$KEY .* no experiment with this name$" <<<"$output" || fail "$output"
    ARTIFACTS=$WORK/none succeeds pipeline runs
    [ "$output" = "no runs in $WORK/none/runs" ]
    [ ! -e "$WORK/none" ]
}

@test "runs compares a rung or a variant, whose name no file has, with the nearest experiment" {
    printf '%s\n' 'schema: lockstep.study/1' 'name: s' 'base: x' 'vary: {loader_workers: [0, 1], epochs: [1, 2]}' >experiments/s.yaml
    sed 's/^name: x/name: y/; s/0.02/0.03/' experiments/x.yaml >experiments/y.yaml
    # Fewer keys differ from this one, but it is on other data.
    sed 's/^name: x/name: z/; s/synthetic/mine/; s/^epochs: 1/epochs: 2/' experiments/x.yaml >experiments/z.yaml
    TIME=0 succeeds pipeline experiment s
    trained 3
    succeeds pipeline runs
    grep -Eq "loader_workers-1--epochs-1  .*  \(x\) loader_workers 0 → 1$" <<<"$output" || fail "$output"
    grep -Eq "loader_workers-1--epochs-2  .*  \(x\) epochs 1 → 2, loader_workers 0 → 1$" <<<"$output" || fail "$output"
    grep -q "^(NAME): the nearest experiment" <<<"$output" || fail "$output"
    # The columns are below their titles, however long a name is.
    awk 'NR == 1 { size = index($0, "SIZE") } length($1) == 12 && substr($0, size + 1, 3) !~ /[KM]iB/ { exit 1 }' <<<"$output" ||
        fail "$output"
}

@test "runs and a report show the same seconds of a run with several executions" {
    local n listed
    for n in 2 3; do
        cp -a "$ARTIFACTS/runs/$KEY/1" "$ARTIFACTS/runs/$KEY/$n"
        sed -i "s/^  start: .*/  start: 2026-01-0${n}T00:00:00Z/" "$ARTIFACTS/runs/$KEY/$n/train/manifest.yaml"
    done
    succeeds pipeline runs
    listed=$(awk -v key="$KEY" '$1 == key { print $5 }' <<<"$output")
    succeeds "$BIN/report" "$ARTIFACTS/runs/$KEY" --summary
    [[ $output == *", $listed s per epoch (3 executions)"* ]] || fail "$listed: $output"
    for n in 1 2 3; do
        sed -i "s/seconds_per_epoch: .*/seconds_per_epoch: $((n * n))/" "$ARTIFACTS/runs/$KEY/$n/train/manifest.yaml"
    done
    succeeds pipeline runs
    listed=$(awk -v key="$KEY" '$1 == key { print $5 }' <<<"$output")
    # (1 · 4 · 9)^(1/3); the median is 4.
    [ "$listed" = 3.302 ] || fail "$output"
    [[ $output == *$'\n'"S/EPOCH: geometric mean over the executions; a report is on one of them"* ]] || fail "$output"
}

@test "runs --json prints the same as a JSON list" {
    succeeds pipeline experiment x SET="optimizer.lr=0.5"
    succeeds pipeline runs --json
    printf '%s\n' "$output" >"$WORK/runs.json"
    "$PYTHON" - "$WORK/runs.json" "$KEY" <<'END' || fail "$output"
import json, sys
runs = json.load(open(sys.argv[1]))
assert len(runs) == 2, runs
first, other = (runs if runs[0]["key"] == sys.argv[2] else runs[::-1])
assert (first["name"], first["differs"], first["executions"], first["unfinished"]) == ("x", "", 1, 0), first
assert other["differs"] == "optimizer.lr 0.02 → 0.5", other
assert 0 < first["accuracy"] < 1 and first["seconds_per_epoch"] > 0 and first["bytes"] > 1000, first
assert other["parameters"]["optimizer"]["lr"] == 0.5 and other["path"].endswith("/runs/%s/1" % other["key"]), other
END
    # The same in Python: a row per run, with every setting under its name.
    PATH=$BIN:$PATH PYTHONPATH=$ROOT/python PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$ARTIFACTS" "$KEY" <<'END'
import sys, lockstep
rows = lockstep.runs(sys.argv[1])
rows = rows if isinstance(rows, list) else rows.to_dict("records")
first, other = (rows if rows[0]["key"] == sys.argv[2] else rows[::-1])
assert (first["optimizer.lr"], other["optimizer.lr"], first["name"]) == (0.02, 0.5, "x"), rows
assert first["accuracy"] > 0 and first["seconds_per_epoch"] > 0 and "epochs" in first, first
END
    ARTIFACTS=$WORK/none succeeds pipeline runs --json
    [ "$output" = "[]" ] || fail "$output"
}

@test "compare RUNS compares kept runs, and trains nothing" {
    succeeds pipeline experiment x SET="optimizer.lr=0.5"
    local other before
    other=$(key_of_link x-optimizer.lr=0.5/seed-42)
    [ "$other" != "$KEY" ]
    TIME=0 succeeds pipeline compare RUNS="$other ${KEY:0:7}"
    trained 0
    [[ $output == *$'\n'"x-${other:0:6}: test accuracy "*$'\n'"x-${KEY:0:6}: test accuracy "* ]] || fail "$output"
    local report=$ARTIFACTS/compare-x-${other:0:6}-x-${KEY:0:6}/report.md
    grep -Eq "^\| \*\*x-${KEY:0:6}\*\* \| .* (same model|McNemar|points)" "$report" || fail "$(cat "$report")"
    sed 's/^name: x/name: y/; s/0.02/0.03/' experiments/x.yaml >experiments/y.yaml
    TIME=0 succeeds pipeline compare x y
    before=$(all_of "$ARTIFACTS/compare-x-y")
    TIME=0 succeeds pipeline compare RUNS="$other $(key_of_link y/seed-42)"
    trained 0
    [[ $output == *$'\n'"x: test accuracy "*$'\n'"y: test accuracy "* ]] || fail "$output"
    [ "$(key_of_link x/seed-42)" = "$KEY" ]
    [ "$(all_of "$ARTIFACTS/compare-x-y")" = "$before" ]
    fails_with 2 "compare: a second name is missing: expected RUNS=\"$KEY KEY\"" "$BIN/pipeline" compare RUNS="$KEY"
    fails_with 3 "no kept run has a key that begins with 'zz'" "$BIN/pipeline" compare RUNS="$KEY zz"
    fails_with 2 "is named twice|are the same run" "$BIN/pipeline" compare RUNS="$KEY ${KEY:0:8}"
}

@test "names given both as words and by a setting are refused" {
    fails_with 2 "names are given twice: as 'x' and in EXP='y'" "$BIN/pipeline" experiment x EXP=y
    fails_with 2 "names are given twice: as 'x' and in RUNS='$KEY'" "$BIN/pipeline" compare x RUNS="$KEY"
    # A variable left in the environment does not turn typed names into keys.
    sed 's/^name: x/name: y/; s/0.02/0.03/' experiments/x.yaml >experiments/y.yaml
    RUNS=abc DRY_RUN=1 succeeds pipeline compare x y
    RUNS=abc fails_with 3 "begins with 'fff'" "$BIN/pipeline" clean-runs fff
    [ -d "$ARTIFACTS/runs/$KEY" ]
}

@test "an option unknown to report is refused before anything is trained" {
    local before
    before=$(all_of "$ARTIFACTS")
    REPORT_FLAGS="--lnag zh" TOOL=report fails_with 2 "unknown option: '--lnag': did you mean '--lang'" \
        "$BIN/pipeline" experiment x SEED=9
    [ -z "$output" ] || fail "$output"
    REPORT_FLAGS="--discussion none.md" TOOL=pipeline fails_with 3 "cannot read: 'none.md'" "$BIN/pipeline" experiment x SEED=9
    [ "$(all_of "$ARTIFACTS")" = "$before" ]
    REPORT_FLAGS="--lang zh" succeeds pipeline experiment x
    trained 0
}

# ---- Removing ------------------------------------------------------------------------------------

@test "clean-runs removes the named runs, and no others" {
    succeeds pipeline experiment x SEED=5
    succeeds pipeline experiment x SEED=6
    local five six
    five=$(key_of_link x/seed-5)
    six=$(key_of_link x/seed-6)
    # A link in a run is removed, not followed.
    mkdir "$WORK/precious"
    echo kept >"$WORK/precious/file"
    ln -s "$WORK/precious" "$ARTIFACTS/runs/$five/1/precious"
    local others
    others=$(all_of "$ARTIFACTS/runs/$KEY"; all_of "$ARTIFACTS/runs/$six")
    succeeds pipeline clean-runs "$five" "${five:0:10}" YES=1
    [[ ${#lines[@]} -eq 5 && ${lines[0]} == "$five  x, "*", 1 execution, "*" KiB" && ${lines[1]} == *"   $ARTIFACTS/x/seed-5" &&
        ${lines[2]} == "1 run, "*" KiB" && ${lines[3]} == "remove    $ARTIFACTS/runs/$five: removed" &&
        ${lines[4]} == "remove    $ARTIFACTS/x/seed-5: was a link to it" ]] || fail "$output"
    [ ! -e "$ARTIFACTS/runs/$five" ]
    [ ! -L "$ARTIFACTS/x/seed-5" ] # no link that leads nowhere
    [ -e "$ARTIFACTS/x/seed-6/train" ]
    [ "$(ls -A "$ARTIFACTS/runs")" = "$(printf '%s\n' "$KEY" "$six" | sort)" ] || fail "$(ls -A "$ARTIFACTS/runs")"
    [ -s "$WORK/precious/file" ]
    [ "$(all_of "$ARTIFACTS/runs/$KEY"; all_of "$ARTIFACTS/runs/$six")" = "$others" ]
    # By make, with all digits of the key; a removed run is trained again.
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$ARTIFACTS" \
        RUNS="$("$BIN/manifest" get "$ARTIFACTS/x/seed-6/train/manifest.yaml" key)" YES=1 clean-runs
    [ "$(ls -A "$ARTIFACTS/runs")" = "$KEY" ]
    succeeds pipeline experiment x SEED=5
    trained 1
}

@test "clean-runs shows what would go and asks; without a terminal it needs YES=1" {
    local before
    before=$(all_of "$ARTIFACTS")
    fails_with 2 "nothing was removed: YES=1 removes this run" "$BIN/pipeline" clean-runs "$KEY"
    [[ $output == "$KEY  x, "*" KiB"*"$ARTIFACTS/x/seed-42"*"1 run, "*" KiB" ]] || fail "$output"
    [ "$(all_of "$ARTIFACTS")" = "$before" ]
    run script -qec "'$BIN/pipeline' clean-runs $KEY" /dev/null <<<"n"
    [[ $output == *"remove this run, "*" KiB? [y/N]"*"nothing was removed"* ]] || fail "$output"
    [ "$(all_of "$ARTIFACTS")" = "$before" ]
    run script -qec "'$BIN/pipeline' clean-runs $KEY" /dev/null <<<"y"
    [ ! -e "$ARTIFACTS/runs/$KEY" ] || fail "$output"
}

@test "clean-runs selects by experiment, study and age; what another name links to stays" {
    printf '%s\n' 'schema: lockstep.study/1' 'name: s' 'base: x' 'vary: {loader_workers: [0, 1]}' >experiments/s.yaml
    TIME=0 succeeds pipeline experiment s
    succeeds pipeline experiment x EPOCHS=2
    local before
    before=$(all_of "$ARTIFACTS/runs")
    export YES=1
    fails_with 3 "no kept run is of 'nope': .*nothing was removed" "$BIN/pipeline" clean-runs EXPS="s nope"
    fails_with 2 "OLDER: '30': expected a number from 1 to 10000 and h, d or w" "$BIN/pipeline" clean-runs OLDER=30
    succeeds pipeline clean-runs EXPS=x OLDER=1h
    [ "$output" = "remove    $ARTIFACTS: no kept run is selected" ] || fail "$output"
    [ "$(all_of "$ARTIFACTS/runs")" = "$before" ]
    sed -i 's/^  start: .*/  start: 2020-01-02T03:04:05Z/' "$ARTIFACTS/runs/$KEY/1/train/manifest.yaml"
    # The study's first variant is the experiment's run, which has another name.
    succeeds pipeline clean-runs EXPS=s
    [[ $output == "keep      $ARTIFACTS/x/seed-42: links to a run of this name, too"*"1 run, "* ]] || fail "$output"
    [ "$(find "$ARTIFACTS/runs" -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
    succeeds pipeline clean-runs OLDER=52w
    [ ! -e "$ARTIFACTS/runs/$KEY" ]
    succeeds pipeline clean-runs EXPS=x
    [[ $output == *"$ARTIFACTS/x-epochs=2/seed-42: was a link to it" ]] || fail "$output"
    [ -z "$(ls -A "$ARTIFACTS/runs")" ]
}

@test "clean-runs refuses a word that does not match exactly one run, and removes nothing" {
    local twin=${KEY:0:11}z digit word before
    for digit in 0 1; do [ "${KEY:11:1}" = "$digit" ] || twin=${KEY:0:11}$digit; done
    mkdir -p "$ARTIFACTS/runs/$twin/1/train"
    echo other >"$ARTIFACTS/runs/$twin/1/train/state.st.zst"
    before=$(all_of "$ARTIFACTS")
    fails_with 3 "'${KEY:0:11}' matches 2 keys: give more digits" "$BIN/pipeline" clean-runs "${KEY:0:11}"
    fails_with 3 "no kept run has a key that begins with 'x'" "$BIN/pipeline" clean-runs "$KEY" x
    # Digits beyond the folder's name count, too: two keys without a blank between them are not a key.
    fails_with 3 "no kept run has a key" "$BIN/pipeline" clean-runs "$KEY$twin"
    # shellcheck disable=SC2016 # so it shall be
    for word in . .. '*' "../runs/$KEY" "$KEY/1" "${KEY^^}" "$ARTIFACTS/runs/$KEY" '$(echo x)'; do
        fails_with 3 "no kept run has a key" "$BIN/pipeline" clean-runs "$word"
    done
    fails_with 2 "a name is missing" "$BIN/pipeline" clean-runs
    fails_with 2 "a name is missing" "$BIN/pipeline" clean-runs RUNS=" "
    [ "$(all_of "$ARTIFACTS")" = "$before" ]
}

@test "clean-runs removes nothing if one of the runs is being trained" {
    succeeds pipeline experiment x SEED=5
    local five holder lock before
    five=$(key_of_link x/seed-5)
    before=$(all_of "$ARTIFACTS")
    # A train tool holds one lock, the stage that starts it another; an evaluation holds a third.
    for lock in train/.lock .train.lock .evaluate.lock; do
        exec {holder}>"$ARTIFACTS/runs/$five/1/$lock"
        flock "$holder"
        fails_with 1 "runs/$five/1': it is being trained" "$BIN/pipeline" clean-runs "$KEY" "$five"
        exec {holder}>&-
        [ "$(all_of "$ARTIFACTS")" = "$before" ]
    done
    YES=1 succeeds pipeline clean-runs "$KEY" "$five"
    [ -z "$(ls -A "$ARTIFACTS/runs")" ]
}

@test "on a read-only disk kept runs are listed and reported, and nothing is removed" {
    need_read_only
    succeeds read_only "$ARTIFACTS" "$BIN/pipeline" runs
    grep -q "^$KEY " <<<"$output" || fail "$output"
    succeeds read_only "$ARTIFACTS" "$BIN/pipeline" experiment x
    trained 0
    TOOL=pipeline fails_with 1 "cannot remove: '$ARTIFACTS/runs/$KEY': Read-only" \
        read_only "$ARTIFACTS" "$BIN/pipeline" clean-runs "$KEY" YES=1
    [ -s "$ARTIFACTS/runs/$KEY/1/train/model.st.zst" ]
}

@test "an interrupted removal is finished, and a run folder that was renamed is neither used nor removed" {
    mkdir "$ARTIFACTS/runs/.removed-$KEY"
    echo half >"$ARTIFACTS/runs/.removed-$KEY/file"
    mv "$ARTIFACTS/runs/$KEY" "$ARTIFACTS/runs/0123456789ab"
    succeeds pipeline runs
    grep -q "^0123456789ab .* it holds the run of another key, '$KEY" <<<"$output" || fail "$output"
    succeeds pipeline experiment x
    trained 1
    succeeds pipeline clean-runs "$KEY" YES=1
    [ "$(ls -A "$ARTIFACTS/runs")" = 0123456789ab ]
    fails_with 1 "holds the run of another key" "$BIN/pipeline" clean-runs 0123456789ab
    [ -s "$ARTIFACTS/runs/0123456789ab/1/train/model.st.zst" ]
}

# ---- Odd names -----------------------------------------------------------------------------------

@test "a name with blanks, quotes and \$(…) is not executed; a long name is shortened" {
    # shellcheck disable=SC2016 # so it shall be
    local odd='$(touch x) it'\''s "a" b;c&d' long
    long=$(printf 'n%.0s' {1..200})
    cp experiments/x.yaml "experiments/$odd.yaml"
    sed -i 's/^name: x/name: odd/' "experiments/$odd.yaml"
    cp experiments/x.yaml "experiments/$long.yaml"
    sed -i 's/^name: x/name: long/; s/0.02/0.03/' "experiments/$long.yaml"
    export TIME=0
    succeeds pipeline compare "experiments/$odd.yaml" "experiments/$long.yaml" SET="title=\$(touch y) \"$long"
    [ -e "${lines[-1]#report: }" ] || fail "$output"
    succeeds pipeline explain "experiments/$odd.yaml" "experiments/$long.yaml" SET="title=$long"
    [ -e "${lines[-1]#report: }" ] || fail "$output"
    # shellcheck disable=SC2016
    succeeds make -C "$ROOT" -s BIN="$BIN" ARTIFACTS="$WORK/a:r "'$$(touch z) [x]' EXP="$PWD/experiments/$odd.yaml" experiment
    [ -z "$(find "$WORK" "$ROOT" -maxdepth 2 -type f -name '[xyz]')" ] || fail "a name was executed"
    fails_with 2 "a tab or a line break" "$BIN/pipeline" experiment $'experiments/a\nb.yaml'
    # In a list, a name with blanks is in quotes.
    cp "experiments/$odd.yaml" 'experiments/a b.yaml'
    EXPS="experiments/$long.yaml 'experiments/a b.yaml'" succeeds pipeline compare DRY_RUN=1
    fails_with 2 "a quote is not closed: 'experiments/a b.yaml" "$BIN/pipeline" compare EXPS="x 'experiments/a b.yaml"
}
