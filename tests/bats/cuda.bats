# SPDX-License-Identifier: MIT
# The CUDA backend in training: on an emulated GPU (tests/emulation), so that none is needed.
# CUDA_LIBRARY=build/lib/lockstep-cuda.so runs the same tests on a real GPU, if that library was
# built.

load helpers
load training
load submissions

# Prints the library's path, relative to the root of the checkout.
library() {
    (cd "$ROOT" && realpath -m "${CUDA_LIBRARY:-$BIN/../lib/lockstep-cuda-emulated.so}")
}

# A model small enough for an emulation, trained once on each device.
setup_file() {
    [ -e "$(library)" ] && [ -x "$BIN/synth-cifar" ] || return 0
    LOCKSTEP_CUDA_LIBRARY=$(library)
    export LOCKSTEP_CUDA_LIBRARY
    cd "$BATS_FILE_TMPDIR" || return 1
    "$BIN/synth-cifar" -q --train 58 --test 20 --shape 3,12,12 --seed 3 --out data
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 12, 12]
layers: [conv: {out: 6, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, conv: {out: 8, kernel: 3, padding: 1}, relu,
         flatten, linear: {out: 20}, relu, linear: {out: 10}]
END
    # 58 samples in batches of 32: the last step has 26, 7 or 6 per shard.
    write_experiment e.yaml model=./net.yaml global_batch=32 \
        "augment=[{random_crop: {padding: 2}}, {horizontal_flip: {p: 0.5, alternate: true}}, {random_affine: {degrees: 20}}, {cutout: {size: 8, fill: mean}}]"
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out cpu --device cpu
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out cuda --device cuda --math fast
}

setup() {
    need_training
    [ -e "$(library)" ] || skip "$(library) is not built"
    LOCKSTEP_CUDA_LIBRARY=$(library)
    export LOCKSTEP_CUDA_LIBRARY
    made=$BATS_FILE_TMPDIR
    cd "$WORK"
    cp "$made/net.yaml" "$made/e.yaml" .
    expected=$(content "$made/cuda/model.st.zst")
}

# agrees TOOL OPTION...: the model has the content $expected.
agrees() {
    rm -rf run
    succeeds "$BIN/$1" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run "${@:2}" || return 1
    same_model "$expected" run "$*"
}

# option_agrees NAME TOOL...: an option that was added to e.yaml changes the model, and these tools
# train the same one as train-single.
option_agrees() {
    local plain=$expected tool
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out one --device cuda --math fast || return 1
    expected=$(content one/model.st.zst)
    [ "$expected" != "$plain" ] || fail "$1 has no effect" || return 1
    for tool in "${@:2}"; do agrees "$tool" --device cuda --math fast --world-size 2 || return 1; done
}

@test "without a driver, or with an old one, the message names the driver that is needed" {
    [ -z "${CUDA_LIBRARY:-}" ] || skip "only an emulated driver can be removed"
    local train=("$BIN/train-single" --experiment e.yaml --train "$made/data/train.st.zst" --out run)
    LOCKSTEP_EMULATED_DRIVER=0 fails_with 1 \
        "cannot compute: 'cuda': no GPU: no NVIDIA driver: this build has CUDA 13.0, which needs driver 580" \
        "${train[@]}" --device cuda --math fast
    LOCKSTEP_EMULATED_DRIVER=12040 fails_with 1 \
        "no GPU: the NVIDIA driver supports only CUDA 12.4: this build has CUDA 13.0" "${train[@]}" --device cuda --math fast
    [ ! -e run ]
}

@test "the manifest records the device" {
    [ "$("$BIN/manifest" get "$made/cuda/manifest.yaml" run.execution.devices.0)" = cuda:0 ]
    [ -n "$("$BIN/manifest" get "$made/cuda/manifest.yaml" run.gpus.0.name)" ]
    [[ $("$BIN/manifest" get "$made/cuda/manifest.yaml" run.execution.launches) =~ ^(early|serial)$ ]]
    fails_with 3 "launches" "$BIN/manifest" get "$made/cpu/manifest.yaml" run.execution.launches
    [ "$("$BIN/manifest" get "$made/cuda/manifest.yaml" run.execution.isa)" != \
        "$("$BIN/manifest" get "$made/cpu/manifest.yaml" run.execution.isa)" ]
}

