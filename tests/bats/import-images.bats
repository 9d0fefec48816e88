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
    touch f/c001/page.webp f/note.txt
    succeeds "$IMPORT" --from f --size 4 --out "$OUT"
    [[ $stderr == *"left out 'f/c000/bomb.png': 30000 x 30000 pixels: "*"left out 'f/c000/cut.jpg': Premature end"* ]]
    [[ $stderr == *"left out 'f/c001/text.png': it is neither JPEG nor PNG"*"unreadable files left out: 5"* ]]
    [ "$(value results.unreadable_count)" = 5 ]
    [ "$(value results.unreadable.0.path)" = c000/bomb.png ]
    [ "$(value results.unreadable.2.why)" = "it is empty" ]
    [ "$(value results.train_samples)" = 6 ]
}

@test "whatever is not imported is named, and counted in the manifest" {
    make_images classes f/train 2 2
    make_images classes f/test 2 1
    make_images classes f/valid 2 3
    make_images classes f/extra/deeper 2 1
    mv f/extra/deeper/c000/00.png f/extra/deeper/c000/00.webp
    mkdir f/extra/folder.png
    make_images classes f/train/.ipynb_checkpoints/old 1 1
    mkdir f/empty
    cp f/test/c000/00.png f/stray.png
    cp f/test/c000/00.png f/train/stray.PNG
    touch f/train/c000/{a.webp,b.GIF,c.bmp,d.tiff,e.txt,.f.png} f/.g
    # What programs leave behind is nobody's.
    mkdir f/__MACOSX f/test/__MACOSX
    touch f/.DS_Store f/train/._c000 f/test/c001/{Thumbs.db,desktop.ini,._00.png} f/__MACOSX/a.png f/test/__MACOSX/._c000
    succeeds "$IMPORT" -q --from f --size 4 --out "$OUT"
    diff - <(sort <<<"$stderr") <<END
import-images: 2 of 2 test images are also training images: an accuracy on them says nothing
import-images: files left out: 1, first 'train/c000/e.txt': files that are no pictures
import-images: files left out: 2, first '.g': names that begin with a dot
import-images: files left out: 2, first 'stray.png': pictures that are in no class folder
import-images: files left out: 4, first 'train/c000/a.webp': pictures that are neither JPEG nor PNG: convert them: mogrify -format png FILES
import-images: left out folder 'extra', pictures in it: 2: neither training nor test pictures
import-images: left out folder 'train/.ipynb_checkpoints', pictures in it: 1: its name begins with a dot
import-images: left out folder 'valid', pictures in it: 6: neither training nor test pictures
END
    [ "$(value results.train_samples) $(value results.test_samples) $(value results.passed_over)" = "4 2 18" ]
    [ "$(value results.left_out.0.path) $(value results.left_out.0.files) $(value results.left_out.0.pictures)" = ".g 2 1" ]
    [ "$(value results.left_out.1.path) $(value results.left_out.1.pictures)" = "extra 2" ]
    # Without splits, too.
    succeeds "$IMPORT" -q --from f/train --size 4 --out "$OUT"
    [[ $stderr == *"left out folder '.ipynb_checkpoints', pictures in it: 1: "*"files left out: 1, first 'stray.PNG'"* ]]
    mkdir -p g/a g/b
    touch g/a/1.webp g/b/1.png
    fails_with 3 "class 'a' has no .jpg, .jpeg or .png, but 'a/1.webp' and the like: convert them: mogrify -format png" \
        "$IMPORT" --from g --size 4 --out "$OUT"
}

