#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# report.json, and pages from templates: Lockstep's in every language, and an author's own.

load helpers
load reports

setup() {
    begin_report
}

two_runs() {
    thrice single name=single ranks=1 right=64
    thrice ddp4 name=ddp4 cores=8 ranks=4 right=60 epochs=2,0.5,0.51,0.49,0.5
}

@test "report.json has every figure of report.csv, and the verdicts" {
    two_runs
    succeeds in_turns "$REPORT" single ddp4 --baseline single --out out
    [ "$(json out/report.json "page['schema']")" = lockstep.facts/1 ]
    [ "$(json out/report.json "page['kind']")" = comparison ]
    [ "$(json out/report.json "' '.join(f['id'] for f in page['figures'])")" = \
        "$(tail -n +2 out/report.csv | cut -d , -f 1 | tr '\n' ' ' | sed 's/ $//')" ]
    [ "$(json out/report.json "page['experiments'][1]['compared']['time']['kind']")" = different ]
    [ "$(json out/report.json "round(page['experiments'][1]['compared']['ratio']['value'], 2)")" = 2.0 ]
    [ "$(json out/report.json "page['experiments'][0]['compared']")" = None ]
    # The same results give the same bytes; a language changes words, not facts.
    succeeds in_turns "$REPORT" single ddp4 --baseline single --out again
    cmp out/report.json again/report.json
    succeeds in_turns "$REPORT" single ddp4 --baseline single --lang zh --out zh
    cmp <(sed 's/"language":"en"//' out/report.json) <(sed 's/"language":"zh"//' zh/report.json)
}

@test "no number of report.md is missing in report.json" {
    two_runs
    a_run other name=other seed=3 right=71
    local language
    for language in en zh; do
        rm -rf out
        succeeds "$REPORT" single ddp4 other --baseline single --lang "$language" --out out
        succeeds "$PYTHON" "$ROOT/tests/python/report_numbers.py" out/report.json out/report.md
    done
    succeeds "$REPORT" other --out out
    succeeds "$PYTHON" "$ROOT/tests/python/report_numbers.py" out/report.json out/report.md
}

@test "the findings of an audit are on the page of a reproduction, the same facts in each language" {
    thrice single name=single ranks=1
    cat >claim.yaml <<'END'
schema: lockstep.claim/1
name: made-up
rows: [{name: "*a* <b>|", epochs: 10, seconds_per_epoch: 10.0, total_seconds: 9, where: "[t](u)"}]
END
    cat >plan.yaml <<'END'
schema: lockstep.plan/1
kind: reproduction
name: list
reports: [{source: R1, claim: claim.yaml}]
runs: [{name: single, source: R1}]
END
    local language
    for language in en zh; do
        succeeds "$REPORT" single --plan plan.yaml --lang "$language" --out "$language"
        succeeds "$PYTHON" "$ROOT/tests/python/report_numbers.py" "$language/report.json" "$language/report.md"
    done
    cmp <(sed 's/"language":"en"//' en/report.json) <(sed 's/"language":"zh"//' zh/report.json)
    [ "$(json en/report.json "page['reports'][0]['findings'][0]['sums'][0]['sum']['value']")" = 100 ]
    says en/report.html "<strong>Arithmetic error</strong>: '*a* &lt;b&gt;|': its epochs do not add up to the total time"
    says en/report.html "<li>'*a* &lt;b&gt;|': [t](u)</li>"
    says zh/report.html '<strong>算术错误</strong>：“*a* &lt;b&gt;|”：各轮时间之和不等于总时间'
    says zh/report.md "- 10 轮 × 10.0 s = 100 s，报告称 9 s：仅为 1/11.1"
}

@test "the titles of the experiments have their Chinese, and no others do" {
    diff <(sed -n 's/^title: *"\{0,1\}\(.*[^"]\)"\{0,1\}$/\1/p' "$ROOT"/experiments/*.yaml "$ROOT"/experiments/*/*.yaml | sort -u) \
        <(sed -n '/^titles:/,/^[a-z]/s/^  "\(.*\)": .*/\1/p' "$ROOT/share/report/zh/names.yaml" | sort)
}

