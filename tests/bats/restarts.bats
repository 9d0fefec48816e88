# SPDX-License-Identifier: MIT
# --max-restarts: after the death of a process training continues from the last saved state, and
# ends as if nothing had happened.

load helpers
load training

setup_file() {
    [ -x "$BIN/synth-cifar" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    local images=400 epochs=150
    export MANY_STEPS=2000
    # Under qemu (make aarch64-bats) an image takes hundreds of times as long.
    [ -z "${QEMU_LD_PREFIX:-}" ] || images=100 epochs=20 MANY_STEPS=100
    make_data data "$images"
    # Takes some seconds, with a state every few milliseconds.
    write_experiment e.yaml strategy=ddp world_size=2 epochs="$epochs"
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out expected
    # Nothing is saved before the end, which is MANY_STEPS away.
    make_data many $((4 * MANY_STEPS))
    write_experiment unsaved.yaml strategy=ddp world_size=2 epochs=1 global_batch=4
}

setup() {
    need_training
    train=$BATS_FILE_TMPDIR/data/train.st.zst
    expected=$BATS_FILE_TMPDIR/expected/model.st.zst
    cp "$BATS_FILE_TMPDIR/"*.yaml "$WORK"
    cd "$WORK"
}

teardown() {
    [ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

# begin TOOL OPTION...: in the background, $tool; its process is $pid, its output goes to err.
begin() {
    tool=$1
    shift
    "$BIN/$tool" -q --train "$train" --out "$WORK/out" "$@" <&0 2>err &
    pid=$!
}

# The awaited event comes at once, unless the machine is busy: hence five minutes.
TRIES=30000 # each of 0.01 s and more

# find_child RANK: sets $victim to that rank's process below $pid, once it is another one than before. The only
# process is rank 0.
find_child() {
    local tries=$TRIES found
    for ((; tries > 0; tries--)); do
        case $tool in
        train-ddp) found=$(rank_process "$pid" "$1") || true ;;
        *) found=$(pgrep -P "$pid") || true ;;
        esac
        [ -n "$found" ] && [ "$found" != "${victim:-}" ] && break
        kill -0 "$pid" 2>/dev/null || tries=1
        [ ! -e out/manifest.yaml ] || skip "the training finished before it could be interrupted"
        sleep 0.01
    done
    [ "$tries" -gt 0 ] || { fail "found no process of rank $1" "$(cat err)"; return 1; }
    victim=$found
}

# kill_child N RESTARTS: kills it, and waits until the tool has reported that many more restarts.
kill_child() {
    local tries=$TRIES
    find_child "$1" || return 1
    kill -KILL "$victim" || true # it may have ended just now
    until [ "$(wc -l <err)" -ge "$2" ]; do
        [ ! -e out/manifest.yaml ] || skip "the training finished before it could be interrupted"
        ((tries--)) || { fail "no restart after a death" "$(cat err)"; return 1; }
        sleep 0.01
    done
}

# ends CODE: $pid ends with that code, and leaves no process behind.
ends() {
    local code=0
    wait "$pid" || code=$?
    pid=
    [ "$code" -eq "$1" ] || { fail "exit code $code" "$(cat err)"; return 1; }
    nobody_left "$WORK/out"
}

some_time() {
    sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
}

restarts() {
    "$BIN/manifest" get out/manifest.yaml run.restarts
}

@test "ranks that are killed at any moment: the same bits, and the manifest counts the restarts" {
    local i
    begin train-ddp --experiment e.yaml --max-restarts 9
    wait_for out/state.st.zst
    for i in 1 2 3 4 5; do
        some_time
        kill_child $((i % 2)) $i
    done
    ends 0
    cmp "$expected" out/model.st.zst
    [ "$(restarts)" = 5 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.1.first_step)" -gt 0 ]
    [ "$(grep -Ec 'train-ddp: rank [01] died \(killed by SIGKILL\); restart [1-5] of 9 from step [0-9]+$' err)" -eq 5 ] ||
        fail "$(cat err)"
    grep -q 'rank 0 died' err
    grep -q 'rank 1 died' err
    succeeds "$BIN/manifest" verify out/manifest.yaml
    [ "$(find out -type f ! -name .lock | sort | xargs -n 1 basename | tr '\n' ' ')" = \
        "manifest.yaml model.st.zst state.st.zst steps.st.zst " ]
}

@test "killed ranks keep the best model so far, and the losses that decide on the rate" {
    local more=(--set epochs=60 --set 'validation={samples: 50}' --set keep=best --set 'schedule={kind: plateau, patience: 3}')
    "$BIN/train-single" -q --experiment e.yaml "${more[@]}" --train "$train" --out single
    begin train-ddp --experiment e.yaml "${more[@]}" --max-restarts 9
    wait_for out/state.st.zst
    kill_child 0 1
    some_time
    kill_child 1 2
    ends 0
    cmp single/model.st.zst out/model.st.zst
    [ "$("$BIN/manifest" get out/manifest.yaml results.best_epoch)" = \
        "$("$BIN/manifest" get single/manifest.yaml results.best_epoch)" ]
}

@test "tools with one process are restarted, too" {
    local tool
    "$BIN/train-single" -q --experiment e.yaml --set epochs=60 --train "$train" --out single
    for tool in train-single train-dp train-mp; do
        rm -rf out
        begin "$tool" --experiment e.yaml --set epochs=60 --max-restarts 2
        wait_for out/state.st.zst
        kill_child 0 1
        kill_child 0 2
        ends 0
        cmp single/model.st.zst out/model.st.zst
        [ "$(restarts)" = 2 ]
        grep -q "$tool: the process died (killed by SIGKILL); restart 2 of 2 from step" err || fail "$(cat err)"
    done
}

# The ranks are stopped until they are killed: nothing was saved by then.
@test "without a saved state a restart starts over, and still counts" {
    local i
    train=$BATS_FILE_TMPDIR/many/train.st.zst
    "$BIN/train-single" -q --experiment unsaved.yaml --train "$train" --out single
    begin train-ddp --experiment unsaved.yaml --train - --max-restarts 3 <"$train"
    for i in 1 2; do
        find_child 1
        kill -STOP "$victim" || true
        victim=
        [ ! -e out/state.st.zst ] || skip "the training finished before it could be interrupted"
        kill_child 1 $i
    done
    ends 0
    cmp single/model.st.zst out/model.st.zst
    [ "$(grep -c 'of 3 from step 0$' err)" -eq 2 ] || fail "$(cat err)"
    [ "$(restarts)" = 2 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.restarts)" = 2 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.first_step)" = 0 ]
}

