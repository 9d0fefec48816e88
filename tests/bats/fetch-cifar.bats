#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# fetch-cifar: every bad source is refused and leaves nothing; with CIFAR10_FROM also the real data.
load helpers

setup_file() {
    # The archive is slow to unpack (xz): once, for all tests that need its contents.
    [ -n "${CIFAR10_FROM:-}" ] || return 0
    "$BIN/fetch-cifar" --from "$CIFAR10_FROM" --out "$BATS_FILE_TMPDIR/real"
    rebuild_batches "$BATS_FILE_TMPDIR/real" "$BATS_FILE_TMPDIR/batches"
}

setup() {
    export no_proxy=127.0.0.1
    # Retries happen at once.
    export LOCKSTEP_RETRY_SECONDS=0
    CIFAR=$BIN/fetch-cifar
    REAL=$BATS_FILE_TMPDIR/real
    BATCHES=$BATS_FILE_TMPDIR/batches
    OUT=$WORK/out
}

teardown() {
    stop_serving
}

# rebuild_batches DATASET DIR: rebuilds the official .bin files from the tensors.
rebuild_batches() {
    mkdir -p "$2"
    local split
    for split in train test; do
        "$BIN/tensor" cat "$1/$split.st.zst" images >"$2/images"
        "$BIN/tensor" cat "$1/$split.st.zst" labels >"$2/labels"
        "$PYTHON" - "$2" "$split" <<'PY'
import sys
folder, split = sys.argv[1:]
images = open(folder + "/images", "rb").read()
labels = open(folder + "/labels", "rb").read()
names = ["test_batch.bin"] if split == "test" else ["data_batch_%d.bin" % i for i in range(1, 6)]
for k, name in enumerate(names):
    with open(folder + "/" + name, "wb") as f:
        for i in range(10000 * k, 10000 * (k + 1)):
            f.write(labels[i:i + 1])
            f.write(images[3072 * i:3072 * (i + 1)])
PY
    done
    rm "$2/images" "$2/labels"
}

# bad_archive CASE PATTERN: that archive is refused with the pattern, and nothing is left.
bad_archive() {
    "$PYTHON" "$ROOT/tests/python/make_archive.py" "$1" "$WORK/$1.tar.gz"
    fails_with 3 "$2" "$CIFAR" --from "$WORK/$1.tar.gz" --out "$OUT"
    [[ $stderr == *"'$WORK/$1.tar.gz'"* ]] || fail "the archive is not named: $stderr"
    nothing_in "$OUT"
}

@test "help and version" {
    succeeds "$CIFAR" --help
    [[ $output == *"--from SOURCE"* ]]
    succeeds "$CIFAR" --version
}

@test "bad command lines are refused" {
    fails_with 2 "--out is missing" "$CIFAR"
    fails_with 2 "'cifar'" "$CIFAR" --dataset cifar --out "$OUT"
    fails_with 2 "--split" "$CIFAR" --out -
    fails_with 2 "--split" "$CIFAR" --split train --out "$OUT"
    fails_with 2 "'all'" "$CIFAR" --split all --out -
    fails_with 2 "'--form'.*'--from'" "$CIFAR" --form x --out "$OUT"
    nothing_in "$OUT"
}

@test "members that lead out of the archive are refused" {
    bad_archive dotdot "'cifar-10-batches-bin/../../data_batch_1.bin': its path has '..'"
    bad_archive absolute "'/tmp/data_batch_1.bin': its path is absolute"
    bad_archive symlink "'data_batch_1.bin': it is a symbolic link"
    bad_archive hardlink "'data_batch_1.bin': it is a hard link"
    bad_archive device "'data_batch_1.bin': it is not a regular file"
}

@test "wrong members are refused, with the hash expected and the one found" {
    bad_archive short "'data_batch_1.bin' has 4 bytes, expected 30730000"
    bad_archive long "'data_batch_1.bin' has more than the expected 30730000"
    local found
    found=$(head -c 30730000 /dev/zero | sha256sum | cut -d' ' -f1)
    bad_archive wrong "'data_batch_1.bin' has SHA-256 $found, expected cee916563c9f80d8"
    bad_archive meta "'batches.meta.txt' has SHA-256 .*, expected 558e74b5e208382e"
    bad_archive unrelated "'data_batch_1.bin' of cifar10 is missing"
    bad_archive empty "."
}

