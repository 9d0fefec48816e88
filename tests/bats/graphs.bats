#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The first random networks of `make test-graphs` against PyTorch, and that the comparison would notice an error.
load helpers

setup() {
    need_tool train-single evaluate
    need_torch
    GRAPHS=$ROOT/tests/python/torch_graphs.py
}

@test "random networks: the logits, and every tensor after a step, are PyTorch's but for roundings" {
    succeeds with_torch "$GRAPHS" "$BIN" "$WORK/graphs" 1 16
    [[ $output == *" networks compared, 0 too far off"* ]] || fail "$output"
}

@test "random networks: a step with another weight decay is too far off" {
    mkdir "$WORK/bin"
    ln -s "$BIN/evaluate" "$WORK/bin/evaluate"
    cat >"$WORK/bin/train-single" <<EOT
#!/bin/sh
exec "$BIN/train-single" "\$@" --set optimizer.weight_decay=0.002
EOT
    chmod +x "$WORK/bin/train-single"
    run with_torch "$GRAPHS" "$WORK/bin" "$WORK/graphs" 1 2
    [[ $status -eq 1 && $output == *"too far off"* && $output == *"weight: off by"* ]] || fail "$output"
}
