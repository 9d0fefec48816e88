#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the Python version of CIFAR-10 or CIFAR-100 from the binary version.

    make_cifar_python.py FORM IN OUT [LABELS]

IN is a .bin file, OUT the pickle. FORM: python2 (byte for byte as Python 2's cPickle wrote the
published archives), or 2, 3, 4: a protocol of this Python's pickle, as NumPy arrays are dumped
today. LABELS: the number of label bytes per record, 1 (default) or 2. NumPy is not needed."""
import pickle
import struct
import sys
import types

PIXELS = 3072


def records(path, labels):
    data = open(path, "rb").read()
    size = labels + PIXELS
    starts = range(0, len(data), size)
    columns = [[data[at + k] for at in starts] for k in range(labels)]
    return columns, b"".join(data[at + labels : at + size] for at in starts)


def keys(labels):
    return ["labels"] if labels == 1 else ["coarse_labels", "fine_labels"]


# ---- As written by Python 2 ----


class Python2:
    """Strings are bytes, and every value but a number gets a place in the memo, from 1 on."""

    def __init__(self):
        self.out, self.places = [b"\x80\x02"], 0

    def put(self):
        self.places += 1
        self.out.append(b"q" + bytes([self.places]) if self.places < 256 else b"r" + struct.pack("<I", self.places))

    def string(self, text):
        self.out.append(b"U" + bytes([len(text)]) + text if len(text) < 256 else b"T" + struct.pack("<i", len(text)) + text)
        self.put()

    def numbers(self, values):
        self.out.append(b"]")
        self.put()
        for first in range(0, len(values), 1000):
            self.out.append(b"(" + b"".join(b"K" + bytes([v]) for v in values[first : first + 1000]) + b"e")

    def strings(self, values):
        self.out.append(b"]")
        self.put()
        for first in range(0, len(values), 1000):
            self.out.append(b"(")
            for value in values[first : first + 1000]:
                self.string(value)
            self.out.append(b"e")

    def array(self, rows, data):
        self.out.append(b"cnumpy.core.multiarray\n_reconstruct\n")
        self.put()
        self.out.append(b"cnumpy\nndarray\n")
        self.put()
        self.out.append(b"K\x00\x85")
        self.put()
        self.string(b"b")
        self.out.append(b"\x87")
        self.put()
        self.out.append(b"R")
        self.put()
        self.out.append(b"(K\x01M" + struct.pack("<H", rows) + b"M\x00\x0c\x86" if rows < 65536 else b"(K\x01J" + struct.pack("<i", rows) + b"M\x00\x0c\x86")
        self.put()
        self.out.append(b"cnumpy\ndtype\n")
        self.put()
        self.string(b"u1")
        self.out.append(b"K\x00K\x01\x87")
        self.put()
        self.out.append(b"R")
        self.put()
        self.out.append(b"(K\x03")
        self.string(b"|")
        self.out.append(b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t")
        self.put()
        self.out.append(b"b\x89")
        self.string(data)
        self.out.append(b"t")
        self.put()
        self.out.append(b"b")


def python2(columns, data):
    p = Python2()
    p.out.append(b"}")
    p.put()
    p.out.append(b"(")
    p.string(b"batch_label")
    p.string(b"training batch 1 of 5")
    for key, values in zip(keys(len(columns)), columns):
        p.string(key.encode())
        p.numbers(values)
    p.string(b"data")
    p.array(len(columns[0]), data)
    p.string(b"filenames")
    p.strings([b"image_s_%06d.png" % i for i in range(len(columns[0]))])
    p.out.append(b"u.")
    return b"".join(p.out)


# ---- As written by a current Python, with stubs of NumPy's classes ----


def stub_numpy():
    numpy, core, multiarray = (types.ModuleType(name) for name in ("numpy", "numpy.core", "numpy.core.multiarray"))

    class dtype:
        def __init__(self, *arguments):
            pass

        def __reduce__(self):
            return dtype, ("u1", False, True), (3, "|", None, None, None, -1, -1, 0)

    class ndarray:
        def __init__(self, shape, data):
            self.shape, self.data = shape, data

        def __reduce__(self):
            return _reconstruct, (ndarray, (0,), b"b"), (1, self.shape, dtype(), False, self.data)

    def _reconstruct(*arguments):
        raise NotImplementedError

    for thing, module in ((dtype, numpy), (ndarray, numpy), (_reconstruct, multiarray)):
        thing.__module__, thing.__qualname__ = module.__name__, thing.__name__
        setattr(module, thing.__name__, thing)
    numpy.core, core.multiarray = core, multiarray
    sys.modules.update({m.__name__: m for m in (numpy, core, multiarray)})
    return ndarray


def python3(columns, data, protocol):
    ndarray = stub_numpy()
    value = {"batch_label": "training batch 1 of 5", "data": ndarray((len(columns[0]), PIXELS), data)}
    value.update(zip(keys(len(columns)), columns))
    value["filenames"] = ["image_s_%06d.png" % i for i in range(len(columns[0]))]
    return pickle.dumps(value, protocol=protocol)


def main(form, source, target, labels="1"):
    columns, data = records(source, int(labels))
    with open(target, "wb") as out:
        out.write(python2(columns, data) if form == "python2" else python3(columns, data, int(form)))


main(*sys.argv[1:])
