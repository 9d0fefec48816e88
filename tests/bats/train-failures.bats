# SPDX-License-Identifier: MIT
# Failures in training: one clear line, the correct exit code, nothing half-written.

load helpers
load training

setup_file() {
    file_data 400 64
    file_digits
    file_shards
}

setup() {
    begin_training
}

# refuses CODE PATTERN OPTION...: train-single refuses; nothing is left in out.
refuses() {
    local code=$1 pattern=$2
    shift 2
    fails_with "$code" "$pattern" "$BIN/train-single" --experiment e.yaml --out out "$@" || return 1
    nothing_in out
}

@test "options: missing, unknown, invalid" {
    fails_with 2 "'--experiment'" "$BIN/train-single" --train "$train" --out out
    fails_with 2 "'--train'" "$BIN/train-single" --experiment e.yaml --out out
    fails_with 2 "'--out'" "$BIN/train-single" --experiment e.yaml --train "$train"
    refuses 2 "stop-after-steps" --train "$train" --stop-after-step 3
    refuses 2 "'--reduce': .*'fastest'" --train "$train" --reduce fastest
    refuses 2 "'--checkpoint-every': .*'0'" --train "$train" --checkpoint-every 0
    refuses 2 "device gpu" --train "$train" --device gpu
    refuses 1 "'cuda'.*no CUDA backend" --train "$train" --device cuda
    refuses 2 "test data" --train "$train" --test -
    refuses 2 "threads" --train "$train" --threads 0
    [ ! -e out ]
}

@test "an experiment with an unknown key, a bad --set" {
    fails_with 3 "missing.yaml" "$BIN/train-single" --experiment missing.yaml --train "$train" --out out
    printf 'epoch: 3\n' >>e.yaml
    refuses 3 "e.yaml:[0-9]+:[0-9]+: .*epochs" --train "$train"
    write_experiment e.yaml
    refuses 2 "--set 'epochs=many'" --train "$train" --set epochs=many
    refuses 2 "lrate" --train "$train" --set optimizer.lrate=1
    [ ! -e out ]
}

@test "a world size that does not divide V" {
    local tool
    for tool in train-single train-ddp; do
        fails_with 2 "3" "$BIN/$tool" --experiment e.yaml --train "$train" --out out --world-size 3
    done
    refuses 2 "world-size 2" --train "$train" --world-size 2
    [ ! -e out ]
}

@test "data that is missing, damaged or of another shape" {
    refuses 3 "'missing.st.zst'" --train missing.st.zst
    head -c 10000 "$train" >cut.st.zst
    refuses 3 "'cut.st.zst'" --train cut.st.zst
    cp "$train" flipped.st.zst
    printf 'XXXX' | dd of=flipped.st.zst bs=1 seek=5000 conv=notrunc status=none
    refuses 3 "'flipped.st.zst'" --train flipped.st.zst
    refuses 3 "28.*32" --train "$data/small/train.st.zst"
    refuses 3 "28.*32" --train "$train" --test "$data/small/test.st.zst"
    refuses 3 "'missing.st.zst'" --train "$train" --test missing.st.zst
    TOOL=train-single fails_with 3 "standard input|'-'" sh -c \
        "head -c 10000 '$train' | '$BIN/train-single' --experiment e.yaml --train - --out out"
    nothing_in out
}

@test "shards for another experiment, a shard that is missing" {
    refuses 3 "4" --train "$data/shards" --set virtual_shards=2
    refuses 3 "shard_seed|seed" --train "$data/shards" --set shard_seed=5
    cp -r "$data/shards" some
    rm some/shard-00002-of-00004.st.zst
    refuses 3 "shard" --train some
}

@test "more classes than the model has" {
    cat >three.yaml <<'END'
schema: lockstep.model/1
name: three
input: [3, 32, 32]
layers: [flatten, linear: {out: 3}]
END
    refuses 3 "10 classes.*'three' has 3" --train "$train" --set model=./three.yaml
}

