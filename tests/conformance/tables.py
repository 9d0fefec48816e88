# SPDX-License-Identifier: MIT
"""The results of the suite: a table in Markdown, notes below it, and a CSV with every trial."""
import csv
import os
import subprocess

from contract import FOLDER
from trials import ABSENT, DIFFERS, FAILED, SAME

ROOT = os.path.dirname(os.path.dirname(FOLDER))
COLUMNS = ["subject", "axis", "trial", "model", "augment", "seed", "ranks", "threads", "loader_workers", "isa",
           "interruption", "verdict", "largest_difference", "sha256", "seconds", "reason"]


def is_finding(trial):
    """A different model where it should be equal, or an equal model where it should differ."""
    return trial.verdict == (SAME if trial.axis == "seed" else DIFFERS)


def told(trial):
    """The result of a trial, in a few words."""
    if trial.verdict == DIFFERS:
        return "differs" + by(trial)
    return trial.verdict + (f": {trial.reason}" if trial.reason else " bits" if trial.verdict == SAME else "")


def by(trial):
    return " in its tensors" if trial.distance is None else f" by {trial.distance:.1e}"


def cell(trials):
    """The trials of one axis and one subject in one cell of the table."""
    if not trials:
        return "not tried"
    tried = [t for t in trials if t.verdict in (SAME, DIFFERS)]
    failed = [t.label for t in trials if t.verdict == FAILED]
    absent = [t.label for t in trials if t.verdict == ABSENT]
    if failed:
        return "failed: " + ", ".join(failed)
    if not tried:
        return "not offered"
    if trials[0].axis == "seed":
        return "**the same**" if tried[0].verdict == SAME else "differs"
    return found(tried) + ("; not offered: " + ", ".join(absent) if absent else "")


def found(tried):
    others = [t for t in tried if t.verdict == DIFFERS]
    if not others:
        return f"same bits, {len(tried)} of {len(tried)}"
    some = others[0].axis != "combined" and len(others) < len(tried)
    labels = " (" + ", ".join(t.label for t in others) + ")" if some else ""
    distances = [t.distance for t in others]
    most = "other tensors" if None in distances else f"up to {max(distances):.1e}"
    return f"**differs**, {len(others)} of {len(tried)}{labels}: {most}"


def of(done, axis):
    return [t for t in done if t.axis == axis.name]


def table(results, axes):
    """`results` is a list of (subject, its trials)."""
    lines = ["| " + " | ".join(["axis", *(subject.name for subject, _ in results)]) + " |",
             "|---" * (len(results) + 1) + "|"]
    for axis in axes:
        lines.append("| " + " | ".join([axis.title, *(cell(of(done, axis)) for _, done in results)]) + " |")
    return "\n".join(lines) + "\n"


def notes(results, axes, absent):
    """The size of the values, the reasons of missing and failed trials, and references that do not repeat."""
    lines = [f"- {subject.name}: the median of the reference's absolute values is {subject.median:.1e}."
             for subject, _ in results if subject.median is not None]
    lines += [f"- {name}: not here: {reason}." for name, reason in absent]
    for subject, done in results:
        if any(t.verdict == DIFFERS for t in done if t.axis == "repeat"):
            lines.append(f"- {subject.name}: the same execution gives other bits each time, so what differs elsewhere "
                         "need not come from there.")
        for axis in axes:
            reasons = dict.fromkeys((t.verdict, t.reason) for t in of(done, axis) if t.reason)
            lines += [f"- {subject.name}, {axis.title}: {verdict}: {reason}." for verdict, reason in reasons]
    return "\n".join(lines) + "\n"


def write_csv(path, results):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for subject, done in results:
            for t in done:
                distance = "" if t.distance is None else f"{t.distance:.9g}"
                writer.writerow([subject.text, t.axis, t.label, t.work.model, t.work.augment, t.work.seed,
                                 t.config.ranks, t.config.threads, t.config.workers, t.config.isa,
                                 t.config.interruption, t.verdict, distance, t.sha256, f"{t.seconds:.2f}", t.reason])


def machine(folder):
    """{key: value} of tests/bench/describe-machine, or {} if it fails."""
    environment = dict(os.environ, BENCH=folder)
    try:
        text = subprocess.run([os.path.join(ROOT, "tests/bench/describe-machine")], env=environment, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def duration(seconds):
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def setting(results, work, folder, seconds):
    """The machine, the versions and the work, in a paragraph."""
    facts = machine(folder)
    where = "unknown machine" if not facts else \
        f"{facts['cores']} cores of a processor that calls itself {facts['processor']}; {facts['system']}"
    versions = dict.fromkeys(subject.version for subject, _ in results if subject.version)
    trials = sum(len(done) for _, done in results)
    return (f"On {where}; {'; '.join(versions)}; {facts.get('date', '')}. {trials} trials, each a training of "
            f"{work.epochs} epochs of {work.steps} steps of {work.batch} images, in {duration(seconds)}.\n")
