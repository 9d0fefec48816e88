# SPDX-License-Identifier: MIT
# audit: the five reports' own figures, consistent claims, bad files.
# shellcheck shell=bash disable=SC2154 # output and stderr are set by helpers.bash

load helpers

setup() {
    need_tool audit
    cd "$WORK" || return 1
}

# claim [TOTAL]: two arms of one training, 500 steps per epoch; 50.0 s in total is correct.
claim() {
    cat <<END
schema: lockstep.claim/1
name: made-up
rows:
  - {name: standard, batch: 100, samples: 50000, epochs: 10, batch_ms: 10.00, total_seconds: ${1:-50.0},
     accuracy: 90.00, test_samples: 10000, devices: 1}
  - {name: parallel, batch: 100, samples: 50000, epochs: 10, batch_ms: 6.00, total_seconds: 30.0,
     accuracy: 90.10, test_samples: 10000, devices: 2}
statements:
  - {kind: speedup, ratio: 1.67, of: parallel, than: standard}
  - {kind: same_accuracy, of: parallel, than: standard}
END
}

# audits REPORT TEXT...: audit finds faults in the report's claim, and prints each text.
audits() {
    local report=$1 text
    shift
    fails_with 4 'findings? in 1 claim$' "$BIN/audit" "$ROOT/experiments/$report/claim.yaml"
    for text in "$@"; do
        [[ $output == *"$text"* ]] || { fail "not found: $text" "$output"; return 1; }
    done
}

@test "audit: --help and --version" {
    succeeds "$BIN/audit" --help
    [[ $output == *"CLAIM.yaml..."*"arithmetic error"*"Exit codes"* ]]
    succeeds "$BIN/audit" --version
    [[ $output == "audit (lockstep) "* ]]
}

@test "audit of a consistent claim finds nothing and exits 0" {
    claim > good.yaml
    succeeds "$BIN/audit" good.yaml
    [ "$output" = $'made-up: no findings\n1 claim: no findings' ]
    [ -z "$stderr" ]
}

@test "audit takes figures as reports print them, and quotes them with what they mean" {
    printed() {
        cat <<END
schema: lockstep.claim/1
name: printed
common: {samples: 50000, epochs: 12, test_samples: 10000}
rows:
  - {name: 1, strategy: single, devices: 1, seconds_per_epoch: 2m36s, total_seconds: ${1:-0:31:12}, accuracy: 93.02%}
  - {name: 8, strategy: ddp, devices: 8, throughput: 2.5k images/s, total_seconds: 4 min, error: 7.1}
statements:
  - {kind: speedup, of: 8, than: 1, ratio: 7.8x}
END
    }
    printed >good.yaml
    succeeds "$BIN/audit" good.yaml
    printed 0:51:12 >bad.yaml
    fails_with 4 '^audit: ' "$BIN/audit" bad.yaml
    [[ $output == *"12 epochs x (2m36s = 156) s = 1872 s, stated (0:51:12 = 3072) s: 1.64 times more"* ]] || fail "$output"
    printed | sed 's/93.02%/93,02/' >comma.yaml
    fails_with 3 "comma.yaml:5:[0-9]*: 'accuracy': a comma ends a value here: write 93.02" "$BIN/audit" comma.yaml
}

@test "audit of one wrong figure prints by how much it is off, and exits 4" {
    claim 25.0 > bad.yaml
    fails_with 4 '^audit: [0-9]+ findings in 1 claim$' "$BIN/audit" bad.yaml
    [[ $output == *"made-up: arithmetic error: 'standard': its batches do not add up to the total time"* ]] || fail "$output"
    [[ $output == *"500 steps/epoch x 10 epochs x 10.00 ms = 50 s, stated 25.0 s: 2 times less"* ]] || fail "$output"
    [[ ${lines[-1]} == "1 claim: "*" findings ("*"arithmetic errors"*")" ]] || fail "${lines[-1]}"
}

