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
    [[ ${stderr_lines[-1]} == "pipeline: 1 of 4 submissions contradicts its files; 1 refused, 3 not graded" ]] || fail "$stderr"
    local accuracy
    accuracy=$("$BIN/manifest" get "$BATS_FILE_TMPDIR/$one/evaluate" results.accuracy | awk '{ printf "%.2f %%", 100 * $1 }')
    grep -Eq "^verdict +submission +author +accuracy +found$" <<<"$output" || fail "$output"
    # Of each: verdict, whose it is, author, accuracy, and what was found, in 100 columns.
    sed -n '/^verdict/,/^[^ ]*:/p' <<<"$output" | sed '$d' >table
    ! wider_than 100 <table || fail "$output"
    grep -Eq "^equal +Ann +$accuracy +same execution as 2 others$" table || fail "$output"
    grep -Eq "^equal +Ben +Li Ming 20231122 +$accuracy *$" table || fail "$output"
    grep -Eq "^different +Cid +$accuracy +figures; same execution as 2 others$" table || fail "$output"
    grep -Eq "^refused +Dan +no submission$" table || fail "$output"
    grep -Eq "^not graded +Eve +no submission among" table || fail "$output"
    grep -Eq "^equal +Fay/x.zip +$accuracy " table || fail "$output"
    grep -Eq "^not graded +Fay/report.pdf +no archive" table || fail "$output"
    grep -Eq "^not graded +Gus +an empty folder$" table || fail "$output"
    grep -q "^Ann: same execution as Cid, Fay/x.zip$" <<<"$output" || fail "$output"
    grep -q "^Cid: figures: 1 of .*the first is one.accuracy: 0.9923 there, 0\.[0-9]* by the files" <<<"$output" || fail "$output"
    # A folder for each, although the archives have one name.
    local own
    for own in Ann Ben Cid Fay_x; do
        [ -s "$WORK/teacher/graded/$own/report/report.html" ] || fail "$(ls "$WORK/teacher/graded")"
    done
    [ -z "$(find "$WORK/teacher" -maxdepth 1 -name '.work-*')" ] || fail "the work folder was left"
    # The copies in ARTIFACTS/graded are no submissions of their own; one that is named twice is one.
    mkdir only
    mv handed/Ann teacher only/
    run --separate-stderr "$BIN/pipeline" --json grade ARTIFACTS="$WORK/only/teacher" only/Ann handed/Dan only SEGMENTS=1
    "$PYTHON" -c '
import json, sys
ann, dan, *others = json.loads(sys.argv[1])
assert ann["outcome"] == "equal" and len(ann["checks"]) == 11 and len(ann["accuracy"]) == 2, ann
assert ann["submission"] == "only/Ann/submission-one-two.tar.gz" and not ann["same_execution"], ann
assert dan["outcome"] == "refused" and dan["refused"], dan
assert all(one["outcome"] == "not graded" and "empty" not in one["refused"] for one in others), others' "$output" || fail "$output"
    mkdir empty
    fails_with 3 "'empty': no submission there" "$BIN/pipeline" grade empty
}

@test "grade: no two rows are alike, however narrow the terminal; a wide one is used" {
    local i
    for i in 1 2 3; do
        mkdir -p "handed/A STUDENT OF A LONG NAME_100$i"_assignsubmission_file_and_some_more_of_it
        echo text >"handed/A STUDENT OF A LONG NAME_100$i"_assignsubmission_file_and_some_more_of_it/homework.tar.gz
    done
    # at_terminal COLUMNS: the table.
    at_terminal() {
        "$PYTHON" -c '
import fcntl, os, pty, struct, sys, termios
def child(fd):
    return os.read(fd, 1024)
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
try:
    while True:
        sys.stdout.buffer.write(os.read(fd, 4096))
except OSError:
    os.waitpid(pid, 0)' "$1" "$BIN/pipeline" grade ARTIFACTS="$WORK/teacher" handed | tr -d '\r' | sed -n '/^verdict/,/^A STUDENT.*: refused/p' | sed '$d'
    }
    at_terminal 60 >narrow
    [ "$(grep '^refused' narrow | sort -u | wc -l)" -eq 3 ] || fail "$(cat narrow)"
    grep -q '^refused  A STUDENT.*…' narrow || fail "$(cat narrow)"
    at_terminal 160 >wide
    grep -q 'A STUDENT OF A LONG NAME_1002_assignsubmission_file_and_some_more_of_it  no submission$' wide || fail "$(cat wide)"
}

