#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The commands of all other pages. A page that is not named here runs, too.
# shellcheck disable=SC2154 # output and stderr are set by helpers.bash
load helpers
load blocks

setup_file() {
    checkout_file
}

setup() {
    begin_blocks
}

@test "docs/data.md, and its pictures" {
    draw_flowers
    blocks_work docs/data.md
}

@test "docs/formats.md" {
    cp one/*.st.zst .
    cp model.st.zst ours.st.zst
    zstd -dcq model.st.zst >theirs.safetensors
    mkdir -p artifacts/{a,b}/seed-1
    cp -r one artifacts/a/seed-1/train
    cp -r one artifacts/b/seed-1/train
    blocks_work docs/formats.md
}

@test "docs/gpus.md, on the emulation" {
    export LOCKSTEP_CUDA_LIBRARY=$ROOT/build/lib/lockstep-cuda-emulated.so
    [ -e "$LOCKSTEP_CUDA_LIBRARY" ] || skip "the emulation is not built (make emulation)"
    synth-cifar -q --train 64 --test 8 --out drawn
    "$PYTHON" programs/rename.py drawn cifar10 0 fetch-cifar
    blocks_work docs/gpus.md 's|DATA|drawn/train.st.zst|'
}

@test "docs/hosts.md" {
    : >hosts
    # shellcheck disable=SC2016 # the reader's shell chooses the number
    blocks_work docs/hosts.md 's|train-ddp …|train-ddp --experiment experiments/R001/ddp4.yaml --train train.st.zst --out out2|; s|--out out$|&-$RANDOM|'
}

@test "docs/models.md, but for the line that needs PyTorch" {
    own_copies
    blocks_work docs/models.md '/lockstep.from_torch/d'
}

@test "docs/tools.md" {
    draw_flowers
    pipeline experiment workers TIME=0 >log 2>&1 || fail "$(cat log)"
    mv artifacts kept
    find kept/runs -exec touch -d '40 days ago' {} +
    cp -r one four
    zstd -dcq one/model.st.zst >theirs.safetensors
    # Each call of clean-runs finds all runs.
    blocks_work docs/tools.md "s/91bc/${keys[1]%/}/
        /^make test\|^make bench/!s/^/rm -rf artifacts; cp -a kept artifacts; /"
}

# Those that need PyTorch have tests/bats/from-torch.bats, and torchvision's weights.
@test "docs/transfer.md, but for the line that needs PyTorch" {
    draw_flowers
    blocks_work docs/transfer.md '/lockstep.from_torch/d; /^make compare/d'
}

@test "all other pages" {
    local page
    for page in $(cd "$ROOT" && grep -l '^```sh$' CONTRIBUTING.md docs/*.md); do
        grep -q "blocks_work $page" "$BATS_TEST_DIRNAME"/blocks*.bats || blocks_work "$page"
    done
}
