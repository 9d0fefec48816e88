#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every CUDA kernel waits for earlier ones before it does anything, and the check would detect a
# violation.
load helpers

@test "every kernel begins with the wait" {
    cd "$ROOT"
    run scripts/check-kernels
    [ "$status" -eq 0 ] || fail "$output"
    [ -z "$output" ]
}

@test "a kernel that does not begin with the wait, and a launch without LAUNCH, are found" {
    cd "$WORK"
    cat >x.cu <<'END'
static __global__ void
    late(int x) {
    // why
    int y;
    wait_for_kernels_before();
}
template <bool A> static __global__ void __launch_bounds__(64) good(int x) {
    // why
    wait_for_kernels_before();
}
__global__ void none(void) {}
void launches(void) {
    LAUNCH(good<true>, 1, 1, s, 1);
    late<<<1, 1>>>(1);
}
END
    run "$ROOT/scripts/check-kernels" x.cu
    [ "$status" -eq 1 ]
    [ "$(cut -d : -f 1,2 <<<"$output")" = $'x.cu:4\nx.cu:11\nx.cu:14' ] || fail "$output"
}
