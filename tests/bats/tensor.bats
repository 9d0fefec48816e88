#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The tensor tool, and through it the tensor file format: accepted and refused files.
# shellcheck disable=SC2016,SC2094 # "$0" belongs to the inner shell; a file may be compared with itself

load helpers

setup_file() {
    # One set of files for all tests: each case of make_tensor_file.py, plain and compressed.
    export CASES=$BATS_FILE_TMPDIR/cases
    mkdir -p "$CASES"
    local python=${PYTHON:-/usr/bin/python3} name
    for name in $("$python" "$BATS_TEST_DIRNAME/../python/make_tensor_file.py" --list); do
        "$python" "$BATS_TEST_DIRNAME/../python/make_tensor_file.py" "$name" >"$CASES/$name.safetensors"
    done
    zstd -q "$CASES/good.safetensors" -o "$CASES/good.st.zst"
}

setup() {
    need_tool tensor
    TENSOR=$BIN/tensor
    READER=$ROOT/tests/python/safetensors_reader.py
    mkdir "$WORK/files" && cd "$WORK/files" || return # bats keeps its own files in $WORK
}

# refused CASE PATTERN: the file of that case is refused in one line that names it and a byte
# offset, and nothing is printed.
refused() {
    fails_with 3 "$2" "$TENSOR" info "$CASES/$1.safetensors"
    [ -z "$output" ] || fail "printed: $output"
    [[ $stderr == *"'$CASES/$1.safetensors'"* ]] || fail "the file is not named: $stderr"
    [[ $stderr == *" byte "* ]] || fail "no byte offset: $stderr"
}

# vector NAME TYPE VALUE...: writes the tensor file NAME.st.zst with one vector of that name.
vector() {
    local name=$1 type=$2
    shift 2
    printf '%s\n' "$@" | "$TENSOR" import --name "${name##*/}" --format csv --dtype "$type" --out "$name.st.zst" -
}

# steps FILE DIGEST...: a series of steps as in training, with as many losses and times.
steps() {
    "$PYTHON" - "$@" <<'END' >"$1"
import json, struct, sys
digests = [int(word, 16) for word in sys.argv[2:]]
n = len(digests)
body = struct.pack("<%dQ" % n, *digests) + struct.pack("<%dQ" % n, *(id(sys) % 1000 + i for i in range(n)))
body += struct.pack("<%df" % n, *(1.0 / (d + 1) for d in digests))
header = {"digest": {"dtype": "U64", "shape": [n], "data_offsets": [0, 8 * n]},
          "forward": {"dtype": "U64", "shape": [n], "data_offsets": [8 * n, 16 * n]},
          "loss": {"dtype": "F32", "shape": [n], "data_offsets": [16 * n, 20 * n]},
          "__metadata__": {"file": sys.argv[1]}}
text = json.dumps(header).encode()
sys.stdout.buffer.write(struct.pack("<Q", len(text)) + text + body)
END
}

# --- command line ---------------------------------------------------------------------------------

@test "tensor: --help and --version" {
    succeeds "$TENSOR" --help
    [[ $output == *"info FILE"* && $output == *"export --format npy|csv"* ]]
    succeeds "$TENSOR" --version
    [[ $output == "tensor (lockstep) "* ]]
    local command
    for command in info cat hash diff export import; do
        succeeds "$TENSOR" $command --help
        [[ $output == "Usage: tensor $command "* && $output == *"--max-bytes N"* ]]
    done
}

@test "tensor: usage errors" {
    fails_with 2 'missing command' "$TENSOR"
    fails_with 2 "unknown command: 'ifno': did you mean 'info'" "$TENSOR" ifno
    fails_with 2 'missing arguments: expected at least 2' "$TENSOR" cat "$CASES/good.safetensors"
    fails_with 2 "unexpected argument: 'b'" "$TENSOR" info a b
    fails_with 2 "'--atol'" "$TENSOR" info --atol 1 a
    fails_with 2 "did you mean '--atol'" "$TENSOR" diff --atoll 1 a b
    fails_with 2 "'--atol': expected a number, got 'x'" "$TENSOR" diff --atol x a b
    fails_with 2 'expected a number of at least 0' "$TENSOR" diff --atol=-1 a b
    fails_with 2 'expected an integer from 1 to' "$TENSOR" info --max-bytes 0 a
    fails_with 2 "'--max-bytes': missing value" "$TENSOR" info a --max-bytes
    fails_with 2 "'--format': expected npy or csv, got 'xml'" "$TENSOR" export --format xml a b
    fails_with 2 "'--format': expected npy or csv, got 'nothing'" "$TENSOR" export a b
    fails_with 2 "'--name'" "$TENSOR" import --format csv --out x a
    fails_with 2 "'--dtype': expected U8.* got 'F16'" "$TENSOR" import --name a --format csv --dtype F16 --out x a
}