@test "a file that is not an archive, half an archive and an empty folder are refused" {
    "$PYTHON" "$ROOT/tests/python/make_archive.py" wrong "$WORK/whole.tar.gz"
    head -c 5000 "$WORK/whole.tar.gz" >"$WORK/half.tar.gz"
    fails_with 3 "'$WORK/half.tar.gz'" "$CIFAR" --from "$WORK/half.tar.gz" --out "$OUT"
    echo "not an archive" >"$WORK/text"
    fails_with 3 "'$WORK/text'" "$CIFAR" --from "$WORK/text" --out "$OUT"
    : >"$WORK/nothing"
    fails_with 3 "'$WORK/nothing'" "$CIFAR" --from "$WORK/nothing" --out "$OUT"
    fails_with 3 "'$WORK/absent': No such file" "$CIFAR" --from "$WORK/absent" --out "$OUT"
    mkdir "$WORK/folder"
    fails_with 3 "data_batch_1.bin' of cifar10 is missing" "$CIFAR" --from "$WORK/folder" --out "$OUT"
    mkdir "$WORK/cifar-100-binary"
    : >"$WORK/cifar-100-binary/train.bin"
    tar -C "$WORK" -cf "$WORK/hundred.tar" cifar-100-binary
    fails_with 3 "'data_batch_1.bin' of cifar10 is missing; it holds members of another data set: pass --dataset cifar100" \
        "$CIFAR" --from "$WORK/hundred.tar" --out "$OUT"
    fails_with 3 "neither" "$CIFAR" --from /dev/null --out "$OUT"
    nothing_in "$OUT"
}

@test "sources are tried in order, and each failure is reported" {
    : >"$WORK/nothing"
    run --separate-stderr -- "$CIFAR" --from "$WORK/absent" --from "$WORK/nothing" --out "$OUT"
    [ "$status" -eq 3 ]
    # shellcheck disable=SC2154 # set by run
    [ "${#stderr_lines[@]}" -eq 2 ]
    [[ ${stderr_lines[0]} == *"'$WORK/absent': No such file"*"trying '$WORK/nothing'" ]]
    [[ ${stderr_lines[1]} == *"'$WORK/nothing'"* ]]
}

@test "a failed download is reported as a failure of the network, not of the input" {
    mkdir "$WORK/site"
    serve "$WORK/site"
    fails_with 1 "'$URL/none.tar.gz': the server answered 404" \
        "$CIFAR" -q --from "$URL/none.tar.gz" --out "$OUT"
    fails_with 1 "'$URL/redirect/x.tar.gz'" "$CIFAR" -q --from "$URL/redirect/x.tar.gz" --out "$OUT"
    fails_with 1 "'$URL/cut/x.tar.gz'" "$CIFAR" -q --from "$URL/cut/x.tar.gz" --out "$OUT"
    fails_with 1 "'http://127.0.0.1:1/x'" "$CIFAR" -q --from http://127.0.0.1:1/x --out "$OUT"
    fails_with 1 "'gopher://127.0.0.1/x'" "$CIFAR" -q --from gopher://127.0.0.1/x --out "$OUT"
    fails_with 3 "'file://$WORK/absent'" "$CIFAR" -q --from "file://$WORK/absent" --out "$OUT"
    nothing_in "$OUT"
}

@test "a download is checked like a file" {
    mkdir "$WORK/site"
    "$PYTHON" "$ROOT/tests/python/make_archive.py" short "$WORK/site/short.tar.gz"
    serve "$WORK/site"
    fails_with 3 "'$URL/short.tar.gz': member 'data_batch_1.bin' has 4 bytes" \
        "$CIFAR" -q --from "$URL/short.tar.gz" --out "$OUT"
    fails_with 3 "'data_batch_1.bin' has 4 bytes" \
        "$CIFAR" -q --from "file://$WORK/site/short.tar.gz" --out "$OUT"
    nothing_in "$OUT"
}

# site: a server with an archive whose only member is too short: the message about it shows that all
# of the archive was read.
site() {
    mkdir "$WORK/site"
    "$PYTHON" "$ROOT/tests/python/make_archive.py" short "$WORK/site/short.tar.gz"
    serve "$WORK/site"
    HALF=$(($(stat -c %s "$WORK/site/short.tar.gz") / 2))
}

# asked LINE...: these requests were received, each as "TARGET RANGE IF-RANGE".
asked() {
    [ "$(cat "$WORK/port.log")" = "$(printf '%s\n' "$@")" ] || fail "expected requests:" "$@" "requests:" "$(cat "$WORK/port.log")"
}

