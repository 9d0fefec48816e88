#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --json: each tool's output, as one line that a program can read; and a run's series for other
# programs.
# shellcheck disable=SC2154 # output and stderr are set by helpers.bash
load helpers
load training

setup_file() {
    need_training
    local folder=$BATS_FILE_TMPDIR/made
    mkdir "$folder"
    cd "$folder" || return
    make_data data 144
    write_experiment e.yaml 'optimizer={kind: sgd, lr: 0.1}' 'schedule={kind: multistep, milestones: [1], gamma: 0.1}'
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --out run/train
    "$BIN/evaluate" -q --model run/train/model.st.zst --data data/test.st.zst --out run/evaluate
}

setup() {
    need_training
    need_tool plan audit report bench-allreduce
    cp -r "$BATS_FILE_TMPDIR/made" "$WORK/made"
    cd "$WORK/made" || return
}

# says EXPRESSION: it is true of $output, one line of JSON that Python gets as `j`.
says() {
    [ "$(wc -l <<<"$output")" -eq 1 ] || fail "the output is not one line:" "$output"
    "$PYTHON" -c 'import json, sys
j = json.loads(sys.argv[1])
sys.exit(not eval(sys.argv[2]))' "$output" "$1" || fail "not true: $1" "$output"
}

# finds COMMAND...: exit code 4; standard output in $output.
finds() {
    run --separate-stderr -- "$@"
    [ "$status" -eq 4 ] || fail "exit code $status: $*" "$stderr"
}

@test "manifest --json" {
    succeeds "$BIN/manifest" get --json run/train/manifest.yaml tool parameters.optimizer results.epochs.1.accuracy
    says "j['tool'] == 'train-single' and j['parameters.optimizer']['lr'] == 0.1 and 0 <= j['results.epochs.1.accuracy'] <= 1"
    succeeds "$BIN/manifest" get --json run/train
    says "j['tool'] == 'train-single' and j['parameters']['optimizer']['lr'] == 0.1 and len(j['results']['epochs']) == 2"
    succeeds "$BIN/manifest" verify --json run/train run/evaluate
    says "j == {'checked': 8, 'findings': []}"
    echo x >>run/evaluate/predictions.st.zst
    finds "$BIN/manifest" verify --json run/evaluate
    says "j['checked'] == 3 and any('predictions.st.zst' in line for line in j['findings'])"
    succeeds "$BIN/manifest" diff --json run/train run/train
    says "j == {'differences': []}"
    finds "$BIN/manifest" diff --json run/train run/evaluate
    says "'tool: train-single != evaluate' in j['differences']"
    succeeds "$BIN/manifest" fresh --json run/train tool=train-single
    says "j == {'fresh': True}"
    finds "$BIN/manifest" fresh --json run/train tool=shard
    says "j == {'fresh': False, 'why': \"tool is 'train-single', not 'shard'\"}"
}

@test "tensor --json" {
    succeeds "$BIN/tensor" info --json run/train/steps.st.zst
    says "list(j['metadata']) == ['total_ns'] and {'name': 'loss', 'dtype': 'F32', 'shape': [4], 'bytes': 16} in j['tensors']"
    succeeds "$BIN/tensor" hash --json run/train/model.st.zst run/train/steps.st.zst
    says "[e['file'] for e in j] == ['run/train/model.st.zst', 'run/train/steps.st.zst'] and j[0]['content'] == '$(content run/train/model.st.zst)'"
    succeeds "$BIN/tensor" diff --json run/train run/train
    says "j == {'differences': []}"
    finds "$BIN/tensor" diff --json data/train.st.zst data/test.st.zst
    says "len(j['differences']) == 4 and j['differences'][0].startswith('ids: U32 [144] and U32 [64]')"
}

@test "evaluate, bench-allreduce, plan and audit --json" {
    succeeds "$BIN/evaluate" -q --json --model run/train/model.st.zst --data data/test.st.zst --out again
    says "j['samples'] == 64 and 0 <= j['accuracy'] <= 1 and j['loss'] > 0"
    succeeds "$BIN/bench-allreduce" -q --json --world-size 1,2 --max-bytes 2048 --iterations 2
    says "[w['world_size'] for w in j['results']['world_sizes']] == [1, 2] and j['parameters']['min_bytes'] == 1024"
    succeeds "$BIN/plan" -q study "$ROOT/experiments/R004/workers.yaml" --json
    says "j['kind'] == 'study' and len(j['runs']) == 3"
    finds "$BIN/audit" --json "$ROOT"/experiments/R*/claim.yaml
    says "all(set(f) == {'kind', 'what', 'where', 'arithmetic', 'so'} for c in j for f in c['findings']) and sum(len(c['findings']) for c in j) > 0"
    finds "$BIN/audit" --lang zh --json "$ROOT"/experiments/R*/claim.yaml
    says "j[0]['findings'][0]['kind'] in ('arithmetic error', 'unlike arms', 'unsupported statement', 'stated by the report itself')"
}

@test "report --json" {
    succeeds "$BIN/report" run --json --why tiny.accuracy
    says "j['why'][0].startswith('tiny.accuracy = ')"
    echo 'accuracy: [0, 1]' >wide
    echo 'accuracy: [2, 3]' >far
    succeeds "$BIN/report" run --json --check wide
    says "len(j['check']) == 1 and j['check'][0]['figure'] == 'tiny.accuracy' and j['check'][0]['inside']"
    finds "$BIN/report" run --json --check far --why tiny.accuracy
    says "j['check'][0]['low'] == 2 and j['check'][0]['high'] == 3 and not j['check'][0]['inside'] and 'why' in j"
    fails_with 2 "excludes --out" "$BIN/report" run --json --check far --out x
    fails_with 2 "--out DIR is missing" "$BIN/report" run --json
}

