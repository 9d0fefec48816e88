# SPDX-License-Identifier: MIT
# make bench-cuda and make check-gpu without a GPU: they measure, count, judge and write, on the
# emulated backend and at sizes that say nothing about speed.

load helpers

setup() {
    library=$BIN/../lib/lockstep-cuda-emulated.so
    program=$BIN/../obj/release/tests/bench/cuda_profile
    need_tool synth-cifar train-single tensor
    [ -e "$library" ] || skip "$library is not built"
    need_program cc
    export ARTIFACTS=$WORK/artifacts QUICK=1 ROUNDS=1 TMPDIR=$WORK CC=cc LOCKSTEP_CUDA_LIBRARY=$library CUDA_PROFILE=$program
    unset CIFAR10_FROM MNIST_FROM WRITE_DOCS COMPILE TORCH_DEVICE DEVICE
    results=$ARTIFACTS/bench
}

need_profile() {
    [ -x "$program" ] || skip "$program is not built"
}

# cell FILE ROW COLUMN: by the column's name, and by the row's value in column `key`.
cell() {
    awk -F , -v row="$2" -v name="$3" -v key="${4:-1}" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i } $key == row { print $k }' "$results/$1.csv"
}

profile() {
    "$program" "$library" 0 "$WORK/model.yaml" "$@"
}