# arrives PATH: the whole archive arrives in the end.
arrives() {
    fails_with 3 "'data_batch_1.bin' has 4 bytes" "$CIFAR" -q --from "$URL/$1" --out "$OUT"
    nothing_in "$OUT"
}

@test "an interrupted download continues where it stopped" {
    site
    arrives broken/short.tar.gz
    asked "/broken/short.tar.gz - -" "/broken/short.tar.gz bytes=$HALF- \"1\""
}

@test "a download starts over if the file on the server changed, or has neither an ETag nor a date" {
    site
    arrives changed/short.tar.gz
    arrives unnamed/short.tar.gz
    asked "/changed/short.tar.gz - -" "/changed/short.tar.gz bytes=$HALF- \"1\"" \
        "/unnamed/short.tar.gz - -" "/unnamed/short.tar.gz - -"
}

@test "a response with another range than the requested one is discarded" {
    site
    arrives moved/short.tar.gz
    asked "/moved/short.tar.gz - -" "/moved/short.tar.gz bytes=$HALF- \"1\"" "/moved/short.tar.gz - -"
}

@test "a busy server is tried at most five times, and each retry is reported" {
    site
    arrives busy/short.tar.gz
    [ "$(wc -l <"$WORK/port.log")" -eq 3 ]
    run --separate-stderr -- "$CIFAR" --from "$URL/down/x" --out "$OUT"
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2154 # set by run
    [[ ${stderr_lines[-1]} == "fetch-cifar: cannot download: '$URL/down/x': the server answered 503 (tried 5 times)" ]] || fail "$stderr"
    [ "$(grep -c 'trying again in 0.0 s' <<<"$stderr")" -eq 4 ] || fail "$stderr"
    [ "$(wc -l <"$WORK/port.log")" -eq 8 ]
}

@test "a permanent error is not retried" {
    site
    fails_with 1 "the server answered 404$" "$CIFAR" -q --from "$URL/none" --out "$OUT"
    [ "$(wc -l <"$WORK/port.log")" -eq 1 ]
}

@test "a download that is too slow is abandoned" {
    site
    # At ten bytes per second it would take a day.
    export LOCKSTEP_STALL_SECONDS=1
    local kind
    for kind in drip dawdle; do
        TOOL=fetch-cifar fails_with 1 "'$URL/$kind/x': Operation too slow\. Less than 1000 bytes/sec .*\(tried 5 times\)" \
            timeout 300 "$CIFAR" -q --from "$URL/$kind/x" --out "$OUT"
    done
    nothing_in "$OUT"
}

@test "a proxy is taken from the environment" {
    site
    unset no_proxy
    http_proxy=$URL fails_with 3 "'http://mirror.invalid/short.tar.gz': member 'data_batch_1.bin' has 4 bytes" \
        "$CIFAR" -q --from http://mirror.invalid/short.tar.gz --out "$OUT"
    asked "http://mirror.invalid/short.tar.gz - -"
}

# A label of 64 letters is invalid: no name server is queried.
@test "without a network the message names the setting and the option" {
    local host hint="without a network: pass a local archive or folder: --from PATH, or make CIFAR10_FROM=PATH"
    host=$(printf 'x%.0s' {1..64}).invalid
    fails_with 1 "Could not resolve host: $host; $hint" "$CIFAR" -q --from "http://$host/x" --out "$OUT"
    fails_with 1 "onnect.*; $hint" "$CIFAR" -q --from http://127.0.0.1:1/x --out "$OUT"
    fails_with 1 "CIFAR100_FROM=PATH" "$CIFAR" -q --dataset cifar100 --from http://127.0.0.1:1/x --out "$OUT"
    # Once, after the last source.
    run --separate-stderr -- "$CIFAR" -q --from http://127.0.0.1:1/x --from http://127.0.0.1:1/y --out "$OUT"
    [ "$(grep -c "$hint" <<<"$stderr")" -eq 1 ] || fail "$stderr"
}

# mirrors LINE...: writes a file of mirrors.
mirrors() {
    printf 'schema: lockstep.mirrors/1\nmirrors:\n'
    printf '  %s\n' "$@"
}