@test "splits have many names; where they are not clear, the message says what to rename" {
    local names
    make_images classes one 2 2
    make_images classes two 2 1
    # taken NAME NAME: the first is for training, the second for testing.
    taken() {
        rm -rf s
        mkdir s
        cp -r one "s/$1"
        cp -r two "s/$2"
        succeeds "$IMPORT" --from s --size 4 --out "$OUT"
        [[ $stderr == *"training images: '$1'; test images: '$2'"* ]]
        [ "$(value results.train_samples) $(value results.test_samples)" = "4 2" ]
    }
    for names in "train valid" "Training Testing" "training_set test_set" "train validation" "TRAIN Val" "train-data testdata" "训练集 测试集"; do
        taken "${names% *}" "${names#* }"
    done
    cp -r two "s/验证集"
    succeeds "$IMPORT" -q --from s --size 4 --out "$OUT"
    [[ $stderr == *"left out folder '验证集', pictures in it: 2: neither training nor test pictures" ]]
    # All in one more folder, and a class with such a name.
    mv s/* .
    mkdir -p w/flowers
    mv 训练集 w/flowers/train
    mv 测试集 w/flowers/test
    mv w/flowers/train/c001 w/flowers/train/test
    mv w/flowers/test/c001 w/flowers/test/test
    succeeds "$IMPORT" --from w --size 4 --out "$OUT"
    [[ $stderr == *"training images: 'flowers/train'; test images: 'flowers/test'"* ]]
    succeeds "$IMPORT" -q --from w/flowers/train --size 4 --out "$OUT"
    [ "$(value results.classes)" = 2 ]
    # Only one part: it is split.
    rm -r w/flowers/test
    succeeds "$IMPORT" --from w --size 4 --out "$OUT"
    [[ $stderr == *"all images: 'flowers/train', the only folder of class folders"* ]]
    cp -r two w/flowers/holdout
    fails_with 3 "'flowers/train' holds class folders, and beside it is 'flowers/holdout', but no folder of class folders called 'test' or 'val': name the one with the test pictures so, or import 'flowers/train' alone: --from w/flowers/train" \
        "$IMPORT" --from w --size 4 --out "$OUT"
    mkdir w/flowers/seg_train
    mv w/flowers/train w/flowers/seg_train/train
    fails_with 3 "'flowers/holdout' and 'flowers/seg_train' hold folders instead of pictures: .*name them 'train' and 'test'" \
        "$IMPORT" --from w --size 4 --out "$OUT"
    # The split inside the classes; several trainings.
    mkdir -p c/{cat,dog}
    for names in cat dog; do cp -r one/c000 "c/$names/train"; done
    fails_with 3 "'cat/train' is a folder inside a class folder: move its pictures into 'train/cat'" "$IMPORT" --from c --size 4 --out "$OUT"
    mkdir -p fold{1,2} folds
    for names in fold1 fold2; do cp -r one "$names/train"; mv "$names" folds; done
    fails_with 3 "'fold1' and 'fold2' hold folders instead of pictures" "$IMPORT" --from folds --size 4 --out "$OUT"
    mkdir t
    cp -r one t/train
    cp -r one t/Training
    cp -r two t/test
    fails_with 3 "'Training' and 'train' have the names of one split: rename one" "$IMPORT" --from t --size 4 --out "$OUT"
}

@test "pictures in folders inside a class folder belong to the class" {
    local class
    # Tiny ImageNet: the labels of val/ are in a file.
    make_images classes one 2 5
    for class in c000 c001; do
        mkdir -p "tiny/train/$class"
        mv "one/$class" "tiny/train/$class/images"
        echo boxes >"tiny/train/$class/${class}_boxes.txt"
    done
    mkdir -p tiny/val/images
    cp tiny/train/c000/images/*.png tiny/val/images
    echo labels >tiny/val/val_annotations.txt
    succeeds "$IMPORT" --from tiny --size 4 --out "$OUT"
    [[ $stderr == *"all images: 'train', the only folder of class folders"* ]] || fail "$stderr"
    [[ $stderr == *"pictures in folders inside a class folder, which belong to the class: 10, first 'train/c000/images/00.png'"* ]] || fail "$stderr"
    [[ $stderr == *"left out folder 'val', pictures in it: 5: no class folders are in it, and labels in files are not read"* ]] || fail "$stderr"
    [[ $stderr == *"files left out: 2, first 'train/c000/c000_boxes.txt'"* ]] || fail "$stderr"
    [ "$(value results.train_samples) $(value results.test_samples)" = "8 2" ]
    # The files of both, of one name; an archive gives the same, and so does the order of a folder.
    make_images classes both 2 5
    for class in c000 c001; do
        mkdir "both/$class/2019"
        for name in 00 01 02 03 04; do make_images png "both/$class/2019/$name.png" rgb 8 8 "1${class#c00}${name#0}"; done
    done
    mkdir both/c000/.hidden
    cp both/c000/00.png both/c000/.hidden
    succeeds "$IMPORT" --from both --size 4 --out "$OUT"
    [[ $stderr == *": 10, first 'c000/2019/00.png'"*"left out folder 'c000/.hidden', pictures in it: 1"* ]] || fail "$stderr"
    [ "$(value results.train_samples) $(value results.test_samples)" = "16 4" ]
    tar -cf both.tar both
    "$IMPORT" -q --from both.tar --size 4 --out other 2>/dev/null
    cmp other/test.st.zst "$OUT/test.st.zst"
    # Folders of class folders that all have are parts of a data set, unless they are named.
    mkdir -p parts/{a,b}
    cp -r tiny/train/* parts/a
    cp -r tiny/train/* parts/b
    fails_with 3 "'a' and 'b' hold folders instead of pictures: .*if they are classes, name all with --classes" "$IMPORT" --from parts --size 4 --out none
    nothing_in none
    succeeds "$IMPORT" -q --from parts --size 4 --classes 'a, b' --out "$OUT"
    [ "$(value results.classes) $(value results.train_per_class.0)" = "2 8" ]
}

@test "names of classes that differ in case or blanks alone are named" {
    make_images classes f/train 2 2
    make_images classes f/test 2 1
    mv f/train/c000 f/train/Cat
    mv f/test/c000 f/test/cat
    [ ! -d f/test/Cat ] || skip "the file system takes both for one"
    fails_with 3 "class 'Cat' in 'train' and 'cat' in 'test' differ in case or blanks alone: rename one folder" \
        "$IMPORT" --from f --size 4 --out none
    nothing_in none
    make_images classes g 3 2
    mv g/c000 g/Cat
    mv g/c001 'g/cat '
    succeeds "$IMPORT" -q --from g --size 4 --out "$OUT"
    [ "$stderr" = "import-images: classes 'Cat' and 'cat ' differ in case or blanks alone: if they are one, put their pictures into one folder" ] ||
        fail "$stderr"
    fails_with 2 "'C002': the classes are .*; did you mean 'c002'\?" "$IMPORT" --from g --size 4 --classes 'Cat, C002' --out none
}

# idx FILE TYPE SHAPE VALUES: an IDX file; SHAPE and VALUES, again and again, have commas between them.
idx() {
    "$PYTHON" - "$@" <<'END'
import gzip, itertools, struct, sys
name, kind, shape, values = sys.argv[1], int(sys.argv[2], 16), eval("[%s]" % sys.argv[3]), eval("[%s]" % sys.argv[4])
count = 1
for size in shape:
    count *= size
code = {8: "B", 9: "b", 11: ">h", 12: ">i"}[kind]
data = bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", size) for size in shape)
data += b"".join(struct.pack(code, v) for v in itertools.islice(itertools.cycle(values), count))
(gzip.open if name.endswith(".gz") else open)(name, "wb").write(data)
END
}

@test "IDX files of other sets than MNIST: a folder, packed or not, or an archive" {
    mkdir kana
    idx kana/kana-train-images-idx3-ubyte.gz 8 20,4,4 1,2,3
    idx kana/kana-train-labels-idx1-ubyte.gz 8 20 0,1
    idx kana/kana-t10k-images-idx3-ubyte 8 4,4,4 7,8
    idx kana/kana-t10k-labels-idx1-ubyte 8 4 0,1
    echo text >kana/mapping.txt
    gzip -k kana/kana-t10k-images-idx3-ubyte
    succeeds "$IMPORT" --from kana --out "$OUT"
    [[ $stderr == *"'kana': 2 classes, 20 training images, 4 test images"* ]] || fail "$stderr"
    [[ $stderr == *"files that are no arrays are left out: kana-t10k-images-idx3-ubyte.gz, mapping.txt"* ]] || fail "$stderr"
    [ "$(pixels train | cut -d' ' -f1-4) $(pixels test labels)" = "1 2 3 1 0 1 0 1" ]
    [ "$("$BIN/manifest" get "$OUT/manifest.yaml" inputs.3.bytes)" -gt 20 ]
    "$BIN/manifest" verify "$OUT/manifest.yaml"
    # The same in a zip, below a folder; and labels that begin at 1, of more than a byte, keep their numbers as names.
    "$PYTHON" -c 'import os, zipfile
with zipfile.ZipFile("kana.zip", "w") as out:
    for name in sorted(os.listdir("kana")): out.write("kana/" + name, "raw/" + name)'
    "$IMPORT" -q --from kana.zip --out other 2>/dev/null
    cmp other/train.st.zst "$OUT/train.st.zst"
    mkdir letters
    idx letters/images.idx3-ubyte 8 12,4,4 1,2,3,4
    idx letters/labels.idx1-int c 12 1,2,26
    succeeds "$IMPORT" -q --from letters --out "$OUT"
    succeeds "$BIN/tensor" info "$OUT/train.st.zst"
    [[ $output == *'classes: "[\"1\",\"2\",\"26\"]"'* ]] || fail "$output"
    # What is no data set is named.
    fails_with 3 "'kana/kana-t10k-images-idx3-ubyte': it is one of several IDX files, .*: --from kana$" \
        "$IMPORT" --from kana/kana-t10k-images-idx3-ubyte --out none
    idx letters/more-images.idx3-ubyte 8 1,4,4 1
    fails_with 3 "'images.idx3-ubyte' and 'more-images.idx3-ubyte' are the same part: of several sets" "$IMPORT" --from letters --out none
    mv letters/more-images.idx3-ubyte letters/these.idx3-ubyte
    fails_with 3 "'these.idx3-ubyte' says neither 'images' nor 'labels': rename it" "$IMPORT" --from letters --out none
    rm letters/these.idx3-ubyte letters/labels.idx1-int
    fails_with 3 "expected the arrays x and y.*; it has images.idx3-ubyte" "$IMPORT" --from letters --out none
    truncate -s -1 letters/images.idx3-ubyte
    fails_with 3 "'images.idx3-ubyte': 191 bytes of data, but its header says 192" "$IMPORT" --from letters --out none
    nothing_in none
    # The tool for MNIST says which one reads them.
    fails_with 3 "member 'train-images-idx3-ubyte' of mnist is missing; import-images reads other IDX files" "$BIN/fetch-mnist" --from kana --out none
    fails_with 2 "'kmnist': expected mnist\|fashion-mnist; import-images reads" "$BIN/fetch-mnist" --dataset kmnist --from kana --out none
}

# The layouts of Roboflow, Kaggle, YOLO, COCO and Pascal VOC, whose labels are in files.
@test "folders whose names are those of splits are no classes, unless --classes names them" {
    local folder
    make_images classes f 2 3
    # no_classes MESSAGE FOLDER...: pictures in these folders, beside those that are there, are refused.
    no_classes() {
        for folder in "${@:2}"; do
            mkdir -p "s/$folder"
            cp f/c000/*.png "s/$folder"
        done
        fails_with 3 "$1" "$IMPORT" --from s --size 4 --out "$OUT"
        rm -r s
    }
    mkdir -p s/train
    touch s/train/_classes.csv
    no_classes "'test' and 'train' are names of parts of a data set, not of classes: sort the pictures into a folder for each class; labels in .csv and other files are not read. If they are classes, name all with --classes$" train valid test
    no_classes "'test' and 'train' are names" train test
    no_classes "'test' and 'train' are names" train test extra
    no_classes "'train2017' and 'val2017' are names" train2017 val2017
    no_classes "'cars_test' and 'cars_train' are names" cars_train cars_test
    no_classes "'x/train' is the name of a part of a data set, not of a class: .* are not read$" x/train
    no_classes "'images' and 'masks' are names" images masks
    mkdir -p s/labels/{train,val}
    touch s/labels/{train,val}/00.txt
    no_classes "'images/train' and 'images/val' are names" images/{train,val}
    mkdir -p s/{train,valid}/labels
    touch s/{train,valid}/labels/00.txt
    no_classes "'train/images' and 'train/labels' are names" {train,valid}/images
    mkdir s s/Annotations s/Sets
    touch s/Annotations/00.xml
    no_classes "class 'Annotations' has no .jpg, .jpeg or .png, but 'Annotations/00.xml' and the like: .*files with other endings are not read" JPEGImages
    # Classes with such names.
    cp -r f g
    mv g/c000 g/test_good
    mv g/c001 g/test_bad
    succeeds "$IMPORT" -q --from g --size 4 --out "$OUT"
    mv f/c000 f/train
    succeeds "$IMPORT" -q --from f --size 4 --out "$OUT"
    mv f/c001 f/test
    succeeds "$IMPORT" -q --from f --size 4 --classes train,test --out "$OUT"
    [ "$(value results.classes)" = 2 ]
}

@test "a class name that is not UTF-8 is shown, with what to do" {
    make_images classes f 2 2
    mv f/c001 f/$'caf\xe9' || skip "the file system refuses such names"
    fails_with 3 "the class name 'caf\\\\xe9' is not UTF-8: rename the folder; .*convmv -f GBK -t UTF-8" \
        "$IMPORT" --from f --size 4 --out "$OUT"
    tar -cf f.tar f
    fails_with 3 "the class name 'caf\\\\xe9' is not UTF-8: .*unzip -O GBK" "$IMPORT" --from f.tar --size 4 --out "$OUT"
    mv f/$'caf\xe9' f/$'a\nb'
    fails_with 3 "the class name 'a\\\\x0ab' contains control characters: rename" "$IMPORT" --from f --size 4 --out "$OUT"
    nothing_in "$OUT"
}

# edit FILE CODE: Python code changes its bytes, `data`.
edit() {
    "$PYTHON" -c '
import sys, zlib
data = open(sys.argv[1], "rb").read()
def chunk(kind, body):
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
exec(sys.argv[2])
open(sys.argv[1], "wb").write(data)' "$1" "$2"
}

@test "faults that cost no pixels are counted; those that do leave a picture out" {
    mkdir -p f/a f/b
    local name
    for name in a/{clean,extra,scan,tail,cut,broken} b/1 b/2; do make_jpeg colour "f/$name.jpg"; done
    for name in a/{crc,tail,clear} b/3; do make_images png "f/$name.png" rgb 32 16; done
    edit f/a/extra.jpg 'data = data[:-2] + bytes(9) + data[-2:]'
    edit f/a/scan.jpg 'at = data.index(b"\xff\xda") + 12; data = data[:at] + b"\x07" + data[at + 1:]' # the end of the spectrum, of no use here
    edit f/a/tail.jpg 'data += b"tail"'
    edit f/a/cut.jpg 'data = data[:-40] + data[-2:]'
    edit f/a/broken.jpg 'at = data.index(b"\xff\xda") + 20; data = data[:at] + b"\xff\xd5" * 30 + data[at + 60:]'
    edit f/a/crc.png 'data = data[:33] + chunk(b"gAMA", bytes(4))[:-1] + b"?" + data[33:]'
    edit f/a/tail.png 'data += b"tail"'
    edit f/a/clear.png 'data = data[:33] + chunk(b"tRNS", bytes(6))[:-1] + b"?" + data[33:]'
    succeeds "$IMPORT" -q --from f --size 8 --out "$OUT"
    [[ $stderr == *"left out 'f/a/broken.jpg': "*"left out 'f/a/clear.png': tRNS"*"left out 'f/a/cut.jpg': Corrupt JPEG data: premature end"* ]]
    [[ $stderr == *"pictures with faults that cost no pixels: 5, first 'a/crc.png': gAMA: CRC error"* ]]
    [ "$(value results.faulty_count) $(value results.unreadable_count)" = "5 3" ]
    # Their pixels are those of the clean ones.
    mkdir -p g/train/{a,b} g/test/{a,b}
    cp f/a/{clean,extra,scan,tail}.jpg g/test/a
    cp f/a/{crc,tail}.png g/test/b
    cp f/b/1.jpg g/train/a
    cp f/b/3.png g/train/b
    succeeds "$IMPORT" -q --from g --size 8 --out "$OUT"
    [[ $stderr == *"6 of 6 test images are also training images"* ]]
}

@test "a picture of another format under a wrong name is named, with what to do" {
    make_images classes f 2 3
    printf 'RIFF\0\0\0\0WEBPVP8 ' >f/c000/webp.jpg
    printf 'GIF89a' >f/c000/gif.png
    printf 'MM\0*' >f/c000/tiff.png
    printf 'MMMM' >f/c000/text.png
    printf 'version https://git-lfs.github.com/spec/v1\noid' >f/c001/lfs.jpg
    printf '<!DOCTYPE html>' >f/c001/page.jpeg
    succeeds "$IMPORT" -q --from f --size 8 --out "$OUT"
    diff - <(grep -v 'unreadable files' <<<"$stderr") <<END
import-images: left out 'f/c000/gif.png': it is GIF, neither JPEG nor PNG: convert it: mogrify -format png FILE
import-images: left out 'f/c000/text.png': it is neither JPEG nor PNG
import-images: left out 'f/c000/tiff.png': it is TIFF, neither JPEG nor PNG: convert it: mogrify -format png FILE
import-images: left out 'f/c000/webp.jpg': it is WebP, neither JPEG nor PNG: convert it: mogrify -format png FILE
import-images: left out 'f/c001/lfs.jpg': it is a pointer of Git LFS: fetch the pictures with git lfs pull
import-images: left out 'f/c001/page.jpeg': it is a web page: download the picture again
END
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
    fails_with 3 "1 folder in it, expected one for each of 2 to 1000 classes" "$IMPORT" --from f --size 4 --out "$OUT"
    touch f/c001.tar.gz
    fails_with 3 "1 folder in it, .*: unpack 'c001.tar.gz' and the like$" "$IMPORT" --from f --size 4 --out "$OUT"
    mkdir -p f/c001/inner
    fails_with 3 "class 'c001' has no .jpg, .jpeg or .png$" "$IMPORT" --from f --size 4 --out "$OUT"
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

@test "arrays: the names that libraries give, and big-endian and other numbers as labels" {
    local names all
    for names in "X_train y_train X_test y_test" "train_images train_labels test_images test_labels" "trainX trainY testX testY" \
        "images_train labels_train images_test labels_test" "train_data train_targets val_data val_targets"; do
        read -r -a all <<<"$names"
        set -- "${all[@]}"
        make_images npz a.npz "$1=6,4,4=|u1" "$2=6,1=>i4" "$3=3,4,4=|u1" "$4=3=<u8"
        "$IMPORT" -q --from a.npz --out "$OUT"
        [ "$(value results.train_samples) $(value results.test_samples) $(value results.classes)" = "6 3 3" ] || fail "$names"
        [ "$(pixels train labels)" = "0 1 2 0 1 2" ]
    done
    make_images npz b.npz X=6,4,4='|u1' target=6='|b1'=0,1
    "$IMPORT" -q --from b.npz --out "$OUT"
    # MedMNIST's third part is named and counted.
    make_images npz med.npz train_images=6,4,4='|u1' train_labels=6,1='|u1' val_images=5,4,4='|u1' val_labels=5,1='|u1' \
        test_images=3,4,4='|u1' test_labels=3,1='|u1'
    succeeds "$IMPORT" --from med.npz --out "$OUT"
    [[ $stderr == *"array 'val_images' is left out: 5 images, neither trained on nor tested with"* ]] || fail "$stderr"
    [ "$(value results.test_samples) $(value results.passed_over)" = "3 5" ]
}

# bad WHY ARRAY...: these arrays are refused with that message.
bad() {
    make_images npz bad.npz "${@:2}"
    fails_with 3 "'bad.npz.*$1" "$IMPORT" --from bad.npz --out "$OUT"
}

@test "arrays of other elements are named as they are, with what to pass" {
    bad ":y.npy': it holds strings \(<U1\): for labels, save numpy.unique" x=6,4,4='|u1' y=6='<U1'
    bad "it holds strings \(\|S12\)" x=6,4,4='|u1' y=6='|S12'
    bad "it holds pickled Python objects \(\|O\): .*numpy.stack" x=6='|O' y=6='|u1'
    bad "it holds complex numbers \(>c8\)" x=6,4,4='>c8' y=6='|u1'
    bad "it holds long floats \(<f16\)" x=6,4,4='<f16' y=6='|u1'
    bad "it holds times \(<M8\[D\]\)" x=6,4,4='|u1' y=6='<M8[D]'
    bad "'X' does not hold unsigned bytes but floats \(<f4\) from 0 to 1: pass \(X \* 255\).round\(\).astype\('uint8'\)" \
        X=6,4,4='<f4'=0,0.5,1 y=6='|u1'
    bad "floats \(<f2\) from 0.5 to 254: pass x.round\(\).astype" x=6,4,4='<f2'=254,0.5 y=6='|u1'
    bad "floats \(<f8\) from -1 to 2.5: pass pixels from 0 to 255" x=6,4,4='>f8'=-1,2.5 y=6='|u1'
    bad "floats \(<f4\) from nan to nan: pass pixels" x=6,4,4='<f4'=1,nan,0 y=6='|u1'
    bad "integers \(<i8\) from 3 to 255: pass x.round" x=6,4,4='<i8'=3,255 y=6='|u1'
    bad "integers \(<u2\) from 0 to 65535: pass pixels" x=6,4,4='<u2'=65535,0 y=6='|u1'
    bad "booleans \(\|b1\) from 0 to 1: pass \(x" x=6,4,4='|b1'=0,1 y=6='|u1'
    bad "array 'y' does not hold integers but floats \(<f4\): pass y.astype\(int\)" x=6,4,4='|u1' y=6='<f4'
    bad "array 'y' has the shape \[N, 3\]: one-hot labels: pass y.argmax\(1\)" x=6,4,4='|u1' y=6,3='<f4'=0,1,0
    bad "array 'y' holds labels from 1 to 3: pass y - 1" x=6,4,4='|u1' y=6='<i8'=1,2,3
    bad "array 'y' holds labels from 0 to 10, but not 1 to 4: pass numpy.unique\(y, return_inverse=True\)\[1\]$" \
        x=6,4,4='|u1' y=6='<i8'=0,5,10
    bad "array 'y_train' holds labels from 3 to 7, but not 4: pass numpy.unique\(y_train, return_inverse=True\)\[1\], and so for y_test$" \
        x_train=6,4,4='|u1' y_train=6='<i8'=3,5,6,7 x_test=6,4,4='|u1' y_test=6='<i8'=3,5,6,7
    bad "array 'y' holds no label but 0, expected 2 to 1000 classes$" x=6,4,4='|u1' y=6='<i8'=0
    bad "array 'y': element 0 is 2000, not a label from 0 to 999: pass numpy.unique\(y, return_inverse=True\)\[1\]$" \
        x=6,4,4='|u1' y=6='<i8'=2000,2001
    bad "array 'y': element 1 is -1, not a label from 0 to 999$" x=6,4,4='|u1' y=6='|i1'=0,-1
    nothing_in "$OUT"
}

@test "arrays, files and options that are not used are named, and listed in the manifest" {
    make_images npz a.npz x=6,4,4='|u1' y=6='|u1' weights=6='<f4'=1 x_test=6,4,4='|u1'
    echo text >note.txt
    "$PYTHON" -c 'import zipfile; zipfile.ZipFile("a.npz", "a").write("note.txt")'
    succeeds "$IMPORT" -q --from a.npz --out "$OUT"
    diff - <(cat <<<"$stderr") <<END
import-images: arrays in no pair of images and labels are left out: weights, x_test
import-images: files that are no arrays are left out: note.txt
END
    [ "$(value results.left_out.0.path) $(value results.left_out.1.path) $(value results.left_out.2.path)" = "weights x_test note.txt" ]
    make_images npz b.npz x_train=6,4,4='|u1' y_train=6='|u1' x_test=3,4,4='|u1'=9 y_test=3='|u1' x=3,4,4='|u1' y_val=3='|u1'
    succeeds "$IMPORT" -q --from b.npz --seed 3 --test-fraction 0.5 --out "$OUT"
    diff - <(cat <<<"$stderr") <<END
import-images: arrays in no pair of images and labels are left out: x, y_val
import-images: --test-fraction and --seed: without effect, since the source has its own split
END
    mkdir s
    make_images classes s/train 2 2
    make_images classes s/test 2 1
    make_images png s/test/c000/00.png rgb 8 8 9
    make_images png s/test/c001/00.png rgb 8 8 8
    succeeds "$IMPORT" -q --from s --size 4 --seed 1 --out "$OUT"
    [ "$stderr" = "import-images: --seed: without effect, since the source has its own split" ]
    fails_with 2 "--from is given twice" "$IMPORT" --from s --from a.npz --size 4 --out none
    mkdir -p "s/$(printf 'd/%.0s' {1..16})"
    fails_with 3 "cannot import 's': 'd/d/.*' is in more than 15 folders" "$IMPORT" --from s --size 4 --out none
    nothing_in none
}

@test "unusable arrays are refused by name" {
    bad "expected the arrays x and y.*; it has x$" x=6,4,4='|u1'
    bad "; it has arr_0, arr_1$" arr_0=6,4,4='|u1' arr_1=6='|u1'
    bad "; it has X_train, y_train$" X_train=6,4,4='|u1' y_train=6='|u1'
    bad "arrays 'x' and 'images' mean the same" x=6,4,4='|u1' images=6,4,4='|u1' y=6='|u1'
    bad "array 'x' has the shape \[N, 4, 4, 5\]: neither 1 nor 3" x=6,4,4,5='|u1' y=6='|u1'
    bad "neither 1 nor 3 channels; of RGBA, pass x\[..., :3\]" x=6,8,8,4='|u1' y=6='|u1'
    bad "array 'x' can be read as" x=6,3,4,3='|u1' y=6='|u1'
    bad "\[N, 784\]: pass x.reshape\(-1, 28, 28\)" x=6,784='|u1' y=6='|u1'
    bad "\[N, 3072\]: pass data.reshape\(-1, 3, 32, 32\), or \(-1, 32, 32, 3\)" data=6,3072='|u1' y=6='|u1'
    bad "the shape of 1 dimensions, not" x=6='|u1' y=6='|u1'
    bad "'y' does not have one label for each image: it has 1 dimension and begins with 5, 'x' has 6" x=6,4,4='|u1' y=5='|u1'
    bad "'y' has the shape \[N, 3\]: each image must have one label" x=6,4,4='|u1' y=6,3='|u1'=1,0,1
    bad "different shapes" x_train=6,4,4='|u1' y_train=6='|u1' x_test=6,4,5='|u1' y_test=6='|u1'
    make_images npz few.npz x_train=6,4,4='|u1' y_train=6='|u1' x_test=2,4,4='|u1' y_test=2='|u1'
    fails_with 3 "class '2' has no image left to test with" "$IMPORT" --from few.npz --out "$OUT"
    head -c 200 few.npz >cut.npz
    fails_with 3 "'cut.npz" "$IMPORT" --from cut.npz --out "$OUT"
    echo text >text.npz
    fails_with 3 "'text.npz': it is text that begins with 'text'" "$IMPORT" --from text.npz --out "$OUT"
    "$PYTHON" -c 'import zipfile; zipfile.ZipFile("zips.zip", "w").writestr("cat.zip", "")'
    fails_with 3 "'zips.zip': it holds archives, 'cat.zip' and the like: unpack all of them, and pass the folder" "$IMPORT" --from zips.zip --out "$OUT"
    "$PYTHON" -c 'import zipfile; zipfile.ZipFile("texts.zip", "w").writestr("a.txt", "")'
    fails_with 3 "'texts.zip': it is a zip archive without arrays and pictures" "$IMPORT" --from texts.zip --out "$OUT"
    printf '7z\xbc\xaf\x27\x1c' >x.7z
    fails_with 3 "'x.7z': it is a 7z archive: unpack it first" "$IMPORT" --from x.7z --out "$OUT"
    printf 'Rar!\x1a\x07' >x.rar
    fails_with 3 "'x.rar': it is a RAR archive: unpack it first" "$IMPORT" --from x.rar --out "$OUT"
    printf 'MATLAB 5.0 MAT-file, Platform: GLNXA64 \1\2\0\0' >train_32x32.mat
    fails_with 3 "it is a MATLAB file: read it with scipy.io.loadmat, and save numpy.savez" "$IMPORT" --from train_32x32.mat --out "$OUT"
    printf 'PAR1\025\0\025' >mnist.parquet
    fails_with 3 "it is a Parquet file.*numpy.savez" "$IMPORT" --from mnist.parquet --out "$OUT"
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

@test "test images that are training images: a warning, the manifest, and the report's first screen" {
    need_tool train-single evaluate report
    make_images classes s/train 2 4
    make_images classes s/test 2 3
    # Other files of the same pixels count; the same name and copies in the training data do not.
    make_images png s/test/c000/00.png rgb 9 9 7
    "$PYTHON" - s/test/c001/01.png <<'END'
import sys, zlib
name = sys.argv[1]
data = open(name, "rb").read()
text = b"tEXtTitle\0copy"
with open(name, "wb") as out:
    out.write(data[:33] + (len(text) - 4).to_bytes(4, "big") + text + zlib.crc32(text).to_bytes(4, "big") + data[33:])
END
    cp s/train/c000/01.png s/train/c000/copy.png
    succeeds "$IMPORT" -q --from s --size 8 --out "$OUT"
    [ "$stderr" = "import-images: 5 of 6 test images are also training images: an accuracy on them says nothing" ]
    [ "$(value results.test_images_in_train)" = 5 ]
    experiment 2 s
    "$BIN/train-single" -q --device cpu --experiment mine.yaml --train "$OUT/train.st.zst" --out run/train
    "$BIN/evaluate" -q --device cpu --model run/train/model.st.zst --data "$OUT/test.st.zst" --out run/evaluate
    succeeds "$BIN/report" run --out report
    sed -n 5p report/report.md | grep -qF '**5 of 6 test images of s are also training images: an accuracy on them says nothing.**'
    succeeds "$BIN/report" run --lang zh --out report
    grep -q '^\*\*有 5 张测试图像（共 6 张，数据集 s）同时也是训练图像' report/report.md
    "$BIN/manifest" verify run/evaluate/manifest.yaml
    # Where the data are not, too; but not for a model of other training data.
    mv "$OUT" moved
    succeeds "$BIN/report" run --out report
    grep -q '^\*\*5 of 6 test images' report/report.md
    cp -r moved/test.st.zst moved/manifest.yaml .
    rm s/train/c000/copy.png
    "$IMPORT" -q --from s --size 8 --out "$OUT" 2>warned
    grep -q '^import-images: 5 of 6' warned
    "$BIN/train-single" -q --device cpu --experiment mine.yaml --train "$OUT/train.st.zst" --out other/train
    "$BIN/evaluate" -q --device cpu --model other/train/model.st.zst --data test.st.zst --out other/evaluate
    succeeds "$BIN/report" other --out report
    run ! grep -q 'also training images' report/report.md
    # Arrays, and no such image.
    make_images npz a.npz x_train=9,4,4='|u1' y_train=9='|u1' x_test=3,4,4='|u1' y_test=3='|u1'
    succeeds "$IMPORT" -q --from a.npz --out "$OUT"
    [[ $stderr == *" of 3 test images are also training images"* ]]
    rm s/test/*/*
    make_images png s/test/c000/1.png rgb 9 9 7
    make_images png s/test/c001/1.png rgb 9 9 8
    succeeds "$IMPORT" -q --from s --size 8 --out "$OUT"
    [ -z "$stderr" ]
    fails_with 3 "test_images_in_train" "$BIN/manifest" get "$OUT/manifest.yaml" results.test_images_in_train
}

