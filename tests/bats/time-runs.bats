# SPDX-License-Identifier: MIT
# time-runs: which commands it times, what it writes, and how it and its arms end.

load helpers
load training

setup_file() {
    file_data 300
    file_shards
}

# A network whose steps are short even with the baseline's kernels: a turn has at least four.
setup() {
    cat >"$WORK/net.yaml" <<'END'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {out: 4, kernel: 4, stride: 4}, batch_norm, relu, max_pool: {size: 4}, flatten, linear: {out: 10}]
END
    begin_training model=./net.yaml epochs=3 global_batch=24
    need_tool time-runs
    single="train-single --experiment $WORK/e.yaml --train $train --threads 1"
    ddp="train-ddp --experiment $WORK/e.yaml --train $train --threads 1 --world-size 2"
}

teardown() {
    [ -z "${timing:-}" ] || kill -KILL "$timing" 2>/dev/null || true
    wait_until all_ended "$WORK/.*yaml"
}

# quickly OPTION... COMMAND...: times the commands as coarsely as possible: in three executions, however busy the
# machine is.
quickly() {
    succeeds "$BIN/time-runs" --precision 99 --limit 0.001 "$@"
}

# refuses CODE PATTERN COMMAND...: its last line matches; before it, the arm may have said why.
refuses() {
    local code=$1 pattern=$2
    shift 2
    run --separate-stderr "$BIN/time-runs" --precision 30 "$@"
    [ "$status" -eq "$code" ] || fail "exit code $status instead of $code: $stderr" || return 1
    [[ ${stderr_lines[-1]} =~ ^time-runs:\ .*$pattern ]] || fail "$stderr"
}

# begin OPTION... COMMAND...: in the background, as $timing; its output goes to printed and err. Ends when the
# arms take turns.
begin() {
    rm -f err # that of an earlier call would end the wait
    "$BIN/time-runs" "$@" >printed 2>err 3>&- &
    timing=$!
    wait_until grep -q 'arms to' err
}

# ends CODE: time-runs ends with it, and all of its arms within a second or so.
ends() {
    local code=0
    wait "$timing" || code=$?
    timing=
    [ "$code" -eq "$1" ] || fail "exit code $code instead of $1" "$(cat err)" || return 1
    wait_until all_ended "$WORK/.*yaml"
}

# rank_of TOOL: sets $rank to the process that takes turns, rank 0 of the arm that TOOL trains, and $above to its
# parent. An arm is a process group.
rank_of() {
    local arm
    arm=$(pgrep -P "$timing" -f "$1")
    rank=$(pgrep -g "$arm" -x "$1:0") || rank=$(pgrep -g "$arm" -x "$1")
    above=$(ps -o ppid= -p "$rank" | tr -d " ")
}