@test "a driver that cannot capture early launches: serial ones, an entry in the manifest, the same bits" {
    [ -z "${CUDA_LIBRARY:-}" ] || skip "only the emulation can refuse them"
    local tool world=1 how
    for tool in train-single train-ddp train-dp; do
        for how in early serial; do
            agrees "$tool" --device cuda --math fast --world-size "$world"
            [ "$("$BIN/manifest" get run/manifest.yaml run.execution.launches)" = $how ] || fail "$tool: not $how"
            export LOCKSTEP_EMULATED_PROGRAMMATIC=uncaptured
        done
        unset LOCKSTEP_EMULATED_PROGRAMMATIC
        world=2
    done
}

@test "a data set too large for the device: one message, an entry in the manifest, the same bits" {
    [ -z "${CUDA_LIBRARY:-}" ] || skip "only the emulation can limit the memory"
    local tool world=1 memory
    [ "$("$BIN/manifest" get "$made/cuda/manifest.yaml" run.execution.images)" = device ]
    fails_with 3 "images" "$BIN/manifest" get "$made/cpu/manifest.yaml" run.execution.images
    for tool in train-single train-ddp; do
        agrees "$tool" --device cuda --math fast --world-size "$world"
        # The engine fits into so much memory; but the images may take at most half of the free
        # memory.
        memory=$("$BIN/manifest" get run/manifest.yaml run.execution.memory)
        LOCKSTEP_EMULATED_MEMORY=$memory succeeds "$BIN/$tool" --experiment e.yaml --train "$made/data/train.st.zst" \
            --out small --device cuda --math fast --world-size "$world"
        [ "$(grep -c "more than half of the GPU's free memory" <<<"$stderr")" = 1 ] || fail "$stderr"
        [ "$("$BIN/manifest" get small/manifest.yaml run.execution.images)" = host ]
        same_model "$expected" small "$tool"
        world=2
    done
}

@test "an environment variable that changes cuBLAS's results is refused if the model uses cuBLAS" {
    local variable
    local train=("$BIN/train-single" -q --train "$made/data/train.st.zst" --out run --device cuda --math fast --stop-after-steps 1)
    sed -i 's/linear: {out: 20}/linear: {out: 600}/; s/name: net/name: wide/' net.yaml
    for variable in NVIDIA_TF32_OVERRIDE CUBLAS_EMULATE_SINGLE_PRECISION CUBLASLT_HEURISTICS_LUT_FILE; do
        export "$variable=1"
        fails_with 2 "'$variable=1' is set in the environment and changes cuBLAS's results" "${train[@]}" --experiment e.yaml
        nothing_in run
        export "$variable=0"
        succeeds "${train[@]}" --experiment e.yaml
        rm -r run
    done
    cp "$made/net.yaml" .
    NVIDIA_TF32_OVERRIDE=1 agrees train-single --device cuda --math fast
}

@test "settings of tensors: the same bits in every strategy, and frozen tensors as on the CPU" {
    local tool
    cat >>e.yaml <<'END'
tensors:
  conv1.weight: {init: whiten, trained_epochs: 0}
  bn1.bias: {lr_factor: 8, weight_decay: 0.01}
  conv2.*: {init: kaiming_normal, trained_epochs: 1}
  conv2.bias: {init: zero}
END
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out cpu --device cpu
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out cuda --device cuda --math fast
    expected=$(content cuda/model.st.zst)
    for tool in train-dp train-ddp train-mp; do
        agrees "$tool" --device cuda --math fast --world-size 2
    done
    [ "$("$BIN/tensor" cat cuda/model.st.zst conv1.weight | sha256sum)" = \
        "$("$BIN/tensor" cat cpu/model.st.zst conv1.weight | sha256sum)" ]
    succeeds "$BIN/tensor" diff --atol 1e-3 cuda/model.st.zst cpu/model.st.zst
    # Constant after the first epoch, which trained it.
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out one --device cuda --math fast --set epochs=1
    [ "$("$BIN/tensor" cat cuda/model.st.zst conv2.weight | sha256sum)" = \
        "$("$BIN/tensor" cat one/model.st.zst conv2.weight | sha256sum)" ]
}

@test "replay: the CPU trains a GPU's run again, and a GPU a CPU's" {
    local train=("$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --keep-states 2)
    local replays=("$BIN/replay" --train "$made/data/train.st.zst" --segments 2)
    "${train[@]}" --out gpu --device cuda
    "${train[@]}" --out cpu --device cpu
    LOCKSTEP_CUDA_LIBRARY=none succeeds "${replays[@]}" gpu
    [[ $output == *"2 of 2 segments trained again, 100 % of the steps: equal"* ]] || fail "$output"
    succeeds "${replays[@]}" cpu --device cuda
    [[ $output == *"2 of 2 segments trained again, 100 % of the steps: equal"* ]] || fail "$output"
    # It is the GPU that trains.
    LOCKSTEP_CUDA_LIBRARY=none run "${replays[@]}" cpu --device cuda
    [ "$status" -eq 1 ] || fail "exit code $status" "$output"
    [[ $output == *"cannot compute: 'cuda'"* ]] || fail "$output"
    # The bits of --math fast are those of GPUs.
    "${train[@]}" --out fast --device cuda --math fast
    succeeds "${replays[@]}" fast
    succeeds "${replays[@]}" fast --device cuda:0
    fails_with 2 "trained with '--math fast', whose bits only a GPU gives: '--device cpu'" "${replays[@]}" fast --device cpu
}

@test "verify: a submission that was trained and evaluated with MATH=fast" {
    need_tool pipeline report bench-allreduce
    small_experiments files
    succeeds "$BIN/pipeline" submission ARTIFACTS=artifacts STATES=2 TIME=0 DEVICE=cuda MATH=fast DATA="$made/data" \
        SET=global_batch=32 files/one.yaml
    succeeds "$BIN/pipeline" verify ARTIFACTS=teacher SEGMENTS=2 DATA="$made/data" "${lines[-1]#submission: }"
    grep -q '^test *equal  ' <<<"$output" || fail "$output"
    grep -q '^training *equal  ' <<<"$output" || fail "$output"
}

# key TOOL OPTION...: the stage key of such a training.
key() {
    "$BIN/$1" --experiment e.yaml --train "$made/data/train.st.zst" --print-key "${@:2}"
}

@test "another kind of device changes the key, another list of the same kind does not" {
    local cpu cuda
    cpu=$(key train-single --device cpu)
    cuda=$(key train-single --device cuda --math fast)
    [ "$cpu" = "$("$BIN/manifest" get "$made/cpu/manifest.yaml" key)" ]
    [ "$cuda" = "$("$BIN/manifest" get "$made/cuda/manifest.yaml" key)" ]
    [ "$cpu" != "$cuda" ]
    [ "$(key train-single --math fast)" = "$cuda" ] # auto: there is a GPU
    [ "$(key train-single)" = "$cpu" ]
    [ "$(key train-single --device cuda:0 --math fast)" = "$cuda" ]
    [ "$(key train-ddp --device cuda:0,cuda:0 --math fast)" = "$(key train-ddp --device cuda --math fast)" ]
    [ "$("$BIN/manifest" get "$made/cuda/manifest.yaml" parameters.backend)" = cuda ]
}

@test "a resume on another kind of device is reported, and the manifest records mixed devices" {
    local train=("$BIN/train-single" --experiment e.yaml --train "$made/data/train.st.zst" --out run)
    "${train[@]}" -q --device cpu --stop-after-steps 3
    run "${train[@]}" --resume --device cuda --math fast
    [ "$status" -eq 0 ]
    [[ $output == *"another kind of device"* ]]
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.backend)" = mixed ]
    succeeds "${train[@]}" --resume --device cpu # already finished
    succeeds "$BIN/report" -q run --out report
}

# Sums are taken in another order, so the bits differ, by less than 1e-7 on the emulated GPU.
@test "the model equals the CPU's, within rounding" {
    succeeds "$BIN/tensor" diff --atol 1e-6 "$made/cpu/model.st.zst" "$made/cuda/model.st.zst"
}

@test "the same bits in a second run, and from every tool at every world size on one GPU" {
    local world
    agrees train-single --device cuda --math fast
    for world in 1 2 4; do
        agrees train-ddp --device cuda --math fast --world-size "$world"
        agrees train-dp --device cuda:0 --math fast --world-size "$world"
    done
    agrees train-ddp --device cuda:0,cuda:0 --math fast
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.transport)" = "cuda ipc" ]
    agrees train-dp --device cuda:0,cuda:0 --math fast
    agrees train-mp --device cuda --math fast --world-size 2
    agrees train-mp --device cuda:0,cuda:0,cuda:0 --math fast
}

