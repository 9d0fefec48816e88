#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# grade: a table of many submissions, and those of one execution.
load helpers
load submissions
load forging

setup_file() {
    file_submission
}

setup() {
    begin_verifying
}

@test "grade: a table of all, with copies named" {
    mkdir -p handed/{Ann,Ben,Cid,Dan}
    cp "$ARCHIVE" handed/Ann/
    pack ben STATES=4 "$FILES/one.yaml" "$FILES/two.yaml" >log 2>&1 || fail "$(cat log)"
    cp ben/submission-one-two.tar.gz handed/Ben/
    sed -i '/^one.accuracy,/s/,0\.[0-9]*,/,0.9923,/' "$NAME/report/report.csv"
    repack
    mv "$NAME.tar.gz" handed/Cid/
    echo text >handed/Dan/x.tar.gz
    run --separate-stderr "$BIN/pipeline" grade ARTIFACTS="$WORK/teacher" handed SEGMENTS=1
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    [[ ${stderr_lines[-1]} == "pipeline: 2 of 4 submissions contradict their files" ]] || fail "$stderr"
    local n=submission-one-two.tar.gz
    grep -Eq "^handed/Ann/$n( +equal){7} +handed/Cid/$n$" <<<"$output" || fail "$output"
    grep -Eq "^handed/Ben/$n( +equal){7} *$" <<<"$output" || fail "$output"
    grep -Eq "^handed/Cid/$n +equal +different( +equal){5} +handed/Ann/$n$" <<<"$output" || fail "$output"
    grep -Eq "^handed/Dan/x.tar.gz( +refused){7} *$" <<<"$output" || fail "$output"
    grep -q "^handed/Cid/$n: figures: 1 of " <<<"$output" || fail "$output"
    # A folder for each, although the archives have one name.
    [ -s "$WORK/teacher/verified/submission-one-two-3/report/report.html" ] || fail "$(ls "$WORK/teacher/verified")"
    [ -z "$(find "$WORK/teacher" -maxdepth 1 -name '.work-*')" ] || fail "the work folder was left"
    run --separate-stderr "$BIN/pipeline" --json grade ARTIFACTS="$WORK/teacher" handed/Ann handed/Dan SEGMENTS=1
    "$PYTHON" -c '
import json, sys
ann, dan = json.loads(sys.argv[1])
assert ann["outcome"] == "equal" and len(ann["checks"]) == 11, ann
assert dan["outcome"] == "refused" and dan["refused"], dan' "$output" || fail "$output"
    mkdir empty
    fails_with 3 "'empty': no submission there" "$BIN/pipeline" grade empty
}

# hand_in NAME SCRIPT: the submission as handed/NAME.tar.gz, after the script has changed each of its
# trainings, in its folder.
hand_in() {
    local train
    rm -rf "$NAME"
    cp -r "$BATS_FILE_TMPDIR/$NAME" .
    for train in "$NAME"/runs/*/*/train; do
        (cd "$train" && eval "$2") || fail "$train"
        sign "$train"
    done
    tar czf "handed/$1.tar.gz" "$NAME"
}

@test "grade: an execution is recognised by its record alone, and by its times alone" {
    # The bytes of the first step's time, and the year of the start, are changed.
    # shellcheck disable=SC2016 # hand_in evaluates them
    local time='edit_tensors steps.st.zst "data[place(\"wall\") + 1] ^= $year"; rm plain'
    # shellcheck disable=SC2016
    local record='sed -i "/^run:/,/^digest:/s/^  start: [^-]*/  start: 19$year/" manifest.yaml'
    mkdir handed
    hand_in neither "year=10; $time; $record"
    hand_in original :
    hand_in record "year=11; $time"
    hand_in times "year=12; $record"
    run --separate-stderr "$BIN/pipeline" grade ARTIFACTS="$BATS_FILE_TMPDIR/teacher" handed SEGMENTS=1
    local outcomes='( +(equal|different|not shown)){7}'
    grep -Eq "^handed/neither.tar.gz$outcomes *$" <<<"$output" || fail "$output"
    grep -Eq "^handed/original.tar.gz$outcomes +handed/record.tar.gz  handed/times.tar.gz$" <<<"$output" || fail "$output"
    grep -Eq "^handed/record.tar.gz$outcomes +handed/original.tar.gz$" <<<"$output" || fail "$output"
    grep -Eq "^handed/times.tar.gz$outcomes +handed/original.tar.gz$" <<<"$output" || fail "$output"
}
