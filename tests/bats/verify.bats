#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# verify: submissions, honest and forged. Each forgery is consistent with itself: its
# manifests have the hashes of the changed files, and their own digests.
load helpers
load submissions
load forging

setup_file() {
    file_submission
}

setup() {
    begin_verifying
}

# train_otherwise WORD...: another training of `one`, with lr 0.05, in $other.
train_otherwise() {
    sed 's/lr: 0.02/lr: 0.05/' "$FILES/one.yaml" >"$FILES/other.yaml"
    pack other STATES=4 "$FILES/other.yaml" "$@" >log 2>&1 || fail "$(cat log)"
    other=$(echo other/other*/seed-42)
}

# take FILE...: from the other training, as if they were of run `one`, in its manifests, too.
take() {
    local file old new
    for file; do cp "$other/$file" "$one/$file"; done
    old=$("$BIN/manifest" get "$one/train" results.model)
    new=$("$BIN/manifest" get "$other/train" results.model)
    sed -i "s/$old/$new/" "$one"/*/manifest.yaml
}

# finds_also SUBJECT PATTERN: like `finds`, but other subjects may differ, too.
finds_also() {
    repack
    run --separate-stderr verifies "$NAME.tar.gz"
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    grep -q "^$1 *different  .*$2" <<<"$output" || fail "$output"
}

# verifies ARCHIVE...: every part of each training is trained again.
verifies() {
    ARTIFACTS=$BATS_FILE_TMPDIR/teacher "$BIN/pipeline" verify SEGMENTS=4 "$@"
}

# finds SUBJECT PATTERN: verify ends with 4, and this subject is the only one that differs.
finds() {
    repack
    run --separate-stderr verifies "$NAME.tar.gz"
    [ "$status" -eq 4 ] || fail "exit code $status" "$output" "$stderr"
    [[ ${stderr_lines[-1]} == "pipeline: '$NAME.tar.gz' contradicts its files" ]] || fail "$stderr"
    [ "$(grep ' different  ' <<<"$output" | cut -d ' ' -f 1 | sort -u)" = "$1" ] || fail "$output"
    grep -q "^$1 *different  .*$2" <<<"$output" || fail "$output"
}

@test "an honest submission of own data that are not here: nothing is said to differ" {
    cd "$WORK"
    "$PYTHON" "$ROOT/tests/python/make_images.py" classes pictures 3 8 12
    "$BIN/import-images" -q --from pictures --size 12 --out data/mine
    ARTIFACTS=$WORK/own TIME=0 EPOCHS=1 succeeds "$BIN/pipeline" submission mine
    [[ $(cat own/*/report.md) == *"Wrong predictions"* ]] || fail "the test shows nothing"
    mkdir teacher
    cd teacher
    run --separate-stderr "$BIN/pipeline" verify ARTIFACTS=verified SUBMISSION="$(echo ../own/submission-*.tar.gz)"
    [[ $output == *"figures     equal "* && $output == *"report      not shown  it shows test images, and the data set is not here"* ]] || fail "$output" "$stderr"
    ! grep -q ' different  ' <<<"$output" || fail "$output"
}