@test "grade and verify keep the reports of others" {
    mkdir -p handed/{Ann,Ben} next/Ann
    cp "$ARCHIVE" handed/Ann/
    sed -i '/^one.accuracy,/s/,0\.[0-9]*,/,0.9923,/' "$NAME/report/report.csv"
    repack
    cp "$NAME.tar.gz" handed/Ben/
    cp "$NAME.tar.gz" next/Ann/
    by_teacher() {
        ARTIFACTS=$BATS_FILE_TMPDIR/teacher run --separate-stderr "$BIN/pipeline" "$@" SEGMENTS=1
    }
    local teacher=$BATS_FILE_TMPDIR/teacher
    of_all() { (cd "$teacher" && find graded verified -type f -exec sha256sum {} +) | sort -k 2; }
    by_teacher grade handed
    by_teacher verify handed/Ann/"$NAME.tar.gz"
    of_all >before
    grep -q graded/Ann/report/report.html before && grep -q graded/Ben/report/report.html before || fail "$(cat before)"
    by_teacher verify handed/Ben/"$NAME.tar.gz"
    [[ $output == *"note "*"verified/$NAME-"*": not $teacher/verified/$NAME, which belongs to $WORK/handed/Ann/$NAME.tar.gz"* ]] || fail "$output"
    by_teacher grade next
    of_all >after
    # All that was there is as it was.
    [ -z "$(comm -23 <(sort before) <(sort after))" ] || fail "$(diff before after)"
    # What was handed in again replaces its own report.
    by_teacher grade handed
    [ "$(find "$teacher/graded" -mindepth 1 -maxdepth 1 | wc -l)" -eq 3 ] || fail "$(ls "$teacher/graded")"
}

