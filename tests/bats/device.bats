# SPDX-License-Identifier: MIT
# --device: lists, messages without a GPU, and which device computes. The CUDA backend here is a
# fake (tests/fixtures/fake_cuda_library.c), which needs no GPU.

load helpers
load training
load reports

# compile NAME OPTION...: the fake backend, as a shared object.
compile() {
    local name=$1
    shift
    # shellcheck disable=SC2086 # CC may be a command with arguments
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -shared -fPIC -I "$ROOT/lib" "$@" "$ROOT/tests/fixtures/fake_cuda_library.c" \
        -o "$BATS_FILE_TMPDIR/$name.so"
}

setup_file() {
    local -a compiler
    read -ra compiler <<<"${CC:-cc}"
    command -v "${compiler[0]}" >/dev/null || return 0
    compile fake
    compile old -DFAKE_ABI=1
    compile other -Dlockstep_cuda_backend=lockstep_other
    file_data 200 50
}

setup() {
    begin_training epochs=1
    [ -e "$BATS_FILE_TMPDIR/fake.so" ] || skip "no C compiler"
    export LOCKSTEP_CUDA_LIBRARY=$BATS_FILE_TMPDIR/fake.so FAKE_LOG=$WORK/opened
}

# training TOOL OPTION...: the command, as an array.
training() {
    command=("$BIN/$1" --experiment e.yaml --train "$train" --out out "${@:2}")
}

refuses() {
    local code=$1 pattern=$2
    training "${@:3}"
    fails_with "$code" "$pattern" "${command[@]}" || return 1
    nothing_in out
}

value() {
    "$BIN/manifest" get out/manifest.yaml "$1"
}

@test "malformed lists of devices are refused" {
    local list tool
    for list in gpu cuda: cuda:x 'cuda:1,' cpu:0 auto,cpu ''; do
        refuses 2 "--device $list': expected auto, cpu, cuda, or a list" train-single --device "$list"
    done
    for tool in train-single train-dp train-mp; do
        refuses 2 "'--device cpu,cuda:0': only the ranks of train-ddp can mix the cpu and GPUs" "$tool" --device cpu,cuda:0
    done
    refuses 2 "the cpu and GPUs agree on a model only with --math exact" train-ddp --device cuda:0,cpu --math fast
    fails_with 2 "expected the cpu alone, or GPUs alone" "$BIN/bench-allreduce" --device cpu,cuda:0
    fails_with 2 "--device gpu'" "$BIN/evaluate" --model none --data none --out out --device gpu
    [ ! -e out ]
}

@test "--device cuda without a backend, with an invalid one, with one of another version" {
    LOCKSTEP_CUDA_LIBRARY=$WORK/none.so refuses 1 "'cuda': this build has no CUDA backend \('$WORK/none.so'.*--device cpu" \
        train-single --device cuda
    touch empty.so
    LOCKSTEP_CUDA_LIBRARY=empty.so refuses 1 "cannot be loaded: .*empty.so" train-single --device cuda
    LOCKSTEP_CUDA_LIBRARY=$BATS_FILE_TMPDIR/other.so refuses 1 "it does not export 'lockstep_cuda_backend'" train-single --device cuda
    LOCKSTEP_CUDA_LIBRARY=$BATS_FILE_TMPDIR/old.so refuses 1 "built for a different version of the tools" train-single --device cuda
}

@test "--device cuda without a driver, without a GPU, with a driver that crashes" {
    refuses 1 "cannot compute: 'cuda': no GPU: no fake driver" train-single --device cuda
    FAKE_GPUS=0 refuses 1 "'cuda': no GPU: CUDA found none" train-ddp --device cuda
    FAKE_GPUS=crash refuses 1 "'cuda': no GPU: CUDA crashed.*Abort" train-dp --device cuda
    fails_with 1 "no GPU: no fake driver" "$BIN/evaluate" --model none --data none --out out --device cuda
    [ ! -e out ]
    [ ! -e opened ]
}

@test "a driver that hangs is given up after a time limit" {
    export FAKE_GPUS=hang LOCKSTEP_PROBE_SECONDS=1
    refuses 1 "'cuda': no GPU: CUDA did not list the GPUs within 1 s" train-single --device cuda
    training train-single --stop-after-steps 1
    succeeds "${command[@]}"
    [[ $stderr == *"--device auto selects the cpu: cannot compute: 'cuda': no GPU: CUDA did not list the GPUs within 1 s"* ]] || fail "$stderr"
    [ ! -e opened ]
}

