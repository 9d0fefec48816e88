#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every CUDA kernel waits for earlier ones before it branches, and the check would detect a violation.
load helpers

@test "every kernel waits before it branches" {
    cd "$ROOT"
    run scripts/check-kernels
    [ "$status" -eq 0 ] || fail "$output"
    [ -z "$output" ]
}

@test "a kernel that branches before the wait, or never waits, and a launch without LAUNCH, are found" {
    cd "$WORK"
    cat >x.cu <<'END'
static __global__ void
    late(int x) {
    // why
    if (x) return;
    wait_for_kernels_before();
}
template <bool A> static __global__ void __launch_bounds__(64) good(int x) {
    const int y = x / 3; // if (x)
    wait_for_kernels_before();
    if (y) return;
}
__global__ void none(void) {}
void launches(void) {
    LAUNCH(good<true>, 1, 1, s, 1);
    late<<<1, 1>>>(1);
}
END
    run "$ROOT/scripts/check-kernels" x.cu
    [ "$status" -eq 1 ]
    [ "$(cut -d : -f 1,2 <<<"$output")" = $'x.cu:4\nx.cu:12\nx.cu:15' ] || fail "$output"
}