# --- reading --------------------------------------------------------------------------------------

@test "tensor: a safetensors file written by Python is read" {
    succeeds "$TENSOR" info "$CASES/good.safetensors"
    [[ $output == *$'metadata:\n  model: "lenet"\n  note: "höhe"\n'* ]]
    [[ $output == *$'tensors:\n  labels: {dtype: U8, shape: [3], bytes: 3}\n  w: {dtype: F32, shape: [2,3], bytes: 24}' ]]
    succeeds "$TENSOR" export --format csv "$CASES/good.safetensors" w
    [ "$output" = $'1,2,3\n4,5.5,-6' ]
    succeeds "$TENSOR" export --format csv "$CASES/good.safetensors" labels
    [ "$output" = $'7\n8\n9' ]
    [ "$("$TENSOR" cat "$CASES/good.safetensors" labels | od -An -tu1 | tr -s ' ')" = " 7 8 9" ]
    [ "$("$TENSOR" cat "$CASES/good.safetensors" labels labels | od -An -tu1 | tr -s ' ')" = " 7 8 9 7 8 9" ]
    fails_with 3 "no such tensor: 'x'" "$TENSOR" cat "$CASES/good.safetensors" labels x
    [ -z "$output" ]
    succeeds "$TENSOR" info "$CASES/no-tensors.safetensors"
    [[ $output == *"tensors: {}" ]]
    succeeds "$TENSOR" export --format csv "$CASES/scalar.safetensors" n
    [ "$output" = -5 ]
    succeeds "$TENSOR" export --format csv "$CASES/empty-tensor.safetensors" w
    [ -z "$output" ]
}

@test "tensor: hash is the SHA-256 of the uncompressed bytes" {
    local sum
    sum=$(sha256sum <"$CASES/good.safetensors" | cut -d' ' -f1)
    succeeds "$TENSOR" hash "$CASES/good.safetensors" "$CASES/good.st.zst"
    [ "$output" = "$sum  $CASES/good.safetensors"$'\n'"$sum  $CASES/good.st.zst" ]
    [ "$("$TENSOR" hash - <"$CASES/good.st.zst")" = "$sum  -" ]
    [ "$(zstd -dc "$CASES/good.st.zst" | "$TENSOR" hash -)" = "$sum  -" ]
    succeeds "$TENSOR" info "$CASES/good.st.zst"
    [[ $output == *"content: $sum"* ]]
    [[ $output == *"sha256: $(sha256sum <"$CASES/good.st.zst" | cut -d' ' -f1)"* ]]
    [[ $output == *"bytes: $(stat -c %s "$CASES/good.st.zst")"* ]]
}

@test "tensor: frames of every legal kind are read" {
    local sum file
    sum=$(sha256sum <"$CASES/good.safetensors" | cut -d' ' -f1)
    zstd -q --no-check <"$CASES/good.safetensors" >bare.st.zst # from a pipe: no content size either
    { head -c 50 "$CASES/good.safetensors" | zstd -q; tail -c +51 "$CASES/good.safetensors" | zstd -q; } >two.st.zst
    { printf '\x52\x2a\x4d\x18\x05\0\0\0hello'; cat "$CASES/good.st.zst"; printf '\x50\x2a\x4d\x18\0\0\0\0'; } >skip.st.zst
    { zstd -q </dev/null; cat "$CASES/good.st.zst"; zstd -q </dev/null; } >empties.st.zst
    for file in bare two skip empties; do
        succeeds "$TENSOR" hash "$file.st.zst"
        [ "$output" = "$sum  $file.st.zst" ]
    done
}

