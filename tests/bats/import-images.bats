#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# import-images: folders of pictures and arrays become data sets; unusable files are named; the docs' example works.
load helpers

setup_file() {
    local compiler
    read -ra compiler <<<"${CC:-cc}"
    "${compiler[@]}" -o "$BATS_FILE_TMPDIR/make_jpeg" "$ROOT/tests/fixtures/make_jpeg.c" -ljpeg
}

setup() {
    need_python
    IMPORT=$BIN/import-images
    OUT=$WORK/out
    cd "$WORK"
}

make_images() {
    "$PYTHON" "$ROOT/tests/python/make_images.py" "$@"
}

make_jpeg() {
    "$BATS_FILE_TMPDIR/make_jpeg" "$@"
}

# pixels SPLIT [TENSOR]: the numbers in a file of $OUT, on one line.
pixels() {
    "$BIN/tensor" cat "$OUT/$1.st.zst" "${2:-images}" | od -An -v -tu1 | xargs
}

value() {
    "$BIN/manifest" get "$OUT/manifest.yaml" "$1"
}

@test "help, version, and bad command lines" {
    succeeds "$IMPORT" --help
    [[ $output == *"--test-fraction F"* ]]
    mkdir one
    fails_with 2 "--from is missing" "$IMPORT" --out "$OUT"
    fails_with 2 "--size is missing" "$IMPORT" --from one --out "$OUT"
    fails_with 2 "--out is missing" "$IMPORT" --from one --size 8 --name a --split train
    fails_with 2 "--size" "$IMPORT" --from one --size 1025 --out "$OUT"
    fails_with 2 "--channels" "$IMPORT" --from one --size 8 --channels 2 --out "$OUT"
    fails_with 2 "--test-fraction: 1:" "$IMPORT" --from one --size 8 --test-fraction 1 --out "$OUT"
    fails_with 2 "bad value of --name: 'a b'" "$IMPORT" --from one --size 8 --name 'a b' --out "$OUT"
    mkdir 'my flowers'
    fails_with 2 "'my flowers': .*pass --name" "$IMPORT" --from 'my flowers' --size 8 --out "$OUT"
    fails_with 3 "'absent': No such file" "$IMPORT" --from absent --size 8 --out "$OUT"
    nothing_in "$OUT"
}

@test "classes are sorted, and the split does not depend on the order of the folder" {
    make_images classes flowers 3 10
    succeeds "$IMPORT" --from flowers/ --size 4 --out "$OUT"
    [[ $stderr == *"'flowers': 3 classes, 24 training images, 6 test images"* ]]
    [ "$(pixels train labels)" = "$(printf '%s ' 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2 | xargs)" ]
    [ "$(pixels test labels)" = "0 0 1 1 2 2" ]
    succeeds "$BIN/tensor" info "$OUT/train.st.zst"
    [[ $output == *'classes: "[\"c000\",\"c001\",\"c002\"]"'*'dataset: "flowers"'* ]]
    # Other files of the same names, created in the reverse order, in another place.
    mkdir -p elsewhere/flowers
    local class file
    for class in c002 c000 c001; do
        mkdir "elsewhere/flowers/$class"
        for file in $(cd flowers/$class && echo * | tac -s ' '); do cp "flowers/$class/$file" "elsewhere/flowers/$class/"; done
    done
    "$IMPORT" -q --from elsewhere/flowers --size 4 --out other
    [ "$("$BIN/tensor" hash other/train.st.zst | cut -d' ' -f1)" = "$("$BIN/tensor" hash "$OUT/train.st.zst" | cut -d' ' -f1)" ]
    [ "$("$BIN/tensor" hash other/test.st.zst | cut -d' ' -f1)" = "$("$BIN/tensor" hash "$OUT/test.st.zst" | cut -d' ' -f1)" ]
    "$IMPORT" -q --from flowers --size 4 --seed 1 --out other
    [ "$("$BIN/tensor" hash other/train.st.zst | cut -d' ' -f1)" != "$("$BIN/tensor" hash "$OUT/train.st.zst" | cut -d' ' -f1)" ]
    "$BIN/manifest" verify "$OUT/manifest.yaml"
}

@test "the key depends on contents, names and settings, not on time and place" {
    make_images classes flowers 2 3
    cp -r flowers copy
    local key
    key=$("$IMPORT" --from flowers --size 4 --print-key)
    [ "$("$IMPORT" --from copy --name flowers --size 4 --print-key)" = "$key" ]
    [ "$("$IMPORT" --from flowers --size 5 --print-key)" != "$key" ]
    [ "$("$IMPORT" --from flowers --size 4 --seed 2 --print-key)" != "$key" ]
    "$IMPORT" -q --from flowers --size 4 --out "$OUT"
    [ "$(value key)" = "$key" ]
    make_images png copy/c000/00.png rgb 8 8 7
    [ "$("$IMPORT" --from copy --name flowers --size 4 --print-key)" != "$key" ]
}