@test "the pipeline looks for GPUs once for the keys of all stages" {
    need_tool manifest synth-cifar shard train-single evaluate report
    # A folder called runs, as the store's, is no part of it.
    export ARTIFACTS=$WORK/runs/artifacts DATA=$data/data FAKE_PROBES=$WORK/probes
    write_experiment e.yaml epochs=1 repeats=2
    (cd "$ROOT" && succeeds "$BIN/pipeline" experiment "$WORK/e.yaml")
    rm "$FAKE_PROBES"
    (cd "$ROOT" && succeeds "$BIN/pipeline" experiment "$WORK/e.yaml")
    [ ! -e "$FAKE_PROBES" ] # the bits are the same on all
    export MATH=fast
    cd "$ROOT"
    succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
    rm "$FAKE_PROBES"
    succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
    [[ $output != *running* ]] || fail "$output"
    [ "$(wc -l <"$FAKE_PROBES")" = 1 ]
    rm "$FAKE_PROBES"
    FAKE_GPUS=1 run "$BIN/pipeline" experiment "$WORK/e.yaml"
    [[ $output == *"train     $ARTIFACTS/runs/"*"/1/train: running (different data, kind of device, or version)"* ]] || fail "$output"
    # A training on the CPU is kept: without a GPU it is found again.
    succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
    ! grep -q '^\(train\|evaluate\) .*: running' <<<"$output" || fail "$output"
    [ "$(grep -c '^train .*: up to date' <<<"$output")" = 2 ] || fail "$output"
    [[ $output =~ "/report: running (now runs/"[0-9a-f]{12}/1, ]] || fail "$output"
}

@test "a second make adds no execution: THREADS counts on the CPU only" {
    need_tool pipeline manifest synth-cifar shard train-single evaluate report
    export ARTIFACTS=$WORK/artifacts DATA=$data/data FAKE_GPUS=1 THREADS=3
    succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
    [ "$(grep -c '^train .*: running' <<<"$output")" = 1 ] || fail "$output"
    succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
    [[ $output != *": running"* ]] || fail "$output"
    # On a CPU another number of threads gives another time. (The fake GPU has bits of its own.)
    export ARTIFACTS=$WORK/on-cpu DEVICE=cpu
    for THREADS in 1 2; do
        succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
        [ "$(grep -c '^train .*: running' <<<"$output")" = 1 ] || fail "$output"
        succeeds "$BIN/pipeline" experiment "$WORK/e.yaml"
        [[ $output != *": running"* ]] || fail "$output"
    done
}

@test "a missing GPU: the message gives the number of GPUs" {
    FAKE_GPUS=1 refuses 1 "'cuda:1': the only GPU is cuda:0" train-single --device cuda:1
    FAKE_GPUS=3 refuses 1 "'cuda:7': this host has 3 GPUs, cuda:0 to cuda:2" train-dp --device cuda:0,cuda:7
    [ ! -e opened ]
}

@test "auto without a GPU selects the CPU, with a message" {
    training train-single --stop-after-steps 1
    succeeds "${command[@]}"
    [[ $stderr == *"--device auto selects the cpu: cannot compute: 'cuda': no GPU: no fake driver"* ]] || fail "$stderr"
    FAKE_GPUS=crash succeeds "${command[@]}"
    [[ $stderr == *"selects the cpu"*"crashed"* ]] || fail "$stderr"
    LOCKSTEP_CUDA_LIBRARY=$BATS_FILE_TMPDIR/old.so succeeds "${command[@]}"
    [[ $stderr == *"selects the cpu"*"built for a different version of the tools"* ]] || fail "$stderr"
    # Without any backend no GPU is expected.
    LOCKSTEP_CUDA_LIBRARY=none succeeds "${command[@]}"
    [[ $stderr != *"selects the cpu"* ]] || fail "$stderr"
    LOCKSTEP_CUDA_LIBRARY=none succeeds "${command[@]}" -v
    [[ $stderr == *"selects the cpu: this build has no CUDA backend"* ]] || fail "$stderr"
    [ ! -e opened ]
}

