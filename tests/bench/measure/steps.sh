# SPDX-License-Identifier: MIT
# Runs a train tool for some steps and reads their times. Sourced by the scripts that measure
# training.
# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh sets `arg` and the rest

# train_steps KEY=VALUE...: runs the tool; the step times are in $BENCH/run/state.st.zst, and $kib is set.
#     model        name, or path of a description          [lenet-bn]
#     batch        global batch                            [64]
#     shards       V                                       [world]
#     tool         single, dp, ddp, mp                     [single]
#     device       as --device                             [cpu]
#     world        ranks                                   [1]
#     threads      of each rank                            [1]
#     workers      loader workers                          [0]
#     augment      none, affine, all                       [none]
#     steps        steps to run; with QUICK a twentieth    [800]
#     warm         first steps, which are left out         [a quarter]
#     isa          v4, v3, baseline                        [the best]
#     images       drawn images to train on                [the bench's data]
declare -A augmentation=(
    [none]='[]'
    [affine]='[random_affine: {degrees: 10, translate: [0.1, 0.1], scale: [0.9, 1.1]}]'
    [all]='[random_crop: {padding: 4}, horizontal_flip: {p: 0.5}, random_affine: {degrees: 10, translate: [0.1, 0.1], scale: [0.9, 1.1]}]'
)

train_steps() {
    local model folder samples epochs
    read_arguments model=lenet-bn batch=64 world=1 tool=single device=cpu math=fast threads=1 workers=0 augment=none steps=800 isa='' images='' "$@"
    case ${arg[isa]} in
    v4) cpu_has avx512vl || skip "needs AVX-512" ;;
    v3) cpu_has avx2 || skip "needs AVX2" ;;
    esac
    model=$(model_path "${arg[model]}")
    : "${arg[shards]:=${arg[world]}}"
    folder=$(train_data) || exit
    samples=$(images_in "$folder/train.st.zst")
    [ -z "$QUICK" ] || [ -n "${arg[warm]:-}" ] || arg[steps]=$((arg[steps] / 20 > 8 ? arg[steps] / 20 : 8))
    : "${arg[warm]:=$((arg[steps] / 4))}"
    arg[samples]=$samples
    epochs=$(((arg[steps] * arg[batch] + samples - 1) / samples + 1))
    rm -rf "$BENCH/run"
    usage ${arg[isa]:+env "LOCKSTEP_ISA=${arg[isa]}"} "$BIN/train-${arg[tool]}" -q --experiment "$root/experiments/R001/single.yaml" \
        --set "model=$model" --set normalize=null \
        --set "dataset=$("$BIN/manifest" get "$folder/manifest.yaml" parameters.dataset)" --set "global_batch=${arg[batch]}" \
        --set "virtual_shards=${arg[shards]}" --set "world_size=${arg[world]}" --set "epochs=$epochs" \
        --set "augment=${augmentation[${arg[augment]}]}" --loader-workers "${arg[workers]}" \
        --device "${arg[device]}" --math "${arg[math]}" --threads "${arg[threads]}" --stop-after-steps "${arg[steps]}" \
        --train "$folder/train.st.zst" --out "$BENCH/run"
}

# The folder of the training data: the bench's, or as many drawn images as requested.
train_data() {
    local folder
    if [ -z "${arg[images]}" ]; then
        data "$(model_data "${arg[model]}")"
    else
        folder=$BENCH/data/images-${arg[images]}
        [ -e "$folder/manifest.yaml" ] || drawn "${arg[images]}" "$(model_shape "${arg[model]}")" "$folder"
        echo "$folder"
    fi
}

# step_series NAME: one value per step, as recorded: loss, wall, load, forward, …
step_series() {
    "$BIN/tensor" cat "$BENCH/run/state.st.zst" "steps.$1" | od -An -v -tu8 -w8
}
