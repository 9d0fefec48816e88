#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bench-allreduce: its table, its manifest and its key. The times themselves are not tested, nor the
# fit (tests/unit/test_cost_model.c); prediction.bats tests their use in a report.

load helpers

setup() {
    need_tool bench-allreduce manifest
    BENCH=$BIN/bench-allreduce
    cd "$WORK" || return
}

# Small and quick.
bench() {
    "$BENCH" --min-bytes 1024 --max-bytes 4096 --iterations 3 "$@"
}

@test "a row for each size and number of ranks, then the fit" {
    succeeds bench --world-size 1,2,3
    [ "$(grep -c '^# *ranks *bytes *iterations *time (us) *algbw (GB/s) *busbw (GB/s)$' <<<"$output")" -eq 1 ]
    for ranks in 1 2 3; do
        [ "$(awk -v w=$ranks '$1 == w { printf "%s ", $2 ":" $3 }' <<<"$output")" = "1024:3 2048:3 4096:3 " ] || fail "$output"
        grep -Eq "^# ranks $ranks: alpha [0-9.]+ us, beta [0-9.]+ ns/byte, relative error [0-9.]+ %" <<<"$output" || fail "$output"
    done
    # Bandwidth is bytes divided by time, if there are enough digits; the bus bandwidth is the same
    # with two ranks, and 0 with one.
    awk '$1 ~ /^[0-9]+$/ { if (!($4 > 0)) exit 1; d = $5 - $2 / $4 / 1000; if ($4 > 5 && d * d > 1e-5) exit 1
        if ($1 == 2 && $6 != $5 || $1 == 1 && $6 != 0) exit 1 }' <<<"$output" || fail "$output"
    [ ! -e manifest.yaml ]
}

@test "more ranks than cores are SIMULATED" {
    local cores
    cores=$(getconf _NPROCESSORS_ONLN)
    [ "$cores" -lt 64 ] || skip "too many cores"
    succeeds bench --world-size "1,$((cores + 1))" --out out
    [[ $output == *"# ranks $((cores + 1)): "*"; SIMULATED: $((cores + 1)) ranks on $cores cores" ]] || fail "$output"
    [ "$(grep -c SIMULATED <<<"$output")" -eq 1 ] || fail "$output"
    [ "$("$BIN/manifest" get out/manifest.yaml results.world_sizes.0.simulated)" = false ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.world_sizes.1.simulated)" = true ]
}

@test "the manifest holds the machine, the table and the fit" {
    succeeds bench --world-size 2 --reduce fast --out out
    get() { "$BIN/manifest" get out/manifest.yaml "$@"; }
    [ "$(get tool)" = bench-allreduce ]
    [ "$(get parameters.reduce)" = fast ]
    [ "$(get parameters.machine.cpu)" = "$(get run.cpu)" ]
    [ "$(get parameters.machine.host)" = "$(get run.host)" ]
    [ "$(get results.world_sizes.0.world_size results.world_sizes.0.sizes.2.bytes)" = $'2\n4096' ]
    get results.world_sizes.0.{alpha_seconds,beta_seconds_per_byte,relative_error} >numbers
    awk '!($1 >= 0) { exit 1 }' numbers || fail "$(cat numbers)"
    # The table agrees with the manifest.
    awk -v seconds="$(get results.world_sizes.0.sizes.0.seconds)" \
        '$1 == 2 && $2 == 1024 { d = $4 - seconds * 1e6; exit !(d * d < 1e-4) }' <<<"$output" || fail "$output"
    succeeds "$BIN/manifest" verify out/manifest.yaml
}

@test "the key equals the manifest's, and differs for another machine or other options" {
    succeeds bench --world-size 1 --out out
    key=$(bench --world-size 1 --out elsewhere --print-key)
    succeeds "$BIN/manifest" fresh out "key=$key"
    [ "$key" != "$(bench --world-size 2 --print-key)" ]
    [ "$key" != "$(bench --world-size 1 --reduce fast --print-key)" ]
    [ ! -e elsewhere ]
    unshare --uts true 2>/dev/null || skip "cannot change the host name on this machine"
    [ "$key" != "$(unshare --uts sh -c 'hostname another && exec "$@"' - \
        "$BENCH" --min-bytes 1024 --max-bytes 4096 --iterations 3 --world-size 1 --print-key)" ]
}

