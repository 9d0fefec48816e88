#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts a bad value into one tensor of a safetensors file, or changes or removes a key of its metadata.

    poison.py FILE                         the names of its tensors of floats, one per line
    poison.py FILE OUT TENSOR VALUE        the last element of TENSOR becomes VALUE: nan, inf, -inf, -1
    poison.py FILE OUT KEY=VALUE           sets a key of the metadata; KEY= removes it

FILE is uncompressed. Standard library only.
"""
import json
import struct
import sys

FLOATS = {"F32": "<f", "F64": "<d"}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])


def write(path, header, body):
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def main(arguments):
    header, body = read(arguments[0])
    if len(arguments) == 1:
        print("\n".join(sorted(name for name, entry in header.items() if entry.get("dtype") in FLOATS)))
    elif len(arguments) == 3:
        key, _, value = arguments[2].partition("=")
        header["__metadata__"].pop(key, None)
        if value:
            header["__metadata__"][key] = value
        write(arguments[1], header, body)
    else:
        entry = header[arguments[2]]
        form = FLOATS[entry["dtype"]]
        struct.pack_into(form, body, entry["data_offsets"][1] - struct.calcsize(form), float(arguments[3]))
        write(arguments[1], header, body)


if __name__ == "__main__":
    main(sys.argv[1:])