@test "every kind of PNG: 16 bits, grey, palette, transparent, one bit" {
    local kind
    mkdir -p p/a p/b
    for kind in grey grey16 rgb rgb16 rgba bits; do make_images png "p/a/$kind.png" $kind 9 5; done
    make_images png p/a/palette.png palette 5 9 1
    make_images png p/b/1.png grey 2 2 0
    make_images png p/b/2.png grey 2 2 0
    "$IMPORT" -q --from p --size 1 --test-fraction 0.01 --out "$OUT"
    # In the order of names; one of each class goes to the test split.
    [ "$(value results.train_samples)" = 7 ]
    sorted() { (pixels train; pixels test) | xargs -n 3 | LC_ALL=C sort | tr '\n' ';'; }
    [ "$(sorted)" = "0 0 0;0 0 0;100 0 155;100 0 255;100 100 100;100 100 100;177 127 127;200 100 50;255 255 255;" ]
    "$IMPORT" -q --from p --size 1 --channels 1 --out "$OUT"
    [ "$( (pixels train; pixels test) | xargs -n 1 | sort -n | xargs)" = "0 0 48 59 100 100 124 142 255" ]
}

@test "every kind of JPEG: grey, progressive, CMYK, upright" {
    local kind
    mkdir -p j/a j/b
    for kind in colour progressive cmyk adobe; do make_jpeg $kind "j/a/$kind.jpg"; done
    cp j/a/colour.jpg j/b/1.JPEG
    cp j/a/colour.jpg j/b/2.Jpg
    "$IMPORT" -q --from j --size 2 --test-fraction 0.01 --out "$OUT"
    # The same picture in all of them, up to JPEG's losses.
    (pixels train; pixels test) | xargs -n 12 | "$PYTHON" -c '
import sys
for line in sys.stdin:
    want = [100, 15, 163, 23, 0, 0, 0, 0, 15, 100, 23, 163]
    assert all(abs(int(a) - b) < 12 for a, b in zip(line.split(), want)), line'
    mkdir -p o/a o/b
    make_jpeg grey o/a/1.jpg
    make_jpeg grey o/a/2.jpg 3
    make_jpeg grey o/b/1.jpg 6
    make_jpeg grey o/b/2.jpg 8
    "$IMPORT" -q --from o --size 2 --channels 1 --out "$OUT"
    # Dark on the left: turned by 180 degrees, on the right; by 90, at the top; by 270, at the
    # bottom.
    [ "$( (pixels train; pixels test) | xargs -n 4 | LC_ALL=C sort | tr '\n' ';')" = "181 181 69 69;181 69 181 69;69 181 69 181;69 69 181 181;" ]
}

@test "unreadable files are named in messages and in the manifest, and the rest is used" {
    make_images classes f 2 4
    make_jpeg colour f/c000/cut.jpg
    truncate -s 300 f/c000/cut.jpg
    make_images png f/c000/bomb.png bomb 1 1
    echo text >f/c001/text.png
    : >f/c001/empty.jpg
    mkfifo f/c001/pipe.png
    touch f/c001/page.webp f/.hidden
    succeeds "$IMPORT" --from f --size 4 --out "$OUT"
    [[ $stderr == *"left out 'f/c000/bomb.png': 30000 x 30000 pixels: "*"left out 'f/c000/cut.jpg': Premature end"* ]]
    [[ $stderr == *"left out 'f/c001/text.png': it is neither JPEG nor PNG"*"unreadable files left out: 5"* ]]
    [[ $stderr == *"files skipped"*": 1, first 'c001/page.webp'"* ]]
    [ "$(value results.unreadable_count)" = 5 ]
    [ "$(value results.unreadable.0.path)" = c000/bomb.png ]
    [ "$(value results.unreadable.2.why)" = "it is empty" ]
    [ "$(value results.train_samples)" = 6 ]
}