@test "an honest submission: everything is equal, and the rest is named" {
    succeeds verifies "$ARCHIVE" CIFAR10_FROM=
    [ "$(grep -c '^[a-z]* *equal  ' <<<"$output")" = 11 ] || fail "$output"
    ! grep -q ' different  ' <<<"$output" || fail "$output"
    [[ $output == *"one/seed-42: 4 of 4 parts trained again, 100 % of the steps"*"; the model is the one trained again"* ]] || fail "$output"
    [[ $output == *"origin      not shown  who trained the models, and how long it took"* ]] || fail "$output"
    [[ ${lines[-1]} == "$ARCHIVE: equal" ]] || fail "$output"
    local made=$BATS_FILE_TMPDIR/teacher/verified/$NAME/report/report.html
    [[ $output == *"the report, made again: $made"* ]] || fail "$output"
    cmp "$made" "$NAME/report/report.html"
    grep -q 'data:image/png' "$made" || fail "the report has no pictures"
    # Data whose manifest may no longer describe them are read.
    touch "$BATS_FILE_TMPDIR"/teacher/data/synthetic-3x12x12/*.st.zst
    # The choice of parts is random, and repeated by its seed.
    succeeds verifies "$ARCHIVE" SEGMENTS=1
    local seed
    seed=$(sed -n 's/^segments chosen by SEED=//p' <<<"$output")
    local first=$output
    succeeds verifies "$ARCHIVE" SEGMENTS=1 SEED="$seed"
    [ "$(grep -v '^fetch\|^shard' <<<"$output")" = "$(grep -v '^fetch\|^shard' <<<"$first")" ] || fail "$first" "$output"
}

@test "a figure of report.csv, and a figure of the page" {
    sed -i '/^one.accuracy,/s/,0\.[0-9]*,/,0.9923,/' "$NAME/report/report.csv"
    finds figures "1 of [0-9]* lines .*the first is one.accuracy: 0.9923 there, 0\.[0-9]* by the files"
    cp "$BATS_FILE_TMPDIR/$NAME/report/report.csv" "$NAME/report/"
    local right
    right=$("$BIN/manifest" get "$one/evaluate" results.accuracy | awk '{ printf "%.2f", 100 * $1 }')
    sed -i "s/$right&nbsp;%/99.23\\&nbsp;%/" "$NAME/report/report.html"
    finds report "report.html: its text is not what the files give: '.*99.23.*' there, '.*$right.*' by the files"
    # Another version of cmark-gfm may write another page: then only the Markdown is compared.
    sed -i 's/  cmark-gfm: .*/  cmark-gfm: 0.1/' "$NAME/report/manifest.yaml"
    sign "$NAME/report"
    repack
    succeeds verifies "$NAME.tar.gz"
    [[ $output == *"report      equal      report.json and report.md are what the files give; report.html, made by cmark-gfm 0.1 and not "*": read the one made again"* ]] ||
        fail "$output"
    sed -i "s/$right %/99.23 %/" "$NAME/report/report.md"
    finds report "report.md: its text is not what the files give: '.*99.23.*' there, '.*$right.*' by the files"
    cp "$BATS_FILE_TMPDIR/$NAME/report/report.md" "$NAME/report/"
    # The last digits of a number depend on the machine.
    "$PYTHON" - "$NAME/report/report.json" <<'END'
import json, sys
page = json.load(open(sys.argv[1], encoding="utf-8"))
page["figures"][0]["value"] *= 1 + 1e-15
json.dump(page, open(sys.argv[1], "w", encoding="utf-8"))
END
    repack
    succeeds verifies "$NAME.tar.gz"
    sed -i 's/"most_seeds": 1/"most_seeds": 3/' "$NAME/report/report.json"
    finds report "report.json: 'evidence.most_seeds' is not what the files give: '3' there, '1' by the files"
}

@test "an accuracy in a manifest" {
    sed -i 's/^  accuracy: .*/  accuracy: 0.9923/' "$one/evaluate/manifest.yaml"
    finds_also files "evaluate/manifest.yaml: changed since it was written"
    # With a new digest, its own predictions refute it.
    sign "$one/evaluate"
    finds_also figures "the report cannot be made again: .*'accuracy' is 0.9923 in .*, and 0\.[0-9]* in .*predictions"
    grep -q '^files *equal  ' <<<"$output" || fail "$output"
    # It is not said of the predictions, which are those of the model.
    grep -q "^test *different  one/seed-42: the packed model gives .* %, and its recorded predictions, but the manifest says an accuracy of 99.23 %" <<<"$output" || fail "$output"
}

