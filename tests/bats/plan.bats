#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# plan: the runs of experiments, resolved as in the pipeline. explain.bats, studies.bats and
# reproduce.bats test the plans of ladders, studies and reproductions.
load helpers

setup() {
    need_tool plan pipeline manifest synth-cifar shard train-single train-ddp
    export ARTIFACTS=$WORK/artifacts
    mkdir -p "$WORK/files/models" && cd "$WORK/files" || return
    cat >models/small.yaml <<'YAML'
schema: lockstep.model/1
name: small
input: [3, 8, 8]
layers: [flatten, linear: {out: 10}]
YAML
    an_experiment alone "global_batch: 64" "repeats: 2"
    an_experiment ranks "global_batch: 64" "strategy: ddp" "world_size: 2"
}

# an_experiment NAME LINE...
an_experiment() {
    printf '%s\n' 'schema: lockstep.experiment/1' "name: ${1##*/}" 'dataset: synthetic' 'model: small' 'epochs: 1' \
        'optimizer: {kind: sgd, lr: 0.02}' "${@:2}" >"$1.yaml"
}

@test "plan runs: link, tool, data and seeds, and the keys if the data exist" {
    local data=$ARTIFACTS/data/synthetic-3x8x8
    succeeds "$BIN/plan" runs alone.yaml ranks.yaml --trainings
    [ "${lines[0]}" = "$ARTIFACTS/alone/seed-42"$'\t'"train-single"$'\t'"$data/train.st.zst"$'\t42\t-' ] || fail "$output"
    [ "${lines[1]}" = "$ARTIFACTS/alone/seed-43"$'\t'"train-single"$'\t'"$data/train.st.zst"$'\t43\t-' ] || fail "$output"
    [ "${lines[2]}" = "$ARTIFACTS/ranks/seed-42"$'\t'"train-ddp"$'\t'"$data/shards-2-0"$'\t42\t-' ] || fail "$output"
    [ ! -e "$ARTIFACTS" ] || fail "plan created files"
    # The pipeline names the same runs.
    succeeds "$BIN/pipeline" compare alone.yaml ranks.yaml DRY_RUN=1
    local said=$output key
    succeeds "$BIN/plan" runs alone.yaml ranks.yaml --trainings --out plan.yaml
    for key in "${lines[0]##*$'\t'}" "${lines[2]##*$'\t'}"; do
        [[ ${#key} -eq 64 && $said == *"run ${key:0:12}"* ]] || fail "$key" "$said"
    done
    [ "$("$BIN/manifest" get plan.yaml runs.1.tool runs.1.train runs.1.test runs.1.folder runs.1.seeds.0.link \
        runs.1.seeds.0.run runs.1.seeds.0.key baseline | paste -sd ' ')" = "train-ddp $data/shards-2-0 $data/test.st.zst ranks \
$ARTIFACTS/ranks/seed-42 $ARTIFACTS/runs/${key:0:12} $key alone" ] || fail "$(cat plan.yaml)"
    # Other settings, other links and keys.
    succeeds "$BIN/plan" runs ranks.yaml --set epochs=2 --trainings
    [[ $output == "$ARTIFACTS/ranks-epochs=2/seed-42"$'\t'* && $output != *"$key" ]] || fail "$output"
}

@test "plan runs: two experiments with the same name or the same content are refused" {
    mkdir other
    cp alone.yaml same.yaml
    cp ranks.yaml other/alone.yaml
    cp -r models other
    fails_with 2 "'alone.yaml' and 'other/alone.yaml' have the same name, 'alone'" \
        "$BIN/plan" runs alone.yaml other/alone.yaml --out plan.yaml
    fails_with 2 "'alone.yaml' is named twice" "$BIN/plan" runs alone.yaml alone.yaml --out plan.yaml
    sed -i 's/^name: .*/name: same/' same.yaml
    succeeds "$BIN/pipeline" experiment alone.yaml DRY_RUN=1
    fails_with 2 "'alone' and 'same' are the same run" "$BIN/plan" runs alone.yaml same.yaml --out plan.yaml
    [ ! -e plan.yaml ]
}

@test "plan: a broken claim stops only the plans that need it" {
    cp -r "$ROOT/experiments" . || return
    printf 'schema: lockstep.claim/1\nname: R001\nrows: [\n' >experiments/R001/claim.yaml
    succeeds "$BIN/pipeline" experiment quickstart DRY_RUN=1
    succeeds "$BIN/plan" ladder mnist-single-w0 mnist-ddp1-w0 -q --trainings
    fails_with 3 "^plan: experiments/R001/claim.yaml:[0-9]+:" "$BIN/plan" ladder mnist-single-w0 ddp4 -q --trainings
    fails_with 3 "^plan: experiments/R001/claim.yaml:[0-9]+:" "$BIN/plan" ladder single ddp4 -q --trainings
    TOOL=pipeline fails_with 3 "^pipeline: experiments/R001/claim.yaml:[0-9]+:" "$BIN/pipeline" experiment single
    TOOL=pipeline fails_with 3 "R001/claim.yaml:[0-9]+:" "$BIN/pipeline" reproduce QUICK=1 DRY_RUN=1
}

@test "plan: names of the catalogue, another output folder, bad data and devices, and no output over an input" {
    cp -r "$ROOT/experiments" . || return
    succeeds "$BIN/plan" ladder single ddp4 -q --trainings --artifacts "$WORK/b"
    [ "${lines[0]%%$'\t'*}" = "$WORK/b/explain-single-ddp4/00-single/seed-42" ] || fail "$output"
    fails_with 2 "experiments/R001/single.yaml': the same file is an input \(an experiment file\)" \
        "$BIN/plan" runs single --out experiments/R001/single.yaml
    fails_with 3 "DATA='none': it has no train.st.zst" "$BIN/plan" runs single --data none
    TOOL=train-single fails_with 2 "'--device gpu': expected auto" "$BIN/plan" runs single --device gpu
}