# ---- --math exact ----

# exact_agrees NAME TOOL...: with e.yaml as it is, these tools train the CPU's model on GPUs.
exact_agrees() {
    local tool
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out of-cpu --device cpu || return 1
    expected=$(content of-cpu/model.st.zst)
    rm -r of-cpu
    agrees train-single --device cuda || fail "$1" || return 1
    for tool in "${@:2}"; do agrees "$tool" --device cuda --world-size 2 || fail "$1" || return 1; done
}

@test "--math exact: the CPU's model from every tool at every world size, and its key" {
    local world
    expected=$(content "$made/cpu/model.st.zst")
    [ "$expected" != "$(content "$made/cuda/model.st.zst")" ]
    agrees train-single --device cuda
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.math)" = exact ]
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.devices.0)" = cuda:0 ]
    [ "$("$BIN/manifest" get run/manifest.yaml key)" = "$("$BIN/manifest" get "$made/cpu/manifest.yaml" key)" ]
    [ "$(key train-single --device cuda)" = "$(key train-single --device cpu)" ]
    [ "$(key train-single --device cpu --math fast)" = "$(key train-single --device cpu)" ]
    for world in 1 2 4; do
        agrees train-ddp --device cuda --world-size "$world"
        agrees train-dp --device cuda:0 --world-size "$world"
    done
    agrees train-mp --device cuda --world-size 2
    agrees train-mp --device cuda:0,cuda:0,cuda:0
}

