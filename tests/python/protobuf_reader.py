#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small reader of Protocol Buffers, event files and ONNX files, which shares no code with the tools.

Standard library only.

    protobuf_reader.py events FILE    a line per value: WALL_TIME STEP TAG VALUE; checks both checksums of each record
    protobuf_reader.py onnx FILE      the file as JSON

Also a module: fields(bytes) gives {number: [values]} of one message; values of wire type 2 are bytes.
"""
import json
import struct
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message. ValueError if it is truncated."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            if wire == 2:
                length, at = varint(data, at)
            else:
                length = {1: 8, 5: 4}[wire]
            value, at = data[at : at + length], at + length
            if len(value) != length:
                raise ValueError("field %d is cut" % (tag >> 3))
        found.setdefault(tag >> 3, []).append(value)
    return found


def crc32c(data):
    """Bit by bit, as RFC 3720 defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The messages of a TFRecord file. ValueError for a wrong checksum."""
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        message = data[at + 12 : at + 12 + length]
        (body,) = struct.unpack_from("<I", data, at + 12 + length)
        if crc != masked(data[at : at + 8]) or body != masked(message):
            raise ValueError("a checksum differs in the record at byte %d" % at)
        yield message
        at += 16 + length


def events(data):
    """The version, and (wall time, step, tag, value) of all values."""
    version, values = None, []
    for i, message in enumerate(records(data)):
        event = fields(message)
        (time,) = struct.unpack("<d", event[1][0])
        if i == 0:
            version = event[3][0].decode()
            continue
        for value in fields(event[5][0])[1]:
            value = fields(value)
            values.append((time, event[2][0], value[1][0].decode(), struct.unpack("<f", value[2][0])[0]))
    return version, values


def attribute(data):
    f = fields(data)
    kind = f[20][0]
    value = {1: lambda: struct.unpack("<f", f[2][0])[0], 2: lambda: f[3][0], 7: lambda: f[8]}[kind]()
    return f[1][0].decode(), value


def value_info(data):
    f = fields(data)
    tensor = fields(fields(f[2][0])[1][0])
    dims = [fields(d) for d in fields(tensor[2][0]).get(1, [])]
    return {"name": f[1][0].decode(), "type": tensor[1][0], "shape": [d[1][0] if 1 in d else d[2][0].decode() for d in dims]}


def tensor(data):
    f = fields(data)
    count = 1
    for size in f.get(1, []):
        count *= size
    return {"name": f[8][0].decode(), "shape": f[1], "type": f[2][0], "values": struct.unpack("<%df" % count, f[9][0])}


def node(data):
    f = fields(data)
    words = lambda number: [word.decode() for word in f.get(number, [])]
    return {"inputs": words(1), "outputs": words(2), "name": words(3)[0], "type": words(4)[0], "attributes": dict(attribute(a) for a in f.get(5, []))}


def onnx(data):
    f = fields(data)
    graph = fields(f[7][0])
    return {
        "ir_version": f[1][0],
        "producer": f[2][0].decode(),
        "opset": fields(f[8][0])[2][0],
        "metadata": {k[1][0].decode(): k[2][0].decode() for k in map(fields, f.get(14, []))},
        "name": graph[2][0].decode(),
        "nodes": [node(n) for n in graph[1]],
        "tensors": {t["name"]: t for t in map(tensor, graph[5])},
        "inputs": [value_info(v) for v in graph[11]],
        "outputs": [value_info(v) for v in graph[12]],
    }


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("events", "onnx"):
        sys.exit(__doc__)
    with open(sys.argv[2], "rb") as file:
        data = file.read()
    if sys.argv[1] == "onnx":
        print(json.dumps(onnx(data)))
        return
    version, values = events(data)
    print(version)
    for time, step, tag, value in values:
        print("%.9f %d %s %.9g" % (time, step, tag, value))


if __name__ == "__main__":
    main()
