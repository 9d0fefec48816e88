#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The report tool, on small runs that tests/fixtures/make_run.py writes: every number is known
# beforehand.

load helpers
load reports

setup() {
    begin_report
}

@test "help, version, and a missing --out" {
    succeeds "$REPORT" --help
    [[ $output == *"--baseline DIR"* ]]
    succeeds "$REPORT" --version
    a_run a
    fails_with 2 "'?--out" "$REPORT" a
    fails_with 2 "expected en or zh" "$REPORT" a --out out --lang fr
    nothing_in out
}

@test "one run: numbers, files and manifest" {
    a_run a title="A run of its own" target=0.3
    succeeds "$REPORT" a --out out
    says out/report.md "# A run of its own"
    local row
    for row in "Train loss** | 0.4000" "Time to target** | 4.02 s to 30 %" "Strategy** | ddp" "Ranks** | 2" "V** | 2" \
        "Global batch** | 64" "lr** | 0.01"; do says out/report.md "| **$row |"; done
    says out/report.md "**Test accuracy 70.00 %** (95 % interval 60.42 to 78.11, 100 samples) after 5 epochs of net on synthetic. An epoch took 1.00 s, the whole training 6.50 s."
    # Each of them once: there is no table of all runs.
    [ "$(grep -c '6\.50' out/report.md)" -eq 1 ] || fail "$(cat out/report.md)"
    lacks out/report.md "## All runs"
    says out/report.md "| **cat** | 50 | 70.00 % | [56.25, 80.90] |"
    says out/report.md "| **forward** | 468.75 | 30.0 % |"
    says out/report.md "add up to the wall time within 2 %"
    [ "$(json out/report.json "page['runs'][0]['split']['off']")" = 0 ]
    [ "$(json out/report.json "' '.join(f['path'] for f in page['files'] if f['role'] == 'output')")" = \
        "a/train/model.st.zst a/train/steps.st.zst a/evaluate/predictions.st.zst" ]
    # shellcheck disable=SC2016 # Markdown
    says out/report.md '| `a/train/manifest.yaml` | model.st.zst `'
    says out/report.md "train-ddp --out 'a folder'"
    [ "$(figure out/report.csv tiny.accuracy)" = 0.7 ]
    [ "$(figure out/report.csv tiny.seconds_per_epoch)" = 1 ]
    [ "$(figure out/report.csv tiny.step.load)" = 10 ]
    [ "$(figure out/report.csv tiny.epochs.1.seconds)" = 2 ]
    for file in report.html report.md report.csv; do
        says out/manifest.yaml "path: $file"
    done
    succeeds "$BIN/manifest" verify out/manifest.yaml
}

@test "one epoch is a line of the table, and no drawing with a lone dot" {
    a_run a epochs=2
    a_run b epochs=2,1
    local lang
    for lang in en zh; do
        succeeds "$REPORT" a --out "one-$lang" --lang "$lang"
        lacks "one-$lang/report.md" accuracy.svg
        [ ! -e "one-$lang/figures/accuracy.svg" ] || fail "one epoch has a drawing"
        says "one-$lang/report.md" "| **1** | "
        succeeds "$REPORT" b --out "two-$lang" --lang "$lang"
        says "two-$lang/report.md" accuracy.svg
    done
    says one-en/report.md "| Epoch | Train loss | Test accuracy | Seconds |"
}

