# SPDX-License-Identifier: MIT
"""Random changes of files and of their contents, and the rule for a tool that reads them: for the batteries
`mutations` and `archives`."""
import json
import re
import struct
import subprocess

from battery import Failure

NUMBERS = ["0", "-1", "1", "7", "255", "65536", "2147483647", "4294967296", "9223372036854775807",
           "18446744073709551616", "1e308", "-0.0", "1e-320", "null", "true", '"x"', "[]", "{}", ".nan", "3.5"]
FLOATS = [float("nan"), float("inf"), float("-inf"), -0.0, 1e-45, 3.4e38, -1.0, 0.0]


def unpacked(data):
    return subprocess.run(["zstd", "-q", "-d", "-c"], input=data, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def packed(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, check=True, stdout=subprocess.PIPE).stdout


def in_bytes(data, chance):
    """Flips, deletes, inserts or repeats bytes, or cuts off the end."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        at = chance.randrange(len(data) or 1)
        kind = chance.randrange(5)
        if kind == 0 and data:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[at:at + chance.randrange(1, 64)]
        elif kind == 2:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 32)))
        elif kind == 3:
            del data[at:]
        else:
            data += data[at:at + chance.randrange(1, 4096)]
    return bytes(data)


def in_header(data, chance):
    """Changes a number or a text of the header, and updates the header's length."""
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = data[8:8 + length].decode(), data[8 + length:]
    kind = chance.randrange(4)
    if kind == 0:
        places = list(re.finditer(r"(?<=[:\[,])-?[0-9]+", header))
        if places:
            at = chance.choice(places)
            header = header[:at.start()] + chance.choice(NUMBERS) + header[at.end():]
    elif kind == 1:
        places = list(re.finditer(r'"([^"\\]|\\.)*"', header))
        at = chance.choice(places)
        header = header[:at.start()] + json.dumps(chance.choice(["", "x" * 5000, "é", "F64", "U8", "F16", "images",
                                                                 "../x", "\u0001", "a\nb"])) + header[at.end():]
    elif kind == 2:  # a number within a text of the metadata
        places = list(re.finditer(r"[0-9]+(\.[0-9]+)?", header))
        at = chance.choice(places)
        header = header[:at.start()] + chance.choice(NUMBERS).replace('"', "") + header[at.end():]
    else:
        header = in_bytes(header.encode(), chance).decode("latin-1")
    coded = header.encode("utf-8", "replace")
    return struct.pack("<Q", len(coded)) + coded + rest


def in_values(data, chance):
    """Replaces values of tensors by values that no training writes."""
    length = struct.unpack("<Q", data[:8])[0]
    data = bytearray(data)
    for _ in range(chance.choice([1, 4, 64])):
        if len(data) - 8 - length < 8:
            break
        at = 8 + length + chance.randrange((len(data) - 8 - length) // 4) * 4
        word = chance.choice([struct.pack("<f", chance.choice(FLOATS)), struct.pack("<I", chance.randrange(1 << 32)),
                              b"\xff\xff\xff\xff", b"\0\0\0\0"])
        data[at:at + 4] = word
    return bytes(data)


def in_text(data, chance):
    """Replaces a scalar of a YAML file."""
    text = data.decode()
    places = list(re.finditer(r"(?<=[:,\[-] )[^,\n\]\[{}]+", text))
    at = chance.choice(places)
    new = chance.choice(NUMBERS + ["''", "x" * 3000, "../../x", "{a: 1}", "[1, 2]", '"\\u0007"', "- x", "&a x", "*a"])
    return (text[:at.start()] + new + text[at.end():]).encode()


def changed(name, data, chance):
    """The bytes of a file after a random change that suits its kind, which its name shows."""
    if name.endswith(".yaml"):
        return chance.choice([in_text, in_text, in_bytes])(data, chance)
    if not name.endswith(".zst") or chance.random() < 0.25:
        return in_bytes(data, chance)
    return packed(chance.choice([in_header, in_values, in_bytes])(unpacked(data), chance))


def check(result):
    for report in b"AddressSanitizer", b"LeakSanitizer", b"runtime error: ":
        if report in result.err:
            lines = [line for line in result.lines() if re.search("ERROR: |SUMMARY: |runtime error: ", line)]
            raise Failure("a sanitizer report: " + " | ".join(lines)[:300])
    if result.hung:
        raise Failure("hangs")
    if not 0 <= result.code <= 5:
        raise Failure(result.told())
    if result.code in (1, 2, 3) and len(result.lines()) != 1:
        raise Failure("%d lines instead of one: %s" % (len(result.lines()), result.told()))
