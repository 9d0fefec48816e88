# SPDX-License-Identifier: MIT
# Shared by the bats files on training: small data, small experiments, content hashes.
# shellcheck shell=bash
# shellcheck disable=SC2154 # bats and helpers.bash set the others

# need_training: skip if a tool that every training test uses was not built.
need_training() {
    need_tool synth-cifar shard train-single train-dp train-ddp train-mp evaluate tensor manifest
}

# make_data DIR N [TEST]: drawn images, N of them for training.
make_data() {
    "$BIN/synth-cifar" -q --train "$2" --test "${3:-64}" --seed 3 --out "$1"
}

# For setup_file, the data that a file's tests share; does nothing if the tools were not built.
# file_data N [TEST]: drawn images in data/. file_shards: the training images in 4 shards/.
# file_digits: images of another shape in small/.
file_data() {
    [ ! -x "$BIN/synth-cifar" ] || make_data "$BATS_FILE_TMPDIR/data" "$@"
}
file_shards() {
    [ ! -x "$BIN/shard" ] ||
        "$BIN/shard" -q --shards 4 --in "$BATS_FILE_TMPDIR/data/train.st.zst" --out "$BATS_FILE_TMPDIR/shards"
}
file_digits() {
    [ ! -x "$BIN/synth-cifar" ] ||
        "$BIN/synth-cifar" -q --train 80 --test 20 --shape 1,28,28 --out "$BATS_FILE_TMPDIR/small"
}

# file_run KEY=VALUE...: for setup_file: data/, and a run of that experiment, trained and evaluated,
# in run/. copy_run: for setup, both in $WORK.
file_run() {
    [ -x "$BIN/synth-cifar" ] && [ -x "$BIN/train-single" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    make_data data 300 90
    write_experiment e.yaml "$@"
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --test data/test.st.zst --out run/train
    "$BIN/evaluate" -q --model run/train/model.st.zst --data data/test.st.zst --out run/evaluate
}
copy_run() {
    need_training
    need_tool report
    cd "$WORK" || return
    cp -r "$BATS_FILE_TMPDIR/data" "$BATS_FILE_TMPDIR/run" .
}

# begin_training KEY=VALUE...: for setup, in $WORK, with that experiment in e.yaml. $data is the
# folder that setup_file made, $train and $test are its images.
# shellcheck disable=SC2034 # for files that load this
begin_training() {
    need_training
    data=$BATS_FILE_TMPDIR
    train=$data/data/train.st.zst
    test=$data/data/test.st.zst
    cd "$WORK" || return
    write_experiment e.yaml "$@"
}

# write_experiment FILE KEY=VALUE...: a quick experiment; a later value replaces an earlier one.
write_experiment() {
    local file=$1 assignment key
    local -A value=([schema]=lockstep.experiment/1 [name]=tiny [dataset]=synthetic
        [model]=$ROOT/experiments/models/lenet.yaml [strategy]=single [world_size]=1
        [virtual_shards]=4 [global_batch]=72 [epochs]=2 [seed]=11
        [optimizer]='{kind: sgd, lr: 0.01, momentum: 0.9}')
    shift
    for assignment; do
        value[${assignment%%=*}]=${assignment#*=}
    done
    for key in "${!value[@]}"; do
        printf '%s: %s\n' "$key" "${value[$key]}"
    done >"$file"
}

# shellcheck disable=SC2034 # for files that load this
LENET_BN=model=$ROOT/experiments/models/lenet-bn.yaml

# free_port: sets $port to one that nobody listens at.
# shellcheck disable=SC2034 # for files that load this
free_port() {
    port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
}

# content FILE: its content hash.
content() {
    "$BIN/tensor" hash "$1" | cut -d ' ' -f 1
}

# same_model EXPECTED DIR WHAT: the model in DIR has that content.
same_model() {
    local got
    got=$(content "$2/model.st.zst") || return 1
    [ "$got" = "$1" ] || fail "$3: content ${got:0:12} instead of ${1:0:12}"
}

# nobody_left WORD: no process has WORD in its command line.
nobody_left() {
    local found
    found=$(pgrep -a -f -- "$1") || return 0
    fail "still running: $found"
}

# unfinished DIR: no model and no manifest.
unfinished() {
    [ ! -e "$1/model.st.zst" ] || { fail "$1/model.st.zst exists"; return 1; }
    [ ! -e "$1/manifest.yaml" ] || fail "$1/manifest.yaml exists"
}

# smooth KEY=VALUE...: in run/, 21 steps with these keys of the experiment; the order in order.u32. The networks smooth.yaml
# and norms.yaml have no kinks (tests/python/torch_peer.py).
smooth() {
    cat >smooth.yaml <<'END'
schema: lockstep.model/1
name: smooth
input: [3, 32, 32]
layers: [conv: {out: 8, kernel: 5, stride: 2}, dropout2d: {p: 0.1}, gelu, avg_pool: {size: 7},
         residual: {body: [conv: {out: 8, kernel: 1}, stochastic_depth: {p: 0.4}]},
         residual: {body: [conv: {out: 8, kernel: 1}, stochastic_depth: {p: 0.3, mode: batch}]},
         flatten, dropout: {p: 0.3}, linear: {out: 10}]
END
    cat >norms.yaml <<'END'
schema: lockstep.model/1
name: norms
input: [3, 32, 32]
layers: [conv: {out: 8, kernel: 5, stride: 2, bias: false}, batch_norm: {momentum: 0.3}, gelu, avg_pool: {size: 2},
         flatten, linear: {out: 12, bias: false}, batch_norm, silu, linear: {out: 10}]
END
    write_experiment e.yaml model=smooth.yaml virtual_shards=1 global_batch=48 epochs=3 "$@"
    rm -rf run
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --dump-order order.u32
}

# follows_torch OPTIONS OTHER...: the run is PyTorch's training from the same weights with OPTIONS, and not one that differs
# by an OTHER: arguments of tests/python/torch_training.py, without braces.
follows_torch() {
    local other others=()
    for other in "${@:2}"; do others+=("{$other}"); done
    succeeds with_torch "$ROOT/tests/python/torch_training.py" run/model.st.zst - "$train" order.u32 \
        "{\"batch\": 48, \"seed\": 11, $1}" "${others[@]}"
}
