#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shard: the contents of the files, the pipe, replacing, and refusals.
load helpers

setup_file() {
    "$BIN/synth-cifar" --train 610 --test 20 --out "$BATS_FILE_TMPDIR/data"
}

setup() {
    TRAIN=$BATS_FILE_TMPDIR/data/train.st.zst
}

shard() { "$BIN/shard" "$@"; }

# values FILE TENSOR FORMAT SIZE: one element per line.
values() { "$BIN/tensor" cat "$1" "$2" | od -An -v -w"$4" -t"$3" | tr -d ' '; }

@test "help and version" {
    succeeds "$BIN/shard" --help
    [[ $output == *"--shards V"* ]]
    succeeds "$BIN/shard" --version
}

@test "every sample is in one shard, and the sizes differ by at most one" {
    need_tool tensor
    succeeds shard --shards 4 --in "$TRAIN" --out "$WORK/s"
    local v sizes=""
    for v in 0 1 2 3; do
        values "$WORK/s/shard-0000$v-of-00004.st.zst" ids u4 4 >"$WORK/ids.$v"
        sizes="$sizes $(wc -l <"$WORK/ids.$v")"
    done
    [ "$sizes" = " 153 153 152 152" ]
    sort -n "$WORK"/ids.? | cmp - <(seq 0 609)
    # Dealt, not cut: a shard is not a contiguous part of the official order.
    run sort -nc "$WORK/ids.0"
    [ "$status" -ne 0 ]
}

@test "labels and images stay with their ids" {
    need_tool tensor
    shard --shards 3 --in "$TRAIN" --out "$WORK/s"
    values "$TRAIN" labels u1 1 | nl -v0 -w1 -s' ' >"$WORK/expected"
    "$BIN/tensor" cat "$TRAIN" images | od -An -v -w3072 -tx1 | tr -d ' ' |
        paste -d' ' "$WORK/expected" - >"$WORK/whole"
    local v file
    for v in 0 1 2; do
        file=$WORK/s/shard-0000$v-of-00003.st.zst
        paste -d' ' <(values "$file" ids u4 4) <(values "$file" labels u1 1) \
            <("$BIN/tensor" cat "$file" images | od -An -v -w3072 -tx1 | tr -d ' ')
    done | sort -n | cmp - "$WORK/whole"
}

@test "another seed gives other shards; the same seed gives the same shards" {
    shard --shards 2 --in "$TRAIN" --out "$WORK/a"
    shard --shards 2 --seed 0 --in "$TRAIN" --out "$WORK/b"
    shard --shards 2 --seed 1 --in "$TRAIN" --out "$WORK/c"
    cmp "$WORK/a/shard-00000-of-00002.st.zst" "$WORK/b/shard-00000-of-00002.st.zst"
    run cmp -s "$WORK/a/shard-00000-of-00002.st.zst" "$WORK/c/shard-00000-of-00002.st.zst"
    [ "$status" -eq 1 ]
}

@test "a pipe gives the same files as two steps" {
    shard --shards 4 --in "$TRAIN" --out "$WORK/a"
    "$BIN/synth-cifar" --train 610 --test 20 --split train --out - |
        shard --shards 4 --in - --out "$WORK/b"
    local v
    for v in 0 1 2 3; do
        cmp "$WORK/a/shard-0000$v-of-00004.st.zst" "$WORK/b/shard-0000$v-of-00004.st.zst"
    done
    need_tool manifest
    succeeds "$BIN/manifest" get "$WORK/b/manifest.yaml" inputs.0.path
    [ "$output" = - ]
    succeeds "$BIN/manifest" get "$WORK/a/manifest.yaml" inputs.0.content
    local content=$output
    succeeds "$BIN/manifest" get "$WORK/b/manifest.yaml" inputs.0.content
    [ "$output" = "$content" ]
}

@test "the manifest verifies, and its key is the printed one" {
    need_tool manifest
    shard --shards 2 --in "$TRAIN" --out "$WORK/a"
    succeeds "$BIN/manifest" verify "$WORK/a/manifest.yaml"
    succeeds "$BIN/manifest" get "$WORK/a/manifest.yaml" key
    local key=$output
    succeeds shard --shards 2 --in "$TRAIN" --print-key
    [ "$output" = "$key" ]
    succeeds shard --shards 2 --seed 5 --in "$TRAIN" --print-key
    [ "$output" != "$key" ]
}

