# SPDX-License-Identifier: MIT
# Ranks on several hosts, which are network namespaces on one switch, started over ssh; and a
# training that loses a host. mpi.bats tests MPI itself.

load helpers
load training
load hosts

setup_file() {
    file_data 200 50
}

setup() {
    begin_training strategy=ddp world_size=4
}

teardown() {
    remove_hosts
}

# need_open_mpi: sets what mpirun requires to run as root with more ranks than cores.
need_open_mpi() {
    [ -e "$BIN/../lib/lockstep-mpi.so" ] || skip "lockstep-mpi.so is not built (make deps-mpi)"
    needs mpirun deps-mpi
    mpirun --version | grep -q 'Open MPI' || skip "mpirun is not from Open MPI"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_plm_rsh_agent=$WORK/ssh/ssh
}

# expect: trains e.yaml in one process, into expected/.
expect() {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
}

# ranks_on HOST...: the hosts of out/ and their ranks, as the manifest names them, must be these:
# HOST RANKS HOST RANKS ...
ranks_on() {
    local place=0 got=()
    while "$BIN/manifest" get out/manifest.yaml "run.execution.hosts.$place.host" >/dev/null 2>&1; do
        got+=("$("$BIN/manifest" get out/manifest.yaml "run.execution.hosts.$place.host")"
            "$("$BIN/manifest" get out/manifest.yaml "run.execution.hosts.$place.ranks")")
        place=$((place + 1))
    done
    [ "${got[*]}" = "$*" ] || fail "hosts and ranks '${got[*]}' instead of '$*'"
}

@test "ranks that mpirun starts over ssh on two and on four hosts give train-single's model" {
    need_open_mpi
    make_hosts 4
    start_sshd
    expect
    printf '%s slots=2\n' "$host_a" "$host_b" >two
    on_host "$host_a" timeout 300 mpirun --hostfile two -n 4 --bind-to none \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    cmp expected/model.st.zst out/model.st.zst
    ranks_on "$host_a" 2 "$host_b" 2
    rm -r out
    printf '%s slots=1\n' "${hosts[@]}" >four
    on_host "$host_a" timeout 300 mpirun --hostfile four -n 4 --bind-to none \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    cmp expected/model.st.zst out/model.st.zst
    ranks_on "$host_a" 1 "$host_b" 1 "$host_c" 1 "$host_d" 1
}

# need_mpich: Debian's MPICH, which may be installed beside Open MPI; builds the transport for it.
need_mpich() {
    needs mpicc.mpich deps-hosts
    needs mpiexec.mpich deps-hosts
    make -s -C "$ROOT" BUILD="$WORK/build" MPICC=mpicc.mpich CUDA=0 "$WORK/build/lib/lockstep-mpi.so"
    export LOCKSTEP_MPI_LIBRARY=$WORK/build/lib/lockstep-mpi.so
}

@test "ranks that MPICH's mpiexec starts over ssh on two hosts give train-single's model" {
    need_mpich
    make_hosts 2
    start_sshd
    expect
    printf '%s:2\n' "$host_a" "$host_b" >two
    on_host "$host_a" timeout 300 mpiexec.mpich -launcher ssh -launcher-exec "$WORK/ssh/ssh" -f two -n 4 \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    cmp expected/model.st.zst out/model.st.zst
    ranks_on "$host_a" 2 "$host_b" 2
}

@test "GPUs on two hosts reduce by NCCL with one GPU per rank, and by MPI if ranks share a GPU" {
    need_open_mpi
    local gpus library=$BIN/../lib/lockstep-cuda-emulated.so
    local -a there=(-x LOCKSTEP_CUDA_LIBRARY -x LOCKSTEP_EMULATED_DEVICES)
    [ -e "$library" ] || skip "$library is not built"
    LOCKSTEP_CUDA_LIBRARY=$(realpath "$library")
    export LOCKSTEP_CUDA_LIBRARY
    make_hosts 2
    start_sshd
    # An emulated GPU takes seconds for lenet.
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {out: 4, kernel: 4, stride: 4}, batch_norm, relu, flatten, linear: {out: 10}]
END
    write_experiment e.yaml strategy=ddp world_size=4 model=net.yaml
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected --device cuda
    printf '%s slots=2\n' "$host_a" "$host_b" >two
    for gpus in 2 1; do
        export LOCKSTEP_EMULATED_DEVICES=$gpus
        rm -rf out
        on_host "$host_a" timeout 300 mpirun --hostfile two -n 4 --bind-to none "${there[@]}" \
            "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --device auto
        cmp expected/model.st.zst out/model.st.zst
        ranks_on "$host_a" 2 "$host_b" 2
        run "$BIN/manifest" get out/manifest.yaml run.execution.transport
        [ "$gpus $output" = "2 nccl" ] || [ "$gpus $output" = "1 mpi" ] || fail "$gpus GPUs per host: $output"
    done
}

@test "a lost host is named and ends the job; the other hosts resume to the same bits" {
    need_open_mpi
    make_hosts 3
    start_sshd
    write_experiment e.yaml strategy=ddp world_size=4 epochs=150
    expect
    # mpirun considers a host lost after 2 s + 2 tries of 1 s.
    export OMPI_MCA_oob_tcp_keepalive_time=2 OMPI_MCA_oob_tcp_keepalive_intvl=1 OMPI_MCA_oob_tcp_keepalive_probes=2
    on_host "$host_a" timeout 300 mpirun --host "$host_a:2,$host_b,$host_c" -n 4 --bind-to none \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out "$WORK/out" >log 2>&1 3>&- &
    local job=$! code=0 begin
    wait_for out/state.st.zst
    cut_off "$host_c"
    begin=$SECONDS
    wait "$job" || code=$?
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "exit code $code: $(cat log)"
    [ $((SECONDS - begin)) -le 120 ] || fail "it ended after $((SECONDS - begin)) s: $(cat log)"
    grep -q "$host_c" log || fail "the host is not named: $(cat log)"
    unfinished out
    on_host "$host_a" timeout 300 mpirun --host "$host_a,$host_b" -n 2 --bind-to none \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --resume
    cmp expected/model.st.zst out/model.st.zst
}

@test "torchrun's variables on two hosts are refused, and the message names mpirun and srun" {
    make_hosts 2
    export WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=$host_a MASTER_PORT=29500
    TOOL=train-ddp RANK=1 fails_with 2 "'MASTER_ADDR=$host_a': not an address of this host.*mpirun or srun" \
        on_host "$host_b" "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out --set world_size=2
    TOOL=train-ddp RANK=0 LOCKSTEP_RENDEZVOUS_SECONDS=1 fails_with 1 "1 of 2 ranks did not connect.*mpirun or srun" \
        on_host "$host_a" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --set world_size=2
    # An address that is every host's own.
    export MASTER_ADDR=127.0.0.1
    TOOL=train-ddp RANK=1 LOCKSTEP_RENDEZVOUS_SECONDS=1 fails_with 1 "rank 0 did not listen.*mpirun or srun" \
        on_host "$host_b" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --set world_size=2
    unfinished out
}
