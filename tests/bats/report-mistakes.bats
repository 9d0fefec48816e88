#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The test images that a model got wrong, as pictures in the report; accuracy over training time.

load helpers
load training

setup_file() {
    file_run global_batch=20 epochs=2
}

setup() {
    copy_run
}

# pictures PAGE: the images in the drawing of wrong predictions.
pictures() {
    grep -o 'data:image/png;base64,[^"]*' "$1"
}

@test "the most probable wrong predictions come first, with the pixels of the test data" {
    succeeds "$BIN/report" run --out out
    [ "$(pictures out/report.html | wc -l)" -eq 16 ]
    zstd -dqc data/test.st.zst >test.st
    zstd -dqc run/evaluate/predictions.st.zst >predictions.st
    PYTHONPATH=$ROOT/tests/python "$PYTHON" - out/report.html <<'END'
import base64, json, math, re, struct, sys, zlib
from safetensors_reader import read

def pixels_of(png):
    """The bytes of an 8-bit RGB picture, without the filters of its rows."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, stride, rows = zlib.decompress(data), 3 * width, [bytearray(3 * width)]
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left, up = (row[x - 3] if x > 2 else 0), rows[-1][x]
            corner = rows[-1][x - 3] if x > 2 else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            row[x] = (row[x] + [0, left, up, (left + up) // 2, paeth][kind]) % 256
        rows.append(row)
    return b"".join(bytes(row) for row in rows[1:])

def tensors(path):
    with open(path, "rb") as file:
        return read(file.read())[0]

predictions = tensors("predictions.st")
_, (count, classes), logits = predictions["logits"]
labels = predictions["labels"][2]
_, (_, channels, height, width), images = tensors("test.st")["images"]
wrong = []
for i in range(count):
    row = logits[i * classes:(i + 1) * classes]
    best = max(range(classes), key=lambda k: row[k])
    if best != labels[i]:
        wrong.append((-1 / sum(math.exp(v - row[best]) for v in row), i))
wrong.sort()
page = open(sys.argv[1]).read()
shown = [base64.b64decode(text) for text in re.findall(r'data:image/png;base64,([^"]*)"', page)]
assert len(shown) == 16, len(shown)
plane = height * width
for (_, i), png in zip(wrong, shown):
    own = images[i * channels * plane:(i + 1) * channels * plane]
    expected = bytes(own[c * plane + p] for p in range(plane) for c in range(channels))
    assert pixels_of(png) == expected, i
assert "Of %d wrong predictions of tiny" % len(wrong) in page, len(wrong)
# report.json says which images these are; only drawings have pixels.
text = open(sys.argv[1].replace("report.html", "report.json")).read()
items = json.loads(text)["charts"]["mistakes-1"]["items"]
assert [item["sample"] for item in items] == [i for _, i in wrong[:16]], items
assert "png" not in items[0] and len(text) < 100000, len(text)
END
}

@test "with missing or replaced test data there are no pictures, but the report succeeds" {
    mv data moved
    succeeds "$BIN/report" run --out out
    [ -z "$(pictures out/report.html)" ]
    rm -r out
    make_data data 20 90 && "$BIN/synth-cifar" -q --train 20 --test 90 --seed 4 --out other
    mv other/test.st.zst data/test.st.zst
    succeeds "$BIN/report" run --out out
    [ -z "$(pictures out/report.html)" ]
    # --test names their new place, or that of other data, which are not shown.
    succeeds "$BIN/report" run --out found --test moved/test.st.zst
    [ "$(pictures found/report.html | wc -l)" -eq 16 ]
    succeeds "$BIN/report" run --out none --test data/test.st.zst
    [ -z "$(pictures none/report.html)" ]
}

@test "accuracy over training time is drawn for two experiments, but not for one" {
    succeeds "$BIN/report" run --out one
    ! grep -q 'Seconds of training' one/report.html || fail "the chart is drawn for one experiment"
    write_experiment f.yaml global_batch=20 epochs=2 name=other seed=9
    "$BIN/train-single" -q --experiment f.yaml --train data/train.st.zst --test data/test.st.zst --out other/train
    succeeds "$BIN/report" run other --out two
    grep -q 'Seconds of training' two/report.html || fail "the chart is not drawn"
    [ -s two/figures/accuracytime.svg ] || fail "the chart has no file: $(ls two/figures)"
}
