# SPDX-License-Identifier: MIT
# Ranks started by an MPI launcher, on this host and on two hosts made of network namespaces.

load helpers
load training
load hosts

setup_file() {
    file_data 200 50
}

setup() {
    begin_training strategy=ddp world_size=4
    [ -e "$BIN/../lib/lockstep-mpi.so" ] || skip "lockstep-mpi.so is not built (make deps-mpi)"
    needs mpirun deps-mpi
    # More ranks than cores, as root, and with short waits: Open MPI must be configured to accept this.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_orte_execute_quiet=1
}

# expect: sets $expected, the content hash of train-single's model of e.yaml.
expect() {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    expected=$(content expected/model.st.zst)
}

# execution DIR KEY
execution() {
    "$BIN/manifest" get "$1/manifest.yaml" "run.execution.$2"
}

@test "ranks over MPI give the bits of one process" {
    local size
    expect
    for size in 1 2 4; do
        mpirun -n "$size" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --test "$test" --out "out$size"
        same_model "$expected" "out$size" "$size ranks"
    done
    [ "$(execution out4 world_size)" = 4 ]
    [ "$(execution out4 transport)" = mpi ]
    succeeds "$BIN/manifest" verify out4/manifest.yaml
    # One host is run.host.
    run "$BIN/manifest" get out4/manifest.yaml run.execution.hosts
    [ "$status" -eq 3 ]
}

@test "synchronised batch norm gives the same bits over MPI" {
    write_experiment e.yaml strategy=ddp world_size=4 "$LENET_BN" sync_batch_norm=true
    expect
    mpirun -n 4 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    same_model "$expected" out "sync_batch_norm"
}

@test "--reduce fast gives the same bits over MPI as over shared memory" {
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out shared --reduce fast
    mpirun -n 4 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --reduce fast
    [ "$(execution out reduce)" = fast ]
    same_model "$(content shared/model.st.zst)" out "fast"
}

@test "a rank on the cpu and one on a GPU train together over MPI, and the manifest names both" {
    export LOCKSTEP_CUDA_LIBRARY=$BIN/../lib/lockstep-cuda-emulated.so
    [ -e "$LOCKSTEP_CUDA_LIBRARY" ] || skip "$LOCKSTEP_CUDA_LIBRARY is not built"
    cat >place <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ "$rank" = 1 ]; then set -- "$@" --device cuda; else set -- "$@" --device cpu; fi
exec "$@"
END
    chmod +x place
    "$BIN/synth-cifar" -q --train 64 --test 16 --shape 1,12,12 --seed 3 --out small
    printf '%s\n' 'schema: lockstep.model/1' 'name: net' 'input: [1, 12, 12]' 'layers: [conv: {out: 4, kernel: 3}, relu, flatten, linear: {out: 10}]' >net.yaml
    write_experiment e.yaml strategy=ddp world_size=2 model=./net.yaml global_batch=16
    train=small/train.st.zst
    expect
    mpirun -n 2 ./place "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    same_model "$expected" out "cpu and GPU"
    [ "$(execution out devices)" = '[cpu, "cuda:0"]' ]
    run mpirun -n 2 ./place "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out other --math fast
    [ "$status" -eq 3 ] && [[ $output == *"'rank 1': its experiment, "*" --math, "*" differs from rank 0's"* ]] || fail "$output"
}

@test "ranks over MPI stop and resume together" {
    expect
    mpirun -n 4 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 3
    unfinished out
    mpirun -n 2 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --resume
    same_model "$expected" out "resumed"
}

@test "ranks with different experiments, reductions, stops or checkpoints are refused" {
    cat >differ <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
[ "$rank" != 1 ] || set -- "$@" $OPTION
exec "$@"
END
    chmod +x differ
    for option in '--set seed=5' '--reduce fast' '--stop-after-steps 2' '--checkpoint-every 2'; do
        run env OPTION="$option" mpirun -n 2 ./differ "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
        [ "$status" -eq 3 ]
        [[ $output == *"'rank 1': its experiment, data, "*" differs from rank 0's"* ]]
        unfinished out
    done
}

