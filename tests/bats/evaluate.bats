# SPDX-License-Identifier: MIT
# evaluate: predictions, manifest, its output line; foreign checkpoints.

load helpers
load training

setup_file() {
    [ -x "$BIN/synth-cifar" ] && [ -x "$BIN/train-single" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    make_data data 300 90
    write_experiment e.yaml "$LENET_BN" global_batch=20
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out trained
    "$BIN/synth-cifar" -q --train 20 --test 20 --shape 1,28,28 --out small
}

setup() {
    need_training
    model=$BATS_FILE_TMPDIR/trained/model.st.zst
    test=$BATS_FILE_TMPDIR/data/test.st.zst
    cd "$WORK"
}

@test "--help and --version" {
    succeeds "$BIN/evaluate" --help
    [[ $output == *--architecture* ]]
    succeeds "$BIN/evaluate" --version
}

@test "prints one line; the manifest holds the same accuracy" {
    local line='^accuracy ([01][.][0-9]{4}) loss [0-9.]+ \(90 images\)$'
    succeeds "$BIN/evaluate" --model "$model" --data "$test" --out out
    [[ $output =~ $line ]] || fail "$output"
    [ "${BASH_REMATCH[1]}" = "$(printf %.4f "$("$BIN/manifest" get out/manifest.yaml results.accuracy)")" ]
    succeeds "$BIN/manifest" verify out/manifest.yaml
}

@test "the manifest records the compute time; manifest diff ignores it" {
    "$BIN/evaluate" -q --model "$model" --data "$test" --out one
    "$BIN/evaluate" -q --model "$model" --data "$test" --out two --threads 1
    local seconds
    seconds=$("$BIN/manifest" get one/manifest.yaml results.compute_seconds)
    awk -v s="$seconds" 'BEGIN { exit !(s > 0 && s < 60) }' || fail "compute_seconds: $seconds"
    succeeds "$BIN/manifest" diff one/manifest.yaml two/manifest.yaml
}

@test "--tta: the views are in the output, the manifest, the predictions and the key" {
    local views key keys
    for views in none mirror mirror-shift; do
        succeeds "$BIN/evaluate" --tta "$views" --model "$model" --data "$test" --out "$views"
        [ "$views" = none ] || [[ $output == *" (90 images, "[26]" views of each: $views)" ]] || fail "$output"
        succeeds "$BIN/manifest" verify "$views/manifest.yaml"
        key=$("$BIN/evaluate" --tta "$views" --model "$model" --data "$test" --print-key)
        [ "$key" = "$("$BIN/manifest" get "$views/manifest.yaml" key)" ] || fail "$views: another key"
        keys+=$key$'\n'
    done
    [ "$(sort -u <<<"${keys%?}" | wc -l)" -eq 3 ] || fail "$keys"
    [ "$("$BIN/manifest" get mirror/manifest.yaml parameters.views)" = mirror ]
    "$BIN/tensor" info mirror/predictions.st.zst | grep -q 'views.*mirror' || fail "no views in the metadata"
    # Without --tta everything is as before the option existed.
    succeeds "$BIN/evaluate" --model "$model" --data "$test" --out plain
    [ "$(content plain/predictions.st.zst)" = "$(content none/predictions.st.zst)" ]
    [ "$(content plain/predictions.st.zst)" != "$(content mirror/predictions.st.zst)" ]
    ! grep -q views plain/manifest.yaml || fail "$(grep views plain/manifest.yaml)"
    succeeds "$BIN/evaluate" --json --tta mirror --model "$model" --data "$test" --out mirror --threads 1
    [[ $output == *'"views":"mirror"'* ]] || [[ $output == *'"views": "mirror"'* ]] || fail "$output"
}

@test "--tta: an unknown name, and pictures, are refused" {
    fails_with 2 "'--tta mirro': expected none, mirror or mirror-shift: did you mean 'mirror'" \
        "$BIN/evaluate" --tta mirro --model "$model" --data "$test" --out out
    fails_with 2 "'--tta': it is for a data set, not for --image" \
        "$BIN/evaluate" --tta mirror --model "$model" --image x.png
    nothing_in out
}

@test "accuracy, loss, classes and confusion follow from the predictions" {
    "$BIN/evaluate" --model "$model" --data "$test" --out out
    "$BIN/tensor" export --format csv --out logits.csv out/predictions.st.zst logits
    "$BIN/tensor" export --format csv --out labels.csv out/predictions.st.zst labels
    "$PYTHON" - "$("$BIN/manifest" get out/manifest.yaml results.accuracy)" \
        "$("$BIN/manifest" get out/manifest.yaml results.loss)" \
        "$("$BIN/manifest" get out/manifest.yaml results.confusion)" <<'END'
import math, re, sys
logits = [[float(x) for x in line.split(",")] for line in open("logits.csv") if line[0] in "-0123456789"]
labels = [int(line) for line in open("labels.csv") if line[0] in "0123456789"]
assert len(logits) == len(labels) == 90, (len(logits), len(labels))
said = [row.index(max(row)) for row in logits]
right = sum(a == b for a, b in zip(said, labels))
assert abs(right / 90 - float(sys.argv[1])) < 1e-12
loss = sum(math.log(sum(math.exp(x) for x in row)) - row[k] for row, k in zip(logits, labels)) / 90
assert abs(loss - float(sys.argv[2])) < 1e-6, (loss, sys.argv[2])
confusion = [int(x) for x in re.findall(r"\d+", sys.argv[3])]
pairs = list(zip(labels, said))
assert confusion == [pairs.count((label, answer)) for label in range(10) for answer in range(10)]
END
}

@test "threads and the instruction set do not matter" {
    local tta expected
    for tta in none mirror mirror-shift; do
        rm -rf one three other
        "$BIN/evaluate" -q --model "$model" --data "$test" --tta "$tta" --out one --threads 1
        expected=$(content one/predictions.st.zst)
        "$BIN/evaluate" -q --model "$model" --data "$test" --tta "$tta" --out three --threads 3
        [ "$(content three/predictions.st.zst)" = "$expected" ] || fail "$tta: 3 threads"
        LOCKSTEP_ISA=baseline "$BIN/evaluate" -q --model "$model" --data "$test" --tta "$tta" --out other
        [ "$(content other/predictions.st.zst)" = "$expected" ] || fail "$tta: baseline"
    done
}

@test "--print-key equals the manifest's key, and depends on --mean and --std" {
    local key
    key=$("$BIN/evaluate" --model "$model" --data "$test" --out out --print-key)
    [ ! -e out ]
    "$BIN/evaluate" --model "$model" --data "$test" --out out --threads 1
    [ "$key" = "$("$BIN/manifest" get out/manifest.yaml key)" ]
    [ "$key" != "$("$BIN/evaluate" --model "$model" --data "$test" --mean 0,0,0 --std 1,1,1 --out out --print-key)" ]
}

@test "data from a pipe" {
    succeeds "$BIN/evaluate" --model "$model" --data - --out out <"$test"
    [ "$("$BIN/manifest" get out/manifest.yaml inputs.1.path)" = - ]
    "$BIN/evaluate" --model "$model" --data "$test" --out other
    [ "$(content out/predictions.st.zst)" = "$(content other/predictions.st.zst)" ]
}

@test "a checkpoint without metadata needs --architecture, --mean and --std" {
    zstd -dqc "$model" >full.safetensors
    "$PYTHON" - <<'END'
import json, struct
data = open("full.safetensors", "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
metadata = header.pop("__metadata__")
text = json.dumps(header).encode()
open("plain.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length:])
n = json.loads(metadata["normalize"])
open("mean", "w").write(",".join(map(repr, n["mean"])))
open("std", "w").write(",".join(map(repr, n["std"])))
END
    fails_with 3 "'model'.*--architecture" "$BIN/evaluate" --model plain.safetensors --data "$test" --out out
    nothing_in out
    local lenet=$ROOT/experiments/models/lenet-bn.yaml
    fails_with 3 "'normalize'.*--mean" "$BIN/evaluate" --model plain.safetensors --data "$test" --out out --architecture "$lenet"
    succeeds "$BIN/evaluate" --model plain.safetensors --data "$test" --out out --architecture "$lenet" \
        --mean "$(cat mean)" --std "$(cat std)"
    "$BIN/evaluate" -q --model "$model" --data "$test" --out other
    [ "$(content out/predictions.st.zst)" = "$(content other/predictions.st.zst)" ]
}

@test "missing, damaged and mismatched inputs and options are refused" {
    fails_with 2 "'--model'" "$BIN/evaluate" --data "$test" --out out
    fails_with 2 "'--data'" "$BIN/evaluate" --model "$model" --out out
    fails_with 2 "'--out'" "$BIN/evaluate" --model "$model" --data "$test"
    fails_with 2 "together" "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0,0,0
    fails_with 2 "'--std" "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0,0,0 --std 1,1
    fails_with 2 "--std 1,0,1': .* must be above 0" "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0,0,0 --std 1,0,1
    fails_with 2 "'--mean" "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0,x,0 --std 1,1,1
    fails_with 2 "'--mean 125.3,.*is at most 1, got 125.3; .* 125.3 / 255 = 0.4914" \
        "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 125.3,123,113.9 --std 63,62.1,66.7
    fails_with 2 "is at least 0, got -0.48; it is subtracted, so give 0.48" \
        "$BIN/evaluate" --model "$model" --data "$test" --out out --mean=-0.48,0,0 --std 1,1,1
    fails_with 2 "deviation .* is at most 1, got 63; .* 63 / 255 = 0.2471" \
        "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0,0,0 --std 63,62.1,66.7
    fails_with 2 "'--std 1,x,1': expected comma-separated numbers" "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0,0,0 --std 1,x,1
    fails_with 3 "channels" "$BIN/evaluate" --model "$model" --data "$test" --out out --mean 0 --std 1
    fails_with 3 "28.*32" "$BIN/evaluate" --model "$model" --data "$BATS_FILE_TMPDIR/small/test.st.zst" --out out
    fails_with 3 "'missing'" "$BIN/evaluate" --model missing --data "$test" --out out
    fails_with 3 "'missing'" "$BIN/evaluate" --model "$model" --data missing --out out
    fails_with 3 "bn1" "$BIN/evaluate" --model "$model" --data "$test" --out out \
        --architecture "$ROOT/experiments/models/lenet.yaml"
    TOOL=evaluate fails_with 3 "'cut'" sh -c "head -c 1000 '$model' >cut; exec '$BIN/evaluate' --model cut --data '$test' --out out"
    nothing_in out
}

@test "a full disk on standard output is an error" {
    TOOL=evaluate fails_with 1 "standard output" sh -c "'$BIN/evaluate' --model '$model' --data '$test' --out out >/dev/full"
}

# ---- Pictures ----

# Twelve pictures of noise, larger than the squares and of another shape, as a data set
# and as files; a model of it.
noise() {
    local class side=40 i
    for class in ants bees cats; do
        mkdir -p pictures/train/$class pictures/test/$class
        for i in 1 2; do
            "$PYTHON" "$ROOT/tests/python/make_images.py" png pictures/train/$class/$i.png noise $side 50 $((side + i))
            "$PYTHON" "$ROOT/tests/python/make_images.py" png pictures/test/$class/$i.png noise 45 $side $((side - i))
        done
        side=$((side + 9))
    done
    "$BIN/import-images" -q --from pictures --size 32 --out noise
    cat >three.yaml <<'END'
schema: lockstep.model/1
name: three
input: [3, 32, 32]
layers: [conv: {out: 4, kernel: 5}, relu, max_pool: {size: 4}, flatten, linear: {out: 3}]
END
    write_experiment noise.yaml dataset=pictures model="$WORK/three.yaml" global_batch=4 virtual_shards=1
    "$BIN/train-single" -q --experiment noise.yaml --train noise/train.st.zst --out run
}

@test "--image: pictures give the same predictions as a data set of them" {
    need_tool import-images
    noise
    "$BIN/evaluate" -q --model run/model.st.zst --data noise/test.st.zst --out out
    "$BIN/tensor" export --format csv --out logits.csv out/predictions.st.zst logits
    local images=()
    for image in pictures/test/*/*.png; do images+=(--image "$image"); done
    succeeds "$BIN/evaluate" --json --model run/model.st.zst "${images[@]}"
    "$PYTHON" - "$output" <<'END'
import json, math, sys
logits = [[float(x) for x in line.split(",")] for line in open("logits.csv")]
images = json.loads(sys.argv[1])["images"]
assert len(images) == len(logits) == 6
assert [i["image"] for i in images][:3] == ["pictures/test/ants/1.png", "pictures/test/ants/2.png", "pictures/test/bees/1.png"]
for image, row in zip(images, logits):
    total = sum(math.exp(x) for x in row)
    wanted = sorted(((math.exp(x) / total, k) for k, x in enumerate(row)), key=lambda e: (-e[0], e[1]))
    assert [c["label"] for c in image["classes"]] == [k for _, k in wanted], (image, wanted)
    assert all(abs(c["probability"] - p) < 1e-6 for c, (p, _) in zip(image["classes"], wanted)), (image, wanted)
    assert all(c["class"] == ["ants", "bees", "cats"][c["label"]] for c in image["classes"]), image
END
    # As a shell expands --image *.png.
    local each=$output
    succeeds "$BIN/evaluate" --image pictures/test/*/*.png --json --model run/model.st.zst
    [ "$output" = "$each" ] || fail "$output"
    fails_with 2 "unexpected argument: 'pictures/test/ants/1.png'.* --image FILE" \
        "$BIN/evaluate" --model run/model.st.zst --data noise/test.st.zst --out other pictures/test/ants/1.png
    nothing_in other
}

# picture FILE [KIND]: of 40 x 30 pixels.
picture() {
    "$PYTHON" "$ROOT/tests/python/make_images.py" png "$1" "${2:-noise}" 40 30 7
}

@test "--image: the table, --top, and pictures of other kinds" {
    picture a.png
    picture grey.jpg grey # the content says the format
    mkdir -p "täg"
    picture "täg/b.png" rgba
    succeeds "$BIN/evaluate" --model "$model" --image a.png --image grey.jpg --image "täg/b.png" --top 2
    [ "${#lines[@]}" -eq 7 ] || fail "$output"
    [[ ${lines[0]} =~ ^image\ +class\ +probability$ ]] || fail "$output"
    [[ ${lines[1]} =~ ^a.png\ +[a-z]+\ +[01][.][0-9]{4}$ && ${lines[5]} == "täg/b.png "* ]] || fail "$output"
    # All lines have the same width.
    [ "$(awk '{ gsub(/ä/, "a"); print length }' <<<"$output" | sort -u | wc -l)" -eq 1 ] || fail "$output"
    succeeds "$BIN/evaluate" --json --top 100 --model "$model" --image a.png
    "$PYTHON" -c 'import json, sys
(image,) = json.loads(sys.argv[1])["images"]
p = [c["probability"] for c in image["classes"]]
assert len(p) == 10 and p == sorted(p, reverse=True) and abs(sum(p) - 1) < 1e-9, p' "$output"
    [ -z "$(find . -name "*.yaml" -o -name "*.zst")" ]
}

@test "--image: a checkpoint from elsewhere needs --classes, too" {
    picture a.png
    local init=$ROOT/tests/golden/lenet-bn-init.safetensors lenet=$ROOT/experiments/models/lenet-bn.yaml
    local half="0.5,0.5,0.5"
    local theirs=(--model "$init" --architecture "$lenet" --mean "$half" --std "$half" --image a.png)
    fails_with 3 "'model'.*--architecture" "$BIN/evaluate" --model "$init" --image a.png
    fails_with 3 "'normalize'.*--mean" "$BIN/evaluate" --model "$init" --architecture "$lenet" --image a.png
    fails_with 3 "cannot name classes: '$init': .*--classes" "$BIN/evaluate" "${theirs[@]}"
    fails_with 2 "'--classes a,b': expected 10 names, got 2" "$BIN/evaluate" "${theirs[@]}" --classes a,b
    succeeds "$BIN/evaluate" "${theirs[@]}" --classes a,b,c,d,e,f,g,h,i,j
    [[ ${lines[1]} =~ ^a.png\ +[a-j]\ +[01][.][0-9]{4}$ ]] || fail "$output"
}

@test "--image: unreadable pictures, wrong options and models without square inputs are refused" {
    picture a.png
    echo text >text.png
    head -c 200 a.png >cut.png
    fails_with 3 "'text.png'" "$BIN/evaluate" --model "$model" --image a.png --image text.png
    [ -z "$output" ] || fail "$output"
    fails_with 3 "'cut.png'" "$BIN/evaluate" --model "$model" --image cut.png
    fails_with 3 "'missing.png'" "$BIN/evaluate" --model "$model" --image missing.png
    fails_with 3 "cannot read image: '.'" "$BIN/evaluate" --model "$model" --image .
    fails_with 2 "'--model'" "$BIN/evaluate" --image a.png
    fails_with 2 "'--data'.*--image" "$BIN/evaluate" --model "$model" --data "$test" --image a.png
    fails_with 2 "'--out'.*--image" "$BIN/evaluate" --model "$model" --out out --image a.png
    fails_with 2 "'--print-key'.*--image" "$BIN/evaluate" --model "$model" --print-key --image a.png
    fails_with 2 "'--classes'.*--image" "$BIN/evaluate" --model "$model" --data "$test" --out out --classes a,b
    fails_with 2 "'--top'" "$BIN/evaluate" --model "$model" --image a.png --top 0
    "$BIN/synth-cifar" -q --train 8 --test 8 --shape 3,12,16 --out wide
    printf '%s\n' 'schema: lockstep.model/1' 'name: wide' 'input: [3, 12, 16]' 'layers: [flatten, linear: {out: 10}]' >wide.yaml
    write_experiment e.yaml model="$WORK/wide.yaml" global_batch=8 virtual_shards=1 epochs=1
    "$BIN/train-single" -q --experiment e.yaml --train wide/train.st.zst --out wide-run
    fails_with 3 "'wide-run/model.st.zst': its inputs are 3×12×16, and a picture becomes a square" \
        "$BIN/evaluate" --model wide-run/model.st.zst --image a.png
    TOOL=evaluate fails_with 1 "standard output" sh -c "'$BIN/evaluate' --model '$model' --image a.png >/dev/full"
    nothing_in out
}