@test "earlier shards are replaced, other files stay" {
    shard --shards 5 --in "$TRAIN" --out "$WORK/a"
    touch "$WORK/a/notes"
    shard --shards 2 --in "$TRAIN" --out "$WORK/a"
    [ "$(ls "$WORK/a")" = "$(printf '%s\n' manifest.yaml notes shard-00000-of-00002.st.zst \
        shard-00001-of-00002.st.zst)" ]
}

@test "bad command lines are refused" {
    fails_with 2 "--shards is missing" "$BIN/shard" --in "$TRAIN" --out "$WORK/a"
    fails_with 2 "--in is missing" "$BIN/shard" --shards 2 --out "$WORK/a"
    fails_with 2 "--out is missing" "$BIN/shard" --shards 2 --in "$TRAIN"
    fails_with 2 "--out is missing" "$BIN/shard" --shards 2 --in "$TRAIN" --out -
    fails_with 2 "shards" "$BIN/shard" --shards 0 --in "$TRAIN" --out "$WORK/a"
    fails_with 2 "shards" "$BIN/shard" --shards 1025 --in "$TRAIN" --out "$WORK/a"
    fails_with 2 "611 shards but only 610 samples" \
        "$BIN/shard" --shards 611 --in "$TRAIN" --out "$WORK/a"
    nothing_in "$WORK/a"
}

@test "bad inputs are refused, and existing files stay unchanged" {
    shard --shards 2 --in "$TRAIN" --out "$WORK/a"
    find "$WORK/a" -printf '%f %s %i %T@\n' | sort >"$WORK/before"
    fails_with 3 "'$WORK/none'" "$BIN/shard" --shards 3 --in "$WORK/none" --out "$WORK/a"
    head -c 100000 "$TRAIN" >"$WORK/cut"
    fails_with 3 "'$WORK/cut'" "$BIN/shard" --shards 3 --in "$WORK/cut" --out "$WORK/a"
    TOOL=shard fails_with 3 "'standard input'" sh -c "'$BIN/shard' --shards 3 --in - --out '$WORK/a' <'$WORK/cut'"
    TOOL=shard fails_with 3 "'standard input'" sh -c ": | '$BIN/shard' --shards 3 --in - --out '$WORK/a'"
    fails_with 3 "'$WORK/a'" "$BIN/shard" --shards 3 --in "$WORK/a" --out "$WORK/a"
    fails_with 3 "shard-00000-of-00002" \
        "$BIN/shard" --shards 3 --in "$WORK/a/shard-00000-of-00002.st.zst" --out "$WORK/b"
    find "$WORK/a" -printf '%f %s %i %T@\n' | sort | cmp - "$WORK/before"
    nothing_in "$WORK/b"
}

# The folder of fetch-cifar, synth-cifar or import-images, or that of the pictures.
@test "a folder without shards: the message names the dataset in it, or the tool that makes one" {
    need_tool train-single
    mkdir -p "$WORK/pictures/cat"
    local go=("$BIN/train-single" --experiment "$ROOT/experiments/quickstart.yaml" --out "$WORK/run" --train)
    fails_with 3 "no shard.*such as '$TRAIN'" "${go[@]}" "$BATS_FILE_TMPDIR/data"
    fails_with 3 "'$WORK/pictures': no shard.*'import-images' makes a dataset of pictures" "${go[@]}" "$WORK/pictures"
    nothing_in "$WORK/run"
}

@test "a full disk is an error, and no shard is left" {
    TOOL=shard fails_with 1 "'$WORK/a/shard-0000[01]-of-00002.st.zst'" bash -c \
        "trap '' XFSZ; ulimit -f 200; '$BIN/shard' --shards 2 --in '$TRAIN' --out '$WORK/a'"
    nothing_in "$WORK/a"
    fails_with 1 "'$TRAIN'" "$BIN/shard" --shards 2 --in "$TRAIN" --out "$TRAIN/sub"
}