@test "a rank that fails ends the others" {
    mpirun --version | grep -q 'Open MPI' || skip "an MPI other than Open MPI may need large files"
    # Rank 0 cannot write its state: at the end of the first epoch, while the others continue. It must
    # print its error before it leaves the group, because mpirun kills it as soon as another rank ends.
    cat >narrow <<'END'
#!/bin/bash
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || ulimit -f 8
exec "$@"
END
    chmod +x narrow
    run timeout 300 mpirun -n 4 ./narrow "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out \
        --set epochs=500
    [ "$status" -eq 1 ]
    [[ $output == *"state.st.zst': File too large"* ]]
    unfinished out
    nobody_left "$WORK/out"
}

@test "a rank that ends before it connects does not leave the others waiting" {
    cat >elsewhere <<'END'
#!/bin/bash
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || set -- "${@//"$HERE"/"$THERE"}"
exec "$@"
END
    chmod +x elsewhere
    # Rank 1 has no data.
    run env HERE="$train" THERE=/none timeout 300 mpirun -n 2 ./elsewhere "$BIN/train-ddp" -q --experiment e.yaml \
        --train "$train" --out out
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    [[ $output == *"cannot read dataset: '/none'"* ]]
    unfinished out
    # Rank 1 still has work to do.
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out finished
    run env HERE=finished THERE=other timeout 300 mpirun -n 2 ./elsewhere "$BIN/train-ddp" --experiment e.yaml \
        --train "$train" --out finished --resume
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    [[ $output == *"'finished' is already complete"* ]]
    [[ $output == *"rank 0 left the group"* ]]
    # Rank 0 has no folder to write to.
    touch file
    run timeout 300 mpirun -n 2 "$BIN/bench-allreduce" --max-bytes 2048 --iterations 3 --out file
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    [[ $output == *"'file'"* ]]
    nobody_left "$WORK"
}

@test "a rank that waits for a missing rank ends on SIGTERM" {
    cat >absent <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || exec sleep 900
echo $$ >pid
exec "$@"
END
    chmod +x absent
    local code=0
    timeout --kill-after=60 300 mpirun -n 2 ./absent "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out "$WORK/out" >log 2>&1 &
    local job=$!
    wait_for pid
    wait_until grep -q lockstep-mpi "/proc/$(cat pid)/maps"
    sleep 0.5
    kill -TERM "$(cat pid)"
    wait "$job" || code=$?
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && [ "$code" -ne 137 ]
    unfinished out
}

@test "a rank that dies ends the job" {
    cat >mortal <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 2 ] || echo $$ >pid
exec "$@"
END
    chmod +x mortal
    timeout 300 mpirun -n 4 ./mortal "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out "$WORK/out" \
        --set epochs=2000 >log 2>&1 &
    local job=$! code=0
    wait_for out/state.st.zst
    kill -KILL "$(cat pid)"
    wait "$job" || code=$?
    [ "$code" -ne 0 ]
    [ "$code" -ne 124 ]
    unfinished out
    # mpirun may end a moment before the processes that it has ended.
    wait_until all_ended "--out $WORK/out"
}

@test "a launcher that this MPI does not support, and a missing MPI, are usage errors" {
    TOOL=train-ddp fails_with 2 "OMPI_COMM_WORLD_RANK.*no MPI \('/none.so'" env OMPI_COMM_WORLD_RANK=0 \
        OMPI_COMM_WORLD_SIZE=2 LOCKSTEP_MPI_LIBRARY=/none.so "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out
    TOOL=train-ddp fails_with 2 "SLURM_PROCID.*srun --mpi=pmix" env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 \
        "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out
    [ ! -e out ]
    # MPI finds one rank, but two are announced.
    mpirun --version | grep -q 'Open MPI' || skip "an MPI other than Open MPI may wait for a launcher"
    TOOL=train-ddp fails_with 2 "the launcher started this as rank 0 of 2, but it is 0 of 1 in Open MPI" env PMI_RANK=0 PMI_SIZE=2 \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    unfinished out
}

