# SPDX-License-Identifier: MIT
"""The work, the axes along which its execution varies, and the trials of a subject."""
import os
import platform
import random
import shutil
import time
from dataclasses import dataclass, field, replace

from contract import Failed, NotOffered
from models import BadModel, Model, distance, median

SAME, DIFFERS, ABSENT, FAILED = "same", "differs", "not offered", "failed"


@dataclass(frozen=True)
class Work:
    """Everything that determines the model: equal works must give equal bits."""
    data: str
    steps: int  # per epoch
    epochs: int
    batch: int = 64
    seed: int = 1
    model: str = "lenet-bn"
    augment: str = "none"

    def words(self):
        return ["--data", self.data, "--model", self.model, "--augment", self.augment, "--batch", str(self.batch),
                "--epochs", str(self.epochs), "--seed", str(self.seed)]

    @property
    def save_every(self):
        return max(1, self.steps // 8)


@dataclass(frozen=True)
class Config:
    """The execution of the work, which must not change the model. interruption: none, stop:STEP, kill:NUMBER."""
    ranks: int = 1
    threads: int = 1
    workers: int = 0
    isa: str = "best"
    interruption: str = "none"

    def words(self):
        return ["--ranks", str(self.ranks), "--threads", str(self.threads), "--loader-workers", str(self.workers),
                "--isa", self.isa]


@dataclass(frozen=True)
class Axis:
    """Values that are tried one at a time; `changes` applies to the work of every value."""
    name: str
    title: str
    values: tuple  # of (label, changed fields of Config or Work)
    changes: dict = field(default_factory=dict)


@dataclass
class Trial:
    axis: str
    label: str
    work: Work
    config: Config
    verdict: str = ABSENT
    distance: float = None  # None also if the tensors have other names, types or shapes
    sha256: str = ""
    seconds: float = 0.0
    reason: str = ""


def axes(work):
    """All axes, in the order of the table; `combined` and `seed` are handled separately."""
    steps, plain, augmented = work.steps, {"model": "lenet"}, {"augment": "crop-flip"}
    ranks = tuple((str(n), {"ranks": n}) for n in (2, 4))
    workers = tuple((str(n), {"workers": n}) for n in (1, 2))
    stops = [("at the end of an epoch", steps), ("in the first epoch", steps // 2)]
    if work.epochs > 1:
        stops.append(("in the second epoch", steps + max(1, steps // 3)))
    found = [
        Axis("repeat", "repeated", (("2nd", {}), ("3rd", {}))),
        Axis("threads", "2 and 3 threads", tuple((str(n), {"threads": n}) for n in (2, 3))),
        Axis("ranks", "2 and 4 ranks", ranks),
        Axis("ranks-plain", "2 and 4 ranks, no batch norm", ranks, plain),
        Axis("workers", "1 and 2 loader workers", workers),
        Axis("workers-augmented", "1 and 2 loader workers, random crop and flip", workers, augmented),
        Axis("isa", "instruction set", tuple((name, {"isa": name}) for name in PROCESSOR)),
        Axis("stop", "stopped and resumed", tuple((label, {"interruption": f"stop:{at}"}) for label, at in stops)),
        Axis("kill", "killed and resumed", tuple((f"kill {n}", {"interruption": f"kill:{n}"}) for n in (1, 2))),
        Axis("combined", "random combinations", ()),
        Axis("seed", "another seed (must differ)", (("another", {"seed": work.seed + 1}),)),
    ]
    # Only that network is there without batch norm, too.
    return [axis for axis in found if axis.changes != plain or work.model == Work.model]


# The names that adapters accept, and the processor flags that each requires.
PROCESSOR = {"avx512": {"avx512f", "avx512vl", "avx512bw", "avx512dq"}, "avx2": {"avx2", "fma"}, "baseline": set()}


SLOW = {"baseline"}  # programs may emulate missing instructions: not for combinations


def lacks(isa):
    """The reason why this processor lacks the instruction set; None if it has it."""
    if isa == "best" or not PROCESSOR[isa]:
        return None
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"{isa}: the processor is {platform.machine()}"
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    except OSError:
        return None  # the adapter decides
    return None if PROCESSOR[isa] <= flags else f"{isa}: the processor lacks it"


class Trials:
    """The trials of one subject. `tell` is called after each trial; `folder` is for their files."""

    def __init__(self, subject, work, folder, tell):
        self.subject, self.work, self.folder, self.tell = subject, work, folder, tell
        self.done = []
        self.references = {}

    def train(self, work, config):
        """Returns the model; raises NotOffered or Failed."""
        reason = lacks(config.isa)
        if reason:
            raise NotOffered(reason)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        try:
            return Model(self.subject.train(work, config, self.folder))
        except BadModel as e:
            raise Failed(str(e)) from e

    def reference(self, work):
        """The model of one rank, one thread, no loader workers, the best instruction set and no interruption."""
        key = replace(work, seed=self.work.seed)
        if key not in self.references:
            began = time.monotonic()
            trial = Trial("reference", "1st", key, Config(), SAME)
            try:
                self.references[key] = self.train(key, Config())
                trial.sha256 = self.references[key].sha256
                if key == self.work:
                    self.subject.median = median(self.references[key])
            except (NotOffered, Failed) as e:
                self.references[key] = e
                trial.verdict, trial.reason = verdict_of(e), str(e)
            trial.seconds = time.monotonic() - began
            self.add(trial)
        if isinstance(self.references[key], Exception):
            raise self.references[key]
        return self.references[key]

    def add(self, trial):
        self.done.append(trial)
        self.tell(self.subject, trial)

    def attempt(self, axis, label, work, config):
        trial = Trial(axis, label, work, config)
        began = time.monotonic()
        try:
            model = self.train(work, config)
            trial.seconds = time.monotonic() - began
            reference = self.reference(work)
            trial.sha256 = model.sha256
            trial.verdict = SAME if model.sha256 == reference.sha256 else DIFFERS
            trial.distance = distance(reference, model)
        except (NotOffered, Failed) as e:
            trial.verdict, trial.reason = verdict_of(e), str(e)
        trial.seconds = trial.seconds or time.monotonic() - began
        self.add(trial)

    def run_axis(self, axis):
        for label, change in axis.values:
            of_work = {key: value for key, value in change.items() if hasattr(self.work, key)}
            of_config = {key: value for key, value in change.items() if key not in of_work}
            self.attempt(axis.name, label, replace(self.work, **axis.changes, **of_work), Config(**of_config))

    def combine(self, axis, count):
        """Tries `count` random executions that differ from the reference in two or more ways, all of them offered."""
        offered = self.offered()
        chance, seen = random.Random("combinations"), set()
        for _ in range(100 * count):
            if len(seen) == count:
                break
            config = Config(**{key: chance.choice(values) for key, values in offered.items()})
            changed = sum(getattr(config, key) != getattr(Config(), key) for key in offered)
            if changed < 2 or config in seen:
                continue
            seen.add(config)
            self.attempt(axis.name, " ".join(config.words()[1::2]) + " " + config.interruption, self.work, config)
        if not seen:
            self.add(Trial(axis.name, "", self.work, Config(), ABSENT, reason="fewer than two axes are offered"))

    def offered(self):
        """{field of Config: the values that the subject offers}; values that were not tried are included."""
        refused = {t.config for t in self.done if t.verdict in (ABSENT, FAILED)}
        result = {}
        for axis in axes(self.work):
            if axis.changes or axis.name in ("repeat", "kill", "seed"):
                continue
            for _, change in axis.values:
                for key, value in change.items():
                    values = result.setdefault(key, [getattr(Config(), key)])
                    if Config(**change) not in refused and change.get("isa") not in SLOW:
                        values.append(value)
        return {key: values for key, values in result.items() if len(values) > 1}


def verdict_of(exception):
    return ABSENT if isinstance(exception, NotOffered) else FAILED
