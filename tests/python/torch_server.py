#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a script in a process that has imported PyTorch already: the import takes longer than most of them.

    torch_server.py SOCKET SCRIPT ARGUMENT...    as python3 SCRIPT ARGUMENT...

The first call starts a server at SOCKET. It ends when SOCKET is removed, and after ten minutes without a call.
"""
import fcntl
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time

IDLE_SECONDS = 600


def run(folder, environment, script, *arguments):
    """Returns the exit code."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.path[0] = [script, *arguments], os.path.dirname(script)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # as an interpreter: prints it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def answer(connection):
    """In a process of its own: runs what a client asks for, with the client's output and error output."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _, _ = socket.recv_fds(connection, 1 << 20, 2)
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
    code = run(*json.loads(request))
    sys.stdout.flush()
    sys.stderr.flush()
    connection.send(bytes([code]))
    os._exit(0)


def serve(path):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener, last = socket.socket(socket.AF_UNIX), time.monotonic()
    listener.settimeout(1)
    listener.bind(path + ".new")
    listener.listen()
    import torch  # noqa: F401
    os.rename(path + ".new", path)
    while os.path.exists(path) and time.monotonic() < last + IDLE_SECONDS:
        try:
            connection, _ = listener.accept()
        except socket.timeout:
            continue
        if os.fork() == 0:
            answer(connection)
        connection.close()
        last = time.monotonic()


def reach(path):
    """A connection to the server, which one of the callers starts."""
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            server = subprocess.Popen([sys.executable, __file__, path], stdin=subprocess.DEVNULL, start_new_session=True,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not os.path.exists(path) and server.poll() is None:
                time.sleep(0.01)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def call(path, script, *arguments):
    with reach(path) as connection:
        request = json.dumps([os.getcwd(), dict(os.environ), os.path.realpath(script), *arguments]).encode()
        socket.send_fds(connection, [request], [1, 2])
        code = connection.recv(1)
    sys.exit(code[0] if code else "the script was ended by a signal")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        call(*sys.argv[1:])
