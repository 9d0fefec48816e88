#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reports whose times come from arms that took turns (time-runs): real ones, and those of
# tests/fixtures/make_turns.py.

load helpers
load reports
load training

# The same training by two tools, each trained, and timed together: they load the machine alike, so it need not be
# quiet.
setup_file() {
    are_built synth-cifar train-single train-dp time-runs || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    make_data data 300
    write_experiment one.yaml name=one global_batch=16
    write_experiment two.yaml name=two global_batch=16 strategy=dp world_size=1
    local data="--train data/train.st.zst --test data/test.st.zst --threads 1"
    # shellcheck disable=SC2086 # several words
    "$BIN/train-single" -q --experiment one.yaml $data --out one
    # shellcheck disable=SC2086
    "$BIN/train-dp" -q --experiment two.yaml $data --out two
    "$BIN/time-runs" -q --precision 30 --limit 1 --out turns \
        "'$BIN/train-single' -q --experiment one.yaml $data" "'$BIN/train-dp' -q --experiment two.yaml $data" >/dev/null
}

setup() {
    begin_report
}

# real_runs: for a test, the runs and turns of setup_file in the current folder.
real_runs() {
    need_tool time-runs
    need_training
    cp -r "$BATS_FILE_TMPDIR"/{data,one,two,turns} .
}

# turns DIR WORD...: a folder of time-runs, as make_turns.py writes it.
turns() {
    "$PYTHON" "$ROOT/tests/fixtures/make_turns.py" "$@"
}

# A run of 640 samples an epoch, and one on four ranks.
two_runs() {
    a_run a name=a cores=8
    a_run b name=b cores=8 ranks=4 epochs=9,9,9,9,9
}

# interval FILE ID: its value, low and high in report.csv.
interval() {
    awk -F, -v id="$2" '$1 == id { print $4, $5, $6; found = 1 } END { exit !found }' "$1"
}

@test "real turns give the times, the verdict and their explanation" {
    real_runs
    succeeds "$REPORT" two --baseline one --turns turns --out out
    says out/report.md "For the times per epoch, arms took turns: 3 executions of "
    # shellcheck disable=SC2016 # Markdown
    grep -q '^| \*\*one\*\* | `turns/manifest.yaml` | turns.st.zst `[0-9a-f]\{12\}` |$' out/report.md || fail "$(cat out/report.md)"
    says out/manifest.yaml "path: ../turns/turns.st.zst"
    says out/manifest.yaml "path: ../turns/manifest.yaml"
    [ "$(figure out/report.csv one.turns)" = 3 ]
    read -r value low high <<<"$(interval out/report.csv two.speedup)"
    awk -v v="$value" -v l="$low" -v h="$high" 'BEGIN { exit !(l < v && v < h) }' || fail "$low $value $high"
    # The ratio of the shown times.
    awk -v v="$value" -v a="$(figure out/report.csv one.seconds_per_epoch)" \
        -v b="$(figure out/report.csv two.seconds_per_epoch)" 'BEGIN { r = a / b / v; exit !(0.999 < r && r < 1.001) }'
    succeeds "$REPORT" out --why two.speedup
    [[ $output == *"1 of 2: "*train-single*"2 of 2: "*train-dp*"execution   3: "*"turns.st.zst  content "*", as recorded"*"train.st.zst"* ]] || fail "$output"
    [ "$(grep -c 'agrees' <<<"$output")" -eq 2 ] || fail "$output"
    succeeds "$BIN/manifest" verify turns
}

