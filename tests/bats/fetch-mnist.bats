#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# fetch-mnist: bad sources are refused; made-up Fashion-MNIST files, of which only the structure is
# checked, are accepted; with MNIST_FROM also the real data.
load helpers

setup() {
    export no_proxy=127.0.0.1
    export LOCKSTEP_RETRY_SECONDS=0
    MNIST=$BIN/fetch-mnist
    OUT=$WORK/out
}

teardown() {
    stop_serving
}

# idx FILE COUNT [SIDE]: an IDX file of zero bytes: COUNT images of SIDE x SIDE, or COUNT labels.
idx() {
    "$PYTHON" - "$@" <<'PY'
import struct, sys
path, count, side = sys.argv[1], int(sys.argv[2]), int((sys.argv + [0])[3])
shape = (count, side, side) if side else (count,)
with open(path, "wb") as f:
    f.write(struct.pack(">BBBB%dI" % len(shape), 0, 0, 8, len(shape), *shape))
    f.write(bytes(count * (side * side or 1)))
PY
}

# fashion DIR: made-up files of the correct sizes.
fashion() {
    mkdir -p "$1"
    idx "$1/train-images-idx3-ubyte" 60000 28
    idx "$1/train-labels-idx1-ubyte" 60000
    idx "$1/t10k-images-idx3-ubyte" 10000 28
    idx "$1/t10k-labels-idx1-ubyte" 10000
}

