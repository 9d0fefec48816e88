#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# verify and grade: archives that would write elsewhere, or fill the disk.
load helpers

# make_archive SCRIPT: x.tar.gz, by a Python script that calls add(NAME, DATA) for its members.
make_archive() {
    "$PYTHON" - "$1" <<'END'
import io, sys, tarfile
with tarfile.open("x.tar.gz", "w:gz") as tar:
    def add(name, data=b"x"):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    exec(sys.argv[1])
END
}

setup() {
    need_tool pipeline
    mkdir "$WORK/teacher" "$WORK/handed"
    cd "$WORK/handed" || return
}

# untouched: no file of the archive is anywhere.
untouched() {
    [ "$(ls -A)" = x.tar.gz ] || fail "$(ls -A)"
    [ "$(ls -A "$WORK/teacher")" = .work.lock ] || fail "$(find "$WORK/teacher")"
    [ -z "$(find "$WORK" -name '*escaped')" ] || fail "$(find "$WORK")"
    [ ! -e /tmp/escaped ] || fail "/tmp/escaped exists"
}

# refuses PATTERN: both commands name the reason. No file may grow beyond a GiB.
refuses() {
    TOOL=pipeline fails_with 3 "$1" prlimit --fsize=$((1 << 30)) "$BIN/pipeline" verify ARTIFACTS="$WORK/teacher" x.tar.gz
    untouched
    grades
    grep -Eq "^refused +handed +no submission" <<<"$output" || fail "$output"
    grep -Eq "^handed: refused: .*$1" <<<"$output" || fail "$output"
    untouched
}

# grades: it, and the archive after it, which is no submission either.
grades() {
    echo text >"$WORK/next.tar.gz"
    run --separate-stderr "$BIN/pipeline" grade ARTIFACTS="$WORK/teacher" "$WORK/handed" "$WORK/next.tar.gz"
    [ "$status" -eq 3 ] || fail "exit code $status" "$output" "$stderr"
    grep -Eq "^refused +next.tar.gz +no submission" <<<"$output" || fail "$output"
}

@test "a path that leaves the folder" {
    make_archive 'add("s/README.md"); add("s/../../escaped")'
    refuses "member 's/../../escaped': its path has '\.\.'"
    make_archive 'add("s/README.md"); add("../escaped")'
    refuses "member '../escaped': its path has '\.\.'"
    make_archive 'add("s/README.md"); add("/tmp/escaped")'
    refuses "member '/tmp/escaped': its path is absolute"
}

@test "members that cannot be files of one folder" {
    make_archive 'add("s/a"); add("s/a/b")'
    refuses "'s/a/b'"
    make_archive 'add("s/a/b"); add("s/a")'
    refuses "'s/a'"
    make_archive 'add("s/a"); add("s/a")'
    refuses "'s/a'"
    make_archive 'add("s/a/")'
    refuses "x.tar.gz"
    make_archive 'add("s/" + "a" * 300)'
    refuses "'s/aaa"
    make_archive 'add("s/" + "a/" * 3000 + "b")'
    refuses "'s/a/a/"
    # The place where verify puts the author's report.
    make_archive 'add("s/runs/x"); add("s/report/report.csv"); add("s/report-author/x")'
    grades
    [ ! -e "$WORK/teacher/graded/x/report-author/x" ] || fail "it is among the author's files"
    make_archive 'add("s/runs"); add("s/experiments"); add("s/plan.yaml"); add("s/report")'
    grades
}

@test "a small archive of gigabytes" {
    "$PYTHON" -c '
import gzip, tarfile
entry = tarfile.TarInfo("s/zeros")
entry.size = 3 << 30
with open("x.tar.gz", "wb") as f:
    f.write(gzip.compress(entry.tobuf()) + gzip.compress(bytes(1 << 26)) * 48)'
    [ "$(stat -c %s x.tar.gz)" -lt 4000000 ]
    refuses "its content is more than 200 times its size"
}
