# SPDX-License-Identifier: MIT
# --trace: the activities of every thread of every rank, with times. The tests do not judge
# durations, but the order of spans, and that the spans are the same times that steps.st.zst adds
# up.

load helpers
load training

setup_file() {
    file_data 200 50
}

setup() {
    begin_training "$LENET_BN" virtual_shards=6 # three steps per epoch, two epochs
    export PYTHONPATH=$ROOT/tests/python
}

# tracks FILE: their names, one per line.
tracks() {
    "$PYTHON" "$ROOT/tests/python/trace_reader.py" "$1"
}

# same_with_and_without TOOL OPTION...: trains into out, with trace.json, and into plain.
same_with_and_without() {
    local tool=$1
    shift
    "$BIN/$tool" -q --experiment e.yaml --train "$train" --out out --trace trace.json "$@"
    "$BIN/$tool" -q --experiment e.yaml --train "$train" --out plain "$@"
    same_model "$(content plain/model.st.zst)" out "$tool with --trace"
}

# series OUT: the times of every step, as files NAME.csv.
series() {
    local name
    for name in wall load copy forward backward comm wait update; do
        "$BIN/tensor" export --format csv "$1/steps.st.zst" "$name" >"$name.csv"
    done
}

@test "train-single: a track per thread and loader worker, and every step in its epoch" {
    same_with_and_without train-single --test "$test" --threads 2 --loader-workers 2
    [ "$(tracks trace.json)" = $'rank 0/thread 0\nrank 0/thread 1\nrank 0/loader 0\nrank 0/loader 1' ]
    "$PYTHON" - <<'END'
from trace_reader import Trace
t = Trace("trace.json")
assert t.tool == "train-single" and t.left_out == 0
steps = t.steps()
assert sorted(steps) == list(range(6))
main = t.tracks["rank 0/thread 0"]
names = [s.name for s in main]
assert [n for n in names if n.startswith("epoch")] == ["epoch 1", "epoch 2"]
assert names.count("evaluate") == names.count("save") == 2
for track in "rank 0/thread 0", "rank 0/thread 1":
    for step in steps.values():
        for phase in "forward", "backward", "update":
            assert t.spent(track, step, phase) > 0, (track, step, phase)
# Every batch was ready before the step that waited for it continued.
batches = {s.name: s for i in range(2) for s in t.tracks["rank 0/loader %d" % i]}
assert sorted(batches) == ["batch %d" % i for i in range(6)]
for n, step in steps.items():
    load = t.inside("rank 0/thread 0", step, "load", "phase")[0]
    assert batches["batch %d" % n].end <= load.end
END
}

@test "the spans add up to the times in steps.st.zst" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out one --trace one.json --threads 1
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out three --trace three.json --world-size 3 --threads 1
    local out ranks=1
    for out in one three; do
        series "$out"
        "$PYTHON" - "$out.json" "$ranks" <<'END'
import sys
from trace_reader import PHASES, Trace
t, ranks = Trace(sys.argv[1]), int(sys.argv[2])
series = {name: [int(v) for v in open(name + ".csv").read().split()] for name in PHASES + ("wall",)}
for n in range(6):
    steps = [t.steps("rank %d" % r)[n] for r in range(ranks)]
    for phase in PHASES:
        spent = sum(t.spent("rank %d/thread 0" % r, s, phase) for r, s in enumerate(steps))
        assert spent // ranks == series[phase][n], (n, phase, spent, series[phase][n])
    assert sum(s.end - s.begin for s in steps) // ranks == series["wall"][n]
END
        ranks=3
    done
}

@test "train-ddp: a process per rank, on one clock" {
    same_with_and_without train-ddp --world-size 3 --threads 1 --loader-workers 1
    [ "$(tracks trace.json | sort)" = "$(for r in 0 1 2; do printf 'rank %d/%s\n' $r 'loader 0' $r 'thread 0'; done)" ]
    "$PYTHON" - <<'END'
from trace_reader import Trace
t = Trace("trace.json")
for n in range(6):
    steps = {r: t.steps("rank %d" % r)[n] for r in range(3)}
    backward = [t.inside("rank %d/thread 0" % r, s, "backward")[-1].end for r, s in steps.items()]
    comm = [t.inside("rank %d/thread 0" % r, s, "comm")[0].begin for r, s in steps.items()]
    assert min(comm) >= max(backward), n # no rank reduces before all ranks have their gradients
END
}

