#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Pages as Chromium lays them out: each kind, in both languages, wide and narrow, light, dark and
# printed (tests/python/browser.py). LOCKSTEP_SCREENSHOTS is a folder in which pictures are kept.

load helpers
load reports

setup_file() {
    command -v chromium >/dev/null || return 0
    timeout 120 chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$BATS_FILE_TMPDIR/profile" \
        --dump-dom about:blank >/dev/null 2>&1 && : >"$BATS_FILE_TMPDIR/starts"
    return 0
}

setup() {
    begin_report
    needs chromium deps-browser
    needs pdftotext deps-browser
    [ -e "$BATS_FILE_TMPDIR/starts" ] || skip "chromium does not start here"
}

# looks_good NAME ARGUMENT...: the report with these arguments, in both languages, has no faults.
looks_good() {
    local name=$1 language
    shift
    for language in en zh; do
        succeeds "$REPORT" "$@" --lang "$language" --out "$name-$language"
    done
    run "$PYTHON" "$ROOT/tests/python/browser.py" chromium "$WORK/browser" "$name"-{en,zh}/report.html
    [ "$status" -eq 0 ] || fail "$output"
}

@test "one run" {
    a_run a
    looks_good run a
}

@test "runs without a baseline" {
    a_run a name=single-workers
    a_run b name=ddp4-same-batch ranks=4
    looks_good runs a b
}

@test "two experiments compared" {
    thrice a name=single ranks=1 right=64
    thrice b name=ddp4 cores=8 ranks=4 right=60 epochs=2,0.5,0.51,0.49,0.5
    in_turns looks_good comparison a b --baseline a
}

@test "experiments of long names compared, with different V and settings" {
    thrice a name=single-workers shards=1
    thrice b name=ddp4-same-batch ranks=4 shards=4
    thrice c name=dp4-rank-batch ranks=4 shards=4 workers=2 right=90
    thrice d name=mp4-micro-batches ranks=4 shards=4 seed=2
    in_turns looks_good compared b c d --baseline a
}

@test "a ladder" {
    runs_of_a_ladder
    in_turns looks_good ladder 0* --plan plan.yaml
}

# The published figures need many words.
@test "a ladder with published figures, each run executed once" {
    cat >plan.yaml <<'END'
schema: lockstep.plan/1
kind: ladder
experiment: p.yaml
from: p
to: q
runs:
  - {name: 00-p, role: start, set: [], same_as: p, published_epochs: 4,
     published: [{source: R9, accuracy: 90.00, total_seconds: 60.0, load_seconds: 0.004, update_seconds: 0.001}]}
  - {name: 01-loader-workers, role: step, set: [], factors: [loader-workers], changes: {loader_workers: ["0", "4"]}, same_as: m,
     published_factors: [loader-workers], published_epochs: 4, published: [{source: R9, accuracy: 91.00, total_seconds: 20.0}]}
  - {name: 02-world-size, role: step, set: [], factors: [world-size], changes: {world_size: ["1", "2"]}, same_as: q,
     published_factors: [world-size], published_epochs: 4, published: [{source: R9, accuracy: 60.00, total_seconds: 25.0}]}
END
    a_run a name=00-p ranks=1 load=0.5 epochs=4,4,4.04,3.96,4
    a_run b name=01-loader-workers ranks=1 workers=4
    a_run c name=02-world-size workers=4 epochs=2,2,2.02,1.98,2
    looks_good published a b c --plan plan.yaml
    says published-en/report.md "In R9's own figures (60.0 → 20.0 → 25.0 s), loader workers gave 3.00 times the speed, world size and strategy 0.80 times."
}

@test "a comparison on a busy machine: undecided, and said so" {
    local busy='execution={"machine": {"wall_seconds": 10, "cpu_seconds": 15, "waited_seconds": 6, "others_seconds": 9.5, "cores": 2}}'
    a_run a name=single ranks=1 cores=2 right=64 "$busy" -- b name=ddp4 ranks=4 cores=2 right=60 "$busy" \
        -- c name=dp4 ranks=1 cores=2 right=64 "$busy"
    "$PYTHON" "$ROOT/tests/fixtures/make_turns.py" turns spread=0.2 others=0.9 a b c
    looks_good busy b c --baseline a --turns turns
    says busy-en/report.md "Other programs used 0.9 of 2 cores while arms took turns"
    [ "$(json busy-en/report.json "[i['pale'] for i in page['charts']['time_accuracy']['items']]")" = "[False, True, True]" ]
    # No ratio without a verdict, and none of more ranks than cores.
    ! grep -E '^\| \*\*(ddp4|dp4)\*\* .*[0-9]×' busy-en/report.md || fail "a ratio is shown"
}

# study KEY VALUE...: the plan of a study of KEY.
study() {
    local key=$1 value
    shift
    printf 'schema: lockstep.plan/1\nkind: study\nexperiment: base.yaml\nname: %s\nvary: [%s]\nruns:\n' "$key" "$key"
    for value; do
        printf '  - {name: %s-%s, role: variant, set: [], values: {%s: %s}}\n' "$key" "$value" "$key" "$value"
    done
}

@test "a study of time" {
    study loader_workers 0 2 4 >plan.yaml
    thrice a name=loader_workers-0 workers=0 load=0.8 epochs=4,4,4.04,3.96,4
    thrice b name=loader_workers-2 workers=2 load=0.5 epochs=2,2,2.02,1.98,2
    thrice c name=loader_workers-4 workers=4 load=0.125
    in_turns looks_good study a b c --plan plan.yaml
}

@test "a study of accuracy, five rates with three seeds each" {
    local rate right=60 seed
    study optimizer.lr 0.001 0.003 0.01 0.03 0.1 >plan.yaml
    for rate in 0.001 0.003 0.01 0.03 0.1; do
        right=$((right + 4))
        for seed in 1 2 3; do
            a_run "$rate/$seed" name="optimizer.lr-$rate" bits="$rate" seed="$seed" right=$((right + seed))
        done
    done
    looks_good rates 0.* --plan plan.yaml
}

@test "a reproduction" {
    cat >plan.yaml <<END
schema: lockstep.plan/1
kind: reproduction
name: list
reports: [{source: R1}, {source: R2}]
studies: [{name: workers, vary: [loader_workers], source: R1}]
runs:
  - {name: row, role: row, source: R1, keys: [$(key_of one)], published: [{source: R1, accuracy: 64.16, seconds_per_epoch: 1.8}]}
  - {name: w0, role: variant, source: R1, study: workers, values: {loader_workers: 0}, keys: [$(key_of one)]}
  - {name: w2, role: variant, source: R1, study: workers, values: {loader_workers: 2}, keys: [$(key_of two)]}
  - {name: other, role: row, source: R2, keys: [$(key_of three)], published: [{source: R2, accuracy: 71}]}
END
    thrice a key=one name=x
    thrice b key=two name=y workers=2
    thrice c key=three name=z ranks=4 right=71
    in_turns looks_good reproduction a b c --plan plan.yaml
}
