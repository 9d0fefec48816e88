# SPDX-License-Identifier: MIT
# --resume, signals, saved state: a run that was stopped ends as if it had not been.

load helpers
load training

setup_file() {
    file_data 400 64
    file_shards
    [ ! -x "$BIN/synth-cifar" ] || make_data "$BATS_FILE_TMPDIR/more" 401
}

setup() {
    begin_training epochs=3
}

@test "without a state --resume starts a run; a finished run is left unchanged" {
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --resume
    [ -e out/manifest.yaml ]
    local before
    before=$(stat -c %Y.%i out/*)
    succeeds "$BIN/train-single" --experiment e.yaml --train "$train" --out out --resume
    [[ $stderr == *"is already complete"* ]]
    succeeds "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --resume --world-size 2
    [ "$before" = "$(stat -c %Y.%i out/*)" ]
}

@test "settings that change the bits are refused by name; other settings may change" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 3
    cp out/state.st.zst before
    local set
    for set in optimizer.lr=0.5 seed=3 global_batch=36 epochs=2 virtual_shards=2; do
        fails_with 3 "${set%=*}" "$BIN/train-single" --experiment e.yaml --train "$train" --out out --resume --set "$set"
    done
    fails_with 3 "'model|'architecture" "$BIN/train-single" --experiment e.yaml --train "$train" --out out --resume --set "$LENET_BN"
    fails_with 3 'training data' "$BIN/train-single" --experiment e.yaml --train "$data/more/train.st.zst" --out out --resume
    cmp before out/state.st.zst
    unfinished out
    succeeds "$BIN/train-ddp" -q --experiment e.yaml --train "$data/shards" --out out --resume --world-size 4 \
        --loader-workers 2 --set name=other --set title=Other
    [ -e out/manifest.yaml ]
    fails_with 3 optimizer.lr "$BIN/train-single" --experiment e.yaml --train "$train" --out out --resume --set optimizer.lr=0.5
}

@test "a resumed run lists its segments" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 4
    "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out --resume --world-size 2
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.0.tool)" = train-single ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.0.end_step)" = 4 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.1.tool)" = train-ddp ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.1.first_step)" = 4 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.1.end_step)" = 18 ]
}

@test "--stop-after-steps stops again at the same step" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 4
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 4 --resume
    unfinished out
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 7 --resume
    unfinished out
}

# signalled TOOL SIGNAL CODE OPTION...: stops a long run in the middle and resumes it.
signalled() {
    local tool=$1 signal=$2 code=$3 pid ended=0
    shift 3
    write_experiment long.yaml epochs=2500
    "$BIN/$tool" -q --experiment long.yaml --train "$train" --out "$WORK/out" "$@" 2>err &
    pid=$!
    wait_for out/state.st.zst
    kill -"$signal" "$pid"
    wait "$pid" || ended=$?
    [ "$ended" -eq "$code" ] || fail "exit code $ended" "$(cat err)"
    unfinished out
    [ "$(wc -l <err)" -eq 1 ]
    grep -q "stopped by SIG$signal.*--resume" err
    nobody_left "$WORK/out"
    succeeds "$BIN/train-single" -q --experiment long.yaml --train "$train" --out out --resume --stop-after-steps 1
}

@test "SIGTERM and SIGUSR1 save, and exit 5" {
    signalled train-single TERM 5
    rm -rf out
    signalled train-single USR1 5
    rm -rf out
    signalled train-ddp TERM 5 --world-size 2
}

# stopped_with COMMAND...: stops a long run; its message is in `err`.
stopped_with() {
    rm -rf out
    "$@" -q --experiment 'long one.yaml' --train "$train" --out out 2>err &
    local pid=$! ended=0
    wait_for out/state.st.zst
    kill -TERM "$pid"
    wait "$pid" || ended=$?
    [ "$ended" -eq 5 ] || fail "exit code $ended" "$(cat err)"
}

@test "a stop prints the command to resume, as it was typed" {
    write_experiment 'long one.yaml' epochs=2500
    stopped_with "$BIN/train-single"
    grep -Eq "at step [0-9]+, state saved; to resume: $BIN/train-single -q --experiment 'long one.yaml' .* --resume\$" err ||
        fail "$(cat err)"
    local words
    words=$(sed 's/.*to resume: //' err)
    succeeds sh -c "$words --stop-after-steps 1"
    stopped_with env LOCKSTEP_COMMAND='make experiment EXP=ddp4' "$BIN/train-ddp" --world-size 2
    grep -Eq ', state saved; to resume, run the same command: make experiment EXP=ddp4$' err || fail "$(cat err)"
    stopped_with env LOCKSTEP_COMMAND=$'make\e[31m\nx' "$BIN/train-single" --resume
    [ "$(wc -l <err)" -eq 1 ]
    grep -Fq 'same command: make?[31m?x' err || fail "$(cat err)"
}

@test "SIGINT saves the state, and the process ends by SIGINT" {
    write_experiment long.yaml epochs=2500
    local tool
    for tool in "train-single --threads 2" "train-ddp --world-size 2"; do
        rm -rf out
        # shellcheck disable=SC2086 # two words
        "$PYTHON" - "$BIN/"${tool} -q --experiment long.yaml --train "$train" --out out <<'END'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(sys.argv[1:], start_new_session=True, stderr=subprocess.PIPE)
while not os.path.exists("out/state.st.zst"):
    time.sleep(0.02)
os.killpg(child.pid, signal.SIGINT)  # as the terminal does: the whole group
said = child.communicate(timeout=300)[1].decode()
assert child.returncode == -signal.SIGINT, (child.returncode, said)
assert said.count("\n") == 1 and "stopped by SIGINT" in said, said
try:
    os.killpg(child.pid, 0)
    sys.exit("a process of the group is still running")
except ProcessLookupError:
    pass
END
        unfinished out
        [ -e out/state.st.zst ]
    done
}

# A rank that cannot save, because it was stopped.
@test "a second SIGINT ends all ranks at once, and the process ends by SIGINT" {
    write_experiment long.yaml epochs=2500
    "$PYTHON" - "$BIN/train-ddp" --world-size 2 -q --experiment long.yaml --train "$train" --out out <<'END'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(sys.argv[1:], start_new_session=True, stderr=subprocess.PIPE)
while not os.path.exists("out/state.st.zst"):
    time.sleep(0.02)
rank = int(subprocess.check_output(["pgrep", "-P", str(child.pid), "-x", ".*:1"]))
os.kill(rank, signal.SIGSTOP)
child.send_signal(signal.SIGINT)
while any(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
          for line in open("/proc/%d/status" % child.pid) if line.startswith(("SigPnd", "ShdPnd"))):
    time.sleep(0.02)  # two that are pending are one
child.send_signal(signal.SIGINT)
said = child.communicate(timeout=300)[1].decode()
assert child.returncode == -signal.SIGINT, (child.returncode, said)
END
    unfinished out
}

@test "killed without warning, a run resumes from the last state" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    write_experiment long.yaml epochs=2500
    "$BIN/train-single" -q --experiment long.yaml --train "$train" --out out &
    local pid=$!
    wait_for out/state.st.zst
    kill -KILL "$pid"
    wait "$pid" || true
    unfinished out
    # The long run's first 18 steps are the short run's.
    "$BIN/train-single" --experiment long.yaml --train "$train" --out out --resume --stop-after-steps 20000 2>err &
    pid=$!
    wait_until grep -q 'resuming from step' err
    kill -TERM "$pid" || true # it may have ended
    wait "$pid" || [ $? -eq 5 ]
    succeeds "$BIN/tensor" info out/state.st.zst
}

@test "--checkpoint-every N and Ns do not change the model" {
    write_experiment big.yaml epochs=1 global_batch=4
    "$BIN/train-single" -q --experiment big.yaml --train "$train" --out expected
    "$BIN/train-single" -q --experiment big.yaml --train "$train" --out out --checkpoint-every 7
    same_model "$(content expected/model.st.zst)" out "saved every 7 steps"
    "$BIN/train-ddp" -q --experiment big.yaml --train "$train" --out out --checkpoint-every 1s --world-size 2
    same_model "$(content expected/model.st.zst)" out "saved every second"
    fails_with 2 "checkpoint-every" "$BIN/train-single" --experiment big.yaml --train "$train" --out out --checkpoint-every 3m
}

@test "a run with a learning rate of many digits can be resumed" {
    write_experiment e.yaml 'optimizer={kind: sgd, lr: 0.01234567891234, momentum: 0.9}'
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out whole
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --stop-after-steps 2
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --resume
    same_model "$(content whole/model.st.zst)" run "resumed"
}
