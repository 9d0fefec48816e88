#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Unusual surroundings of a tool: closed streams, a limit on file sizes, names that are not text, a
# folder with another tool's files.
load helpers
load training

setup() {
    need_training
    need_tool bench-allreduce report
    cd "$WORK" || return
    make_data data 128
    write_experiment e.yaml world_size=2 epochs=1
}

train() {
    "$BIN/$1" --experiment e.yaml --train data/train.st.zst --out "${@:2}"
}

# Otherwise the first file opened would get the number of a closed stream, and receive its output:
# the lock file, or the ranks' shared memory.
@test "output to closed standard streams does not go into a file" {
    local closed
    train train-ddp whole
    for closed in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        rm -rf out
        eval "train train-ddp out $closed" || fail "train-ddp $closed"
        cmp whole/model.st.zst out/model.st.zst
        [ ! -s out/.lock ] || fail "train-ddp $closed: output went into the lock file"
        succeeds "$BIN/manifest" verify out/manifest.yaml
    done
}

@test "a closed standard output is an error only if something is to be printed" {
    train train-single out >&-
    run eval '"$BIN/evaluate" --model out/model.st.zst --data data/test.st.zst --out evaluated >&-'
    [ "$status" -eq 1 ] && [[ $output == *"cannot write: 'standard output'"* ]] || fail "$status: $output"
    [ ! -s evaluated/.lock ] || fail "the result went into the lock file"
    run eval '"$BIN/bench-allreduce" --world-size 2 --max-bytes 2048 --iterations 2 <&- >&-'
    [ "$status" -eq 1 ] && [[ $output == *"cannot write: 'standard output'"* ]] || fail "$status: $output"
    run eval '"$BIN/tensor" info - <&-'
    [ "$status" -eq 3 ] && [[ $output == "tensor: cannot read: 'standard input'"* ]] || fail "$status: $output"
}

@test "a limit on the size of files is reported like a full disk" {
    # shellcheck disable=SC2016 # the inner shell's
    local limited='ulimit -f 8; exec "$0" "$@"'
    TOOL=train-ddp fails_with 1 "bytes of shared memory: File too large" \
        bash -c "$limited" "$BIN/train-ddp" --experiment e.yaml --train data/train.st.zst --out out
    nothing_in out
    TOOL=train-single fails_with 1 "cannot write: 'out/state.st.zst': File too large" \
        bash -c "$limited" "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out out
    nothing_in out
    TOOL=synth-cifar fails_with 1 "cannot write: 'drawn/train.st.zst': File too large" \
        bash -c "$limited" "$BIN/synth-cifar" --out drawn
    nothing_in drawn
}

@test "an argument that a manifest cannot hold is refused before the work, not after it" {
    local bad=$'bad\xff'
    fails_with 2 "not UTF-8, which manifests require" "$BIN/train-single" --experiment e.yaml --train data/train.st.zst --out "$bad"
    nothing_in "$bad"
    fails_with 2 "not UTF-8, which manifests require" "$BIN/shard" --shards 2 --in data/train.st.zst --out "$bad"
    nothing_in "$bad"
    # Any valid text is accepted.
    succeeds train train-single $'Ünï ☃\n"\'$'
    succeeds "$BIN/manifest" verify $'Ünï ☃\n"\'$/manifest.yaml'
    # A bad name that is only in the recorded path, here the folder above.
    mkdir "$bad"
    mv data "$bad"
    cd "$bad"
    cp ../e.yaml .
    fails_with 3 "data/train.st.zst' is not UTF-8" \
        "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out ../out
}

@test "no tool overwrites the manifest of another kind of tool" {
    train train-single run
    cp run/manifest.yaml kept
    fails_with 2 "'run': it holds the output of 'train-single'" "$BIN/shard" --shards 2 --in data/train.st.zst --out run
    fails_with 2 "'run': it holds the output of 'train-single'" "$BIN/report" run --out run
    run --separate-stderr "$BIN/evaluate" --model run/model.st.zst --data data/test.st.zst --out run
    [ "$status" -eq 2 ] || fail "$status: $stderr"
    fails_with 2 "'data': it holds the output of 'synth-cifar'" "$BIN/train-single" --experiment e.yaml --train data/train.st.zst --out data
    cmp kept run/manifest.yaml
    [ "$(find run -type f | wc -l)" -eq 5 ] || fail "$(ls -A run)"
    # A run of the same kind replaces it, as before.
    succeeds train train-ddp run
    [ "$("$BIN/manifest" get run/manifest.yaml tool)" = train-ddp ]
}

