# SPDX-License-Identifier: MIT
# The activity of several GPUs during a run, in the manifest: two emulated GPUs (tests/emulation),
# and a fake of the driver's library NVML (tests/fixtures/fake_nvml.c).

load helpers
load training

library() {
    echo "$BIN/../lib/lockstep-cuda-emulated.so"
}

setup_file() {
    local -a compiler
    read -ra compiler <<<"${CC:-cc}"
    [ -e "$(library)" ] && [ -x "$BIN/synth-cifar" ] && command -v "${compiler[0]}" >/dev/null || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    "${compiler[@]}" -std=c17 -D_GNU_SOURCE -shared -fPIC -I "$ROOT/lib" "$ROOT/tests/fixtures/fake_nvml.c" -o nvml.so
    : >empty.so
    "$BIN/synth-cifar" -q --train 90 --test 20 --shape 3,12,12 --seed 3 --out data
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 12, 12]
layers: [conv: {out: 6, kernel: 3}, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]
END
    write_experiment e.yaml model=./net.yaml global_batch=36
}

setup() {
    need_training
    made=$BATS_FILE_TMPDIR
    [ -e "$made/nvml.so" ] || skip "$(library) is not built, or there is no C compiler"
    LOCKSTEP_CUDA_LIBRARY=$(realpath "$(library)")
    export LOCKSTEP_CUDA_LIBRARY LOCKSTEP_EMULATED_DEVICES=2 LOCKSTEP_NVML_LIBRARY=$made/nvml.so FAKE_LOG=$WORK/log
    cd "$WORK"
}

# trains TOOL OPTION...: into the folder run.
trains() {
    rm -rf run log
    succeeds "$BIN/$1" --experiment "$made/e.yaml" --train "$made/data/train.st.zst" --out run "${@:2}"
}

value() {
    "$BIN/manifest" get run/manifest.yaml "$1"
}

# has KEY VALUE...: in the manifest's list of GPUs.
has() {
    local got
    while [ $# -gt 0 ]; do
        got=$(value "run.gpus.$1") || return 1
        [ "$got" = "$2" ] || { fail "run.gpus.$1: $got instead of $2"; return 1; }
        shift 2
    done
}

# lacks_figures: the GPUs are listed, without any measured figure.
lacks_figures() {
    [ -n "$(value run.gpus.1.name)" ] || return 1
    fails_with 3 "samples" "$BIN/manifest" get run/manifest.yaml run.gpus.0.samples || return 1
    fails_with 3 "utilization_mean" "$BIN/manifest" get run/manifest.yaml run.gpus.0.utilization_mean
}

# one_asked: one process queried NVML, started it once and ended it.
one_asked() {
    [ "$(cat log)" = "$(printf 'begin\nend')" ] || fail "$(cat log)"
}

# as_often_as_it_should: about once per second (a loaded machine may be ten times as late), at least
# once; and the mean is that of so many queries.
as_often_as_it_should() {
    local samples seconds mean
    samples=$(value run.gpus.0.samples)
    seconds=$(value results.total_seconds)
    mean=$(value run.gpus.0.utilization_mean)
    awk -v n="$samples" -v seconds="$seconds" -v mean="$mean" '
        BEGIN { error = mean * n - 1; exit n < 1 || n < int(seconds / 10) || error < -1e-6 || error > 1e-6 }' ||
        fail "$samples samples in $seconds s, mean $mean"
}

@test "train-ddp: one process queries all GPUs, and assigns the figures to the correct devices" {
    trains train-ddp -q --device cuda:1,cuda:0
    one_asked
    has 0.device cuda:1 1.device cuda:0
    has 0.utilization_max 1 1.utilization_max 1
    has 0.memory_utilization_mean 0.5 1.memory_utilization_mean 0.25
    has 0.memory_used_mean 2147483648 0.memory_used_max 2147483648 1.memory_used_max 1073741824
    has 0.sm_clock_mhz_mean 1501 1.sm_clock_mhz_mean 1500
    has 0.power_watts_mean 301.5 0.power_watts_max 301.5 1.power_watts_mean 300.5
    has 1.temperature_celsius_mean 40 1.temperature_celsius_max 40
    fails_with 3 "temperature" "$BIN/manifest" get run/manifest.yaml run.gpus.0.temperature_celsius_mean
    as_often_as_it_should
}

@test "the report shows GPU activity, and --why traces a figure to the manifest" {
    trains train-ddp -q --device cuda:0,cuda:1
    succeeds "$BIN/report" -q run --out report
    grep -q "GPU activity during training" report/report.md
    grep -q "| cuda:1 | .*| 100.0 % | 2048 | 1501 | 302 |" report/report.md || fail "$(grep -A9 'GPUs did' report/report.md)"
    succeeds "$BIN/report" run --why tiny.gpu.1.power_watts_mean
    [[ $output == *"run.gpus.1.power_watts_mean"* ]] || fail "$output"
    trains train-ddp -q --device cuda:0,cuda:0
    succeeds "$BIN/report" -q run --out report
    if grep -q "GPU activity" report/report.md; then fail "the GPU was monitored"; fi
}

@test "replicas and stages of one process, for some seconds" {
    trains train-dp -q --device cuda:0,cuda:1 --set epochs=60
    has 1.memory_used_max 2147483648
    as_often_as_it_should
    trains train-mp -q --device cuda:0,cuda:1
    has 1.memory_used_max 2147483648
    one_asked
}

@test "without NVML nothing is measured, and nothing fails" {
    local expected
    LOCKSTEP_NVML_LIBRARY=$WORK/none.so trains train-ddp -v --device cuda:0,cuda:1
    [[ $stderr == *"GPUs are not monitored: cannot open NVML: "*none.so* ]] || fail "$stderr"
    lacks_figures
    expected=$(content run/model.st.zst)
    LOCKSTEP_NVML_LIBRARY=$made/empty.so trains train-ddp -q --device cuda:0,cuda:1
    lacks_figures
    LOCKSTEP_NVML_LIBRARY=$LOCKSTEP_CUDA_LIBRARY trains train-ddp -v --device cuda:0,cuda:1
    [[ $stderr == *"cannot use NVML: '"*"' lacks a function"* ]] || fail "$stderr"
    lacks_figures
    FAKE_NVML=broken trains train-ddp -v --device cuda:0,cuda:1
    [[ $stderr == *"cannot start NVML: '"*"': no fake driver"* ]] || fail "$stderr"
    lacks_figures
    FAKE_NVML=blind trains train-ddp -v --device cuda:0,cuda:1
    [[ $stderr == *"cannot use NVML: it finds none of the GPUs"* ]] || fail "$stderr"
    lacks_figures
    one_asked
    trains train-ddp -q --device cuda:0,cuda:1
    same_model "$expected" run "with NVML"
}

@test "a single GPU is not monitored" {
    trains train-ddp -q --device cuda:1,cuda:1
    [ ! -e log ]
    fails_with 3 "samples" "$BIN/manifest" get run/manifest.yaml run.gpus.0.samples
}

@test "stopped and resumed" {
    local -a command=("$BIN/train-ddp" -q --experiment "$made/e.yaml" --train "$made/data/train.st.zst" --out run
        --device "cuda:0,cuda:1")
    succeeds "${command[@]}" --stop-after-steps 1
    unfinished run
    one_asked
    succeeds "${command[@]}" --resume
    has 1.memory_used_max 2147483648
}
