#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes small safetensors files for tests to standard output: valid files, and every kind of malformed file.

    make_tensor_file.py CASE > FILE
    make_tensor_file.py --list

Standard library only. Files are uncompressed; compress them with the zstd program.
"""
import json
import struct
import sys

WEIGHT = struct.pack("<6f", 1, 2, 3, 4, 5.5, -6)
LABELS = bytes([7, 8, 9])


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def pack(header, body):
    """`header` is an object to encode as JSON, or the bytes of the header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf-8")
    return struct.pack("<Q", len(text)) + text + body


def one(dtype="F32", shape=(2, 3), begin=0, end=24, body=WEIGHT):
    return pack({"w": entry(dtype, list(shape), begin, end)}, body)


GOOD = {"__metadata__": {"model": "lenet", "note": "höhe"}, "labels": entry("U8", [3], 0, 3),
        "w": entry("F32", [2, 3], 3, 27)}
W = '"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}'

CASES = {
    # Well formed. In `good` the floats are not aligned in the file.
    "good": lambda: pack(GOOD, LABELS + WEIGHT),
    "other-value": lambda: pack(GOOD, LABELS + WEIGHT[:16] + struct.pack("<2f", 5.25, -6)),
    "other-shape": lambda: pack({**GOOD, "w": entry("F32", [3, 2], 3, 27)}, LABELS + WEIGHT),
    "other-metadata": lambda: pack({**GOOD, "__metadata__": {"model": "vgg"}}, LABELS + WEIGHT),
    "many-tensors": lambda: pack({"__metadata__": {f"m{i}": "" for i in range(100_000)},
                                  **{f"t{i}": entry("U8", [0], 0, 0) for i in range(100_000)}}, b""),
    "only-w": lambda: one(),
    "scalar": lambda: pack({"n": entry("I64", [], 0, 8)}, struct.pack("<q", -5)),
    "empty-tensor": lambda: pack({"w": entry("F32", [0, 3], 0, 0)}, b""),
    "no-tensors": lambda: pack({}, b""),
    "all-types": lambda: pack(
        {"a": entry("U8", [2], 0, 2), "b": entry("U32", [2], 2, 10), "c": entry("U64", [2], 10, 26),
         "d": entry("I64", [2], 26, 42), "e": entry("F32", [2], 42, 50), "f": entry("F64", [2], 50, 66)},
        bytes([0, 255]) + struct.pack("<2I2Q2q2f2d", 1, 2**32 - 1, 1, 2**64 - 1, -(2**63), 2**63 - 1,
                                      0.1, float("inf"), 0.1, -0.0)),
    # Not well formed.
    "empty": lambda: b"",
    "short-length": lambda: b"\x10\0\0",
    "huge-header": lambda: struct.pack("<Q", 100_000_001) + b"{}",
    "long-header": lambda: struct.pack("<Q", 50_000_000) + b"{}",
    "not-json": lambda: pack(b"{nonsense}", b""),
    "cut-json": lambda: pack(b'{"w":{"dtype":"F32"', b""),
    "json-and-more": lambda: pack(b"{} {}", b""),
    "not-utf8": lambda: pack(b'{"\xff\xfe":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', b""),
    "array": lambda: pack(b"[]", b""),
    "deep": lambda: pack(b"[" * 100_000, b""),
    "many-values": lambda: pack(b'{"w":[' + b"0," * 1_100_000 + b"0]}", b""),
    "duplicate-tensor": lambda: pack(("{%s,%s}" % (W, W)).encode(), WEIGHT),
    "duplicate-key": lambda: pack(b'{"w":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}', b""),
    "metadata-number": lambda: pack({"__metadata__": {"epochs": 3}}, b""),
    "metadata-list": lambda: pack({"__metadata__": ["a"]}, b""),
    "control-name": lambda: pack({"a\nb": entry("U8", [0], 0, 0)}, b""),
    "tensor-number": lambda: pack({"w": 3}, b""),
    "unknown-key": lambda: pack({"w": {**entry("U8", [0], 0, 0), "extra": 1}}, b""),
    "no-dtype": lambda: pack({"w": {"shape": [0], "data_offsets": [0, 0]}}, b""),
    "no-shape": lambda: pack({"w": {"dtype": "U8", "data_offsets": [0, 0]}}, b""),
    "no-offsets": lambda: pack({"w": {"dtype": "U8", "shape": [0]}}, b""),
    "bool": lambda: one("BOOL", (2, 12)),
    "dtype-lower": lambda: one("f32"),
    "rank-9": lambda: one(shape=[1] * 7 + [2, 3]),
    "negative-size": lambda: one(shape=(-2, -3)),
    "float-size": lambda: one(shape=(2.0, 3)),
    "size-overflow": lambda: one(shape=(2**32, 2**32, 2)),
    "size-wraps": lambda: one(shape=(2**62, 4), begin=0, end=0, body=b""),
    "size-beyond-json": lambda: pack(b'{"w":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}}', b""),
    "huge-data": lambda: one("U8", (2**33,), 0, 2**33, b""),
    "wrong-bytes": lambda: one(end=20, body=WEIGHT[:20]),
    "offsets-swapped": lambda: one(begin=24, end=0),
    "three-offsets": lambda: pack({"w": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0, 0]}}, b""),
    "gap": lambda: one(begin=4, end=28, body=b"\0\0\0\0" + WEIGHT),
    "hole": lambda: pack({"a": entry("U8", [3], 0, 3), "w": entry("F32", [2, 3], 4, 28)}, LABELS + b"\0" + WEIGHT),
    "overlap": lambda: pack({"a": entry("U8", [3], 0, 3), "w": entry("F32", [2, 3], 2, 26)}, LABELS[:2] + WEIGHT),
    "same-place": lambda: pack({"a": entry("U8", [3], 0, 3), "b": entry("U8", [3], 0, 3)}, LABELS),
    "cut-data": lambda: one(body=WEIGHT[:-1]),
    "trailing": lambda: one(body=WEIGHT + b"\0"),
}


def main():
    if len(sys.argv) != 2 or (sys.argv[1] not in CASES and sys.argv[1] != "--list"):
        sys.exit(__doc__)
    if sys.argv[1] == "--list":
        print("\n".join(CASES))
    else:
        sys.stdout.buffer.write(CASES[sys.argv[1]]())


if __name__ == "__main__":
    main()