@test "the page is self-contained, and text in it is escaped" {
    a_run a 'title=<script>alert("a & b")</script>'
    succeeds "$REPORT" a --out out
    says out/report.html '<h1>&lt;script&gt;alert(&quot;a &amp; b&quot;)&lt;/script&gt;</h1>'
    lacks out/report.html '<script'
    ! grep -Eq '(src|href)="?https?:|@import|url\([^#]' out/report.html || fail "the page loads external files"
    [ "$(grep -c '<svg ' out/report.html)" -eq 3 ] || fail "the page does not have three drawings"
    lacks out/report.html 'gnuplot'
    lacks out/report.html 'font-family="'
    [ -z "$(grep -o ' id="[^"]*"' out/report.html | sort | uniq -d)" ] || fail "an id is used twice"
}

@test "the author, the student number and the discussion" {
    a_run a start=2026-01-02T00:00:00Z
    printf '# Why\n\nThe *ranks* do <b>not</b> matter.\n' >own.md
    succeeds "$REPORT" a --out out --author "Li <Ming>" --student 20231122 --discussion own.md
    says out/report.html '<p class=by>Li &lt;Ming&gt; · student number 20231122 · A Processor, 4 cores · here · 2026-01-02</p>'
    says out/report.html '<h3>Why</h3>'
    says out/report.html '<p>The <em>ranks</em> do &lt;b&gt;not&lt;/b&gt; matter.</p>'
    says out/report.md '## Discussion'
    says out/report.md 'The *ranks* do \<b>not\</b> matter.'
    grep -q 'path: .*own.md' out/manifest.yaml
    # The discussion is part of the report's inputs; so are the names.
    local key
    key=$("$REPORT" a --out x --discussion own.md --print-key)
    echo more >>own.md
    [ "$("$REPORT" a --out x --discussion own.md --print-key)" != "$key" ]
    [ "$("$REPORT" a --out x --author A --print-key)" != "$("$REPORT" a --out x --author B --print-key)" ]
    # Empty names count as none.
    succeeds "$REPORT" a --out nameless --author '' --student '' --title ''
    says nameless/report.html '<p class=by>A Processor,'
    lacks nameless/report.html '<h1></h1>'
    # An empty discussion gives no section; a byte order mark is not text.
    printf '\357\273\277# Mine\r\n\r\ntext\r\n' >mark.md
    succeeds "$REPORT" a --out marked --discussion mark.md
    says marked/report.html '<h3>Mine</h3>'
    printf ' \n' >empty.md
    succeeds "$REPORT" a --out empty --discussion empty.md
    lacks empty/report.html Discussion
    fails_with 3 "cannot read 'none.md'" "$REPORT" a --out other --discussion none.md
    printf 'a\001b' >bad.md
    fails_with 3 "'bad.md' is not UTF-8 text" "$REPORT" a --out other --discussion bad.md
    printf '# \316\322\265\304\273\250\n' >bad.md
    fails_with 3 "'bad.md' is not UTF-8 text, but probably GBK: convert it with iconv -f GBK -t UTF-8" \
        "$REPORT" a --out other --discussion bad.md
    head -c 300000 /dev/zero | tr '\0' x >long.md
    fails_with 3 "'long.md': more than" "$REPORT" a --out other --discussion long.md
    [ ! -e other/manifest.yaml ]
}

# shellcheck disable=SC2016 # backticks and dollars are texts here
@test "strangers' texts are text on the page, in its Markdown and in the drawings" {
    local bad n=0
    # The last character is one of those that mark figures in the page's Markdown.
    for bad in '<script>x</script>' '](javascript:alert(1))' 'a|b' '`<b>`' '--><b>' '&lt;b&gt;' '<!-- folded -->' '$x$' $'\xee\x80\x80y'; do
        n=$((n + 1))
        a_run a "name=$bad" "title=$bad" "host=$bad"
        printf '%s\n\n# %s\n' "$bad" "$bad" >own.md
        succeeds "$REPORT" a --out "out$n" --author "$bad" --discussion own.md
        ! grep -iE '<(script|b)>|href="?j|title="report DIR... --why y' "out$n/report.html" || fail "$bad is read as HTML"
        [ "$(grep -c '<details class=fold id' "out$n/report.html")" -eq 3 ] || fail "$bad folds a section"
        ! sed 's/``*[^`]*``*//g' "out$n/report.md" | grep -E '(^|[^\])(<(script|b)>|\]\(javascript)' || fail "$bad is read as Markdown"
        ! grep -E '<(script|b)>' "out$n"/figures/*.svg || fail "$bad is read as SVG"
        ! grep $'\xee\x80' "out$n/report.md" || fail "$bad: a mark is left"
        rm -r a
    done
    # A quote would end a text of gnuplot, and a percent sign would begin the format of a tick.
    bad="'50 % of %s \`date\`"
    a_run a "name=$bad"
    succeeds "$REPORT" a --out literal
    says literal/figures/split.svg "$bad"
}

@test "bars without a length are drawn, too" {
    a_run a phases=0
    succeeds "$REPORT" a --out out
    [ -s out/figures/split.svg ]
}

@test "the answer comes first, with contents; formulas, files and environment are folded" {
    a_run a
    a_run b name=other epochs=2,2,2.02,1.98,2
    succeeds "$REPORT" b --baseline a --out out
    sed -n 5p out/report.md | grep -q '^\*\*other .*the model is the same, bit for bit\.$' || fail "$(head out/report.md)"
    says out/report.html '<a href="#s2">Time of a step</a>'
    says out/report.md '<!-- folded -->'
    says out/report.html '<summary><h2>Environment</h2></summary></details>'
    says out/report.html '<summary><h2>Files</h2></summary></details>'
    says out/report.html '<summary class=note>A verdict on time needs runs that are like for like'
}

@test "a step's time says what it waits for: the batch, other threads or ranks, and a core" {
    a_run one execution='{"machine": {"wall_seconds": 10, "cpu_seconds": 6, "waited_seconds": 4, "cores": 4}}'
    a_run ranks key=ranks name=ranks execution='{"vectors_per_reduction": 1}'
    succeeds "$REPORT" one --out out
    says out/report.md "| **load: the batch** | 156.25 | 10.0 % |"
    says out/report.md "| **wait: other threads** | 78.12 | 5.0 % |"
    says out/report.md "tiny: in any of these phases, its threads had no core for 40 % of the time in which they were ready to run."
    [ "$(figure out/report.csv tiny.no_core)" = 0.4 ]
    # The number of threads followed the machine; where it stayed the same, no line says so.
    local used='"threads_used": [{"threads": 2, "steps": 30, "seconds": 3}, {"threads": 4, "steps": 20, "seconds": 1}]'
    a_run fewer key=fewer name=fewer threads=4 execution="{$used}"
    a_run all key=all name=all threads=4 execution="{${used/2, /4, }}"
    succeeds "$REPORT" fewer --out fewer-threads
    says fewer-threads/report.md "fewer: for 75 % of the time of its steps, fewer than 4 threads computed: beside what else ran here, that was faster."
    [ "$(figure fewer-threads/report.csv fewer.fewer_threads)" = 0.75 ]
    succeeds "$REPORT" fewer --out fewer-threads --lang zh
    says fewer-threads/report.md "fewer：各步用时中有 75 % 由少于 4 个线程计算"
    succeeds "$REPORT" all --out all-threads
    lacks all-threads/report.md "threads computed"
    succeeds "$REPORT" ranks --out ranks-only
    says ranks-only/report.md "| **wait: other ranks and threads** |"
    lacks ranks-only/report.md "had no core"
    succeeds "$REPORT" one ranks --out both --lang zh
    says both/report.md "| **等待：其他线程或进程** |"
}

@test "Markdown links the figures, which are separate files" {
    real_files
    a_run a
    succeeds "$REPORT" a --out out
    says out/report.md '![loss](figures/loss.svg)'
    grep -q '<svg ' out/figures/loss.svg
    says out/manifest.yaml 'path: figures/loss.svg'
    [ "$(head -c 5 out/figures/loss.pdf)" = %PDF- ]
    says out/manifest.yaml 'path: figures/loss.pdf'
    sleep 1
    succeeds "$REPORT" a --out again
    cmp out/figures/loss.pdf again/figures/loss.pdf
}

# shellcheck disable=SC2016 # likewise
@test "pandoc makes report.tex, with the figures as PDF; the report is whole without it" {
    needs pandoc deps-latex
    real_files
    a_run a 'title=\input{/etc/passwd} $x$ <b>'
    succeeds "$REPORT" a --out out --author 李明
    says out/report.tex '\begin{document}'
    says out/report.tex 'ctexart'
    says out/report.tex '\section{Environment}'
    lacks out/report.tex '\input{/etc'
    lacks out/report.tex '\(x\)'
    says out/manifest.yaml 'path: report.tex'
    says out/report.tex '{figures/loss.pdf}'
    mkdir fake
    ln -s "$(command -v gnuplot)" fake/gnuplot
    local key
    key=$("$REPORT" a --out out --print-key)
    [ "$(PATH=$PWD/fake "$REPORT" a --out out --print-key)" != "$key" ]
    succeeds env PATH="$PWD/fake" "$REPORT" a --out none
    [ -z "$stderr" ] || fail "$stderr"
    [ ! -e none/report.tex ]
    printf '#!/bin/sh\ncat\n' >fake/pandoc
    chmod +x fake/pandoc
    TOOL=report fails_with 1 "cannot make report.tex: 'pandoc' wrote no whole document" \
        env PATH="$PWD/fake:/usr/bin:/bin" "$REPORT" a --out other
    [ ! -e other/manifest.yaml ]
}

@test "the same runs give the same bytes" {
    a_run a
    a_run b name=other right=60
    succeeds "$REPORT" a b --baseline a --out one
    succeeds "$REPORT" a b --baseline a --out two
    for file in report.html report.md report.csv report.tex; do
        [ ! -e "one/$file" ] || cmp "one/$file" "two/$file"
    done
    [ "$("$REPORT" a --out x --print-key)" = "$("$REPORT" a --out y --print-key)" ]
    [ "$("$REPORT" a --out x --print-key)" != "$("$REPORT" a --out x --title T --print-key)" ]
    [ "$("$REPORT" a --out x --print-key)" != "$("$REPORT" a --out x --lang zh --print-key)" ]
    [ "$("$REPORT" a --out x --print-key)" != "$("$REPORT" b --out x --print-key)" ]
    nothing_in x
}

@test "without gnuplot the report is still written, with a note" {
    a_run a
    mkdir empty
    succeeds env PATH="$PWD/empty" "$REPORT" a --out out
    says out/report.md "gnuplot was not found"
    lacks out/report.html '<svg'
}

@test "stage folders, seed folders and an experiment folder give the same report" {
    a_run exp/seed-1
    a_run exp/seed-2 seed=2 right=71
    succeeds "$REPORT" exp/seed-1/train exp/seed-1/evaluate exp/seed-2/evaluate exp/seed-2/train --out stages
    succeeds "$REPORT" exp/seed-1 exp/seed-2/ --out seeds
    succeeds "$REPORT" exp exp/seed-1 --out experiment
    cmp stages/report.md seeds/report.md
    cmp seeds/report.md experiment/report.md
    says seeds/report.md "| **tiny-seed-2** | 71.00 % |"
    says seeds/report.md "| **tiny** | 2 | 70.50 % | 0.71 |"
}

@test "counts of one are singular" {
    a_run exp/seed-1 epochs=2
    a_run exp/seed-2 seed=2 epochs=2
    a_run b name=other
    succeeds "$REPORT" exp/seed-1 --out one
    says one/report.md "100 samples) after 1 epoch of net"
    succeeds "$REPORT" exp/seed-1 --out chinese --lang zh
    says chinese/report.md "上训练 1 轮。"
    run "$REPORT" exp/seed-1 --why tiny.seconds_per_epoch
    [[ $output == *"median of 1 epoch)"* ]] || fail "$output"
}

@test "drawings with whiskers are valid files, too" {
    real_files
    thrice a
    thrice b name=slow epochs=4,2,2.02,1.98,2
    succeeds "$REPORT" a b --baseline a --out out
    grep -q '<svg' out/figures/*.svg
    local drawing
    for drawing in out/figures/*.svg; do
        "$PYTHON" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$drawing" || fail "$drawing"
        [ -s "${drawing%.svg}.pdf" ] || fail "no PDF of $drawing"
    done
}

@test "a like-for-like speed-up has an interval and a verdict" {
    thrice a
    thrice b name=slow epochs=4,2,2.02,1.98,2 right=71
    thrice c name=same epochs=2,1.01,0.99,1.02,0.98
    succeeds in_turns "$REPORT" a b c --baseline a --out out
    [[ $(figure out/report.csv slow.speedup) =~ ^0\.(50|49) ]] || fail "$(figure out/report.csv slow.speedup)"
    grep -Eq '^\| \*\*slow\*\* \| 0\.50× \| \[0\.4[0-9], 0\.5[0-9]\] \| slower \| [0-9.e-]+ \| yes \|' out/report.md
    grep -Eq '^\| \*\*same\*\* .* \| the same within ±3 % \| 1 \| yes \|' out/report.md
    grep -Eq '^\| \*\*same\*\* \| \+0\.00 \| +\| same model \|' out/report.md
    grep -q '^slow.speedup,slow,speedup,0\.[45].*,x,slower,' out/report.csv
    # --why and --check print the same.
    succeeds in_turns "$REPORT" b --baseline a --why slow.speedup
    [[ ${lines[0]} =~ ^"slow.speedup = "0\.[45][0-9]*" x, slower"$ ]] || fail "$output"
    echo 'slow.speedup: [0.4, 0.6]' >bands.yaml
    succeeds in_turns "$REPORT" b --baseline a --check bands.yaml
    [[ $output == *"inside   slow.speedup = 0."*", expected [0.4, 0.6]: slower"* ]] || fail "$output"
    [ "$(json out/report.json "page['runs'][2]['same_model_as']")" = tiny ]
    says out/report.md " as tiny |"
}

@test "several runs of one experiment have the names of the folders that were typed" {
    a_run one name=tiny seed=3
    a_run two name=tiny seed=4
    succeeds "$REPORT" one/ ./two --summary
    [ "$(cut -d : -f 1 <<<"$output" | tr '\n' ' ')" = "one two " ] || fail "$output"
    # An experiment's own folder, a key, a number and the same name twice say less than the seed.
    mkdir -p tiny/x other
    mv one tiny/seed-3
    cp -r two other/
    cp -r two 0123456789ab
    sed -i 's/^key: .*/key: "0"/; /^digest/d' other/two/train/manifest.yaml
    for folder in tiny/x/../../two 0123456789ab; do
        succeeds "$REPORT" tiny/seed-3 "$folder" --summary
        [[ $output == "tiny-seed-3: "* ]] || fail "$output"
    done
    [[ $output == *"tiny-seed-4: "* ]] || fail "$output"
}

@test "without a plan the page advises commands of the tools, and no settings of make" {
    local language
    a_run one name=tiny seed=3
    a_run two name=tiny seed=4 batch=32
    for language in en zh; do
        succeeds "$REPORT" one two --baseline one --lang $language --out out
        says out/report.md "report one two --baseline one --turns turns --out with-turns"
        says out/report.md "time-runs --out turns "
        says out/report.md "\`--set seed=…\`"
        ! grep -n 'EXECUTIONS\|SET=' out/report.md out/report.csv out/report.txt || fail "settings of make"
    done
}

@test "whole executions give no verdict, and the page no ratio" {
    a_run a epochs=2,1,1.02,0.98,1.01,0.99
    a_run b name=slow epochs=4,2,2.02,1.98,2.01,1.99
    succeeds "$REPORT" b --baseline a --out out
    lacks out/report.md "×"
    says out/report.md "| **slow** | no verdict: took no turns | yes |"
    [ "$(json out/report.json "'%.2f %s' % tuple(page['experiments'][1]['compared']['ratio'][k] for k in ('value', 'low'))")" = "0.50 None" ]
    [ "$(json out/report.json "'%.2f %.2f' % tuple(page['experiments'][1]['compared']['spread'][k] for k in ('low', 'high'))")" = "0.49 0.52" ]
    grep -q '^slow.speedup,slow,speedup,0.5,,,x,no verdict: took no turns,' out/report.csv
}

@test "one timed epoch on each side gives no spread" {
    a_run a epochs=2,1
    a_run b name=slow epochs=4,2
    succeeds "$REPORT" b --baseline a --out out
    [ "$(json out/report.json "page['experiments'][1]['compared']['spread']['low']")" = None ]
}

@test "a wide interval is undecided, not 'no difference'" {
    a_run a -- b name=other
    "$PYTHON" "$ROOT/tests/fixtures/make_turns.py" turns spread=0.2 a b
    succeeds "$REPORT" b --baseline a --turns turns --out out
    grep -Eq '^\| \*\*other\*\* \|.* \| undecided \| 0\.[0-9]+ \|' out/report.md
    [ "$(json out/report.json "page['experiments'][1]['compared']['time']['kind']")" = undecided ]
}

@test "three timings of one seed do not count as three seeds" {
    local n
    for n in 1 2 3; do
        a_run "a/$n" key="a$n" right=70
        a_run "b/$n" key="b$n" right=80 name=better
    done
    succeeds "$REPORT" b --baseline a --out out
    says out/report.md "| of two models: different | 0.002 | McNemar's, 100 samples of one seed |"
    [ "$(json out/report.json "page['experiments'][1]['compared']['accuracy_verdict']['of_models']")" = True ]
}

@test "accuracies of one seed that may or may not differ are undecided" {
    a_run a
    a_run b name=other right=71
    succeeds "$REPORT" b --baseline a --out out
    says out/report.md "| of two models: undecided | 1 | McNemar's, 100 samples of one seed |"
}

@test "runs that are not like for like have no speed-up, and the reason is given" {
    a_run base
    while IFS='|' read -r change reason; do
        rm -rf other out
        # shellcheck disable=SC2086 # several settings
        a_run other name=other $change
        succeeds "$REPORT" other --baseline base --out out
        says out/report.md "| **other** | not like for like: $reason |"
        [ -z "$(figure out/report.csv other.speedup)" ]
    done <<'END'
batch=256 workers=4|global batch 256 vs 64; loader workers 4 vs 0
ranks=1 workers=4|loader workers 4 vs 0
shards=4 workers=4|loader workers 4 vs 0
host=there|host there vs here
data=more|data differs
data=more workers=4|data differs; loader workers 4 vs 0
END
}

@test "runs that differ in one setting are compared, and the verdict names it" {
    local change setting
    a_run base
    while IFS='|' read -r change setting; do
        rm -rf other out
        a_run other name=other "$change"
        succeeds "$REPORT" other --baseline base --out out
        says out/report.md "| **other** | $setting: no verdict: took no turns |"
        says out/report.md "other differs in one setting: $setting."
        grep -q "^other.speedup,.*$setting: no verdict" out/report.csv
        [ -n "$(figure out/report.csv other.speedup)" ]
    done <<'END'
batch=256|global batch 256 vs 64
workers=4|loader workers 4 vs 0
model=net-big|model net-big vs net
epochs=2,1,1,1|epochs 4 vs 5
END
}

@test "different arithmetic is named next to the speed-up" {
    a_run a
    a_run b name=four shards=4
    succeeds "$REPORT" b --baseline a --out out
    says out/report.md "| no: V 4 vs 2; batch norm over 16 vs 32 samples |"
}

@test "three common seeds: means, deviations, a paired test" {
    for seed in 1 2 3; do
        a_run "a/seed-$seed" seed=$seed right=$((70 + seed))
        a_run "b/seed-$seed" seed=$seed right=$((74 + 2 * seed)) name=better
    done
    succeeds "$REPORT" b --baseline a --out out
    # Differences 5, 6, 7 points: t = 6 / (1 / sqrt 3) with 2 degrees of freedom.
    says out/report.md "| different | 0.0091 | paired t, 3 seeds |"
    says out/report.md "| **better** | 3 | 78.00 % | 2.00 | [73.03, 82.97] |"
    [ "$(figure out/report.csv better.mean_accuracy)" = 0.78 ]
}

@test "two common seeds: both count, but give no verdict" {
    a_run a/seed-1 right=70
    a_run a/seed-2 seed=2 right=50
    a_run b/seed-1 name=other shards=1 right=60
    a_run b/seed-2 name=other shards=1 seed=2 right=75
    succeeds "$REPORT" b --baseline a --out out
    says out/report.md "| **other** | +7.50 | not tested: too few common seeds |"
}

@test "a resumed run shows no times, and gives the reason" {
    a_run a resumed=1
    succeeds "$REPORT" a --out out
    says out/report.md "| **Train loss** | 0.4000 |"
    lacks out/report.md "An epoch took"
    says out/report.md "No times are shown for tiny: it was resumed, so they come from several executions."
    says out/report.md "tiny: no breakdown of its time: it was resumed."
    grep -q '^tiny.seconds_per_epoch,tiny,seconds_per_epoch,,,,s,no time: the run was resumed,' out/report.csv
    a_run b name=whole
    succeeds "$REPORT" a --baseline b --out out
    says out/report.md "not like for like: tiny was resumed"
}

@test "a run that --max-restarts restarted is not called resumed" {
    a_run a restarted=1
    a_run b name=whole
    succeeds "$REPORT" a --baseline b --out out
    says out/report.md "| **tiny** | 70.00 % |  | 2 |"
    says out/report.md "| **tiny** |  | 0.4000 | ddp |"
    says out/report.md "No times are shown for tiny: it was restarted after a process died"
    says out/report.md "tiny: no breakdown of its time: it was restarted"
    says out/report.md "not like for like: tiny was restarted"
    grep -q '^tiny.seconds_per_epoch,tiny,seconds_per_epoch,,,,s,no time: the run was restarted,' out/report.csv
    succeeds "$REPORT" a --baseline b --out out --lang zh
    says out/report.md "tiny 曾因进程意外终止而重新启动"
    grep -q "^tiny.speedup,.*not like for like: tiny was restarted" out/report.csv
    # If it was also resumed, that explains the segments anyway.
    a_run c resumed=1 restarted=1
    succeeds "$REPORT" c --out both
    [ "$(json both/report.json "page['runs'][0]['no_times']")" = resumed ]
}

@test "more ranks and threads than cores: a mark at every time, and one footnote" {
    a_run a ranks=4 threads=2
    succeeds "$REPORT" a --out out
    says out/report.md "An epoch took 1.00† s, the whole training 6.50† s."
    says out/report.md "tiny†, µs / sample"
    [ "$(grep -c "Times with † are of " out/report.md)" -eq 1 ] || fail "the footnote is missing"
    [ "$(json out/report.json "' '.join(str(page['runs'][0]['crowd'][k]) for k in ('ranks', 'threads', 'devices'))")" = "4 2 4" ]
    lacks out/report.md SIMULATED
    grep -q '^tiny.seconds_per_epoch,.*,SIMULATED,' out/report.csv
    thrice b name=single ranks=1 epochs=1,0.5,0.5,0.5
    thrice c ranks=4 threads=2 epochs=2,1,1,1
    succeeds in_turns "$REPORT" c --baseline b --out out
    says out/report.md "]† |"
    # A cost measured here is not a verdict on the method.
    grep -Eq '^\*\*tiny costs 9[0-9]–10[0-9] % more time on these 4 cores\*\*' out/report.md
    says out/report.md "| more time with 4 ranks on these 4 cores |"
    says out/report.md "Times with † are of 4 ranks of 2 threads on 4 cores: they say nothing about as many devices."
    grep -q '^tiny.speedup,.*,SIMULATED: costs 9' out/report.csv
}

@test "times with as many ranks and threads as cores have no mark" {
    a_run a ranks=4 threads=1
    a_run b ranks=2 threads=2
    succeeds "$REPORT" a --out out
    lacks out/report.md "†"
    lacks out/report.csv SIMULATED
    succeeds "$REPORT" b --out out
    lacks out/report.csv SIMULATED
}

@test "a disturbed machine is stated once, and its times count" {
    # A baseline that waited 73 % of its time because another process used both cores.
    local machine='"machine": {"wall_seconds": 10, "cpu_seconds": 5.4, "waited_seconds": 14.6, "others_seconds": 14, "cores": 2}'
    thrice a epochs=4,2.49,2.49,2.49 execution="{$machine}"
    thrice b name=ddp epochs=2,1,1,1 execution="{${machine/14,/13,}}"
    succeeds "$REPORT" b --baseline a --out out
    says out/report.md "Other programs used up to 1.4 of 2 cores in 6 of 6 executions, and threads that were ready to run had no core for up to 73 % of the time. Times and their intervals include what that cost."
    awk '/^## / { exit } 1' out/report.md | grep -q "ther programs used" || fail "it is not on the first screen"
    [ "$(grep -c "ther programs used" out/report.md)" -eq 1 ] || fail "$(cat out/report.md)"
    says out/report.md "| 2.49 |"
    # Without the waiting time. An old manifest has no figures at all.
    thrice c name=full execution='{"machine": {"wall_seconds": 10, "cpu_seconds": 10, "others_seconds": 9.9, "cores": 2}}'
    thrice d name=old
    succeeds "$REPORT" c --baseline d --out unknown
    says unknown/report.md "Other programs used up to 1.0 of 2 cores in 3 of 6 executions. Times"
    # No thread waited, because fewer of them computed.
    thrice f name=fewer threads=2 execution='{"threads_used": [{"threads": 1, "steps": 50, "seconds": 5}], "machine": {"wall_seconds": 10, "cpu_seconds": 10, "waited_seconds": 0.1, "others_seconds": 9.9, "cores": 2}}'
    succeeds "$REPORT" f --baseline d --out fewer
    says fewer/report.md "Other programs used up to 1.0 of 2 cores in 3 of 6 executions, and"
    # Four ranks that wait for each other.
    thrice e name=quiet execution='{"machine": {"wall_seconds": 10, "cpu_seconds": 19, "waited_seconds": 9, "others_seconds": 0.1, "cores": 2}}'
    succeeds "$REPORT" e --baseline d --out quiet
    lacks quiet/report.md "ther programs"
}

@test "models that differ in V alone: the answer says what batch norm averages over, and what makes them one" {
    a_run a name=single shards=1 right=90 -- b name=dp ranks=4 shards=4 right=60 -- c name=ddp ranks=4 shards=4 right=60
    succeeds "$REPORT" b c --baseline a --out out
    local one="With one V, the number of parts that a batch is cut into, all three are the same model, bit for bit: \`--set virtual_shards=4\` shows it."
    awk '/^!\[/ { exit } 1' out/report.md >lead
    says lead "$one"
    [ "$(grep -c ': batch norm over 16 samples instead of 64 costs it\.$' out/report.md)" -eq 2 ] || fail "$(cat out/report.md)"
    [ "$(json out/report.json "(page['evidence']['one_v'], [(e['shards'], e['batch_norm']) for e in page['experiments']])")" = "(4, [(1, 64), (4, 16), (4, 16)])" ]
    [ "$(compared out/report.json dp "c['batch_norm'], c['shards'], c['but_shards']")" = "({'from': 64, 'to': 16}, {'from': 1, 'to': 4}, True)" ]
    succeeds "$REPORT" b c --baseline a --out zh --lang zh
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    says zh/report.md '3 个实验的模型逐位相同：用 `--set virtual_shards=4` 即可看到。'
    says zh/report.md '原因是批归一化在 16 个样本上求平均，而不是 64 个，使之降低。'
    # Two of one V need no word on it.
    succeeds "$REPORT" c --baseline b --out out
    lacks out/report.md "With one V"
    [ "$(json out/report.json "page['evidence']['one_v']")" = None ]
    # Where the batch differs, too, one V does not make one model.
    a_run d name=large ranks=4 shards=4 batch=256 right=60
    succeeds "$REPORT" d --baseline a --out out
    lacks out/report.md "With one V"
    lacks out/report.md "costs it"
    says out/report.md "V, the number of parts that a batch is cut into, differs, and accuracies may differ for this reason alone: single 1 (batch norm over 64 samples), large 4 (batch norm over 64 samples)."
    # Nor where the world size does not divide it.
    a_run e name=three ranks=3 shards=3 right=60
    succeeds "$REPORT" e --baseline b --out out
    lacks out/report.md "With one V"
}

@test "phases that do not add up are reported" {
    a_run a phases=0.95
    succeeds "$REPORT" a --out out
    says out/report.md "tiny: the phases do NOT add up to the wall time: -5.00 %"
    lacks out/report.md "within 2 %"
}

@test "published figures are shown next to ours" {
    a_run a 'published=[{"source": "R001", "accuracy": 64.16, "seconds_per_epoch": 1.8, "note": "elsewhere"}]'
    succeeds "$REPORT" a --out out
    says out/report.md "| **tiny** | Test accuracy | 64.16 % | 70.00 % | R001 | elsewhere |"
    says out/report.md "| **tiny** | s / epoch | 1.8 | 1.00 | R001 | elsewhere |"
}

@test "time to the target accuracy, in the summary, in a comparison, and with --why" {
    # The accuracy after epoch n is n tenths.
    a_run a target=0.3
    a_run b name=other right=60 target=0.3 epochs=3,2,2.04,1.96,2
    a_run c name=short target=0.3 epochs=2,1
    a_run d name=early resumed=1 target=0.3
    succeeds "$REPORT" b c d --baseline a --out out
    says out/report.md "| **short** | 3.50 | 30 % not reached |"
    says out/report.md "| 4.02 s to 30 % |"
    says out/report.md "| 7.04 s to 30 % |"
    says out/report.md "| 30 % not reached |"
    says out/report.md "| 30 % reached |"
    [ "$(figure out/report.csv tiny.seconds_to_target)" = 4.02 ]
    grep -qF 'short.seconds_to_target,short,seconds_to_target,,,,s,30 % not reached,' out/report.csv
    succeeds "$REPORT" a b --why other.seconds_to_target
    [[ $output == *"7.04 (sum of the first 3 epochs): agrees"* ]] || fail "$output"
    # Without a target it is not mentioned.
    a_run e name=none
    succeeds "$REPORT" e --out out2
    lacks out2/report.md "reached"
    lacks out2/report.csv "seconds_to_target"
}

@test "a run without evaluation, and an evaluation without its run" {
    a_run a
    succeeds "$REPORT" a/train --out train
    says train/report.md "**Test accuracy 70.00 %**"
    lacks train/report.md "Accuracy by class"
    succeeds "$REPORT" a/evaluate --out evaluate
    says evaluate/report.md "**Test accuracy 70.00 %** (95 % interval 60.42 to 78.11, 100 samples)."
    says evaluate/report.md "an evaluation without its training run"
}

@test "in Chinese" {
    a_run a
    a_run b name=other batch=128 host=there
    a_run c name=larger batch=128
    succeeds "$REPORT" b c --baseline a --out out --lang zh
    says out/report.html '<html lang=zh>'
    says out/report.md "| **larger** | 全局批量 128 对 64：无结论"
    lacks out/report.md "not like for like"
}

@test "--why traces a figure back to its files and recomputes it" {
    a_run a
    succeeds "$REPORT" a --why tiny.accuracy
    [[ ${lines[0]} == "tiny.accuracy = 0.7 fraction" ]]
    [[ $output == *"a/evaluate/manifest.yaml: results.accuracy"* ]]
    [[ $output == *"(70 of 100 correct): agrees"* ]]
    [[ $output == *"made by"*"train-ddp: a/train/manifest.yaml"* ]]
    for metric in test_loss class.dog seconds_per_epoch train_loss step.backward step.wall epochs.2.loss epochs.1.seconds steps; do
        succeeds "$REPORT" a --why "tiny.$metric"
        [[ $output == *": agrees"* ]] || fail "tiny.$metric: $output"
    done
    fails_with 2 "did you mean 'tiny.accuracy'" "$REPORT" a --why tiny.acuracy
    a_run b name=other
    succeeds "$REPORT" b --baseline a --why other.speedup
    [[ $output == *"other.seconds_per_epoch = 1 s"*"tiny.seconds_per_epoch = 1 s"* ||
        $output == *"tiny.seconds_per_epoch = 1 s"*"other.seconds_per_epoch = 1 s"* ]]
}

@test "--why finds a figure that its file does not support, and a file that was replaced" {
    a_run a
    sed -i 's/"accuracy": 0.7,/"accuracy": 0.8,/' a/evaluate/manifest.yaml
    fails_with 4 "recomputed" "$REPORT" a --why tiny.accuracy
    [[ $output == *"DOES NOT AGREE"* ]]
    a_run b
    a_run c right=10
    cp c/evaluate/predictions.st.zst b/evaluate/predictions.st.zst
    fails_with 4 "not the file that the manifest recorded" "$REPORT" b --why tiny.accuracy
    rm b/evaluate/predictions.st.zst
    fails_with 3 "predictions.st.zst" "$REPORT" b --why tiny.accuracy
    head -c 100 c/train/steps.st.zst >d && mv d c/train/steps.st.zst
    fails_with 3 "steps.st.zst" "$REPORT" c --out out
    nothing_in out
}

@test "--check compares figures with bands" {
    a_run a
    printf 'accuracy: [0.6, 0.8]\ntiny.train_loss: [0.3, 0.5]\n' >inside.yaml
    printf 'accuracy: [0.71, 0.8]\n' >outside.yaml
    succeeds "$REPORT" a --check inside.yaml --out out
    [[ $output == *"inside   tiny.accuracy = 0.7, expected [0.6, 0.8]"* ]]
    [ -e out/manifest.yaml ]
    fails_with 4 "outside the bands of 'outside.yaml': tiny.accuracy" "$REPORT" a --check outside.yaml --out out
    [[ $output == *"OUTSIDE  tiny.accuracy = 0.7, expected [0.71, 0.8]"* ]]
    [ ! -e out/manifest.yaml ] || fail "a report outside its band counts as finished"
    [ -e out/report.html ]
    echo 'acuracy: [0, 1]' >wrong.yaml
    fails_with 3 "wrong.yaml:1:.*'acuracy'" "$REPORT" a --check wrong.yaml
    echo 'accuracy: 0.7' >wrong.yaml
    fails_with 3 'wrong.yaml:1:.*expected \[LOW, HIGH\]' "$REPORT" a --check wrong.yaml
    fails_with 3 "none.yaml" "$REPORT" a --check none.yaml
    a_run b resumed=1
    echo 'seconds_per_epoch: [0, 2]' >time.yaml
    fails_with 4 "tiny.seconds_per_epoch" "$REPORT" b --check time.yaml
}

@test "a folder that is not a finished run is refused" {
    mkdir empty
    fails_with 3 "'empty': no manifest.yaml" "$REPORT" empty --out out
    fails_with 3 "'nowhere'" "$REPORT" nowhere --out out
    a_run a
    rm a/train/manifest.yaml
    fails_with 3 "a/train/manifest.yaml" "$REPORT" a --out out
    a_run b
    a_run c seed=2
    cp c/train/manifest.yaml c/train/steps.st.zst b/train/
    fails_with 3 "a model that train did not write" "$REPORT" b --out out
    a_run d
    sed -i 's/"tool": "train-ddp"/"tool": "shard"/' d/train/manifest.yaml
    fails_with 3 "written by 'shard'" "$REPORT" d --out out
    a_run e
    sed -i 's/"train_loss": 0.4/"train_loss": "much"/' e/train/manifest.yaml
    fails_with 3 "e/train/manifest.yaml:[0-9]+:[0-9]+: .*train_loss" "$REPORT" e --out out
    a_run f
    sed -i 's/"confusion": \[/"confusion": [[1, 1], /' f/evaluate/manifest.yaml
    fails_with 3 "f/evaluate/manifest.yaml:.*confusion" "$REPORT" f --out out
    nothing_in out
}

@test "an output that cannot be written is an error" {
    a_run a
    touch file
    fails_with 1 "file" "$REPORT" a --out file/out
    TOOL=report fails_with 1 "No space" sh -c "'$REPORT' a --why tiny.accuracy >/dev/full"
}

@test "a gnuplot that fails or draws nothing is reported, and no manifest is written" {
    a_run a
    mkdir fake
    printf '#!/bin/sh\nexit 7\n' >fake/gnuplot
    chmod +x fake/gnuplot
    TOOL=report fails_with 1 "cannot draw 'accuracy': 'gnuplot' failed with exit code 7" \
        env PATH="$PWD/fake:$PATH" "$REPORT" a --out out
    [ ! -e out/manifest.yaml ]
    printf '#!/bin/sh\necho nothing\n' >fake/gnuplot
    TOOL=report fails_with 1 "'gnuplot' wrote no drawing: does it have the svg terminal" \
        env PATH="$PWD/fake:$PATH" "$REPORT" a --out out
    # All drawings are made in one run: the first that is not there is named.
    printf '#!/bin/sh\necho "<svg></svg>"\necho "<svg>"\n' >fake/gnuplot
    TOOL=report fails_with 1 "cannot draw 'loss': 'gnuplot' wrote only a part of it" \
        env PATH="$PWD/fake:$PATH" "$REPORT" a --out out
    [ ! -e out/manifest.yaml ]
}

@test "an incomplete PDF is an error, even if rsvg-convert succeeds" {
    a_run a
    mkdir fake
    local made
    for made in '' '%PDF-1.7 and no end'; do
        printf '#!/bin/sh\ncat >/dev/null\necho "%s"\n' "$made" >fake/rsvg-convert
        chmod +x fake/rsvg-convert
        TOOL=report fails_with 1 "'rsvg-convert' wrote no whole PDF" env PATH="$PWD/fake:$PATH" "$REPORT" a --out out
        [ ! -e out/manifest.yaml ]
    done
}

@test "reports and answers contain no control characters and no spreadsheet formulas" {
    local file bad
    # Escape sequences of seven and of eight bits, and a character that reverses the text direction.
    printf -v bad '\\u001b[31m\\u009b31m\\u202e'
    a_run a name='=1+1' "title=T" key=k
    "$PYTHON" - "$bad" <<'END'
import json, sys
path = "a/train/manifest.yaml"
m = json.load(open(path))
bad = json.loads('"' + sys.argv[1] + '"')
m["parameters"]["title"] += bad
m["run"]["host"] += bad
m["command"].append(bad)
json.dump(m, open(path, "w"))
END
    cp -r a "$(printf 'b\033[31m\302\233')"
    succeeds "$REPORT" "$(printf 'b\033[31m\302\233')" --out out
    for file in out/report.* out/figures/*.svg; do
        ! LC_ALL=C grep -q "$(printf '[\033\177]\|\302[\200-\237]\|\342\200\256')" "$file" || fail "$file has control characters"
    done
    ! grep -E '(^|,)"?[=+@-][^,]*[^-+.,0-9e]' out/report.csv || fail "a formula"
    says out/report.csv "'=1+1"
    succeeds "$REPORT" "$(printf 'b\033[31m\302\233')" --summary
    [[ $output != *$'\033'* ]]
    succeeds "$REPORT" "$(printf 'b\033[31m\302\233')" --why "=1+1.accuracy"
    [[ $output != *$'\033'* ]]
    fails_with 3 'no manifest' "$REPORT" "$(printf 'c\033[31m\302\233')" --out out2
    [[ $stderr != *$'\033'* && $stderr != *$'\302\233'* ]]
}

# standings FILE: which is the fastest, which cannot be told from it, and which are behind.
standings() {
    json "$1" "[e['in_time'] for e in page['experiments']]"
}

@test "which is the fastest: one, those that cannot be told apart, or no verdict" {
    local same=epochs=2,1,1.02,0.98,1
    thrice a name=a epochs=4,4,4.04,3.96,4
    thrice b name=b epochs=2,2,2.02,1.98,2
    thrice c name=c "$same"
    succeeds in_turns "$REPORT" b c --baseline a --out out
    says out/report.md '**c is the fastest**: 4.00 times as fast [3.94, 4.06], compared with a.'
    [ "$(standings out/report.json)" = "['behind', 'behind', 'first']" ]
    thrice d name=d "$same"
    succeeds in_turns "$REPORT" b c d --baseline a --out out
    says out/report.md '**c and d are the fastest, and cannot be told apart.**'
    [ "$(standings out/report.json)" = "['behind', 'behind', 'first', 'level']" ]
    succeeds in_turns "$REPORT" b c d --baseline a --out out --lang zh
    says out/report.md '**c、d 最快，彼此无法区分。**'
    # The baseline itself.
    succeeds in_turns "$REPORT" a b --baseline c --out out
    says out/report.md '**c is the fastest**.'
    thrice e name=e "$same"
    succeeds in_turns "$REPORT" d e --baseline c --out out
    says out/report.md '**No difference in time can be told: c and d and e.**'
    # More ranks than cores have a place on these cores only.
    thrice f name=f ranks=8 epochs=2,0.5,0.51,0.49,0.5
    succeeds in_turns "$REPORT" c f --baseline a --out out
    says out/report.md '**f is the fastest on these 4 cores**.'
    [ "$(standings out/report.json)" = "['behind', 'behind', 'first']" ]
    a_run g name=g
    a_run h name=h
    succeeds "$REPORT" g h --baseline a --out out
    says out/report.md '**There is no verdict on which is the fastest.**'
    [ "$(standings out/report.json)" = "[None, None, None]" ]
}

# notes FILE: the small print of the first screen.
notes() {
    awk '/^## / { exit } /^<small>/ { print }' "$1" | tail -n +2
}

@test "what decides is text of the answer; how figures were made is one short line of small print" {
    thrice a name=single ranks=1 cores=2 shards=1 right=90
    thrice b name=ddp ranks=4 cores=2 shards=4 right=60 workers=2
    thrice c name=dp ranks=1 cores=2 right=60
    succeeds in_turns "$REPORT" b c --baseline a --out out
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    says out/report.md 'Times with † are of 4 ranks on 2 cores: they say nothing about as many devices. With one seed of each, the test images compare these models, not the methods: the commands below with `--set seed=…` and other folders, all given to `report`, show whether a difference is chance.'
    [ "$(notes out/report.md)" = "<small>Every run was executed 3 times or more, and gave the same model bit for bit each time. For the times per epoch, arms took turns: 5 executions of 50 turns each.</small>" ] || fail "$(notes out/report.md)"
    # The advice is given once.
    [ "$(grep -c 'TIME=0\|time-runs' <(awk '/^## / { exit } 1' out/report.md))" -eq 0 ]
    a_run d name=one
    a_run e name=two epochs=2,2,2.02,1.98,2
    succeeds "$REPORT" e --baseline d --out out
    says out/report.md 'A verdict on time needs trainings that took turns:'
    [ "$(grep -c 'time-runs' <(awk '/^## / { exit } 1' out/report.md))" -eq 1 ]
    [ "$(notes out/report.md)" = "<small>Each run was executed once.</small>" ] || fail "$(notes out/report.md)"
}