@test "both reductions, one after the other" {
    succeeds bench --world-size 2 --reduce both --out out
    [ "$(grep -c '^# ranks 2: ' <<<"$output")" -eq 2 ] || fail "$output"
    [ "$("$BIN/manifest" get out/manifest.yaml results.world_sizes.{0,1}.reduce)" = $'exact\nfast' ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.world_sizes.0.transport parameters.devices.0)" = $'shared memory\ncpu' ]
}

# need_emulation: sets up the emulated backend, with four GPUs.
need_emulation() {
    local library=$BIN/../lib/lockstep-cuda-emulated.so
    [ -e "$library" ] || skip "$library is not built"
    LOCKSTEP_CUDA_LIBRARY=$(realpath "$library")
    export LOCKSTEP_CUDA_LIBRARY LOCKSTEP_EMULATED_DEVICES=4
}

@test "on devices: NCCL with a GPU per rank, CUDA IPC with shared GPUs" {
    need_emulation
    succeeds bench --device cuda:0,cuda:1 --world-size 2,3 --reduce both --out out
    get() { "$BIN/manifest" get out/manifest.yaml "$@"; }
    [ "$(awk '$1 ~ /^[0-9]+$/ { printf "%s ", $1 ":" $2 }' <<<"$output")" = \
        "2:1024 2:2048 2:4096 3:1024 3:2048 3:4096 2:1024 2:2048 2:4096 3:1024 3:2048 3:4096 " ] || fail "$output"
    [ "$(grep -c "^# ranks 2: .*; nccl$" <<<"$output")" -eq 2 ] || fail "$output"
    [ "$(grep -c "^# ranks 3: .*; cuda ipc; SIMULATED: 3 ranks on 2 GPUs$" <<<"$output")" -eq 2 ] || fail "$output"
    [ "$(get results.world_sizes.{0,1,2,3}.transport | paste -sd ,)" = "nccl,cuda ipc,nccl,cuda ipc" ]
    [ "$(get results.world_sizes.{1,3}.reduce | paste -sd ,)" = exact,fast ]
    [ "$(get results.world_sizes.{0,1}.simulated | paste -sd ,)" = false,true ]
    [ "$(get parameters.devices.1 parameters.machine.gpus.1 run.gpus.1.device | paste -sd ,)" = cuda:1,emulated,cuda:1 ]
    succeeds bench --device cuda --world-size 2
    [[ $output == *"; cuda ipc; SIMULATED: 2 ranks on 1 GPU" ]] || fail "$output"
}

@test "missing devices, devices that cannot reduce, and unsuitable options are refused" {
    need_emulation
    fails_with 1 "'cuda:4': this host has 4 GPUs" "$BENCH" --device cuda:4 --out out
    fails_with 2 "bad --device: 'auto': expected cpu, cuda or a list" "$BENCH" --device auto --out out
    fails_with 2 "'--device gpu': expected" "$BENCH" --device gpu --out out
    fails_with 2 "bad --world-size: '1,2': one rank has nothing to reduce on a device" "$BENCH" --device cuda --world-size 1,2
    fails_with 2 "bad --min-bytes: '100': on a device it must be a multiple of 64, at least 192" "$BENCH" --device cuda --min-bytes 100
    export LOCKSTEP_EMULATED_IPC=none
    fails_with 1 "these ranks reduce through the host.*operation not supported" "$BENCH" --device cuda --world-size 2 --out out
    nothing_in out
}

@test "bad options are refused, and nothing is written" {
    for list in '' 0 '1,' ,1 1,,2 2x 1025 -1 '1 2'; do
        fails_with 2 "bad --world-size: '$list'" "$BENCH" --world-size "$list" --out out || return 1
    done
    fails_with 2 "bad --reduce: 'quick': expected exact, fast or both" "$BENCH" --reduce quick --out out
    fails_with 2 "bad --min-bytes: '6'" "$BENCH" --min-bytes 6 --out out
    fails_with 2 "bad --max-bytes: '1028'.*at least twice" "$BENCH" --max-bytes 1028 --out out
    fails_with 2 "'--iterations': expected an integer from 1" "$BENCH" --iterations 0 --out out
    fails_with 2 "bad --out: '-'" "$BENCH" --out -
    fails_with 2 "did you mean '--world-size'" "$BENCH" --world-sice 2
    nothing_in out
}

@test "a folder that cannot be written, a full disk" {
    touch file
    fails_with 1 "cannot make folder: 'file'" "$BENCH" --world-size 1 --max-bytes 4096 --out file/out
    TOOL=bench-allreduce fails_with 1 "standard output" \
        sh -c "'$BENCH' --world-size 1 --max-bytes 4096 --iterations 1 >/dev/full"
}