@test "classes without enough images, and folders that are not classes, are refused" {
    make_images classes f 2 3
    echo text >f/c001/00.png
    cp f/c001/00.png f/c001/01.png
    run --separate-stderr -- "$IMPORT" --from f --size 4 --out "$OUT"
    [ "$status" -eq 3 ]
    [[ $stderr == *"cannot split class 'c001': it has 1 image"* ]]
    cp f/c001/00.png f/c001/02.png
    run --separate-stderr -- "$IMPORT" --from f --size 4 --out "$OUT"
    [ "$status" -eq 3 ]
    [[ $stderr == *"class 'c001' has no readable image"* ]]
    rm f/c001/*
    fails_with 3 "class 'c001' has no .jpg, .jpeg or .png" "$IMPORT" --from f --size 4 --out "$OUT"
    rm -r f/c001
    fails_with 3 "1 folders in it, expected one for each of 2 to 1000 classes" "$IMPORT" --from f --size 4 --out "$OUT"
    mkdir -p f/c001/inner
    fails_with 3 "'c001/inner' is a folder inside a class folder" "$IMPORT" --from f --size 4 --out "$OUT"
    nothing_in "$OUT"
}

@test "train and test folders are used as given" {
    make_images classes root/train 2 3
    make_images classes root/val 2 1
    "$IMPORT" -q --from root --size 4 --out "$OUT"
    [ "$(value results.train_samples) $(value results.test_samples)" = "6 2" ]
    [ "$(pixels test labels)" = "0 1" ]
    make_images classes root/test 3 2
    fails_with 3 "class 'c002' is in 'test' only" "$IMPORT" --from root --size 4 --out "$OUT"
    rm -r root/test/c002 root/test/c001
    fails_with 3 "class 'c001' is in 'train' only" "$IMPORT" --from root --size 4 --out "$OUT"
    rm -r root/test/c000/*
    [ "$(value results.test_samples)" = 2 ]
}

@test "arrays: all layouts, kinds of labels, and a given split" {
    make_images npz a.npz x=6,3,2,4='|u1' y=6='<i8'
    "$IMPORT" -q --from a.npz --out "$OUT"
    [ "$(value parameters.dataset) $(value results.classes) $(value results.test_samples)" = "a 3 3" ]
    succeeds "$BIN/tensor" info "$OUT/train.st.zst"
    [[ $output == *'classes: "[\"0\",\"1\",\"2\"]"'*'shape: [3,3,2,4]'* ]]
    # With channels last, the same picture in another order.
    make_images npz last.npz images=6,2,4,3='|u1' labels=6,1='|u1'
    "$IMPORT" -q --from last.npz --name a --out "$OUT"
    [ "$(pixels train | cut -d' ' -f1-4)" = "$("$BIN/tensor" cat "$OUT/train.st.zst" images | od -An -v -tu1 -N4 | xargs)" ]
    make_images npz grey.npz x_train=6,4,4='|u1' y_train=6='<u2' x_test=3,4,4='|u1' y_test=3='<i4'
    "$IMPORT" -q --from grey.npz --out "$OUT"
    [ "$(pixels test | cut -d' ' -f1-16)" = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15" ]
    [ "$(pixels test labels)" = "0 1 2" ]
    "$IMPORT" -q --from grey.npz --size 2 --channels 3 --out "$OUT"
    succeeds "$BIN/tensor" info "$OUT/test.st.zst"
    [[ $output == *'shape: [3,3,2,2]'* ]]
}

@test "unusable arrays are refused by name" {
    bad() {
        local why=$1
        shift
        make_images npz bad.npz "$@"
        fails_with 3 "'bad.npz.*$why" "$IMPORT" --from bad.npz --out "$OUT"
    }
    bad "expected the arrays x and y" x=6,4,4='|u1'
    bad "array 'x' does not hold unsigned bytes" x=6,4,4='<f4' y=6='|u1'
    bad "array 'x' has neither 1 nor 3 channels" x=6,4,4,4='|u1' y=6='|u1'
    bad "array 'x' can be read as" x=6,3,4,3='|u1' y=6='|u1'
    bad "array 'x' does not have the shape" x=6,4='|u1' y=6='|u1'
    bad "array 'y' does not have one label" x=6,4,4='|u1' y=5='|u1'
    bad "array 'y' does not hold integers" x=6,4,4='|u1' y=6='<f4'
    bad "different shapes" x_train=6,4,4='|u1' y_train=6='|u1' x_test=6,4,5='|u1' y_test=6='|u1'
    make_images npz few.npz x_train=6,4,4='|u1' y_train=6='|u1' x_test=2,4,4='|u1' y_test=2='|u1'
    fails_with 3 "class '2' has no image left to test with" "$IMPORT" --from few.npz --out "$OUT"
    head -c 200 few.npz >cut.npz
    fails_with 3 "'cut.npz" "$IMPORT" --from cut.npz --out "$OUT"
    echo text >text.npz
    fails_with 3 "'text.npz'" "$IMPORT" --from text.npz --out "$OUT"
    nothing_in "$OUT"
}

failed_or_refused() { [[ $1 == [13] ]]; }

# libarchive does not check each of its own allocations.
@test "no memory while an archive is read is a failure with a message, at every allocation" {
    make_images npz other.npz x=1,2,2='|u1' # without y: refused after it was read
    each_allocation_fails failed_or_refused "$IMPORT" --from other.npz --out "$OUT"
    [ "$allocations" -gt 100 ]
}

# experiment CLASSES DATASET: a small network for pictures of 8 x 8.
experiment() {
    cat >model.yaml <<END
schema: lockstep.model/1
name: small
input: [3, 8, 8]
layers: [flatten, linear: {out: $1}]
END
    cat >mine.yaml <<END
schema: lockstep.experiment/1
name: mine
dataset: $2
model: ./model.yaml
global_batch: 16
epochs: 2
optimizer: {kind: sgd, lr: 0.01}
END
}

@test "300 classes: labels wider than a byte work in shard, train, evaluate and report" {
    need_tool shard train-ddp evaluate report
    make_images classes many 300 2
    "$IMPORT" -q --from many --size 8 --test-fraction 0.5 --out "$OUT"
    succeeds "$BIN/tensor" info "$OUT/train.st.zst"
    [[ $output == *"labels: {dtype: U32, shape: [300], bytes: 1200}"* ]]
    "$BIN/shard" -q --shards 2 --in "$OUT/train.st.zst" --out shards
    experiment 300 many
    "$BIN/train-single" -q --device cpu --experiment mine.yaml --set virtual_shards=2 --train shards --test "$OUT/test.st.zst" --out run/train
    "$BIN/train-ddp" -q --device cpu --experiment mine.yaml --set virtual_shards=2 --world-size 2 --train "$OUT/train.st.zst" --out ddp
    "$BIN/train-dp" -q --device cpu --experiment mine.yaml --set virtual_shards=2 --world-size 2 --train "$OUT/train.st.zst" --out dp
    cmp run/train/model.st.zst ddp/model.st.zst
    cmp run/train/model.st.zst dp/model.st.zst
    "$BIN/evaluate" -q --device cpu --model run/train/model.st.zst --data "$OUT/test.st.zst" --out run/evaluate
    [ "$("$BIN/manifest" get run/evaluate/manifest.yaml results.per_class.299.count)" = 1 ]
    succeeds "$BIN/tensor" info run/evaluate/predictions.st.zst
    [[ $output == *"labels: {dtype: U32, shape: [300], bytes: 1200}"* ]]
    succeeds "$BIN/report" run --out report
    grep -q c299 report/report.md
}

@test "train-single refuses another data set, number of classes or image size, with the remedy" {
    make_images classes flowers 3 4
    "$IMPORT" -q --from flowers --size 8 --out "$OUT"
    experiment 3 cifar10
    fails_with 3 "'$OUT/train.st.zst': it is 'flowers', experiment 'mine' needs 'cifar10': .*--set dataset=flowers" \
        "$BIN/train-single" --device cpu --experiment mine.yaml --train "$OUT/train.st.zst" --out run
    nothing_in run
    "$BIN/train-single" -q --device cpu --experiment mine.yaml --set dataset=flowers --train "$OUT/train.st.zst" --out run
    experiment 10 flowers
    fails_with 3 "it has 3 classes, model 'small' has 10: its last layer must be 'linear: \{out: 3\}'" \
        "$BIN/train-single" --device cpu --experiment mine.yaml --train "$OUT/train.st.zst" --out run2
    "$IMPORT" -q --from flowers --size 9 --out nine
    fails_with 3 "its images are 3×9×9, model 'small' takes 3×8×8: import the images at that size" \
        "$BIN/train-single" --device cpu --experiment mine.yaml --train nine/train.st.zst --out run2
    fails_with 3 "it is 'flowers'" "$BIN/train-single" --device cpu --experiment mine.yaml --set dataset=other \
        --train "$OUT/train.st.zst" --out run2
    nothing_in run2
}

# The ```sh or ```yaml blocks in docs/data.md.
blocks() {
    awk -v kind="$1" '/^```/ { inside = $0 == "```" kind; next } inside' "$ROOT/docs/data.md"
}

@test "the commands of docs/data.md work as described" {
    need_tool pipeline train-single evaluate report
    make_images classes flowers 5 10 40
    mkdir -p experiments/models
    blocks yaml | awk '/^schema/ { file = /model/ ? "experiments/models/small.yaml" : "experiments/flowers.yaml" } { print >file }'
    mkdir build
    ln -s "$BIN" build/bin
    export PATH=$BIN:$PATH
    # There is no Makefile here: make passes its command line to the tool.
    blocks sh | sed 's/^make /pipeline /' >commands.sh
    cp "$(find flowers -type f | head -n 1)" rose.jpg
    bash -e commands.sh
    [ -s artifacts/flowers-data=flowers/report/report.html ] || fail "$(find artifacts)"
    [ "$("$BIN/manifest" get run/evaluate/manifest.yaml results.samples)" = 10 ]
    [ -s report/report.html ]
}