@test "a known ratio: interval, executions, pages in English and Chinese" {
    two_runs
    turns t a:0.001 b:0.0005
    succeeds "$REPORT" b --baseline a --turns t --out out --summary
    [[ $output == *"a: test accuracy 0.7000, 0.640 s per epoch (in turns)"* ]] || fail "$output"
    says out/report.md "**b is 2.00 times as fast [1.99, 2.01]**; the model is the same, bit for bit."
    [ "$(compared out/report.json b "c['time']['kind'], c['time']['test'], c['time']['subject'], c['time']['missing']")" = "('different', 'turns', 6, None)" ]
    says out/report.md "For the times per epoch, arms took turns: 6 executions of 50 turns each."
    lacks out/report.md "ther programs used"
    says out/report.md "| **b** | 2.00× | [1.99, 2.01] | faster |"
    says out/report.md "s / epoch: the time per sample while arms took turns, times the samples of an epoch."
    lacks out/report.md "A verdict on time needs 3 executions"
    [ "$(figure out/report.csv a.turns)" = 6 ]
    [ "$(figure out/report.csv a.total_seconds)" = 6.5 ]
    [ "$(figure out/report.csv a.execution.1.seconds_per_epoch)" = 1 ]
    read -r value low high <<<"$(interval out/report.csv a.seconds_per_epoch)"
    awk -v v="$value" -v l="$low" -v h="$high" 'BEGIN { exit !(l < v && v < h && 0.63 < l && h < 0.65) }'
    says out/report.csv "a.turns.6.seconds_per_epoch,a,turns.6.seconds_per_epoch,"
    lacks out/report.csv "a.turns.7."
    succeeds "$REPORT" b --baseline a --turns t --out zh --lang zh
    says zh/report.md "轮流训练：执行 6 次，每次各 50 个回合"
    printf 'b.speedup: [1.9, 2.1]\na.seconds_per_epoch: [0.7, 0.8]\n' >bands
    run -4 "$REPORT" b --baseline a --turns t --check bands
    [[ $output == *"inside   b.speedup"*"OUTSIDE  a.seconds_per_epoch"* ]] || fail "$output"
}

@test "machine, build and resumed trainings do not matter to turns; the work does" {
    a_run a name=a
    a_run b name=b ranks=4 cores=8 host=there version=other resumed=1
    turns t a:0.001 b:0.0012
    succeeds "$REPORT" b --baseline a --turns t --out out
    says out/report.md "**b takes 1.20 times as long ["
    [ "$(compared out/report.json b "c['time']['kind'], c['unlike']")" = "('different', [])" ]
    [[ $(figure out/report.csv b.seconds_per_epoch) == 0.7[67]* ]]
    [ "$(figure out/report.csv b.total_seconds)" = "" ]
    a_run c name=c batch=32 shards=4
    turns u a:0.001 c:0.0012
    succeeds "$REPORT" c --baseline a --turns u --out other
    says other/report.md "not like for like: global batch 32 vs 64"
}

@test "what other programs used during turns is said once, if it is noticeable" {
    two_runs
    turns t others=0.9 a:0.001 b:0.0005
    succeeds "$REPORT" b --baseline a --turns t --out out
    says out/report.md "Other programs used 0.9 of 2 cores while arms took turns, and the intervals include what that cost."
    [ "$(json out/report.json "page['turns']['others'], page['turns']['cores']")" = "0.9 2" ]
    turns u others=0.05 a:0.001 b:0.0005
    succeeds "$REPORT" b --baseline a --turns u --out quiet
    lacks quiet/report.md "ther programs used"
    # Also during the trainings.
    a_run d name=d execution='{"machine": {"wall_seconds": 10, "cpu_seconds": 5.4, "waited_seconds": 14.6, "others_seconds": 14, "cores": 2}}'
    turns v others=0.9 a:0.001 d:0.0005
    succeeds "$REPORT" d --baseline a --turns v --out both
    [ "$(grep -c "ther programs used" both/report.md)" -eq 1 ] || fail "$(cat both/report.md)"
}

