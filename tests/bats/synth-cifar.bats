#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# synth-cifar: equal options give equal bytes; its output forms are those of every fetch tool.
load helpers

synth() { "$BIN/synth-cifar" "$@"; }

@test "help and version" {
    succeeds "$BIN/synth-cifar" --help
    [[ $output == *"--shape C,H,W"* ]]
    succeeds "$BIN/synth-cifar" --version
    [[ $output == synth-cifar\ * ]]
}

@test "a folder gets both splits and a manifest that verifies" {
    succeeds synth --train 61 --test 20 --out "$WORK/a/b"
    [ "$(ls "$WORK/a/b")" = "$(printf '%s\n' manifest.yaml test.st.zst train.st.zst)" ]
    need_tool tensor manifest
    succeeds "$BIN/tensor" info "$WORK/a/b/train.st.zst"
    [[ $output == *61*3*32*32* ]]
    succeeds "$BIN/manifest" verify "$WORK/a/b/manifest.yaml"
    succeeds "$BIN/manifest" get "$WORK/a/b/manifest.yaml" parameters.train
    [ "$output" = 61 ]
}

@test "equal options give equal bytes; seed, shape and noise change them" {
    synth --train 50 --test 10 --out "$WORK/a"
    synth --train 50 --test 10 --out "$WORK/b"
    cmp "$WORK/a/train.st.zst" "$WORK/b/train.st.zst"
    cmp "$WORK/a/test.st.zst" "$WORK/b/test.st.zst"
    local option
    for option in "--seed 1" "--shape 1,28,28" "--noise"; do
        # shellcheck disable=SC2086 # an option and its value
        synth --train 50 --test 10 $option --out "$WORK/c"
        run cmp -s "$WORK/a/train.st.zst" "$WORK/c/train.st.zst"
        [ "$status" -eq 1 ] || fail "$option has no effect"
    done
}

@test "--classes sets the number of classes; ten is the default" {
    local count
    for count in 3 25; do
        synth -q --shape 3,8,8 --train 300 --test 10 --classes "$count" --out "$WORK/c$count"
        run "$BIN/tensor" export --format csv "$WORK/c$count/train.st.zst" labels
        [ "$(sort -un <<<"$output" | tail -n 1)" = $((count - 1)) ] || fail "$count: $output"
    done
    [ "$(synth --print-key --out a)" = "$(synth --print-key --classes 10 --out a)" ]
    [ "$(synth --print-key --out a)" != "$(synth --print-key --classes 3 --out a)" ]
    fails_with 2 "classes" "$BIN/synth-cifar" --classes 1 --out "$WORK/c1"
}

@test "image i does not depend on the number of images" {
    need_tool tensor
    synth --train 50 --test 10 --out "$WORK/a"
    synth --train 20 --test 10 --out "$WORK/b"
    "$BIN/tensor" cat "$WORK/a/train.st.zst" images | head -c $((20 * 3072)) >"$WORK/first"
    "$BIN/tensor" cat "$WORK/b/train.st.zst" images | cmp - "$WORK/first"
}

@test "a stream has the bytes of the file, and --manifest sets the path of its manifest" {
    synth --train 50 --test 10 --out "$WORK/a"
    synth --train 50 --test 10 --split train --out - --manifest "$WORK/m.yaml" >"$WORK/train"
    synth --train 50 --test 10 --split test --out - >"$WORK/test"
    cmp "$WORK/a/train.st.zst" "$WORK/train"
    cmp "$WORK/a/test.st.zst" "$WORK/test"
    need_tool manifest
    succeeds "$BIN/manifest" get "$WORK/m.yaml" outputs.0.path
    [ "$output" = - ]
}

@test "print-key is the same for equal options, and writes nothing" {
    succeeds synth --train 50 --print-key --out "$WORK/a"
    local key=$output
    [[ $key =~ ^[0-9a-f]{64}$ ]]
    nothing_in "$WORK/a"
    succeeds synth --train 50 --print-key
    [ "$output" = "$key" ]
    succeeds synth --train 51 --print-key
    [ "$output" != "$key" ]
    synth --train 50 --out "$WORK/a"
    need_tool manifest
    succeeds "$BIN/manifest" get "$WORK/a/manifest.yaml" key
    [ "$output" = "$key" ]
}

@test "bad command lines are refused" {
    fails_with 2 "--out is missing" "$BIN/synth-cifar"
    fails_with 2 "--split" "$BIN/synth-cifar" --out -
    fails_with 2 "'valid'" "$BIN/synth-cifar" --split valid --out -
    fails_with 2 "--split" "$BIN/synth-cifar" --split train --out "$WORK/a"
    fails_with 2 "--manifest" "$BIN/synth-cifar" --manifest "$WORK/m" --out "$WORK/a"
    fails_with 2 "train" "$BIN/synth-cifar" --train 0 --out "$WORK/a"
    fails_with 2 "'--tran'.*'--train'" "$BIN/synth-cifar" --tran 5 --out "$WORK/a"
    local shape
    for shape in 3 3,32 3,32,32,1 0,32,32 17,32,32 3,32,1025 3,-2,2 3,32,32x ""; do
        fails_with 2 "'$shape'" "$BIN/synth-cifar" --shape "$shape" --out "$WORK/a"
    done
    nothing_in "$WORK/a"
}

@test "a full disk is an error, and nothing is left" {
    TOOL=synth-cifar fails_with 1 "No space" \
        sh -c "'$BIN/synth-cifar' --train 50 --split train --out - >/dev/full"
    # A file size limit fails like a full disk, after the first blocks.
    TOOL=synth-cifar fails_with 1 "'$WORK/a/train.st.zst'" bash -c \
        "trap '' XFSZ; ulimit -f 100; '$BIN/synth-cifar' --train 200 --out '$WORK/a'"
    nothing_in "$WORK/a"
}

@test "if the second file fails, the first is removed" {
    TOOL=synth-cifar fails_with 1 "'$WORK/a/test.st.zst'" bash -c \
        "trap '' XFSZ; ulimit -f 100; '$BIN/synth-cifar' --train 10 --test 200 --out '$WORK/a'"
    nothing_in "$WORK/a"
}

@test "a folder that cannot be written is an error" {
    echo text >"$WORK/file"
    fails_with 1 "'$WORK/file'" "$BIN/synth-cifar" --train 5 --out "$WORK/file/sub"
    [ "$(id -u)" -ne 0 ] || skip "root writes to read-only folders too"
    mkdir "$WORK/locked"
    chmod a-w "$WORK/locked"
    fails_with 1 "'$WORK/locked" "$BIN/synth-cifar" --train 5 --out "$WORK/locked"
}

@test "one writer per folder" {
    mkdir "$WORK/a"
    exec 8>>"$WORK/a/.lock"
    flock 8
    fails_with 1 "'$WORK/a'" "$BIN/synth-cifar" --train 5 --out "$WORK/a"
    exec 8>&-
    succeeds synth --train 5 --out "$WORK/a"
}
