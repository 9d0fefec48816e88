#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_tensors.py A B TOLERANCE: do two safetensors files hold the same tensors, within a relative difference?

Metadata must be equal, except `made_by`. Standard library only.
"""
import math
import sys

import safetensors_reader


def read(path):
    with open(path, "rb") as file:
        tensors, metadata = safetensors_reader.read(file.read())
    metadata.pop("made_by", None)
    return tensors, metadata


def distance(a, b):
    norm = math.sqrt(sum(y * y for y in b))
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b))) / (norm or 1.0)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    (a, of_a), (b, of_b) = read(sys.argv[1]), read(sys.argv[2])
    if of_a != of_b or {n: t[:2] for n, t in a.items()} != {n: t[:2] for n, t in b.items()}:
        sys.exit("other tensors or metadata: " + ", ".join(sorted((a.keys() ^ b.keys()) | (of_a.keys() ^ of_b.keys()))))
    for name in sorted(a):
        off = distance(a[name][2], b[name][2])
        if not off <= float(sys.argv[3]):
            sys.exit(f"{name}: relative difference {off:.3g}")
    print(f"{len(a)} tensors agree")


if __name__ == "__main__":
    main()
