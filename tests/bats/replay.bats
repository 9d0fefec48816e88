#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# replay: random segments of a run, trained again.
load helpers
load training
load forging

setup_file() {
    file_data 600 100
    file_shards
    [ -x "$BIN/train-single" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    write_experiment e.yaml "$LENET_BN" epochs=3 'augment=[{random_crop: {padding: 2}}, {horizontal_flip: {p: 0.5}}]' \
        'average={kind: ema, decay: 0.9}' 'optimizer={kind: adam, lr: 0.001}'
    "$BIN/train-single" -q --experiment e.yaml --train data/train.st.zst --out run --keep-states 6
}

setup() {
    need_training
    cd "$WORK" || return
    data=$BATS_FILE_TMPDIR
    cp -r "$data/run" .
    ln -s "$data/data" data # where the manifest of run/ has its inputs
    train=$data/data/train.st.zst
}

# replays OPTION...: all six segments, of run/.
replays() {
    "$BIN/replay" run --train "$train" --segments 6 --seed 1 "$@"
}

# states RUN: the names of its states.
states() {
    (cd "$1/states" && find . -name '*.st.zst' -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')
}

@test "--keep-states cuts a run into equal parts, and changes no bit of it" {
    [ "$(states run)" = "000000005.st.zst 000000009.st.zst 000000014.st.zst 000000018.st.zst 000000023.st.zst " ] ||
        fail "$(states run)"
    succeeds "$BIN/train-ddp" -q --experiment "$data/e.yaml" --train "$train" --out plain --world-size 2
    same_model "$(content run/model.st.zst)" plain "without states"
    succeeds "$BIN/manifest" verify run
    succeeds "$BIN/manifest" diff run plain
    # A stopped and resumed run keeps them, too; one that starts over removes old ones.
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --train "$train" --out again --keep-states 6 --stop-after-steps 10
    succeeds "$BIN/train-dp" -q --experiment "$data/e.yaml" --train "$train" --out again --keep-states 6 --world-size 2 --resume
    [ "$(states run)" = "$(states again)" ] || fail "$(states again)"
    succeeds "$BIN/replay" again --train "$train" --segments 6
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --train "$train" --out again
    [ -z "$(states again)" ]
    ! grep -q states/ again/manifest.yaml || fail "old states are outputs"
}

@test "an honest run is equal, by every tool, and the figures are printed" {
    succeeds replays
    [ "$(grep -c ': equal$' <<<"$output")" = 7 ] || fail "$output"
    [[ $output == *"segment 1 of 6: steps 1 to 5: equal"* ]] || fail "$output"
    [[ $output == *"6 of 6 segments trained again, 100 % of the steps: equal"* ]] || fail "$output"
    succeeds replays --segments 2 --tool train-ddp --world-size 2 --threads 1 --loader-workers 2
    [[ $output == *"2 of 6 segments trained again"* ]] || fail "$output"
    [[ $output == *"probability of finding a forgery: 33.3 % in 1 segment, 80 % in 3 of 6"* ]] || fail "$output"
    succeeds replays --segments 1 --tool train-dp --world-size 2
    succeeds replays --segments 1 --tool train-mp --world-size 2
    # Without --train the data are where the manifest says; shards will do.
    succeeds "$BIN/replay" run --segments 1
    succeeds "$BIN/replay" run --segments 1 --train "$data/shards"
}

@test "of a run that was executed twice, the execution that kept its states is trained again" {
    mkdir -p store/1 store/2
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --train "$train" --out store/1/train
    ln -s store/1 linked
    fails_with 3 "cannot replay: 'linked/train': it kept no states" "$BIN/replay" linked --train "$train"
    # One of another experiment does not stand for it.
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --set seed=7 --train "$train" --out store/2/train --keep-states 3
    fails_with 3 "cannot replay: 'linked/train': it kept no states" "$BIN/replay" linked --train "$train"
    rm -r store/2/train
    cp -r run store/2/train
    succeeds "$BIN/replay" linked --train "$train" --segments 6
    [[ $output == *"6 of 6 segments trained again"* ]] || fail "$output"
}

@test "the choice is random, and repeated by its seed" {
    local seed
    succeeds "$BIN/replay" run --train "$train" --segments 2
    seed=$(sed -n 's/^chosen by --seed //p' <<<"$output")
    local first=$output
    succeeds "$BIN/replay" run --train "$train" --segments 2 --seed "$seed"
    [ "$output" = "$first" ] || fail "$first" "$output"
}

# The forgeries are consistent with themselves; forgeries.bats has more kinds.
@test "a forged segment is named with its first step, and the first tensor after it" {
    # A weight in the middle of the run, from its state on.
    forge run/states/000000014.st.zst 'data[place("model.conv1.weight") + 2] ^= 1'
    run replays
    [ "$status" -eq 4 ] || fail "exit code $status" "$output"
    [[ $output == *"segment 3 of 6: steps 10 to 14: different, after step 14 in tensor 'model.conv1.weight'"* ]] || fail "$output"
    grep -Eq "^segment 4 of 6: steps 15 to 18: different, first at step 15, and after step 18 in tensor '[a-z_0-9.]+'$" <<<"$output" || fail "$output"
    [ "$(grep -c ': equal$' <<<"$output")" = 4 ] || fail "$output"
    [[ $output != *"the model "* && $output != *probability* ]] || fail "$output"

    # A loss that looks better, in all files that have it: no tensor differs.
    rm -rf run && cp -r "$data/run" .
    for file in steps.st.zst state.st.zst states/000000014.st.zst states/000000018.st.zst states/000000023.st.zst; do
        name=steps.loss
        [ "$file" != steps.st.zst ] || name=loss
        forge "run/$file" "data[place('$name') + 4 * 11 + 1] ^= 16"
    done
    run replays
    [ "$status" -eq 4 ] || fail "exit code $status" "$output"
    grep -qx "segment 3 of 6: steps 10 to 14: different, first at step 12" <<<"$output" || fail "$output"
    [ "$(grep -c ': equal$' <<<"$output")" = 5 ] || fail "$output"
}

# first_only: replays one segment of run/, the first.
first_only() {
    "$BIN/replay" run --train "$train" --segments 1 --seed 3
}

@test "the model is compared, whichever segments are chosen" {
    local kind
    for kind in 'average={kind: none}' 'average={kind: lookahead, decay: 0.9, every: 3}' 'average={kind: ema, decay: 0.5}' keep=best; do
        rm -rf run
        write_experiment e.yaml "$LENET_BN" 'validation={samples: 100}' "$kind"
        succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --keep-states 6
        succeeds first_only
        [[ $output == *"segment 1 of 6: "*"the model has the tensors of the last state, which was not trained again; its normalisation and classes were not compared"* ]] || fail "$output"
        succeeds replays
        [[ $output == *"the model is the one trained again"* ]] || fail "$output"
        forge run/model.st.zst 'data[place("fc3.bias")] ^= 1'
        run first_only
        [ "$status" -eq 4 ] || fail "exit code $status" "$output"
        [[ $output == *"the model is not that of the last state: 'fc3.bias' differs"* ]] || fail "$output"
    done
    # Trained again, all of it is compared.
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --keep-states 6
    forge run/model.st.zst 'header["__metadata__"]["normalize"] = header["__metadata__"]["normalize"].replace("0.", "0.1", 1)'
    run replays
    [ "$status" -eq 4 ] || fail "exit code $status" "$output"
    [[ $output == *"segment 6 of 6: "*": different, after step "*" in the model's 'normalize'"* ]] || fail "$output"
}

@test "contradictions are refused before anything is trained" {
    forge run/steps.st.zst 'data[place("loss") + 4 * 11 + 1] ^= 16'
    fails_with 3 "000000014.st.zst': its step 12 is not that of 'run/steps.st.zst'" "$BIN/replay" run --train "$train"
    # A state without its last steps hides nothing.
    rm -rf run && cp -r "$data/run" .
    forge run/state.st.zst '
names = [n for n in header if n != "__metadata__"]
parts = [bytes(data[start + header[n]["data_offsets"][0]:start + header[n]["data_offsets"][1]]) for n in names]
at = 0
for i, n in enumerate(names):
    if n.startswith("steps."):
        parts[i] = parts[i][:len(parts[i]) // header[n]["shape"][0] * 25]
        header[n]["shape"] = [25]
    header[n]["data_offsets"] = [at, at + len(parts[i])]
    at += len(parts[i])
data[start:] = b"".join(parts)'
    fails_with 3 "state.st.zst': its step 26 is not that of 'run/steps.st.zst'" "$BIN/replay" run --train "$train"
    rm -rf run && cp -r "$data/run" .
    cp run/states/000000005.st.zst run/states/000000009.st.zst
    fails_with 3 "a state after step 5 follows one after step 5" "$BIN/replay" run --train "$train"
    rm -rf run && cp -r "$data/run" .
    cp run/state.st.zst run/model.st.zst
    TOOL=replay fails_with 3 "model.st.zst': its content is not the one in the manifest" replays --segments 1
    rm -rf run && cp -r "$data/run" .
    zstd -dcq "$data/run/states/000000005.st.zst" | zstd -q -19 >run/states/000000005.st.zst
    succeeds replays --segments 1
    rm run/states/000000009.st.zst
    fails_with 3 "000000009.st.zst'" "$BIN/replay" run --train "$train"
}

@test "runs that cannot be replayed, and wrong inputs, are refused by name" {
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --train "$train" --out none --set epochs=1
    fails_with 3 "'none': it kept no states: train with --keep-states N" "$BIN/replay" none --train "$train"
    fails_with 3 "its manifest is not one of a training" "$BIN/replay" "$data/data" --train "$train"
    fails_with 3 "nowhere" "$BIN/replay" nowhere
    succeeds "$BIN/train-ddp" -q --experiment "$data/e.yaml" --train "$train" --out fast --set epochs=1 --keep-states 2 --world-size 2 --reduce fast
    fails_with 3 "trained with '--reduce fast'" "$BIN/replay" fast --train "$train"
    fails_with 2 "'--tool': expected train-single" "$BIN/replay" run --train "$train" --tool cat
    fails_with 2 "'--device tpu': expected auto, cpu, cuda" "$BIN/replay" run --train "$train" --device tpu
    make_data other 600 10
    "$BIN/synth-cifar" -q --train 600 --test 64 --seed 4 --out other
    run --separate-stderr "$BIN/replay" run --train other/train.st.zst --segments 6
    [ "$status" -eq 3 ] || fail "exit code $status" "$stderr"
    [[ $stderr == *"other training data"* ]] || fail "$stderr"
    fails_with 2 "'--keep-states'" "$BIN/train-single" --experiment "$data/e.yaml" --train "$train" --out x --keep-states 1
}

@test "first weights from a checkpoint are part of the run" {
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --train "$train" --out more --set seed=5 --init run/model.st.zst --keep-states 4
    succeeds "$BIN/replay" more --train "$train" --init run/model.st.zst --segments 4
    run --separate-stderr "$BIN/replay" more --train "$train" --segments 4
    [ "$status" -eq 3 ] || fail "exit code $status" "$output" "$stderr"
    [[ $stderr == *"--init"* ]] || fail "$stderr"
    succeeds "$BIN/train-single" -q --experiment "$data/e.yaml" --train "$train" --out but --set seed=5 --init run/model.st.zst --init-except 'fc3.*' --keep-states 4
    succeeds "$BIN/replay" but --train "$train" --init run/model.st.zst --segments 1
}