@test "train-ddp says that ranks share a GPU, and what trains the same model" {
    local run=(--experiment e.yaml --train "$made/data/train.st.zst" --out run --dry-run)
    succeeds "$BIN/train-ddp" "${run[@]}" --device cuda:0 --world-size 4
    [[ $stderr == *"4 ranks share cuda:0, which serves one process at a time: train-dp or train-single, with the same options"* ]] || fail "$stderr"
    succeeds "$BIN/train-ddp" "${run[@]}" --device cpu,cuda:0,cuda:0,cpu
    [[ $stderr == *"2 ranks share cuda:0"* ]] || fail "$stderr"
    succeeds "$BIN/train-ddp" "${run[@]}" --device cpu,cuda:0 --world-size 2
    [[ $stderr != *share* ]] || fail "$stderr"
    succeeds "$BIN/train-dp" "${run[@]}" --device cuda:0 --world-size 4
    [[ $stderr != *share* ]] || fail "$stderr"
}

@test "--math exact: the CPU's model on several GPUs" {
    need_gpus 4
    expected=$(content "$made/cpu/model.st.zst")
    agrees train-ddp --device cuda:0,cuda:1,cuda:2,cuda:3
    agrees train-dp --device cuda:0,cuda:1
    agrees train-mp --device cuda:2,cuda:0,cuda:1
}

@test "--math exact: the CPU's model with every setting of training" {
    exact_agrees plain train-ddp
    printf 'sync_batch_norm: true\nlabel_smoothing: 0.2\n' >>e.yaml
    exact_agrees "synchronised batch norm, label smoothing" train-ddp train-dp train-mp
    cp "$made/e.yaml" .
    printf 'mixup: {alpha: 0.4}\naverage: {kind: lookahead, decay: 0.9, every: 2, ramp: 1}\n' >>e.yaml
    exact_agrees "mixup, averages" train-dp train-mp
    cp "$made/e.yaml" .
    sed -i 's/^optimizer: .*/optimizer: {kind: adamw, lr: 0.01, weight_decay: 0.1, clip_norm: 0.4}/' e.yaml
    cat >>e.yaml <<'END'
tensors:
  conv1.weight: {init: whiten, trained_epochs: 0}
  conv2.weight: {init: kaiming_normal, trained_epochs: 1}
END
    exact_agrees "clipping, settings of tensors" train-ddp train-dp
    sed -i 's/flatten, linear/flatten, dropout: {p: 0.3}, linear/' net.yaml
    write_experiment e.yaml model=./net.yaml global_batch=32 epochs=3 'validation={samples: 20}' keep=best
    exact_agrees "dropout, validation" train-ddp train-mp
}

