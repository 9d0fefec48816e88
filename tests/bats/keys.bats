#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --print-key takes an input's content hash from the manifest next to it; if the input may have
# changed since, it reads the input itself.
load helpers
load training

setup_file() {
    [ -x "$BIN/synth-cifar" ] || return 0
    make_data "$BATS_FILE_TMPDIR/data" 128
}

setup() {
    need_training
    cd "$WORK" || return
    cp -r "$BATS_FILE_TMPDIR/data" .
    write_experiment e.yaml
    a_tick_later data/manifest.yaml
}

# a_tick_later FILE: touches it once the file clock is past the time of the last file. A file
# written within one tick of that time is read, whatever the manifest says.
a_tick_later() {
    : >"$WORK/now"
    until [ "$1" -nt "$WORK/now" ]; do touch "$1"; done
}

key() {
    "$BIN/train-single" --experiment e.yaml --train "${1:-data/train.st.zst}" --print-key
}

# uncompressed: data/ with its training data as plain safetensors, so that a byte of it can change
# and the file can still be read. Sets $file.
uncompressed() {
    file=data/train.safetensors
    zstd -dqc data/train.st.zst >"$file"
    sed -i "s/train.st.zst/train.safetensors/; /train.safetensors/,/sha256/s/bytes: .*/bytes: $(stat -c %s "$file")/" data/manifest.yaml
    a_tick_later data/manifest.yaml
}

# change_label FILE: changes the last sample's label, in place.
change_label() {
    printf '\003' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 1)) conv=notrunc status=none
}

# claim_other: the manifest now states another content; a key computed from it differs.
claim_other() {
    local time
    time=$(stat -c %y data/manifest.yaml)
    sed -i "s/content: ..../content: 0123/" data/manifest.yaml
    touch -d "$time" data/manifest.yaml
}

@test "the key from the manifest equals the key from reading the data" {
    local by_manifest
    by_manifest=$(key)
    rm data/manifest.yaml
    [ "$(key)" = "$by_manifest" ]
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --out run
    [ "$("$BIN/train-single" --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --print-key)" = \
        "$("$BIN/manifest" get run/manifest.yaml key)" ]
    local evaluate=("$BIN/evaluate" --model run/model.st.zst --data data/test.st.zst --out evaluated)
    by_manifest=$("${evaluate[@]}" --print-key)
    rm run/manifest.yaml
    [ "$("${evaluate[@]}" --print-key)" = "$by_manifest" ]
    "${evaluate[@]}"
    [ "$("$BIN/manifest" get evaluated/manifest.yaml key)" = "$by_manifest" ]
}

@test "the key of shards, and of their input, is the same from the manifest and from reading" {
    local shard=("$BIN/shard" --shards 4 --in data/train.st.zst --out shards) by_manifest
    by_manifest=$("${shard[@]}" --print-key)
    "${shard[@]}"
    [ "$("$BIN/manifest" get shards/manifest.yaml key)" = "$by_manifest" ]
    rm data/manifest.yaml
    [ "$("${shard[@]}" --print-key)" = "$by_manifest" ]
    a_tick_later shards/manifest.yaml
    by_manifest=$(key shards)
    "$BIN/train-single" -q --experiment e.yaml --train shards --out run
    [ "$("$BIN/manifest" get run/manifest.yaml key)" = "$by_manifest" ]
    rm shards/manifest.yaml
    [ "$(key shards)" = "$by_manifest" ]
    rm shards/shard-00002-of-00004.st.zst
    fails_with 3 "shard-00002-of-00004.st.zst': this shard is missing" "$BIN/train-single" --experiment e.yaml --train shards --print-key
}

@test "experiments that differ only in name and title are one run" {
    local before
    before=$(key)
    write_experiment e.yaml name=another title=Another
    [ "$(key)" = "$before" ]
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out run
    [ "$("$BIN/manifest" get run/manifest.yaml key)" = "$before" ]
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.name)" = another ]
}

@test "learning rates that differ in the eleventh digit are two runs" {
    local near
    near=$("$BIN/train-single" --experiment e.yaml --train data/train.st.zst --set optimizer.lr=0.09999999776 --print-key)
    [ "$("$BIN/train-single" --experiment e.yaml --train data/train.st.zst --set optimizer.lr=0.09999999777 --print-key)" != "$near" ]
    [ "$("$BIN/train-single" --experiment e.yaml --train data/train.st.zst --set optimizer.lr=9.999999776e-2 --print-key)" = "$near" ]
}

