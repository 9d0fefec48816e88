# SPDX-License-Identifier: MIT
# Checkpoints from other sources, for --init and evaluate --model: names, types, metadata.

load helpers
load training

setup_file() {
    [ -x "$BIN/synth-cifar" ] && [ -x "$BIN/train-single" ] || return 0
    command -v zstd >/dev/null || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    make_data data 300 90
    write_experiment e.yaml "$LENET_BN" global_batch=20 epochs=1
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out trained
    zstd -dqc trained/model.st.zst >ours.safetensors
}

setup() {
    need_training
    need_python
    need_program zstd
    export PYTHONPATH=$ROOT/tests/python${PYTHONPATH:+:$PYTHONPATH}
    test=$BATS_FILE_TMPDIR/data/test.st.zst
    train=$BATS_FILE_TMPDIR/data/train.st.zst
    lenet=$ROOT/experiments/models/lenet-bn.yaml
    cd "$WORK"
    cp "$BATS_FILE_TMPDIR/ours.safetensors" "$BATS_FILE_TMPDIR/e.yaml" .
}

# rewrite FILE: writes ours.safetensors as changed by the Python code on standard input: `tensors`
# of (dtype, shape, bytes), and `metadata`.
rewrite() {
    cat >change.py
    "$PYTHON" - "$1" <<'END'
import math, struct, sys
import safetensors_reader, safetensors_writer
read, metadata = safetensors_reader.read(open("ours.safetensors", "rb").read())
floats = lambda values, code: struct.pack("<%d%s" % (len(values), code), *values)
values = {name: value for name, (_, _, value) in read.items()}
tensors = {name: (dtype, shape, floats(value, "f")) for name, (dtype, shape, value) in read.items()}
exec(open("change.py").read())
safetensors_writer.save(sys.argv[1], tensors, metadata)
END
}

# predictions FILE [OPTION]...: the content hash of evaluate's predictions with it; the output is in
# `said`.
predictions() {
    "$BIN/evaluate" --model "$1" --data "$test" --out "out-$1" "${@:2}" 2>said >/dev/null || { cat said >&2; return 1; }
    content "out-$1/predictions.st.zst"
}

# refused PATTERN FILE: evaluate and --init refuse it; nothing is written.
refused() {
    fails_with 3 "$1" "$BIN/evaluate" --model "$2" --data "$test" --out out --architecture "$lenet" || return 1
    fails_with 3 "$1" "$BIN/train-single" --experiment e.yaml --train "$train" --init "$2" --out out || return 1
    nothing_in out
}

@test "prefixes of wrappers are removed, with a message" {
    local expected prefix
    expected=$(predictions ours.safetensors)
    [ ! -s said ]
    for prefix in module. _orig_mod. module._orig_mod. _orig_mod.module.; do
        rewrite wrapped.safetensors <<<"tensors = {'$prefix' + name: t for name, t in tensors.items()}"
        [ "$expected" = "$(predictions wrapped.safetensors)" ]
        [ "$(wc -l <said)" -eq 1 ]
        grep -q "^evaluate: 'wrapped.safetensors': prefix '.*' is removed from the names" said || fail "$(cat said)"
    done
    grep -q "prefix 'module.' is removed from the names, prefix '_orig_mod.' is" said || fail "$(cat said)"
    predictions wrapped.safetensors -q
    [ ! -s said ]
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --init ours.safetensors --out one
    succeeds "$BIN/train-ddp" --world-size 2 --experiment e.yaml --train "$train" --init wrapped.safetensors --out two
    [ "$(grep -c "is removed from" <<<"$stderr")" -eq 1 ]
    same_model "$(content one/model.st.zst)" two "prefixed weights"
}