@test "--math exact: ranks on the cpu and ranks on GPUs train the CPU's model together" {
    expected=$(content "$made/cpu/model.st.zst")
    for list in cpu,cuda:0 cuda:0,cpu cuda:0,cuda:0,cpu,cpu; do agrees train-ddp --device $list; done
    agrees train-ddp --device cpu,cuda:0 --reduce fast
    agrees train-ddp --device cpu,cuda:0 --threads 2 --loader-workers 2
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.devices)" = '[cpu, "cuda:0"]' ]
    [ "$("$BIN/manifest" get run/manifest.yaml run.execution.threads)" = 2 ]
    fails_with 3 "backend" "$BIN/manifest" get run/manifest.yaml parameters.backend
    "$BIN/train-ddp" -q --experiment e.yaml --train "$made/data/train.st.zst" --out parts --device cuda:0,cpu --stop-after-steps 1
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out parts --device cuda --resume --stop-after-steps 1
    "$BIN/train-ddp" -q --experiment e.yaml --train "$made/data/train.st.zst" --out parts --device cpu,cuda:0 --resume
    same_model "$expected" parts "resumed"
    printf 'sync_batch_norm: true\n' >>e.yaml
    sed -i 's/^optimizer: .*/optimizer: {kind: adamw, lr: 0.01, weight_decay: 0.1, clip_norm: 0.4}/' e.yaml
    exact_agrees "synchronised batch norm, clipping"
    agrees train-ddp --device cpu,cuda:0
}

@test "a run of ranks on the cpu and on a GPU: make counts it where DEVICE asks for both, and the report says so" {
    need_tool pipeline shard evaluate report
    export ARTIFACTS=$WORK/artifacts DATA=$made/data
    write_experiment d.yaml name=d model=./net.yaml strategy=ddp world_size=2 global_batch=32
    succeeds "$BIN/pipeline" experiment d.yaml DEVICE=cuda:0,cpu
    grep -qF "| **Device** | cpu+cuda |" artifacts/d-data=*/report*/report.md || fail "$(cat artifacts/d-data=*/report*/report.md)"
    grep -qF "| **Math** | exact |" artifacts/d-data=*/report*/report.md || fail "$(cat artifacts/d-data=*/report*/report.md)"
    for given in "DEVICE=cuda:0,cpu" ""; do
        succeeds "$BIN/pipeline" experiment d.yaml $given
        [[ $output != *"train"*": running"* ]] || fail "$given" "$output"
    done
    succeeds "$BIN/pipeline" experiment d.yaml DEVICE=cuda
    [ "$(grep -c '^train .*: running' <<<"$output")" = 1 ] || fail "$output"
    # train-single has one rank, which takes the first device.
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda:0,cpu
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda:0,cpu
    [[ $output != *"train"*": running"* ]] || fail "$output"
}

@test "a run on a GPU that was stopped and resumed counts where DEVICE asks for a GPU" {
    need_tool pipeline shard evaluate report
    export ARTIFACTS=$WORK/artifacts DATA=$made/data
    local runs train
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda
    runs=$(echo artifacts/runs/*/1)
    train=("$BIN/train-single" -q --experiment "${runs%/1}/experiment.yaml" --train "$made/data/train.st.zst" --test "$made/data/test.st.zst" \
        --out "$runs/train" --device cuda)
    rm -r "$runs/train" "$runs/evaluate"
    "${train[@]}" --stop-after-steps 2
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda
    [[ $output == *"train"*": running"* ]] || fail "$output"
    [ "$("$BIN/manifest" get "$runs/train/manifest.yaml" run.execution.1.devices.0)" = cuda:0 ]
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda
    [[ $output != *": running"* ]] || fail "$output"
}

@test "--math exact: begun on a CPU, resumed on a GPU, and back: the CPU's model, not a mixed one" {
    local train=("$BIN/train-single" --experiment e.yaml --train "$made/data/train.st.zst" --out run)
    "${train[@]}" -q --device cpu --stop-after-steps 1
    "${train[@]}" -q --device cuda --resume --stop-after-steps 1
    succeeds "$BIN/train-ddp" --experiment e.yaml --train "$made/data/train.st.zst" --out run --resume --device cpu --world-size 2
    [[ $stderr != *"another kind of device"* ]] || fail "$stderr"
    same_model "$(content "$made/cpu/model.st.zst")" run "resumed"
    fails_with 3 "backend" "$BIN/manifest" get run/manifest.yaml parameters.backend
    rm -r run
    "${train[@]}" -q --device cuda --stop-after-steps 2
    run "${train[@]}" --resume --device cuda --math fast
    [ "$status" -eq 0 ]
    [[ $output == *"another kind of device"* ]]
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.backend)" = mixed ]
}

@test "a run on a GPU is the CPU's: it is trained on the other only by request, and with MATH=fast of make" {
    need_tool pipeline shard evaluate report
    export ARTIFACTS=$WORK/artifacts DATA=$made/data
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda
    [ "$(grep -c '^\(train\|evaluate\) .*: running' <<<"$output")" = 2 ] || fail "$output"
    [ "$("$BIN/manifest" get artifacts/e-data=*/seed-*/train/manifest.yaml run.execution.devices.0)" = cuda:0 ]
    LOCKSTEP_EMULATED_DEVICES=0 succeeds "$BIN/pipeline" experiment e.yaml
    [[ $output != *": running"* ]] || fail "$output"
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cpu
    [ "$(grep -c '^train .*: running' <<<"$output")" = 1 ] || fail "$output"
    [ "$(for run in artifacts/runs/*/[12]/train; do "$BIN/manifest" get "$run/manifest.yaml" run.execution.devices.0; done)" = $'cuda:0\ncpu' ]
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda
    [ "$(grep -c '^train .*: running' <<<"$output")" = 0 ] || fail "$output"
    # The report is on the execution that was asked for.
    [[ $output == *"report "*": running (now runs/"*"/1, no longer runs/"*"/2)"* ]] || fail "$output"
    succeeds "$BIN/pipeline" experiment e.yaml DEVICE=cuda MATH=fast
    [ "$(grep -c '^\(train\|evaluate\) .*: running' <<<"$output")" = 2 ] || fail "$output"
    run "$BIN/pipeline" experiment e.yaml MATH=exakt
    [ "$status" -eq 2 ] && [[ $output == *"'--math': expected exact or fast, got 'exakt'"* ]] || fail "$output"
}

