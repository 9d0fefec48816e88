#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The front command: it lists the tools, runs them, and leaves everything else to them.
load helpers
load training

setup() {
    need_tool lockstep pipeline tensor manifest shard
    LOCKSTEP=$BIN/lockstep
    cd "$WORK" || return
}

# listed: the names in the groups of --help, a line each.
listed() {
    sed -n '/^Experiments:$/,$s/^  \([a-z-]*\)  *[a-z].*/\1/p' <<<"$output"
}

@test "lockstep lists every tool in a group, with the summary of its --help" {
    succeeds "$LOCKSTEP"
    local help=$output tool summary
    succeeds "$LOCKSTEP" --help
    [ "$output" = "$help" ] || fail "--help: $output"
    succeeds "$LOCKSTEP" help
    [ "$output" = "$help" ] || fail "help: $output"
    local tools
    tools=$(basename -s .c "$ROOT"/tools/*.c | grep -vx lockstep)
    for tool in $tools; do
        summary=$("$BIN/$tool" --help | sed -n '/^$/{n;p;q}')
        [[ $help == *$'\n'"  $tool "*" $summary"$'\n'* ]] || fail "'$tool' is not listed with '$summary':" "$help"
    done
    local group
    for group in Experiments Data Training Results; do
        [[ $help == *$'\n'"$group:"$'\n'"  "[a-z]* ]] || fail "no group '$group':" "$help"
    done
    local commands=$'experiment\ncompare\nexplain\nreproduce\nsubmission\nverify\ngrade\nruns\nclean-runs'
    [ "$(listed | sort)" = "$(sort <<<"$commands"$'\n'"$tools")" ] || fail "$(listed)"
    succeeds "$LOCKSTEP" --version
    [ "$output" = "lockstep $("$BIN/shard" --version | sed 's/.* //')" ] || fail "$output"
}

@test "the documentation has a row for every tool and every published data set" {
    local tool name
    for tool in $(basename -s .c "$ROOT"/tools/*.c | grep -vx lockstep); do
        grep -q "^| \`$tool\` |" "$ROOT/docs/tools.md" || fail "docs/tools.md: no row of $tool"
    done
    for tool in "$BIN"/fetch-*; do
        for name in $("$tool" --completions | sed -n 's/^--dataset\t\([^\t]*\).*/\1/p' | tr '|' ' '); do
            grep -q "^| \`$name\` |.*| \`${tool##*/}\` |" "$ROOT/docs/data.md" || fail "docs/data.md: no row of $name"
        done
    done
}

@test "lockstep TOOL gives the tool's output, messages and exit code" {
    printf 'a: {b: 1}\n' >x.yaml
    succeeds "$LOCKSTEP" manifest get x.yaml a.b
    [ "$output" = 1 ]
    TOOL=shard fails_with 2 "unknown option: '--shard': did you mean '--shards'\? \(see 'lockstep shard --help'\)" \
        "$LOCKSTEP" shard --shard 2
    TOOL=manifest fails_with 3 "'no such file'" "$LOCKSTEP" manifest get 'no such file' a
    TOOL=manifest fails_with 3 "cannot get 'a b': 'x.yaml' has no such key" "$LOCKSTEP" manifest get -- x.yaml 'a b'
    # An option after the name is the tool's own.
    succeeds "$LOCKSTEP" shard --version
    [[ $output == "shard (lockstep) "* ]] || fail "$output"
}

@test "lockstep TOOL becomes the tool's process: a signal ends the tool" {
    mkfifo pipe
    "$LOCKSTEP" tensor hash - <pipe &
    local pid=$! ended=0
    exec 7>pipe
    wait_until grep -qx tensor "/proc/$pid/comm"
    kill -TERM "$pid"
    wait "$pid" || ended=$?
    exec 7>&-
    [ "$ended" -eq 143 ] || fail "$ended"
}

@test "help TOOL prints its --help, with the command as it is typed" {
    local tool
    for tool in shard plan tensor pipeline; do
        succeeds "$LOCKSTEP" help "$tool"
        local help=$output
        succeeds "$LOCKSTEP" "$tool" --help
        [ "$output" = "$help" ] || fail "$tool: $output"
        [[ $help == "Usage: lockstep $tool "* ]] || fail "$tool: $help"
        succeeds "$BIN/$tool" --help
        help=$(sed "/^Usage:/,/^\$/s/lockstep $tool/$tool/" <<<"$help")
        # Continuation lines are indented by the length of the name.
        diff <(tr -s ' ' <<<"$output") <(tr -s ' ' <<<"$help") || fail "$tool"
    done
    succeeds "$LOCKSTEP" tensor diff --help
    [[ $output == "Usage: lockstep tensor diff "* ]] || fail "$output"
    succeeds "$LOCKSTEP" help experiment
    [[ $output == "Usage: lockstep pipeline experiment|compare|"* ]] || fail "$output"
    fails_with 2 "unexpected argument: 'plan': help takes one tool" "$LOCKSTEP" help shard plan
}

@test "commands of the pipeline can be called directly" {
    mkdir -p artifacts/runs
    succeeds "$LOCKSTEP" runs
    local runs=$output
    succeeds "$BIN/pipeline" runs
    [ "$output" = "$runs" ]
    TOOL=pipeline fails_with 2 "experiment: a name is missing: expected EXP=NAME" "$LOCKSTEP" experiment
    TOOL=pipeline fails_with 2 "unknown setting: 'SEDE=1': did you mean SEED\?" "$LOCKSTEP" experiment single SEDE=1
    cd "$ROOT" || return
    TOOL=pipeline fails_with 3 "cannot find experiment: 'singel': did you mean 'single'\?" \
        "$LOCKSTEP" compare singel single ARTIFACTS="$WORK/artifacts"
}

@test "an unknown name gives a suggestion and exit code 2" {
    fails_with 2 "^lockstep: unknown tool: 'shrad': did you mean 'shard'\?" "$LOCKSTEP" shrad --in x
    fails_with 2 "unknown tool: 'experimnt': did you mean 'experiment'\?" "$LOCKSTEP" experimnt ddp4
    fails_with 2 "unknown tool: 'train': those that begin so are: train-single, train-dp, train-ddp, train-mp" \
        "$LOCKSTEP" train
    fails_with 2 "unknown tool: 'eval': did you mean 'evaluate'\?" "$LOCKSTEP" eval
    TOOL=pipeline fails_with 2 "unknown option: '--epoch': did you mean EPOCHS\?" "$LOCKSTEP" experiment single --epoch 1
    fails_with 2 "unknown tool: 'plam': did you mean 'plan'\?" "$LOCKSTEP" help plam
    fails_with 2 "unknown tool: 'something' \(see 'lockstep --help'\)" "$LOCKSTEP" something
    fails_with 2 "unknown tool: '../bin/shard'" "$LOCKSTEP" ../bin/shard
    fails_with 2 "unknown tool: 'lockstep'" "$LOCKSTEP" lockstep shard
    fails_with 2 "unknown tool: ''" "$LOCKSTEP" ''
    fails_with 2 "unknown option: '--exec-pat': did you mean '--exec-path'\?" "$LOCKSTEP" --exec-pat
    fails_with 2 "unexpected argument: 'shard'" "$LOCKSTEP" --exec-path shard
    fails_with 2 "missing tool" "$LOCKSTEP" -q
}

@test "the tools are found next to the program, also if it is called through a link" {
    succeeds "$LOCKSTEP" --exec-path
    [ "$output" = "$(cd -P "$BIN" && pwd)" ] || fail "$output"
    ln -s "$LOCKSTEP" link
    printf 'a: 1\n' >x.yaml
    succeeds ./link manifest get x.yaml a
    [ "$output" = 1 ]
    # PATH has no part in it.
    succeeds env PATH=/nowhere "$LOCKSTEP" manifest get x.yaml a
    mkdir alone
    cp "$LOCKSTEP" alone
    TOOL=lockstep fails_with 1 "cannot run: '$WORK/alone/shard': No such file" alone/lockstep shard
}

@test "a stopped training prints a command to resume that starts with the front command" {
    need_training
    make_data data 80
    write_experiment 'long one.yaml' epochs=2500
    "$LOCKSTEP" train-single -q --experiment 'long one.yaml' --train data/train.st.zst --out out 2>err &
    local pid=$! ended=0
    wait_for out/state.st.zst
    kill -TERM "$pid"
    wait "$pid" || ended=$?
    [ "$ended" -eq 5 ] || fail "$ended" "$(cat err)"
    grep -q "to resume: $LOCKSTEP train-single -q --experiment 'long one.yaml' .* --resume\$" err || fail "$(cat err)"
    succeeds sh -c "$(sed 's/.*to resume: //' err) --stop-after-steps 1"
}

@test "pipeline --experiments lists all experiments and studies" {
    cd "$ROOT" || return
    succeeds "$LOCKSTEP" pipeline --experiments
    local names
    names=$(grep -lE '^schema: lockstep.(experiment|study)/1' -r experiments | sed 's|.*/||; s/\.yaml$//' | sort)
    [ "$(sort <<<"$output")" = "$names" ] || diff <(sort <<<"$output") <(echo "$names")
}
