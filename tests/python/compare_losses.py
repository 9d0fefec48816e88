#!/usr/bin/env python3
"""Compares the losses of a run, step by step, with PyTorch's.

    compare_losses.py STEPS EXPECTED [NAME]

STEPS: the run's steps.st.zst, uncompressed. EXPECTED: text, a loss a line; with NAME a safetensors file that
holds them as tensor NAME. The bounds on the relative difference: 1e-5 in the first 10 steps, from there rising
geometrically to 1e-3 at step 50. Prints the largest difference of both parts. Standard library only.
"""
import sys

import safetensors_reader

EARLY, LATE, EARLY_STEPS, LATE_STEP = 1e-5, 1e-3, 10, 50


def read(path):
    with open(path, "rb") as file:
        return safetensors_reader.read(file.read())[0]


def bound(step):
    if step <= EARLY_STEPS:
        return EARLY
    return EARLY * (LATE / EARLY) ** min(1.0, (step - EARLY_STEPS) / (LATE_STEP - EARLY_STEPS))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    ours = read(sys.argv[1])["loss"][2]
    if len(sys.argv) == 4:
        theirs = read(sys.argv[2])[sys.argv[3]][2]
    else:
        with open(sys.argv[2], encoding="ascii") as file:
            theirs = [float(line) for line in file]
    if len(ours) != len(theirs) or len(ours) < LATE_STEP:
        sys.exit(f"{len(ours)} losses against {len(theirs)}; at least {LATE_STEP} are compared")
    differences = [abs(a - b) / abs(b) for a, b in zip(ours, theirs)]
    print(f"largest relative difference: {max(differences[:EARLY_STEPS]):.2g} in the first {EARLY_STEPS} steps, "
          f"{max(differences):.2g} in all {len(ours)}")
    for step, difference in enumerate(differences, 1):
        if not difference <= bound(step):
            sys.exit(f"step {step}: loss {ours[step - 1]:.9g} instead of {theirs[step - 1]:.9g}: relative "
                     f"difference {difference:.3g}, more than {bound(step):.3g}")


if __name__ == "__main__":
    main()