@test "--math exact: a report says so, and does not compare the times with those of fast" {
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out exact --device cuda
    succeeds "$BIN/report" -q exact --baseline "$made/cuda" --out report
    grep -qF "not like for like: math exact vs fast |" report/report.md || fail "$(<report/report.md)"
    grep -qF "| fast |" report/report.md && grep -qF "| exact |" report/report.md || fail "$(<report/report.md)"
}

@test "--math exact: evaluate makes the CPU's predictions under the CPU's key" {
    local tta evaluate=("$BIN/evaluate" -q --model "$made/cpu/model.st.zst" --data "$made/data/test.st.zst")
    for tta in none mirror-shift; do
        rm -rf one two
        "${evaluate[@]}" --out one --tta "$tta" --device cuda
        "${evaluate[@]}" --out two --tta "$tta" --device cpu
        [ "$("$BIN/manifest" get one/manifest.yaml run.execution.devices.0)" = cuda:0 ]
        [ "$("$BIN/manifest" get one/manifest.yaml key)" = "$("$BIN/manifest" get two/manifest.yaml key)" ]
        [ "$(content one/predictions.st.zst)" = "$(content two/predictions.st.zst)" ] || fail "$tta"
    done
}

@test "--math exact: the CPU's model where CPUs use Winograd's algorithm" {
    sed -i 's/out: [68],/out: 16,/g; s/max_pool: {size: 2}, //' net.yaml
    exact_agrees "Winograd's algorithm" train-ddp train-mp
}

# graph_data [FIXTURE]: data and an experiment for the network that has every kind of layer, a value with three
# readers, and residual blocks; or for another one.
graph_data() {
    made=$WORK
    "$BIN/synth-cifar" -q --train 50 --test 20 --shape 3,16,16 --seed 3 --out data
    sed 's/32, 32/16, 16/' "$ROOT/tests/fixtures/${1:-residual}.yaml" >net.yaml
    write_experiment e.yaml model=./net.yaml global_batch=32
}

@test "--math exact: the CPU's model and predictions of a network with branches and all kinds of layers" {
    graph_data
    exact_agrees branches train-ddp train-dp train-mp
    "$BIN/evaluate" -q --model run/model.st.zst --data data/test.st.zst --out one --device cuda
    "$BIN/evaluate" -q --model run/model.st.zst --data data/test.st.zst --out two --device cpu
    [ "$(content one/predictions.st.zst)" = "$(content two/predictions.st.zst)" ]
    printf 'sync_batch_norm: true\n' >>e.yaml
    exact_agrees "branches, synchronised batch norm" train-ddp
}

@test "--math exact: the CPU's model of a network with concats, slices and shuffles" {
    graph_data channels
    exact_agrees channels train-ddp train-dp train-mp
}

@test "--math exact: the CPU's model of a network with the other layers, whose logits a convolution makes" {
    graph_data kinds
    exact_agrees kinds train-ddp train-dp train-mp
}

