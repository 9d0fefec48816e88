# SPDX-License-Identifier: MIT
# Checkpoints from other sources, for --init and evaluate --model: names, types, metadata.

load helpers
load training

setup_file() {
    [ -x "$BIN/synth-cifar" ] && [ -x "$BIN/train-single" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    make_data data 300 90
    write_experiment e.yaml "$LENET_BN" global_batch=20 epochs=1
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out trained
    zstd -dqc trained/model.st.zst >ours.safetensors
    cp trained/model.st.zst trained.st.zst
}

setup() {
    need_training
    export PYTHONPATH=$ROOT/tests/python${PYTHONPATH:+:$PYTHONPATH}
    test=$BATS_FILE_TMPDIR/data/test.st.zst
    train=$BATS_FILE_TMPDIR/data/train.st.zst
    lenet=$ROOT/experiments/models/lenet-bn.yaml
    cd "$WORK"
    cp "$BATS_FILE_TMPDIR"/{ours.safetensors,trained.st.zst,e.yaml} .
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
# `said`, but for what it says about the accuracy.
predictions() {
    "$BIN/evaluate" --model "$1" --data "$test" --out "out-$1" "${@:2}" 2>all >/dev/null || { cat all >&2; return 1; }
    grep -v '^evaluate: \(always\|the model never\|the model answers\)' all >said || true
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

@test "the prefix of any wrapper is removed; what is beside the network is named" {
    local expected prefix
    expected=$(predictions ours.safetensors)
    for prefix in model. net. module.model. model.module. lit.backbone._orig_mod.; do
        rewrite wrapped.safetensors <<END
tensors = {'$prefix' + name: t for name, t in tensors.items()}
tensors["${prefix}bn1.num_batches_tracked"] = ("I64", [], bytes(8))
END
        [ "$expected" = "$(predictions wrapped.safetensors)" ] || fail "$prefix"
        [[ $(cat said) == *"'wrapped.safetensors': prefix '"*"is removed from the names"* ]] || fail "$(cat said)"
    done
    rewrite more.safetensors <<'END'
tensors = {"model." + name: t for name, t in tensors.items()}
tensors["criterion.weight"] = ("F32", [10], bytes(40))
END
    refused "tensor 'criterion.weight' \(F32 \[10\]\) is unknown to model 'lenet-bn'" more.safetensors
    fails_with 3 "; --init-except 'criterion.\*' leaves it out" "$BIN/train-single" --experiment e.yaml --train "$train" \
        --init more.safetensors --out out
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --init more.safetensors --init-except 'criterion.*' --out one
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --init ours.safetensors --out two
    same_model "$(content two/model.st.zst)" one "a wrapped network"
    rewrite two.safetensors <<<"tensors = {w + name: t for name, t in tensors.items() for w in ('student.', 'teacher.')}"
    refused "tensor 'teacher.*' .* is unknown to model" two.safetensors
    # The names of nn.Sequential, of which the model has none.
    rewrite numbers.safetensors <<<"tensors = {'net.%d.weight' % k: t for k, t in enumerate(tensors.values())}"
    refused "tensor 'net.[0-9]*.weight' .* is unknown to model 'lenet-bn', and so are all others: give the layers these names, by 'name:'" numbers.safetensors
    # What other programs keep beside the weights.
    rewrite state.safetensors <<'END'
tensors = {"state_dict." + name: t for name, t in tensors.items()}
tensors["optimizer.state.0.momentum_buffer"] = ("F32", [2], bytes(8))
tensors["epoch"] = ("I64", [], bytes(8))
END
    fails_with 3 "tensor 'epoch' .* is unknown .*; --init-except 'epoch' leaves it out" "$BIN/train-single" --experiment e.yaml \
        --train "$train" --init state.safetensors --init-except 'optimizer.*' --out out
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --init state.safetensors --init-except 'optimizer.*' \
        --init-except epoch --out three
    same_model "$(content two/model.st.zst)" three "weights under a key"
}

@test "--init-except: the other tensors begin at the checkpoint's values, these at their initial ones" {
    local go=("$BIN/train-single" --experiment e.yaml --train "$train" --set optimizer.lr=1e-30) key
    rewrite hundred.safetensors <<'END'
tensors = {"net." + name: t for name, t in tensors.items()}
tensors["net.fc3.weight"] = ("F32", [100, 84], bytes(4 * 8400))
tensors["net.fc3.bias"] = ("F32", [100], bytes(400))
END
    fails_with 3 "'net.fc3.(weight|bias)' is F32 \[100.*; --init-except 'fc3.\*' begins it at" "${go[@]}" --init hundred.safetensors --out out
    "${go[@]}" -q --out fresh
    succeeds "${go[@]}" --init hundred.safetensors --init-except 'fc3.*' --out out
    [[ $stderr == *"'hundred.safetensors': prefix 'net.' is removed from the names, 2 tensors begin at their initial values"* ]] || fail "$stderr"
    cmp <("$BIN/tensor" cat out/model.st.zst fc3.weight) <("$BIN/tensor" cat fresh/model.st.zst fc3.weight)
    cmp <("$BIN/tensor" cat out/model.st.zst conv1.weight) <("$BIN/tensor" cat ours.safetensors conv1.weight)
    # Part of the run: its key, its manifest, its state.
    key=$("$BIN/manifest" get out/manifest.yaml key)
    [ "$("${go[@]}" --init hundred.safetensors --init-except 'fc3.*' --print-key)" = "$key" ]
    [ "$("${go[@]}" --init hundred.safetensors --print-key)" != "$key" ]
    [ "$("$BIN/manifest" get out/manifest.yaml parameters.init_except)" = "- fc3.*" ]
    "$BIN/manifest" verify out/manifest.yaml
    rm out/manifest.yaml
    fails_with 3 "content '[0-9a-f]{12} except fc3.\*', not '[0-9a-f]{12} except fc\*'" \
        "${go[@]}" -q --init hundred.safetensors --init-except 'fc*' --out out --resume
    # The same model from other ranks; and where the file lacks the tensors.
    succeeds "$BIN/train-ddp" -q --world-size 2 "${go[@]:1}" --init hundred.safetensors --init-except 'net.fc3.*' --out ddp
    [ "$(content ddp/model.st.zst)" = "$(content out/model.st.zst)" ]
    rewrite less.safetensors <<<"del tensors['fc3.weight'], tensors['fc3.bias']"
    fails_with 3 "no tensor 'fc3.weight' .*; --init-except 'fc3.\*' begins it" "${go[@]}" --init less.safetensors --out less
    succeeds "${go[@]}" -q --init less.safetensors --init-except 'fc3.*' --out less
    [ "$(content less/model.st.zst)" = "$(content out/model.st.zst)" ]
    # Their initial values are those of the experiment.
    succeeds "${go[@]}" --init less.safetensors --init-except 'fc3.*' --set 'tensors={fc3.weight: {init: one}}' --out one
    [[ $stderr != *"no effect"* ]] || fail "$stderr"
    [ "$("$BIN/tensor" export --format csv one/model.st.zst fc3.weight | tr , '\n' | sort -u)" = 1 ]
}

@test "initial_weights of an experiment: the bits of --init, from a file found beside the experiment" {
    local go=("$BIN/train-single" -q --train "$train") key
    mkdir -p sub/weights
    rewrite sub/weights/hundred.safetensors <<'END'
tensors["fc3.weight"] = ("F32", [100, 84], bytes(4 * 8400))
END
    write_experiment sub/e.yaml "$LENET_BN" global_batch=20 epochs=1 \
        'initial_weights={file: weights/hundred.safetensors, except: [fc3.weight]}'
    "${go[@]}" --experiment e.yaml --init sub/weights/hundred.safetensors --init-except fc3.weight --out by-option
    succeeds "${go[@]}" --experiment sub/e.yaml --out by-key
    same_model "$(content by-option/model.st.zst)" by-key "initial_weights"
    "$BIN/manifest" verify by-key/manifest.yaml
    [ "$("$BIN/manifest" get by-key/manifest.yaml parameters.initial_weights.file)" = hundred.safetensors ]
    grep -q 'path: .*sub/weights/hundred.safetensors' by-key/manifest.yaml || fail "$(cat by-key/manifest.yaml)"
    # The content is a part of the key, the name and the place are not.
    key=$("$BIN/manifest" get by-key/manifest.yaml key)
    cp sub/weights/hundred.safetensors other.safetensors
    printf 'schema: lockstep.experiment/1\nname: based\nbase: sub/e.yaml\n' >based.yaml
    [ "$("${go[@]}" --experiment based.yaml --print-key)" = "$key" ]
    [ "$("${go[@]}" --experiment sub/e.yaml --set initial_weights.file=other.safetensors --print-key)" = "$key" ]
    [ "$("${go[@]}" --experiment sub/e.yaml --init other.safetensors --print-key)" = "$key" ]
    [ "$("${go[@]}" --experiment sub/e.yaml --init ours.safetensors --print-key)" != "$key" ]
    [ "$("${go[@]}" --experiment sub/e.yaml --set 'initial_weights.except=["fc3.*"]' --print-key)" != "$key" ]
    [ "$("${go[@]}" --experiment based.yaml --set initial_weights=null --print-key)" = "$("${go[@]}" --experiment e.yaml --print-key)" ]
    # A resumed run checks them.
    rm -r by-key
    "${go[@]}" --experiment sub/e.yaml --stop-after-steps 3 --out by-key
    fails_with 3 "from a run with an --init checkpoint of content" "${go[@]}" --experiment sub/e.yaml --init ours.safetensors --out by-key --resume
    succeeds "${go[@]}" --experiment sub/e.yaml --out by-key --resume
    same_model "$(content by-option/model.st.zst)" by-key "resumed"
    # Refusals name the key.
    go+=(--experiment sub/e.yaml --out out)
    fails_with 3 "is F32 \[100,84\], .*; initial_weights.except 'fc3.\*' begins it at" "${go[@]}" --set initial_weights.except=null
    fails_with 3 "'initial_weights.except fc4' matches no tensor" "${go[@]}" --set 'initial_weights.except=[fc4]'
    fails_with 2 "'--init-except': the experiment has 'initial_weights'" "${go[@]}" --init-except 'fc3.*'
    fails_with 3 "e.yaml:.*'initial_weights.except' needs 'initial_weights.file'" "${go[@]}" --set initial_weights.file=null
    fails_with 2 "'initial_weights.file': expected a file" "${go[@]}" --set initial_weights.file=sub/
    fails_with 3 "sub/gone.safetensors" "${go[@]}" --set initial_weights.file=sub/gone.safetensors
    fails_with 2 "did you mean 'initial_weights'" "${go[@]}" --set pretrained=ours.safetensors
    nothing_in out
}

@test "names of 127 bytes and with '-': trained, resumed, frozen, exported, replayed, and read back" {
    need_tool tensor replay
    local long name tools=("$BIN/train-single" -q --experiment names.yaml --train "$train")
    long=$(printf 'backbone.down-sample_%.0s' {1..7} | cut -c1-127)
    cat >names-model.yaml <<END
schema: lockstep.model/1
name: names
input: [3, 32, 32]
layers:
- conv: {out: 2, kernel: 5, stride: 4, name: $long}
- batch_norm: {name: ${long%?}B}
- gelu: {name: ${long%?}G}
- group_norm: {groups: 2, name: ${long%?}N}
- flatten
- linear: {out: 10, name: head-1}
END
    write_experiment names.yaml model=./names-model.yaml global_batch=20 epochs=2 "tensors={$long.bias: {trained_epochs: 0}}"
    "${tools[@]}" --out run --keep-states 2
    "${tools[@]}" --out half --stop-after-steps 20 || [ $? -eq 5 ]
    "${tools[@]}" --out half --resume
    same_model "$(content run/model.st.zst)" half "a resumed run"
    succeeds "$BIN/replay" run --train "$train" --segments 1
    for name in "$long.bias" "${long%?}B.running_mean" head-1.weight; do
        "$BIN/tensor" cat run/model.st.zst "$name" >/dev/null || fail "$name"
    done
    zstd -dqc run/model.st.zst >ours.safetensors
    rewrite wrapped.safetensors <<<"tensors = {'model.' + name: t for name, t in tensors.items()}"
    [ "$(predictions wrapped.safetensors)" = "$(predictions ours.safetensors)" ]
    fails_with 2 "did you mean '$long.bias'" "${tools[@]}" --out x --set "tensors={$long.bios: {trained_epochs: 0}}"
    "$BIN/tensor" export --format onnx --out names.onnx run
    grep -aq "${long%?}G/step3" names.onnx
    grep -aq "${long%?}B.running_mean" names.onnx
}

@test "--init-except: a pattern that matches nothing is refused, with a near name, and patterns that match all" {
    local go=("$BIN/train-single" --experiment e.yaml --train "$train" --out out)
    fails_with 2 "'--init-except fc3' matches no tensor of model 'lenet-bn' or of the file: did you mean 'fc3.\*'\?" \
        "${go[@]}" --init ours.safetensors --init-except fc3
    fails_with 2 "'--init-except fc3.wieght' .*: did you mean 'fc3.weight'\?" \
        "${go[@]}" --init ours.safetensors --init-except 'fc1.*' --init-except fc3.wieght
    fails_with 2 "--init-except matches all tensors of model 'lenet-bn': name fewer" "${go[@]}" --init ours.safetensors --init-except '*'
    fails_with 2 "'--init-except' needs --init MODEL" "${go[@]}" --init-except fc3.weight
    nothing_in out
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

@test "track_running_stats=False: refused with the reason; training can begin from such a checkpoint" {
    local reason="the result of a test image would depend on its batch"
    rewrite without.safetensors <<<"tensors = {name: t for name, t in tensors.items() if '.running_' not in name}"
    refused "no tensor 'bn1.running_mean': a batch norm with track_running_stats=False is not supported, because $reason" without.safetensors
    fails_with 3 "; --init-except '\*.running_\*' begins the statistics" \
        "$BIN/train-single" --experiment e.yaml --train "$train" --init without.safetensors --out out
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --init without.safetensors --init-except '*.running_*' --out out
    sed '0,/- batch_norm/s//- batch_norm: {track_running_stats: false}/' "$lenet" >m.yaml
    fails_with 3 "m.yaml:[0-9]*:[0-9]*: 'track_running_stats': batch norm always keeps .*depend on its batch; leave it out: training computes the same without it" \
        "$BIN/evaluate" --model ours.safetensors --architecture m.yaml --data "$test" --out evaluated
    nothing_in evaluated
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
}

# zip FILE MEMBER...: an archive of empty members.
zip() {
    "$PYTHON" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for name in sys.argv[2:]: z.writestr(name, "")' "$@"
}

@test "files of other formats are named, with the way to a tensor file" {
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 44730000\n' >x.safetensors
    refused "'x.safetensors': it is a pointer of Git LFS, not the file itself: run git lfs pull$" x.safetensors
    printf '\n<!DOCTYPE HTML>\n<html><head>' >x.safetensors
    refused "'x.safetensors': it is a web page: its download failed" x.safetensors
    printf 'Invalid username or password.' >x.safetensors
    refused "it is text that begins with 'Invalid username or password.'" x.safetensors
    : >x.safetensors
    refused "'x.safetensors': it is empty" x.safetensors
    printf '\x89HDF\r\n\x1a\n\0\0\0\0' >x.h5
    refused "it is an HDF5 file.*h5py.*safetensors.numpy.save_file" x.h5
    printf '\x08\x07\x12\x07pytorch\x1a\x062.1.0' >x.onnx
    refused "it is an ONNX model: save the state_dict" x.onnx
    gzip -c ours.safetensors >x.gz
    refused "it is compressed by gzip: unpack it first" x.gz
    tar -cf x.tar ours.safetensors
    refused "it is a tar archive: unpack it first" x.tar
    "$PYTHON" -c 'import pickle; pickle.dump({"conv1.weight": [1.0]}, open("x.pkl", "wb"))'
    refused "it is a pickle: load it in Python" x.pkl
    zip x.pt x/data.pkl x/byteorder x/data/0 x/version
    refused "it is a checkpoint of torch.save: convert it: .*torch.load\('x.pt', 'cpu'\).*'x.pt.safetensors'" x.pt
    zip x.pt x/data.pkl x/code/__torch__.py x/constants.pkl
    refused "it is a TorchScript archive: .*torch.jit.load\('x.pt', 'cpu'\).state_dict" x.pt
    zip x.keras metadata.json config.json model.weights.h5
    refused "it is a Keras archive \(.keras\)" x.keras
    zip x.npz x.npy y.npy
    refused "it is an archive of NumPy arrays \(.npz\), for import-images" x.npz
    zip x.zip README
    refused "it is a zip archive: pass a tensor file" x.zip
    # A damaged file of the right format keeps its own message.
    head -c 3000 trained.st.zst >cut.st.zst
    refused "'cut.st.zst': the file ends at byte 3000" cut.st.zst
    head -c 3000 ours.safetensors >cut.safetensors
    refused "it ends inside" cut.safetensors
}

@test "a folder, a data set, predictions or a run's state instead of a model are named, with the file to pass" {
    local file
    mkdir -p run/train empty
    refused "'empty': it is a folder: pass a tensor file: .st.zst or .safetensors" empty
    cp trained.st.zst run/train/model.st.zst
    refused "'run': it is a folder: pass 'run/train/model.st.zst'" run
    cp trained.st.zst run/model.st.zst
    refused "'run': it is a folder: pass 'run/model.st.zst'" run
    refused "'$test': it is a data set, not a model: pass a run's model.st.zst" "$test"
    fails_with 3 "it is a data set" "$BIN/evaluate" --model "$test" --data "$test" --out out
    fails_with 3 "it is the steps of a run" "$BIN/evaluate" --model "$BATS_FILE_TMPDIR/trained/steps.st.zst" --data "$test" --out out
    "$BIN/evaluate" --model trained.st.zst --data "$test" --out predicted
    refused "it is predictions, not a model" predicted/predictions.st.zst
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --keep-states 5 --out kept
    for file in kept/states/*.st.zst; do
        refused "it is the state of a run, for --resume, not a model" "$file"
    done
}

@test "the line that converts a checkpoint of PyTorch does so, for each way to save one" {
    need_torch
    local expected line name how=(--architecture "$lenet" --mean "0.5,0.5,0.5" --std "0.5,0.5,0.5")
    expected=$(predictions ours.safetensors "${how[@]}")
    # The library itself may be missing here; its save_file has this form.
    mkdir safetensors
    : >safetensors/__init__.py
    printf 'import safetensors_writer\ndef save_file(tensors, path): safetensors_writer.save(path, tensors)\n' >safetensors/torch.py
    "$PYTHON" - <<'END'
import torch, safetensors_reader
read, _ = safetensors_reader.read(open("ours.safetensors", "rb").read())
state = {name: torch.tensor(values).reshape(shape) for name, (_, shape, values) in read.items()}
torch.save(state, "plain.pt")
torch.save({"epoch": 3, "model_state_dict": state, "optimizer": {"lr": 0.1}}, "model.pth")
torch.save({"state_dict": {"model." + name: t for name, t in state.items()}}, "lightning.ckpt")
torch.save({"model": state}, "old.pt", _use_new_zipfile_serialization=False)
best = torch.tensor(93.5)
torch.save({"net": {"module." + name: t for name, t in state.items()}, "acc": best, "epoch": 3}, "ckpt.pth")
adam = torch.optim.Adam([torch.nn.Parameter(state["fc3.bias"].clone())])
adam.param_groups[0]["params"][0].sum().backward()
adam.step()
# Transposed in memory, which safetensors refuses.
weights = {name: t.t().contiguous().t() if t.dim() == 2 else t for name, t in state.items()}
torch.save({"optimizer": adam.state_dict(), "pixels": {"mean": best}, "weights": weights}, "adam.pth")
zeros = {name: torch.zeros_like(t) for name, t in state.items()}
torch.save({"state_dict": state, "state_dict_ema": zeros}, "timm.pth.tar")
END
    for name in plain.pt model.pth lightning.ckpt old.pt ckpt.pth adam.pth timm.pth.tar; do
        run --separate-stderr -- "$BIN/evaluate" --model "$name" --data "$test" --out out --architecture "$lenet"
        [ "$status" -eq 3 ]
        line=${stderr#*: convert it: python3 -c \"}
        printf '%s\n' "${line%\"}" >>lines.py
    done
    "$PYTHON" lines.py || fail "$(cat lines.py)"
    for name in plain.pt model.pth lightning.ckpt old.pt ckpt.pth adam.pth timm.pth.tar; do
        [ "$(predictions "$name.safetensors" "${how[@]}")" = "$expected" ] || fail "$name" "$(cat said)"
    done
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
