# SPDX-License-Identifier: MIT
# manifest: get, verify, diff, fresh.
# shellcheck shell=bash disable=SC2154 # output and stderr are set by helpers.bash

load helpers

setup() {
    need_tool manifest
    cd "$WORK" || return 1
    mkdir stage
    printf 'hello\n' > in.txt
    printf 'result\n' > stage/out.txt
    stage > stage/manifest.yaml
}

sha() { sha256sum "$1" | cut -d' ' -f1; }

# stage [TOOL [ACCURACY [LR]]]: writes a manifest of in.txt and stage/out.txt.
stage() {
    cat <<END
schema: lockstep.manifest/1
tool: ${1:-train-single}
version: v1
bits: 1
command: [${1:-train-single}, --out, stage]
key: "00"
inputs:
- {path: ../in.txt, bytes: 6, sha256: $(sha in.txt)}
- {path: "-", bytes: 99, content: abc}
outputs:
- {path: out.txt, bytes: 7, sha256: $(sha stage/out.txt)}
parameters:
  optimizer: {lr: ${3:-0.1}}
results:
  accuracy: ${2:-0.5}
  total_seconds: $RANDOM
  epochs:
  - {loss: 2.5, seconds: $RANDOM, phases: {load: $RANDOM}}
run: {host: h$RANDOM}
END
}

@test "manifest: --help and --version" {
    succeeds "$BIN/manifest" --help
    [[ $output == *"fresh DIR"* ]]
    succeeds "$BIN/manifest" --version
    [[ $output == "manifest (lockstep) "* ]]
}

@test "manifest get prints scalars as they are and the rest as YAML" {
    succeeds "$BIN/manifest" get stage/manifest.yaml results.accuracy
    [ "$output" = 0.5 ]
    succeeds "$BIN/manifest" get stage/manifest.yaml key inputs.1.path
    [ "$output" = $'00\n-' ]
    succeeds "$BIN/manifest" get stage/manifest.yaml parameters
    [ "$output" = 'optimizer: {lr: 0.1}' ]
}

@test "manifest get without a key prints the whole file" {
    succeeds "$BIN/manifest" get stage/manifest.yaml
    [ "${lines[0]}" = 'schema: lockstep.manifest/1' ] || fail "$output"
    [[ $output == *$'\nparameters:\n  optimizer: {lr: 0.1}\n'* ]] || fail "$output"
}

@test "manifest get of a missing key exits 3 and prints nothing" {
    fails_with 3 "cannot get 'results.acuracy'" "$BIN/manifest" get stage/manifest.yaml tool results.acuracy
    [ -z "$output" ]
}

@test "manifest refuses files that are not manifests" {
    fails_with 3 "'absent.yaml': No such file" "$BIN/manifest" get absent.yaml tool
    printf 'a: [1\n' > broken.yaml
    fails_with 3 'broken.yaml:1:4: ' "$BIN/manifest" get broken.yaml a
    printf 'schema: lockstep.model/1\n' > other.yaml
    fails_with 3 'other.yaml:1:9: not a manifest' "$BIN/manifest" verify other.yaml
    fails_with 3 'other.yaml:1:9: not a manifest' "$BIN/manifest" diff stage/manifest.yaml other.yaml
}

@test "manifest: usage errors exit 2" {
    fails_with 2 "did you mean 'verify'" "$BIN/manifest" verfy stage/manifest.yaml
    fails_with 2 'expected at least 2' "$BIN/manifest" get
    fails_with 2 'expected two files' "$BIN/manifest" diff stage/manifest.yaml
    fails_with 2 "unknown option: '--frob'" "$BIN/manifest" get --frob stage/manifest.yaml tool
    fails_with 2 'expected PATH=VALUE' "$BIN/manifest" fresh stage tool
}

@test "manifest verify: whole, changed, missing" {
    succeeds "$BIN/manifest" verify stage/manifest.yaml
    [ -z "$output" ]
    succeeds "$BIN/manifest" verify -q stage/manifest.yaml
    [ -z "$stderr" ]
    printf 'rasult\n' > stage/out.txt
    fails_with 4 '1 of 2 files' "$BIN/manifest" verify stage/manifest.yaml
    [[ $output == "stage/manifest.yaml: 'out.txt': SHA-256 is $(sha stage/out.txt), but "*" is recorded" ]]
    printf 'result' > stage/out.txt
    rm in.txt
    fails_with 4 '2 of 2 files' "$BIN/manifest" verify stage/manifest.yaml
    [ "${lines[0]}" = "stage/manifest.yaml: '../in.txt': No such file or directory" ]
    [ "${lines[1]}" = "stage/manifest.yaml: 'out.txt': size is 6 bytes, but 7 is recorded" ]
}