@test "F16 and BF16 are read exactly, F64 is rounded to nearest" {
    # The same numbers, once as F32 and once as the type to which they were rounded.
    rewrite f16.safetensors <<'END'
tensors = {name: ("F16", t[1], floats(values[name], "e")) for name, t in tensors.items()}
END
    rewrite as-f32.safetensors <<'END'
half = lambda list: struct.unpack("<%de" % len(list), floats(list, "e"))
tensors = {name: ("F32", t[1], floats(half(values[name]), "f")) for name, t in tensors.items()}
END
    [ "$(predictions f16.safetensors)" = "$(predictions as-f32.safetensors)" ]
    predictions f16.safetensors
    grep -qx "evaluate: 'f16.safetensors': F16 is converted to F32" said || fail "$(cat said)"
    rewrite bf16.safetensors <<'END'
upper = lambda data: b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))
tensors = {name: ("BF16", t[1], upper(t[2])) for name, t in tensors.items()}
END
    rewrite as-f32.safetensors <<'END'
upper = lambda data: b"".join(b"\0\0" + data[i + 2:i + 4] for i in range(0, len(data), 4))
tensors = {name: ("F32", t[1], upper(t[2])) for name, t in tensors.items()}
END
    [ "$(predictions bf16.safetensors)" = "$(predictions as-f32.safetensors)" ]
    # The difference is a bit less than half of the last place.
    rewrite f64.safetensors <<'END'
tensors = {name: ("F64", t[1], floats([x * (1 + 2.0 ** -26) for x in values[name]], "d")) for name, t in tensors.items()}
END
    [ "$(predictions f64.safetensors)" = "$(predictions ours.safetensors)" ]
    predictions f64.safetensors
    grep -q "F64 is rounded to F32" said || fail "$(cat said)"
    succeeds "$BIN/train-single" --dry-run --experiment e.yaml --train "$train" --init f64.safetensors --out out
    [[ $stderr == *"F64 is rounded to F32"* ]]
}

@test "every 16-bit float is converted exactly" {
    "$PYTHON" - <<'END'
import struct, safetensors_writer
def save(name, dtype, bits, values):
    safetensors_writer.save(name + ".safetensors", {"w": (dtype, [len(bits)], struct.pack("<%dH" % len(bits), *bits))})
    open(name, "w").writelines("%.9g\n" % x for x in values)
bits = [b for b in range(1 << 16) if b >> 10 & 31 != 31]
save("f16", "F16", bits, struct.unpack("<%de" % len(bits), struct.pack("<%dH" % len(bits), *bits)))
bits = [b for b in range(1 << 16) if b >> 7 & 255 != 255]
save("bf16", "BF16", bits, struct.unpack("<%df" % len(bits), struct.pack("<%dI" % len(bits), *(b << 16 for b in bits))))
END
    local type
    for type in f16 bf16; do
        "$BIN/tensor" export --format csv "$type.safetensors" w | cmp - "$type"
    done
    fails_with 2 "npy has no BF16" "$BIN/tensor" export --format npy --out w.npy bf16.safetensors w
    fails_with 2 "'--dtype'.*F16" "$BIN/tensor" import --name w --format csv --dtype F16 --out w.st.zst f16
}

@test "batch norm's num_batches_tracked is ignored" {
    rewrite counted.safetensors <<'END'
tensors["bn1.num_batches_tracked"] = ("I64", [], struct.pack("<q", 7))
tensors["module.bn2.num_batches_tracked"] = ("I64", [], struct.pack("<q", 7))
END
    [ "$(predictions counted.safetensors)" = "$(predictions ours.safetensors)" ]
    [ ! -s said ]
}

