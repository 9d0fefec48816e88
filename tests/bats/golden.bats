#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The scripts next to the committed golden files reproduce them.
load helpers

setup() {
    GOLDEN=$ROOT/tests/golden
}

@test "PyTorch reproduces operations.safetensors" {
    need_torch
    succeeds "$PYTHON" "$GOLDEN/make_golden.py" "$WORK"
    succeeds "$PYTHON" "$ROOT/tests/python/compare_tensors.py" "$WORK/operations.safetensors" \
        "$GOLDEN/operations.safetensors" 1e-9
}

@test "torchvision reproduces augment.safetensors" {
    need_torch
    has_modules torchvision || skip "$PYTHON has no torchvision (make deps-torch)"
    succeeds "$PYTHON" "$GOLDEN/make_augment.py" "$WORK"
    succeeds "$PYTHON" "$ROOT/tests/python/compare_tensors.py" "$WORK/augment.safetensors" \
        "$GOLDEN/augment.safetensors" 0
}

@test "the tools read the golden files, and they are small" {
    need_tool tensor
    local file total=0
    for file in "$GOLDEN"/*.safetensors; do
        succeeds "$BIN/tensor" info "$file"
        total=$((total + $(stat -c %s "$file")))
    done
    [ "$total" -gt 0 ] && [ "$total" -lt 2000000 ] || fail "$total bytes"
}