@test "predictions that the model does not make" {
    edit_tensors "$one/evaluate/predictions.st.zst" '
import struct
labels = place("labels")
for i in range(header["logits"]["shape"][0]):
    right = struct.unpack_from("<I" if header["labels"]["dtype"] == "U32" else "<B", data, labels + i * (4 if header["labels"]["dtype"] == "U32" else 1))[0]
    struct.pack_into("<f", data, place("logits") + 4 * (10 * i + right), 30.0)'
    sign "$one/evaluate"
    # The author lets the tools compute the figures of the forged predictions.
    "$PYTHON" - "$one/evaluate/manifest.yaml" <<'END'
import re, sys
text = open(sys.argv[1]).read()
text = re.sub(r"\n  accuracy: \S+", "\n  accuracy: 1", text, count=1)
open(sys.argv[1], "w").write(text)
END
    sign "$one/evaluate"
    finds_also test "one/seed-42: the packed model gives .*not the recorded predictions"
}

@test "the model of another training" {
    train_otherwise EPOCHS=2
    take train/model.st.zst evaluate/predictions.st.zst
    sed -n '/^results:/,/^run:/p' "$other/evaluate/manifest.yaml" | sed '$d' >results
    sed -i -e '/^results:/,/^run:/{/^run:/!d}' "$one/evaluate/manifest.yaml"
    sed -i -e '/^run:/{
e cat results
}' "$one/evaluate/manifest.yaml"
    sign "$one/train"
    sign "$one/evaluate"
    finds_also training "one/seed-42: its model is not that of its last state: '[a-z0-9.]*' differs"
    # With the model in another execution than the states.
    rm -r "$NAME"
    cp -r "$BATS_FILE_TMPDIR/$NAME" .
    cp -r "$one" "${one%/1}/2"
    rm -r "$one/train/states" "$one/train/state.st.zst"
    take train/model.st.zst evaluate/predictions.st.zst
    sign "$one/train"
    sign "$one/evaluate"
    finds_also figures "executions of one run ended in different models"
}

@test "settings of another experiment, in the file or in the training" {
    sed -i 's/lr: 0.02/lr: 0.03/' "$NAME/experiments/two.yaml"
    finds experiment "two/seed-42: its 'optimizer' is not that of experiments/two.yaml"
    cp "$BATS_FILE_TMPDIR/$NAME/experiments/two.yaml" "$NAME/experiments/"
    # Trained with another rate; the manifest has the settings, and the key, of the experiment.
    train_otherwise
    local file
    for file in $(cd "$one" && find . -name '*.st.zst'); do take "$file"; done
    sign "$one/train"
    sign "$one/evaluate"
    finds_also training "one/seed-42: "
    # Or with its own manifest, as one more execution.
    rm -r "$NAME"
    cp -r "$BATS_FILE_TMPDIR/$NAME" .
    cp -rL "$other" "${one%/1}/2"
    finds_also experiment "one/seed-42: its execution 2 is one of another run"
    # A setting that the experiment does not have.
    rm -r "$NAME"
    cp -r "$BATS_FILE_TMPDIR/$NAME" .
    sed -i 's/^parameters:$/&\n  drop_last: true/' "$one/train/manifest.yaml"
    sign "$one/train"
    finds_also experiment "one/seed-42: its 'drop_last' is not that of experiments/one.yaml"
}

@test "other training data, and a part of a training that was not trained" {
    local data
    data=$("$BIN/manifest" get "$one/train" inputs.0.source)
    sed -i "s/$data/$(printf '0%.0s' {1..64})/" "$one/train/manifest.yaml"
    sign "$one/train"
    finds_also data "one/seed-42: its training data are not those of the data set"
    cp "$BATS_FILE_TMPDIR/$one/train/manifest.yaml" "$one/train/"
    local state
    state=$(find "$one/train/states" -name '*.st.zst' | sort | sed -n 2p)
    edit_tensors "$state" 'data[place("model.conv1.weight") + 2] ^= 1'
    sign "$one/train"
    finds training "one/seed-42: part 2 of 4 differs, after step [0-9]* in tensor 'model.conv1.weight'"
}