@test "tensor: damaged zstd frames are refused" {
    local size bytes
    size=$(stat -c %s "$CASES/good.st.zst")
    for bytes in 3 6 60 $((size - 4)) $((size - 1)); do
        head -c "$bytes" "$CASES/good.st.zst" >cut.st.zst
        fails_with 3 "'cut.st.zst'.*byte " "$TENSOR" hash cut.st.zst
        [ -z "$output" ]
    done
    fails_with 3 "ends at byte $((size - 1)), inside the zstd frame that begins at byte 0" "$TENSOR" hash cut.st.zst

    cp "$CASES/good.st.zst" sum.st.zst
    printf '\xa5' | dd of=sum.st.zst bs=1 seek=$((size - 2)) conv=notrunc status=none
    fails_with 3 "wrong checksum in the zstd frame that begins at byte 0" "$TENSOR" hash sum.st.zst
    [ -z "$output" ]

    { cat "$CASES/good.st.zst"; echo trailing; } >more.st.zst
    fails_with 3 "the bytes after the last zstd frame, from byte $size on, are not a frame" "$TENSOR" hash more.st.zst
    { cat "$CASES/good.st.zst"; zstd -q <"$CASES/trailing.safetensors"; } >twice.st.zst
    fails_with 3 "bytes follow the last tensor" "$TENSOR" hash twice.st.zst
    { cat "$CASES/good.st.zst"; head -c -1 "$CASES/good.st.zst"; } >second.st.zst
    fails_with 3 "byte" "$TENSOR" hash second.st.zst
}

@test "tensor: a flipped bit is detected, or does not change the content" {
    "$PYTHON" - "$CASES/good.st.zst" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
for i in range(0, len(data), 5):
    open("flip%d.st.zst" % i, "wb").write(data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1:])
END
    local good file
    good=$("$TENSOR" hash - <"$CASES/good.st.zst")
    for file in flip*.st.zst; do
        run --separate-stderr -- "$TENSOR" hash - <"$file"
        # A flipped bit may be in an unused (reserved) field: then the content is the same.
        [ "$status" -eq 3 ] || [ "$output" = "$good" ] || fail "$file: $status $output"
    done
}

@test "tensor: headers that are not well formed are refused" {
    fails_with 3 "it is empty" "$TENSOR" info "$CASES/empty.safetensors"
    refused short-length "3 of 8 bytes"
    refused huge-header 'not a tensor file: .* 100000001 bytes'
    refused long-header 'ends inside the header: 2 of 50000000 bytes'
    refused not-json 'not valid JSON: .* \(at byte 17 '
    refused cut-json 'not valid JSON'
    refused json-and-more 'not valid JSON: end of file expected'
    refused not-utf8 'not valid JSON: unable to decode byte 0xff .* \(at byte 10 '
    refused array 'the header is not a JSON object'
    refused deep 'maximum parsing depth'
    refused many-values 'more than 1048576 values'
    refused duplicate-tensor 'duplicate object key'
    refused duplicate-key 'duplicate object key'
    refused metadata-number "metadata 'epochs' is not a string"
    refused metadata-list '__metadata__ is not a JSON object'
    refused control-name 'control characters'
}

@test "tensor: tensors that are not well formed are refused" {
    refused tensor-number "tensor 'w' has no dtype"
    refused unknown-key "tensor 'w' has a key other than"
    refused no-dtype "tensor 'w' has no dtype"
    refused no-shape "tensor 'w' has no shape"
    refused no-offsets "tensor 'w' has data_offsets that are not"
    refused bool "tensor 'w' has unsupported dtype 'BOOL'"
    refused dtype-lower "dtype 'f32'"
    refused rank-9 '9 dimensions, more than 8'
    refused negative-size 'not a non-negative integer'
    refused float-size 'not a non-negative integer'
    refused size-overflow 'overflows'
    refused size-wraps 'overflows'
    refused size-beyond-json 'too big integer'
    refused huge-data '8589934[0-9]* bytes uncompressed, more than the limit of 4294967296'
    refused wrong-bytes '24 bytes by its shape, but 20 bytes by its data_offsets'
    refused offsets-swapped 'not \[begin, end\]'
    refused three-offsets 'not \[begin, end\]'
    refused gap "4 bytes before tensor 'w'"
    refused hole "1 bytes before tensor 'w'"
    refused overlap "tensor 'w' overlaps tensor 'a'"
    refused same-place "tensor 'b' overlaps tensor 'a'"
    refused cut-data "inside tensor 'w': 23 of 24 bytes"
    refused trailing 'bytes follow the last tensor'
}