@test "report.json leads from each figure to a file with its hash, or to a manifest, as --why does" {
    local walk="$ROOT/tests/python/report_origins.py" part hash
    two_runs
    a_run other name=other seed=3 right=71
    succeeds "$REPORT" single ddp4 other --baseline single --out out
    succeeds "$PYTHON" "$walk" out/report.json
    succeeds "$PYTHON" "$walk" out/report.json ddp4.speedup
    [[ ${lines[2]} == "    ddp4.execution.1.seconds_per_epoch = 0.5" ]] || fail "$output"
    hash=$("$BIN/manifest" get ddp4/1/train outputs.1.content)
    [[ ${lines[3]} == "      ddp4/1/train/steps.st.zst $hash" ]] || fail "$output"
    local walked=$output
    succeeds "$REPORT" out --why ddp4.speedup
    for part in $(grep -o '[a-z0-9]*\.[a-z0-9._]* =' <<<"$walked" | cut -d ' ' -f 1) "$hash"; do
        [[ $output == *"$part"* ]] || fail "--why lacks $part" "$output"
    done
    # It says what walks in vain.
    sed -i 's|"file":"ddp4/1/train/steps.st.zst"|"file":"nowhere"|g' out/report.json
    run "$PYTHON" "$walk" out/report.json
    [[ $status -eq 1 && $output == *"ddp4.speedup"* ]] || fail "$output"
}

@test "report.json of a reproduction has each run once" {
    cat >plan.yaml <<END
schema: lockstep.plan/1
kind: reproduction
name: list
reports: [{source: R1}]
studies: [{name: workers, vary: [loader_workers], source: R1}]
runs:
  - {name: row, role: row, source: R1, keys: [$(key_of one)], published: [{source: R1, accuracy: 64.16}]}
  - {name: w0, role: variant, source: R1, study: workers, values: {loader_workers: 0}, keys: [$(key_of one)]}
  - {name: w2, role: variant, source: R1, study: workers, values: {loader_workers: 2}, keys: [$(key_of two)]}
END
    local busy='execution={"machine": {"wall_seconds": 10, "cpu_seconds": 15, "waited_seconds": 6, "others_seconds": 9.5, "cores": 2}}'
    a_run a key=one name=x "$busy"
    a_run b key=two name=y workers=2 "$busy"
    succeeds "$REPORT" a b --plan plan.yaml --out out
    says out/report.md "in 2 of 2 executions"
    [ "$(json out/report.json "[r['name'] for r in page['runs']], page['reports'][0]['runs'], page['reports'][0]['studies'][0]['runs']")" = \
        "['row', 'w0', 'w2'] ['row'] ['w0', 'w2']" ]
    succeeds "$PYTHON" "$ROOT/tests/python/report_numbers.py" out/report.json out/report.md
    succeeds "$PYTHON" "$ROOT/tests/python/report_origins.py" out/report.json
}

