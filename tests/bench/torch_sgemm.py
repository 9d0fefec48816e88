#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_sgemm.py THREADS SECONDS SIDE - GFLOP/s of a SIDE × SIDE matrix product in single precision, with PyTorch's library.

The best product within SECONDS, because a peak is a bound and not a mean. The caller sets OPENBLAS_NUM_THREADS and
OPENBLAS_CORETYPE.
"""
import sys
import time

import torch


def main():
    torch.set_num_threads(int(sys.argv[1]))
    side = int(sys.argv[3])
    a, b = torch.rand(side, side), torch.rand(side, side)
    best, end = 0.0, time.perf_counter() + float(sys.argv[2])
    while time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(a, b)
        best = max(best, 2 * side ** 3 / (time.perf_counter() - start) * 1e-9)
    print(f"{best:.1f}")


if __name__ == "__main__":
    main()