# poke FILE OFFSET BYTE: changes one byte; BYTE as in printf: '\011'.
poke() {
    # shellcheck disable=SC2059 # the byte is an escape
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# refused PATTERN: the made-up files are refused; the last line says so, after warnings about
# unpinned files.
refused() {
    run --separate-stderr -- "$MNIST" --dataset fashion-mnist --from "$WORK/fashion" --out "$OUT"
    [ "$status" -eq 3 ] || fail "exit code $status" "$stderr"
    # shellcheck disable=SC2154 # set by run
    [[ ${stderr_lines[-1]} =~ $1 ]] || fail "the message does not match '$1': ${stderr_lines[-1]}"
    nothing_in "$OUT"
}

@test "help and version" {
    succeeds "$MNIST" --help
    [[ $output == *"fashion-mnist"* ]]
    succeeds "$MNIST" --version
}

@test "bad command lines are refused" {
    fails_with 2 "--out is missing" "$MNIST"
    fails_with 2 "'emnist'" "$MNIST" --dataset emnist --out "$OUT"
    fails_with 2 "--split" "$MNIST" --out -
    fails_with 2 "--split" "$MNIST" --split test --out "$OUT"
    nothing_in "$OUT"
}

@test "bad sources are refused" {
    mkdir "$WORK/d"
    fails_with 3 "'$WORK/absent': No such file" "$MNIST" --from "$WORK/absent" --out "$OUT"
    fails_with 3 "'train-images-idx3-ubyte' of mnist is missing" "$MNIST" --from "$WORK/d" --out "$OUT"
    mkdir "$WORK/d/train-images-idx3-ubyte"
    fails_with 3 "'train-images-idx3-ubyte' of mnist is missing" "$MNIST" --from "$WORK/d" --out "$OUT"
    rmdir "$WORK/d/train-images-idx3-ubyte"
    echo text >"$WORK/file"
    fails_with 3 "'$WORK/file'" "$MNIST" --from "$WORK/file" --out "$OUT"
    echo text >"$WORK/d/train-images-idx3-ubyte.gz"
    fails_with 3 "is one of the 4 files of mnist: pass their folder" "$MNIST" --from "$WORK/d/train-images-idx3-ubyte.gz" --out "$OUT"
    fails_with 3 "ubyte.gz': it is text that begins with 'text'" "$MNIST" --from "$WORK/d" --out "$OUT"
    printf '\1\2' >"$WORK/d/train-images-idx3-ubyte.gz"
    fails_with 3 "has 2 bytes, expected 47040016" "$MNIST" --from "$WORK/d" --out "$OUT"
    idx "$WORK/d/train-images-idx3-ubyte" 60000 28
    fails_with 3 "'train-images-idx3-ubyte' has SHA-256 .*, expected ba891046" \
        "$MNIST" --from "$WORK/d" --out "$OUT"
    gzip -1 <"$WORK/d/train-images-idx3-ubyte" | head -c 20000 >"$WORK/d/train-images-idx3-ubyte.gz"
    rm "$WORK/d/train-images-idx3-ubyte"
    mv "$WORK/d/train-images-idx3-ubyte.gz" "$WORK/cut.gz"
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:1\n' >"$WORK/d/train-images.idx3-ubyte"
    fails_with 3 "'$WORK/d/train-images.idx3-ubyte': it is a pointer of Git LFS.*git lfs pull" "$MNIST" --from "$WORK/d" --out "$OUT"
    printf '<!doctype html>' >"$WORK/d/train-images.idx3-ubyte"
    fails_with 3 "'$WORK/d/train-images.idx3-ubyte': it is a web page" "$MNIST" --from "$WORK/d" --out "$OUT"
    rm "$WORK/d/train-images.idx3-ubyte"
    mv "$WORK/cut.gz" "$WORK/d/train-images-idx3-ubyte.gz"
    fails_with 3 "train-images-idx3-ubyte.gz'" "$MNIST" --from "$WORK/d" --out "$OUT"
    nothing_in "$OUT"
}

@test "Fashion-MNIST: uncompressed files are accepted with a warning, .gz files with another hash are not" {
    need_tool tensor
    fashion "$WORK/fashion"
    poke "$WORK/fashion/train-labels-idx1-ubyte" $((8 + 5)) '\011'
    poke "$WORK/fashion/train-images-idx3-ubyte" $((16 + 784 * 5)) '\377'
    run --separate-stderr -- "$MNIST" --dataset fashion-mnist --from "$WORK/fashion" --out "$OUT"
    [ "$status" -eq 0 ] || fail "$stderr"
    # shellcheck disable=SC2154 # set by run
    [ "${#stderr_lines[@]}" -eq 5 ]
    [[ ${stderr_lines[4]} == *"10000 of 10000 test images are also training images"* ]] # all are zero
    [[ ${stderr_lines[0]} == *"train-images-idx3-ubyte': only its size and structure"* ]]
    [ "$("$BIN/tensor" cat "$OUT/train.st.zst" labels | od -An -j5 -N1 -tu1)" -eq 9 ]
    [ "$("$BIN/tensor" cat "$OUT/train.st.zst" images | od -An -j$((784 * 5)) -N1 -tu1)" -eq 255 ]
    [[ "$("$BIN/manifest" get "$OUT/manifest.yaml" results.unpinned)" == *train-images-idx3-ubyte*t10k-labels-idx1-ubyte* ]]
    rm -r "$OUT"
    gzip -1 "$WORK/fashion/t10k-labels-idx1-ubyte"
    refused "'t10k-labels-idx1-ubyte.gz' has SHA-256 .*, expected 67da17c7"
}

@test "--classes keeps these classes, under another name; an unknown one is refused before anything is read" {
    need_tool tensor
    fashion "$WORK/fashion" # all labels are 0, T-shirt/top
    poke "$WORK/fashion/train-labels-idx1-ubyte" $((8 + 5)) '\010' # a bag
    poke "$WORK/fashion/train-labels-idx1-ubyte" $((8 + 6)) '\001'
    "$MNIST" -q --dataset fashion-mnist --classes Bag,T-shirt/top --from "$WORK/fashion" --out "$OUT" 2>"$WORK/warnings"
    [ "$("$BIN/tensor" cat "$OUT/train.st.zst" labels | od -An -N7 -tu1 | xargs)" = "1 1 1 1 1 0 1" ]
    [ "$("$BIN/manifest" get "$OUT/manifest.yaml" results.train_samples)" = 59999 ]
    [ "$("$BIN/manifest" get "$OUT/manifest.yaml" parameters.classes.0)" = Bag ]
    succeeds "$BIN/tensor" info "$OUT/train.st.zst"
    [[ $output == *'dataset: "fashion-mnist-2-classes"'* ]]
    rm -r "$OUT"
    fails_with 2 "'Bug': the classes are T-shirt/top, .*; did you mean 'Bag'\?" \
        "$MNIST" --dataset fashion-mnist --classes Bug,Coat --from "$WORK/absent" --out "$OUT"
    nothing_in "$OUT"
}

@test "Fashion-MNIST: torchvision's folder is accepted, and .gz files with a known hash take precedence" {
    mkdir -p "$WORK/root/FashionMNIST"
    fashion "$WORK/root/FashionMNIST/raw"
    "$MNIST" -q --dataset fashion-mnist --from "$WORK/root" --out "$OUT" 2>"$WORK/warnings"
    [ "$(grep -c 'only its size and structure' "$WORK/warnings")" -eq 4 ]
    rm -r "$OUT"
    gzip -k -1 "$WORK/root/FashionMNIST/raw/train-labels-idx1-ubyte"
    run --separate-stderr -- "$MNIST" --dataset fashion-mnist --from "$WORK/root/FashionMNIST" --out "$OUT"
    [ "$status" -eq 3 ]
    [[ $stderr == *"'train-labels-idx1-ubyte.gz' has SHA-256 "*", expected a04f1713"* ]] || fail "$stderr"
    nothing_in "$OUT"
}

# spelt FOLDER: the same files, as 7-Zip spells them, two in folders of their names as Kaggle packs
# them, one compressed.
spelt() {
    mv "$1/train-images-idx3-ubyte" "$1/train-images.idx3-ubyte"
    mkdir "$1/train-labels-idx1-ubyte.d" "$1/t10k-images-idx3-ubyte.d"
    mv "$1/train-labels-idx1-ubyte" "$1/train-labels-idx1-ubyte.d/"
    mv "$1/t10k-images-idx3-ubyte" "$1/t10k-images-idx3-ubyte.d/t10k-images.idx3-ubyte"
    mv "$1/train-labels-idx1-ubyte.d" "$1/train-labels-idx1-ubyte"
    mv "$1/t10k-images-idx3-ubyte.d" "$1/t10k-images-idx3-ubyte"
    mv "$1/t10k-labels-idx1-ubyte" "$1/T10K-labels.idx1-ubyte"
}

@test "names that unpackers and other libraries give, folders of these names, and archives" {
    fashion "$WORK/fashion"
    poke "$WORK/fashion/t10k-labels-idx1-ubyte" $((8 + 5)) '\011'
    "$MNIST" -q --dataset fashion-mnist --from "$WORK/fashion" --split test --out - 2>/dev/null >"$WORK/expected"
    spelt "$WORK/fashion"
    "$MNIST" -q --dataset fashion-mnist --from "$WORK/fashion" --split test --out - 2>/dev/null | cmp - "$WORK/expected"
    # An archive of both spellings, as Kaggle has it: equal ones do no harm, others do.
    mkdir "$WORK/fashion/again"
    cp "$WORK/fashion/train-images.idx3-ubyte" "$WORK/fashion/again/train-images-idx3-ubyte"
    tar -C "$WORK" -cf "$WORK/kaggle.tar" fashion
    "$MNIST" -q --dataset fashion-mnist --from "$WORK/kaggle.tar" --split test --out - 2>"$WORK/warnings" | cmp - "$WORK/expected"
    [ "$(grep -c "only its size and structure" "$WORK/warnings")" -eq 5 ]
    poke "$WORK/fashion/again/train-images-idx3-ubyte" 100 '\001'
    tar -C "$WORK" -cf "$WORK/kaggle.tar" fashion
    run --separate-stderr -- "$MNIST" --dataset fashion-mnist --from "$WORK/kaggle.tar" --out "$OUT"
    [ "$status" -eq 3 ]
    [[ $stderr == *"'train-images-idx3-ubyte' occurs twice, with different content" ]] || fail "$stderr"
    # A .gz inside an archive has the hash of the published one, or is refused.
    mkdir "$WORK/packed"
    gzip -1 <"$WORK/fashion/T10K-labels.idx1-ubyte" >"$WORK/packed/t10k-labels-idx1-ubyte.gz"
    tar -C "$WORK" -cf "$WORK/packed.tar" packed
    fails_with 3 "'t10k-labels-idx1-ubyte.gz' has SHA-256 .*, expected 67da17c7" \
        "$MNIST" --dataset fashion-mnist --from "$WORK/packed.tar" --out "$OUT"
    nothing_in "$OUT"
}

@test "Fashion-MNIST: a wrong structure is refused" {
    fashion "$WORK/fashion"
    poke "$WORK/fashion/t10k-labels-idx1-ubyte" 2 '\015'
    refused "'t10k-labels-idx1-ubyte': 10000 bytes of data, but its header says 40000"
    poke "$WORK/fashion/t10k-labels-idx1-ubyte" 2 '\010'
    poke "$WORK/fashion/t10k-labels-idx1-ubyte" 7 '\000'
    refused "'t10k-labels-idx1-ubyte': 10000 bytes of data, but its header says 9984"
    idx "$WORK/fashion/t10k-labels-idx1-ubyte" 10000
    poke "$WORK/fashion/t10k-labels-idx1-ubyte" 100 '\012'
    refused "label 10 of sample 92 of the test split: there are 10 classes"
    truncate -s -1 "$WORK/fashion/train-images-idx3-ubyte"
    refused "'train-images-idx3-ubyte' has 47040015 bytes, expected 47040016"
}

@test "print-key depends only on the data set" {
    succeeds "$MNIST" --print-key
    local key=$output
    [[ $key =~ ^[0-9a-f]{64}$ ]]
    succeeds "$MNIST" --from "$WORK/absent" --print-key
    [ "$output" = "$key" ]
    succeeds "$MNIST" --dataset fashion-mnist --print-key
    [ "$output" != "$key" ]
}

@test "real data: a folder of .gz, the unpacked files and a server give the same" {
    need_mnist
    need_tool tensor manifest
    succeeds "$MNIST" --from "$MNIST_FROM" --out "$WORK/a"
    succeeds "$BIN/manifest" verify "$WORK/a/manifest.yaml"
    succeeds "$BIN/tensor" info "$WORK/a/train.st.zst"
    [[ $output == *60000*1*28*28* ]]
    [[ $output == *0.13066*0.30810* ]] # the usual normalisation constants of MNIST
    mkdir "$WORK/plain"
    local name
    for name in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
        gzip -dc "$MNIST_FROM/$name-ubyte.gz" >"$WORK/plain/$name-ubyte"
    done
    "$MNIST" --from "$WORK/plain" --split test --out - | cmp - "$WORK/a/test.st.zst"
    run --separate-stderr -- "$MNIST" --dataset fashion-mnist --from "$WORK/plain" --out "$OUT"
    [ "$status" -eq 3 ]
    [[ $stderr == *"'train-images-idx3-ubyte' is that of mnist, not of fashion-mnist: pass --dataset mnist" ]] || fail "$stderr"
    tar -C "$(dirname "$MNIST_FROM")" -cf "$WORK/gz.tar" "$(basename "$MNIST_FROM")"
    "$MNIST" --from "$WORK/gz.tar" --split test --out - | cmp - "$WORK/a/test.st.zst"
    serve "$MNIST_FROM"
    "$MNIST" -q --from "$URL" --split test --out - | cmp - "$WORK/a/test.st.zst"
    # A first mirror without the files, and one with a token, which is appended to each address.
    printf 'schema: lockstep.mirrors/1\nmirrors:\n  mnist: ["%s/none/", "%s?token=s3cret"]\n' "$URL" "$URL" >"$WORK/mirrors.yaml"
    "$MNIST" -q --mirrors "$WORK/mirrors.yaml" --split test --out - --manifest "$WORK/m.yaml" 2>"$WORK/said" |
        cmp - "$WORK/a/test.st.zst"
    [ "$(grep -c '/t10k-labels-idx1-ubyte.gz?token=s3cret' "$WORK/port.log")" -eq 1 ] || fail "$(cat "$WORK/port.log")"
    [ "$("$BIN/manifest" get "$WORK/m.yaml" run.source.from)" = "$URL?token=***" ]
    ! grep s3cret "$WORK/m.yaml" "$WORK/said" || fail "the token was disclosed"
}
