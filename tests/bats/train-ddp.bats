# SPDX-License-Identifier: MIT
# train-ddp: its own ranks, and ranks that another launcher starts. same-bits.bats tests that its
# bits are those of train-single.

load helpers
load training

setup_file() {
    file_data 200 50
}

setup() {
    begin_training strategy=ddp world_size=2
}

# join RANK SIZE OPTION...: one rank of a group, as a launcher starts it.
join() {
    local rank=$1 size=$2
    shift 2
    RANK=$rank WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$BIN/train-ddp" "$@"
}

@test "--help and --version" {
    succeeds "$BIN/train-ddp" --help
    [[ $output == *--world-size* ]]
    succeeds "$BIN/train-ddp" --version
}

@test "starts the ranks of the experiment; --world-size overrides" {
    succeeds "$BIN/train-ddp" --experiment e.yaml --train "$train" --test "$test" --out out
    [ "$(grep -c ': epoch' <<<"$stderr")" -eq 2 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.world_size)" = 2 ]
    succeeds "$BIN/manifest" verify out/manifest.yaml
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --world-size 4
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.world_size)" = 4 ]
    [ "$("$BIN/manifest" get out/manifest.yaml parameters.world_size)" = 2 ]
}

@test "--reduce fast is labelled" {
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --reduce fast
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.reduce)" = fast ]
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out exact
    [ "$("$BIN/manifest" get exact/manifest.yaml run.execution.reduce)" = exact ]
    # Not the same bits, but the same mathematics.
    run "$BIN/tensor" diff --atol 1e-4 out/model.st.zst exact/model.st.zst
    [ "$status" -eq 0 ]
}

@test "joins the group that the environment describes" {
    free_port
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test" --out expected
    join 1 2 -q --experiment e.yaml --train "$train" --test "$test" --out out &
    local other=$!
    join 0 2 -q --experiment e.yaml --train "$train" --test "$test" --out out
    wait "$other"
    same_model "$(content expected/model.st.zst)" out "joined ranks"
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.world_size)" = 2 ]
}

@test "a server on MASTER_PORT, such as torchrun's store, does not disturb the ranks" {
    "$PYTHON" - >port 3>&- <<'END' &
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(3600)
END
    local server=$!
    wait_until [ -s port ]
    port=$(cat port)
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    join 1 2 -q --experiment e.yaml --train "$train" --out out &
    local other=$!
    join 0 2 -q --experiment e.yaml --train "$train" --out out
    wait "$other"
    kill -0 "$server" && kill "$server"
    same_model "$(content expected/model.st.zst)" out "next to a server"
}

@test "torchrun starts the ranks" {
    need_torch
    free_port
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    # PyTorch 1.13 with Python 3.11 accepts only the values 1 and 2 of --redirects and --tee.
    "$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port "$port" --no_python \
        --redirects 1 --tee 1 --log_dir "$WORK/logs" \
        "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    same_model "$(content expected/model.st.zst)" out "torchrun"
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.world_size)" = 2 ]
}

@test "joined ranks stop and resume together" {
    free_port
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    join 1 2 -q --experiment e.yaml --train "$train" --out out --stop-after-steps 4 &
    local other=$!
    join 0 2 -q --experiment e.yaml --train "$train" --out out --stop-after-steps 4
    wait "$other"
    unfinished out
    join 1 2 -q --experiment e.yaml --train "$train" --out out --resume &
    other=$!
    join 0 2 -q --experiment e.yaml --train "$train" --out out --resume
    wait "$other"
    same_model "$(content expected/model.st.zst)" out "resumed"
}

@test "joined ranks with different experiments are refused" {
    free_port
    join 1 2 -q --experiment e.yaml --train "$train" --out out --set seed=5 2>other.err &
    local other=$!
    TOOL=train-ddp fails_with 3 'rank 1.* differs' env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 \
        MASTER_PORT="$port" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out
    local code=0
    wait "$other" || code=$?
    [ "$code" -eq 3 ]
    unfinished out
}

@test "a joined rank refuses standard input, incomplete variables and a bad world size" {
    port=1
    export MASTER_ADDR=127.0.0.1 MASTER_PORT=1
    TOOL=train-ddp fails_with 2 "'-'.*pass a file" env RANK=0 WORLD_SIZE=2 "$BIN/train-ddp" \
        --experiment e.yaml --train - --out out
    TOOL=train-ddp fails_with 2 WORLD_SIZE env RANK=0 "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out
    TOOL=train-ddp fails_with 2 "'3' ranks" env RANK=0 WORLD_SIZE=3 "$BIN/train-ddp" --experiment e.yaml \
        --train "$train" --out out
    [ ! -e out ]
}

@test "--world-size starts the ranks here, unless a launcher has started several processes" {
    local tool=train-ddp started given=()
    for started in "SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=4" "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4" \
        "PMI_RANK=0 PMI_SIZE=4" "MPI_LOCALRANKID=0 MPI_LOCALNRANKS=4" "RANK=0 WORLD_SIZE=4"; do
        read -ra given <<<"$started"
        TOOL=train-ddp fails_with 2 "started 4 processes.*start one \(.*without --world-size.*env -u ${given[0]%%=*}" \
            env "${given[@]}" "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out --world-size 2
        for tool in train-single train-dp train-mp; do
            TOOL=$tool fails_with 2 "started 4 processes" env "${given[@]}" "$BIN/$tool" --experiment e.yaml --train "$train" --out out --dry-run
        done
        # A key is a question, and not a run.
        succeeds env "${given[@]}" "$BIN/train-single" --experiment e.yaml --train "$train" --print-key
    done
    TOOL=train-ddp fails_with 2 "srun started 4 tasks.*use srun --mpi=pmix, or srun -n 1" env SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=0 \
        "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out
    [ ! -e out ]
    RANK=0 WORLD_SIZE=1 SLURM_NTASKS=4 SLURM_PROCID=0 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --world-size 2
    [ -e out/manifest.yaml ]
}
