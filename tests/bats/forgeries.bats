#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Seeded forgeries: runs that were not trained as they say, consistent with themselves in every hash
# and every file. replay must catch each.
load helpers
load training
load forging

# The run that all forgeries claim to be: 12 steps in 4 segments.
CLAIM=(model=./net.yaml global_batch=32 epochs=4 'optimizer={kind: adam, lr: 0.001}'
    'average={kind: ema, decay: 0.9}' 'augment=[{random_crop: {padding: 2}}, {horizontal_flip: {p: 0.5}}]')

setup() {
    need_training
    cd "$WORK" || return
    "$BIN/synth-cifar" -q --train 90 --test 20 --shape 3,12,12 --seed 3 --out data
    "$BIN/synth-cifar" -q --train 90 --test 20 --shape 3,12,12 --seed 4 --out other-data
    small_model net.yaml
    train honest data
}

# train OUT DATA [KEY=VALUE...]: the claimed run, but for these settings.
train() {
    write_experiment e.yaml "${CLAIM[@]}" "${@:3}"
    "$BIN/train-single" -q --experiment e.yaml --train "$2/train.st.zst" --out "$1" --keep-states 4
}

# files: those of run/ that have the series of steps, with the prefix of the names there.
files() {
    echo steps.st.zst
    (cd run && printf '%s steps.\n' state.st.zst states/*)
}

# in_series NAME BYTES: changes step 5 in a series, in all files of the run that have this step.
in_series() {
    local file prefix
    while read -r file prefix; do
        [ "$file" != states/000000003.st.zst ] || continue
        forge "run/$file" "data[place('$prefix$1') + 4 * $2 + 1] ^= 16"
    done < <(files)
}

# pass_off DATA [KEY=VALUE...]: another training, passed off as the claimed one: its metadata and its
# manifest have the settings and the data of the claim.
pass_off() {
    local file
    train other "$@"
    for file in state.st.zst states/000000003.st.zst states/000000006.st.zst states/000000009.st.zst; do
        zstd -dcqf "run/$file" >claimed
        edit_tensors "other/$file" '
claimed = open("claimed", "rb").read()
claimed = json.loads(claimed[8:8 + int.from_bytes(claimed[:8], "little")])["__metadata__"]
for key in "parameters", "data": header["__metadata__"][key] = claimed[key]'
    done
    claim
    rm -r run
    mv other run
    sign run
}

# claim: other/manifest.yaml gets the settings, the data and the key of run/.
claim() {
    "$PYTHON" - <<'END'
import re
read = lambda run: dict(re.findall(r"(?ms)^(\w+)(:.*?\n)(?=\w|\Z)", open(run + "/manifest.yaml").read()))
mine, theirs = read("other"), read("run")
for name in "parameters", "inputs", "key": mine[name] = theirs[name]
open("other/manifest.yaml", "w").write("".join(name + mine[name] for name in mine))
END
}

# settle: the figures in the manifest of run/ become those of its files. `manifest verify` prints
# fewer digits than a manifest has.
settle() {
    local was is
    while read -r was is; do
        sed -i "s/: ${was%?}[0-9]*/: $is/" run/manifest.yaml
    done < <("$BIN/manifest" verify run 2>settled | sed -n "s/^figure .* is \(.*\) in '.*', and \(.*\) in '.*'$/\1 \2/p")
    sign run
    succeeds "$BIN/manifest" verify run
}

# state_of TENSOR: changes it in the state after step 6.
state_of() {
    forge run/states/000000006.st.zst "data[place('$1') + 1] ^= 4"
}

# Each line: what was forged, and how.
FORGERIES=(
    "a weight          state_of model.conv1.weight"
    "optimizer's state state_of optimizer.exp_avg_sq.fc1.weight"
    "batch norm        state_of model.bn1.running_mean"
    "averaged weights  state_of average.fc1.bias"
    "a loss            in_series loss 4"
    "a digest          in_series digest 8"
    "the learning rate pass_off data 'optimizer={kind: adam, lr: 0.002}'"
    "the seed          pass_off data seed=12"
    "the data's order  pass_off data shard_seed=5"
    "the augmentation  pass_off data 'augment=[{random_crop: {padding: 2}}]'"
    "the data          pass_off other-data"
    "the model         another_model"
    "the normalisation other_normalisation"
)

# The model of another training, in the place of this one's.
another_model() {
    train other data seed=12
    sed -i "s/$(content run/model.st.zst)/$(content other/model.st.zst)/" run/manifest.yaml
    cp other/model.st.zst run/
    sign run
}

other_normalisation() {
    local model
    model=$(content run/model.st.zst)
    edit_tensors run/model.st.zst 'header["__metadata__"]["normalize"] = header["__metadata__"]["normalize"].replace("0.", "0.1", 1)'
    sed -i "s/$model/$(content run/model.st.zst)/" run/manifest.yaml
    sign run
}

@test "replay finds every forgery, and only these" {
    local line caught=0
    local replays=("$BIN/replay" run --train data/train.st.zst --segments 4)
    cp -r honest run
    succeeds "${replays[@]}"
    for line in "${FORGERIES[@]}"; do
        rm -rf run other
        cp -r honest run
        eval "${line:18}" || fail "${line:0:18}: it could not be made"
        settle || fail "${line:0:18}: it is not consistent"
        run --separate-stderr "${replays[@]}"
        [ "$status" -eq 4 ] || fail "${line:0:18}: exit code $status" "$output" "$stderr"
        caught=$((caught + 1))
        echo "# ${line:0:18}: $(grep -m 1 differ <<<"$output")" >>"$WORK/caught"
    done
    [ "$caught" -eq 13 ] || fail "$(cat "$WORK/caught")"
}
