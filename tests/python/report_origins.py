#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Walks report.json from a figure to its files, and prints the figures and files on the way.

    report_origins.py report.json [FIGURE]

Without a figure it walks from all, and prints only those that do not lead to a file whose hash the facts have, or to the
manifest that recorded them.
"""
import json
import sys


def walk(facts, name, depth, lines):
    figure = facts["figures"][name]
    lines.append(f"{'  ' * depth}{name} = {figure['value']}")
    if figure["value"] is None or name.endswith((".executions", ".turns")):  # a count of what is listed
        return True
    if "from" in figure:
        return all([walk(facts, part, depth + 1, lines) for part in figure["from"]])
    source = figure.get("file") or (figure["source"] or "").rpartition(": ")[0]
    if source not in facts["files"]:
        return source in facts["manifests"]
    lines.append(f"{'  ' * depth}  {source} {facts['files'][source]}")
    return True


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = json.load(file)
    facts = {"figures": {f["id"]: f for f in page["figures"]},
             "files": {f["path"]: f["hash"] for f in page["files"] if f["hash"] and f["role"] != "manifest"},
             "manifests": {f["path"] for f in page["files"] if f["role"] == "manifest"}}
    lines = []
    if len(sys.argv) > 2:
        walk(facts, sys.argv[2], 0, lines)
    else:
        lines = [name for name in facts["figures"] if not walk(facts, name, 0, [])]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if len(sys.argv) == 2 and lines else 0


if __name__ == "__main__":
    sys.exit(main())