@test "tensor: every command refuses a bad file" {
    local bad=$CASES/cut-data.safetensors
    fails_with 3 "tensor 'w'" "$TENSOR" cat "$bad" w
    fails_with 3 "tensor 'w'" "$TENSOR" hash "$bad"
    fails_with 3 "tensor 'w'" "$TENSOR" diff "$bad" "$CASES/only-w.safetensors"
    fails_with 3 "tensor 'w'" "$TENSOR" diff "$CASES/only-w.safetensors" "$bad"
    fails_with 3 "tensor 'w'" "$TENSOR" export --format npy --out w.npy "$bad" w
    TOOL=tensor fails_with 3 "'standard input'" bash -c '"$0" info - <"$1"' "$TENSOR" "$bad"
    nothing_in .
}

@test "tensor: --max-bytes limits the uncompressed size" {
    local size=$(($(stat -c %s "$CASES/good.safetensors")))
    succeeds "$TENSOR" info --max-bytes "$size" "$CASES/good.st.zst"
    fails_with 3 "more than the limit of $((size - 1))" "$TENSOR" info --max-bytes $((size - 1)) "$CASES/good.st.zst"
    fails_with 3 "limit of 20 bytes" "$TENSOR" info --max-bytes 20 "$CASES/good.st.zst"
    # 200 MB of zeros after the tensors, in 20 kB: refused at the first byte.
    { cat "$CASES/only-w.safetensors"; head -c 200M /dev/zero; } | zstd -q >bomb.st.zst
    fails_with 3 'bytes follow the last tensor' "$TENSOR" info bomb.st.zst
    head -c 50M /dev/zero | zstd -q >zeros.zst
    fails_with 3 'limit of 1000 bytes' "$TENSOR" import --max-bytes 1000 --name a --format csv --out a.st.zst zeros.zst
    # This frame would need a window of 2 GiB.
    zstd -q --long=31 <"$CASES/good.safetensors" >long.st.zst
    fails_with 3 'damaged near byte' "$TENSOR" info long.st.zst
}

@test "tensor: files that cannot be read" {
    fails_with 3 "cannot open: 'absent.st.zst': No such file" "$TENSOR" info absent.st.zst
    fails_with 3 "cannot read tensor file: '.': it is a folder: pass a tensor file" "$TENSOR" info .
    fails_with 3 "no such tensor: 'x'" "$TENSOR" cat "$CASES/good.safetensors" x
    fails_with 3 "no such tensor: 'x'" "$TENSOR" export --format npy --out x.npy "$CASES/good.safetensors" x
    echo 'this is a text, and no tensor file' >text
    fails_with 3 "'text': it is text that begins with 'this is a text" "$TENSOR" info text
    [ "$(ls)" = text ]
}

# --- writing --------------------------------------------------------------------------------------

@test "tensor: written files are canonical, and Python reads them" {
    vector w F32 0.5 -1.25 1e-30 3
    [ "$(zstd -dc w.st.zst | "$PYTHON" "$READER" -)" = "w F32 [4]" ]
    [ "$(zstd -dc w.st.zst | "$PYTHON" "$READER" - w | tr '\n' ' ')" = "0.5 -1.25 1.0000000031710769e-30 3.0 " ]
    [ "$(zstd -dc w.st.zst | "$PYTHON" "$READER" - --hash)  w.st.zst" = "$("$TENSOR" hash w.st.zst)" ]
    [ "$(zstd -dc w.st.zst | head -c 64 | tail -c 56)" = '{"w":{"data_offsets":[0,16],"dtype":"F32","shape":[4]}} ' ]
    zstd -lv w.st.zst | grep -q '^Check: XXH64'
    zstd -lv w.st.zst | grep -q '^Decompressed Size: 80 B'
    cp w.st.zst first.st.zst
    vector w F32 0.5 -1.25 1e-30 3
    cmp first.st.zst w.st.zst
}

