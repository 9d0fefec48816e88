#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small reader of safetensors files, standard library only, which shares no code with the tools.

    safetensors_reader.py FILE            a line per tensor: NAME DTYPE SHAPE, then metadata as KEY=VALUE
    safetensors_reader.py FILE --hash     SHA-256 of the whole file: the content hash
    safetensors_reader.py FILE NAME       the values of one tensor, one per line

FILE is uncompressed; '-' is standard input:  zstd -dc model.st.zst | safetensors_reader.py -
Also a module: read(bytes) gives (tensors, metadata), where tensors[NAME] = (dtype, shape, values); pieces(bytes) gives
(dtype, shape, bytes), and values() the numbers of one piece.
"""
import hashlib
import json
import struct
import sys

FORMATS = {"U8": "B", "U32": "I", "U64": "Q", "I64": "q", "F32": "f", "F64": "d"}


def refuse_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("duplicate key in the header")
    return dict(pairs)


def pieces(data):
    """{name: (dtype, shape, bytes)} and metadata of a file's bytes. ValueError if they are malformed."""
    if len(data) < 8:
        raise ValueError("no header length")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise ValueError("the header is cut")
    header = json.loads(data[8 : 8 + length].decode("utf-8"), object_pairs_hook=refuse_duplicates)
    body = memoryview(data)[8 + length :]
    metadata = header.pop("__metadata__", {})
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        count = 1
        for size in entry["shape"]:
            count *= size
        if begin != end or stop - begin != count * struct.calcsize("<" + FORMATS[entry["dtype"]]):
            raise ValueError("the tensors do not tile the data: " + name)
        tensors[name] = (entry["dtype"], entry["shape"], body[begin:stop])
        end = stop
    if end != len(body):
        raise ValueError("bytes follow the last tensor")
    return tensors, metadata


def values(piece):
    """The numbers of one piece, as a list."""
    dtype, _, content = piece
    code = "<" + FORMATS[dtype]
    return list(struct.unpack("<%d%s" % (len(content) // struct.calcsize(code), FORMATS[dtype]), content))


def read(data):
    """Tensors and metadata of the bytes of a file. ValueError if they are malformed."""
    tensors, metadata = pieces(data)
    return {name: (piece[0], piece[1], values(piece)) for name, piece in tensors.items()}, metadata


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    with sys.stdin.buffer if sys.argv[1] == "-" else open(sys.argv[1], "rb") as file:
        data = file.read()
    tensors, metadata = read(data)
    if len(sys.argv) == 2:
        for name, (dtype, shape, _) in sorted(tensors.items()):
            print(name, dtype, json.dumps(shape, separators=(",", ":")))
        for key, value in sorted(metadata.items()):
            print("%s=%s" % (key, value))
    elif sys.argv[2] == "--hash":
        print(hashlib.sha256(data).hexdigest())
    else:
        for value in tensors[sys.argv[2]][2]:
            print(value)


if __name__ == "__main__":
    main()
