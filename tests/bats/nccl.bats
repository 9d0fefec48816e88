# SPDX-License-Identifier: MIT
# train-ddp with ranks that reduce on their devices: by NCCL with a GPU per rank (here, the
# emulation's stand-in, tests/emulation/nccl.h); otherwise by CUDA IPC, or, if that is impossible,
# through the host. CUDA_LIBRARY=build/lib/lockstep-cuda.so uses the machine's GPUs instead.

load helpers
load training

library() {
    echo "${CUDA_LIBRARY:-$BIN/../lib/lockstep-cuda-emulated.so}"
}

use_library() {
    LOCKSTEP_CUDA_LIBRARY=$(realpath "$(library)")
    export LOCKSTEP_CUDA_LIBRARY LOCKSTEP_EMULATED_DEVICES=4
}

setup_file() {
    [ -e "$(library)" ] && [ -x "$BIN/synth-cifar" ] || return 0
    use_library
    cd "$BATS_FILE_TMPDIR" || return 1
    "$BIN/synth-cifar" -q --train 90 --test 20 --shape 3,12,12 --seed 3 --out data
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 12, 12]
layers: [conv: {out: 6, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, linear: {out: 20}, relu,
         linear: {out: 10}]
END
    # The last step of an epoch has 18 samples: with 12 shards some of 2 and some of 1.
    write_experiment e4.yaml model=./net.yaml global_batch=36
    write_experiment e12.yaml model=./net.yaml global_batch=36 virtual_shards=12
    local v
    for v in 4 12; do
        "$BIN/train-single" -q --experiment "e$v.yaml" --train data/train.st.zst --out "one$v" --device cuda
    done
}

setup() {
    need_training
    [ -e "$(library)" ] || skip "$(library) is not built"
    use_library
    made=$BATS_FILE_TMPDIR
    cd "$WORK"
    cp "$made"/*.yaml .
}

# Jobs that a failed test has left running; ranks die with their parent.
jobs=()
teardown() {
    [ "${#jobs[@]}" -eq 0 ] || kill -KILL "${jobs[@]}" 2>/dev/null || true
}

# need_gpus N: of a real machine's GPUs; the emulation has four.
need_gpus() {
    [ -n "${CUDA_LIBRARY:-}" ] || return 0
    [ "$(nvidia-smi --list-gpus 2>/dev/null | wc -l)" -ge "$1" ] || skip "fewer than $1 GPUs"
}

# trains V OPTION...: train-ddp on V shards, into the folder run.
trains() {
    rm -rf run
    succeeds "$BIN/train-ddp" -q --experiment "e$1.yaml" --train "$made/data/train.st.zst" --out run "${@:2}"
}

execution() {
    "$BIN/manifest" get run/manifest.yaml "run.execution.$1"
}

# agrees TRANSPORT V OPTION...: checks the model against that of one GPU, and the transport of the
# gradients.
agrees() {
    trains "${@:2}" || return 1
    same_model "$(content "$made/one$2/model.st.zst")" run "${*:2}" || return 1
    [ "$(execution transport)" = "$1" ] || fail "transport: $(execution transport) instead of $1"
}

@test "two ranks: the bits of one GPU, on separate GPUs and on a shared one" {
    need_gpus 2
    agrees nccl 4 --device cuda:0,cuda:1
    [ "$(execution vectors_per_reduction)" = 1 ]
    [ "$(execution buckets)" = 1 ] # for a model this small
    local sent
    sent=$(execution bytes_sent_per_step)
    agrees "cuda ipc" 4 --device cuda:0 --world-size 2
    [ "$(execution bytes_sent_per_step)" = "$sent" ]
    agrees nccl 12 --device cuda:1,cuda:0
}

@test "four ranks, aligned with the tree and not" {
    need_gpus 4
    agrees nccl 4 --device cuda:0,cuda:1,cuda:2,cuda:3
    agrees nccl 12 --device cuda:3,cuda:1,cuda:2,cuda:0
    [ "$(execution vectors_per_reduction)" = 2 ]
    agrees "cuda ipc" 12 --device cuda:0,cuda:1 --world-size 4
}

@test "ranks that share one GPU, aligned with the tree and not" {
    agrees "cuda ipc" 4 --device cuda:0,cuda:0
    agrees "cuda ipc" 12 --device cuda:0,cuda:0,cuda:0,cuda:0
    [ "$(execution vectors_per_reduction)" = 2 ]
    agrees "cuda ipc" 12 --device cuda:0 --world-size 3
    [ "$(execution bytes_sent_per_step)" -gt 0 ]
}

@test "without CUDA IPC ranks reduce through the host, and -v gives the reason" {
    [ -z "${CUDA_LIBRARY:-}" ] || skip "only the emulation can disable CUDA IPC"
    export LOCKSTEP_EMULATED_IPC=none
    agrees "shared memory" 4 --device cuda:0,cuda:0
    agrees nccl 4 --device cuda:0,cuda:1
    rm -rf run
    "$BIN/train-ddp" -v --experiment e4.yaml --train "$made/data/train.st.zst" --out run --device cuda:0,cuda:0 2>message
    grep -q "reduce through shared memory, not on devices: rank 0: .*: operation not supported$" message || fail "$(cat message)"
}

@test "--reduce fast: another order of the sum, nearly the same model" {
    need_gpus 4
    local devices
    for devices in cuda:0,cuda:1,cuda:2,cuda:3 cuda:0,cuda:0; do
        trains 12 --device "$devices" --reduce fast || return 1
        [ "$(execution reduce)" = fast ]
        succeeds "$BIN/tensor" diff --atol 1e-4 "$made/one12/model.st.zst" run/model.st.zst || return 1
    done
    [ "$(execution transport)" = "cuda ipc" ]
}

@test "synchronised batch norm" {
    need_gpus 2
    printf 'sync_batch_norm: true\n' >>e4.yaml
    "$BIN/train-single" -q --experiment e4.yaml --train "$made/data/train.st.zst" --out one --device cuda
    local devices
    for devices in cuda:0,cuda:1 cuda:0,cuda:0; do
        trains 4 --device "$devices" || return 1
        same_model "$(content one/model.st.zst)" run "sync_batch_norm, $devices" || return 1
    done
}

@test "all ranks stop after the same step, and resume with another number of ranks" {
    need_gpus 4
    trains 4 --device cuda:0,cuda:1 --stop-after-steps 2
    unfinished run
    succeeds "$BIN/train-ddp" -q --experiment e4.yaml --train "$made/data/train.st.zst" --out run --resume \
        --device cuda:0,cuda:1,cuda:2,cuda:3
    same_model "$(content "$made/one4/model.st.zst")" run resumed
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.1.transport)" = nccl ]
}

@test "ranks that share a GPU stop after the same step, and resume with another number of ranks" {
    trains 4 --device cuda:0,cuda:0 --stop-after-steps 2
    unfinished run
    succeeds "$BIN/train-ddp" -q --experiment e4.yaml --train "$made/data/train.st.zst" --out run --resume \
        --device cuda:0 --world-size 4
    same_model "$(content "$made/one4/model.st.zst")" run resumed
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.1.transport)" = "cuda ipc" ]
}

# starts OPTION...: a long training in the background, until its ranks train.
starts() {
    sed -i 's/^epochs:.*/epochs: 2500/' e4.yaml
    "$BIN/train-ddp" -q --experiment e4.yaml --train "$made/data/train.st.zst" --out "$WORK/run" --checkpoint-every 3 \
        "$@" 2>message 3>&- &
    jobs=("$!")
    wait_for run/state.st.zst
}