@test "a loss that is not finite: no model, no manifest, the last good state" {
    local tool
    for tool in train-single train-ddp; do
        rm -rf out
        fails_with 1 "step [0-9]+.*(nan|inf)" "$BIN/$tool" -q --experiment e.yaml --train "$train" --out out \
            --set optimizer.lr=100000
        unfinished out
        [ ! -e out/steps.st.zst ]
        [ ! -e out/state.st.zst ]
    done
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 2
    cp out/state.st.zst before
    fails_with 3 "optimizer.lr" "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --resume \
        --set optimizer.lr=100000
    cmp before out/state.st.zst
}

@test "a rank that dies is named soon, and nothing is left behind" {
    write_experiment long.yaml epochs=2500 world_size=2
    local pid victim code=0 begin
    "$BIN/train-ddp" -q --experiment long.yaml --train "$train" --out "$WORK/out" 2>err &
    pid=$!
    wait_for out/state.st.zst
    victim=$(rank_process "$pid" 1)
    begin=$SECONDS
    kill -KILL "$victim"
    wait "$pid" || code=$?
    # A rank that was only stopped would be waited for for a minute; a busy machine takes seconds
    # for an immediate answer.
    [ $((SECONDS - begin)) -lt 50 ] || fail "it took $((SECONDS - begin)) s"
    [ "$code" -eq 1 ] || fail "exit code $code" "$(cat err)"
    [ "$(wc -l <err)" -eq 1 ]
    grep -Eq "rank 1 was killed by signal 9" err || fail "$(cat err)"
    nobody_left "$WORK/out"
    unfinished out
    # The earlier state is whole.
    succeeds "$BIN/train-ddp" -q --experiment long.yaml --train "$train" --out out --resume --stop-after-steps 1
}

@test "an output folder that cannot be made, or that another process has locked" {
    touch file
    fails_with 1 "'file/out'|'file'" "$BIN/train-single" --experiment e.yaml --train "$train" --out file/out
    if [ "$(id -u)" -ne 0 ]; then
        mkdir closed
        chmod a-w closed
        fails_with 1 "'closed/out'" "$BIN/train-single" --experiment e.yaml --train "$train" --out closed/out
    fi
    mkdir held
    local holder
    exec {holder}>held/.lock
    flock "$holder"
    fails_with 1 "'held'.*another process" "$BIN/train-single" --experiment e.yaml --train "$train" --out held
    exec {holder}>&-
}

@test "a full disk leaves no incomplete file" {
    # A file size limit stands in for a full disk.
    TOOL=train-single fails_with 1 "cannot write: 'out/state.st.zst'" bash -c "trap '' XFSZ; ulimit -f 40; exec '$BIN/train-single' -q \
        --experiment e.yaml --train '$train' --out out"
    nothing_in out
    TOOL=train-single fails_with 1 "standard output" sh -c "'$BIN/train-single' --experiment e.yaml \
        --print-parameters >/dev/full"
    TOOL=train-single fails_with 1 "standard output" sh -c "'$BIN/train-single' --experiment e.yaml \
        --train '$train' --print-key >/dev/full"
}

@test "an --init checkpoint that does not fit" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out ok --stop-after-steps 1
    refuses 3 "'missing.st'" --train "$train" --init missing.st
    # A small writer of plain safetensors: NAME=SHAPE, all zeros.
    write() {
        "$PYTHON" - "$@" <<'END'
import json, struct, sys
header, at = {}, 0
for item in sys.argv[2:]:
    name, shape = item.split("=")
    shape = [int(n) for n in shape.split("x")]
    size = 4
    for n in shape:
        size *= n
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
    at += size
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))
END
    }
    local lenet=(conv1.weight=6x3x5x5 conv1.bias=6 conv2.weight=16x6x5x5 conv2.bias=16 fc1.weight=120x400 fc1.bias=120
        fc2.weight=84x120 fc2.bias=84 fc3.weight=10x84)
    write missing.safetensors "${lenet[@]}"
    refuses 3 "fc3.bias" --train "$train" --init missing.safetensors
    write more.safetensors "${lenet[@]}" fc3.bias=10 fc4.bias=10
    refuses 3 "fc4.bias" --train "$train" --init more.safetensors
    write shape.safetensors "${lenet[@]}" fc3.bias=11
    refuses 3 "fc3.bias" --train "$train" --init shape.safetensors
    write right.safetensors "${lenet[@]}" fc3.bias=10
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --init right.safetensors \
        --stop-after-steps 1
}
