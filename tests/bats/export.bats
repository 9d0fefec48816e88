#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# tensor export --format tensorboard, onnx and torch, and --tensorboard of the train tools: the
# contents of the files, and the programs that read them agree.
# shellcheck disable=SC2154 # output and stderr are set by helpers.bash
load helpers
load training

setup_file() {
    [ -x "$BIN/synth-cifar" ] && [ -x "$BIN/train-single" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return
    make_data data 144 90
    write_experiment e.yaml "$LENET_BN" 'optimizer={kind: sgd, lr: 0.1}' \
        'schedule={kind: multistep, milestones: [1], gamma: 0.1}' 'normalize={mean: [0.4, 0.5, 0.6], std: [0.2, 0.25, 0.3]}'
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --out run/train
    write_experiment moves.yaml model="$ROOT/tests/fixtures/moves.yaml" epochs=1
    "$BIN/train-single" -q --experiment moves.yaml --train data/train.st.zst --out moves
    "$BIN/evaluate" -q --model moves/model.st.zst --data data/test.st.zst --out moves/evaluate
    odd_model
    write_experiment odd.yaml model="$PWD/odd-model.yaml" epochs=1
    "$BIN/train-single" -q --experiment odd.yaml --train data/train.st.zst --out odd
    "$BIN/evaluate" -q --model run/train/model.st.zst --data data/test.st.zst --out run/evaluate
    write_experiment branches.yaml model="$ROOT/tests/fixtures/residual.yaml" epochs=1
    "$BIN/train-single" -q --experiment branches.yaml --train data/train.st.zst --out branches
    write_experiment channels.yaml model="$ROOT/tests/fixtures/channels.yaml" epochs=1
    "$BIN/train-single" -q --experiment channels.yaml --train data/train.st.zst --out channels
    write_experiment kinds.yaml model="$ROOT/tests/fixtures/kinds.yaml" epochs=1
    "$BIN/train-single" -q --experiment kinds.yaml --train data/train.st.zst --out kinds
    "$BIN/evaluate" -q --model kinds/model.st.zst --data data/test.st.zst --out kinds/evaluate
    "$BIN/evaluate" -q --model branches/model.st.zst --data data/test.st.zst --out branches/evaluate
    "$BIN/evaluate" -q --model channels/model.st.zst --data data/test.st.zst --out channels/evaluate
    "$BIN/evaluate" -q --model odd/model.st.zst --data data/test.st.zst --out odd/evaluate
}

setup() {
    need_training
    cp -r "$BATS_FILE_TMPDIR" "$WORK/made"
    cd "$WORK/made" || return
    READER=$ROOT/tests/python/protobuf_reader.py
    PEER=$ROOT/tests/python/export_peer.py
}

# Every kind of layer: strides, padding, windows that are not square, no bias, names with dots, batch norm after flatten.
odd_model() {
    cat >odd-model.yaml <<'END'
schema: lockstep.model/1
name: "odd \"one\""
input: [3, 32, 32]
layers:
  - conv: {out: 7, kernel: [3, 5], stride: [1, 2], padding: [1, 2], bias: false, name: features.0}
  - batch_norm: {eps: 0.001, momentum: 0.2, name: features.1}
  - relu
  - dropout: {p: 0.25}
  - avg_pool: {size: 3, stride: 2, padding: 1}
  - conv: {out: 9, kernel: 3, stride: 2, name: features.block.conv}
  - max_pool: {size: [3, 2], stride: 1, padding: [1, 0]}
  - relu
  - flatten
  - batch_norm
  - linear: {out: 31, bias: false}
  - dropout
  - dropout
  - relu
  - linear: {out: 10, name: logits}
END
}

# need_package NAME: sets $PEER_PYTHON to a Python that has it; skips without one.
need_package() {
    for PEER_PYTHON in "$ROOT/.venv/bin/python3" "$PYTHON"; do
        ! "$PEER_PYTHON" -c "import $1" 2>/dev/null || return 0
    done
    skip "$1 is not installed for Python (make deps-torch)"
}

# onnx_says EXPRESSION FILE: the expression is true; `m` is the file as a Python object.
onnx_says() {
    "$PYTHON" -c 'import json, subprocess, sys
m = json.loads(subprocess.run([sys.executable, sys.argv[1], "onnx", sys.argv[3]], check=True, stdout=subprocess.PIPE).stdout)
sys.exit(not eval(sys.argv[2]))' "$READER" "$1" "$2" || fail "not true: $1"
}

# ---- TensorBoard ----

@test "tensorboard: every record has correct checksums, and the values equal those of the series" {
    succeeds "$BIN/tensor" export --format tensorboard --out board run
    [ -z "$output$stderr" ] || fail "$output$stderr"
    succeeds "$PYTHON" "$READER" events board/run/events.out.tfevents.lockstep
    [ "${lines[0]}" = brain.Event:2 ] || fail "$output"
    "$BIN/tensor" export --format json run >series.json
    "$PYTHON" - "$output" <<'END'
import json, sys
run = json.load(open("series.json"))["runs"][0]
series = {}
for line in sys.argv[1].splitlines()[1:]:
    time, step, tag, value = line.split()
    series.setdefault(tag, []).append((int(step), float(value), float(time)))
steps, epochs = run["steps"], run["epochs"]
wanted = {"step/loss": steps["loss"], "step/learning_rate": steps["lr"], "step/seconds": steps["wall_seconds"],
          "epoch/train_loss": epochs["loss"], "epoch/test_accuracy": epochs["accuracy"], "epoch/seconds": epochs["seconds"],
          "epoch/images_per_second": [144 / seconds for seconds in epochs["seconds"]]}
assert set(series) == set(wanted), series
for tag, values in wanted.items():
    assert [step for step, _, _ in series[tag]] == list(range(1, len(values) + 1)), tag
    assert all(abs(found - value) <= 1e-6 * value for (_, found, _), value in zip(series[tag], values)), (tag, values)
assert len(steps["loss"]) == 4 and len(epochs["loss"]) == 2
END
}

@test "tensorboard: the times are the run's, and the last step ends at its end" {
    "$BIN/tensor" export --format tensorboard --out board run
    succeeds "$PYTHON" "$READER" events board/run/events.out.tfevents.lockstep
    "$PYTHON" - "$output" "$("$BIN/manifest" get run/train run.end)" <<'END'
import datetime, sys
rows = [line.split() for line in sys.argv[1].splitlines()[1:]]
end = datetime.datetime.strptime(sys.argv[2], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()
times = [float(r[0]) for r in rows if r[2] == "step/seconds"]
seconds = [float(r[3]) for r in rows if r[2] == "step/seconds"]
assert abs(times[-1] - end) < 1e-5, (times, end)
assert all(abs(b - a - s) < 1e-5 for a, b, s in zip(times, times[1:], seconds[1:])), (times, seconds)
END
    # Without a manifest there are no times and no epochs.
    cp run/train/steps.st.zst alone.st.zst
    "$BIN/tensor" export --format tensorboard --out board alone.st.zst
    succeeds "$PYTHON" "$READER" events board/events.out.tfevents.lockstep
    [ "${#lines[@]}" -eq 9 ] || fail "$output" # the version, and loss and seconds of 4 steps
    [[ $output != *epoch/* && $output != *learning_rate* && ${lines[1]} == 0.* ]] || fail "$output"
}

# train OPTION...: trains e.yaml, with an event file that grows in live/.
train() {
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --tensorboard live "$@"
}

# values_of FILE: step, tag and value of every record, without times.
values_of() {
    "$PYTHON" "$READER" events "$1" | awk 'NR > 1 { print $2, $3, $3 ~ /second/ ? "-" : $4 }' | sort
}

@test "--tensorboard: the finished file holds what an export of the run holds" {
    train --out run2
    "$BIN/tensor" export --format tensorboard --out board run2
    succeeds cmp <(values_of live/events.out.tfevents.lockstep) <(values_of board/run2/events.out.tfevents.lockstep)
}

@test "--tensorboard: the file can be read while the training goes on, and after a signal" {
    "$BIN/train-single" -q --experiment e.yaml --set epochs=2500 --train data/train.st.zst --test data/test.st.zst \
        --out run2 --tensorboard live &
    for ((i = 0; i < 300; i++)); do
        [ "$(values_of live/events.out.tfevents.lockstep 2>/dev/null | grep -c epoch/)" -lt 8 ] || break
        sleep 0.1
    done
    [ ! -e run2/manifest.yaml ]
    kill -TERM $!
    status=0
    wait $! || status=$?
    [ "$status" -eq 5 ]
    values_of live/events.out.tfevents.lockstep >after
    [ "$(grep -c step/loss after)" -ge 4 ] || fail "$(cat after)"
}

@test "--tensorboard: a resumed run has one file, without the steps that were lost" {
    train --out whole
    values_of live/events.out.tfevents.lockstep >wanted
    train --out run2 --stop-after-steps 3 # the file of the whole run has a fourth step
    [ "$(values_of live/events.out.tfevents.lockstep | grep -c step/loss)" -eq 3 ]
    cp -r run2 run3
    train --out run2 --resume
    succeeds cmp wanted <(values_of live/events.out.tfevents.lockstep)
    rm -r live # the earlier segment may have had none
    train --out run3 --resume
    succeeds cmp wanted <(values_of live/events.out.tfevents.lockstep)
}

@test "--tensorboard: an unusable folder ends the run before its first step, and inputs are not replaced" {
    touch file
    fails_with 1 "'file" "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out run2 --tensorboard file
    mkdir -p in && cp data/train.st.zst in/events.out.tfevents.lockstep
    fails_with 2 "--tensorboard: 'in/events" "$BIN/train-single" -q --experiment e.yaml --train in/events.out.tfevents.lockstep \
        --out run3 --tensorboard in
    [ ! -e run3 ] || fail "$(ls run3)"
}

@test "tensorboard: a folder per run, with its name; a second export has the same bytes" {
    cp -r run other
    (cd other && "$BIN/tensor" export --format tensorboard --out board . ../run "$PWD/train/steps.st.zst")
    local file=events.out.tfevents.lockstep
    cmp other/board/$file "other/board/$PWD/other/train/$file"
    [ -f other/board/run/$file ] || fail "$(find other/board)"
    [ "$(find other/board -type f | wc -l)" -eq 3 ]
    "$BIN/tensor" export --format tensorboard --out board run other
    cmp board/run/$file board/other/$file
    sha256sum board/run/$file >sum
    "$BIN/tensor" export --format tensorboard --out board run other
    sha256sum --status -c sum || fail "the file changed"
    [ "$(find board -type f | wc -l)" -eq 2 ]
}

@test "tensorboard: bad inputs and outputs are refused before anything is written" {
    fails_with 2 "'run/' and './run': both would be written to 'board/run/" \
        "$BIN/tensor" export --format tensorboard --out board run/ ./run
    fails_with 2 "'--out'.*folder" "$BIN/tensor" export --format tensorboard run
    fails_with 2 "'--out'.*folder" "$BIN/tensor" export --format tensorboard --out - run
    fails_with 3 "'data': no steps.st.zst in it" "$BIN/tensor" export --format tensorboard --out board run data
    fails_with 3 "'missing'" "$BIN/tensor" export --format tensorboard --out board missing
    fails_with 3 "no tensor 'loss'|'loss'" "$BIN/tensor" export --format tensorboard --out board data/train.st.zst
    [ ! -e board ]
    : >board
    fails_with 1 "'board'" "$BIN/tensor" export --format tensorboard --out board run
}

@test "TensorBoard reads the exported file" {
    need_package tensorboard
    cp -r run other
    "$BIN/tensor" export --format tensorboard --out board run other
    "$BIN/tensor" export --format json run other >series.json
    local name
    for name in run other; do
        succeeds "$PEER_PYTHON" "$PEER" events board series.json "$name"
    done
}

# ---- ONNX ----

@test "onnx: the graph, its weights and its metadata" {
    succeeds "$BIN/tensor" export --format onnx --out m.onnx run
    [ -z "$output$stderr" ] || fail "$output$stderr"
    onnx_says "m['ir_version'] == 7 and m['opset'] == 13 and m['producer'] == 'lockstep' and m['name'] == 'lenet-bn'" m.onnx
    onnx_says "m['inputs'] == [{'name': 'pixels', 'type': 2, 'shape': ['batch', 3, 32, 32]}]" m.onnx
    onnx_says "m['outputs'] == [{'name': 'logits', 'type': 1, 'shape': ['batch', 10]}]" m.onnx
    onnx_says "[n['type'] for n in m['nodes']][:6] == ['Cast', 'Mul', 'Add', 'Conv', 'BatchNormalization', 'Relu']" m.onnx
    onnx_says "[n['type'] for n in m['nodes']][-4:] == ['Gemm', 'BatchNormalization', 'Relu', 'Gemm']" m.onnx
    # The input of each node is the output of the node before it.
    onnx_says "all(a['outputs'] == b['inputs'][:1] for a, b in zip(m['nodes'], m['nodes'][1:]))" m.onnx
    onnx_says "m['nodes'][0]['inputs'] == ['pixels'] and m['nodes'][-1]['outputs'] == ['logits']" m.onnx
    onnx_says "m['metadata']['source'] == '$(content run/train/model.st.zst)'" m.onnx
    onnx_says "json.loads(m['metadata']['classes'])[0] == 'disc' and len(json.loads(m['metadata']['classes'])) == 10" m.onnx
    onnx_says "json.loads(m['metadata']['normalize'])['mean'][1] == 0.5 and 'layers' in json.loads(m['metadata']['model'])" m.onnx
    onnx_says "abs(m['tensors']['input/scale']['values'][0] * 255 * 0.2 - 1) < 1e-6 and abs(m['tensors']['input/shift']['values'][2] + 2) < 1e-6" m.onnx
    local name values
    for name in conv1.weight bn1.running_var fc3.bias; do
        values=$("$BIN/tensor" export --format csv run/train/model.st.zst $name | tr '\n' ,)
        onnx_says "[float(x) for x in '$values'.split(',') if x] == [float('%.9g' % x) for x in m['tensors']['$name']['values']]" m.onnx
    done
}

@test "onnx: every kind of layer; dropout is left out" {
    "$BIN/tensor" export --format onnx odd/model.st.zst >m.onnx
    onnx_says "[n['type'] for n in m['nodes']][3:] == ['Conv', 'BatchNormalization', 'Relu', 'AveragePool', 'Conv', 'MaxPool', 'Relu', 'Flatten', 'BatchNormalization', 'Gemm', 'Relu', 'Gemm']" m.onnx
    onnx_says "all(a['outputs'] == b['inputs'][:1] for a, b in zip(m['nodes'], m['nodes'][1:]))" m.onnx
    onnx_says "m['nodes'][3]['attributes'] == {'kernel_shape': [3, 5], 'strides': [1, 2], 'pads': [1, 2, 1, 2]} and len(m['nodes'][3]['inputs']) == 2" m.onnx
    onnx_says "m['nodes'][6]['attributes']['count_include_pad'] == 1 and m['nodes'][8]['attributes']['kernel_shape'] == [3, 2]" m.onnx
    # The same model gives the same bytes, by whatever name.
    "$BIN/tensor" export --format onnx --out again.onnx odd
    cmp m.onnx again.onnx
}

@test "onnx: onnx's checker accepts the file" {
    need_package onnx
    local run
    for run in run odd branches moves channels kinds; do
        "$BIN/tensor" export --format onnx --out m.onnx $run
        succeeds "$PEER_PYTHON" "$PEER" check m.onnx
    done
}

@test "onnx: onnxruntime gives the same logits as evaluate" {
    need_package onnxruntime
    local run
    for run in run odd branches moves channels kinds; do
        "$BIN/tensor" export --format onnx --out m.onnx $run
        succeeds "$PEER_PYTHON" "$PEER" onnx m.onnx data/test.st.zst $run/evaluate/predictions.st.zst
    done
}

# ---- PyTorch ----

@test "torch: a Python program, and the model's weights unchanged" {
    succeeds "$BIN/tensor" export --format torch --out made run
    [ -z "$output$stderr" ] || fail "$output$stderr"
    [ "$(ls -A made)" = $'model.py\nmodel.safetensors' ]
    succeeds "$BIN/tensor" diff made/model.safetensors run/train/model.st.zst
    [ "$(content made/model.safetensors)" = "$(content run/train/model.st.zst)" ]
    [ "$(content made/model.safetensors)" = "$(sha256sum <made/model.safetensors | cut -d ' ' -f 1)" ]
    succeeds "$BIN/evaluate" -q --model made/model.safetensors --data data/test.st.zst --out evaluated
    "$BIN/tensor" export --format torch --out odd-made odd
    local folder
    for folder in made odd-made; do
        "$PYTHON" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' $folder/model.py
    done
    grep -qF 'NAME = "odd \"one\""' odd-made/model.py
    grep -qF 'put(self, "features.0", nn.Conv2d(3, 7, kernel_size=(3, 5), stride=(1, 2), padding=(1, 2), bias=False))' odd-made/model.py
    grep -qF 'put(self, "bn2", nn.BatchNorm1d(' odd-made/model.py
    grep -qF 'MEAN = (0.400000006, 0.5, 0.600000024)' made/model.py
    grep -qF 'CLASSES = ["disc",' made/model.py
}

@test "torch: PyTorch gives the same logits as evaluate" {
    need_torch
    local run
    for run in run odd branches moves channels kinds; do
        "$BIN/tensor" export --format torch --out $run/torch $run
        succeeds with_torch "$PEER" torch $run/torch data/test.st.zst $run/evaluate/predictions.st.zst
    done
}

@test "onnx and torch: a file that is not a model is refused, and nothing is left behind" {
    local format
    for format in onnx torch; do
        fails_with 3 "'data': no model.st.zst in it or in its train/" "$BIN/tensor" export --format $format --out x data
        fails_with 3 "'missing'" "$BIN/tensor" export --format $format --out x missing
        fails_with 3 "it is a data set, not a model: pass a run's model.st.zst" "$BIN/tensor" export --format $format --out x data/test.st.zst
        fails_with 3 "'model'.*--architecture" "$BIN/tensor" export --format $format --out x "$ROOT/tests/golden/lenet-bn-init.safetensors"
        fails_with 3 "'normalize'.*--mean" "$BIN/tensor" export --format $format --out x "$ROOT/tests/golden/lenet-bn-init.safetensors" \
            --architecture "$ROOT/experiments/models/lenet-bn.yaml"
        fails_with 2 "'odd': expected one MODEL" "$BIN/tensor" export --format $format --out x run odd
        fails_with 2 "together" "$BIN/tensor" export --format $format --out x run --mean 0,0,0
        fails_with 3 "1 channels" "$BIN/tensor" export --format $format --out x run --mean 0 --std 1
        [ ! -e x ]
    done
    fails_with 2 "'--out'.*folder" "$BIN/tensor" export --format torch run
    fails_with 2 "'--mean'.*onnx and torch" "$BIN/tensor" export --format csv --mean 0,0,0 run
    fails_with 2 "the same file is an input \\(MODEL\\)" "$BIN/tensor" export --format onnx --out run/train/model.st.zst run
    mkdir again
    cp run/train/model.st.zst again/model.safetensors
    fails_with 2 "the same file is an input \\(MODEL\\)" "$BIN/tensor" export --format torch --out again again/model.safetensors
    TOOL=tensor fails_with 1 "standard output" sh -c "exec '$BIN/tensor' export --format onnx run >/dev/full"
}

@test "torch: layer names that PyTorch cannot represent are refused" {
    sed 's/features.block.conv/features.0.conv/' odd-model.yaml >nested.yaml
    write_experiment nested-e.yaml model="$PWD/nested.yaml" epochs=1
    "$BIN/train-single" -q --experiment nested-e.yaml --train data/train.st.zst --out nested
    fails_with 3 "'features.0.conv' inside of the layer 'features.0'" "$BIN/tensor" export --format torch --out x nested
    [ ! -e x ]
    succeeds "$BIN/tensor" export --format onnx --out m.onnx nested
}

@test "a checkpoint from elsewhere is exported with --architecture, --mean and --std" {
    local init=$ROOT/tests/golden/lenet-bn-init.safetensors model=$ROOT/experiments/models/lenet-bn.yaml
    "$BIN/tensor" export --format onnx --out m.onnx "$init" --architecture "$model" --mean 0.5,0.5,0.5 --std 0.5,0.5,0.5
    onnx_says "'classes' not in m['metadata'] and m['tensors']['conv1.weight']['shape'] == [6, 3, 5, 5]" m.onnx
    "$BIN/tensor" export --format torch --out made "$init" --architecture "$model" --mean 0.5,0.5,0.5 --std 0.5,0.5,0.5
    grep -q '^CLASSES = None' made/model.py
    [[ $("$BIN/tensor" info made/model.safetensors) != *num_batches_tracked* ]]
}
