# SPDX-License-Identifier: MIT
# make bench-cuda and make check-gpu without a GPU: they measure, count, judge and write, on the
# emulated backend and at sizes that say nothing about speed.

load helpers

setup() {
    library=$BIN/../lib/lockstep-cuda-emulated.so
    program=$BIN/../obj/release/tests/bench/cuda_profile
    need_tool synth-cifar train-single tensor
    [ -e "$library" ] || skip "$library is not built"
    export ARTIFACTS=$WORK/artifacts QUICK=1 ROUNDS=1 TMPDIR=$WORK CC=cc LOCKSTEP_CUDA_LIBRARY=$library CUDA_PROFILE=$program
    mnist=${MNIST_FROM:-}
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
    [ "$(cell cuda-work lenet-bn-64-fast status),$(cell cuda-work lenet-bn-64-fast rounds)" = measured,1 ] || fail "$(cat "$results/cuda-work.csv")"
    [ "$(cell cuda-work resnet18-128-exact status)" = measured ] || fail "$(cat "$results/cuda-work.csv")"
    [ "$(cell cuda-work lenet-bn-64-graph status)" = skipped ]
    [[ $(cell cuda-work lenet-bn-64-graph note) == *"has no torch" ]] || fail "$(cat "$results/cuda-work.csv")"
    [ "$(cell cuda step met)" = no ] || fail "$(cat "$results/cuda.csv")"
    [ "$(cell cuda eager figure),$(cell cuda eager met)" = , ]
    [ "$(cell cuda-kernels 'conv1 forward with moments' launches 4)" = 1 ] || fail "$(cat "$results/cuda-kernels.csv")"
    [ "$(awk -F , '{ print NF }' "$results"/cuda-kernels.csv | sort -u)" = 12 ] || fail "$(cat "$results/cuda-kernels.csv")"
    grep -q '^gpu: emulated' "$results/cuda.txt"
    [ -z "$(find "$WORK" -name 'lockstep-bench.*')" ]
    mkdir "$WORK/docs"
    printf '<!-- gpu: %s -->\n<!-- end -->\n' bench-machine goals work kernels >"$WORK/docs/performance.md"
    DOCS=$WORK/docs fails_with 1 'measured with QUICK' "$ROOT/tests/bench/cuda-docs"
    sed -i 's/^quick: yes/quick: no/' "$results/cuda.txt"
    DOCS=$WORK/docs fails_with 1 'medians of 1 rounds' "$ROOT/tests/bench/cuda-docs"
    # As many as were measured count, not as many as were planned.
    sed -i 's/^rounds: 1/rounds: 5/' "$results/cuda.txt"
    DOCS=$WORK/docs fails_with 1 'medians of 1 rounds' "$ROOT/tests/bench/cuda-docs"
    sed -i 's/,1,measured,/,5,measured,/' "$results/cuda-work.csv"
    DOCS=$WORK/docs succeeds "$ROOT/tests/bench/cuda-docs"
    grep -q '^| lenet-bn, batch 64, V = 1: a step, in µs | [0-9.]* | ≤ 40 µs, \*\*missed\*\* |$' "$WORK/docs/performance.md" || fail "$(cat "$WORK/docs/performance.md")"
    grep -q '^| conv1 forward with moments | 1 | ' "$WORK/docs/performance.md"
}

@test "make bench-cuda: PyTorch on a CPU, in every mode that it can run, with a chain and with a graph" {
    need_profile
    has_modules torch torchvision || skip "$PYTHON has no torch (make deps-torch)"
    torch_python "$WORK/imported"
    PYTHON=$WORK/imported TORCH_DEVICE=cpu COMPILE=1 succeeds "$ROOT/tests/bench/cuda"
    local name
    for name in lenet-bn-64-eager lenet-bn-64-loader resnet18-128-eager; do
        [ "$(cell cuda-work "$name" status)" = measured ] || fail "$name: $(cat "$results/cuda-work.csv")"
    done
    for name in lenet-bn-64-graph lenet-bn-64-tf32 resnet18-128-graph; do
        [ "$(cell cuda-work "$name" status),$(cell cuda-work "$name" note)" = 'skipped,needs CUDA' ] || fail "$name: $(cat "$results/cuda-work.csv")"
    done
    # Debian's PyTorch cannot compile.
    [[ $(cell cuda-work lenet-bn-64-compile status),$(cell cuda-work lenet-bn-64-compile note) == @(measured,*|skipped,*"has no compile") ]] ||
        fail "$(cat "$results/cuda-work.csv")"
}