# ends CODE JOB MESSAGE: before the emulation has waited for a rank in vain, with that exit code; the
# message is in the file MESSAGE.
ends() {
    local code=0 begin=$SECONDS
    wait "$2" || code=$?
    [ "$code" -eq "$1" ] || fail "exit code $code: $(cat "$3")"
    [ $((SECONDS - begin)) -lt $((LOCKSTEP_EMULATED_SECONDS / 2)) ] || fail "it took $((SECONDS - begin)) s"
}

@test "SIGTERM to one rank: all ranks save after the same step" {
    need_gpus 2
    starts --device cuda:0,cuda:1
    kill -TERM "$(rank_process "${jobs[0]}" 1)"
    ends 5 "${jobs[0]}" message
    [ -e run/state.st.zst ]
}

# a_rank_dies OPTION...: the third of four ranks.
a_rank_dies() {
    starts "$@" || return 1
    kill -KILL "$(rank_process "${jobs[0]}" 2)"
    ends 1 "${jobs[0]}" message
    [ "$(wc -l <message)" -eq 1 ] || fail "$(cat message)"
    grep -q "rank 2 was killed by signal 9" message || fail "$(cat message)"
    nobody_left "$WORK/run"
}

@test "a rank that dies ends the others, and is named" {
    need_gpus 4
    a_rank_dies --device cuda:0,cuda:1,cuda:2,cuda:3
}

@test "a rank that dies on a shared GPU ends the others, whatever the order of the streams" {
    local order
    for order in forward backward; do
        rm -rf run
        LOCKSTEP_EMULATED_ORDER=$order a_rank_dies --device cuda:0 --world-size 4 || return 1
    done
}

# Ranks that another launcher started have no parent that reports the death to them.
@test "a rank that dies in a joined group ends the others, and is named" {
    need_gpus 2
    local r port
    port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    sed -i 's/^epochs:.*/epochs: 2500/' e4.yaml
    for r in 0 1; do
        RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$BIN/train-ddp" -q --experiment e4.yaml \
            --train "$made/data/train.st.zst" --out run --checkpoint-every 3 \
            --device cuda:0,cuda:1 2>"message$r" 3>&- &
        jobs+=("$!")
    done
    wait_for run/state.st.zst
    kill -KILL "${jobs[1]}"
    ends 1 "${jobs[0]}" message0
    grep -q "rank 1 died" message0 || fail "$(cat message0)"
}