@test "an accuracy that always answering one class gives: at the import, by evaluate, on the first screen" {
    need_tool train-single evaluate report
    local most=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1
    make_images npz rare.npz x_train=160,8,8='|u1'=7,9 "y_train=160=|u1=$most" x_test=40,8,8='|u1'=7,9 "y_test=40=|u1=$most"
    succeeds "$IMPORT" --from rare.npz --channels 3 --out "$OUT"
    [[ $stderr == *"images of a class: from 10 ('1') to 190 ('0'); always answering '0' is right for 95.00 % of the test images"* ]] || fail "$stderr"
    [ "$(value results.train_per_class.1) $(value results.test_per_class.0)" = "8 38" ]
    experiment 2 rare
    "$BIN/train-single" -q --device cpu --experiment mine.yaml --train "$OUT/train.st.zst" --out run/train
    succeeds "$BIN/evaluate" -q --device cpu --model run/train/model.st.zst --data "$OUT/test.st.zst" --out run/evaluate
    [[ $output == "accuracy 0.9500 "* ]] || fail "$output"
    diff - <(cat <<<"$stderr") <<END
evaluate: always answering '0' gives 0.9500 (38 of 40 images): this accuracy is not certainly higher
evaluate: the model answers '0' for every image
END
    succeeds "$BIN/report" run --out report
    sed '/!\[/q' report/report.md | grep -qF '**Always answering 0 gives 95.00 % (38 of 40 test images): this accuracy is not certainly higher.** The model answers 0 for every test image.'
    succeeds "$BIN/report" run --lang zh --out report
    sed '/!\[/q' report/report.md | grep -qF '**始终回答“0”即可得到 95.00 %（40 张测试图像中有 38 张属于该类）：不能断定这里的准确率更高。** 模型对所有测试图像都回答“0”。'
    # Of several runs, those are named.
    make_images classes alike 3 40
    succeeds "$IMPORT" --from alike --size 8 --out "$OUT"
    [[ $stderr == *"images of each class: 40"* ]] || fail "$stderr"
    experiment 3 alike
    local rate
    for rate in 0.1 1e-9; do
        "$BIN/train-single" -q --device cpu --experiment mine.yaml --set optimizer.lr=$rate --set epochs=20 --set name=at-$rate \
            --train "$OUT/train.st.zst" --out "at-$rate/train"
        succeeds "$BIN/evaluate" -q --device cpu --model "at-$rate/train/model.st.zst" --data "$OUT/test.st.zst" --out "at-$rate/evaluate"
        [[ $rate == 1e-9 || -z $stderr ]] || fail "$stderr"
    done
    [[ $stderr == *"always answering 'c000' gives 0.3333 (8 of 24 images)"* ]] || fail "$stderr"
    succeeds "$BIN/report" at-0.1 at-1e-9 --out report
    sed '/!\[/q' report/report.md | grep -q '^\*\*Always answering c000 gives 33.33 % (8 of 24 test images): not certainly higher is the accuracy of at-1e-9.\*\*$' ||
        fail "$(sed '/!\[/q' report/report.md)"
    # Pictures of one class under the name of another.
    mkdir mixed
    cp -r alike mixed/train
    cp -r alike mixed/test
    cp alike/c001/* mixed/test/c002
    "$IMPORT" -q --from mixed --name alike --size 8 --out mixed-data 2>/dev/null
    succeeds "$BIN/evaluate" -q --device cpu --model at-0.1/train/model.st.zst --data mixed-data/test.st.zst --out at-0.1/evaluate
    [ "$stderr" = "evaluate: the model never answers 'c002'" ] || fail "$stderr"
    succeeds "$BIN/report" at-0.1 --out report
    sed '/!\[/q' report/report.md | grep -q '^The model never answers c002.$'
}

@test "--classes keeps these classes, in this order" {
    mkdir -p s/train s/test
    local class
    for class in daisy rose tulip; do
        mkdir s/train/$class s/test/$class
        make_images png s/train/$class/1.png rgb 8 8 ${#class}0
        make_images png s/test/$class/1.png rgb 8 8 ${#class}1
    done
    rm s/test/tulip/1.png # what is not chosen need not be right
    succeeds "$IMPORT" -q --from s --size 1 --classes rose,daisy --out "$OUT"
    [ -z "$stderr" ]
    [ "$(pixels train) $(pixels train labels)" = "40 0 215 50 0 205 0 1" ]
    [ "$(pixels test) $(pixels test labels)" = "41 0 214 51 0 204 0 1" ]
    [ "$(value parameters.classes.0) $(value parameters.classes.1)" = "rose daisy" ]
    [ "$(value results.left_out.0.files) $(value results.left_out.0.why)" = "1 of classes that were not chosen" ]
    succeeds "$BIN/tensor" info "$OUT/train.st.zst"
    [[ $output == *'classes: "[\"rose\",\"daisy\"]"'* ]]
    tar -cf s.tar s
    "$IMPORT" -q --from s.tar --size 1 --classes rose,daisy --out of
    cmp of/test.st.zst "$OUT/test.st.zst"
    [ "$("$IMPORT" --from s --size 1 --classes daisy,rose --print-key)" != "$(value key)" ]
    fails_with 2 "bad value of --classes: 'rse': the classes are daisy, rose, tulip; did you mean 'rose'\?" \
        "$IMPORT" --from s --size 1 --classes daisy,rse --out none
    fails_with 2 "'rose' occurs twice" "$IMPORT" --from s --size 1 --classes rose,rose --out none
    fails_with 2 "two or more names" "$IMPORT" --from s --size 1 --classes rose --out none
    # Arrays: their names are numbers.
    make_images npz a.npz x_train=6,4,4='|u1' y_train=6='|u1' x_test=3,4,4='|u1' y_test=3='|u1'
    "$IMPORT" -q --from a.npz --classes 2,0 --out "$OUT" 2>warned
    [ "$(pixels train labels) $(pixels test labels)" = "1 0 1 0 1 0" ]
    [ "$(pixels test | cut -d' ' -f1,17)" = "0 32" ]
    fails_with 2 "'3': the classes are 0, 1, 2" "$IMPORT" --from a.npz --classes 2,3 --out none
    nothing_in none
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
    blocks yaml | awk '/^schema/ { file = /model/ ? "experiments/models/small.yaml" : "experiments/flowers-small.yaml" } { print >file }'
    mkdir build
    ln -s "$BIN" build/bin
    export PATH=$BIN:$PATH
    # There is no Makefile here: make passes its command line to the tool.
    blocks sh | sed 's/^make /pipeline /' >commands.sh
    cp "$(find flowers -type f | head -n 1)" rose.jpg
    TIME=0 bash -e commands.sh # without turns, which take seconds
    [ -s artifacts/flowers/report/report.html ] || fail "$(find artifacts)"
    [ -s artifacts/compare-flowers-flowers-small/report.html ] || fail "$(find artifacts)"
    [ "$("$BIN/manifest" get run/evaluate/manifest.yaml results.samples)" = 10 ]
    [ -s report/report.html ]
}

@test "the lines of the README train on the own pictures; what is there already is left alone" {
    need_tool pipeline
    make_images classes flowers 3 10 40
    mkdir build
    ln -s "$BIN" build/bin
    # As make does: its command line goes to the tool.
    sed -n '/^build\/bin\/import-images/,/^```/p' "$ROOT/README.md" | sed '/^```/d; s|^make |build/bin/pipeline |' >lines.sh
    [ "$(wc -l <lines.sh)" = 2 ]
    succeeds bash -e lines.sh
    [[ $stderr == *"to train on these images: make experiment EXP=flowers"* ]] || fail "$stderr"
    [ -s artifacts/flowers/report/report.html ]
    [ "$("$BIN/manifest" get artifacts/flowers/seed-42/train/manifest.yaml parameters.epochs)" = 10 ]
    # Both files are the user's; without one of them it is written again.
    echo '# mine' >>data/flowers/flowers.yaml
    rm data/flowers/models/flowers.yaml
    succeeds "$IMPORT" --from flowers --size 32 --out data/flowers
    [[ $stderr == *"'data/flowers/flowers.yaml' and its model: files that were there are left as they are"* ]] || fail "$stderr"
    [ "$(tail -n 1 data/flowers/flowers.yaml)" = "# mine" ]
    [ -s data/flowers/models/flowers.yaml ]
    # Other experiments and tools know it by its name, and the list of runs its file.
    mkdir experiments
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: faster' 'base: flowers' 'optimizer: {lr: 0.02}' >experiments/faster.yaml
    succeeds "$BIN/pipeline" explain flowers faster TIME=0 DRY_RUN=1
    [[ $output == *"01-learning-rate/seed-42: planned"*"data data/flowers/train.st.zst"* ]] || fail "$output"
    succeeds "$BIN/train-single" --experiment flowers --train data/flowers/train.st.zst --out run --dry-run
    sed -i 's/^epochs:.*/epochs: 7/' data/flowers/flowers.yaml
    succeeds "$BIN/pipeline" runs
    grep -q ' flowers .* epochs 7 → 10$' <<<"$output" || fail "$output"
    # Neither another data set nor another folder is taken for its own.
    TOOL=pipeline fails_with 3 "'flower' is not an official data set" "$BIN/pipeline" experiment flowers SET=dataset=flower DRY_RUN=1
    TOOL=pipeline fails_with 3 "DATA='nowhere': it has no train.st.zst" "$BIN/pipeline" experiment flowers DATA=nowhere DRY_RUN=1
    # An experiment in experiments/ comes first.
    sed 's/^epochs:.*/epochs: 3/; s|^model:.*|model: ../data/flowers/models/flowers.yaml|' data/flowers/flowers.yaml >experiments/flowers.yaml
    succeeds "$BIN/pipeline" experiment flowers DRY_RUN=1
    [[ $output == *"data data/flowers/train.st.zst"* && $output != *"up to date"* ]] || fail "$output"
}

