#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# schedule: plateau, a rate that falls if the loss of an epoch does not. test_optimizer.c has the rule, recipes.bats a whole
# training in PyTorch.
load helpers
load training

setup_file() {
    file_data 400 64
}

setup() {
    begin_training "$LENET_BN" epochs=7 'schedule={kind: plateau, patience: 0, threshold: 0.2, factor: 0.5, cooldown: 1}'
    go=(-q --experiment e.yaml --train "$train")
}

# losses: of the epochs of run/, which the rate follows. training_losses: of training.
losses() {
    "$BIN/tensor" export --format csv run/steps.st.zst epochs.loss | grep '^[0-9]'
}
training_losses() {
    sed -n "/^  epochs:/,\$ s/^[ -]* loss: //p" run/manifest.yaml
}

# falls THRESHOLD <LOSSES: the epochs, counted from 0, at which the rate falls.
falls() {
    awk -v threshold="$1" 'NR == 1 || $1 < best * (1 - threshold) { best = $1; if (cooling) cooling--; next }
        cooling { cooling--; next }
        { found = found ", " NR; cooling = 1 }
        END { print substr(found, 3) }'
}

# falls_at EPOCHS: run/ is the run whose rate is halved at these epochs.
falls_at() {
    [ -n "$1" ] || fail "the rate does not fall: this tests nothing"
    "$BIN/train-single" "${go[@]}" --out halved --set "schedule={kind: multistep, milestones: [$1], gamma: 0.5}"
    cmp run/model.st.zst halved/model.st.zst || fail "not at $1"
    # Exports recompute the rate.
    "$BIN/tensor" export --format csv run | cut -d, -f 2-5 >run.csv
    "$BIN/tensor" export --format csv halved | cut -d, -f 2-5 | cmp - run.csv
}

@test "the rate falls by the losses of training, and not by those of test data" {
    "$BIN/train-single" "${go[@]}" --out run
    falls_at "$(training_losses | falls 0.2)"
    losses >before
    "$BIN/train-single" "${go[@]}" --out run --test "$test"
    losses | cmp - before
    cmp run/model.st.zst halved/model.st.zst
}

@test "with validation samples the rate falls by their losses" {
    local epochs
    go+=(--set 'validation={samples: 60}' --set schedule.threshold=0.1)
    "$BIN/train-single" "${go[@]}" --out run
    epochs=$(losses | falls 0.1)
    [ "$epochs" != "$(training_losses | falls 0.1)" ] || fail "both losses say $epochs: this tests nothing"
    falls_at "$epochs"
    succeeds "$BIN/manifest" verify run/manifest.yaml
}

@test "every tool, world size and interruption: the same bits" {
    local validation stop
    for validation in null '{samples: 60}'; do
        go=(-q --experiment e.yaml --train "$train" --set "validation=$validation")
        "$BIN/train-single" "${go[@]}" --out whole
        # An epoch has 6 steps; 5 with validation.
        for stop in train-mp:4 train-dp:15 train-single:30 train-ddp:33; do
            rm -rf run
            "$BIN/train-ddp" "${go[@]}" --world-size 2 --out run --stop-after-steps "${stop#*:}"
            "$BIN/${stop%:*}" "${go[@]}" --set world_size=2 --out run --resume
            cmp whole/model.st.zst run/model.st.zst || fail "$stop"
        done
    done
    "$BIN/train-ddp" "${go[@]}" --world-size 4 --out four
    cmp whole/model.st.zst four/model.st.zst
    # More epochs continue a run; the loss of the one that was shorter is measured at its end.
    "$BIN/train-single" "${go[@]}" --out more --set epochs=3.5
    "$BIN/train-single" "${go[@]}" --out more --resume
    cmp whole/model.st.zst more/model.st.zst
}
