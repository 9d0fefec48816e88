#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes archives that a reader must refuse: make_archive.py CASE FILE."""
import io
import sys
import tarfile

BATCH = 30730000  # bytes of a CIFAR-10 batch


def plain(tar, name, data=b"data"):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def special(tar, name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    tar.addfile(info)


CASES = {
    "dotdot": lambda t: plain(t, "cifar-10-batches-bin/../../data_batch_1.bin"),
    "absolute": lambda t: plain(t, "/tmp/data_batch_1.bin"),
    "symlink": lambda t: special(t, "data_batch_1.bin", tarfile.SYMTYPE, "/etc/passwd"),
    "hardlink": lambda t: (plain(t, "x"), special(t, "data_batch_1.bin", tarfile.LNKTYPE, "x")),
    "device": lambda t: special(t, "data_batch_1.bin", tarfile.CHRTYPE),
    "short": lambda t: plain(t, "a/data_batch_1.bin"),
    "long": lambda t: plain(t, "a/data_batch_1.bin", bytes(BATCH + 1)),
    "wrong": lambda t: plain(t, "a/data_batch_1.bin", bytes(BATCH)),
    "meta": lambda t: plain(t, "batches.meta.txt", b"x" * 61),
    "unrelated": lambda t: plain(t, "readme.html"),
    "empty": lambda t: None,
}


def main():
    case, path = sys.argv[1:]
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        CASES[case](tar)


main()
