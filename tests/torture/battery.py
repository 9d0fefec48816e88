# SPDX-License-Identifier: MIT
"""Shared by the batteries of tests/torture: trials with a seed each, limits for tools, small fixtures.

A battery is a program, NAME TRIALS [SEED]. It prints a line for each failure as it occurs, and at the end
one line with the counts: "NAME: 300 trials, 2 failures, seed 7, 41 s". Exit code 0: none failed; 1: some failed;
77: it cannot run on this machine, and the last line gives the reason.

Trial i depends only on the seed and on i: TRIAL=i in the environment runs only that trial, and keeps its
files. Other variables: BIN, the folder of the tools (build/bin); ASAN_BIN, the folder of the tools under
AddressSanitizer (build/obj/asan/bin); TORTURE_BUILD, the folder of the files that the batteries preload and
link (build/torture); MOST_SECONDS: start no trial after this time.
"""
import atexit
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("BIN", os.path.join(ROOT, "build/bin"))
ASAN_BIN = os.environ.get("ASAN_BIN", os.path.join(ROOT, "build/obj/asan/bin"))
TORTURE_BUILD = os.environ.get("TORTURE_BUILD", os.path.join(ROOT, "build/torture"))
GIB = 1 << 30
SKIPPED = 77


class Failure(Exception):
    """The finding of a trial."""


class Result:
    """The result of a command: code (negative: the signal), out and err (bytes), seconds, hung, peak (bytes)."""

    def __init__(self, command, code, out, err, seconds, hung, peak):
        self.command, self.code, self.out, self.err = command, code, out, err
        self.seconds, self.hung, self.peak = seconds, hung, peak

    def lines(self):
        return self.err.decode("utf-8", "replace").splitlines()

    def told(self):
        """The exit code, and the last lines of its messages."""
        how = "hung" if self.hung else "exit code %d" % self.code
        return "%s: %s" % (how, " | ".join(self.lines()[-3:])[:400])


def end_group(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, limit=60, env=None, cwd=None, stdin=None, memory=None):
    """Runs a command in a separate session, and ends the session after it; `limit` in seconds, `memory` in bytes."""
    def before_exec():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    settings = dict(os.environ, LOCKSTEP_CUDA_LIBRARY="none", **(env or {}))
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=open(stdin, "rb") if stdin else subprocess.DEVNULL,
                                 stdout=out, stderr=err, env=settings, cwd=cwd, start_new_session=True,
                                 preexec_fn=before_exec)
        if child.stdin:
            child.stdin.close()
        code, usage, hung = wait_at_most(child.pid, limit)
        end_group(child.pid)
        child.returncode = code
        out.seek(0)
        err.seek(0)
        return Result(command, code, out.read(1 << 24), err.read(1 << 20), time.monotonic() - began, hung,
                      usage.ru_maxrss * 1024)


def wait_at_most(pid, limit):
    """Waits for a child and ends its group after `limit` seconds: (code, usage, hung)."""
    deadline, pause, hung = time.monotonic() + limit, 0.001, False
    while True:
        done, state, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(state), usage, hung
        if not hung and time.monotonic() > deadline:
            hung = True
            end_group(pid)
        time.sleep(pause)
        pause = min(0.02, pause * 1.3)


def running(word):
    """Processes except this one with `word` in their command line: {pid: command}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                command = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if word in command and int(pid) != os.getpid():
            found[int(pid)] = command
    return found


def nobody_left(word, limit):
    """Waits until no process has `word` in its command line; kills those that are left, and fails."""
    deadline = time.monotonic() + limit
    left = running(word)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = running(word)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if left:
        raise Failure("still running after %d s: %s" % (limit, sorted(left.values())[0][:200]))


def files_below(folder):
    """Every regular file below a folder, as sorted relative paths."""
    found = []
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
    return sorted(found)


def no_temporary_files(folder):
    left = [f for f in files_below(folder) if os.path.basename(f).startswith(".") and
            (f.endswith(".tmp") or f.endswith(".unfinished"))]
    if left:
        raise Failure("left behind: " + " ".join(left[:5]))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def tool(name):
    return os.path.join(BIN, name)


def asan_tool(name):
    return os.path.join(ASAN_BIN, name)


def must(command, **how):
    """Runs a command that the battery itself needs; a failure ends the battery."""
    result = run(command, **how)
    if result.code:
        raise RuntimeError("%s: %s" % (" ".join(command), result.told()))
    return result


# ---- Fixtures --------------------------------------------------------------------------------------------

MODEL = """schema: lockstep.model/1
name: small
input: [1, 8, 8]
layers:
  - conv: {out: 4, kernel: 3}
  - batch_norm
  - relu
  - flatten
  - linear: {out: 10}