@test "manifest verify checks every file given" {
    cp -r stage other
    printf 'x' > other/out.txt
    fails_with 4 '1 of 4 files' "$BIN/manifest" verify stage/manifest.yaml other/manifest.yaml
}

@test "manifest diff ignores times, run and the strategy's tool" {
    stage train-ddp > ddp.yaml
    succeeds "$BIN/manifest" diff stage/manifest.yaml ddp.yaml
    [ -z "$output" ]
}

@test "manifest diff prints the paths that differ" {
    stage train-single 0.75 0.2 > b.yaml
    fails_with 4 "differ in 2 places" "$BIN/manifest" diff stage/manifest.yaml b.yaml
    [ "$output" = $'parameters.optimizer.lr: 0.1 != 0.2\nresults.accuracy: 0.5 != 0.75' ]
    printf 'other\n' > stage/out.txt
    stage > b.yaml
    fails_with 4 "differ in 1 place$" "$BIN/manifest" diff stage/manifest.yaml b.yaml
    [[ $output == outputs.out.txt.sha256:* ]]
    stage shard > b.yaml
    fails_with 4 'differ' "$BIN/manifest" diff stage/manifest.yaml b.yaml
    [ "${lines[0]}" = 'tool: train-single != shard' ]
}

@test "manifest fresh is silent; -v gives the reason" {
    succeeds "$BIN/manifest" fresh stage
    succeeds "$BIN/manifest" fresh stage tool=train-single results.accuracy=0.5
    run --separate-stderr "$BIN/manifest" fresh stage key=ff
    [ "$status" -eq 4 ]
    [ -z "$output$stderr" ]
    fails_with 4 "'stage' is stale: key is '00', not 'ff'" "$BIN/manifest" fresh -v stage key=ff
    rm stage/out.txt
    fails_with 4 "output 'out.txt' is missing" "$BIN/manifest" fresh -v stage
    rm stage/manifest.yaml
    fails_with 4 'No such file or directory' "$BIN/manifest" fresh -v stage
}

@test "manifest: a full disk on standard output exits 1" {
    [ -w /dev/full ] || skip "no /dev/full"
    TOOL=manifest fails_with 1 "'standard output'" sh -c "'$BIN/manifest' get stage/manifest.yaml tool > /dev/full"
}

@test "manifest verify finds damage in each file of a stage, whatever its place in the list" {
    need_tool synth-cifar shard
    "$BIN/synth-cifar" -q --train 60 --test 20 --out data
    "$BIN/shard" -q --shards 5 --in data/train.st.zst --out shards
    local stage file count=0
    for stage in data shards; do
        for file in "$stage"/*.st.zst; do
            cp "$file" kept
            printf X | dd of="$file" bs=1 seek=100 conv=notrunc status=none
            fails_with 4 "^manifest: 1 of " "$BIN/manifest" verify "$stage"
            [[ $output == *"'${file##*/}'"* ]] || fail "$output"
            mv kept "$file"
            count=$((count + 1))
        done
    done
    [ "$count" = 7 ]
}

@test "a folder that is no run: the message names the runs in it, around it or beside it" {
    need_tool manifest replay report tensor
    local run seed tool
    cd "$WORK" || return
    for seed in 1 2 10 11; do mkdir -p a/x/seed-$seed/train && touch a/x/seed-$seed/train/manifest.yaml; done
    mkdir -p a/x/report a/x/seed-1/evaluate b
    printf '%s\n' 'schema: lockstep.manifest/1' 'tool: report' 'inputs: []' 'outputs: []' >a/x/report/manifest.yaml
    cp a/x/report/manifest.yaml a/x/seed-1/evaluate
    run=": folders of runs are 'a/x/seed-1', 'a/x/seed-2', 'a/x/seed-10', …$"
    for tool in replay "manifest verify" "manifest diff a/x" "tensor diff a/x"; do
        read -ra words <<<"$tool"
        TOOL=${words[0]} fails_with 3 "$run" "$BIN/${words[0]}" "${words[@]:1}" a/x
        TOOL=${words[0]} fails_with 3 "$run" "$BIN/${words[0]}" "${words[@]:1}" a/
    done
    fails_with 3 "$run" "$BIN/report" a --out r
    TOOL=replay fails_with 3 "not one of a training$run" "$BIN/replay" a/x/report
    fails_with 3 "written by 'report'.*$run" "$BIN/report" a/x/report --out r
    TOOL=replay fails_with 3 "not one of a training: folders of runs are 'a/x/seed-1'$" "$BIN/replay" a/x/seed-1/evaluate
    fails_with 3 "cannot compare runs: 'a/x/seed-1': .*: its folder 'train' does$" "$BIN/tensor" diff a/x/seed-1 a/x/seed-2
    fails_with 3 "'b/manifest.yaml': No such file" "$BIN/manifest" verify b
}