# Every finding was checked against the reports' text: a report's own remarks do not count.
@test "audit of R000: contradictory times, and a two-device arm that ran on one device" {
    audits R000 "1 claim: 4 findings (3 arithmetic errors, 1 unsupported statement); 2 stated by the reports themselves" \
        "12500 steps/epoch x 25 epochs x 19.24 ms = 6012 s, stated 504.28 s: 11.9 times less" \
        "12500 steps/epoch x 25 epochs x 34.80 ms = 10875 s, stated 573.91 s: 18.9 times less" \
        "imply a batch of 47.69, stated 4" "imply a batch of 75.8, stated 4" \
        "'simulated' and 'standard': one comparison, different ratios" \
        "    appendix A; 'simulated': table 1" "needs 2 devices, ran on 1" \
        "the report states this itself (section 4.3): it assumes that communication costs nothing" \
        "the report states this itself (appendix A): it calls this loop simplified"
    # "About" 13.8 %, 80.6 % and 8.1 ms are correct, and it calls both arms equal.
    [[ $output != *"the rows give a different figure"* && $output != *overhead* && $output != *accuracy* ]] || fail "$output"
}

@test "audit of R001: unequal accuracies called equal; the report states the other findings itself" {
    audits R001 "1 claim: 1 finding (1 unsupported statement); 4 stated by the reports themselves" \
        "unsupported statement: 'ddp' and 'dp' are not equal in accuracy" "    section 4; 'ddp': table 2" \
        "64.16 - 66.80 = -2.64 points of 10000 test samples: z = -3.93, p = 8.6e-05" \
        "in total: 80 x 1.80 s = 144 s; 10 x 3.29 s = 32.9 s: 4.38 times the time" \
        "the report states this itself (section 4.3): DDP's batch was four times as large"
}

@test "audit of R002: expected figures, marked as such; and a wrong batch size for DataParallel" {
    audits R002 "1 claim: 1 finding (1 arithmetic error); 1 stated by the reports themselves" \
        "stated by the report itself: 'single', 'data-parallel', 'model-parallel' expected, never measured" \
        "    notes, item 4; 'data-parallel': expected results, table" "128 samples per step, stated 128 x 2: 2 times more"
}

@test "audit of R003: estimates, marked as such; and one figure without a source" {
    audits R003 "1 claim: 1 finding (1 unsupported statement); 1 stated by the reports themselves" \
        "unsupported statement: 'ddp-8' quoted without a source" "the report states this itself (head of the table): estimates"
}

@test "audit of R004: load and update exceed the total time; the report states the loader workers itself" {
    audits R004 "1 claim: 3 findings (3 arithmetic errors); 1 stated by the reports themselves" \
        "(0.0064 + 0.0011) s = 140.6 s, stated 72.80 s: 1.93 times less" \
        "(0.0043 + 0.0012) s = 103.1 s, stated 34.96 s: 2.95 times less" \
        "(0.0005 + 0.0012) s = 31.88 s, stated 18.47 s: 1.73 times less" \
        "like for like, compared with 'ddp1-w4': 20.27 / 26.11 s = 0.78 times as fast" \
        "the report states this itself (conclusion, item 3): DDP was faster because its loader had 4 workers"
    # It states the batch of DDP's loader: 4 per rank, 32 in all.
    [[ $output != *"or of all together"* ]] || fail "$output"
}

@test "a fault that the report states itself is not a finding: exit 0" {
    claim | sed 's/devices: 2}/devices: 2, epochs: 20}/; s/ratio: 1.67/ratio: 3.33/' > unlike.yaml
    sed -i 's/batch_ms: 6.00, total_seconds: 30.0/batch_ms: 3.00, total_seconds: 30.0/; s/epochs: 10, batch_ms: 3/batch_ms: 3/' unlike.yaml
    sed -i 's/basis.*//; s/{kind: speedup, ratio: 3.33/{kind: speedup, basis: batch_ms, ratio: 3.33/' unlike.yaml
    fails_with 4 '^audit: 1 finding in 1 claim$' "$BIN/audit" unlike.yaml
    [[ $output == *"unlike arms: 'parallel' and 'standard' differ in epochs"* ]] || fail "$output"
    echo '  - {kind: says, about: epochs, where: page 3}' >> unlike.yaml
    succeeds "$BIN/audit" unlike.yaml
    [[ $output == *"the report states this itself (page 3)"*"1 claim: no findings; 1 stated by the reports themselves" ]] || fail "$output"
}

@test "audit counts several claims, and prints the same each time" {
    claim > good.yaml
    fails_with 4 'in 6 claims$' "$BIN/audit" "$ROOT"/experiments/R00?/claim.yaml good.yaml
    [[ $output == *$'\nmade-up: no findings\n6 claims: '* ]] || fail "$output"
    local first=$output
    fails_with 4 'in 6 claims$' "$BIN/audit" "$ROOT"/experiments/R00?/claim.yaml good.yaml
    [ "$output" = "$first" ]
}

