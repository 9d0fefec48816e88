#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make wheel: the tools and the reader, installed and run with only the wheel.
# shellcheck disable=SC2154 # output and data are set by helpers.bash and training.bash
load helpers
load training
load packages

setup_file() {
    need_training
    file_package wheel AUDITWHEEL=
    "$PYTHON" -m venv "$BATS_FILE_TMPDIR/venv" >/dev/null 2>&1 || return 0
    "$BATS_FILE_TMPDIR/venv/bin/pip" -q --disable-pip-version-check install --no-index --no-deps \
        "$BATS_FILE_TMPDIR"/out/*.whl
}

setup() {
    need_training
    need_tool report
    venv=$BATS_FILE_TMPDIR/venv
    made=$BATS_FILE_TMPDIR/made
    # The installed commands, and those of every system.
    PATH=$venv/bin:/usr/bin:/bin
    cd "$WORK" || return
}

need_venv() {
    [ -x "$venv/bin/pip" ] || skip "$PYTHON -m venv fails (make deps-packaging)"
    in_venv=$venv/bin/python
}

# NumPy from the system, otherwise from PyPI.
need_numpy() {
    need_venv
    "$in_venv" -c 'import numpy' 2>/dev/null && return
    local system
    system=$("$PYTHON" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' 2>/dev/null) || system=
    if [ -n "$system" ]; then
        export PYTHONPATH=$system
    else
        pip -q --disable-pip-version-check install --retries 0 --timeout 5 numpy 2>/dev/null || skip "no NumPy, and pip cannot install it"
    fi
}

@test "wheel: the commands train, evaluate and report" {
    need_venv
    local command
    for command in fetch-cifar shard train-single train-dp train-ddp evaluate report; do
        [ "$(type -P "$command")" = "$venv/bin/$command" ] || fail "$command is not installed"
        succeeds "$command" --version
        [[ $output == *"$(cat "$ROOT/VERSION")"* ]] || fail "$output"
    done
    if [ -x "$BIN/lockstep" ]; then [ -x "$venv/bin/lockstep" ]; fi
    mkdir "$made"
    cd "$made" || return
    succeeds "$in_venv" -c 'import lockstep
lockstep.run("synth-cifar", "-q", "--train", "144", "--test", "32", "--out", "data")'
    local models
    models=$(find "$venv" -path '*/experiments/models')
    write_experiment e.yaml model="$models/lenet.yaml"
    succeeds shard -q --shards 4 --in data/train.st.zst --out shards
    succeeds train-single -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --out one/train
    succeeds train-ddp -q --experiment e.yaml --set world_size=4 --train shards --test data/test.st.zst --out four/train
    cmp one/train/model.st.zst four/train/model.st.zst
    succeeds evaluate -q --model one/train/model.st.zst --data data/test.st.zst --out one/evaluate
    succeeds report -q --out report one
    fails_with 3 "'absent'" evaluate --model absent --data data/test.st.zst --out x
    TOOL=from_torch fails_with 1 'PyTorch is not installed' "$in_venv" -m lockstep.from_torch net.py:Net --input 3,32,32
}

@test "wheel: lockstep.read gives arrays, tables and dicts" {
    need_numpy
    [ -e "$made/report/report.csv" ] || skip "the fixture is missing: the tools of the wheel failed"
    cd "$made" || return
    "$BIN/tensor" export --format npy --out conv1.npy one/train/model.st.zst conv1.weight
    cat >read.py <<'END'
import lockstep, numpy

run = lockstep.read("one")
assert list(run) == ["evaluate", "train"], list(run)
assert sorted(run["train"]) == ["manifest", "model", "state", "steps"], list(run["train"])
model = run["train/model"]
assert model["conv1.weight"].dtype == numpy.float32 and numpy.array_equal(model["conv1.weight"], numpy.load("conv1.npy"))
assert '"lenet"' in model.metadata["model"]
model["conv1.weight"][0] = 0

images = lockstep.read("data/train.st.zst")
assert images["images"].shape == (144, 3, 32, 32) and images["images"].dtype == numpy.uint8

manifest = run["evaluate"]["manifest"]
predictions = run["evaluate/predictions"]
right = (predictions["logits"].argmax(axis=1) == predictions["labels"]).mean()
assert right == manifest["results"]["accuracy"], (right, manifest["results"])

steps = run["train/steps"]
assert list(steps["step"]) == [1, 2, 3, 4] and list(steps["epoch"]) == [1, 1, 2, 2]
assert numpy.isfinite(steps["loss"]).all() and len(steps["digest"][0]) == 16
assert steps["epoch_loss"][3] == run["train/manifest"]["results"]["epochs"][1]["loss"]
assert numpy.isnan(steps["epoch_loss"][0])

figures = lockstep.read("report")["report"]
accuracy = figures["value"][list(figures["metric"]).index("accuracy")]
assert abs(accuracy - right) < 1e-6, (accuracy, right)

for path, kind in ("absent.yaml", FileNotFoundError), ("read.py", ValueError), ("broken.st.zst", lockstep.ToolError):
    open("broken.st.zst", "wb").write(b"nothing")
    try:
        lockstep.read(path)
    except kind as error:
        assert path in str(error) and getattr(error, "code", 3) == 3, error
    else:
        raise AssertionError(path)
try:
    run["absent"]
except KeyError:
    print(type(steps).__name__)
END
    succeeds "$in_venv" read.py
    [[ $output == dict || $output == DataFrame ]] || fail "$output"
    # With a stand-in for pandas, tables are its DataFrames.
    mkdir -p stand-in
    echo 'class DataFrame(dict): pass' >stand-in/pandas.py
    PYTHONPATH=$PWD/stand-in${PYTHONPATH:+:$PYTHONPATH} succeeds "$in_venv" read.py
    [ "$output" = DataFrame ]
}

@test "wheel: the reader works in a checkout, too" {
    need_venv
    [ -e "$made/one/evaluate" ] || skip "the fixture is missing: the tools of the wheel failed"
    cd "$made" || return
    PATH=$BIN:$PATH PYTHONPATH=$ROOT/python succeeds "$PYTHON" -B -c 'import lockstep
print(lockstep.__file__, lockstep.read("one/train/manifest.yaml")["tool"])'
    [ "$output" = "$ROOT/python/lockstep/__init__.py train-single" ] || fail "$output"
}

@test "wheel: equal installations give equal bytes" {
    same_package wheel AUDITWHEEL=
}

@test "wheel: auditwheel bundles the libraries" {
    need_venv
    local audit=$BIN/../packaging/bin/auditwheel listed wheel
    [ -x "$audit" ] || audit=$(type -P auditwheel) || skip "auditwheel is not installed (make deps-packaging)"
    make_package wheel "$WORK/build" AUDITWHEEL="$audit"
    [[ $output == *-manylinux_*.whl ]] || fail "$output" "$stderr"
    wheel=$ROOT/$output
    listed=$("$PYTHON" -m zipfile -l "$wheel")
    [[ $listed == *lockstep.libs/libyaml* && $listed != *libmpi* ]] || fail "$listed"
    pip -q --disable-pip-version-check install --no-index --no-deps --force-reinstall "$wheel"
    succeeds train-ddp --version
}
