# SPDX-License-Identifier: MIT
"""Command lines of every tool, their files and output, and their permitted failures: for the batteries `faults`
and `full`."""
import collections
import glob
import os
import re
import shutil
import socket
import struct
import zipfile
import zlib

from battery import (BIN, ROOT, TORTURE_BUILD, Failure, digest, files_below, must, no_temporary_files, run, small_data,
                     small_experiment, tool)

LIBRARY = os.path.join(TORTURE_BUILD, "faults.so")
READS = ["read", "open"]  # of an input
# These contain times, or hashes of files with times: their bytes differ from run to run.
WITH_TIMES = ("steps.st.zst", "state.st.zst", "turns.st.zst", "manifest.yaml")

# Tools whose failure is told by the tool that they started, too.
STARTING = ("pipeline", "time-runs")
# What starts two ranks, as another program would.
TORCHRUN = ["bash", "-c", 'RANK=1 "$@" & RANK=0 "$@"; code=$?; wait $! || code=$?; exit $code', "torchrun"]
MPIRUN = ["mpirun", "-n", "2"]
MPI = os.path.exists(os.path.join(BIN, "../lib/lockstep-mpi.so")) and shutil.which("mpirun")
# Output of a pipeline's tools on success.
TALK = re.compile(r"train-\w+: epoch [0-9]|import-images: (.* [0-9]+ classes, |images of each class: |to train on these images: )|"
                  r"evaluate: (always answering |the model never answers )")


class Case:
    """A command line. {F} is the folder of fixtures, {W} the folder of the trial; outputs go to {W}/out. A word is
    cut at no %20, which is a blank."""

    def __init__(self, words, before=None, stdout=False, code=0, weight=1, unread=(3,), parts=False, launcher=None, rank=0):
        """before: the fixture that the output folder is copied from. stdout: the printed text is the output.
        parts: manifests among the outputs name files that are not there. unread: permitted exit codes, besides 1, if an input cannot be read.
        launcher: the command that starts the ranks, of which `rank` has the fault."""
        self.words, self.before, self.stdout = words.split(), before, stdout
        self.code, self.weight, self.unread, self.parts = code, weight, unread, parts
        self.launcher, self.rank = launcher, rank
        self.tool = self.words[0]

    def environment(self):
        """Of the launcher."""
        if self.launcher is TORCHRUN:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                port = s.getsockname()[1]
            return {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                    "LOCKSTEP_RENDEZVOUS_SECONDS": "5", "FAULT_RANK": str(self.rank)}
        if self.launcher is MPIRUN:
            return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_orte_execute_quiet": "1",
                    "FAULT_RANK": str(self.rank), "FAULT_OWN": "1"}
        return {}

    def fixed(self, file):
        """Are the bytes of an output the same in every run?"""
        if self.tool == "bench-allreduce" or file.endswith(".lock") or os.path.basename(file) in WITH_TIMES:
            return False
        return self.tool != "pipeline" or file.endswith("model.st.zst")

    def command(self, fixtures, work):
        words = [w.replace("{F}", fixtures).replace("{W}", work).replace("%20", " ") for w in self.words]
        return (self.launcher or []) + [tool(words[0])] + words[1:]