@test "the experiment that is written trains images of every size and shape, and its path is named" {
    need_tool train-single pipeline
    local size
    make_images classes 'my pictures' 2 3 20
    for size in 1 2 9 70; do
        succeeds "$IMPORT" --from 'my pictures' --name "p.$size" --channels 1 --size $size --out "a b/$size"
        [[ $stderr == *"to train on these images: make experiment EXP='a b/$size/p.$size.yaml'" ]] || fail "$stderr"
        succeeds "$BIN/train-single" -q --experiment "a b/$size/p.$size.yaml" --train "a b/$size/train.st.zst" --set epochs=1 --out run-$size
    done
    LOCKSTEP_COMMAND='' succeeds "$BIN/lockstep" import-images --from 'my pictures' --name true --size 4 --out data/small
    [[ $stderr == *"to train on these images: lockstep experiment data/small/true.yaml" ]] || fail "$stderr"
    succeeds "$BIN/lockstep" experiment small EPOCHS=1
    TOOL=pipeline fails_with 3 "cannot find experiment: 'smal'" "$BIN/pipeline" experiment smal DATA=data/small
    # So are the commands that the list of runs names.
    succeeds "$BIN/lockstep" runs
    [[ ${lines[-1]} == "1 run, "*"; lockstep compare RUNS="*", lockstep clean-runs "* && $output != *make* ]] || fail "$output"
    [ -s "artifacts/true-epochs=1/report/report.html" ] || fail "$(find artifacts -maxdepth 2)"
    # One split on standard output is no folder to train from.
    "$IMPORT" -q --from 'my pictures' --name stream --size 4 --split train --out - >stream.st.zst
    [ -z "$(find . -name 'stream.yaml')" ]
}

