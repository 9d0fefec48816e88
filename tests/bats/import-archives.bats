#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# import-images: archives of pictures.
load helpers

setup() {
    IMPORT=$BIN/import-images
    OUT=$WORK/out
    cd "$WORK"
}

make_images() {
    "$PYTHON" "$ROOT/tests/python/make_images.py" "$@"
}

@test "names in an archive: UTF-8 is read, GBK is shown with what to do" {
    make_images classes s 2 2
    mv s/c000 s/猫
    mv s/c001 s/狗
    (cd s && "$PYTHON" -m zipfile -c ../s.zip 猫 狗)
    tar -cf s.tar s
    "$IMPORT" -q --from s --size 4 --out "$OUT"
    local archive
    for archive in s.zip s.tar; do
        "$IMPORT" -q --from $archive --size 4 --out of
        cmp of/train.st.zst "$OUT/train.st.zst"
    done
    # As Windows packs them in China.
    "$PYTHON" - <<'END'
import os, zipfile
class GBK(zipfile.ZipInfo):
    def _encodeFilenameFlags(self):
        return self.filename.encode("gbk"), self.flag_bits
with zipfile.ZipFile("gbk.zip", "w") as out:
    for name in "猫", "狗":
        out.writestr(GBK(name + "/1.png"), open("s/%s/00.png" % name, "rb").read())
END
    fails_with 3 "the class name '.xb9.xb7' is not UTF-8: if it is in GBK, unpack it with unzip -O GBK" \
        "$IMPORT" --from gbk.zip --size 4 --out none
    nothing_in none
}

failed_or_refused() { [[ $1 == [13] ]]; }

@test "an archive of pictures gives what the folder gives; damaged and hostile ones are refused" {
    make_images classes s/flowers/train 2 3
    make_images classes s/flowers/test 2 2
    make_images classes s/flowers/valid 2 1
    echo text >s/flowers/train/c001/01.png
    touch s/flowers/test/c000/page.gif
    mkdir s/__MACOSX
    touch s/__MACOSX/._flowers s/flowers/.DS_Store
    "$IMPORT" -q --from s --name flowers --size 4 --out "$OUT" 2>messages
    tar -C s -cf flowers.tar .
    (cd s && "$PYTHON" -m zipfile -c ../flowers.zip flowers __MACOSX)
    tar -C s -czf flowers.tar.gz flowers/valid flowers/test/c001 flowers/train flowers/test/c000 __MACOSX
    local archive
    for archive in flowers.tar flowers.zip flowers.tar.gz; do
        succeeds "$IMPORT" -q --from $archive --size 4 --out of
        # Messages differ in the name of --from.
        diff messages - <<<"${stderr//"'$archive/"/"'s/"}"
        [ "$("$BIN/manifest" get of/manifest.yaml parameters.dataset)" = flowers ]
        [ "$("$BIN/manifest" get of/manifest.yaml inputs.0.path)" = ../$archive ]
        cmp of/train.st.zst "$OUT/train.st.zst"
        cmp of/test.st.zst "$OUT/test.st.zst"
    done
    # One list is split by the same names; a class without a file is not overlooked.
    "$IMPORT" -q --from s/flowers/test --name test --size 4 --out "$OUT"
    tar -C s/flowers -czf test.tgz test
    "$IMPORT" -q --from test.tgz --size 4 --out of
    cmp of/train.st.zst "$OUT/train.st.zst"
    mkdir s/flowers/test/c002
    tar -C s/flowers -czf test.tgz test
    fails_with 3 "class 'test/c002' has no .jpg, .jpeg or .png" "$IMPORT" --from test.tgz --size 4 --out none
    head -c 300 flowers.tar.gz >cut.tar.gz
    fails_with 3 "'cut.tar.gz'" "$IMPORT" --from cut.tar.gz --size 4 --out none
    fails_with 2 "--size is missing" "$IMPORT" --from flowers.zip --out none
    "$PYTHON" - <<'END'
import io, tarfile
png = open("s/flowers/train/c000/00.png", "rb").read()
def make(path, extra):
    with tarfile.open(path, "w") as out:
        for name in ["a/1.png", "a/2.png", "b/1.png", "b/2.png"] + extra:
            info = tarfile.TarInfo(name)
            info.size = len(png)
            out.addfile(info, io.BytesIO(png))
make("up.tar", ["../1.png"])
make("root.tar", ["/tmp/1.png"])
make("twice.tar", ["./a//1.png"])
make("deep.tar", ["x/" * 20 + "1.png"])
with tarfile.open("link.tar", "w") as out:
    info = tarfile.TarInfo("a/1.png")
    out.addfile(info)
    info = tarfile.TarInfo("a/2.png")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    out.addfile(info)
END
    fails_with 3 "'up.tar': member '../1.png': its path has '..'" "$IMPORT" --from up.tar --size 4 --out none
    fails_with 3 "its path is absolute" "$IMPORT" --from root.tar --size 4 --out none
    fails_with 3 "'twice.tar': member 'a/1.png' occurs twice" "$IMPORT" --from twice.tar --size 4 --out none
    fails_with 3 "'deep.tar': member 'x/x/.*' is in more than 15 folders" "$IMPORT" --from deep.tar --size 4 --out none
    fails_with 3 "'link.tar': member 'a/2.png': it is a symbolic link" "$IMPORT" --from link.tar --size 4 --out none
    nothing_in none
}

@test "an archive with a password, and one inside an archive of a published set, are named" {
    make_images classes p 2 2
    "$PYTHON" - <<'END'
import os, zipfile
# Stored, with the bit that says encrypted: the twelve bytes before the data are there, whatever they hold.
with zipfile.ZipFile("locked.zip", "w") as out:
    for folder, _, names in os.walk("p"):
        for name in names: out.writestr(os.path.join(folder, name), bytes(12) + open(os.path.join(folder, name), "rb").read())
data = bytearray(open("locked.zip", "rb").read())
for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
    place = data.find(magic)
    while place >= 0:
        data[place + at] |= 1
        place = data.find(magic, place + 4)
open("locked.zip", "wb").write(data)
zipfile.ZipFile("kaggle.zip", "w").writestr("data/cifar-10-python.tar.gz", b"")
END
    fails_with 3 "'locked.zip': it is protected by a password: unpack it, and pass the folder" "$IMPORT" --from locked.zip --size 4 --out none
    fails_with 3 "'data_batch_1.bin' of cifar10 is missing; it holds archives: unpack it, and pass 'data/cifar-10-python.tar.gz'" \
        "$BIN/fetch-cifar" --from kaggle.zip --out none
    nothing_in none
}

@test "no memory while an archive is read is a failure with a message, at every allocation" {
    make_images classes p 2 1
    tar -cf p.tar p # one picture of each class: refused when it is split
    each_allocation_fails failed_or_refused "$IMPORT" --from p.tar --size 1 --out "$OUT"
    [ "$allocations" -gt 100 ]
}
