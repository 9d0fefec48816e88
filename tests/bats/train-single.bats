# SPDX-License-Identifier: MIT
# train-single: its options, its outputs, its messages.

load helpers
load training

setup_file() {
    file_data 200 50
}

setup() {
    begin_training epochs=2
}

@test "--help and --version" {
    succeeds "$BIN/train-single" --help
    [[ $output == *--experiment* && $output == *--stop-after-steps* ]]
    succeeds "$BIN/train-single" --version
    [[ $output == train-single* ]]
}

@test "writes model, steps, state and, last, the manifest" {
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --test "$test" --out out
    [ -z "$output" ]
    [ "$(grep -c '^train-single: epoch' <<<"$stderr")" -eq 2 ]
    succeeds "$BIN/manifest" verify out/manifest.yaml
    [ "$("$BIN/manifest" get out/manifest.yaml tool)" = train-single ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.steps)" = 6 ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.samples)" = 200 ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.model)" = "$(content out/model.st.zst)" ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.strategy)" = single ]
    [ "$("$BIN/manifest" get out/manifest.yaml parameters.architecture.name)" = lenet ]
    "$BIN/manifest" get out/manifest.yaml results.test_accuracy
    "$BIN/manifest" get out/manifest.yaml results.epochs.1.phases.backward
}

@test "the manifest records other load on the machine during training" {
    need_tool report
    local spinners=() i key
    write_experiment long.yaml epochs=20
    # Twice as many busy loops as cores: other processes use the machine, and threads wait for it.
    for ((i = 0; i < 2 * $(nproc); i++)); do
        (exec 3>&-; while :; do :; done) &
        spinners+=($!)
    done
    run "$BIN/train-single" -q --experiment long.yaml --train "$train" --out out
    kill "${spinners[@]}"
    wait "${spinners[@]}" 2>/dev/null || true
    [ "$status" -eq 0 ] || fail "$output"
    for key in wall_seconds cpu_seconds stolen_seconds load_before load_after; do
        [[ $("$BIN/manifest" get out/manifest.yaml "run.execution.machine.$key") =~ ^[0-9.e+-]+$ ]] || fail "$key"
    done
    [ -r /proc/self/schedstat ] || skip "this kernel does not report the waiting time of threads"
    succeeds "$BIN/report" out --out page
    grep -q "Other programs used up to [0-9.]* of [0-9]* cores in 1 of 1 executions, and threads that were ready to run had no core for" page/report.md ||
        fail "$("$BIN/manifest" get out/manifest.yaml run.execution.machine)"
}

# Which numbers it used depends on the machine; what they add up to does not.
@test "the manifest has the numbers of threads that followed the machine, unless --threads fixed it" {
    local sum='import json, sys; used, = json.load(sys.stdin).values(); print(sum(u["steps"] for u in used), all(u["seconds"] > 0 for u in used))'
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out fixed --threads 2
    fails_with 3 "threads_used" "$BIN/manifest" get fixed/manifest.yaml run.execution.threads_used
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out
    [ "$(content out/model.st.zst)" = "$(content fixed/model.st.zst)" ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.threads)" -gt 1 ] || skip "it may use a single processor"
    [ "$("$BIN/manifest" get --json out/manifest.yaml run.execution.threads_used | "$PYTHON" -c "$sum")" = "6 True" ] ||
        fail "$("$BIN/manifest" get out/manifest.yaml run.execution)"
}

@test "-q prints nothing; without --test the manifest has no accuracy" {
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out
    [ -z "$stderr" ]
    run "$BIN/manifest" get out/manifest.yaml results.test_accuracy
    [ "$status" -eq 3 ]
}