@test "pictures cannot have the name of data that experiments fetch or draw" {
    need_tool pipeline
    local name
    for name in cifar10 mnist fashion-mnist synthetic CIFAR-10 Fashion_MNIST; do
        make_images classes "$name" 2 4
        fails_with 2 "cannot name the data set '$name': it would pass for .* such as --name my-$name$" \
            "$IMPORT" --from "$name" --size 8 --out "data/$name"
        fails_with 2 "'$name': it would pass for" "$IMPORT" --from cifar10 --name "$name" --size 8 --out data/x
    done
    nothing_in data
    # Those that an earlier version imported: neither trained on in their place, nor as theirs.
    "$IMPORT" -q --from cifar10 --name cifar10s --size 8 --out data/cifar10
    "$PYTHON" - data/cifar10 <<'END'
import sys
folder = sys.argv[1]
text = open(folder + "/manifest.yaml").read()
open(folder + "/manifest.yaml", "w").write(text.replace("dataset: cifar10s", "dataset: cifar10"))
text = open(folder + "/cifar10s.yaml").read()
open(folder + "/cifar10.yaml", "w").write(text.replace('dataset: "cifar10s"', 'dataset: "cifar10"'))
END
    TOOL=pipeline fails_with 3 "'data/cifar10': these are pictures of import-images, under the name of the data set 'cifar10'" \
        "$BIN/pipeline" experiment cifar10 DRY_RUN=1
    TOOL=pipeline fails_with 3 "'data/cifar10': these are pictures" "$BIN/pipeline" experiment data/cifar10/cifar10.yaml DATA=data/cifar10 DRY_RUN=1
    nothing_in artifacts
}