@test "one death too many ends the run, and --resume continues it" {
    begin train-ddp --experiment e.yaml --set epochs=2500 --max-restarts 1
    wait_for out/state.st.zst
    kill_child 0 1
    kill_child 1 2
    ends 1
    [ "$(wc -l <err)" -eq 2 ]
    tail -n 1 err | grep -Eq '^train-ddp: after restart 1 of 1: rank [01] was killed by signal 9' || fail "$(cat err)"
    unfinished out
    succeeds "$BIN/train-ddp" -q --experiment e.yaml --set epochs=2500 --train "$train" --out out --resume --stop-after-steps 1
}

@test "a signal to the job stops it, and the count of restarts is kept" {
    begin train-ddp --experiment e.yaml --max-restarts 3
    wait_for out/state.st.zst
    kill_child 1 1
    find_child 1 # one of the restarted ones
    touch marker
    wait_until [ out/state.st.zst -nt marker ]
    kill -TERM "$pid"
    ends 5
    [ "$(wc -l <err)" -eq 2 ]
    grep -q 'stopped by SIGTERM at step.*--resume' err || fail "$(cat err)"
    unfinished out
    begin train-ddp --experiment e.yaml --max-restarts 3 --resume
    kill_child 0 1
    ends 0
    grep -q 'restart 1 of 3' err
    cmp "$expected" out/model.st.zst
    [ "$(restarts)" = 2 ]
}

# These signals have the same meaning for a single rank as for the job.
@test "a signal to one rank stops the job, and does not count as a death" {
    begin train-ddp --experiment e.yaml --set epochs=2500 --max-restarts 3
    wait_for out/state.st.zst
    find_child 1
    kill -TERM "$victim"
    ends 5
    grep -q 'stopped by another rank' err || fail "$(cat err)"
    [ "$(wc -l <err)" -eq 1 ]
}

# Steps before the end of the epoch: all ranks stop equally soon, whichever one gets the signal.
@test "a signal to any rank stops the job inside the epoch" {
    local rank try step
    train=$BATS_FILE_TMPDIR/many/train.st.zst
    for rank in 0 1; do
        # One of MANY_STEPS signals comes in the last step of an epoch.
        for try in 1 2 3; do
            rm -rf out
            victim=
            begin train-ddp --experiment unsaved.yaml --set epochs=50 --checkpoint-every 20
            wait_for out/state.st.zst
            find_child "$rank"
            kill -TERM "$victim"
            ends 5
            step=$(sed -n 's/.*at step \([0-9]*\), state saved.*/\1/p' err)
            [ "$((step % MANY_STEPS))" -eq 0 ] || break
        done
        [ "$((step % MANY_STEPS))" -ne 0 ] || fail "rank $rank, $try times: $(cat err)"
    done
}

@test "--resume works immediately after all ranks were killed" {
    local i
    for i in 1 2 3 4 5; do
        rm -rf out
        setsid "$BIN/train-ddp" -q --experiment e.yaml --set epochs=2500 --train "$train" --out "$WORK/out" --world-size 4 &
        pid=$!
        wait_for out/state.st.zst
        kill -KILL -- "-$pid"
        succeeds "$BIN/train-ddp" -q --experiment e.yaml --set epochs=2500 --train "$train" --out out --resume --stop-after-steps 1
        wait "$pid" || true
        pid=
    done
}

@test "an error that would only repeat does not cause a restart" {
    fails_with 1 "step [0-9]+.*(nan|inf)" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out \
        --max-restarts 3 --set optimizer.lr=100000
    fails_with 1 "'nowhere/trace.json'" "$BIN/train-ddp" -q --experiment e.yaml --train "$train" --out out \
        --max-restarts 3 --trace nowhere/trace.json
    fails_with 3 "'missing.st.zst'" "$BIN/train-ddp" -q --experiment e.yaml --train missing.st.zst --out out --max-restarts 3
}

@test "--max-restarts is refused for ranks of another launcher" {
    TOOL=train-ddp fails_with 2 "'--max-restarts 3'.*launcher" env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 \
        MASTER_PORT=1 "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out --max-restarts 3
    [ ! -e out ]
    fails_with 2 "max-restarts" "$BIN/train-ddp" --experiment e.yaml --train "$train" --out out --max-restarts -1
}