@test "tensor: all types survive npy and csv" {
    local name type
    for name in a:U8 b:U32 c:U64 d:I64 e:F32 f:F64; do
        type=${name#*:} name=${name%:*}
        "$TENSOR" cat "$CASES/all-types.safetensors" "$name" >raw
        "$TENSOR" export --format npy "$CASES/all-types.safetensors" "$name" |
            "$TENSOR" import --format npy --name x --out npy.st.zst -
        "$TENSOR" export --format csv "$CASES/all-types.safetensors" "$name" |
            "$TENSOR" import --format csv --dtype "$type" --name x --out csv.st.zst -
        "$TENSOR" cat npy.st.zst x | cmp - raw
        "$TENSOR" cat csv.st.zst x | cmp - raw
        succeeds "$TENSOR" diff npy.st.zst csv.st.zst
    done
}

@test "tensor: NumPy reads exported npy files, and NumPy's files can be imported" {
    "$PYTHON" -c 'import numpy' 2>/dev/null || skip "no NumPy"
    "$TENSOR" export --format npy --out w.npy "$CASES/good.safetensors" w
    "$PYTHON" - <<'END'
import numpy
w = numpy.load("w.npy")
assert w.dtype == numpy.float32 and w.tolist() == [[1, 2, 3], [4, 5.5, -6]], w
numpy.save("cube.npy", numpy.arange(24, dtype="u4").reshape(2, 3, 4))
numpy.save("zero.npy", numpy.float64(2.5))
numpy.save("complex.npy", numpy.zeros(3, "c8"))
numpy.save("fortran.npy", numpy.asfortranarray(w))
numpy.save("big.npy", numpy.array([1.5, -2, 3], ">f4"))
END
    "$TENSOR" import --format npy --name cube --out cube.st.zst cube.npy
    succeeds "$TENSOR" info cube.st.zst
    [[ $output == *"cube: {dtype: U32, shape: [2,3,4], bytes: 96}" ]]
    [ "$("$TENSOR" export --format csv cube.st.zst cube | tail -n 1)" = "12,13,14,15,16,17,18,19,20,21,22,23" ]
    "$TENSOR" import --format npy --name zero --out zero.st.zst zero.npy
    [ "$("$TENSOR" export --format csv zero.st.zst zero)" = 2.5 ]
    "$TENSOR" import --format npy --name big --out big.st.zst big.npy
    [ "$("$TENSOR" export --format csv big.st.zst big | xargs)" = "1.5 -2 3" ]
    fails_with 3 "'complex.npy': it holds complex numbers \(<c8\)" "$TENSOR" import --format npy --name a --out a.st.zst complex.npy
    fails_with 3 "'fortran.npy': it is in Fortran order" "$TENSOR" import --format npy --name a --out a.st.zst fortran.npy
    head -c 100 cube.npy >cut.npy
    fails_with 3 "'cut.npy': it ends inside the header" "$TENSOR" import --format npy --name a --out a.st.zst cut.npy
    head -c -1 cube.npy >cut.npy
    fails_with 3 "'cut.npy': its size does not match" "$TENSOR" import --format npy --name a --out a.st.zst cut.npy
    fails_with 3 "'.*good.safetensors': it is a safetensors file" "$TENSOR" import --format npy --name a --out a.st.zst "$CASES/good.safetensors"
    [ ! -e a.st.zst ]
}

@test "tensor: malformed CSV is refused" {
    printf '1,2\n3\n' >ragged.csv
    fails_with 3 "'ragged.csv': line 2, column 1: the line has 1 columns, the first has 2" \
        "$TENSOR" import --format csv --name a --out a.st.zst ragged.csv
    printf '1,2\n3,x\n' >word.csv
    fails_with 3 "line 2, column 2: 'x' is not a valid F32" "$TENSOR" import --format csv --name a --out a.st.zst word.csv
    printf '1\n256\n' >large.csv
    fails_with 3 "line 2, column 1: '256' is not a valid U8" "$TENSOR" import --format csv --dtype U8 --name a --out a.st.zst large.csv
    printf '1\n-1\n' >minus.csv
    fails_with 3 "'-1' is not a valid U64" "$TENSOR" import --format csv --dtype U64 --name a --out a.st.zst minus.csv
    printf '1\n\n2\n' >blank.csv
    fails_with 3 "line 2, column 1: '' is not a valid F32" "$TENSOR" import --format csv --name a --out a.st.zst blank.csv
    printf '1\n\0\n' >zero.csv
    fails_with 3 "zero byte" "$TENSOR" import --format csv --name a --out a.st.zst zero.csv
    [ ! -e a.st.zst ]
    printf ' 1 , 2\r\n3,4' >spaced.csv # no newline at the end
    "$TENSOR" import --format csv --name a --out a.st.zst spaced.csv
    [ "$("$TENSOR" export --format csv a.st.zst a)" = $'1,2\n3,4' ]
}

@test "tensor: pipes from end to end" {
    printf '1\n2\n' | "$TENSOR" import --name a --format csv --out - - | "$TENSOR" export --format npy - a |
        "$TENSOR" import --name b --format npy --out - - | "$TENSOR" export --format csv - b >out.csv
    [ "$(cat out.csv)" = $'1\n2' ]
    [ "$("$TENSOR" info - <"$CASES/good.safetensors" | head -n 1)" = 'file: "-"' ]
    "$TENSOR" diff - "$CASES/good.safetensors" <"$CASES/good.safetensors"
}

@test "tensor: a full disk, a read-only folder, a missing folder" {
    local full='No space left on device'
    TOOL=tensor fails_with 1 "$full" bash -c '"$0" info "$1" >/dev/full' "$TENSOR" "$CASES/good.safetensors"
    TOOL=tensor fails_with 1 "$full" bash -c '"$0" hash "$1" >/dev/full' "$TENSOR" "$CASES/good.safetensors"
    TOOL=tensor fails_with 1 "$full" bash -c '"$0" --help >/dev/full' "$TENSOR"
    fails_with 1 "cannot write: '/dev/full': $full" "$TENSOR" export --format npy --out /dev/full "$CASES/good.safetensors" w
    echo 1 >one.csv
    fails_with 1 "'/dev/full'" "$TENSOR" import --format csv --name a --out /dev/full one.csv
    # /sys is read-only for every user, root included.
    fails_with 1 "cannot write: '/sys/a.st.zst'" "$TENSOR" import --format csv --name a --out /sys/a.st.zst one.csv
    fails_with 1 "cannot write: 'absent/a.st.zst': No such file" "$TENSOR" import --format csv --name a --out absent/a.st.zst one.csv
    mkdir folder
    fails_with 1 "cannot write: 'folder': Is a directory" "$TENSOR" import --format csv --name a --out folder one.csv
    [ -z "$(ls -A folder)" ]
}

@test "tensor: an older file stays if the new one fails, and is otherwise replaced as a whole" {
    vector a F32 1 2 3
    cp a.st.zst before.st.zst
    printf '1\nx\n' >bad.csv
    fails_with 3 "'x' is not a valid F32" "$TENSOR" import --format csv --name a --out a.st.zst bad.csv
    cmp a.st.zst before.st.zst
    # The limit on file sizes ends the writing in the middle, like a full disk.
    seq 20000 >many.csv
    TOOL=tensor fails_with 1 'File too large' bash -c 'trap "" XFSZ; ulimit -f 4; exec "$0" import --format csv --name a --out a.st.zst many.csv' "$TENSOR"
    cmp a.st.zst before.st.zst
    "$TENSOR" import --format csv --name a --out a.st.zst many.csv
    [ "$("$TENSOR" export --format csv a.st.zst a | tail -n 1)" = 20000 ]
    [ "$(find . -type f | sort | tr '\n' ' ')" = "./a.st.zst ./bad.csv ./before.st.zst ./many.csv " ]
    ln -s a.st.zst link.st.zst
    "$TENSOR" import --format csv --name a --out link.st.zst <(echo 7)
    [ -L link.st.zst ]
    [ "$("$TENSOR" export --format csv a.st.zst a)" = 7 ]
}

# --- diff -----------------------------------------------------------------------------------------

@test "tensor diff: equal files" {
    succeeds "$TENSOR" diff "$CASES/good.safetensors" "$CASES/good.st.zst"
    [ -z "$output" ]
}

@test "tensor diff: names the tensors and the metadata that differ" {
    run --separate-stderr -- "$TENSOR" diff "$CASES/good.safetensors" "$CASES/other-value.safetensors"
    [ "$status" -eq 4 ]
    [ "$output" = "w: F32 [2,3]: 1 of 6 elements differ, first at [1,1]: 5.5 and 5.25; largest difference 0.25, relative 0.0454545455" ]
    run --separate-stderr -- "$TENSOR" diff "$CASES/good.safetensors" "$CASES/other-shape.safetensors"
    [ "$status" -eq 4 ]
    [ "$output" = "w: F32 [2,3] and F32 [3,2]" ]
    run --separate-stderr -- "$TENSOR" diff "$CASES/good.safetensors" "$CASES/other-metadata.safetensors"
    [ "$status" -eq 4 ]
    [ "$output" = "metadata model: 'lenet' and 'vgg'"$'\n'"metadata note: only in $CASES/good.safetensors" ]
    run --separate-stderr -- "$TENSOR" diff "$CASES/only-w.safetensors" "$CASES/scalar.safetensors"
    [ "$status" -eq 4 ]
    [ "$output" = "w: only in $CASES/only-w.safetensors"$'\n'"n: only in $CASES/scalar.safetensors" ]
    [ -z "$stderr" ]
}

# Searching for each one from the start took minutes; now it takes a second. The limit is on processor
# time, which does not pass while other programs run.
@test "tensor diff: a hundred thousand tensors take seconds, not minutes" {
    "$PYTHON" "$ROOT/tests/python/make_tensor_file.py" many-tensors >many
    succeeds prlimit --cpu=60 "$TENSOR" diff many many
}

@test "tensor diff: tolerances" {
    mkdir a b
    vector a/x F32 1 100 -3
    vector b/x F32 1.001 100.1 -3
    succeeds "$TENSOR" diff --atol 0.11 a/x.st.zst b/x.st.zst
    succeeds "$TENSOR" diff --rtol 0.0011 a/x.st.zst b/x.st.zst
    run -4 "$TENSOR" diff --atol 0.01 a/x.st.zst b/x.st.zst
    [[ $output == "x: F32 [3]: 1 of 3 elements differ, first at [1]: 100 and 100.099998;"* ]]
    run -4 "$TENSOR" diff a/x.st.zst b/x.st.zst
    [[ $output == "x: F32 [3]: 2 of 3 elements differ, first at [0]: 1 and 1.00100005; largest difference 0.0999984741,"* ]]
    vector a/x F32 0 nan inf
    vector b/x F32 -0 nan inf
    run -4 "$TENSOR" diff a/x.st.zst b/x.st.zst
    [[ $output == *"1 of 3 elements differ, first at [0]: 0 and -0; largest difference 0, relative 0" ]]
    succeeds "$TENSOR" diff --atol 1e-30 a/x.st.zst b/x.st.zst
    vector b/x F32 0 1 inf
    run -4 "$TENSOR" diff --atol 1e30 a/x.st.zst b/x.st.zst
    [[ $output == *"1 of 3 elements differ, first at [1]: nan and 1; largest difference inf, relative inf" ]]
    vector a/x U64 18446744073709551615
    vector b/x U64 18446744073709551613
    run -4 "$TENSOR" diff a/x.st.zst b/x.st.zst
    [[ $output == *"18446744073709551615 and 18446744073709551613; largest difference 2,"* ]]
}

@test "tensor diff: names the first step at which two runs differ" {
    steps a a1 a2 a3 a4
    steps same a1 a2 a3 a4
    steps late a1 a2 b3 b4
    steps short a1 a2 a3
    succeeds "$TENSOR" diff a same # their metadata differ, and times might
    run -4 "$TENSOR" diff a late
    [[ ${lines[0]} == "runs differ from step 3 on: digest 00000000000000a3 and 00000000000000b3" ]]
    [[ ${lines[1]} == "loss: F32 [4]: 2 of 4 elements differ, first at [2]: "* ]]
    run -4 "$TENSOR" diff a short
    [ "$output" = "runs agree in 3 steps; a continues to step 4" ]
}

@test "tensor diff: two folders of runs" {
    mkdir a b c
    steps a/steps.st.zst 1 2 3
    steps b/steps.st.zst 1 5 6
    vector a/model F32 1 2
    vector b/model F32 1 3
    fails_with 3 "'a': 'late' is a folder|'absent': 'a' is a folder" "$TENSOR" diff a absent
    fails_with 3 'neither folder holds' "$TENSOR" diff c c
    run -4 "$TENSOR" diff a b
    [[ ${lines[0]} == "runs differ from step 2 on: "* ]]
    [[ $output == *"model: F32 [2]: 1 of 2 elements differ"* ]]
    cp a/* c
    succeeds "$TENSOR" diff a c
    rm c/model.st.zst
    run -4 "$TENSOR" diff a c
    [ "$output" = "model.st.zst: only in a" ]
}