@test "metadata of another program: the message names the key and --architecture" {
    local text
    for text in resnet '"resnet"' '{"name": "resnet18"}' '[1, 2]' ''; do
        rewrite theirs.safetensors <<<"metadata['model'] = '$text'"
        fails_with 3 "'theirs.safetensors': the key 'model' in its metadata.*give --architecture" \
            "$BIN/evaluate" --model theirs.safetensors --data "$test" --out out
        fails_with 3 "'model'.*give --architecture" \
            "$BIN/evaluate" --model theirs.safetensors --data "$test" --out out --print-key
        nothing_in out
        [ "$(predictions theirs.safetensors --architecture "$lenet")" = "$(predictions ours.safetensors)" ]
    done
    for text in imagenet '{"mean": 0.5}' '{"mean": [1, 2, 3], "std": [1, 1]}' '{"mean": [0], "std": [0]}' \
        '{"mean": [125.3, 123, 113.9], "std": [63, 62.1, 66.7]}'; do
        rewrite theirs.safetensors <<<"metadata['normalize'] = '$text'"
        fails_with 3 "the key 'normalize' in its metadata.*give --mean and --std" \
            "$BIN/evaluate" --model theirs.safetensors --data "$test" --out out
        nothing_in out
    done
    # --init reads only the tensors.
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --init theirs.safetensors --out out
}

@test "a tensor that does not fit is named, with its shape and the expected shape" {
    rewrite x.safetensors <<<"tensors['fc3.bias'] = ('F32', [11], bytes(44))"
    refused "'x.safetensors': tensor 'fc3.bias' is F32 \[11\], expected F32 \[10\]" x.safetensors
    rewrite x.safetensors <<<"tensors['fc3.bias'] = ('I64', [10], bytes(80))"
    refused "tensor 'fc3.bias' is I64 \[10\], expected F32 \[10\]" x.safetensors
    rewrite x.safetensors <<<"tensors['module.fc3.bias'] = ('F16', [2, 5], bytes(20)); del tensors['fc3.bias']"
    refused "tensor 'module.fc3.bias' is F16 \[2,5\], expected F32 \[10\]" x.safetensors
    rewrite x.safetensors <<<"del tensors['fc3.bias']"
    refused "no tensor 'fc3.bias' \(expected F32 \[10\]\)" x.safetensors
    rewrite x.safetensors <<<"tensors['module.fc4.bias'] = ('F32', [3], bytes(12))"
    refused "tensor 'module.fc4.bias' \(F32 \[3\]\) is unknown to model 'lenet-bn'" x.safetensors
    rewrite x.safetensors <<<"tensors['module.fc3.bias'] = tensors['fc3.bias']"
    refused "tensors '(module.)?fc3.bias' and '(module.)?fc3.bias' are both 'fc3.bias'" x.safetensors
    rewrite x.safetensors <<<"tensors['fc3.bias'] = ('F64', [10], struct.pack('<10d', *[1e300] * 10))"
    refused "tensor 'fc3.bias' holds 1e\+300, too large for F32" x.safetensors
    printf 'PK\003\004 a zip archive' >x.pt
    refused "'x.pt'.*torch.save.*save_file" x.pt
}

@test "PyTorch agrees on 16-bit floats, and on the prefixes of DistributedDataParallel and compile" {
    need_torch
    "$PYTHON" - <<'END'
import torch, safetensors_reader, safetensors_writer
read, metadata = safetensors_reader.read(open("ours.safetensors", "rb").read())
state = {name: torch.tensor(values).reshape(shape) for name, (_, shape, values) in read.items()}
half = {"module." + name: t.half() for name, t in state.items()}
half["module.bn1.num_batches_tracked"] = torch.tensor(3)
safetensors_writer.save("half.safetensors", half, metadata)
safetensors_writer.save("rounded.safetensors", {name: t.half().float() for name, t in state.items()}, metadata)
brain = {"_orig_mod." + name: ("BF16", list(t.shape), t.bfloat16().view(torch.int16).numpy().tobytes())
         for name, t in state.items()}
safetensors_writer.save("brain.safetensors", brain, metadata)
safetensors_writer.save("cut.safetensors", {name: t.bfloat16().float() for name, t in state.items()}, metadata)
END
    [ "$(predictions half.safetensors)" = "$(predictions rounded.safetensors)" ]
    [ "$(predictions brain.safetensors)" = "$(predictions cut.safetensors)" ]
}
