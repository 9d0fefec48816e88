#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives turns to one training, in place of time-runs, and measures what it does while it rests.

    turns.py RANKS SECONDS COMMAND...

Starts COMMAND with --turns, gives it 30 steps, and prints the processor seconds that its ranks used
in the SECONDS after that, and the steps that it told. Fails if an answer takes a minute.
"""
import os
import socket
import struct
import subprocess
import sys
import time


def processor_seconds(processes):
    ticks = 0
    for process in processes:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def peer_of(connection):
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("3i", credentials)[0]


def main():
    ranks, seconds, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    number = 1 + os.getpid() % 65535
    socket.setdefaulttimeout(60)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0lockstep/{os.geteuid()}/rendezvous/{number}")
    listener.listen()
    with subprocess.Popen(command + ["--quiet", "--turns", f"{number}/0"]) as training:
        connections = [listener.accept()[0] for _ in range(ranks)]
        lead = None
        for connection in connections:
            arm, rank, size = struct.unpack("3I", connection.recv(12))
            assert arm == 0 and size == ranks
            lead = connection if rank == 0 else lead
        for connection in connections:
            connection.send(struct.pack("Q", 30))
        counts = {c: struct.unpack("Q", c.recv(8))[0] for c in connections}
        told = lead.recv(16 * counts[lead])
        steps = sum(struct.unpack_from("QII", told, 16 * i)[1] for i in range(counts[lead]))
        processes = [peer_of(connection) for connection in connections]
        before = processor_seconds(processes)
        time.sleep(seconds)
        print(round(processor_seconds(processes) - before, 2), steps)
        for connection in connections:
            connection.send(struct.pack("Q", 0))
        return training.wait(60)


if __name__ == "__main__":
    sys.exit(main())