@test "runs that are missing, and archives that are no submission" {
    rm -r "$two"
    finds_also experiment "two/seed-42: its run is not packed"
    mkdir -p a b
    echo x >a/x
    echo x >b/x
    tar czf two.tar.gz a b
    TOOL=pipeline fails_with 3 "'two.tar.gz': it holds no submission, which is a folder with plan.yaml and experiments/" verifies two.tar.gz
    ln -s /etc/passwd a/link
    tar czf link.tar.gz a
    TOOL=pipeline fails_with 3 "a/link" verifies link.tar.gz
    echo text >text.tar.gz
    TOOL=pipeline fails_with 3 "text.tar.gz" verifies text.tar.gz
    TOOL=pipeline fails_with 3 "nowhere" verifies nowhere.tar.gz
    TOOL=pipeline fails_with 2 "verify: a name is missing: expected SUBMISSION=FILE.tar.gz" verifies
    TOOL=pipeline fails_with 3 "DATA='$WORK': it has no train.st.zst" verifies "$ARCHIVE" DATA="$WORK"
}

@test "a page by its author's own templates stands beside ours, and has limits" {
    local packed=$BATS_FILE_TMPDIR/artifacts/$NAME.tar.gz made=$WORK/teacher/verified/$NAME
    mkdir own
    printf '# {{experiments | size}} experiments, all excellent\n\n{{runs[0].accuracy}}\n' >own/page.md
    REPORT_FLAGS="--author Li --template own" pack "$BATS_FILE_TMPDIR/artifacts" STATES=4 "$FILES/one.yaml" "$FILES/two.yaml" >log 2>&1 ||
        fail "$(cat log)"
    rm -r own "$NAME"
    mv "$packed" .
    tar xzf "$NAME.tar.gz"
    grep -q '^# 2 experiments, all excellent' "$NAME/report-own/report.md"
    ! grep -q excellent "$NAME/report/report.md" || fail "our page is by other templates"
    grep -q "^\`report-own/\` is a page by the author's own templates" "$NAME/README.md" || fail "$(cat "$NAME/README.md")"
    succeeds "$BIN/pipeline" verify ARTIFACTS="$WORK/teacher" SEGMENTS=4 "$NAME.tar.gz"
    [[ $output == *"report      equal      own page: it is what the files and its author's templates give"* ]] || fail "$output"
    [[ $output == *"the report, made again: $made/report/report.html
by its author's own templates: $made/report-own/report.html"* ]] || fail "$output"
    cmp "$made/report-own/report.md" "$NAME/report-own/report.md"
    [[ ${lines[-1]} == "$NAME.tar.gz: equal" ]] || fail "$output"
    succeeds env ARTIFACTS="$WORK/teacher" "$BIN/pipeline" grade --json SEGMENTS=1 "$NAME.tar.gz"
    [[ $output == *"\"own_page\":\"${made/verified/graded}/report-own/report.html\""* ]] || fail "$output"
    # A page that says something else, templates without a page, and templates without an end.
    sed -i 's/^# 2/# 3/' "$NAME/report-own/report.md"
    finds report "own page: report.md: its text is not what the files give: '# 3 exp.*' there, '# 2 exp"
    rm -r "$NAME/report-own"
    finds report "own page: it has templates, and no page by them"
    cp -r "$NAME/report" "$NAME/report-own"
    printf '%s' '{{each a in figures}}{{each b in figures}}{{each c in figures}}{{each d in figures}}{{end}}{{end}}{{end}}{{end}}' >"$NAME/templates/page.md"
    finds report "own page: it cannot be made again: .*templates/page.md:1: too many steps"
    rm -r "$NAME/templates"
    finds report "own page: it cannot be made again: .*cannot read the templates"
}