"""
EXPERIMENT = """schema: lockstep.experiment/1
name: %(name)s
dataset: synthetic
model: %(model)s
strategy: %(strategy)s
world_size: %(world_size)d
virtual_shards: 2
global_batch: 16
epochs: %(epochs)d
seed: 1
optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}
"""


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def small_experiment(folder, file="e.yaml", **values):
    """Writes an experiment that takes milliseconds, and its model, into a folder; returns its path."""
    settings = {"name": "small", "model": os.path.join(folder, "model.yaml"), "strategy": "single",
                "world_size": 1, "epochs": 2, **values}
    write_text(settings["model"], MODEL)
    return write_text(os.path.join(folder, file), EXPERIMENT % settings)


def small_data(folder, train=40, test=10, bin_of=tool):
    """Makes synthetic images for it: folder/train.st.zst and folder/test.st.zst."""
    must([bin_of("synth-cifar"), "-q", "--train", str(train), "--test", str(test), "--shape", "1,8,8", "--out",
          folder])
    return folder


# ---- Trials ----------------------------------------------------------------------------------------------

class Battery:
    def __init__(self, name, trials):
        """Reads the command line; `trials` is the default number of trials."""
        self.name = name
        usage = "usage: %s [TRIALS [SEED]]" % sys.argv[0]
        try:
            numbers = [int(word) for word in sys.argv[1:]]
        except ValueError:
            sys.exit(usage)
        if len(numbers) > 2:
            sys.exit(usage)
        self.trials = numbers[0] if numbers else trials
        self.seed = numbers[1] if len(numbers) > 1 else random.SystemRandom().randrange(1 << 31)
        self.only = int(os.environ["TRIAL"]) if "TRIAL" in os.environ else None
        self.most = float(os.environ.get("MOST_SECONDS", "inf"))
        self.began = time.monotonic()
        self.done = 0
        self.found = 0
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="torture-%s." % name))
        self.work = os.path.join(self.folder, "trial")
        self.fixtures = os.path.join(self.folder, "fixtures")
        os.mkdir(self.fixtures)
        atexit.register(self.clean)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def chance(self, what):
        """Random numbers for one purpose, from the battery's name and the seed."""
        return random.Random("%s/%d/%s" % (self.name, self.seed, what))

    def clean(self):
        if self.only is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def skip(self, why):
        print("%s: skipped: %s" % (self.name, why))
        sys.exit(SKIPPED)

    def need(self, path, how):
        if not os.path.exists(path):
            self.skip("there is no %s: %s" % (path, how))

    def fail(self, place, what):
        self.found += 1
        print("%s %s: %s" % (self.name, place, what), flush=True)

    def run(self, trial, trials=None):
        """Calls trial(i, chance) for each i, in an empty folder self.work, and counts each raised Failure."""
        numbers = range(self.trials if trials is None else trials) if self.only is None else [self.only]
        for i in numbers:
            if time.monotonic() - self.began > self.most:
                break
            shutil.rmtree(self.work, ignore_errors=True)
            os.mkdir(self.work)
            self.done += 1
            try:
                trial(i, self.chance(i))
            except Failure as failure:
                self.fail("trial %d" % i, failure)
        self.finish()

    def finish(self):
        if self.only is not None:
            print("%s: what the trial left is in %s" % (self.name, self.folder))
        print("%s: %d trials, %d failures, seed %d, %.0f s" %
              (self.name, self.done, self.found, self.seed, time.monotonic() - self.began), flush=True)
        sys.exit(1 if self.found else 0)