@test "runs that differ in ranks have no verdict beside other programs, and others have one" {
    two_runs
    a_run c name=c cores=8 shards=4
    turns t others=1.04 demand=1 a:0.001 b:0.0006 c:0.0005
    succeeds "$REPORT" b c --baseline a --turns t --out out
    says out/report.md "**b** has no verdict on time: other programs used 1.0 of 2 cores, and do not slow both alike; beside them it took 40–40 % less time;"
    says out/report.md "the same command, given while the machine rests, goes on and decides it."
    says out/report.md "**c** is 2.00 times as fast ["
    [ "$(compared out/report.json b "c['time']['kind'], c['time']['missing'], c['ratio']['value'], round(c['beside']['value'], 2)")" = \
        "('none', 'quiet', None, 1.67)" ] || fail "$(compared out/report.json b c)"
    grep -q '^b.speedup,b,speedup,,,,x,no verdict: other programs,' out/report.csv
    succeeds "$REPORT" b c --baseline a --turns t --lang zh --out zh
    says zh/report.md "的用时没有结论：其他程序占用了 2 核中的 1.0 核，对双方的影响不同；在此干扰下它少用时 40–40 %"
}

@test "with more ranks than cores, turns give only the cost on this machine" {
    a_run a name=a cores=2
    a_run b name=b cores=2 ranks=4
    turns t a:0.001 b:0.0012
    succeeds "$REPORT" b --baseline a --turns t --out out
    grep -qE '^\*\*b costs [0-9.]+–[0-9.]+ % more time on these 2 cores\*\*' out/report.md || fail "$(grep costs out/report.md)"
    says out/report.md "Times with † are of 4 ranks on 2 cores: they say nothing about as many devices."
    says out/report.md "| more time with 4 ranks on these 2 cores |"
    [ "$(compared out/report.json b "c['time']['kind'], c['simulated'], c['crowd']['devices'], c['crowd']['needed']")" = "('cost', True, 2, 4)" ]
    succeeds "$REPORT" b --baseline a --turns t --out zh --lang zh
    says zh/report.md "带 † 的用时来自在 2 个核心上运行的 4 个进程，不能说明那么多设备的情况。"
    says out/report.csv ",s,SIMULATED,t/manifest.yaml: results.seconds_per_sample.1,"
    # A gain is no cost.
    a_run c name=c cores=2 ranks=4
    turns u a:0.001 c:0.0008
    succeeds "$REPORT" c --baseline a --turns u --out gain
    says gain/report.md "| less time with 4 ranks on these 2 cores |"
    lacks gain/report.md "cost"
}

@test "an undecided verdict says how much slower and faster" {
    two_runs
    turns t spread=0.05 a:0.001 b:0.00101
    succeeds "$REPORT" b --baseline a --turns t --out out
    grep -qE '^\*\*b may be between [0-9.]+ % slower and [0-9.]+ % faster: undecided\*\*' out/report.md || fail "$(grep undecided out/report.md)"
    grep -qE '^\| \*\*b\*\* \| \[0\.[0-9]+, 1\.[0-9]+\] \| undecided \| 0\.[0-9]+ \|' out/report.md || fail "$(grep undecided out/report.md)"
    [ "$(compared out/report.json b "c['time']['kind'], 0.05 < c['time']['p'] == c['time']['adjusted']")" = "('undecided', True)" ]
}

@test "runs without common turns show a ratio of whole executions, and no verdict" {
    two_runs
    a_run c name=c ranks=1 cores=8
    turns t a:0.001 b:0.0005
    succeeds "$REPORT" b c --baseline a --turns t --out out
    says out/report.md "s / epoch of a, b: the time per sample while arms took turns"
    says out/report.md "| no verdict: took no turns |"
    says out/report.md "A verdict on time needs trainings that took turns:"
    says out/report.md "report b c --baseline a --turns turns --out with-turns"
    [ "$(compared out/report.json c "c['time']['kind'], c['time']['missing']")" = "('none', 'turns')" ]
    [ "$(figure out/report.csv c.seconds_per_epoch)" = 1 ]
    # That of a's training, not of its turns, which took 0.64 s.
    [ "$(figure out/report.csv c.speedup)" = 1 ]
    succeeds "$REPORT" out --why c.speedup
    [[ $output == *"a: whole trainings"*"a.execution.1.seconds_per_epoch = 1 s"*"c.seconds_per_epoch = 1 s"* ]] || fail "$output"
    succeeds "$REPORT" out --why b.speedup
    [[ $output == *"a.seconds_per_epoch, from turns"* ]] || fail "$output"
}

