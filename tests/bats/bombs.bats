#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Small files that would take all memory or time: refused at once, because of their headers or their
# contents. No tool here may use more than a GiB of memory.

load helpers

setup() {
    need_tool fetch-cifar tensor import-images
    cd "$WORK" || return
}

# refused PATTERN COMMAND...: exit code 3, within that little memory and two minutes of processor time,
# and nothing is left behind.
refused() {
    local pattern=$1 tool=${2##*/}
    shift
    shift
    TOOL=$tool fails_with 3 "$pattern" prlimit --as=$((1 << 30)) --cpu=120 "$BIN/$tool" "$@"
    nothing_in out
}

# hole BYTES NAME: a sparse file of that many bytes, with data only at its end.
hole() {
    rm -f "$2"
    truncate -s "$1" "$2" || skip "cannot create a file of $1 bytes on this file system"
    echo end >>"$2"
}

@test "a sparse tar: its holes count towards the uncompressed size" {
    hole 4T data_batch_1.bin
    tar --sparse -cf a.tar data_batch_1.bin
    [ "$(stat -c %s a.tar)" -lt 100000 ]
    refused 'more than 4294967296 bytes uncompressed' fetch-cifar -q --from a.tar --out out
    hole 3G unrelated.bin # the limit for an archive
    tar --sparse -cf a.tar unrelated.bin
    refused 'more than 200 times its size' fetch-cifar -q --from a.tar --out out
}

@test "a tar header with a size above the limit of an archive" {
    "$PYTHON" -c '
import tarfile
info = tarfile.TarInfo("unrelated.bin")
info.size = 5 << 30
open("a.tar", "wb").write(info.tobuf() + bytes(100000))'
    refused 'more than 4294967296 bytes uncompressed' fetch-cifar -q --from a.tar --out out
}

@test "members with an extreme compression ratio: zstd, xz, zip" {
    hole 300M unrelated.bin
    tar -cf - unrelated.bin | zstd -q -1 >a.tar.zst
    refused 'more than 200 times its size' fetch-cifar -q --from a.tar.zst --out out
    hole 300M unrelated.bin
    tar -cf - unrelated.bin | xz -0 >a.tar.xz
    refused 'more than 200 times its size' fetch-cifar -q --from a.tar.xz --out out
    "$PYTHON" -c '
import zipfile
for name, member in ("a.zip", "p/a/1.png"), ("a.npz", "x.npy"):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z, z.open(member, "w") as f:
        for _ in range(300):
            f.write(bytes(1 << 20))'
    refused 'more than 200 times its size' fetch-cifar -q --from a.zip --out out
    refused 'more than 200 times its size' import-images -q --from a.npz --out out
    refused 'more than 200 times its size' import-images -q --from a.zip --size 8 --out out
}

# tensors BYTES: a tensor file of that many zeros on standard output, uncompressed.
tensors() {
    "$PYTHON" -c '
import json, struct, sys
bytes_ = int(sys.argv[1])
head = json.dumps({"x": {"dtype": "U8", "shape": [bytes_], "data_offsets": [0, bytes_]}}).encode()
sys.stdout.buffer.write(struct.pack("<Q", len(head)) + head)
for _ in range(bytes_ >> 20):
    sys.stdout.buffer.write(bytes(1 << 20))' "$1"
}

@test "a tensor file that expands to far more than its size is refused, also from a pipe; plain, it is read" {
    tensors $((1 << 30)) | zstd -q -1 >a.st.zst
    [ "$(stat -c %s a.st.zst)" -lt 200000 ]
    refused 'more than the limit' tensor hash a.st.zst
    # shellcheck disable=SC2016 # the inner shell's
    TOOL=tensor fails_with 3 'more than 200 times' prlimit --as=$((3 << 30)) sh -c 'cat a.st.zst | "$0" hash -' "$BIN/tensor"
    succeeds "$BIN/tensor" hash --max-bytes $((2 << 30)) <(zstd -dcq a.st.zst)
}

@test "a file of any size may expand to 256 MiB" {
    tensors $((255 << 20)) | zstd -q -1 >a.st.zst
    succeeds "$BIN/tensor" hash a.st.zst # below 256 MiB, and below 200 times the file
}
