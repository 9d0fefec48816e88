# audit: the five reports' own figures, consistent claims, bad files.
# shellcheck shell=bash disable=SC2154 # output and stderr are set by helpers.bash

load helpers

setup() {
    need_tool audit
    cd "$WORK" || return 1
}

# claim [TOTAL]: two arms of one training, 500 steps an epoch; 50.0 s in total is right.
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

# audits REPORT TEXT...: the report's claim is found faulty, and each text is in the answer.
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
    [[ $output == *"CLAIM.yaml..."*"arithmetic fault"*"Exit status"* ]]
    succeeds "$BIN/audit" --version
    [[ $output == "audit (lockstep) "* ]]
}

@test "audit of a consistent claim finds nothing and exits 0" {
    claim > good.yaml
    succeeds "$BIN/audit" good.yaml
    [ "$output" = $'made-up: no findings\n1 claim: no findings' ]
    [ -z "$stderr" ]
}

@test "audit of one wrong figure says by how much, and exits 4" {
    claim 25.0 > bad.yaml
    fails_with 4 '^audit: [0-9]+ findings in 1 claim$' "$BIN/audit" bad.yaml
    [[ $output == *"made-up: arithmetic fault: 'standard': the time of its batches is not the total"* ]] || fail "$output"
    [[ $output == *"500 steps/epoch x 10 epochs x 10.00 ms = 50 s, stated 25.0 s: 2 times less"* ]] || fail "$output"
    [[ ${lines[-1]} == "1 claim: "*" findings ("*"arithmetic faults"*")" ]] || fail "${lines[-1]}"
}

@test "audit finds R000's faults" {
    audits R000 \
        "12500 steps/epoch x 25 epochs x 19.24 ms = 6012 s, stated 504.28 s: 11.9 times less" \
        "the arms imply different batch sizes" \
        "'standard' implies 47.69, stated 4" "'simulated' implies 75.8, stated 4" \
        "34.80 / 19.24 ms a batch: 80.9 % slower, stated 80.6 %" \
        "'simulated' 13.8 % slower than 'standard'; 'simulated' 80.6 % slower than 'standard'" \
        "34.80 - 19.24 = 15.56 ms a batch, stated 8.1 ms: 7.46 ms without an explanation" \
        "unsupported statement: 'simulated' projected to 4 devices without communication" \
        "below the noise: 'simulated' and 'standard' do not differ in accuracy" "0.38 points of 10000 test samples: z = 0.81" \
        "code: epochs 10; text, 'standard': 25" \
        "needs 2 devices, ran on 1"
}

@test "audit finds R001's faults" {
    audits R001 \
        "3.29 / 1.80 s an epoch: 1.83 times as fast, stated 2: 9.4 % more" \
        "in total: 80 x 1.80 s = 144 s; 10 x 3.29 s = 32.9 s: 4.38 times the time" \
        "unlike arms: 'ddp' and 'single' differ in the global batch, with one learning rate" \
        "global batch 256 and 64"
}

@test "audit finds R002's table a guess, and its batch not what DataParallel does" {
    audits R002 \
        "unsupported statement: 'single', 'data-parallel', 'model-parallel' expected, never measured" \
        "128 samples a step, stated 256: 2 times more"
    [[ $output != *"the rows give something else"* ]] || fail "$output"
}

@test "audit finds R003's scaling unsupported, and no arithmetic fault in it" {
    audits R003 "~1.8 times as fast" "~2.5 times as fast" "~3 times as fast" "~7 times as fast" \
        "1 claim: 4 findings (4 unsupported statements)"
}

@test "audit finds R004's faults" {
    audits R004 \
        "(0.0064 + 0.0011) s = 140.6 s, stated 72.80 s: 1.93 times less" \
        "(0.0043 + 0.0012) s = 103.1 s, stated 34.96 s: 2.95 times less" \
        "(0.0005 + 0.0012) s = 31.88 s, stated 18.47 s: 1.73 times less" \
        "unlike arms: 'ddp8' and 'baseline' differ in loader workers" \
        "like for like, against 'ddp1-w4': 20.27 / 26.1 s = 0.78 times as fast" \
        "loader workers made the speed-up: like for like there is none"
}

@test "audit of several claims counts them all, the same each time" {
    claim > good.yaml
    fails_with 4 'in 6 claims$' "$BIN/audit" "$ROOT"/experiments/R00?/claim.yaml good.yaml
    [[ $output == *$'\nmade-up: no findings\n6 claims: '* ]] || fail "$output"
    local first=$output
    fails_with 4 'in 6 claims$' "$BIN/audit" "$ROOT"/experiments/R00?/claim.yaml good.yaml
    [ "$output" = "$first" ]
}

@test "audit --lang zh finds the same, in Chinese; messages of the tool stay English" {
    fails_with 4 '^audit: [0-9]+ findings in 5 claims$' "$BIN/audit" "$ROOT"/experiments/R00?/claim.yaml
    local english=$output finding
    TOOL=audit fails_with 4 '^audit: [0-9]+ findings in 5 claims$' "$BIN/audit" --lang zh "$ROOT"/experiments/R00?/claim.yaml
    [ "$(grep -c '^R' <<<"$output")" -eq "$(grep -c '^R' <<<"$english")" ]
    [ "$(wc -l <<<"$output")" -eq "$(wc -l <<<"$english")" ]
    for finding in 'R000：算术错误：“standard”：各批时间之和不等于总时间' "声称 504.28 s：仅为 1/11.9" "因此，" "5 份声明："; do
        [[ $output == *"$finding"* ]] || { fail "not found: $finding" "$output"; return 1; }
    done
    if grep -E ' (the|is|of|stated) ' <<<"$output"; then fail "English among the Chinese"; fi
    claim > good.yaml
    fails_with 2 "bad --lang: 'fr': expected en or zh" "$BIN/audit" --lang fr good.yaml
}

@test "audit refuses bad files with 3 and prints nothing" {
    claim > good.yaml
    claim | sed 's/batch_ms: 6/bach_ms: 6/' > misspelt.yaml
    fails_with 3 "misspelt.yaml:6:[0-9]+: unknown key 'bach_ms': did you mean 'batch_ms'\?" "$BIN/audit" good.yaml misspelt.yaml
    [ -z "$output" ]
    claim | sed 's/kind: speedup/kind: spedup/' > kind.yaml
    fails_with 3 "'kind': expected one of .*, got 'spedup': did you mean 'speedup'\?" "$BIN/audit" kind.yaml
    claim | sed 's/claim.1/experiment\/1/' > schema.yaml
    fails_with 3 "schema.yaml:1:9: 'schema': expected one of lockstep.claim/1" "$BIN/audit" schema.yaml
    fails_with 3 'absent.yaml' "$BIN/audit" absent.yaml
    fails_with 2 'missing argument' "$BIN/audit"
}

@test "audit says when its answer could not be written" {
    [ -w /dev/full ] || skip "no /dev/full"
    claim > good.yaml
    TOOL=audit fails_with 1 'No space left' sh -c "exec '$BIN/audit' good.yaml > /dev/full"
}