@test "auto selects the GPUs, at most one per rank" {
    training train-single --reduce fast
    FAKE_GPUS=2 succeeds "${command[@]}"
    [[ $stderr == *"--device auto selects cuda:0 (Fake 0)"* ]] || fail "$stderr"
    [ "$(value run.execution.devices.0)" = cuda:0 ]
    rm opened
    training train-ddp -q --reduce fast --world-size 4
    FAKE_GPUS=3 succeeds "${command[@]}"
    [ "$(value run.gpus.2.device)" = cuda:2 ]
    fails_with 3 "gpus.3" "$BIN/manifest" get out/manifest.yaml run.gpus.3.device
    [ "$(sort opened)" = "$(printf 'device %d, threads 1\n' 0 0 1 2)" ] || fail "$(cat opened)"
}

@test "the manifest records the devices and their properties" {
    training train-single -q --reduce fast --device cuda:1 --threads 3
    FAKE_GPUS=2 succeeds "${command[@]}"
    [ "$(value run.execution.devices.0)" = cuda:1 ]
    [ "$(value run.execution.isa)" = "Fake 1, sm_90" ]
    [ "$(value run.execution.threads)" = 1 ]
    [ "$(value run.gpus.0.device)" = cuda:1 ]
    [ "$(value run.gpus.0.name)" = "Fake 1" ]
    [ "$(value run.gpus.0.memory)" = 1024 ]
    [ "$(value run.gpus.0.compute_capability)" = 9.0 ]
    [ "$(value run.gpus.0.driver)" = 580.1 ]
    [ "$(value run.gpus.0.libraries)" = "CUDA 1.0" ]
    [ "$(cat opened)" = "device 1, threads 1" ]
    mv out trained
    FAKE_GPUS=2 succeeds "$BIN/evaluate" -q --model trained/model.st.zst --data "$test" --out out --device cuda:1,cuda:0
    [ "$(value run.execution.devices)" = "$("$BIN/manifest" get trained/manifest.yaml run.execution.devices)" ]
    [ "$(value run.gpus.0.name)" = "Fake 1" ]
    [ "$(tail -n 1 opened)" = "device 1, threads 1" ]
}

@test "on the CPU the manifest lists no GPUs" {
    training train-single -q --device cpu
    FAKE_GPUS=2 succeeds "${command[@]}"
    [ "$(value run.execution.devices.0)" = cpu ]
    fails_with 3 "gpus" "$BIN/manifest" get out/manifest.yaml run.gpus
    mv out trained
    FAKE_GPUS=2 succeeds "$BIN/evaluate" -q --model trained/model.st.zst --data "$test" --out out --device cpu --threads 2
    [ "$(value run.execution.devices.0)" = cpu ]
    [ "$(value run.execution.threads)" = 2 ]
    fails_with 3 "gpus" "$BIN/manifest" get out/manifest.yaml run.gpus
}

@test "a list of devices sets the number of ranks; more ranks share the devices evenly" {
    training train-ddp -q --reduce fast --device cuda:1,cuda:0
    FAKE_GPUS=2 succeeds "${command[@]}"
    [ "$(value run.execution.world_size)" = 2 ]
    [ "$(sort opened)" = "$(printf 'device %d, threads 1\n' 0 1)" ] || fail "$(cat opened)"
    rm opened
    training train-ddp -q --reduce fast --device cuda:1,cuda:0 --world-size 4
    FAKE_GPUS=2 succeeds "${command[@]}"
    [ "$(value run.execution.world_size)" = 4 ]
    [ "$(sort opened)" = "$(printf 'device %d, threads 1\n' 0 0 1 1)" ] || fail "$(cat opened)"
    rm -rf out
    FAKE_GPUS=3 refuses 2 "'3' ranks do not divide" train-ddp --device cuda:0,cuda:1,cuda:2
}

@test "a list of devices sets the number of replicas or stages; another number is refused" {
    FAKE_GPUS=3 refuses 1 "no fake forward" train-dp --device cuda:2,cuda:0
    [ "$(cat opened)" = "$(printf 'device %d, threads 1\n' 2 0)" ] || fail "$(cat opened)"
    rm opened
    FAKE_GPUS=3 refuses 1 "no fake forward" train-dp --device cuda:2 --world-size 4
    [ "$(cat opened)" = "$(printf 'device %d, threads 1\n' 2 2 2 2)" ] || fail "$(cat opened)"
    rm opened
    # The pipeline evaluates with a separate engine, on the first device.
    FAKE_GPUS=3 refuses 1 "no fake forward" train-mp --device cuda:1,cuda:2
    [ "$(cat opened)" = "$(printf 'device %d, threads 1\n' 1 2 1)" ] || fail "$(cat opened)"
    FAKE_GPUS=3 refuses 2 "'--world-size 4': --device lists 2" train-dp --device cuda:0,cuda:1 --world-size 4
    FAKE_GPUS=3 refuses 2 "'--world-size 1': --device lists 2" train-mp --device cuda:0,cuda:1 --world-size 1
    FAKE_GPUS=3 refuses 2 "list of 2 devices needs as many ranks" train-single --device cuda:0,cuda:1
}