@test "--math fast: a network with branches: the same bits from every tool, near the CPU's" {
    local tool
    graph_data
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out cuda --device cuda --math fast
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out cpu --device cpu
    expected=$(content cuda/model.st.zst)
    [ "$expected" != "$(content cpu/model.st.zst)" ]
    succeeds "$BIN/tensor" diff --atol 1e-4 cuda/model.st.zst cpu/model.st.zst
    for tool in train-ddp train-dp train-mp; do agrees "$tool" --device cuda --math fast --world-size 2; done
}

@test "--math: an unknown value is refused, and nothing is written" {
    fails_with 2 "'--math': expected exact or fast, got 'exakt'" "$BIN/train-single" -q --experiment e.yaml \
        --train "$made/data/train.st.zst" --out run --device cuda --math exakt
    nothing_in run
}

@test "a layer with more groups of channels than a launch has blocks is refused by name" {
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 12, 12]
layers: [conv: {out: 16384, kernel: 12}, conv: {name: wide, out: 16384, kernel: 1, groups: 16384}, flatten, linear: {out: 10}]
END
    write_experiment e.yaml model=./net.yaml global_batch=32 virtual_shards=4
    fails_with 2 "'wide': 16384 groups of channels in 4 shards are more than 65535; use --device cpu" \
        "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda
    nothing_in run
}