@test "audit --lang zh prints the same findings in Chinese; error messages stay English" {
    fails_with 4 '^audit: [0-9]+ findings in 5 claims$' "$BIN/audit" "$ROOT"/experiments/R00?/claim.yaml
    local english=$output finding
    TOOL=audit fails_with 4 '^audit: [0-9]+ findings in 5 claims$' "$BIN/audit" --lang zh "$ROOT"/experiments/R00?/claim.yaml
    [ "$(grep -c '^R' <<<"$output")" -eq "$(grep -c '^R' <<<"$english")" ]
    [ "$(wc -l <<<"$output")" -eq "$(wc -l <<<"$english")" ]
    for finding in 'R000：算术错误：“standard”：各批时间之和不等于总时间' "报告称 504.28 s：仅为 1/11.9" "因此，" "5 份声明："; do
        [[ $output == *"$finding"* ]] || { fail "not found: $finding" "$output"; return 1; }
    done
    # Places and answers are quoted from the claim.
    if sed 's/（.*//; s/^    .*\(table\|section\|DDP: \).*//' <<<"$output" | grep -E ' (the|is|of|stated) '; then fail "English words in the Chinese output"; fi
    claim > good.yaml
    fails_with 2 "bad --lang: 'fr': expected en or zh" "$BIN/audit" --lang fr good.yaml
}

@test "audit refuses bad files with exit code 3 and prints nothing" {
    claim > good.yaml
    claim | sed 's/batch_ms: 6/bach_ms: 6/' > misspelt.yaml
    fails_with 3 "misspelt.yaml:6:[0-9]+: unknown key 'bach_ms': did you mean 'batch_ms'\?" "$BIN/audit" good.yaml misspelt.yaml
    [ -z "$output" ]
    claim | sed 's/kind: speedup/kind: spedup/' > kind.yaml
    fails_with 3 "'kind': expected one of .*, got 'spedup': did you mean 'speedup'\?" "$BIN/audit" kind.yaml
    claim | sed 's/claim.1/experiment\/1/' > schema.yaml
    fails_with 3 "schema.yaml:1:9: 'schema': expected one of lockstep.claim/1" "$BIN/audit" schema.yaml
    fails_with 3 'absent.yaml' "$BIN/audit" absent.yaml
    # Other files and folders; a claim keeps its line and column.
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    printf '# Report\n\n| a | b |\n|---|---|\n| > x | `y` |\n' > report.md
    fails_with 3 "'report.md': it is text that begins with '# Report': pass a claim: YAML that begins with 'schema: lockstep.claim/1'" "$BIN/audit" report.md
    printf '%%PDF-1.7\n' > report.pdf
    fails_with 3 "'report.pdf': it is a PDF document: pass a claim" "$BIN/audit" report.pdf
    printf -- '- 93.5 %%\n' > list.yaml
    fails_with 3 "it is text that begins with '- 93.5 %': pass a claim" "$BIN/audit" list.yaml
    printf 'schema: lockstep.manifest/1\ntool: x\n' > manifest.yaml
    fails_with 3 "manifest.yaml:1:9: 'schema': expected one of lockstep.claim/1, got 'lockstep.manifest/1'" "$BIN/audit" manifest.yaml
    mkdir published
    mv good.yaml published/claim.yaml
    fails_with 3 "'published': it is a folder: pass 'published/claim.yaml'" "$BIN/audit" published
    printf 'schema: lockstep.claim/1\nname: [\n' > cut.yaml
    fails_with 3 "cut.yaml:3:1: " "$BIN/audit" cut.yaml
    fails_with 2 'missing arguments' "$BIN/audit"
}

@test "audit reports that its output could not be written" {
    [ -w /dev/full ] || skip "no /dev/full"
    claim > good.yaml
    TOOL=audit fails_with 1 'No space left' sh -c "exec '$BIN/audit' good.yaml > /dev/full"
}

# A failure, or the whole answer: some allocations of the C library can do without.
failed_or_complete() { [[ $1 == 1 ]] || { [[ $1 == 4 ]] && cmp -s printed expected; }; }

@test "audit without memory fails, at any allocation, instead of printing half a sentence" {
    claim 25.0 >bad.yaml
    "$BIN/audit" bad.yaml >expected 2>said || [ $? = 4 ]
    EVERY=37 each_allocation_fails failed_or_complete "$BIN/audit" bad.yaml
    [ "$allocations" -gt 3700 ]
}