@test "without --from the mirrors are tried in order" {
    site
    mirrors "cifar10: [$URL/none, $URL/short.tar.gz, $URL/never]" >"$WORK/mirrors.yaml"
    run --separate-stderr -- "$CIFAR" -q --mirrors "$WORK/mirrors.yaml" --out "$OUT"
    [ "$status" -eq 1 ] && [[ $stderr == *"'$URL/never': the server answered 404" ]] || fail "$status: $stderr"
    asked "/none - -" "/short.tar.gz - -" "/never - -"
    # A mirror cannot change a byte: its altered file is refused, and the next mirror is tried.
    [[ $stderr == *"'data_batch_1.bin' has 4 bytes, expected 30730000; trying '$URL/never'"* ]] || fail "$stderr"
    mirrors "cifar10: ['$URL/short.tar.gz']" >"$WORK/mirrors.yaml"
    LOCKSTEP_MIRRORS=$WORK/mirrors.yaml fails_with 3 "has 4 bytes" "$CIFAR" -q --out "$OUT"
    nothing_in "$OUT"
}

@test "a bad file of mirrors is refused, with the line of the error" {
    local file=$WORK/mirrors.yaml
    echo 'mirrors: {}' >"$file"
    fails_with 3 "mirrors.yaml:.*'schema' \(lockstep.mirrors/1\)" "$CIFAR" --mirrors "$file" --out "$OUT"
    mirrors "cifar10: [/data/cifar.tar.gz]" >"$file"
    fails_with 3 "mirrors.yaml:3:.*expected a URL, got '/data/cifar.tar.gz'" "$CIFAR" --mirrors "$file" --out "$OUT"
    mirrors "cifar-10: ['http://127.0.0.1:1/']" >"$file"
    fails_with 3 "mirrors.yaml:3:.*unknown key 'cifar-10': did you mean 'cifar10'\?" "$CIFAR" --mirrors "$file" --out "$OUT"
    mirrors "cifar10: http://127.0.0.1/" >"$file"
    fails_with 3 "mirrors.yaml:3:.*expected a list of URLs" "$CIFAR" --mirrors "$file" --out "$OUT"
    fails_with 3 "'$WORK/absent'" "$CIFAR" --mirrors "$WORK/absent" --out "$OUT"
    LOCKSTEP_MIRRORS=$WORK/absent fails_with 3 "'$WORK/absent'" "$CIFAR" --out "$OUT"
    fails_with 2 "--mirrors and --from" "$CIFAR" --mirrors "$file" --from x --out "$OUT"
    mirrors "cifar10: ['http://127.0.0.1:1/']" >"$file"
    fails_with 2 "the same file is an input \(--mirrors\)" "$CIFAR" --mirrors "$file" --split test --out - --manifest "$file"
    [ ! -e "$OUT" ]
}