@test "a state with another learning rate is not resumed, however close the rates are" {
    local train=("$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out run)
    succeeds "${train[@]}" --set optimizer.lr=0.09999999776
    fails_with 3 "a different 'optimizer.lr'" "${train[@]}" --resume --set optimizer.lr=0.09999999777
    succeeds "${train[@]}" --resume --set optimizer.lr=0.09999999776
}

@test "the manifest is trusted, and the data is not read" {
    local before
    before=$(key)
    claim_other
    [ "$(key)" != "$before" ]
}

@test "a file that was changed in place is read, whatever its timestamps" {
    local file before changed
    uncompressed
    before=$(key "$file")
    cp -p "$file" kept
    change_label "$file"
    changed=$(key "$file")
    [ "$changed" != "$before" ] || fail "the change was not detected"
    touch -r kept "$file"
    [ "$(stat -c %y "$file")" = "$(stat -c %y kept)" ]
    [ "$(key "$file")" = "$changed" ] || fail "the change was not detected with the old timestamp"
    # A damaged file is refused, not ignored.
    printf 'x' | dd of=data/train.st.zst bs=1 seek=1000 conv=notrunc status=none
    fails_with 3 "data/train.st.zst'" "$BIN/train-single" --experiment e.yaml --train data/train.st.zst --print-key
}

@test "another file of the same size is read, even if it is older than the manifest" {
    local file before
    uncompressed
    before=$(key "$file")
    cp "$file" other
    change_label other
    touch -d '2001-01-01' other
    ln -sf "$WORK/other" linked
    mv other "$file"
    [ "$(key "$file")" != "$before" ] || fail "a file that was moved into place was not detected"
    # Through a link, which may have been created after the manifest was written.
    mv "$file" elsewhere
    a_tick_later data/manifest.yaml
    ln -s "$WORK/elsewhere" "$file"
    [ "$(key "$file")" != "$before" ] || fail "a link to another file was not detected"
}

@test "another size, an absent entry, a damaged manifest: the file is read" {
    local before
    before=$(key)
    cp data/manifest.yaml good.yaml
    sed -i 's/content: ..../content: 0123/; s/bytes: /bytes: 1/' data/manifest.yaml
    [ "$(key)" = "$before" ]
    sed 's/content: ..../content: 0123/; s/train.st.zst/train-2.st.zst/' good.yaml >data/manifest.yaml
    [ "$(key)" = "$before" ]
    echo '}' >data/manifest.yaml
    [ "$(key)" = "$before" ]
    sed '/content:/d' good.yaml >data/manifest.yaml
    [ "$(key)" = "$before" ]
}

@test "a manifest as old as the file is not trusted" {
    local before
    before=$(key)
    claim_other
    touch -d "$(stat -c %z data/train.st.zst)" data/manifest.yaml
    [ "$(key)" = "$before" ]
}

@test "--reduce fast has a separate key for every world size" {
    write_experiment e.yaml world_size=4
    local train=("--experiment" e.yaml --train data/train.st.zst) exact fast pair
    exact=$("$BIN/train-ddp" "${train[@]}" --print-key)
    fast=$("$BIN/train-ddp" "${train[@]}" --reduce fast --print-key)
    pair=$("$BIN/train-ddp" "${train[@]}" --reduce fast --world-size 2 --print-key)
    [ "$exact" != "$fast" ]
    [ "$fast" != "$pair" ]
    [ "$("$BIN/train-dp" "${train[@]}" --reduce fast --print-key)" != "$("$BIN/train-dp" "${train[@]}" --print-key)" ]
    # If nothing is added over ranks, --reduce has no effect.
    [ "$("$BIN/train-ddp" "${train[@]}" --reduce fast --world-size 1 --print-key)" = "$exact" ]
    [ "$(key)" = "$("$BIN/train-single" "${train[@]}" --reduce fast --print-key)" ]
    [ "$("$BIN/train-mp" "${train[@]}" --reduce fast --world-size 2 --print-key)" = "$("$BIN/train-mp" "${train[@]}" --print-key)" ]

    "$BIN/train-ddp" -q "${train[@]}" --reduce fast --out fast
    "$BIN/train-ddp" -q "${train[@]}" --out exact
    [ "$("$BIN/manifest" get fast/manifest.yaml key)" = "$fast" ]
    [ "$("$BIN/manifest" get exact/manifest.yaml key)" = "$exact" ]
    [ "$("$BIN/manifest" get fast/manifest.yaml parameters.reduce)" = "{kind: fast, world_size: 4}" ]
    fails_with 3 "no such key" "$BIN/manifest" get exact/manifest.yaml parameters.reduce
    fails_with 4 "" "$BIN/manifest" diff fast/manifest.yaml exact/manifest.yaml
    [[ $output == *parameters.reduce* ]] || fail "$output"
}

@test "a run that was resumed with another --reduce is recorded as mixed" {
    write_experiment e.yaml world_size=4
    local train=("$BIN/train-ddp" -q --experiment e.yaml --train data/train.st.zst --out run)
    "${train[@]}" --reduce fast --stop-after-steps 2
    "${train[@]}" --reduce fast --world-size 2 --resume
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.reduce)" = "{kind: mixed}" ]
    "${train[@]}" --reduce fast --stop-after-steps 2
    "${train[@]}" --resume
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.reduce)" = "{kind: mixed}" ]
    "${train[@]}" --resume # it is finished all the same
    "${train[@]}" --reduce fast --stop-after-steps 2
    "${train[@]}" --reduce fast --resume
    [ "$("$BIN/manifest" get run/manifest.yaml parameters.reduce)" = "{kind: fast, world_size: 4}" ]
}

# From now on, any changed file would seem older than a manifest of next year.
@test "a manifest with a time that was set by hand is not trusted" {
    local before
    before=$(key)
    claim_other
    touch -d '+1 year' data/manifest.yaml
    [ "$(key)" = "$before" ]
}
