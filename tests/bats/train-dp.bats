# SPDX-License-Identifier: MIT
# train-dp: replicas in one process, as in DataParallel. same-bits.bats tests that its bits are
# those of train-single.

load helpers
load training

setup_file() {
    file_data 200 50
}

setup() {
    begin_training strategy=dp world_size=2
}

@test "--help and --version" {
    succeeds "$BIN/train-dp" --help
    [[ $output == *--world-size* ]]
    succeeds "$BIN/train-dp" --version
}

@test "the experiment sets the replicas, and -v prints their shapes" {
    succeeds "$BIN/train-dp" -v --experiment e.yaml --train "$train" --test "$test" --out out
    [[ $stderr == *"replica 0: shards 0 to 1, batch [36, 3, 32, 32]"* ]]
    [[ $stderr == *"replica 1: shards 2 to 3, batch [36, 3, 32, 32]"* ]]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.world_size)" = 2 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.strategy)" = dp ]
}

@test "phases of a step, and the bytes transferred" {
    local key arenas=$((62006 + 10)) # lenet: its tensors, and the gaps between them
    succeeds "$BIN/train-dp" -q --experiment e.yaml --train "$train" --out out --world-size 4
    for key in copy forward backward comm wait update; do
        awk -v v="$("$BIN/manifest" get out/manifest.yaml "results.epochs.1.phases.$key")" 'BEGIN { exit !(v > 0) }' ||
            fail "phase $key took no time"
    done
    for key in broadcast scatter forward gather loss scatter_gradient backward reduce update; do
        awk -v v="$("$BIN/manifest" get out/manifest.yaml "run.execution.seconds_per_step.$key")" 'BEGIN { exit !(v > 0) }' ||
            fail "$key took no time"
    done
    # Three replicas receive the parameters and send as much, followed by the loss.
    local broadcast reduce scatter
    broadcast=$("$BIN/manifest" get out/manifest.yaml run.execution.bytes_per_step.broadcast)
    reduce=$("$BIN/manifest" get out/manifest.yaml run.execution.bytes_per_step.reduce)
    scatter=$("$BIN/manifest" get out/manifest.yaml run.execution.bytes_per_step.scatter)
    [ "$broadcast" -ge $((3 * 4 * arenas)) ] && [ "$broadcast" -lt $((3 * 4 * (arenas + 200))) ] ||
        fail "broadcast: $broadcast bytes"
    [ "$reduce" -eq $((broadcast + 3 * 4 * 16)) ] || fail "reduce: $reduce bytes, broadcast: $broadcast bytes"
    # 200 samples in 3 steps; the master keeps its quarter. A sample is 3072 pixels, a label, an id.
    [ "$scatter" -eq $((150 * 3077 / 3)) ] || fail "scatter: $scatter bytes"
    for key in 0 1 2 3; do
        awk -v busy="$("$BIN/manifest" get out/manifest.yaml "run.execution.replicas.$key.busy")" \
            -v waiting="$("$BIN/manifest" get out/manifest.yaml "run.execution.replicas.$key.waiting")" \
            'BEGIN { exit !(busy > 0 && waiting > 0 && busy + waiting < 1) }' || fail "replica $key: the shares of busy and waiting time are wrong"
    done
    fails_with 3 "replicas.4" "$BIN/manifest" get out/manifest.yaml run.execution.replicas.4.busy
}

@test "one replica sends nothing" {
    succeeds "$BIN/train-dp" -q --experiment e.yaml --train "$train" --out out --world-size 1
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.bytes_per_step)" = \
        "{broadcast: 0, scatter: 0, gather: 0, scatter_gradient: 0, reduce: 0}" ]
}

@test "replicas that do not divide the shards are a usage error" {
    fails_with 2 "'3' replicas do not divide the 4 virtual shards" "$BIN/train-dp" --experiment e.yaml --train "$train" --out out --world-size 3
    [ ! -e out/manifest.yaml ]
}

@test "--reduce fast is labelled" {
    succeeds "$BIN/train-dp" -q --experiment e.yaml --train "$train" --out out --reduce fast
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.reduce)" = fast ]
}