@test "the file of mirrors that comes with the tools has every data set" {
    local dataset
    for dataset in cifar10 cifar100 mnist fashion-mnist; do
        succeeds "$BIN/manifest" get "$ROOT/share/mirrors.yaml" "mirrors.$dataset.0"
        [[ $output == http*://* ]] || fail "$output"
    done
}

@test "credentials of a URL do not appear in messages" {
    site
    local url=${URL/:\/\//://me:s3cret@} with
    for with in "$url/none?token=s3cret" "$url/cut/x?s3cret" "$url/short.tar.gz?sig=s3cret#s3cret" http://me:s3cret@127.0.0.1:1/x \
        http://me:s3cret/x@127.0.0.1/ gopher://me:s3cret@127.0.0.1/x file://me:s3cret@localhost/absent; do
        run "$CIFAR" -v --from "$with" --from "$with" --out "$OUT"
        [ "$status" -ne 0 ]
        [[ $output != *s3cret* ]] || fail "$with" "$output"
    done
    mirrors "cifar10: ['$url/none?token=s3cret', '$url/none']" >"$WORK/mirrors.yaml"
    run "$CIFAR" -v --mirrors "$WORK/mirrors.yaml" --out "$OUT"
    [ "$status" -ne 0 ] && [[ $output != *s3cret* ]] || fail "$output"
    http_proxy=socks9://me:s3cret@127.0.0.1:1 no_proxy='' run "$CIFAR" -v --from http://mirror.invalid/x --out "$OUT"
    [ "$status" -ne 0 ] && [[ $output != *s3cret* ]] || fail "$output"
}

@test "real data: a manifest of a download holds no credentials" {
    need_cifar10
    need_tool manifest
    mkdir "$WORK/site"
    tar -C "$BATCHES" -cf "$WORK/site/archive" .
    serve "$WORK/site"
    local url=${URL/:\/\//://me:s3cret@} shown="${URL/:\/\//://***@}/archive?token=***" manifest=$WORK/m.yaml
    "$CIFAR" -q --from "$url/archive?token=s3cret" --split test --out - --manifest "$manifest" | cmp - "$REAL/test.st.zst"
    ! grep s3cret "$manifest" || fail "the password is in the manifest"
    [ "$("$BIN/manifest" get "$manifest" run.source.from)" = "$shown" ]
    [ "$("$BIN/manifest" get "$manifest" command.3)" = "$shown" ]
}

@test "too little disk space for the download is an error" {
    mkdir "$WORK/site"
    head -c 1000000 /dev/zero >"$WORK/site/x"
    serve "$WORK/site"
    TOOL=fetch-cifar fails_with 1 "TMPDIR" bash -c \
        "trap '' XFSZ; ulimit -f 100; '$CIFAR' -q --from '$URL/x' --out '$OUT'"
    TMPDIR=/proc fails_with 1 "'/proc'" "$CIFAR" -q --from "$URL/x" --out "$OUT"
    nothing_in "$OUT"
}

@test "a folder that cannot be written is reported before anything is fetched" {
    echo text >"$WORK/file"
    fails_with 1 "'$WORK/file'" "$CIFAR" --from "$WORK/absent" --out "$WORK/file/sub"
}

@test "print-key depends on the data set, not on its source" {
    succeeds "$CIFAR" --print-key
    local key=$output
    [[ $key =~ ^[0-9a-f]{64}$ ]]
    succeeds "$CIFAR" --from "$WORK/absent" --out "$OUT" --print-key
    [ "$output" = "$key" ]
    succeeds "$CIFAR" --dataset cifar100 --print-key
    [ "$output" != "$key" ]
    nothing_in "$OUT"
}

@test "real data: the archive gives both splits, with the known statistics" {
    need_cifar10
    need_tool tensor manifest
    succeeds "$BIN/tensor" info "$REAL/train.st.zst"
    [[ $output == *50000*3*32*32* ]]
    # The usual normalisation constants of CIFAR-10.
    [[ $output == *0.49139*0.48215*0.44653*0.24703*0.24348*0.26158* ]]
    succeeds "$BIN/manifest" verify "$REAL/manifest.yaml"
    succeeds "$BIN/manifest" get "$REAL/manifest.yaml" run.source.from
    [ "$output" = "$CIFAR10_FROM" ]
    local split
    for split in train test; do
        "$BIN/tensor" cat "$REAL/$split.st.zst" ids | od -An -v -w4 -tu4 | tr -d ' ' >"$WORK/ids"
        seq 0 $(($(wc -l <"$WORK/ids") - 1)) | cmp - "$WORK/ids"
    done
}

@test "real data: official files rebuilt from the tensors are accepted from a folder, also through a pipe" {
    need_cifar10
    need_tool tensor
    # Their hashes are checked, which shows that every byte was kept.
    mkdir "$WORK/outer"
    ln -s "$BATCHES" "$WORK/outer/cifar-10-batches-bin"
    "$CIFAR" --from "$WORK/outer" --split train --out - --manifest "$WORK/m.yaml" | cmp - "$REAL/train.st.zst"
    "$CIFAR" --from "$WORK/outer" --split test --out - | cmp - "$REAL/test.st.zst"
    grep -q "path: '-'" "$WORK/m.yaml"
}

@test "real data: other archive formats are accepted, and a second copy of a member only if it is equal" {
    need_cifar10
    need_tool tensor
    cd "$BATCHES"
    "$PYTHON" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for name in sys.argv[2:]: z.write(name)' "$WORK/flat.zip" ./*.bin
    "$CIFAR" --from "$WORK/flat.zip" --split test --out - | cmp - "$REAL/test.st.zst"
    tar --hard-dereference -cf "$WORK/twice.tar" data_batch_1.bin ./data_batch_1.bin
    fails_with 3 "'data_batch_2.bin' of cifar10 is missing" "$CIFAR" --from "$WORK/twice.tar" --out "$OUT"
    mkdir "$WORK/other"
    tr '\001' '\002' <data_batch_1.bin >"$WORK/other/data_batch_1.bin"
    tar -cf "$WORK/twice.tar" data_batch_1.bin -C "$WORK" other/data_batch_1.bin
    fails_with 3 "'data_batch_1.bin' has SHA-256" "$CIFAR" --from "$WORK/twice.tar" --out "$OUT"
    # Another spelling of each name is the same file; of another data set there is a hint.
    mkdir "$WORK/spelt"
    local file
    for file in *.bin; do ln -s "$PWD/$file" "$WORK/spelt/$(tr _. -- <<<"${file^}")"; done
    "$CIFAR" --from "$WORK/spelt" --split test --out - | cmp - "$REAL/test.st.zst"
    nothing_in "$OUT"
}

# python_form FORM DIR [LABELS]: two drawn images in the binary form and in Python's, as
# data_batch_1 or as train.
python_form() {
    local name=data_batch_1
    [ "${3:-1}" = 1 ] || name=train
    mkdir -p "$2"
    "$PYTHON" -c "import sys; sys.stdout.buffer.write(bytes(range(100)) * (100 * (3072 + ${3:-1})))" >"$2/drawn.bin"
    "$PYTHON" "$ROOT/tests/python/make_cifar_python.py" "$1" "$2/drawn.bin" "$2/$name" "${3:-1}"
}

@test "the Python version gives the same records as the binary version" {
    local form found
    # The drawn records are not CIFAR's, so each message ends with the hash of the result.
    for form in python2 2 3 4; do
        python_form "$form" "$WORK/$form"
        found=$(sha256sum <"$WORK/$form/drawn.bin" | cut -d' ' -f1)
        fails_with 3 "member 'data_batch_1' has SHA-256 $found, expected cee916563c9f80d8" "$CIFAR" --from "$WORK/$form" --out "$OUT"
    done
    mkdir "$WORK/root"
    mv "$WORK/python2" "$WORK/root/cifar-10-batches-py"
    fails_with 3 "has SHA-256 $found" "$CIFAR" --from "$WORK/root" --out "$OUT"
    tar -C "$WORK/root" -czf "$WORK/cifar-10-python.tar.gz" cifar-10-batches-py
    fails_with 3 "has SHA-256 $found" "$CIFAR" --from "$WORK/cifar-10-python.tar.gz" --out "$OUT"
    nothing_in "$OUT"
}

@test "a malformed Python version is refused, and nothing in it is executed" {
    mkdir "$WORK/py"
    printf '\x80\x02cos\nsystem\nU\x0etouch executed\x85R.' >"$WORK/py/data_batch_1"
    cd "$WORK"
    fails_with 3 "'$WORK/py': cannot read pickle: 'data_batch_1': it calls something other than NumPy's array functions, at byte 2" \
        "$CIFAR" --from "$WORK/py" --out "$OUT"
    [ ! -e "$WORK/executed" ]
    printf '\x80\x02}.' >"$WORK/py/data_batch_1"
    fails_with 3 "member 'data_batch_1': its 'data' is not an array of 3072-byte rows" "$CIFAR" --from "$WORK/py" --out "$OUT"
    python_form 4 "$WORK/cut"
    truncate -s -5 "$WORK/cut/data_batch_1"
    fails_with 3 "'data_batch_1': it ends" "$CIFAR" --from "$WORK/cut" --out "$OUT"
    nothing_in "$OUT"
}

@test "real data: the Python version gives the same files" {
    need_cifar10
    local split name
    mkdir -p "$WORK/root/cifar-10-batches-py"
    for name in data_batch_{1..5} test_batch; do
        "$PYTHON" "$ROOT/tests/python/make_cifar_python.py" python2 "$BATCHES/$name.bin" "$WORK/root/cifar-10-batches-py/$name"
    done
    "$CIFAR" --from "$WORK/root" --out "$OUT"
    for split in train test; do cmp "$OUT/$split.st.zst" "$REAL/$split.st.zst"; done
    [ "$("$BIN/manifest" get "$OUT/manifest.yaml" key)" = "$("$BIN/manifest" get "$REAL/manifest.yaml" key)" ]
}

@test "CIFAR-100: both versions, with coarse and fine labels" {
    local found
    head -c 153700000 /dev/zero >"$WORK/train.bin"
    found=$(sha256sum <"$WORK/train.bin" | cut -d' ' -f1)
    fails_with 3 "'train.bin' has SHA-256 $found, expected f31298fc616915fa" "$CIFAR" --dataset cifar100 --from "$WORK" --out "$OUT"
    mkdir -p "$WORK/root/cifar-100-python"
    "$PYTHON" "$ROOT/tests/python/make_cifar_python.py" python2 "$WORK/train.bin" "$WORK/root/cifar-100-python/train" 2
    rm "$WORK/train.bin"
    fails_with 3 "'train' has SHA-256 $found, expected f31298fc616915fa" "$CIFAR" --dataset cifar100 --from "$WORK/root" --out "$OUT"
    nothing_in "$OUT"
}