@test "the progress line fits the width of the terminal" {
    write_experiment long.yaml epochs=2500
    local columns
    for columns in 30 40 80 200; do
        "$PYTHON" - "$columns" "$BIN/train-single" --experiment long.yaml --train "$train" --out out <<'END'
import fcntl, os, pty, re, signal, struct, sys, termios
columns = int(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    signal.alarm(600)
    os.execv(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
text, lines = b"", []
while True:
    try:
        got = os.read(terminal, 4096)
    except OSError:
        break
    if not got:
        break
    text += got
    lines = re.findall(rb"\r([^\r\n\x1b]+)\x1b\[K", text)
    if len(lines) > 3:
        os.kill(child, signal.SIGTERM)
for line in lines[1:]:  # the terminal had no size before
    assert len(line) < columns, line
    assert re.search(rb"epoch [0-9]+/2500 .*[0-9] (s|min|h)( |$)", line) or columns < 40, line
    # Whether it fits into 80 columns depends on how long the time left is to write.
    assert (b"images/s" in line) == (columns == 200) or columns == 80, line
    assert (b"train-single: " in line) == (columns >= 80), line
assert any(b"#" in line for line in lines[1:]) == (columns >= 40), lines
assert len(lines) > 3
END
        rm -rf out
    done
}

@test "the accuracy equals evaluate's" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test" --out out
    "$BIN/evaluate" --model out/model.st.zst --data "$test" --out evaluated
    [ "$("$BIN/manifest" get out/manifest.yaml results.test_accuracy)" = "$("$BIN/manifest" get evaluated/manifest.yaml results.accuracy)" ]
}

# A busy machine may suspend the process between two phases: in one epoch, but hardly in every one.
@test "the phases of an epoch add up to its seconds" {
    write_experiment long.yaml "$LENET_BN" epochs=8 global_batch=20
    "$BIN/train-single" -q --experiment long.yaml --train "$train" --out out --threads 1
    "$PYTHON" - "$("$BIN/manifest" get --json out/manifest.yaml results.epochs)" <<'END'
import json, sys
epochs = json.loads(sys.argv[1])["results.epochs"]
shares = [sum(e["phases"].values()) / e["seconds"] for e in epochs]
sys.exit(not (any(0.95 <= s <= 1.05 for s in shares) and max(shares) <= 1.05))
END
}

# The first epoch is also a warm-up.
@test "the seconds of an epoch are the median of those after the first" {
    # Of five the median may be the same with the first epoch; of two it is the second's.
    local epochs
    for epochs in 2 5; do
        write_experiment "$epochs.yaml" epochs="$epochs"
        "$BIN/train-single" -q --experiment "$epochs.yaml" --train "$train" --out "out-$epochs"
        "$PYTHON" - "$epochs" "$("$BIN/manifest" get --json "out-$epochs/manifest.yaml" results.epochs results.seconds_per_epoch)" <<'END'
import json, statistics, sys
epochs, found = map(json.loads, sys.argv[1:])
seconds = [e["seconds"] for e in found["results.epochs"]]
assert len(seconds) == epochs
middle = statistics.median(seconds[1:])
assert abs(found["results.seconds_per_epoch"] - middle) <= 1e-9 * middle, (found, middle)
END
    done
}

@test "--print-key depends only on options that change the results" {
    key() { "$BIN/train-single" --experiment e.yaml --train "$train" "$@" --print-key; }
    local one
    one=$(key --out x)
    [ ${#one} -eq 64 ]
    [ "$one" = "$(key --threads 2 --loader-workers 3 --out y)" ]
    [ "$one" != "$(key --set optimizer.lr=0.5)" ]
    [ "$one" != "$(key --test "$test")" ]
    [ ! -e x ]
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out
    [ "$one" = "$("$BIN/manifest" get out/manifest.yaml key)" ]
}

@test "an experiment is a file, or a name in experiments/" {
    cp e.yaml plain # a file that exists needs no suffix
    succeeds "$BIN/train-single" --experiment plain --print-parameters
    fails_with 3 "cannot find experiment: 'nope': no such file, and no folder 'experiments'|'nope': '.*' has these" \
        "$BIN/train-single" --experiment nope --train "$train" --out out
    mkdir -p experiments/deep
    cp e.yaml experiments/deep/mine.yaml
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --out out --print-key
    local key=$output
    succeeds "$BIN/train-single" --experiment mine --train "$train" --out out --print-key
    [ "$output" = "$key" ]
    fails_with 3 "cannot find experiment: 'mien': did you mean 'mine'\?" \
        "$BIN/train-single" --experiment mien --train "$train" --out out
    nothing_in out
}

@test "--print-parameters prints the resolved experiment, without any data" {
    succeeds "$BIN/train-single" --experiment e.yaml --set epochs=7 --print-parameters
    [[ $output == *"epochs: 7"* && $output == *"architecture:"* ]]
    # Published figures are not part of the work.
    write_experiment p.yaml 'published=[{source: R001, accuracy: 65.39}]'
    fails_with 3 "p.yaml:[0-9]+:[0-9]+: 'published': published figures belong in a claim" \
        "$BIN/train-single" --experiment p.yaml --print-parameters
}

@test "--print-plan prints the operations of a step, without any data, as docs/architecture.md shows" {
    "$BIN/train-single" --experiment "$ROOT/experiments/R001/ddp4.yaml" --device cpu --print-plan >plan
    [ "$(grep -c 'forward  *loss' plan)" -eq 1 ]
    sed -n '/^[0-9]* operations in /,/ weight gradient  *conv1 /p' "$ROOT/docs/architecture.md" |
        grep -vFx ... >shown
    [ "$(wc -l <shown)" -gt 20 ]
    ! grep -vxFf plan shown || fail "docs/architecture.md shows another plan"
}

@test "--dump-order lists every sample once per epoch" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --dump-order order
    [ "$(stat -c %s order)" -eq $((200 * 2 * 4)) ]
    "$PYTHON" - <<'END'
import struct
ids = struct.unpack("<400I", open("order", "rb").read())
assert sorted(ids[:200]) == list(range(200)) == sorted(ids[200:])
assert ids[:200] != ids[200:] and ids[:200] != tuple(range(200))
END
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --dump-order first --stop-after-steps 1
    cmp -n $((72 * 4)) order first
    [ "$(stat -c %s first)" -eq $((72 * 4)) ]
}

@test "--init starts from the given weights" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out a --set optimizer.lr=1e-30
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out b --set seed=99 --set optimizer.lr=1e-30 --init a/model.st.zst
    [ "$(content a/model.st.zst)" = "$(content b/model.st.zst)" ]
    [ "$("$BIN/manifest" get b/manifest.yaml inputs.1.content)" = "$(content a/model.st.zst)" ]
}

@test "old outputs are removed before a new run" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 1
    unfinished out
    [ ! -e out/steps.st.zst ]
    [ -e out/state.st.zst ]
}

@test "the metadata of a model contains nothing about the run" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out
    succeeds "$BIN/tensor" info out/model.st.zst
    [[ $output == *conv1.weight* && $output == *normalize* && $output == *classes* ]]
    [[ $output != *seed* && $output != *train-single* && $output != *threads* ]]
}