@test "PyTorch's side reads a model without the program zstd, by pyarrow" {
    need_torch
    cd "$WORK"
    "$BIN/synth-cifar" -q --train 64 --test 1 --shape 3,8,8 --out data
    mkdir -p bin modules/pyarrow absent/pyarrow
    # Its only function that is used, by a program of another name.
    cat >modules/pyarrow/__init__.py <<END
import io, subprocess
def input_stream(path, compression):
    assert compression == "zstd"
    return io.BytesIO(subprocess.run(["$(command -v zstd)", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout)
END
    read_it=(env PATH="$WORK/bin" "$PYTHON" -c "import sys; sys.path.insert(0, '$ROOT/tests/python'); import torch_peer
print(sorted(torch_peer.read('data/train.st.zst')[0]))")
    PYTHONPATH=$WORK/modules succeeds "${read_it[@]}"
    [[ $output == *"['ids', 'images', 'labels']"* ]] || fail "$output"
    echo 'raise ImportError' >absent/pyarrow/__init__.py
    PYTHONPATH=$WORK/absent run "${read_it[@]}"
    [ "$status" -ne 0 ] && [[ $output == *"neither the program zstd nor pyarrow is installed"* ]] || fail "$output"
}

@test "figures and verdicts follow from the rounds" {
    mkdir -p "$results"
    printf '%s\n' round,name,seconds 1,a-fast,2 2,a-fast,4 3,a-fast,3 1,b-fast,0.5 1,c-eager,9 >"$WORK/rounds"
    printf '%s\n' 'a | A | batch=64 | fast=9' 'b | B | batch=100 batch=10 epoch=1000 | fast=3' 'c | C | | eager graph' >"$WORK/work"
    printf '%s\n' '# a comment' 'x | X | >= 2 | ratio c-eager,a-fast,c-graph b-fast' 'y | Y | <= 4 µs | step b-fast' \
        'z | Z | <= 20 ms | epoch b-fast' 'w | W | >= 1 | ratio c-graph a-fast' >"$WORK/goals"
    echo 'c-graph|failed|no; not today' >"$WORK/notes"
    awk -f "$ROOT/tests/bench/median.awk" -f "$ROOT/tests/bench/cuda.awk" -v works="$results/work.csv" -v verdicts="$results/goals.csv" \
        "$WORK/work" "$WORK/goals" "$WORK/notes" "$WORK/rounds"
    [ "$(sed -n 2,5p "$results/work.csv")" = "$(printf '%s\n' a-fast,a,fast,3,2,4,64,3840,3,measured, b-fast,b,fast,0.5,0.5,0.5,10,5000,1,measured, \
        c-eager,c,eager,9,9,9,64,11520,1,measured, 'c-graph,c,graph,,,,64,,0,failed,no; not today')" ] || fail "$(cat "$results/work.csv")"
    [ "$(sed -n 2,5p "$results/goals.csv")" = "$(printf '%s\n' 'x,6,>= 2,yes' 'y,5000,<= 4 µs,no' 'z,500,<= 20 ms,no' 'w,,>= 1,')" ] || fail "$(cat "$results/goals.csv")"
}

@test "make gpu-docs: the documents hold the tables of the recorded session" {
    mkdir "$WORK/docs"
    cp "$ROOT"/docs/{gpus,performance}.md "$WORK/docs"
    sed -i '/^| vgg-single | train-single /d; /^| resnet18, batch 128 /d' "$WORK"/docs/*.md
    DOCS=$WORK/docs succeeds "$ROOT/tests/bench/cuda-docs" "$ROOT/docs/h100.txt"
    diff "$ROOT/docs/gpus.md" "$WORK/docs/gpus.md"
    diff "$ROOT/docs/performance.md" "$WORK/docs/performance.md"
    echo nothing >"$WORK/other.txt"
    DOCS=$WORK/docs fails_with 1 'there are no measurements' "$ROOT/tests/bench/cuda-docs" "$WORK/other.txt"
}

@test "make check-gpu: other bits than the CPU's, with the first step and the tensors" {
    export LOGS=$WORK/logs EMULATED=1 PARTS=exact MODELS=lenet
    succeeds "$ROOT/tests/gpu/session"
    [[ $output == *$'\n'"exact      passed "*"bits of the CPU: 1 same, 0 other bits, 0 failed"* ]] || fail "$output"
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
    [[ $output == *$'\n'"again      passed "*"three times: 3 same, 0 other bits, 0 failed"* ]] || fail "$output"
    [[ $output == *$'\n'"launches   passed "*"lenet-bn, batch 8: "[0-9]*.[0-9]" µs against "[0-9]*.[0-9]$'\n'* ]] || fail "$output"
    [[ $output == *$'\n'"memcheck   skipped "*"emulation"* ]] || fail "$output"
    mkdir -p "$WORK/bin"
    ln -s "$BIN"/* "$WORK/bin"
    printf '#!/bin/sh\nexit 1\n' >"$WORK/none"
    chmod +x "$WORK/none"
    ln -sf "$WORK/none" "$WORK/bin/train-single"
    run env BIN="$WORK/bin" PARTS="again memcheck" "$ROOT/tests/gpu/session"
    [ "$status" -eq 1 ] || fail "$output"
    [[ $output == *$'\n'"again      failed "*$'\n'"memcheck   skipped "* ]] || fail "$output"
    LIMIT=1 PARTS=again succeeds "$ROOT/tests/gpu/session"
    [[ $output == *"again      skipped "*"no time left"* ]] || fail "$output"
}

@test "make check-gpu: a part that runs out of time says how far it came, and fails only if it found something" {
    export LOGS=$WORK/logs EMULATED=1 PARTS=again LIMIT=6
    mkdir "$WORK/bin"
    ln -s "$BIN"/* "$WORK/bin"
    rm "$WORK/bin/train-single"
    printf '#!/bin/sh\nexec sleep 600\n' >"$WORK/bin/train-single"
    chmod +x "$WORK/bin/train-single"
    BIN=$WORK/bin succeeds "$ROOT/tests/gpu/session"
    [[ $output == *$'\n'"again      cut "*"ran out of time after 0 of 3 trainings; three times: 0 same, 0 other bits, 0 failed"* ]] || fail "$output"
    # The first training fails at once, and the second does not end.
    printf '#!/bin/sh\n[ -e "%s/ran" ] && exec sleep 600\ntouch "%s/ran"\nexit 1\n' "$WORK" "$WORK" >"$WORK/bin/train-single"
    run env BIN="$WORK/bin" "$ROOT/tests/gpu/session"
    [ "$status" -eq 1 ] || fail "$output"
    [[ $output == *$'\n'"again      failed "*"ran out of time after 1 of 3 trainings; three times: 0 same, 0 other bits, 1 failed"* ]] || fail "$output"
    grep -q '^again .*ran out of time after 1 of 3' "$LOGS/results.txt"
}

@test "make check-gpu: whole trainings are compared with the documents' hashes" {
    MNIST_FROM=$mnist need_mnist
    need_tool fetch-mnist
    cd "$WORK"
    "$BIN/fetch-mnist" -q --from "$mnist" --out mnist
    mkdir data bin
    # In parts, as tests/gpu/pack leaves them.
    mv mnist/train.st.zst mnist.st.zst
    tar -c mnist.st.zst | split -d -b 5000000 - data/data.part-
    [ -e data/data.part-01 ]
    unset QUICK
    ln -s "$BIN"/* bin
    rm bin/train-single
    # The CPU stands in for the GPU; with more threads than one, these would wait for one another.
    # shellcheck disable=SC2016 # the script's
    printf '#!/bin/sh\nexec "%s" "$@" --threads 1 $CHANGED\n' "$BIN/train-single" >bin/train-single
    chmod +x bin/train-single
    BIN=$WORK/bin DEVICE=cpu DATA=data succeeds "$ROOT/tests/gpu/trainings" mlp-single
    [[ $output == *"mlp-single,train-single,-,fe1cfbb41ea3,fe1cfbb41ea3,"*",same" ]] || fail "$output"
    run env CHANGED='--set epochs=0.1' BIN="$WORK/bin" DEVICE=cpu DATA=data "$ROOT/tests/gpu/trainings" mlp-single
    [ "$status" -eq 1 ] && [[ $output == *",fe1cfbb41ea3,"*",differs" ]] || fail "$output"
    rm data/data.part-00
    DEVICE=cpu DATA=data TOOL=trainings fails_with 1 "no data" "$ROOT/tests/gpu/trainings" mlp-single
}

@test "make check-gpu on a machine without the checkout: the archive of tests/gpu/pack" {
    need_profile
    local library program
    for program in "$BIN"/../obj/release/tests/{bench/usage,ops/test_cuda_engine}; do [ -x "$program" ] || skip "$program is not built"; done
    unset QUICK
    # xz takes seconds; tar finds out by itself what has compressed an archive.
    mkdir "$WORK/bin"
    printf '#!/bin/sh\nexec zstd -qc\n' >"$WORK/bin/xz"
    chmod +x "$WORK/bin/xz"
    EMULATED=1 PATH=$WORK/bin:$PATH succeeds "$ROOT/tests/gpu/pack" "$WORK/pack.tar.xz"
    tar -xf "$WORK/pack.tar.xz" -C "$WORK"
    cd "$WORK/lockstep-gpu"
    # What the programs need is there, but for the C library.
    readelf -d build/bin/* build/lib/* build/obj/release/tests/*/* | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | sort -u |
        grep -Ev '^(ld-linux|lib(c|m|dl|rt|pthread)\.so)' | while read -r library; do [ -e "build/shared/$library" ] || fail "$library"; done
    succeeds env -i PATH=/usr/bin:/bin HOME="$WORK" TMPDIR="$WORK" QUICK=1 EMULATED=1 PARTS="machine build hashes bench trainings" \
        PYTHON=none tests/gpu/session
    for line in 'build      passed' 'hashes     passed' 'bench      passed' 'trainings  passed'; do
        [[ $output == *$'\n'"$line"* ]] || fail "$line: $output"
    done
    [[ $output == *"x86_64, train-single: 7e2471ad75ef011e; GPU: 7e2471ad75ef011e"* ]] || [ "$(uname -m)" != x86_64 ] || fail "$output"
    for file in summary.txt machine.txt trainings.csv cuda-work.csv cuda-kernels.csv; do
        grep -q "^==> $file <==" artifacts/gpu/results.txt || fail "$file: $(cat artifacts/gpu/results.txt)"
    done
}

@test "the cost of exact sums: each kernel of a step is at least as long as its longest part" {
    mkdir "$WORK/bin"
    ln -s "$BIN/synth-cifar" "$WORK/bin/synth-cifar"
    # A training that lists its kernels: one before the first step, two in a step of exact sums, one
    # in a fast step.
    cat >"$WORK/bin/train-single" <<'END'
#!/usr/bin/env bash
until [ "$1" = --math ]; do shift; done
echo "1 32 999 999 999 0 0 0 0 first" >"$LOCKSTEP_EMULATED_KERNELS"
for ((step = 0; step < $4; step++)); do
    echo "132 128 16896000 128000 2000 0 0 0 0 (products<4>)"
    [ "$2" = fast ] || echo "2 128 640020 640000 10 0 0 0 0 (groups)"
done >>"$LOCKSTEP_EMULATED_KERNELS"
exit 5
END
    chmod +x "$WORK/bin/train-single"
    BIN=$WORK/bin COUNTING=none BATCH=4 succeeds "$ROOT/tests/bench/exact-cost"
    # A thread of 2,000 multiply-adds takes 2,000 cycles, and a block of 640,000 takes 5,000.
    [[ $output == *$'\n'"| lenet-bn | exact | 2 | 17.5 | 0.6 | 4.0 | \`groups\` 2.8 |"$'\n'* ]] || fail "$output"
    [[ $output == *$'\n'"| lenet-bn | fast | 1 | 16.9 | 0.6 | 1.1 | \`products\` 1.1 |"* ]] || fail "$output"
}

@test "a model of time finds the constants that made its measurements, and predicts other steps by them" {
    mkdir "$WORK/steps"
    # Operations of one or two kernels: chains, exchanges, joins, or much of everything.
    python3 - "$WORK" <<'END'
import math, random, sys

draw, work = random.Random(3), sys.argv[1]
kernel_rows, step_rows = [], []
for name in ("a-8", "b-8", "c-8", "d-16"):
    step, kernels, rows = 0, ["1 1 1 1 1 1 1 1 1 of a step before"], ["device,emulated", "operation,step input,1,1,0,9,0"]
    for i in range(20):
        size, us = draw.choice((2e3, 3e7)), 0
        for launches in range(1, draw.choice((2, 3))):
            blocks, longest, exchanges = draw.choice((8, 300)), draw.choice((5, 3000)), draw.choice((0, 40))
            everything, joins = blocks * 256 * longest, draw.choice((0, 1))
            kernels.append(f"{blocks} 256 {everything} 1 {longest} {longest} {everything} {exchanges} {joins} sums<2, 3>")
            chain = 3 * 2 * longest + 150 * exchanges + 6000 * joins
            us += 1.2 + max(chain, math.ceil(blocks / 132) / blocks * 0.02 * 2 * everything) / 1755
        us += size / 5e6
        step += us
        rows.append(f"operation,op {i},{launches},1,{size},0,0")
        if name != "d-16":
            kernel_rows.append(f"{name.replace('-', ',')},op {i},9,{launches},9,{us},{size},0,0")
    step_rows += [f"{name.replace('-', ',')},before,9,1", f"{name.replace('-', ',')},now,9,{step}"]
    open(f"{work}/steps/{name}", "w").write("\n".join(kernels) + "\n")
    open(f"{work}/steps/{name}.csv", "w").write("\n".join(rows + ["operation,whole step as one graph,9,1,0,0,0"]) + "\n")
open(f"{work}/measured", "w").write("\n".join(["==> exact-steps.csv <==", "model,batch,kernels,launches,us", *step_rows,
    "==> exact-kernels.csv <==", "model,batch,operation,launches_before,launches,us_before,us,bytes,host_bytes,flop", *kernel_rows]))
END
    succeeds python3 "$ROOT/tests/bench/exact_model.py" "$WORK/measured" "$WORK/steps"
    [ "$(grep -cE '^\| [abc]-8 \|.* (0\.9[89]|1\.0[012]) \| 1\.0 \| 1\.[01] \|$' <<<"$output")" -eq 3 ] || fail "$output"
    [ "$(grep -cE '^\| ([abc]-8|d-16) \|.* (0\.9[89]|1\.0[012]) \|$' <<<"$output")" -eq 4 ] || fail "$output"
    sed -i 's/,op 7,/,op x,/' "$WORK/measured"
    run python3 "$ROOT/tests/bench/exact_model.py" "$WORK/measured" "$WORK/steps"
    [[ $status -eq 1 && $output == *"a-8: not measured: op 7"* ]] || fail "$output"
}

@test "the chain of a step: some launches have others beside them, and exact sums take more" {
    EMULATED=$LOCKSTEP_CUDA_LIBRARY BATCH=4 succeeds "$ROOT/tests/bench/step-chain"
    [[ $output =~ '| lenet-bn | exact | '([0-9]+)' | '([0-9]+)' |'.*'| lenet-bn | fast | '([0-9]+)' | '([0-9]+)' |' ]] ||
        fail "$output"
    local exact=("${BASH_REMATCH[@]:1:2}") fast=("${BASH_REMATCH[@]:3:2}")
    ((1 < fast[1] && fast[1] < fast[0] && fast[0] < exact[0])) || fail "$output"
    ((fast[1] < exact[1] && exact[1] < exact[0])) || fail "$output"
}