@test "no language leaves out an id or a section, but for a listed reason" {
    local compare="$ROOT/tests/python/template_ids.py" listed=$ROOT/tests/fixtures/template_differences.txt
    succeeds "$PYTHON" "$compare" "$ROOT"/share/report/{en,zh} "$listed"
    cp -r "$ROOT"/share/report/zh zh
    sed -i 's/{{x.model_hash | short | code}}//' zh/reproduction.md
    sed -i '0,/^### /s/^### /**/' zh/reports.md
    sed -i '/^  busy:/d' zh/names.yaml
    run "$PYTHON" "$compare" "$ROOT/share/report/en" zh "$listed"
    [ "$status" -eq 1 ]
    [ "$output" = "only in $ROOT/share/report/en: names: parts.busy
only in $ROOT/share/report/en: reports: ## 1
only in $ROOT/share/report/en: reproduction.tables: .model_hash" ] || fail "$output"
    # A difference that is no longer there is not to be listed, either.
    printf 'en none x: no reason\n' >list
    cat "$listed" >>list
    run "$PYTHON" "$compare" "$ROOT"/share/report/{en,zh} list
    [ "$output" = "list:1: no longer a difference" ] || fail "$output"
}

@test "an own page in a few lines" {
    two_runs
    mkdir own
    cat >own/page.md <<'END'
# {{experiments | size}} experiments, graded

{{each e in experiments}}
- {{e.name}}: {{e.accuracy | percent 1}}, {{use "own" of=e}}
{{end}}

{{if charts.accuracies}}
{{insert "chart accuracies"}}

{{insert "chart accuracies"}}
{{end}}
END
    cat >own/own.md <<'END'
{{if of.compared}}
{{use "verdict.time" of=of.compared}}
{{else}}
the baseline
{{end}}
END
    succeeds in_turns "$REPORT" single ddp4 --baseline single --template own --out out
    [ "$(sed -n 1,4p out/report.md)" = "# 2 experiments, graded

- single: 64.0 %, the baseline
- ddp4: 60.0 %, is 2.00 times as fast [$(json out/report.json "'%.2f, %.2f' % tuple(page['experiments'][1]['compared']['ratio'][k] for k in ('low', 'high'))")]" ] ||
        fail "$(cat out/report.md)"
    [ -s out/figures/accuracies.svg ] && [ "$(grep -c figures/accuracies.svg out/report.md)" = 2 ]
    grep -q 'own/page.md' out/manifest.yaml
}

@test "a word changed in a copied template shows on the page, and makes another report" {
    two_runs
    local key
    cp -r "$BIN/../share/lockstep/report/en" own
    key=$("$REPORT" single ddp4 --baseline single --template own --out x --print-key)
    sed -i 's/Times as fast/Swiftness/' own/experiments.md
    [ "$("$REPORT" single ddp4 --baseline single --template own --out x --print-key)" != "$key" ]
    succeeds in_turns "$REPORT" single ddp4 --baseline single --template own --out out
    grep -q '| Swiftness |' out/report.md
}

@test "a mistake in a template is refused with its place, before anything is written" {
    two_runs
    mkdir own
    printf '# T\n\n{{runs[0].acuracy}}\n' >own/page.md
    fails_with 3 "own/page.md:3: there is no 'acuracy' here" "$REPORT" single --template own --out out
    printf '# {{if runs}}\n' >own/page.md
    fails_with 3 "own/page.md:1: this block has no" "$REPORT" single --template own --out out
    printf '{{use "none"}}\n' >own/page.md
    fails_with 3 "own/page.md:1: cannot .*none.md" "$REPORT" single --template own --out out
    # A template reads no other file, and a stranger's has an end.
    printf 'secret\n' >secret.md
    printf '{{use "../secret"}}\n' >own/page.md
    fails_with 3 "own/page.md:1: cannot open" "$REPORT" single --template own --out out
    printf '%s' '{{each a in figures}}{{each b in figures}}{{each c in figures}}{{each d in figures}}{{end}}{{end}}{{end}}{{end}}' >own/page.md
    fails_with 3 "own/page.md:1: too many steps" "$REPORT" single --template own --out out
    head -c 300000 /dev/zero | tr '\0' x >own/page.md
    fails_with 3 "'own/page.md': more than the limit of 262144 bytes" "$REPORT" single --template own --out out
    printf '\377\376' >own/page.md
    fails_with 3 "own/page.md': it is not UTF-8 text" "$REPORT" single --template own --out out
    printf '{{insert "chart none"}}\n' >own/page.md
    fails_with 3 "there is no chart 'none'" "$REPORT" single --template own --out out
    fails_with 3 "cannot read the templates in 'nothing'" "$REPORT" single --template nothing --out out
    mkdir empty many
    touch many/{1..101}.md
    fails_with 3 "more than 100 templates" "$REPORT" single --template many --out out
    fails_with 3 "no template" "$REPORT" single --template empty --out out
    [ ! -e out/report.md ] && [ ! -e out/manifest.yaml ]
}