@test "grade: a submission that takes forever, crashes or cannot be read stops no other one" {
    local tool
    mkdir -p handed/{Ann,Ben,Cid,Dan} tools
    for tool in "$BIN"/*; do ln -s "$tool" tools/; done
    rm tools/evaluate
    # The verification is the parent of the tool.
    cat >tools/evaluate <<SH
#!/bin/sh
case "\$*" in
*graded/Ann*) exec sleep 612 ;;
*graded/Ben*) kill -SEGV \$PPID; exec sleep 612 ;;
*graded/Cid*) exit 1 ;;
*) exec "$BIN/evaluate" "\$@" ;;
esac
SH
    chmod +x tools/evaluate
    for tool in Ann Ben Cid Dan; do cp "$ARCHIVE" handed/$tool/; done
    run --separate-stderr "$BIN/pipeline" --tools tools grade ARTIFACTS="$WORK/teacher" handed SEGMENTS=1 TIME_LIMIT=6
    [ "$status" -eq 1 ] || fail "exit code $status" "$output" "$stderr"
    [[ ${stderr_lines[-1]} == "pipeline: a check failed, and was not made, of 3; 0 of 2 submissions contradict their files; 0 refused, 2 not graded" ]] || fail "$stderr"
    sed -n '/^verdict/,/^[^ ]*:/p' <<<"$output" >table
    grep -Eq "^not graded +Ann +not verified within 6 s:" table || fail "$output"
    grep -Eq "^not graded +Ben +its verification was" table || fail "$output"
    grep -q "(SIGSEGV)" table || fail "$output"
    grep -Eq "^not shown +Cid .*not shown: test" table || fail "$output"
    grep -Eq "^equal +Dan " table || fail "$output"
    [ -z "$(find teacher -maxdepth 1 -name '.work-*')" ] || fail "the work folder was left"
    [ "$(ls teacher/graded)" = $'Cid\nDan' ] || fail "$(ls teacher/graded)"
    wait_until all_ended "sleep 612"
}

@test "grade: a table for a gradebook, with points by a rubric" {
    mkdir -p handed/{Ann,Ben,Cid,=Dan}
    pack ben STATES=4 REPORT_FLAGS="--author 'Li, Ming' --student 20231122" "$FILES/one.yaml" "$FILES/two.yaml" >log 2>&1 || fail "$(cat log)"
    cp ben/submission-one-two.tar.gz handed/Ann/
    rm -r "$NAME"/runs/*/*/train/state*
    for one in "$NAME"/runs/*/*/train; do sign "$one"; done
    sed -i '/^one.accuracy,/s/,0\.[0-9]*,/,0.9923,/' "$NAME/report/report.csv"
    repack
    cp "$NAME.tar.gz" handed/Ben/
    echo text >handed/Cid/x.tar.gz
    local accuracy
    accuracy=$("$BIN/manifest" get "$BATS_FILE_TMPDIR/$one/evaluate" results.accuracy 2>/dev/null) ||
        accuracy=$("$BIN/manifest" get "$(find "$BATS_FILE_TMPDIR/$NAME" -name evaluate | head -n 1)" results.accuracy)
    accuracy=$(printf %.4f "$accuracy")
    cat >points.yaml <<YAML
schema: lockstep.rubric/1
checks:
  figures: {equal: 20, different: -5}
  test: 30
  training: {equal: 25, not shown: 5}
accuracy:
  - {least: 0.01, points: 1}
  - {least: $accuracy, points: 10}
  - {least: 99.9%, points: 100}
same_execution: -50
YAML
    run --separate-stderr "$BIN/pipeline" grade --csv grades.csv ARTIFACTS="$BATS_FILE_TMPDIR/teacher" handed SEGMENTS=1 RUBRIC=points.yaml
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    diff - grades.csv <<CSV || fail "$(cat grades.csv)" "$output"
student,author,number,verdict,accuracy,findings,points
Ann,"Li, Ming 20231122",20231122,equal,$accuracy,,85
Ben,,,different,$accuracy,"figures; not shown: report, training",40
Cid,,,refused,,no submission,
'=Dan,,,not graded,,an empty folder,
CSV
    grep -Eq "^verdict +submission +author +accuracy +points +found$" <<<"$output" || fail "$output"
    grep -Eq "^equal +Ann +Li, Ming 20231122 +[0-9.]+ % +85 *$" <<<"$output" || fail "$output"
    # One who handed in another's execution; without a rubric there are no points.
    rm -r handed/{Cid,=Dan}
    cp handed/Ann/* handed/Ben/
    CSV=grades.csv run --separate-stderr "$BIN/pipeline" --json grade ARTIFACTS="$BATS_FILE_TMPDIR/teacher" handed SEGMENTS=1 RUBRIC=points.yaml
    [ "$(grep -o '"points":[0-9]*' <<<"$output" | sort -u)" = '"points":35' ] || fail "$output"
    succeeds "$BIN/pipeline" grade ARTIFACTS="$BATS_FILE_TMPDIR/teacher" CSV=grades.csv handed/Ann SEGMENTS=1
    [ "$(cat grades.csv)" = $'student,author,number,verdict,accuracy,findings\nsubmission-one-two.tar.gz,"Li, Ming 20231122",20231122,equal,'"$accuracy," ] || fail "$(cat grades.csv)"
}

@test "grade: a bad rubric, or a table that cannot be written, is refused before anything is verified" {
    mkdir handed
    cp "$ARCHIVE" handed/
    refuses() {
        fails_with "$@" grade ARTIFACTS="$WORK/teacher" handed RUBRIC=points.yaml
        [ ! -e teacher ] || fail "$(find teacher)"
    }
    rubric() { printf 'schema: lockstep.rubric/1\n%s\n' "$1" >points.yaml; }
    TOOL=pipeline fails_with 3 "points.yaml" "$BIN/pipeline" grade handed RUBRIC=points.yaml
    echo 'points: 3' >points.yaml
    refuses 3 "points.yaml:1:1: no rubric: it begins with 'schema: lockstep.rubric/1'" "$BIN/pipeline"
    rubric 'checks: {figure: 3}'
    refuses 3 "points.yaml:2:10: unknown key 'figure': did you mean 'figures'" "$BIN/pipeline"
    rubric 'checks: {figures: {same: 3}}'
    refuses 3 "unknown key 'same'" "$BIN/pipeline"
    rubric 'checks: {figures: many}'
    refuses 3 "'figures': expected a number" "$BIN/pipeline"
    rubric 'accuracy: [{least: high, points: 1}]'
    refuses 3 "'least': expected an accuracy: 65% or 0.65" "$BIN/pipeline"
    rubric 'accuracy: [{least: 65%}]'
    refuses 3 "'accuracy': expected \{least: 65%, points: 10\}" "$BIN/pipeline"
    rubric 'checks: {figures: 1e9}'
    refuses 3 "expected points of at most 1e\+06" "$BIN/pipeline"
    rubric 'checks: {figures: 1}'
    CSV=handed/$NAME.tar.gz refuses 2 "CSV" "$BIN/pipeline"
    CSV=nowhere/grades.csv refuses 1 "nowhere" "$BIN/pipeline"
    cmp "$ARCHIVE" handed/*
    fails_with 2 "verify does not accept CSV" "$BIN/pipeline" verify "$ARCHIVE" --csv grades.csv
    fails_with 2 "TIME_LIMIT: '0': expected a whole number" "$BIN/pipeline" grade handed TIME_LIMIT=0
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
    grep -q "^original.tar.gz: same execution as record.tar.gz, times.tar.gz$" <<<"$output" || fail "$output"
    grep -q "^record.tar.gz: same execution as original.tar.gz$" <<<"$output" || fail "$output"
    grep -q "^times.tar.gz: same execution as original.tar.gz$" <<<"$output" || fail "$output"
}

# pack_again FOLDER: what honest students hand in, of $ARCHIVE: no file's text is changed, but for the line ends of the last.
pack_again() {
    "$PYTHON" - "$ARCHIVE" "$1" <<'PY'
import io, os, shutil, sys, tarfile, zipfile
archive, folder = sys.argv[1:]
fork = b"\0\5\x16\7" + bytes(22)  # the head of an AppleDouble file
with tarfile.open(archive) as tar:
    files = [(m.name, tar.extractfile(m).read()) for m in tar if m.isfile()]
def place(name, ending):
    os.makedirs(f"{folder}/{name}", exist_ok=True)
    return f"{folder}/{name}/hand-in.{ending}"
def fork_of(name):
    return os.path.dirname(name) + "/._" + os.path.basename(name)
with tarfile.open(place("tar-of-macos", "tar.gz"), "w:gz") as tar:
    for name, data in files:
        for n, d in (fork_of(name), fork), (name, data):
            entry = tarfile.TarInfo(n)
            entry.size = len(d)
            tar.addfile(entry, io.BytesIO(d))
with zipfile.ZipFile(place("finder", "zip"), "w") as z:
    for name, data in files:
        z.writestr(name, data)
        z.writestr("__MACOSX/" + fork_of(name), fork)
with zipfile.ZipFile(place("no-folder", "zip"), "w") as z:
    for name, data in files:
        z.writestr(name.split("/", 1)[1], data)
with zipfile.ZipFile(place("in-a-zip", "zip"), "w") as z:
    z.write(archive, "homework/submission.tar.gz")
    z.writestr("homework/essay.pdf", b"%PDF")
shutil.copy(archive, place("as-packed", "tar.gz"))
for name in ".DS_Store", "._hand-in.tar.gz", "Thumbs.db":
    open(f"{folder}/as-packed/{name}", "wb").write(fork)
for name, data in files:
    path = f"{folder}/windows/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = name.endswith((".yaml", ".md", ".csv", ".txt", ".json", ".sh", ".html", ".svg"))
    open(path, "wb").write(data.replace(b"\n", b"\r\n") if text else data)
    open(fork_of(path), "wb").write(fork)
PY
}

@test "grade: what macOS, Windows and file shares packed again is graded as what it is" {
    pack_again handed
    run --separate-stderr "$BIN/pipeline" grade ARTIFACTS="$BATS_FILE_TMPDIR/teacher" handed SEGMENTS=1
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    [[ ${stderr_lines[-1]} == "pipeline: 1 of 6 submissions contradicts its files; 0 refused, 0 not graded" ]] || fail "$stderr"
    [ "$(grep -c '^equal ' <<<"$output")" = 5 ] || fail "$output"
    grep -q "^different .*windows" <<<"$output" || fail "$output"
    grep -q "windows.*: files: only the line ends of [0-9]* manifests differ: CRLF in place of LF" <<<"$output" || fail "$output"
    grep -q "windows.*: figures: only the line ends of report.csv differ: CRLF in place of LF" <<<"$output" || fail "$output"
    grep -q "in-a-zip.*: beside the submission in it, not read: homework/essay.pdf$" <<<"$output" || fail "$output"
    ! grep -q "DS_Store\|Thumbs\|\._" <<<"$output" || fail "$output"
}

@test "grade: an archive without a submission says what it holds; refused and not graded are counted by themselves" {
    mkdir -p handed/{a,b,c,d}
    "$PYTHON" - <<'PY'
import zipfile
def pack(name, *members):
    with zipfile.ZipFile(f"handed/{name}/x.zip", "w") as z:
        for member in members:
            z.writestr(member, b"x")
pack("a", "one.tar.gz", "two.tar.gz")
pack("b", "src/train.py", "__MACOSX/src/._train.py")
pack("c", "__MACOSX/._train.py")
PY
    : >handed/d/work.rar
    run --separate-stderr "$BIN/pipeline" grade ARTIFACTS="$WORK/teacher" handed
    [ "$status" -eq 3 ] || fail "exit code $status" "$output" "$stderr"
    [[ ${stderr_lines[-1]} == "pipeline: 0 of 0 submissions contradict their files; 3 refused, 1 not graded" ]] || fail "$stderr"
    grep -q "^a: refused: .*it holds 2 archives: unpack it first$" <<<"$output" || fail "$output"
    grep -q "^b: refused: .*it holds no submission, which is a folder with plan.yaml and experiments/$" <<<"$output" || fail "$output"
    grep -q "^c: refused: .*it holds no file$" <<<"$output" || fail "$output"
    [ -z "$(find "$WORK/teacher" -name '*.py' -o -name '*.all')" ] || fail "$(find "$WORK/teacher")"
}