@test "without cuBLAS and NCCL a GPU trains, except large linear layers with --math fast" {
    local train=("$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda)
    export LOCKSTEP_EMULATED_LIBRARIES=none
    succeeds "${train[@]}"
    [ "$("$BIN/manifest" get run/manifest.yaml run.gpus.0.libraries)" = "CUDA 13.0" ] || fail "$(grep libraries run/manifest.yaml)"
    same_model "$(content "$made/cpu/model.st.zst")" run "without libraries"
    rm -r run
    sed -i 's/linear: {out: 20}/linear: {out: 600}/' net.yaml
    fails_with 1 "no cuBLAS" "${train[@]}" --math fast
    nothing_in run
    succeeds "${train[@]}" --stop-after-steps 1
}

@test "a run names cuBLAS if it uses it" {
    local train=("$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda)
    succeeds "${train[@]}" --math fast
    ! grep cuBLAS run/manifest.yaml || fail "$(grep cuBLAS run/manifest.yaml)"
    rm -r run
    sed -i 's/linear: {out: 20}/linear: {out: 600}/' net.yaml
    succeeds "${train[@]}" --math fast
    [[ $("$BIN/manifest" get run/manifest.yaml run.execution.isa) =~ ,\ cuBLAS\ [1-9][0-9]*(\.[0-9]+){2}$ ]] ||
        fail "$(grep isa run/manifest.yaml)"
}

# need_gpus N: of a real machine's GPUs; the emulation has as many as requested.
need_gpus() {
    export LOCKSTEP_EMULATED_DEVICES=$1
    [ -n "${CUDA_LIBRARY:-}" ] || return 0
    [ "$(nvidia-smi --list-gpus 2>/dev/null | wc -l)" -ge "$1" ] || skip "fewer than $1 GPUs"
}

transport() {
    "$BIN/manifest" get run/manifest.yaml run.execution.transport
}

@test "DataParallel and pipelines on two GPUs, and on one" {
    need_gpus 2
    agrees train-dp --device cuda:0,cuda:1 --math fast
    [[ $(transport) == *" copies" ]]
    agrees train-dp --device cuda:1,cuda:0 --math fast
    agrees train-mp --device cuda:0,cuda:1 --math fast
    [[ $(transport) == *" copies" ]]
    agrees train-dp --device cuda:1 --math fast --world-size 2
    [ "$(transport)" = "device memory" ]
}

@test "DataParallel on four GPUs, pipelines on three, with peer access and without" {
    need_gpus 4
    local access
    for access in 1 0; do
        export LOCKSTEP_EMULATED_PEERS=$access
        agrees train-dp --device cuda:0,cuda:1,cuda:2,cuda:3 --math fast
        agrees train-mp --device cuda:2,cuda:0,cuda:1 --math fast
        [ -n "${CUDA_LIBRARY:-}" ] || [ "$(transport)" = "$([ $access = 1 ] && echo peer || echo host) copies" ]
    done
}

@test "synchronised batch norm" {
    printf 'sync_batch_norm: true\n' >>e.yaml
    option_agrees sync_batch_norm train-ddp train-dp train-mp
}

@test "label smoothing" {
    printf 'label_smoothing: 0.2\n' >>e.yaml
    option_agrees label_smoothing train-ddp train-dp train-mp
}

@test "mixup" {
    printf 'mixup: {alpha: 0.4}\n' >>e.yaml
    option_agrees mixup train-ddp train-dp train-mp
    [ "$("$BIN/manifest" get one/manifest.yaml run.execution.images)" = host ]
}

@test "colours" {
    sed -i 's/^augment: .*/augment: [random_crop: {padding: 2}, color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}]/' e.yaml
    option_agrees color_jitter train-ddp train-dp train-mp
    [ "$("$BIN/manifest" get one/manifest.yaml run.execution.images)" = host ]
    exact_agrees color_jitter train-ddp
}

@test "gradient clipping" {
    sed -i 's/^optimizer: .*/optimizer: {kind: sgd, lr: 0.01, momentum: 0.9, clip_norm: 0.4}/' e.yaml
    option_agrees clip_norm train-ddp train-dp
    fails_with 2 "stages on GPUs with 'optimizer.clip_norm'" "$BIN/train-mp" -q --experiment e.yaml \
        --train "$made/data/train.st.zst" --out run --device cuda --math fast --world-size 2
    # Frozen tensors have no share of the norm, on any device.
    printf 'tensors: {conv1.*: {trained_epochs: 0}, "*.bias": {trained_epochs: 1}}\n' >>e.yaml
    option_agrees tensors train-ddp train-dp
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out cpu --device cpu
    succeeds "$BIN/tensor" diff --atol 1e-5 one/model.st.zst cpu/model.st.zst
}

@test "averages of the weights" {
    printf 'average: {kind: lookahead, decay: 0.9, every: 2, ramp: 1}\n' >>e.yaml
    option_agrees average train-ddp train-dp train-mp
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda --math fast --stop-after-steps 3
    succeeds "$BIN/train-ddp" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda --math fast --world-size 2 --resume
    same_model "$expected" run "resumed"
}

@test "synchronised batch norm over two GPUs" {
    need_gpus 2
    printf 'sync_batch_norm: true\n' >>e.yaml
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out one --device cuda --math fast
    expected=$(content one/model.st.zst)
    agrees train-dp --device cuda:0,cuda:1 --math fast
    agrees train-mp --device cuda:0,cuda:1 --math fast
}

# The engine holds the samples that are left out, too: rows name the others.
@test "validation: the same bits, sharded or not" {
    write_experiment e.yaml model=./net.yaml global_batch=32 epochs=3 'validation={samples: 20}' keep=best
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out first --device cuda --math fast
    expected=$(content first/model.st.zst)
    agrees train-ddp --device cuda --math fast --world-size 2
    "$BIN/shard" -q --shards 4 --in "$made/data/train.st.zst" --out shards
    "$BIN/train-single" -q --experiment e.yaml --train shards --out files --device cuda --math fast
    same_model "$expected" files "shards"
}

@test "stopped, and resumed by another tool" {
    "$BIN/train-single" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda --math fast --stop-after-steps 3
    unfinished run
    succeeds "$BIN/train-ddp" -q --experiment e.yaml --train "$made/data/train.st.zst" --out run --device cuda --math fast --world-size 2 --resume
    same_model "$expected" run "resumed"
}

@test "evaluate: the same predictions as on the CPU, within rounding" {
    local model=$made/cuda/model.st.zst
    "$BIN/evaluate" -q --model "$model" --data "$made/data/test.st.zst" --out one --device cuda --math fast
    "$BIN/evaluate" -q --model "$model" --data "$made/data/test.st.zst" --out two --device cpu
    [ "$("$BIN/manifest" get one/manifest.yaml run.execution.devices.0)" = cuda:0 ]
    [ "$("$BIN/evaluate" --model "$model" --data "$made/data/test.st.zst" --math fast --print-key)" = "$("$BIN/manifest" get one/manifest.yaml key)" ]
    [ "$("$BIN/evaluate" --model "$model" --data "$made/data/test.st.zst" --print-key)" = "$("$BIN/manifest" get two/manifest.yaml key)" ]
    [ "$("$BIN/manifest" get one/manifest.yaml key)" != "$("$BIN/manifest" get two/manifest.yaml key)" ]
    succeeds "$BIN/tensor" diff --atol 1e-5 one/predictions.st.zst two/predictions.st.zst
}
