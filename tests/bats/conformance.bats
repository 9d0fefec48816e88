# SPDX-License-Identifier: MIT
# tests/conformance/run finds every fault of the toy adapter, and none in Lockstep.

load helpers

setup() {
    need_tool synth-cifar
    # The toy, too, runs in that Python; another one on the PATH may begin slowly.
    export TMPDIR=$WORK PATH=${PYTHON%/*}:$PATH
    cd "$WORK" || return
}

# suite CODE OPTION...: its exit code; the table in $output.
suite() {
    local code=$1
    shift
    run --separate-stderr env PYTHON="${ADAPTER_PYTHON:-$PYTHON}" "$PYTHON" "$ROOT/tests/conformance/run" --epochs 2 --images 256 --combinations 3 "$@"
    [ "$status" -eq "$code" ] || fail "exit code $status instead of $code: $*" "$output" "$stderr"
    [ -z "$(find "$WORK" -maxdepth 1 -name 'conformance.*')" ] || fail "a folder was left behind"
}

# row TITLE: the cells of that row, of one subject.
row() {
    awk -F ' *[|] *' -v title="$1" '$2 == title { print $3 }' <<<"$output"
}

# expect TITLE CELL
expect() {
    [ "$(row "$1")" = "$2" ] || fail "'$1' is '$(row "$1")' instead of '$2'" "$output" "$stderr"
}

@test "every train tool of Lockstep gives the same bits along every axis" {
    need_tool train-single train-dp train-ddp train-mp manifest
    local tool
    for tool in train-single train-ddp; do
        suite 0 --out "$tool" "lockstep:$tool"
        expect "repeated" "same bits, 2 of 2"
        expect "2 and 3 threads" "same bits, 2 of 2"
        expect "1 and 2 loader workers, random crop and flip" "same bits, 2 of 2"
        expect "stopped and resumed" "same bits, 3 of 3"
        expect "killed and resumed" "same bits, 2 of 2"
        expect "random combinations" "same bits, 3 of 3"
        expect "another seed (must differ)" "differs"
        [[ $(row "instruction set") == "same bits, "* ]] || fail "$output"
    done
    expect "2 and 4 ranks, no batch norm" "same bits, 2 of 2"
    suite 0 --jobs 2 --axes "ranks threads stop" lockstep:train-dp lockstep:train-mp
    [[ $output == *"| 2 and 4 ranks | same bits, 2 of 2 | same bits, 2 of 2 |"* ]] || fail "$output"
    suite 0 --model lenet --axes threads lockstep:train-single
    # The table agrees with the trials.
    [ "$(awk -F , '$12 == "same" && $2 != "reference" && $4 == "lenet-bn" && $5 == "none" { print $14 }' train-ddp/trials.csv | sort -u | wc -l)" -eq 1 ]
    local absent="ranks ranks-plain "
    grep -qw avx512vl /proc/cpuinfo || absent="isa $absent"
    [ "$(awk -F , 'NR > 1 && $12 == "not offered" { print $2 }' train-single/trials.csv | sort -u | tr '\n' ' ')" = "$absent" ]
}

@test "a dependence on one axis is found on that axis only" {
    local variant other title
    while read -r variant other title; do
        suite 4 --axes "$variant $other" "toy:$variant"
        [[ $(row "$title") == "**differs**, "*": up to 5.0e-01" ]] || fail "$variant: $output"
        [ "$(grep -c differs <<<"$output")" -eq 1 ] || fail "$variant: $output"
    done <<'END'
threads ranks 2 and 3 threads
ranks workers 2 and 4 ranks
workers stop 1 and 2 loader workers
stop threads stopped and resumed
END
    suite 4 --axes "threads ranks isa combined" toy:combined
    expect "2 and 4 ranks" "same bits, 2 of 2"
    [[ $(row "random combinations") == "**differs**, 3 of 3: up to 5.0e-01" ]] || fail "$output"
}

@test "executions that do not repeat, and a seed without effect, are found" {
    suite 4 --axes "repeat seed" toy:repeat
    [[ $(row "repeated") == "**differs**, 2 of 2: up to "* ]] || fail "$output"
    [[ $output == *"toy repeat: the same execution gives other bits each time"* ]] || fail "$output"
    suite 4 --axes seed toy:seed
    expect "another seed (must differ)" "**the same**"
    suite 4 --axes threads toy:shape
    expect "2 and 3 threads" "**differs**, 1 of 2 (2): other tensors"
}

@test "an axis that an adapter does not offer is left out, with the reason" {
    suite 0 --axes "ranks threads" toy:one-rank
    expect "2 and 4 ranks" "not offered"
    expect "2 and 3 threads" "same bits, 2 of 2"
    [[ $output == *"- toy one-rank, 2 and 4 ranks: not offered: it has one rank."* ]] || fail "$output"
    suite 0 --axes "stop threads" toy:no-resume
    expect "stopped and resumed" "not offered"
    suite 0 --axes threads toy toy:skip
    [[ $output == *"- toy:skip: not here: the toy offers nothing."* ]] || fail "$output"
    suite 3 --axes threads toy:skip
    [ "$stderr" = "conformance: no subject can run here: toy:skip: the toy offers nothing" ] || fail "$stderr"
}

@test "an adapter that fails, hangs or writes NaN is reported as failed, and the others continue" {
    suite 1 --axes threads toy:fail toy
    [[ $output == *"| 2 and 3 threads | failed: 2 | same bits, 2 of 2 |"* ]] || fail "$output"
    [[ $output == *"- toy fail, 2 and 3 threads: failed: exit code 1: toy: fails on purpose."* ]] || fail "$output"
    suite 1 --axes threads toy:nan
    [[ $output == *"'w' holds a value that is not a finite number"* ]] || fail "$output"
    suite 1 --axes threads --limit 2 toy:hang
    [[ $output == *"failed: no end after 2 s"* ]] || fail "$output"
    wait_until all_ended 'adapters/toy train --variant hang'
}

@test "findings under --only-report do not count, and write-docs accepts only whole runs" {
    suite 0 --axes threads --only-report toy --out found toy:threads
    [[ $(row "2 and 3 threads") == "**differs**"* ]] || fail "$output"
    [ "$(cat found/facts.txt)" = "whole: no" ]
    mkdir artifacts
    mv found artifacts/conformance
    ARTIFACTS=artifacts fails_with 1 "not a run of all subjects" "$ROOT/tests/conformance/write-docs"
    echo "whole: yes" >artifacts/conformance/facts.txt
    cp "$ROOT/docs/conformance.md" page.md
    ARTIFACTS=artifacts DOCS=page.md succeeds "$ROOT/tests/conformance/write-docs"
    grep -q '^| 2 and 3 threads | \*\*differs\*\*, 2 of 2: up to 5.0e-01 |$' page.md || fail "$(cat page.md)"
}

@test "a wrong command line is reported in one line, before any work" {
    export TOOL=conformance
    fails_with 2 "no subject 'nobody'" "$ROOT/tests/conformance/run" nobody
    fails_with 2 "no axis 'thread'" "$ROOT/tests/conformance/run" --axes "ranks thread" toy
    fails_with 2 "no axis 'ranks-plain'" "$ROOT/tests/conformance/run" --model googlenet --axes ranks-plain toy
    fails_with 2 "--epochs: '0': expected a number of 1 or more" "$ROOT/tests/conformance/run" --epochs 0 toy
    echo no >data
    fails_with 3 "cannot read 'data'" "$ROOT/tests/conformance/run" --data data toy
    BIN=$WORK/nowhere fails_with 3 "cannot draw images: .*: run 'make'" "$ROOT/tests/conformance/run" toy
}

@test "PyTorch trains, stops and resumes under the suite" {
    need_torch
    torch_python imported
    ADAPTER_PYTHON=$WORK/imported
    suite 0 --axes "stop seed" pytorch:eager
    expect "stopped and resumed" "same bits, 3 of 3"
    expect "another seed (must differ)" "differs"
}

@test "make hashes: a model that differs is marked, and what did not run says why" {
    need_tool tensor train-ddp
    mkdir "$WORK/other"
    cat >"$WORK/other/train-single" <<END
#!/bin/sh
exec "$BIN/train-single" "\$@" --set seed=12
END
    chmod +x "$WORK/other/train-single"
    DEBUG_BIN=$WORK/other CLANG_BIN='' AARCH64_BIN='' ROWS='clang|debug|2 ranks|^aarch64' run "$ROOT/tests/conformance/hashes"
    [ "$status" -eq 1 ] || fail "$output"
    [[ $output == *"| debug, -O0 | "*" **differs** |"* ]] || fail "$output"
    [[ $output == *"| clang, release | not run: no clang"* ]] || fail "$output"
    [[ $output == *"| aarch64, resumed after step 3 of "*" | not run: as above |"* ]] || fail "$output"
    [[ $output == *"4 runs, 1 differ or failed, 3 not run"* ]] || fail "$output"
    EMULATED_CUDA='' ROWS=GPU run "$ROOT/tests/conformance/hashes"
    [[ $output == *"| emulated GPU | not run: not built |"* ]] || fail "$output"
    DEBUG_BIN='' ROWS='debug|2 ranks' run "$ROOT/tests/conformance/hashes"
    [ "$status" -eq 0 ] || fail "$output"
}

@test "make hashes: another glibc is named as its loader says, and one like this system's is not run" {
    need_tool tensor train-single
    local own
    own=$(getconf GNU_LIBC_VERSION) || skip "this system has no glibc"
    mkdir -p "$WORK/other/usr/lib/x"
    # loader VERSION [WORD...]: a loader of this version; the program that it starts gets these words too.
    loader() {
        cat >"$WORK/other/usr/lib/x/ld-linux-x.so.2" <<END
#!/bin/sh
if [ "\$1" = --version ]; then
    echo "ld.so (Some GLIBC $1-12+x13u5) stable release version $1."
    exit
fi
[ "\$1 \$2" = "--library-path $WORK/other/usr/lib/x" ] || exit 9
shift 2
exec "\$@" ${*:2}
END
        chmod +x "$WORK/other/usr/lib/x/ld-linux-x.so.2"
    }
    GLIBC_SYSROOT='' ROWS='in place of' run "$ROOT/tests/conformance/hashes"
    [ "$status" -eq 0 ] || fail "$output"
    [[ $output == *"| another glibc in place of $own | not run: there is none: make deps-glibc |"* ]] || fail "$output"
    export GLIBC_SYSROOT=$WORK/other
    loader 9.87
    ROWS='in place of' run "$ROOT/tests/conformance/hashes"
    [ "$status" -eq 0 ] || fail "$output"
    [[ $output == *"| glibc 9.87 in place of $own | "* ]] || fail "$output"
    [[ $output == *"2 runs, 0 differ or failed, 0 not run"* ]] || fail "$output"
    loader 9.87 --set seed=12
    ROWS='in place of' run "$ROOT/tests/conformance/hashes"
    [ "$status" -eq 1 ] || fail "$output"
    [[ $output == *"| glibc 9.87 in place of $own | "*" **differs** |"* ]] || fail "$output"
    loader "${own#glibc }"
    ROWS='in place of' run "$ROOT/tests/conformance/hashes"
    [[ $output == *"| another glibc in place of $own | not run: that of make deps-glibc is $own too"* ]] || fail "$output"
}