@test "where an experiment has the name of the pictures, the command has the path of theirs" {
    need_tool pipeline
    mkdir experiments
    make_images classes mine 2 10
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: mine' 'base: single' >experiments/mine.yaml
    succeeds "$IMPORT" --from mine --size 8 --out data/mine
    [[ $stderr == *"'mine' alone is the name of 'experiments/mine.yaml': type the path of yours"* ]] || fail "$stderr"
    [[ $stderr == *"to train on these images: make experiment EXP=data/mine/mine.yaml" ]] || fail "$stderr"
    succeeds "$BIN/pipeline" experiment data/mine/mine.yaml DRY_RUN=1
    [[ $output == *"data data/mine/train.st.zst"* ]] || fail "$output"
    rm experiments/mine.yaml
    succeeds "$IMPORT" --from mine --size 8 --out data/mine/
    [[ $stderr != *alone* && $stderr == *": make experiment EXP=mine" ]] || fail "$stderr"
}

@test "another import into the same folder keeps the data of the first, to which runs refer" {
    need_tool pipeline
    local hash key first
    make_images classes flowers 2 10 40
    "$IMPORT" -q --from flowers --size 16 --out data/flowers
    hash=$("$BIN/tensor" hash data/flowers/train.st.zst | cut -d' ' -f1)
    key=$("$BIN/manifest" get data/flowers/manifest.yaml key)
    succeeds "$BIN/pipeline" experiment flowers EPOCHS=1
    first=$("$BIN/manifest" get artifacts/runs/*/1/train/manifest.yaml key)
    # The same again: nothing to keep.
    succeeds "$IMPORT" --from flowers --size 16 --out data/flowers
    [[ $stderr != *"is kept"* ]] || fail "$stderr"
    [ "$(ls data)" = flowers ]
    # Another size: the experiment and its model, which nobody has edited, follow.
    succeeds "$IMPORT" --from flowers --size 12 --out data/flowers
    [[ $stderr == *"'data/flowers' held another data set, which is kept in 'data/flowers-${key:0:6}'"* ]] || fail "$stderr"
    grep -q '^input: \[3, 12, 12\]' data/flowers/models/flowers.yaml
    "$BIN/manifest" verify "data/flowers-${key:0:6}/manifest.yaml"
    [ "$("$BIN/tensor" hash "data/flowers-${key:0:6}/train.st.zst" | cut -d' ' -f1)" = "$hash" ]
    succeeds "$BIN/pipeline" experiment flowers EPOCHS=1
    # The first run, with its data, again.
    succeeds "$BIN/pipeline" submission RUNS="${first:0:12}" DATA="$(echo data/flowers-*)" TIME=0
    # A model that somebody has edited stays, and the message says that it does not fit.
    echo '# mine' >>data/flowers/models/flowers.yaml
    succeeds "$IMPORT" --from flowers --size 10 --channels 1 --out data/flowers
    [[ $stderr == *"'data/flowers/models/flowers.yaml' is for 2 classes of 3×12×12, and the images are 2 classes of 1×10×10: edit it"* ]] || fail "$stderr"
    [ "$(tail -n 1 data/flowers/models/flowers.yaml)" = "# mine" ]
    # Where nothing can be kept, nothing is replaced.
    hash=$("$BIN/tensor" hash data/flowers/train.st.zst | cut -d' ' -f1)
    key=$("$BIN/manifest" get data/flowers/manifest.yaml key)
    echo file >"data/flowers-${key:0:6}"
    fails_with 1 "data/flowers-${key:0:6}" "$IMPORT" -q --from flowers --size 8 --out data/flowers
    [ "$("$BIN/tensor" hash data/flowers/train.st.zst | cut -d' ' -f1)" = "$hash" ]
    "$BIN/manifest" verify data/flowers/manifest.yaml
}

@test "own data need no DATA=: beside the experiment, or in data/NAME; also in a submission" {
    need_tool pipeline
    make_images classes flowers 2 10 20
    "$IMPORT" -q --from flowers --size 8 --out elsewhere/f
    # shellcheck disable=SC2016 # sh expands it
    succeeds "$BIN/pipeline" submission elsewhere/f/flowers.yaml EPOCHS=1
    tar -xzf artifacts/*/*.tar.gz 2>/dev/null || tar -xzf "$(find artifacts -name '*.tar.gz')"
    grep -q 'check_data train.st.zst' ./*/run-again.sh || fail "$(find . -name run-again.sh)"
    sed 's/^name:.*/name: mine/; s|^model:.*|model: elsewhere/f/models/flowers.yaml|' elsewhere/f/flowers.yaml >mine.yaml
    TOOL=pipeline fails_with 3 "give DATA=DIR, a folder made by import-images, or make it data/flowers" "$BIN/pipeline" experiment ./mine.yaml
    mv elsewhere/f data
    mkdir elsewhere/f
    mkdir tmp && mv data tmp/flowers && mv tmp data
    sed -i 's|elsewhere/f|data/flowers|' mine.yaml
    succeeds "$BIN/pipeline" experiment ./mine.yaml EPOCHS=1 SET=virtual_shards=2
}
