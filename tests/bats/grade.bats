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

@test "grade: a table of all that lies in the folder, with copies named" {
    mkdir -p handed/{Ann,Ben,Cid,Dan,Eve/src,Fay,Gus}
    cp "$ARCHIVE" handed/Ann/
    pack ben STATES=4 REPORT_FLAGS="--author 'Li Ming' --student 20231122" "$FILES/one.yaml" "$FILES/two.yaml" >log 2>&1 || fail "$(cat log)"
    tar xzf ben/submission-one-two.tar.gz -C handed/Ben
    sed -i '/^one.accuracy,/s/,0\.[0-9]*,/,0.9923,/' "$NAME/report/report.csv"
    repack
    mv "$NAME.tar.gz" handed/Cid/SUBMISSION-2023112233-BY-A-STUDENT-OF-A-LONG-NAME.TAR.GZ
    echo text >handed/Dan/x.tar.gz
    touch handed/Eve/src/{train,model}.py handed/Fay/report.pdf
    cp "$ARCHIVE" handed/Fay/x.zip
    run --separate-stderr "$BIN/pipeline" grade ARTIFACTS="$WORK/teacher" handed SEGMENTS=1
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    [[ ${stderr_lines[-1]} == "pipeline: 2 of 5 submissions contradict their files" ]] || fail "$stderr"
    local n=submission-one-two.tar.gz accuracy
    accuracy=$("$BIN/manifest" get "$BATS_FILE_TMPDIR/$one/evaluate" results.accuracy | awk '{ printf "%.2f %%", 100 * $1 }')
    grep -Eq "^verdict +submission +author +accuracy +found$" <<<"$output" || fail "$output"
    # Of each: verdict, submission, author, accuracy, and what was found, in 100 columns.
    sed -n '/^verdict/,/^handed/p' <<<"$output" | sed '$d' >table
    ! wider_than 100 <table || fail "$output"
    grep -Eq "^equal +(…d|handed)/Ann/$n +$accuracy +same execution as 2 others$" table || fail "$output"
    grep -Eq "^equal +handed/Ben/submission-one-two +Li Ming 20231122 +$accuracy *$" table || fail "$output"
    grep -Eq "^different +…[A-Z0-9-]*LONG-NAME.TAR.GZ +$accuracy +figures; same execution" table || fail "$output"
    grep -Eq "^refused +handed/Dan/x.tar.gz +no submission$" table || fail "$output"
    grep -Eq "^not graded +handed/Eve +no submission among" table || fail "$output"
    grep -Eq "^not graded +handed/Fay/report.pdf +no archive" table || fail "$output"
    grep -Eq "^not graded +handed/Gus +an empty folder$" table || fail "$output"
    grep -q "^handed/Ann/$n: same execution as handed/Cid/SUB.*NAME.TAR.GZ, handed/Fay/x.zip$" <<<"$output" || fail "$output"
    grep -q "NAME.TAR.GZ: figures: 1 of .*the first is one.accuracy: 0.9923 there, 0\.[0-9]* by the files" <<<"$output" || fail "$output"
    # A folder for each, although the archives have one name.
    [ -s "$WORK/teacher/verified/submission-one-two-2/report/report.html" ] || fail "$(ls "$WORK/teacher/verified")"
    [ -z "$(find "$WORK/teacher" -maxdepth 1 -name '.work-*')" ] || fail "the work folder was left"
    # The copies in ARTIFACTS/verified are no submissions of their own.
    mkdir only
    mv handed/Ann teacher only/
    run --separate-stderr "$BIN/pipeline" --json grade ARTIFACTS="$WORK/only/teacher" only/Ann handed/Dan only SEGMENTS=1
    "$PYTHON" -c '
import json, sys
ann, dan, again, *others = json.loads(sys.argv[1])
assert ann["outcome"] == "equal" and len(ann["checks"]) == 11 and len(ann["accuracy"]) == 2, ann
assert dan["outcome"] == "refused" and dan["refused"], dan
assert again["submission"] == "only/Ann/submission-one-two.tar.gz", again
assert all(one["outcome"] == "not graded" for one in others), others' "$output" || fail "$output"
    mkdir empty
    fails_with 3 "'empty': no submission there" "$BIN/pipeline" grade empty
}

@test "verify: a folder that was unpacked" {
    succeeds "$BIN/pipeline" verify ARTIFACTS="$WORK/teacher" SEGMENTS=1 "$NAME"
    [[ ${lines[-1]} == "$NAME: equal" ]] || fail "$output"
    # Its report remembers the packed runs.
    succeeds "$BIN/report" "$NAME/report" --why one.accuracy
    [[ $output == *"recomputed  0."*": agrees"* ]] || fail "$output"
    ln -s /etc/passwd "$NAME/data/link"
    fails_with 3 "file 'data/link': it is no plain file" "$BIN/pipeline" verify ARTIFACTS="$WORK/teacher" "$NAME"
    fails_with 3 "'$WORK': a folder without the plan.yaml" "$BIN/pipeline" verify ARTIFACTS="$WORK/teacher" "$WORK"
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
    ! grep -q "neither.*same" <<<"$output" || fail "$output"
    grep -q "^handed/original.tar.gz: same execution as handed/record.tar.gz, handed/times.tar.gz$" <<<"$output" || fail "$output"
    grep -q "^handed/record.tar.gz: same execution as handed/original.tar.gz$" <<<"$output" || fail "$output"
    grep -q "^handed/times.tar.gz: same execution as handed/original.tar.gz$" <<<"$output" || fail "$output"
}