ARM = "train-single%20--experiment%20{F}/e.yaml%20--train%20{F}/data/train.st.zst%20--threads%201 "
TRAIN = "-q --experiment {F}/e.yaml --train {F}/data/train.st.zst --test {F}/data/test.st.zst --out {W}/out "
CASES = {
    "synth-cifar": Case("synth-cifar -q --train 30 --test 10 --shape 1,8,8 --out {W}/out"),
    "shard": Case("shard -q --shards 3 --in {F}/data/train.st.zst --out {W}/out"),
    "import-images of a folder": Case("import-images --from {F}/pictures --size 8 --channels 1 --out {W}/out"),
    "import-images of arrays": Case("import-images -q --from {F}/a.npz --out {W}/out"),
    "train-single": Case("train-single " + TRAIN),
    "train-single of shards": Case("train-single " + TRAIN.replace("data/train.st.zst", "shards")),
    "train-single --resume": Case("train-single --resume " + TRAIN, before="stopped"),
    "train-dp": Case("train-dp --world-size 2 --threads 1 " + TRAIN),
    "train-mp": Case("train-mp --world-size 2 --threads 1 " + TRAIN),
    "train-ddp": Case("train-ddp --world-size 2 --threads 1 " + TRAIN, weight=2),
    "train-ddp --max-restarts": Case("train-ddp --max-restarts 1 --world-size 2 --threads 1 " + TRAIN),
    "rank 0 that a launcher started": Case("train-ddp --threads 1 " + TRAIN, launcher=TORCHRUN, rank=0),
    "rank 1 that a launcher started": Case("train-ddp --threads 1 " + TRAIN, launcher=TORCHRUN, rank=1),
    "rank 0 over MPI": Case("train-ddp --threads 1 " + TRAIN, launcher=MPIRUN, rank=0),
    "rank 1 over MPI": Case("train-ddp --threads 1 " + TRAIN, launcher=MPIRUN, rank=1),
    "evaluate": Case("evaluate -q --model {F}/run/train/model.st.zst --data {F}/data/test.st.zst --out {W}/out"),
    "report": Case("report -q {F}/run --out {W}/out"),
    "report --why": Case("report -q {F}/run --why small.accuracy", stdout=True),
    "tensor info": Case("tensor info -q {F}/run/train/model.st.zst", stdout=True),
    "tensor export": Case("tensor export -q --format csv --out {W}/out/x.csv {F}/data/train.st.zst labels"),
    "tensor import": Case("tensor import -q --name x --format npy --out {W}/out/x.st.zst {F}/x.npy"),
    "tensor diff": Case("tensor diff -q {F}/data/train.st.zst {F}/data/test.st.zst", stdout=True, code=4),
    "manifest verify": Case("manifest verify -q {F}/run/train {F}/run/evaluate", stdout=True, unread=(3, 4)),
    "manifest get": Case("manifest get -q {F}/run/evaluate results.accuracy", stdout=True),
    "plan": Case("plan ladder -q {F}/e.yaml {F}/ddp.yaml", stdout=True),
    "audit": Case("audit -q {ROOT}/experiments/R001/claim.yaml".replace("{ROOT}", ROOT), stdout=True, code=4),
    "time-runs": Case("time-runs -q --precision 99 --out {W}/out " + 2 * ARM),
    "bench-allreduce": Case("bench-allreduce -q --world-size 2 --max-bytes 2048 --iterations 1 --out {W}/out"),
    # It unpacks manifests without their files; the answer says whether they were checked.
    "pipeline verify": Case("pipeline -q --json verify {F}/submission.tar.gz ARTIFACTS={W}/out DATA={F}/data SEED=1", stdout=True,
                            parts=True, unread=(3, 4)),
    "pipeline": Case("pipeline -q experiment {F}/ddp.yaml ARTIFACTS={W}/out DATA={F}/data", weight=2),
}
if not MPI:
    CASES = {name: case for name, case in CASES.items() if case.launcher is not MPIRUN}


