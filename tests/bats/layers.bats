#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The include rule, and that its check would detect a violation.
load helpers

# check FILE CONTENT: runs the check on one file of a made-up tree.
check() {
    mkdir -p "$WORK/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$WORK/tree/$1"
    cd "$WORK/tree"
    run "$ROOT/scripts/check-layers" "$1"
}

@test "the source follows the layer rule" {
    cd "$ROOT"
    run scripts/check-layers
    [ "$status" -eq 0 ] || fail "$output"
    [ -z "$output" ]
}

@test "an include that points upward is found, with file and line" {
    check lib/base/x.c '// first line
#include "experiment/experiment.h"'
    [ "$status" -eq 1 ]
    [[ $output == "lib/base/x.c:2: "*"experiment/experiment.h"* ]]
}

@test "data, nn and dist do not include each other" {
    check lib/nn/x.c '#include "data/dataset.h"'
    [ "$status" -eq 1 ]
    check lib/data/x.c '#include "dist/comm.h"'
    [ "$status" -eq 1 ]
    check lib/dist/x.h '#include "nn/model.h"'
    [ "$status" -eq 1 ]
}

@test "downward includes are allowed" {
    check lib/train/x.c '#include "nn/model.h"
#include "dist/comm.h"
#include "data/dataset.h"
#include "compute/backend.h"
#include "base/error.h"
#include <stdio.h>'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "the plan of a step includes no executor, and no executor includes another one" {
    check lib/compute/plan/x.h '#include "compute/cpu/cpu_engine.h"'
    [ "$status" -eq 1 ]
    check lib/compute/cpu/x.c '#include "compute/cuda/plan/arrays.h"'
    [ "$status" -eq 1 ]
    check lib/compute/cpu/x.c '#include "compute/plan/units.h"'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "a wrapped library is included only in the file that wraps it" {
    check lib/train/x.c '#include <zstd.h>'
    [ "$status" -eq 1 ]
    check tools/x.c '#  include <curl/curl.h>'
    [ "$status" -eq 1 ]
    check lib/data/x.c '#include <yaml.h>'
    [ "$status" -eq 1 ]
    check lib/base/yaml_text.c '#include <yaml.h>'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "CUDA's headers are allowed only in the CUDA backend and its emulation" {
    check lib/compute/devices.c '#include <cuda_runtime_api.h>'
    [ "$status" -eq 1 ]
    check lib/dist/x.c '#include <nccl.h>'
    [ "$status" -eq 1 ]
    check lib/compute/cuda/kernels/device.cuh '#include <cuda_runtime.h>'
    [ "$status" -eq 0 ] || fail "$output"
    check tests/emulation/cublas.cc '#include "cublas_v2.h"'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "the floors of the CUDA backend include downward only, besides the interface" {
    check lib/compute/cuda/run/x.c '#include "compute/cuda/comm/cuda_comm.h"'
    [ "$status" -eq 1 ]
    [[ $output == "lib/compute/cuda/run/x.c:1: "*"floor run"* ]]
    check lib/compute/cuda/device/x.c '#include "compute/cuda/engine.h"'
    [ "$status" -eq 1 ]
    check lib/compute/cuda/kernels/exact/x.cu '#include "compute/cuda/plan/cuda_plan.h"'
    [ "$status" -eq 1 ]
    check lib/compute/cuda/attic/x.c 'int x;'
    [ "$status" -eq 1 ]
    [[ $output == *"no floor for folder attic"* ]]
    check lib/compute/cuda/measure/x.c '#include "compute/cuda/library.h"
#include "compute/cuda/comm/cuda_comm.h"
#include "compute/cuda/kernels/limits.h"'
    [ "$status" -eq 0 ] || fail "$output"
    check lib/compute/cuda/x.c '#include "compute/cuda/measure/measure.h"'
    [ "$status" -eq 0 ] || fail "$output"
}

@test "includes are relative to lib, and a new folder needs a rule" {
    check lib/train/x.c '#include "../data/dataset.h"'
    [ "$status" -eq 1 ]
    check lib/gui/x.c 'int x;'
    [ "$status" -eq 1 ]
    [[ $output == *"no rule for folder gui"* ]]
}

@test "names that stand for two things are found" {
    mkdir -p "$WORK/tree/lib/base" "$WORK/tree/lib/data" "$WORK/tree/tools"
    cd "$WORK/tree"
    touch lib/base/x.h lib/base/y.h lib/data/x.h empty.a
    printf '%s\n' 'static int close(int *fd) {' '}' 'static int closed(int fd);' >tools/t.c
    run "$ROOT/scripts/check-names" gcc empty.a
    [ "$status" -eq 1 ]
    [ "$output" = $'x.h: the name of two headers\nclose: a static function with the name of one of libc' ] || fail "$output"
}
