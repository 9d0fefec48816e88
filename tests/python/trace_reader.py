#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reader of traces (train-* --trace), standard library only, which checks the rules of every trace.

    trace_reader.py FILE      a line for each track: PROCESS/TRACK

Also a module: Trace(FILE) has `tracks` (name -> list of spans, enclosing ones first) and `steps(process)`. Times are
whole nanoseconds. AssertionError if the file is malformed: a span on an unnamed track, spans of one track that overlap
without nesting, a phase that contains a span.
"""
import collections
import json
import sys

Span = collections.namedtuple("Span", "name kind begin end")
PHASES = ("load", "copy", "forward", "backward", "comm", "wait", "update")


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def check_nesting(track, spans):
    around = []
    for span in spans:
        while around and around[-1].end <= span.begin:
            around.pop()
        if around:
            assert span.end <= around[-1].end, (track, "overlaps", span, around[-1])
            assert around[-1].kind == "operation", (track, "inside of a phase", span, around[-1])
        assert span.kind == "operation" or span.name in PHASES, (track, span)
        around.append(span)


class Trace:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        events = whole["traceEvents"]
        self.tool, self.left_out = whole["otherData"]["tool"], whole["otherData"]["left_out"]
        processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.names = {
            (e["pid"], e["tid"]): processes[e["pid"]] + "/" + e["args"]["name"] for e in events if e["name"] == "thread_name"
        }
        assert len(set(self.names.values())) == len(self.names), "two tracks of one name"
        assert 0 not in {e["tid"] for e in events} | {e["pid"] for e in events}
        self.tracks = {name: [] for name in self.names.values()}
        for e in events:
            if e["ph"] != "X":
                continue
            begin = nanoseconds(e["ts"])
            assert begin >= 0 and e["dur"] >= 0, e
            span = Span(e["name"], e["cat"], begin, begin + nanoseconds(e["dur"]))
            self.tracks[self.names[e["pid"], e["tid"]]].append(span)
        for name, spans in self.tracks.items():
            check_nesting(name, spans)

    def of(self, process):
        """The tracks of a process, the one of its main thread first."""
        return [name for name in self.tracks if name.startswith(process + "/")]

    def steps(self, process="rank 0"):
        """Step number -> its span; every one must lie in an epoch."""
        main = self.tracks[self.of(process)[0]]
        epochs = [s for s in main if s.name.startswith("epoch ")]
        found = {}
        for s in main:
            if not s.name.startswith("step "):
                continue
            assert any(e.begin <= s.begin and s.end <= e.end for e in epochs), s
            assert s.name not in found, s
            found[s.name] = s
        return {int(name[5:]): s for name, s in found.items()}

    def inside(self, track, around, name=None, kind=None):
        """The spans of a track within the time of another span."""
        return [
            s
            for s in self.tracks[track]
            if around.begin <= s.begin and s.end <= around.end and s != around
            and (name is None or s.name == name) and (kind is None or s.kind == kind)
        ]

    def spent(self, track, around, phase):
        return sum(s.end - s.begin for s in self.inside(track, around, phase, "phase"))


if __name__ == "__main__":
    print("\n".join(Trace(sys.argv[1]).tracks))