@test "train-dp: a track per replica, phase by phase" {
    same_with_and_without train-dp --world-size 2 --threads 1
    [ "$(tracks trace.json)" = $'rank 0/replica 0\nrank 0/replica 1' ]
    "$PYTHON" - <<'END'
from trace_reader import Trace
t = Trace("trace.json")
master, other = "rank 0/replica 0", "rank 0/replica 1"
order = ["broadcast", "scatter", "forward", "gather", "loss", "scatter_gradient", "backward", "reduce", "update"]
assert sorted(t.steps()) == list(range(6))
for step in t.steps().values():
    done = t.inside(master, step, kind="operation")
    assert [s.name for s in done] == ["broadcast"] + order, done
    mine = t.inside(other, step, kind="operation")
    assert [s.name for s in mine] == ["broadcast", "scatter", "forward", "gather", "backward"], mine
    for span in mine: # after the master's previous operation, before its next one
        twin = [s for s in done if s.name == span.name][-1]
        before = done[done.index(twin) - 1]
        assert before.end <= span.begin and span.end <= done[done.index(twin) + 1].begin, (before, span)
END
    "$BIN/train-dp" -q --experiment e.yaml --train "$train" --out out --trace trace.json --world-size 2 --threads 2
    [ "$(tracks trace.json | tail -n 3)" = $'rank 0/replica 0 thread 1\nrank 0/replica 1\nrank 0/replica 1 thread 1' ]
}

@test "train-mp: a track per stage, with micro-batches flowing through" {
    same_with_and_without train-mp --test "$test" --world-size 2 --threads 1
    [ "$(tracks trace.json)" = $'rank 0/stage 0\nrank 0/stage 1' ]
    "$PYTHON" - <<'END'
from trace_reader import Trace
t = Trace("trace.json")
stages = ["rank 0/stage 0", "rank 0/stage 1"]
flow = ["%s %d" % (way, m) for way in ("forward", "backward") for m in range(6)] + ["reduce", "update"]
assert sorted(t.steps()) == list(range(6))
for step in t.steps().values():
    spans = []
    for stage in stages:
        mine = t.inside(stage, step, kind="operation")
        assert [s.name for s in mine] == flow, mine
        spans.append({s.name: s for s in mine})
    for m in range(6):
        assert spans[0]["forward %d" % m].end <= spans[1]["forward %d" % m].begin
        assert spans[1]["backward %d" % m].end <= spans[0]["backward %d" % m].begin
    # The fill: until the first micro-batch comes, the second stage waits.
    first = spans[0]["forward 0"]
    assert any(w.begin <= first.begin and w.end >= first.end for w in t.inside(stages[1], step, "wait"))
END
}

@test "a resumed run traces only its own steps" {
    local run=("$BIN/train-single" -q --experiment e.yaml --train "$train" --out out)
    "${run[@]}" --stop-after-steps 4 --trace first.json
    "${run[@]}" --resume --trace rest.json
    "$PYTHON" - <<'END'
from trace_reader import Trace
first, rest = Trace("first.json"), Trace("rest.json")
assert sorted(first.steps()) == [0, 1, 2, 3] and sorted(rest.steps()) == [4, 5]
assert [s.name for s in rest.tracks["rank 0/thread 0"] if s.name.startswith("epoch")] == ["epoch 2"]
END
}

@test "a run that fails leaves no trace; a trace file that cannot be written stops the run at the start" {
    mkdir traces
    fails_with 1 'cannot continue' "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --world-size 2 \
        --trace traces/t.json --set optimizer.lr=1e6
    nothing_in traces
    fails_with 1 "cannot write: 'nowhere/t.json'" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out other \
        --world-size 2 --trace nowhere/t.json
    nothing_in other
}

@test "joined ranks send their spans to rank 0, and --trace is refused for other ranks" {
    local port other code=0
    port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
    RANK=1 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --threads 1 &
    other=$!
    RANK=0 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --threads 1 --trace trace.json
    wait "$other"
    [ "$(tracks trace.json | sort)" = $'rank 0/thread 0\nrank 1/thread 0' ]
    RANK=1 "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --trace other.json 2>other.err &
    other=$!
    TOOL=train-ddp RANK=0 fails_with 2 "'rank 1' was started with --trace" "$BIN/train-ddp" -q --experiment e.yaml \
        --train "$train" --out out
    wait "$other" || code=$?
    [ "$code" -eq 2 ]
    [ ! -e other.json ]
}
