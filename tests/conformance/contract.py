# SPDX-License-Identifier: MIT
"""Subjects of the suite, and how their adapters are called. README.md next to this file is the contract."""
import os
import random
import shutil
import signal
import subprocess
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
NOT_OFFERED = 77
KILLS = 6  # tries to kill a training before its end


class BadSubject(Exception):
    """The adapter does not exist."""


class NotOffered(Exception):
    """The adapter does not offer the requested training; the message is the reason."""


class Failed(Exception):
    """The adapter failed, or did not end; the message gives the details."""


RUNNING = set()  # unfinished calls
ENDING = threading.Event()  # set: no call may start


class Ended(BaseException):
    """The suite itself is being ended."""


def end_all():
    """Ends all calls, and prevents new ones."""
    ENDING.set()
    for call in list(RUNNING):
        call.kill()


class Call:
    """One process of an adapter, in a separate session."""

    def __init__(self, command, folder, cache):
        self.command = command
        self.said = os.path.join(folder, "stderr")
        tmp = os.path.join(folder, "tmp")
        os.makedirs(tmp, exist_ok=True)
        environment = dict(os.environ, TMPDIR=tmp, CONFORMANCE_CACHE=cache)
        with open(os.path.join(folder, "stdout"), "wb") as out, open(self.said, "wb") as err:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                          start_new_session=True)
        RUNNING.add(self)

    def kill(self):
        """Sends SIGKILL to the adapter and to all processes that it started."""
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        RUNNING.discard(self)

    def last_line(self):
        with open(self.said, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return lines[-1][:200] if lines else "no message"

    def finish(self, limit):
        """Waits at most `limit` seconds for the end of the call. Raises NotOffered or Failed."""
        try:
            code = self.child.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f"no end after {limit:.0f} s") from None
        except BaseException:
            self.kill()
            raise
        self.kill()
        if code == NOT_OFFERED:
            raise NotOffered(self.last_line())
        if code:
            raise Failed(f"{'exit code' if code > 0 else 'signal'} {abs(code)}: {self.last_line()}")


class Subject:
    """ADAPTER or ADAPTER:VARIANT; an adapter is the name of a file in adapters/, or a path."""

    def __init__(self, text, cache, limit):
        adapter, _, self.variant = text.partition(":")
        own = os.path.join(FOLDER, "adapters", adapter)
        self.text = text
        self.path = own if "/" not in adapter and os.path.isfile(own) else os.path.abspath(adapter)
        self.cache = os.path.join(cache, text.replace("/", "_"))
        self.limit = limit
        self.name, self.version = text, ""
        self.median = None  # of the absolute values of its reference
        if not os.path.isfile(self.path) or not os.access(self.path, os.X_OK):
            raise BadSubject(f"no subject '{text}': there is no program '{adapter}' here, and none in adapters/")

    def start(self, words, folder):
        if ENDING.is_set():
            raise Ended
        variant = ["--variant", self.variant] if self.variant else []
        os.makedirs(folder, exist_ok=True)
        os.makedirs(self.cache, exist_ok=True)
        return Call([self.path, words[0], *variant, *words[1:]], folder, self.cache)

    def describe(self, folder):
        """Reads name and version, lines of 'KEY: VALUE'. NotOffered if the subject cannot run on this machine."""
        self.start(["describe"], folder).finish(self.limit)
        with open(os.path.join(folder, "stdout"), encoding="utf-8", errors="replace") as file:
            facts = dict(line.strip().split(": ", 1) for line in file if ": " in line)
        self.name, self.version = facts.get("name", self.text), facts.get("version", "")

    def train(self, work, config, folder):
        """Trains according to `config`, and returns the path of the model."""
        out, state = os.path.join(folder, "model.safetensors"), os.path.join(folder, "state")
        os.makedirs(state)
        words = ["train", *work.words(), *config.words(), "--state", state, "--out", out]
        kind, _, place = config.interruption.partition(":")
        if kind == "stop":
            self.start([*words, "--stop-after", place], folder).finish(self.limit)
            if os.path.exists(out):
                raise Failed(f"--stop-after {place} wrote a model")
        elif kind == "kill":
            self.train_and_kill([*words, "--save-every", str(work.save_every)], folder, place)
        self.start(words if kind == "none" else [*words, "--resume"], folder).finish(self.limit)
        return out

    def train_and_kill(self, words, folder, place):
        """Kills a training at a random time after its first saved state."""
        state, most = os.path.join(folder, "state"), 1.0
        chance = random.Random(f"kill {place}")
        for _ in range(KILLS):
            shutil.rmtree(state)
            os.mkdir(state)
            call = self.start(words, folder)
            try:
                saved = wait_for_state(call.child, state, self.limit)
                if saved:
                    time.sleep(chance.uniform(0, most))
            except BaseException:
                call.kill()
                raise
            if call.child.poll() is None:
                call.kill()
                if saved:
                    return
                raise Failed(f"no end after {self.limit:.0f} s")
            call.finish(self.limit)
            if os.path.exists(words[words.index("--out") + 1]):
                os.remove(words[words.index("--out") + 1])
            most /= 4
        raise NotOffered(f"it ended {KILLS} times before it could be killed after a first state")


def wait_for_state(child, state, limit):
    """Waits for a file in the folder that is not hidden: True. False: the child has ended, or the time is over."""
    deadline = time.monotonic() + limit
    while child.poll() is None and time.monotonic() < deadline:
        if any(not name.startswith(".") for _, _, names in os.walk(state) for name in names):
            return True
        time.sleep(0.001)
    return False
