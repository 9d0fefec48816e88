#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps this machine busy as other users do, for tests/bench/calibrate and load.

    neighbours.py steady    one process that computes without a pause
    neighbours.py loops     two of them
    neighbours.py build     a build of this library, again and again
    neighbours.py bursts    two processes, each of which pauses and works in turn: pauses of 0.8 s and
                            bursts of 1 s on average, both exponential; 60 % of the bursts compute,
                            and 40 % copy 32 MiB again and again

It ends with the process that started it, or after a signal.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PAUSE, BURST = 0.8, 1.0  # seconds, on average
COPIES = 0.4             # share of the bursts
COPIED = 32 << 20        # bytes
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def compute():
    total = 1
    for _ in range(100_000):
        total = total * 1_103_515_245 + 12_345 & 0x7FFF_FFFF


def copier():
    source, target = bytearray(COPIED), memoryview(bytearray(COPIED))

    def copy():
        target[:] = source
    return copy


def work(parent, what, seconds):
    """A piece of work lasts some milliseconds, so the end of the parent is noticed at once."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and os.getppid() == parent:
        what()


def steady(parent):
    work(parent, compute, float("inf"))


def bursts(parent):
    copy = copier()
    while os.getppid() == parent:
        work(parent, lambda: time.sleep(0.01), random.expovariate(1 / PAUSE))
        what = copy if random.random() < COPIES else compute
        work(parent, what, random.expovariate(1 / BURST))


def build(parent):
    while os.getppid() == parent:
        with tempfile.TemporaryDirectory(prefix="lockstep-build.") as folder:
            make = subprocess.Popen(
                ["make", "-s", "-C", ROOT, "-j2", "MODE=debug", "BUILD=" + folder, folder + "/obj/debug/liblockstep.a"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while make.poll() is None:
                if os.getppid() != parent:
                    make.terminate()
                time.sleep(0.05)


def start(body):
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        random.seed()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        body(parent)
        os._exit(0)
    return child


def main():
    kinds = {"steady": [steady], "loops": [steady, steady], "bursts": [bursts, bursts], "build": [build]}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        sys.exit("neighbours.py: expected 'steady', 'loops', 'bursts' or 'build'")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parent = os.getppid()
    for body in kinds[sys.argv[1]]:
        start(body)
    while os.getppid() == parent:
        time.sleep(0.1)


main()
