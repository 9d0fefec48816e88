#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `manifest verify` finds a figure that was edited in a manifest, and no report prints it.

load helpers
load training

# A run, trained and evaluated, in run/.
setup_file() {
    file_run global_batch=20
}

setup() {
    copy_run
}

# numbers FILE: the numbers in its results that a report shows, as "KEY LINE"; LINE is the line
# number.
numbers() {
    "$PYTHON" - "$1" <<'END'
import re, sys
inside, plain = False, re.compile(r"(?<![\w.])-?\d+(\.\d+)?([eE][-+]?\d+)?(?![\w.])")
for number, line in enumerate(open(sys.argv[1]), 1):
    if not line.startswith((" ", "-")):
        inside = line.startswith("results:")
    elif inside and not re.search(r"^  (model|compute_seconds):", line):
        for hit in plain.finditer(line.replace("class: ", "class:_")):
            print(number, hit.start(), hit.end())
END
}

# edit FILE LINE FROM TO: replaces the number in that place.
edit() {
    "$PYTHON" - "$@" <<'END'
import sys
path, line, begin, end = sys.argv[1], *map(int, sys.argv[2:])
lines = open(path).read().split("\n")
text = lines[line - 1]
old = text[begin:end]
new = str(int(old) + 1) if old.lstrip("-").isdigit() else repr(float(old) * 1.01 + 0.001)
lines[line - 1] = text[:begin] + new + text[end:]
open(path, "w").write("\n".join(lines))
END
}

@test "unedited manifests pass verify and report" {
    succeeds "$BIN/manifest" verify run/train run/evaluate
    succeeds "$BIN/report" run --out out
}

@test "an edited accuracy: report names the figure, the manifest and both values, and writes nothing" {
    local real
    real=$("$BIN/manifest" get run/evaluate results.accuracy)
    sed -i 's/^  accuracy: .*/  accuracy: 0.99/' run/evaluate/manifest.yaml
    fails_with 4 "'accuracy' is 0.99 in 'run/evaluate/manifest.yaml', and ${real:0:6}.* in 'run/evaluate/predictions.st.zst'" \
        "$BIN/report" run --out out
    nothing_in out
    fails_with 4 "'accuracy' is 0.99" "$BIN/report" run --summary
    fails_with 4 "'accuracy' is 0.99" "$BIN/report" run --summary --json
    printf 'accuracy: [0, 1]\n' >bands.yaml
    fails_with 4 "'accuracy' is 0.99" "$BIN/report" run --check bands.yaml
    fails_with 4 '^manifest: 1 figure does not match the files$' "$BIN/manifest" verify run/train run/evaluate
    [[ $output == "figure 'accuracy' is 0.99 in "* ]] || fail "$output"
    fails_with 4 'is not confirmed' "$BIN/report" run --why tiny.accuracy # it prints the whole way
}

@test "each number in the results of both manifests, edited alone" {
    local stage at
    for stage in train evaluate; do
        cp "run/$stage/manifest.yaml" kept
        [ "$(numbers kept | wc -l)" -ge 10 ] || fail "too few numbers in $stage: $(numbers kept)"
        while read -r at; do
            # shellcheck disable=SC2086 # three words
            edit "run/$stage/manifest.yaml" $at
            fails_with 4 'not match the files' "$BIN/manifest" verify "run/$stage" || fail "$stage: line, from, to: $at"
            fails_with 4 'cannot report' "$BIN/report" run --out out || fail "$stage: line, from, to: $at"
            cp kept "run/$stage/manifest.yaml"
        done < <(numbers kept)
    done
}

@test "an edited manifest without figures to recompute is found by its digest" {
    succeeds "$BIN/manifest" verify data run/train run/evaluate
    succeeds "$BIN/report" run --out page
    succeeds "$BIN/manifest" verify page
    local manifest
    for manifest in data page; do
        sed -i '/^results:/,/^run:/s/\(: *[0-9]*\)[0-9]$/\17/' "$manifest/manifest.yaml"
        fails_with 4 '^manifest: 1 manifest changed since it was written$' "$BIN/manifest" verify "$manifest"
        [[ $output == "$manifest/manifest.yaml: changed since it was written: its digest is "* ]] || fail "$output"
    done
    sed -i 's/^  host: .*/  host: elsewhere/' run/train/manifest.yaml
    fails_with 4 'changed since it was written' "$BIN/manifest" verify run/train
    sed -i '/^digest: /d' run/train/manifest.yaml # as an earlier version wrote it
    succeeds "$BIN/manifest" verify run/train
}

@test "a recorded file that was changed or removed is named" {
    zstd -dcq run/evaluate/predictions.st.zst | head -c 500 >run/evaluate/cut && mv run/evaluate/cut run/evaluate/predictions.st.zst
    fails_with 4 '1 of 3 files is missing or different|1 of 3 files missing' "$BIN/manifest" verify run/evaluate
    fails_with 3 "run/evaluate/predictions.st.zst" "$BIN/report" run --out out
    rm run/evaluate/predictions.st.zst
    fails_with 3 "run/evaluate/predictions.st.zst" "$BIN/report" run --out out
}