@test "cpu,cpu: two replicas, the same model" {
    training train-dp -q --device cpu,cpu
    succeeds "${command[@]}"
    [ "$(value run.execution.world_size)" = 2 ]
    local expected
    expected=$(content out/model.st.zst)
    rm -rf out
    training train-single -q --device cpu
    succeeds "${command[@]}"
    same_model "$expected" out "one replica"
}

@test "make's DEVICE is dealt to the ranks of each experiment" {
    need_tool report bench-allreduce
    local where=$WORK/artifacts
    write_experiment one.yaml name=one epochs=1
    write_experiment two.yaml name=two epochs=1 strategy=dp world_size=2
    measured "$where"
    ARTIFACTS=$where DATA=$data/data TIME=0 DEVICE=cpu,cpu,cpu succeeds sh -c "cd '$ROOT' && exec '$BIN/pipeline' compare '$WORK/one.yaml' '$WORK/two.yaml'"
    [ "$("$BIN/manifest" get "$where/one-data=data/seed-11/train/manifest.yaml" run.execution.devices)" = "[cpu]" ]
    [ "$("$BIN/manifest" get "$where/two-data=data/seed-11/train/manifest.yaml" run.execution.devices)" = "[cpu, cpu]" ]
    [ "$("$BIN/manifest" get "$where/two-data=data/seed-11/evaluate/manifest.yaml" run.execution.devices)" = "[cpu]" ]
}

@test "--print-key: only with --math fast does it depend on the kind of device, and does auto look for one" {
    local cpu cuda
    training train-single --device cuda --math fast --print-key # without a driver
    succeeds "${command[@]}"
    cuda=$output
    training train-single --device cuda:3 --math fast --print-key
    succeeds "${command[@]}"
    [ "$output" = "$cuda" ]
    training train-single --device cpu --print-key
    succeeds "${command[@]}"
    cpu=$output
    [ "$cpu" != "$cuda" ]
    training train-single --math fast --print-key
    succeeds "${command[@]}"
    [ "$output" = "$cpu" ]
    FAKE_GPUS=1 succeeds "${command[@]}"
    [ "$output" = "$cuda" ]
    training train-single --print-key
    FAKE_PROBES=$WORK/probes FAKE_GPUS=1 succeeds "${command[@]}"
    [ "$output" = "$cpu" ] && [ ! -e "$WORK/probes" ]
    refuses 2 "--device gpu" train-single --device gpu --print-key
}

@test "report: different kinds of device are not compared; several ranks on one GPU are marked as simulated" {
    need_tool report
    a_run cpu
    a_run gpu name=gpu ranks=1 'execution={"devices": ["cuda:0"], "isa": "Fake 0"}'
    a_run other name=other ranks=1 'execution={"devices": ["cuda:1"], "isa": "Fake 1"}'
    succeeds "$BIN/report" gpu other --baseline cpu --out out
    says out/report.md "not like for like: device cuda vs cpu |"
    lacks out/report.md †
    succeeds "$BIN/report" other --baseline gpu --out out
    says out/report.md "not like for like: GPU Fake 1 vs Fake 0 |"

    a_run two name=two ranks=2 'execution={"devices": ["cuda:0", "cuda:1"]}'
    a_run many name=many ranks=64 'execution={"devices": ["cuda:0", "cuda:1"]}'
    a_run shared name=shared ranks=2 'execution={"devices": ["cuda:0", "cuda:0"]}'
    a_run one name=one ranks=4 'execution={"devices": ["cuda:0"]}'
    succeeds "$BIN/report" two --out out
    lacks out/report.md †
    succeeds "$BIN/report" many shared one two --out out
    says out/report.md "Times with † are of up to 64 ranks on 2 GPUs: they say nothing about as many GPUs."
    grep -q '^one.seconds_per_epoch,.*,SIMULATED,' out/report.csv
}
