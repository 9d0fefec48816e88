# SPDX-License-Identifier: MIT
# Helpers for running PyTorch. Sourced by the scripts that measure it.
# shellcheck shell=bash

# has_modules PYTHON NAME...: whether it has them, and numpy, without importing them.
has_modules() {
    "$1" -c 'import sys; from importlib.util import find_spec
sys.exit(not all(map(find_spec, sys.argv[1:])))' numpy "${@:2}" 2>/dev/null
}

# need_torch: skips if Python has no PyTorch.
need_torch() {
    has_modules "$PYTHON" torch || skip "$PYTHON has no torch (make deps-torch)"
}

# Kernels of OpenBLAS to try in addition to its own choice.
coretypes() {
    if cpu_has avx512f; then
        echo SKYLAKEX
    elif cpu_has avx2; then
        echo HASWELL
    fi
}

# torch_environment THREADS BLAS_THREADS CAPABILITY CORETYPE: sets $environment, a prefix for
# running Python. OpenMP and OpenBLAS have a thread pool each; if both have a thread per core, they
# spin against each other, so in training OpenBLAS gets one thread.
environment=()
torch_environment() {
    environment=(env "OMP_NUM_THREADS=$1" "OPENBLAS_NUM_THREADS=$2")
    [ "$3" = - ] || environment+=("ATEN_CPU_CAPABILITY=$3")
    [ "$4" = - ] || environment+=("OPENBLAS_CORETYPE=$4")
}

# raw_bytes FOLDER: its training images and labels as raw bytes, for Python.
raw_bytes() {
    local name
    for name in images labels; do
        [ -e "$1/$name.u8" ] || { "$BIN/tensor" cat "$1/train.st.zst" "$name" >"$1/$name.new" && mv "$1/$name.new" "$1/$name.u8"; }
    done
}