@test "it compares trainings; the same command has nothing left to do, and other arms begin anew" {
    # Without time left it ends after the fewest executions, however busy the machine is.
    local command=("$BIN/time-runs" --precision 99 --limit 0.001 --out out "$single" "$single --set optimizer.lr=0.02")
    succeeds "${command[@]}"
    [[ ${lines[0]} == "arm     samples/s  against arm 1" ]]
    [[ ${lines[1]} =~ ^1\ +[0-9]+\.[0-9]\ *$ && ${#lines[@]} -eq 3 ]]
    [[ ${lines[2]} =~ ^2\ +[0-9]+\.[0-9]\ \ (is|takes|may\ be)\ [0-9a-z] ]] || fail "$output"
    [ "$(ls -A out)" = "$(printf '%s\n' .lock manifest.yaml turns.st.zst)" ]
    "$BIN/manifest" verify out/manifest.yaml
    local before=$output
    [ "$("$BIN/manifest" get out/manifest.yaml run.arms.1.command)" = "$single --set optimizer.lr=0.02" ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.executions)" = 3 ]
    [ "$("${command[@]}" --print-key)" = "$("$BIN/manifest" get out/manifest.yaml key)" ]

    succeeds "${command[@]}"
    [ "$output" = "$before" ]
    [ "$stderr" = "time-runs: continues after execution 3 of 'out'" ]

    # Another instruction set is another execution, though the key is the same.
    LOCKSTEP_ISA=baseline succeeds "${command[@]}"
    [ "${stderr_lines[0]}" = "time-runs: begins anew: 'out/turns.st.zst' has turns of other trainings or builds" ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.executions)" = 3 ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.arms.0.execution.isa)" = baseline ]
}

@test "it stops after SIGTERM, keeps what is done, and the same command goes on" {
    quickly --out out "$single" "$single"
    local options=(--precision 10 --limit 1000 --out out "$single" "$single --set optimizer.lr=0.02")
    begin "${options[@]}"
    wait_until [ ! -e out/manifest.yaml ] # that of the other arms
    kill -TERM "$timing"
    ends 5
    [[ $(tail -n 1 err) == "time-runs: stopped after execution "?", which is saved; the same command goes on" ]]
    # The table so far.
    grep -qE '^arm +samples/s' printed || fail "$(cat printed)"
    [ "$(wc -l <printed)" -eq 3 ] || fail "$(cat printed)"
    succeeds "$BIN/time-runs" "${options[@]}"
    [[ $stderr == *"continues after execution "* ]]
    "$BIN/manifest" verify out/manifest.yaml
}

@test "a signal before the first execution has ended leaves nothing" {
    begin --precision 0.01 --out out "$single" "$ddp"
    kill -TERM "$timing"
    ends 5
    [ "$(tail -n 1 err)" = "time-runs: stopped before an execution ended: nothing is kept; the same command begins again" ]
    nothing_in out
}

@test "Ctrl-C in a terminal ends it by the signal, and its arms without a word" {
    mkfifo keys
    script -qfec "'$BIN/time-runs' --precision 0.01 '$single' '$ddp'" typed <keys >/dev/null 2>&1 3>&- &
    timing=$!
    exec 4>keys
    wait_until grep -q 'arms to' typed
    printf '\003' >&4
    ends 130
    exec 4>&-
    grep -q 'stopped before an execution ended' typed
    run ! grep -q '^train-' typed
}

# make waits for the pipeline, which waits for time-runs and its message.
@test "Ctrl-C while make's runs take turns: it says what is kept, and no process is lost" {
    need_tool pipeline
    mkfifo keys
    cp "$WORK/e.yaml" other.yaml
    sed -i 's/^name: .*/name: other/; s/^optimizer: .*/optimizer: {kind: sgd, lr: 0.02}/' other.yaml
    local line="make -s BIN='$BIN' compare EXPS='$WORK/e.yaml $WORK/other.yaml' DATA='$BATS_FILE_TMPDIR/data' ARTIFACTS='$WORK/artifacts' PRECISION=0.001"
    (cd "$ROOT" && exec env -u EXECUTIONS script -qfec "$line" "$WORK/typed" <"$WORK/keys" >/dev/null 2>&1 3>&-) &
    timing=$!
    exec 4>keys
    wait_until grep -q 'in turns: timing' typed
    printf '\003' >&4
    ends 130 || fail "$(cat typed)"
    exec 4>&-
    grep -qE 'time-runs: stopped (after execution .*goes on|before an execution .*begins again)' typed || fail "$(cat typed)"
    run ! grep -E 'No child processes|cannot take turns|No such process' typed
    [ "$(find artifacts/runs -name model.st.zst | wc -l)" -eq 2 ] || fail "$(find artifacts)"
}

@test "the arms of a time-runs that is killed end by themselves" {
    begin --precision 0.01 --out out "$single" "true; $ddp"
    kill -KILL "$timing"
    ends 137
    grep -q "train-single: cannot take turns: '--turns .*/0': time-runs has ended" err
    flock -n out/.lock true
}

@test "an arm that dies in its turns, or whose loss is not finite, ends the others" {
    begin --precision 0.01 "$single" "$ddp"
    rank_of train-ddp
    kill -KILL "$rank"
    ends 1
    grep -q 'rank 0 was killed by signal 9' err
    [[ $(tail -n 1 err) == "time-runs: arm 2 ended with exit code 1: '$ddp'" ]]

    begin --precision 0.01 "$single" "$ddp"
    rank_of train-ddp
    kill -KILL "$above"
    ends 1
    [[ $(tail -n 1 err) == "time-runs: arm 2 ended with exit code 137: '$ddp'" ]]

    begin --precision 0.01 "$ddp" "$single"
    rank_of train-single
    kill -TERM "$rank"
    ends 1
    [[ $(tail -n 1 err) == "time-runs: arm 2 ended with exit code 5: '$single'" ]]

    refuses 1 "arm 2 ended with exit code 1" "$single" "$single --set optimizer.lr=1000000"
    [[ $stderr == *"loss is "* ]]
}

@test "an arm that changes between two executions ends the call" {
    cp e.yaml other.yaml
    begin --precision 10 --limit 1000 --out out "$single" "train-single --experiment $WORK/other.yaml --train $train --threads 1"
    sed 's/seed: 11/seed: 12/' e.yaml >new.yaml
    wait_for out/turns.st.zst
    mv new.yaml other.yaml
    ends 1
    grep -q "time-runs: arm 2 changed: its program, experiment or data was replaced: 'train-single" err
}

@test "commands that cannot take turns are refused" {
    local arms=() i
    for ((i = 0; i < 65; i++)); do arms+=("$single"); done
    fails_with 2 "expected at least 2" "$BIN/time-runs"
    fails_with 2 "expected at least 2" "$BIN/time-runs" "$single"
    fails_with 2 "too many arguments" "$BIN/time-runs" "${arms[@]}"
    refuses 2 "arm 2 ended with exit code 2: 'ls'" "$single" ls
    refuses 1 "arm 1 ended with exit code 127: 'no-such-tool'" no-such-tool "$single"
    refuses 1 "arm 2 ended with exit code 127: ''" "$single" ""
    refuses 2 "arm 2 is no training: 'echo'" "$single" echo
    refuses 2 "arm 2 is no training: 'train-single --help'" "$single" "train-single --help"
    refuses 2 "arm 2 ended with exit code 2" "$single" "$single --out other"
    [[ $stderr == *"cannot take turns: '--turns': it writes nothing; leave out --out"* ]]
    refuses 2 "arm 1 ended with exit code 2" "$single --resume" "$single"
    refuses 3 "arm 2 ended with exit code 3" "$single" "train-single --experiment e.yaml --train -"
    [[ $stderr == *"'standard input': it ends inside"* ]]
    refuses 2 "arm 2 ended with exit code 2" "$single" "$single # in vain"
    [ ! -e other ]
}

@test "--turns without a time-runs, and addresses that are none" {
    TOOL=train-single fails_with 1 "'--turns 65535/3': no time-runs listens there" sh -c "'$BIN/'$single --turns 65535/3"
    for address in '' 0/0 65536/0 1 1/ /1 1/x 1/65536 x; do
        TOOL=train-single fails_with 2 "expected ENDPOINT/ARM" sh -c "'$BIN/'$single --turns '$address'"
    done
}

@test "a command may be whatever the shell knows" {
    mkdir -p "it's old/bin"
    cp "$BIN/train-single" "it's old/bin/"
    printf '#!/bin/sh\n%s "$@"\n' "exec '$BIN/'$single" >wrapper
    chmod +x wrapper
    quickly --out out "LOCKSTEP_ISA=baseline $single --set 'name=two-words'" "\"it's old/bin/\"$single" \
        "cat '$train' | train-single --experiment e.yaml --train - --threads 1" ./wrapper \
        "cd '$data'; lockstep $single"
    [ "$("$BIN/manifest" get out/manifest.yaml run.arms.0.execution.isa)" = baseline ]
    [ "${#lines[@]}" -eq 6 ]
}

@test "trainings that are shorter than a turn begin again" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run
    quickly "$single --set epochs=1 --set global_batch=200 --init run/model.st.zst --test $test" \
        "$single --set validation.samples=40 --set early_stopping.patience=1" \
        "$single --set average.kind=ema --set average.decay=0.9 --set drop_last=true" \
        "$single --set average.kind=lookahead --set average.decay=0.5 --set average.every=2" \
        "$single --set 'augment=[horizontal_flip, random_crop: {padding: 2}]' --set mixup.alpha=0.2 --loader-workers 4"
    [ "${#lines[@]}" -eq 6 ]
}

# rests RANKS COMMAND...: the training takes a turn of 30 steps, and then uses no processor time.
rests() {
    succeeds "$PYTHON" "$ROOT/tests/python/turns.py" "$1" 0.5 "${@:2}" --experiment e.yaml
    [[ $output =~ ^0\.0[0-2]?\ 30$ ]] || fail "$*: $output"
}

@test "every strategy takes turns, and uses no processor time between them" {
    rests 1 "$BIN/train-single" --train "$train" --threads 2 --loader-workers 4 --set mixup.alpha=0.3
    rests 1 "$BIN/train-dp" --train "$data/shards" --world-size 4 --threads 2
    rests 1 "$BIN/train-mp" --train "$train" --world-size 2
    rests 2 "$BIN/train-ddp" --train "$train" --world-size 2 --threads 2 --loader-workers 1
    rests 8 "$BIN/train-ddp" --train "$train" --set virtual_shards=8 --world-size 8
}

@test "ranks that a launcher started take turns" {
    cat >launcher <<'SH'
#!/bin/bash
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$PORT" \
        "$BIN/train-ddp" --train "$TRAIN" --threads 1 "$@" &
done
wait -n && wait -n
SH
    chmod +x launcher
    free_port
    TRAIN=$train PORT=$port rests 2 ./launcher
}

@test "a long list of shards reaches time-runs" {
    "$BIN/synth-cifar" -q --train 1024 --test 8 --out many
    "$BIN/shard" -q --shards 1024 --in many/train.st.zst --out shards
    local shards="train-single --experiment e.yaml --set virtual_shards=1024 --set global_batch=1024 --train shards"
    begin --precision 0.01 "$shards" "$single"
    kill -TERM "$timing"
    ends 5
}

@test "--whole: a turn is one run of any command, and the clock times it" {
    quickly --whole --out out "sleep 0.05" "sleep 0.1" "cd '$data' && $single"
    [ "${lines[0]}" = "arm       seconds  against arm 1" ]
    [[ ${lines[1]} =~ ^1\ +0\.(0[5-9]|[1-9])[0-9]*\ *$ ]] || fail "$output"
    [[ ${lines[2]} =~ ^2\ +0\.[1-9][0-9]*\ \  ]] || fail "$output"
    [ "$(ls -A out)" = "$(printf '%s\n' .lock manifest.yaml turns.st.zst)" ]
    "$BIN/manifest" verify out/manifest.yaml
    [ "$("$BIN/manifest" get out/manifest.yaml parameters.whole)" = true ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.arms.0.command)" = "sleep 0.05" ]
    run ! "$BIN/manifest" get out/manifest.yaml run.arms.2.key # its time is not that of its epochs
    local seconds
    seconds=$("$BIN/manifest" get out/manifest.yaml results.seconds.1)
    [[ $seconds == 0.[1-9]* ]] || fail "$seconds"
}

@test "--whole: trainings alone are timed by their epochs, and give runs their time" {
    cat >launcher <<'SH'
#!/bin/sh
unset RANK
exec "$@"
SH
    chmod +x launcher
    quickly --whole --out out "$single" "./launcher $ddp"
    [ "${lines[0]}" = "arm     samples/s  against arm 1" ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.arms.1.execution.world_size)" = 2 ]
    [ "$(succeeds "$BIN/time-runs" --whole --precision 99 --limit 0.001 --out out "$single" "./launcher $ddp" --print-key &&
        echo "$output")" = "$("$BIN/manifest" get out/manifest.yaml key)" ]
    sh -c "'$BIN/'$single -q --out one"
    sh -c "'$BIN/'$ddp -q --out two"
    succeeds "$BIN/report" one two --turns out --out page
    [ "$(grep -c ",turns,[3-9]" page/report.csv)" -eq 2 ] || fail "$(grep turns page/report.csv)"

    # Another call adds to it, and begins anew for other arms.
    succeeds "$BIN/time-runs" --whole --precision 98 --limit 0.001 --out out "$single" "./launcher $ddp"
    [[ $stderr == *"continues after execution "*" of 'out'"* ]] || fail "$stderr"
    [ "$("$BIN/manifest" get out/manifest.yaml results.executions)" -ge 4 ]
    quickly --whole --out out "$ddp" "$single"
    [[ $stderr == *"begins anew: 'out/turns.st.zst' has turns of other trainings or builds"* ]]
}

@test "--whole: what fails or dies ends the call; a signal stops the run, and the same command goes on" {
    run --separate-stderr "$BIN/time-runs" --whole "sleep 0" "exit 7"
    [ "$status" -eq 1 ] && [ "${stderr_lines[-1]}" = "time-runs: arm 2 ended with exit code 7: 'exit 7'" ] || fail "$stderr"
    run --separate-stderr "$BIN/time-runs" --whole "sleep 0" 'kill -9 $$'
    [ "$status" -eq 1 ] && [ "${stderr_lines[-1]}" = "time-runs: arm 2 was killed by SIGKILL: 'kill -9 \$\$'" ] || fail "$stderr"
    run --separate-stderr "$BIN/time-runs" --whole "$single" "$single --set optimizer.lr=1000000"
    [ "$status" -eq 1 ] && [[ $stderr == *"train-single: cannot continue: "* ]] || fail "$stderr"
    run --separate-stderr "$BIN/time-runs" --whole "$single --out mine" "$single"
    [ "$status" -eq 2 ] && [[ $stderr == "time-runs: arm 1: its folder is temporary; leave out --out: "* ]] || fail "$stderr"
    [ ! -e mine ]

    begin --whole --precision 0.01 --limit 1000 --out out "sleep 0" "$single"
    wait_for out/turns.st.zst
    kill -TERM "$timing"
    ends 5
    [[ $(tail -n 1 err) == "time-runs: stopped after execution "*", which is saved; the same command goes on" ]]
    [ "$(ls -A out)" = "$(printf '%s\n' .lock turns.st.zst)" ]
    quickly --whole --out out "sleep 0" "$single"
    [[ $stderr == *"continues after execution "* ]]
}

@test "two calls at the same time do not meet" {
    begin --precision 99 --limit 0.001 "$single" "$single"
    quickly "$single" "$single"
    ends 0
    [ "$(wc -l <printed)" -eq 3 ]
}

@test "--out that cannot be written, of another tool, or with damaged turns" {
    fails_with 2 "synth-cifar" "$BIN/time-runs" --out "$data/data" "$single" "$single"
    mkdir damaged
    head -c 100 "$train" >damaged/turns.st.zst
    refuses 3 "'damaged/turns.st.zst'" --out damaged "$single" "$single"
    need_read_only
    mkdir locked
    TOOL=time-runs fails_with 1 "/locked': Read-only" read_only "$WORK" "$BIN/time-runs" --out "$WORK/locked" "$single" "$single"
}

@test "the commands that a report by hand advises work for its folders" {
    need_tool report
    cd "$WORK" || return
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --threads 1 --out one
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --threads 1 --set optimizer.lr=0.02 --set seed=7 --out two
    succeeds "$BIN/report" one two --baseline one --out page
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    sed -n '/^```$/,/^```$/p' page/report.md | sed -n '2,3p' | sed 's/^time-runs/& --limit 1 --precision 50/' >advice
    [ "$(wc -l <advice)" -eq 2 ] || fail "$(cat page/report.md)"
    PATH=$BIN:$PATH succeeds bash -e advice
    grep -q 'arms took turns' with-turns/report.md || fail "$(cat with-turns/report.md)"
}