@test "bench-allreduce measures ranks that a launcher started" {
    need_tool bench-allreduce
    run --separate-stderr mpirun -n 3 "$BIN/bench-allreduce" --min-bytes 1024 --max-bytes 4096 --iterations 3 --reduce both --out out
    [ "$status" -eq 0 ]
    [ "$(awk '$1 == 3 { printf "%s ", $2 }' <<<"$output")" = "1024 2048 4096 1024 2048 4096 " ] || fail "$output"
    [ "$("$BIN/manifest" get out/manifest.yaml results.world_sizes.{0,1}.transport)" = $'mpi\nmpi' ]
    [ "$("$BIN/manifest" get out/manifest.yaml parameters.world_sizes.0)" = 3 ]
    # --world-size starts ranks here, whichever launcher has started this one.
    run --separate-stderr mpirun -n 1 "$BIN/bench-allreduce" --max-bytes 2048 --world-size 2 --iterations 3
    [[ $output == *"shared memory"* ]] || fail "$output"
}

teardown() {
    remove_hosts
}

@test "ranks on two hosts give the bits of one process, and the manifest names the hosts" {
    mpirun --version | grep -q 'Open MPI' || skip "the hosts are configured for Open MPI only"
    make_hosts 2
    export OMPI_MCA_plm_rsh_agent=$WORK/agent
    expect
    on_host "$host_a" timeout 300 mpirun --host "$host_a:2,$host_b:2" "$BIN/train-ddp" -q --experiment "$WORK/e.yaml" \
        --train "$train" --out "$WORK/out" --trace "$WORK/trace.json"
    same_model "$expected" out "two hosts"
    # All ranks start at about the same time, whatever their clocks say.
    "$PYTHON" - <<'END' || fail "the clocks of the hosts differ in the trace"
import json
first = {}
for event in json.load(open('trace.json'))['traceEvents']:
    if 'ts' in event:
        first[event['pid']] = min(float(event['ts']), first.get(event['pid'], 1e99))
assert len(first) == 4 and max(first.values()) < 3600e6, first
END
    [ "$(execution out hosts.0.host)" = "$host_a" ]
    [ "$(execution out hosts.1.host)" = "$host_b" ]
    [ "$(execution out hosts.1.ranks)" = 2 ]
    "$BIN/report" -q out --out report
    grep -qF '**Hosts** | 2 |' report/report.md
    on_host "$host_a" timeout 300 mpirun --host "$host_a,$host_b" "$BIN/bench-allreduce" --max-bytes 2048 \
        --iterations 3 --out "$WORK/bench"
    [ "$("$BIN/manifest" get bench/manifest.yaml run.hosts.1.host)" = "$host_b" ]
}

# The first four parameters, and the first two members of `error`, are those of every version.
@test "a library of another version says so" {
    cat >old.c <<'END'
#include <stdio.h>
struct error { int code; char message[2048]; };
int lockstep_transport_mpi(int abi, void **transport, char describe[256], struct error *err) {
    (void)describe;
    *transport = 0;
    snprintf(err->message, sizeof err->message, "another version than %d", abi);
    return err->code = 1;
}
END
    "$CC" -shared -fPIC old.c -o old.so
    LOCKSTEP_MPI_LIBRARY=$WORK/old.so run timeout 300 mpirun -n 2 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    [ "$status" -eq 1 ] || fail "$status: $output"
    [[ $output == *"another version than "* ]] || fail "$output"
    unfinished out
}

@test "an MPI without support for threads is refused" {
    cat >single.c <<'END'
#include <mpi.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int code = PMPI_Init_thread(argc, argv, required, provided);
    *provided = MPI_THREAD_SINGLE;
    return code;
}
END
    needs mpicc deps-mpi
    mpicc -shared -fPIC single.c -o single.so
    run timeout 300 mpirun -n 2 env LD_PRELOAD="$WORK/single.so" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    [ "$status" -eq 2 ] || fail "$status: $output"
    [[ $output == *"this MPI does not support threads"* ]] || fail "$output"
    unfinished out
}
