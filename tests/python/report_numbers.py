#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every number on a page is in its facts, as it is or computed by a template.

    report_numbers.py report.json report.md

A template may show a number v as v, 100 v, 1 / v, 100 (v - 1), 100 (1 / v - 1), without its sign, half of an
interval, or the size of a list; rounded to the digits on the page. Numbers within names, paths and commands are part of
the texts of the facts.
"""
import json
import re
import sys

MARKS = re.compile("\ue000.*?\ue001|\ue002")
CODE = re.compile(r"`[^`]*`|^```.*?^```", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")


def walk(node, numbers, texts):
    if isinstance(node, dict):
        if isinstance(node.get("low"), (int, float)) and isinstance(node.get("high"), (int, float)):
            numbers.append((node["high"] - node["low"]) / 2)
        for value in node.values():
            walk(value, numbers, texts)
    elif isinstance(node, list):
        numbers += [len(node), len(node) - 1]
        for value in node:
            walk(value, numbers, texts)
    elif isinstance(node, str):
        texts.append(node)
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        numbers.append(node)


def shown(numbers, digits):
    forms = set()
    for v in numbers:
        for value in (v, 100 * v, 1 / v if v else 0, 100 * (v - 1), 100 * (1 / v - 1) if v else 0, 3 * v):
            forms.add(f"{abs(value):.{digits}f}")
    return forms


def main():
    numbers, texts = [], []
    with open(sys.argv[1], encoding="utf-8") as file:
        walk(json.load(file), numbers, texts)
    page = CODE.sub(" ", MARKS.sub("", open(sys.argv[2], encoding="utf-8").read()))
    known = "\n".join(texts)
    forms, missing = {}, []
    # What templates say about rules, not about these runs.
    rules = {"0", "1", "3", "95", "0.5", "50", "2", "5", "0.05"}
    for line in page.splitlines():
        for match in NUMBER.finditer(line.replace("\\", "").replace("SHA-256", "")):
            number = match.group().lstrip("+-").replace(",", "").rstrip(".")
            digits = len(number.partition(".")[2])
            if digits not in forms:
                forms[digits] = shown(numbers, digits)
            if number not in rules and number not in forms[digits] and number not in known:
                missing.append(f"{match.group()}: {line[:120]}")
    print("\n".join(missing), end="\n" if missing else "")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