# A run's series as Python reads them, next to the manifest's own values.
@test "tensor export: a run as CSV, with steps, learning rates and epochs" {
    succeeds "$BIN/tensor" export --format csv run
    "$PYTHON" - "$output" "$("$BIN/manifest" get run/train results.epochs.0.loss results.epochs.0.seconds results.epochs.1.accuracy | paste -sd ' ')" \
        "$("$BIN/tensor" export --format csv run/train/steps.st.zst loss | paste -sd ' ')" <<'PY' || fail "$output"
import csv, io, sys
rows = list(csv.DictReader(io.StringIO(sys.argv[1])))
loss, seconds, accuracy = sys.argv[2].split()
assert [r["step"] for r in rows] == ["1", "2", "3", "4"]
assert [r["epoch"] for r in rows] == ["1", "1", "2", "2"]
assert [r["loss"] for r in rows] == sys.argv[3].split()
assert [float(r["lr"]) for r in rows] == [0.1, 0.1, 0.01, 0.01]
assert [bool(r["epoch_loss"]) for r in rows] == [False, True, False, True]
assert rows[1]["epoch_loss"] == loss and rows[1]["epoch_seconds"] == seconds and rows[3]["epoch_accuracy"] == accuracy
phases = [float(rows[0][p + "_seconds"]) for p in "load copy forward backward comm wait update".split()]
assert 0 < sum(phases) <= 1.001 * float(rows[0]["wall_seconds"])
assert len(rows[0]["digest"]) == 16 and {r["run"] for r in rows} == {"run"}
PY
}

@test "tensor export: runs as JSON, from folders and files" {
    cp run/train/steps.st.zst alone.st.zst
    succeeds "$BIN/tensor" export --format json run run/train alone.st.zst
    says "[r['run'] for r in j['runs']] == ['run', 'run/train', 'alone.st.zst']"
    says "j['runs'][0]['steps'] == j['runs'][1]['steps'] and j['runs'][0]['steps']['lr'] == [0.1, 0.1, 0.01, 0.01]"
    says "j['runs'][0]['epochs']['epoch'] == [1, 2] and len(j['runs'][0]['epochs']['seconds']) == 2"
    # Without a manifest there are no epochs and no learning rates.
    says "j['runs'][2]['steps']['loss'] == j['runs'][0]['steps']['loss'] and j['runs'][2]['steps']['lr'] == [None] * 4"
    says "j['runs'][2]['epochs']['epoch'] == []"
    "$BIN/tensor" export --format json --out out.json run
    [ "$(cat out.json)" = "$("$BIN/tensor" export --format json run)" ]
}

@test "tensor export: names of runs are quoted, and inputs that are not runs are refused" {
    mkdir 'a,"b"'
    cp run/train/* 'a,"b"'
    succeeds "$BIN/tensor" export --format csv 'a,"b"'
    [[ ${lines[1]} == '"a,""b""",1,1,'* ]] || fail "$output"
    succeeds "$BIN/tensor" export --format json 'a,"b"'
    says "j['runs'][0]['run'] == 'a,\"b\"'"
    fails_with 3 "'data': no steps.st.zst in it or in its train/" "$BIN/tensor" export --format csv data
    fails_with 3 "no tensor 'loss'|'loss'" "$BIN/tensor" export --format csv data/train.st.zst
    fails_with 2 "expected csv, json or tensorboard for a run, .*got 'npy'" "$BIN/tensor" export --format npy run
    fails_with 2 "the same file is an input \(FILE\)" "$BIN/tensor" export --format csv --out run/train/manifest.yaml run
    cp run/train/manifest.yaml kept
    sed -i '/^  - loss/,/^run:/{/^run:/!d}' run/train/manifest.yaml
    fails_with 3 "manifest.yaml" "$BIN/tensor" export --format csv run
}

@test "manifest accepts folders, and compares runs stage by stage" {
    cp -r run other
    [ "$("$BIN/manifest" get run/evaluate tool)" = evaluate ]
    succeeds "$BIN/manifest" diff run other
    [ -z "$output" ]
    succeeds "$BIN/manifest" diff run/train other
    sed -i 's/^  accuracy: .*/  accuracy: 2/' other/evaluate/manifest.yaml
    finds "$BIN/manifest" diff run other
    [[ $output == "evaluate: results.accuracy: "*" != 2" ]] || fail "$output"
    rm -r other/evaluate
    finds "$BIN/manifest" diff run other
    [ "$output" = "evaluate: done != (absent)" ] || fail "$output"
    fails_with 3 "data-less" "$BIN/manifest" diff run data-less
}

@test "the count of checked files is singular for one file" {
    succeeds "$BIN/manifest" verify data/manifest.yaml
    [ "$stderr" = "manifest: 2 files checked" ] || fail "$stderr"
    "$BIN/shard" -q --shards 1 --in data/train.st.zst --out one
    sed -i '/^inputs:/,/^outputs:/{/^inputs:/!{/^outputs:/!d}}; s/^inputs:/inputs: []/; /^key:/d; /^digest:/d' one/manifest.yaml
    succeeds "$BIN/manifest" verify one
    [ "$stderr" = "manifest: 1 file checked" ] || fail "$stderr"
}
