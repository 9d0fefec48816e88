#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes PNG files and .npz archives for tests/bats/import-images.bats, without any library.

    make_images.py png FILE KIND WIDTH HEIGHT [VALUE]     grey, grey16, rgb, rgb16, rgba, palette, bits, bomb, noise
    make_images.py classes FOLDER CLASSES IMAGES [SIDE]   FOLDER/cNNN/NN.png: learnable by colour
    make_images.py npz FILE NAME=SHAPE=TYPE[=VALUES]...   arrays of bytes that count up; labels count up mod 3;
                                                          or these numbers, again and again
"""
import os
import random
import struct
import sys
import zipfile
import zlib

MAGIC = b"\x89PNG\r\n\x1a\n"
COLOURS = {"grey": (0, 8), "grey16": (0, 16), "bits": (0, 1), "rgb": (2, 8), "rgb16": (2, 16), "palette": (3, 8), "rgba": (6, 8)}


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(kind, width, height, row):
    """row(y): the bytes of a row."""
    colour, depth = COLOURS[kind]
    parts = [MAGIC, chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))]
    if kind == "palette":
        parts.append(chunk(b"PLTE", bytes([10, 20, 30, 200, 100, 50])))
    parts.append(chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row(y) for y in range(height)))))
    return b"".join(parts + [chunk(b"IEND", b"")])


def plain(kind, width, height, value):
    """A picture of one colour."""
    pixel = {
        "grey": bytes([value]),
        "grey16": struct.pack(">H", value * 257),
        "rgb": bytes([value, 0, 255 - value]),
        "rgb16": struct.pack(">HHH", value * 257, 0, 65535),
        "rgba": bytes([value, 0, 0, 128]),
        "palette": bytes([value]),
    }
    if kind == "bits":
        return png(kind, width, height, lambda y: b"\xff" * ((width + 7) // 8))
    return png(kind, width, height, lambda y: pixel[kind] * width)


def bomb():
    """A header that states 30,000 x 30,000 pixels."""
    return MAGIC + chunk(b"IHDR", struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def noise(width, height, seed):
    """Pixels of all colours, the same for the same seed."""
    rng = random.Random(seed)
    return png("rgb", width, height, lambda y: bytes(rng.randrange(256) for _ in range(3 * width)))


def classes(folder, count, images, side):
    for k in range(count):
        name = "%s/c%03d" % (folder, k)
        os.makedirs(name, exist_ok=True)
        for i in range(images):
            tint = bytes([40 * k % 256, 255 - 25 * k % 256, (97 * k + 3 * i) % 256])
            with open("%s/%02d.png" % (name, i), "wb") as out:
                out.write(png("rgb", side, side, lambda y: tint * side))


def npy(shape, kind, values=None):
    count = 1
    for size in shape:
        count *= size
    order, letter, width = kind[0].strip("|"), kind[1], int(kind[2:].split("[")[0] or 8)
    if values:
        code = {"f": ".e.f...d", "i": "bh.i...q"}.get(letter, "BH.I...Q")[width - 1]
        cast = float if letter == "f" else int
        data = b"".join(struct.pack((order or "<") + code, cast(values[i % len(values)])) for i in range(count))
    elif width == 1 and len(shape) > 2:
        data = bytes(i % 251 for i in range(count))
    else:
        data = b"".join((i % 3).to_bytes(width, "big" if order == ">" else "little") for i in range(count))
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d, " % size for size in shape))
    header = header.encode() + b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + data


def npz(path, arrays):
    with zipfile.ZipFile(path, "w") as out:
        for text in arrays:
            name, shape, kind, *values = text.split("=")
            out.writestr(name + ".npy", npy([int(size) for size in shape.split(",")], kind, values and values[0].split(",")))


def main(what, target, *rest):
    if what == "png":
        kind, width, height = rest[0], int(rest[1]), int(rest[2])
        value = int(rest[3]) if rest[3:] else 100
        made = {"bomb": bomb, "noise": lambda: noise(width, height, value)}.get(kind, lambda: plain(kind, width, height, value))
        with open(target, "wb") as out:
            out.write(made())
    elif what == "classes":
        classes(target, int(rest[0]), int(rest[1]), int(rest[2]) if rest[2:] else 8)
    else:
        npz(target, rest)


if __name__ == "__main__":
    main(*sys.argv[1:])