@test "every operation of a step: its launches, bytes and floating-point operations" {
    need_profile
    cat >"$WORK/model.yaml" <<'END'
schema: lockstep.model/1
name: small
input: [2, 6, 6]
layers: [conv: {out: 4, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, dropout: {p: 0.5}, flatten, linear: {out: 10}]
END
    succeeds profile 8 2 1
    # The shards have 4 samples. Input: 72 floats per sample; after the convolution 64, after the
    # pool 16.
    operation() {
        grep "^operation,$1," <<<"$output" | cut -d , -f 3,5-
    }
    [ "$(operation 'load')" = 1,2880,0,0 ] || fail "$output"
    [ "$(operation 'conv1 forward with moments')" = "1,$((8 * (72 + 64) * 4 + 76 * 4)),0,$((2 * 8 * 16 * 4 * 18))" ] || fail "$output"
    [ "$(operation 'conv1 weight gradient' | cut -d , -f 2-)" = "$((8 * (72 + 64) * 4 + 2 * 76 * 4)),0,$((2 * 8 * 16 * 4 * 18))" ] || fail "$output"
    [ "$(operation 'conv1 tail')" = "1,$((8 * (64 + 16) * 4 + 8 * 16)),0,0" ] || fail "$output"
    [ "$(operation 'fc1 forward' | cut -d , -f 2-)" = "$((8 * (16 + 10) * 4 + 170 * 4)),0,$((2 * 8 * 160))" ] || fail "$output"
    [ -n "$(operation 'dropout1 gradient')" ] || fail "$output"
    [ -z "$(operation 'conv1 input gradient')" ] || fail "an unused gradient is computed: $output"
    local sum
    sum=$(awk -F , '$1 == "operation" && $2 !~ /^whole/ { launches += $3; flop += $7 } END { print launches "," flop }' <<<"$output")
    [ "$(operation 'whole step as one graph' | cut -d , -f 1,4)" = "$sum" ] || fail "$sum: $output"
    [ "$(grep -c '^limit,[a-z]*,[0-9.e+]*$' <<<"$output")" -eq 4 ] || fail "$output"
    # Without batch norm the product computes the tail, with as many elements as the windows: 4 of
    # 3×3 each.
    sed -i 's/conv: {out: 4, kernel: 3}, batch_norm/conv: {out: 4, kernel: 4}/' "$WORK/model.yaml"
    succeeds profile 8 2 1
    [ "$(operation 'conv1 forward with tail')" = "1,$((8 * (72 + 4) * 4 + 8 * 4 + 132 * 4)),0,$((2 * 8 * 4 * 4 * 32))" ] || fail "$output"
    [ -z "$(operation 'conv1 tail')" ] || fail "$output"
    [ "$(operation 'conv1 tail gradient')" = "1,$((8 * (36 + 4) * 4 + 8 * 4)),0,0" ] || fail "$output"
    fails_with 2 'a batch of 1 in 2 shards' "$program" "$library" 0 "$WORK/model.yaml" 1 2 1
    TOOL=cuda_profile fails_with 1 'none.so' "$program" "$WORK/none.so" 0 "$WORK/model.yaml" 8 2 1
}

@test "make bench-cuda: rounds become tables; without PyTorch its rows give the reason" {
    need_profile
    PYTHON=$WORK/no-python succeeds "$ROOT/tests/bench/cuda"
    [ "$(cell cuda-work lenet-bn-64 status),$(cell cuda-work lenet-bn-64 rounds)" = measured,1 ] || fail "$(cat "$results/cuda-work.csv")"
    [ "$(cell cuda-work torch-lenet-bn-64-graph status)" = skipped ]
    [[ $(cell cuda-work torch-lenet-bn-64-graph note) == *"has no torch" ]] || fail "$(cat "$results/cuda-work.csv")"
    [ "$(cell cuda step met)" = no ] || fail "$(cat "$results/cuda.csv")"
    [ "$(cell cuda eager figure),$(cell cuda eager met)" = , ]
    [ "$(cell cuda-kernels 'conv1 forward with moments' launches 4)" = 1 ] || fail "$(cat "$results/cuda-kernels.csv")"
    [ "$(awk -F , '{ print NF }' "$results"/cuda-kernels.csv | sort -u)" = 12 ] || fail "$(cat "$results/cuda-kernels.csv")"
    grep -q '^gpu: emulated' "$results/cuda.txt"
    [ -z "$(find "$WORK" -name 'lockstep-bench.*')" ]
    printf '<!-- bench: cuda-%s -->\n<!-- end -->\n' machine goals work kernels >"$WORK/page.md"
    DOCS=$WORK/page.md fails_with 1 'measured with QUICK' "$ROOT/tests/bench/cuda-docs"
    sed -i 's/^quick: yes/quick: no/; s/^rounds: 1/rounds: 5/' "$results/cuda.txt"
    DOCS=$WORK/page.md succeeds "$ROOT/tests/bench/cuda-docs"
    grep -q '^| lenet-bn, batch 64, V = 1: a step, in µs | [0-9.]* | ≤ 40 µs, \*\*missed\*\* |$' "$WORK/page.md" || fail "$(cat "$WORK/page.md")"
    grep -q '^| conv1 forward with moments | 1 | ' "$WORK/page.md"
}

@test "figures and verdicts follow from the rounds" {
    mkdir -p "$results"
    printf '%s\n' round,name,seconds 1,a,2 2,a,4 3,a,3 1,b,0.5 1,c,9 >"$WORK/rounds"
    printf '%s\n' 'a | A | ours batch=64' 'b | B | ours batch=100 batch=10 epoch=1000' 'c | C | torch' 'd | D | torch' >"$WORK/work"
    printf '%s\n' '# a comment' 'x | X | >= 2 | ratio c,a b' 'y | Y | <= 4 µs | step b' 'z | Z | <= 20 ms | epoch b' 'w | W | >= 1 | ratio d a' >"$WORK/goals"
    echo 'd|failed|no; not today' >"$WORK/notes"
    awk -f "$ROOT/tests/bench/median.awk" -f "$ROOT/tests/bench/cuda.awk" -v works="$results/work.csv" -v verdicts="$results/goals.csv" \
        "$WORK/work" "$WORK/goals" "$WORK/notes" "$WORK/rounds"
    [ "$(sed -n 2,5p "$results/work.csv")" = "$(printf '%s\n' a,3,2,4,64,3840,3,measured, b,0.5,0.5,0.5,10,5000,1,measured, \
        c,9,9,9,64,11520,1,measured, 'd,,,,64,,0,failed,no; not today')" ] || fail "$(cat "$results/work.csv")"
    [ "$(sed -n 2,5p "$results/goals.csv")" = "$(printf '%s\n' 'x,6,>= 2,yes' 'y,5000,<= 4 µs,no' 'z,500,<= 20 ms,no' 'w,,>= 1,')" ] || fail "$(cat "$results/goals.csv")"
}

@test "make check-gpu: other bits than the CPU's, with the first step and the tensors" {
    export LOGS=$WORK/logs EMULATED=1 PARTS=exact MODELS=lenet
    succeeds "$ROOT/tests/gpu/session"
    [[ $output == *$'\n'"exact      passed "*"bits of the CPU: 1 models; other bits: 0"* ]] || fail "$output"
    mkdir -p "$WORK/bin"
    ln -s "$BIN"/* "$WORK/bin"
    rm "$WORK/bin/train-single"
    printf '#!/bin/sh\nexec "%s" "$@" --math fast\n' "$BIN/train-single" >"$WORK/bin/train-single"
    chmod +x "$WORK/bin/train-single"
    run env BIN="$WORK/bin" LOCKSTEP_CUDA_LIBRARY="$BIN/../lib/lockstep-cuda-emulated.so" "$ROOT/tests/gpu/same-bits" exact
    [ "$status" -eq 1 ] || fail "$output"
    [[ $output == *"DIFFERS lenet, 3 steps, gpu: "*"first step after which parameters differ: "[123]"; what differs then:"*"model.fc1.weight"* ]] || fail "$output"
}

@test "make check-gpu: a table of its parts; a failed part does not stop the others" {
    export LOGS=$WORK/logs EMULATED=1
    PARTS="machine again launches memcheck" succeeds "$ROOT/tests/gpu/session"
    [[ $output == *$'\n'"again      passed "*"three times: 3 same, 0 other bits"* ]] || fail "$output"
    [[ $output == *$'\n'"launches   passed "*"lenet-bn, batch 8: "[0-9]*.[0-9]" µs against "[0-9]*.[0-9]$'\n'* ]] || fail "$output"
    [[ $output == *$'\n'"memcheck   skipped "*"emulation"* ]] || fail "$output"
    mkdir -p "$WORK/bin"
    ln -s "$BIN"/* "$WORK/bin"
    printf '#!/bin/sh\nexit 1\n' >"$WORK/none"
    chmod +x "$WORK/none"
    ln -sf "$WORK/none" "$WORK/bin/tensor"
    run env BIN="$WORK/bin" PARTS="again memcheck" "$ROOT/tests/gpu/session"
    [ "$status" -eq 1 ] || fail "$output"
    [[ $output == *$'\n'"again      failed "*$'\n'"memcheck   skipped "* ]] || fail "$output"
    LIMIT=1 PARTS=again succeeds "$ROOT/tests/gpu/session"
    [[ $output == *"again      skipped "*"no time left"* ]] || fail "$output"
}

@test "the cost of exact sums: each kernel of a step is at least as long as its longest part" {
    mkdir "$WORK/bin"
    ln -s "$BIN/synth-cifar" "$WORK/bin/synth-cifar"
    # A training that lists its kernels: one before the first step, two in a step of exact sums, one
    # in a fast step.
    cat >"$WORK/bin/train-single" <<'END'
#!/usr/bin/env bash
until [ "$1" = --math ]; do shift; done
echo "1 32 999 999 999 first" >"$LOCKSTEP_EMULATED_KERNELS"
for ((step = 0; step < $4; step++)); do
    echo "132 128 16896000 128000 2000 (products<4>)"
    [ "$2" = fast ] || echo "2 128 640020 640000 10 (groups)"
done >>"$LOCKSTEP_EMULATED_KERNELS"
exit 5
END
    chmod +x "$WORK/bin/train-single"
    BIN=$WORK/bin COUNTING=none BATCH=4 succeeds "$ROOT/tests/bench/exact-cost"
    # A thread of 2,000 multiply-adds takes 2,000 cycles, and a block of 640,000 takes 5,000.
    [[ $output == *$'\n'"| lenet-bn | exact | 2 | 17.5 | 0.6 | 4.0 | \`groups\` 2.8 |"$'\n'* ]] || fail "$output"
    [[ $output == *$'\n'"| lenet-bn | fast | 1 | 16.9 | 0.6 | 1.1 | \`products\` 1.1 |"* ]] || fail "$output"
}

@test "the chain of a step: some launches have others beside them, and exact sums take more" {
    EMULATED=$LOCKSTEP_CUDA_LIBRARY BATCH=4 succeeds "$ROOT/tests/bench/step-chain"
    [[ $output =~ '| lenet-bn | exact | '([0-9]+)' | '([0-9]+)' |'.*'| lenet-bn | fast | '([0-9]+)' | '([0-9]+)' |' ]] ||
        fail "$output"
    local exact=("${BASH_REMATCH[@]:1:2}") fast=("${BASH_REMATCH[@]:3:2}")
    ((1 < fast[1] && fast[1] < fast[0] && fast[0] < exact[0])) || fail "$output"
    ((fast[1] < exact[1] && exact[1] < exact[0])) || fail "$output"
}