@test "fewer than three executions of the turns give no verdict" {
    two_runs
    turns t executions=2 a:0.001 b:0.0005
    succeeds "$REPORT" b --baseline a --turns t --out out
    says out/report.md "| no verdict: 2 of 3 executions |"
    says out/report.md 'A verdict on time needs trainings that took turns:'
    [ "$(compared out/report.json b "c['time']['kind'], c['time']['missing'], c['time']['subject'], c['ratio']['low']")" = "('none', 'executions', 2, None)" ]
    succeeds "$REPORT" b --baseline a --turns t --out zh --lang zh
    says zh/report.md "| 无结论：3 次执行中只有 2 次 |"
}

@test "each pair is compared in the folder that both took turns in" {
    two_runs
    a_run c name=c ranks=1 cores=8
    turns t a:0.001 b:0.0005
    turns u c:0.0001 a:0.002
    succeeds "$REPORT" b c --baseline a --turns t --turns=u --out out
    awk 'BEGIN { exit !('"$(figure out/report.csv b.speedup)"' - 2 < 0.01 && '"$(figure out/report.csv c.speedup)"' - 20 < 0.1) }'
    [[ $(figure out/report.csv a.seconds_per_epoch) == 0.6[34]* ]]
    succeeds "$REPORT" out --why c.speedup
    [[ $output == *"2 of 2: "*"u/manifest.yaml: results.seconds_per_sample.1"* ]] || fail "$output"
}

@test "turns of the first seed are those of its experiment" {
    a_run a/seed-1 name=a seed=1
    a_run a/seed-2 name=a seed=2
    a_run b/seed-1 name=b seed=1 ranks=4 cores=8
    a_run b/seed-2 name=b seed=2 ranks=4 cores=8
    turns t a/seed-1:0.001 b/seed-1:0.0005
    succeeds "$REPORT" b --baseline a --turns t --out out
    [[ $(figure out/report.csv a.mean_seconds_per_epoch) == 0.6[34]* ]]
    says out/report.md "**b is 2.00 times as fast"
    succeeds "$REPORT" out --why a.mean_seconds_per_epoch
    [[ $output == *"from turns"*"1 of 2"* ]] || fail "$output"
}

@test "turns that were changed, and turns of other runs, are refused" {
    two_runs
    a_run c name=c batch=32
    turns t a:0.001 b:0.0005
    turns u a:0.001 b:0.0004
    cp u/turns.st.zst t/turns.st.zst
    fails_with 3 "t/turns.st.zst': its content is" "$REPORT" b --baseline a --turns t --out out
    nothing_in out
    run -4 "$REPORT" a b --turns t --why b.seconds_per_epoch
    [[ $output == *"DOES NOT AGREE"*"BUT         the manifest records"* ]] || fail "$output"
    cp -r u v
    sed -i 's/"executions": 6/"executions": 7/' v/manifest.yaml
    fails_with 4 "'results.executions' is 7 in 'v/manifest.yaml', and 6 in 'v/turns.st.zst'" "$REPORT" b --baseline a --turns v --out out
    fails_with 3 "'u': none of its 2 arms" "$REPORT" c --turns u --summary
    fails_with 3 "expected a manifest of time-runs" "$REPORT" a --turns a/train --summary
    rm u/turns.st.zst
    fails_with 3 "u/turns.st.zst" "$REPORT" a --turns u --summary
}