def png(path, pixel):
    """A grey picture of 10 by 10 pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([(pixel + 9 * y + x) % 256 for x in range(10)]) for y in range(10))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 10, 10, 8, 0, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def npy(kind, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    header += " " * (53 - len(header) % 64 + 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def make_fixtures(f):
    small_data(f + "/data")
    small_experiment(f)
    small_experiment(f, "ddp.yaml", strategy="ddp", world_size=2, name="ddp")
    must([tool("shard"), "-q", "--shards", "2", "--in", f + "/data/train.st.zst", "--out", f + "/shards"])
    train = [tool("train-single"), "-q", "--experiment", f + "/e.yaml", "--train", f + "/data/train.st.zst", "--test",
             f + "/data/test.st.zst", "--out"]
    must(train + [f + "/run/train"])
    must(train + [f + "/stopped", "--stop-after-steps", "2"])
    must([tool("evaluate"), "-q", "--model", f + "/run/train/model.st.zst", "--data", f + "/data/test.st.zst", "--out",
          f + "/run/evaluate"])
    must([tool("pipeline"), "-q", "submission", f + "/e.yaml", "ARTIFACTS=" + f + "/handed", "DATA=" + f + "/data",
          "STATES=2", "TIME=0"])
    os.rename(glob.glob(f + "/handed/submission-*.tar.gz")[0], f + "/submission.tar.gz")
    shutil.rmtree(f + "/handed")
    for grey, label in (0, "cat"), (100, "dog"):
        os.makedirs(f + "/pictures/" + label)
        for i in range(5):
            png("%s/pictures/%s/%d.png" % (f, label, i), grey + 20 * i)
    array = npy("|u1", (12, 8, 8), bytes(i % 251 for i in range(768)))
    with zipfile.ZipFile(f + "/a.npz", "w") as z:
        z.writestr("x.npy", array)
        z.writestr("y.npy", npy("|u1", (12,), bytes(i % 3 for i in range(12))))
    with open(f + "/x.npy", "wb") as out:
        out.write(array)


class Cases:
    """All cases, each with its result without a fault."""

    def __init__(self, battery):
        self.battery, self.fixtures, self.work = battery, battery.fixtures, battery.work
        self.reference, self.printed, self.calls = {}, {}, {}
        make_fixtures(self.fixtures)
        for name, case in CASES.items():
            self.learn(name, case)

    def prepare(self, case):
        """Prepares the folder of a case, with the files that exist before it starts."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        if case.before:
            shutil.copytree(self.fixtures + "/" + case.before, self.work + "/out")
        else:
            os.mkdir(self.work + "/out")

    def execute(self, case, **settings):
        env = {**case.environment(), **({"LD_PRELOAD": LIBRARY, **settings} if settings else {})}
        return run(case.command(self.fixtures, self.work), env=env, limit=90)

    def learn(self, name, case):
        """Records the files and output of a case without a fault, and its number of calls of each kind."""
        self.prepare(case)
        counts = self.battery.folder + "/counts"
        if os.path.exists(counts):
            os.remove(counts)
        result = self.execute(case, FAULT_COUNT=counts, FAULT_ONLY=case.tool)
        if result.code != case.code:
            raise RuntimeError("%s: %s" % (name, result.told()))
        self.reference[name] = self.battery.folder + "/reference/" + name.replace(" ", "-")
        shutil.copytree(self.work, self.reference[name], symlinks=True)
        self.printed[name] = result.out
        self.calls[name] = collections.Counter()
        with open(counts, encoding="utf-8") as f:
            for line in f:
                for word in line.split()[1:]:
                    kind, _, count = word.partition("=")
                    self.calls[name][kind] = max(self.calls[name][kind], int(count))

    def size(self, name, file):
        return os.path.getsize(self.reference[name] + "/" + file)

    # Every file in the trial's folder must be whole: the old one, or the one that the case writes.
    def check_whole(self, name, case):
        before = self.fixtures + "/" + case.before if case.before else None
        for file in files_below(self.work):
            path = self.work + "/" + file
            base = os.path.basename(file)
            if base == "manifest.yaml" and not case.parts:
                verified = run([tool("manifest"), "verify", "-q", path])
                if verified.code:
                    raise Failure("a manifest that is not true: %s: %s" % (file, verified.told()))
            elif file.endswith(".st.zst"):
                if run([tool("tensor"), "hash", path]).code:
                    raise Failure("half a file: " + file)
            if not case.fixed(file) or (base.startswith(".") and base.endswith(".tmp")):
                continue
            allowed = [folder + "/" + relative for folder, relative in
                       ((self.reference[name], file), (before, os.path.relpath(file, "out"))) if folder]
            known = [digest(p) for p in allowed if os.path.exists(p)]
            if known and digest(path) not in known:
                raise Failure("neither old nor new: " + file)

    def check_complete(self, name, case, result):
        reference = self.reference[name]
        if case.stdout and result.out != self.printed[name]:
            raise Failure("code %d, and it printed something else" % result.code)
        # A name of a folder that cannot be recorded is left out (lib/pipeline/owned_names.h).
        names = [f for f in files_below(reference) if not f.endswith(".lock") and "/.names/" not in f]
        # A training that was stopped and resumed has no times, so its report has no drawing of times.
        missing = [f for f in names if not os.path.exists(self.work + "/" + f) and
                   not (case.tool == "pipeline" and re.search(r"/figures/(split|use)\.", f))]
        if missing:
            raise Failure("code %d without %s" % (result.code, missing[0]))
        for file in filter(case.fixed, names):
            if digest(self.work + "/" + file) != digest(reference + "/" + file):
                raise Failure("code %d with another %s" % (result.code, file))
        self.check_whole(name, case)

    def check_failed(self, case, kind, result):
        if result.hung:
            raise Failure("hangs")
        if result.code < 0:
            raise Failure("crashed: " + result.told())
        if result.code != 1 and not (result.code in case.unread and kind in READS):
            raise Failure("not exit code 1: " + result.told())
        lines = [line for line in result.lines() if not TALK.match(line)]
        # In a pipeline, the tool reports the reason, and the pipeline names the stage.
        if not 1 <= len(lines) <= (2 if case.tool in STARTING or case.launcher else 1):
            raise Failure("%d lines instead of one: %s" % (len(lines), result.told()))
