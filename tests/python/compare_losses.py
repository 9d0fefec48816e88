#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the losses of a run, step by step, with PyTorch's of a golden file.

    compare_losses.py STEPS GOLDEN NAME

STEPS: the run's steps.st.zst, uncompressed. GOLDEN: a safetensors file that holds them as tensor NAME. Bounds of the relative difference: 1e-5 in the first 10 steps, 1e-3 in the others (two
runs diverge after a ReLU input rounds to the other side of zero). Prints the largest of both. Standard library only.
"""
import sys

import safetensors_reader

EARLY, LATE, EARLY_STEPS, STEPS = 1e-5, 1e-3, 10, 50


def read(path):
    with open(path, "rb") as file:
        return safetensors_reader.read(file.read())[0]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    ours = read(sys.argv[1])["loss"][2]
    theirs = read(sys.argv[2])[sys.argv[3]][2]
    if len(ours) != len(theirs) or len(ours) < STEPS:
        sys.exit(f"{len(ours)} losses against {len(theirs)}; at least {STEPS} are compared")
    differences = [abs(a - b) / abs(b) for a, b in zip(ours, theirs)]
    print(f"largest relative difference: {max(differences[:EARLY_STEPS]):.2g} in the first {EARLY_STEPS} steps, "
          f"{max(differences):.2g} in all {len(ours)}")
    for step, difference in enumerate(differences, 1):
        bound = EARLY if step <= EARLY_STEPS else LATE
        if not difference <= bound:
            sys.exit(f"step {step}: loss {ours[step - 1]:.9g} instead of {theirs[step - 1]:.9g}: relative "
                     f"difference {difference:.3g}, more than {bound:.3g}")


if __name__ == "__main__":
    main()
