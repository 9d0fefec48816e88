#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reports whose plan identifies the runs by their keys, and drawings as files, on small runs that
# tests/fixtures/make_run.py writes.

load helpers
load reports

setup() {
    begin_report
}

@test "a plan names runs by their keys, and may give one run two names" {
    three_times runs/abc key=one name=first published='[{"source": "OLD", "accuracy": 1}]'
    a_run runs/xyz key=two name=second
    plan_of plan.yaml runs <<END
  - {name: row, keys: [$(key_of one)], title: A row, published: [{source: NEW, accuracy: 12.5}]}
  - {name: other, keys: [$(key_of two)]}
  - {name: variant, keys: [$(key_of one)], published: []}
END
    succeeds "$REPORT" runs/xyz runs/abc --plan plan.yaml --out out --summary
    [ "$output" = "row: test accuracy 0.7000, 1.097 s per epoch (3 executions)
other: test accuracy 0.7000, 1.000 s per epoch (1 execution)
variant: test accuracy 0.7000, 1.097 s per epoch (3 executions)" ] || fail "$output"
    [ "$(figure out/report.csv row.accuracy)" = 0.7 ]
    [ "$(figure out/report.csv variant.accuracy)" = 0.7 ]
    lacks out/report.csv "first."
    says out/report.md "| **row** | Test accuracy | 12.5 % | 70.00 % | NEW |"
    lacks out/report.md "OLD"
    [ "$(grep -c 'abc/1/train/manifest.yaml' out/manifest.yaml)" -eq 1 ] || fail "an input is listed twice"
    # Another name is another report.
    sed 's/name: row/name: line/' plan.yaml >named.yaml
    [ "$("$REPORT" runs/xyz runs/abc --plan plan.yaml --out x --print-key)" != \
        "$("$REPORT" runs/xyz runs/abc --plan named.yaml --out x --print-key)" ]
    succeeds "$REPORT" runs/abc --out alone
    says alone/report.md "OLD"
}

@test "a plan whose 'vary' is no list of keys is refused" {
    a_run a name=a -- b name=b
    plan_of plan.yaml study <<END
  - {name: a, role: variant, set: [], values: {x: 1}}
  - {name: b, role: variant, set: [], values: {x: 2}}
vary: [{x: 1}]
END
    fails_with 3 "plan.yaml:6.*'vary': expected a list of keys" "$REPORT" a b --plan plan.yaml --out out
}

@test "a report of one run has the title of its plan entry" {
    a_run a key=one title=Old
    plan_of plan.yaml runs <<END
  - {name: row, keys: [$(key_of one)], title: New}
END
    succeeds "$REPORT" a --plan plan.yaml --out out
    says out/report.md "# New"
}

@test "the baseline comes from the plan or the command line" {
    a_run a key=one
    a_run b key=two epochs=2,2,2,2,2
    plan_of plan.yaml runs <<END
  - {name: fast, keys: [$(key_of one)]}
  - {name: slow, keys: [$(key_of two)]}
baseline: slow
END
    succeeds "$REPORT" a b --plan plan.yaml --out out
    [ "$(figure out/report.csv fast.speedup)" = 2 ]
    says out/report.md "# Is fast faster than slow, and as accurate?"
    succeeds "$REPORT" a b --plan plan.yaml --baseline a --out out
    [ "$(figure out/report.csv slow.speedup)" = 0.5 ]
    succeeds sed -i 's/baseline: slow/baseline: none/' plan.yaml
    fails_with 3 "plan.yaml:6.*'baseline': no run is called 'none'" "$REPORT" a b --plan plan.yaml --summary
}

@test "runs and plan must agree, and --answer is refused for a plan without a question" {
    a_run a key=one
    a_run b key=two name=second
    plan_of plan.yaml runs <<END
  - {name: row, keys: [$(key_of one)]}
END
    fails_with 3 "cannot report on 'b/train': its key is $(key_of two | cut -c 1-12), which is not in the plan" \
        "$REPORT" a b --plan plan.yaml --summary
    echo "  - {name: more, keys: [$(key_of three)]}" >>plan.yaml
    fails_with 3 "no run of 'more' with key $(key_of three | cut -c 1-12)" "$REPORT" a --plan plan.yaml --summary
    plan_of plan.yaml runs <<<"  - {name: row}"
    fails_with 3 "'keys': expected a list" "$REPORT" a --plan plan.yaml --summary
    plan_of plan.yaml runs <<<"  - {name: row, keys: [$(key_of one), $(key_of one)]}"
    fails_with 3 "is listed twice" "$REPORT" a --plan plan.yaml --summary
    plan_of plan.yaml runs <<<"  - {name: row, keys: [$(key_of one)]}
  - {name: row, keys: [$(key_of two)]}"
    fails_with 3 "'name': 'row' is used twice" "$REPORT" a b --plan plan.yaml --summary
    plan_of plan.yaml runs <<<"  - {name: row, keys: [$(key_of one)]}"
    fails_with 2 "asks no question" "$REPORT" a --plan plan.yaml --answer
    fails_with 2 "baseline cannot be used with this --plan" "$REPORT" a --baseline b --plan <(sed s/runs$/study/ plan.yaml) --summary
}

@test "a study and a reproduction find their runs by key, also one run under two names" {
    three_times runs/abc key=one name=x
    three_times runs/xyz key=two name=y workers=2
    cat >study.yaml <<END
schema: lockstep.plan/1
kind: study
name: workers
vary: [loader_workers]
runs:
  - {name: w0, role: variant, values: {loader_workers: 0}, keys: [$(key_of one)]}
  - {name: w2, role: variant, values: {loader_workers: 2}, keys: [$(key_of two)]}
END
    succeeds "$REPORT" runs/abc runs/xyz --plan study.yaml --out out
    [ "$(figure out/report.csv w2.time_ratio)" = 1 ]
    says out/report.csv "w0.load_share"
    cat >list.yaml <<END
schema: lockstep.plan/1
kind: reproduction
name: list
reports: [{source: R1}]
studies: [{name: workers, vary: [loader_workers], source: R1}]
runs:
  - {name: row, role: row, source: R1, keys: [$(key_of one)]}
  - {name: w0, role: variant, source: R1, study: workers, values: {loader_workers: 0}, keys: [$(key_of one)]}
  - {name: w2, role: variant, source: R1, study: workers, values: {loader_workers: 2}, keys: [$(key_of two)]}
END
    succeeds "$REPORT" runs/abc runs/xyz --plan list.yaml --out out --summary
    [ "$(wc -l <<<"$output")" -eq 3 ] || fail "$output"
    says out/report.md "| **row** |"
    says out/report.csv "w2.time_ratio"
}

@test "--figures writes every drawing as a separate file" {
    a_run a
    fails_with 2 "--figures requires --out" "$REPORT" a --figures pictures --summary
    succeeds "$REPORT" a --out out --figures out/figures
    [ "$(cd out/figures && ls ./*.svg)" = "./accuracy.svg
./loss.svg
./split.svg" ] || fail "$(ls out/figures)"
    for file in out/figures/*.svg; do
        succeeds "$PYTHON" - "$file" <<'END'
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
assert root.attrib["font-family"] == "sans-serif", root.attrib
assert "color:#000" in root[0].text and "prefers-color-scheme:dark" in root[0].text, root[0].text
END
        says out/manifest.yaml "path: figures/${file##*/}"
    done
    succeeds "$BIN/manifest" verify out/manifest.yaml
    [ "$("$REPORT" a --out x --print-key)" != "$("$REPORT" a --out x --figures y --print-key)" ]
    nothing_in x
    mkdir empty
    succeeds env PATH="$PWD/empty" "$REPORT" a --out without --figures pictures
    nothing_in pictures
}