@test "no tool overwrites its inputs, or writes two outputs into one file" {
    need_tool tensor plan
    local option file train=data/train.st.zst
    train train-single run -q
    "$BIN/shard" -q --shards 4 --in "$train" --out shards
    ln -s "$train" link
    cp -r . "$BATS_FILE_TMPDIR/before"
    for option in --trace --dump-order; do
        for file in "$train" ./data//train.st.zst link data/test.st.zst e.yaml run/model.st.zst; do
            fails_with 2 "cannot write $option: '$file': the same file is an input \(--" "$BIN/train-single" --experiment e.yaml --train "$train" \
                --test data/test.st.zst --init run/model.st.zst --out out "$option" "$file"
        done
        fails_with 2 "$option: 'shards/shard-00001-of-00004.st.zst': the same file is an input \(--train\)" \
            "$BIN/train-ddp" --experiment e.yaml --train shards --out out "$option" shards/shard-00001-of-00004.st.zst
        TOOL=train-dp fails_with 2 "$option: '$train': the same file is an input \(--train\)" \
            sh -c '"$@" <data/train.st.zst' - "$BIN/train-dp" --experiment e.yaml --train - --out out "$option" "$train"
        for file in out/model.st.zst out/../out/state.st.zst ./out/manifest.yaml; do
            mkdir out
            fails_with 2 "$option: '$file': the same file is already an output \(--out\)" \
                "$BIN/train-single" --experiment e.yaml --train "$train" --out out "$option" "$file"
            rmdir out
        done
    done
    fails_with 2 "'./order': the same file is already an output \(--trace\)" "$BIN/train-single" --experiment e.yaml --train "$train" --out out --trace order --dump-order ./order
    fails_with 2 "'run/model.st.zst': the same file is an input \(--init\)" "$BIN/train-single" --experiment e.yaml --train "$train" --out run --init run/model.st.zst
    fails_with 2 "'$train': the same file is an input \(FILE\)" "$BIN/tensor" export --format npy --out "$train" "$train" labels
    fails_with 2 "'link': the same file is an input \(IN\)" "$BIN/tensor" import --format npy --name x --out link "$train"
    fails_with 2 "'e.yaml': the same file is an input \(an argument\)" "$BIN/plan" ladder "$ROOT/experiments/R001/single.yaml" e.yaml --out e.yaml
    fails_with 2 "'e.yaml': the same file is an input \(--from\)" "$BIN/fetch-cifar" --from e.yaml --split train --out - --manifest e.yaml
    fails_with 2 "'-': the same file is already an output \(--out\)" "$BIN/synth-cifar" --split train --out - --manifest -
    rm -rf out
    diff -r -x 'separate-stderr*' . "$BATS_FILE_TMPDIR/before"
    # A separate name next to the shards is accepted, also if it exists; devices are never replaced.
    succeeds train train-single run -q --train shards --trace shards/trace.json
    succeeds train train-single run -q --train shards --trace shards/trace.json
    succeeds train train-single run -q --trace /dev/null --dump-order /dev/null
}

@test "an output folder named '-' or '' is a usage error" {
    local name
    train train-single run
    for name in - ''; do
        fails_with 2 "'$name': expected a folder name" "$BIN/train-single" --experiment e.yaml --train data/train.st.zst --out "$name"
        fails_with 2 "'$name': expected a folder name" "$BIN/evaluate" --model run/model.st.zst --data data/test.st.zst --out "$name"
        fails_with 2 "'$name': expected a folder name" "$BIN/report" run --out "$name"
    done
    [ ! -e - ]
}
