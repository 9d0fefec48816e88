#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists what the templates of one language say and those of another leave out.

    template_ids.py share/report/en share/report/zh DIFFERENCES

An id is a member of the facts (`.ratio.low`), a name of the tree (`runs`), a part of a template that is used, a chart
that is inserted, a table of names, or a heading (`## 0` is the first). They are compared by template and by its parts
("verdict.ratio"). Of names.yaml, the part is `names` and an id `TABLE.WORD`.

DIFFERENCES lists those that one language has no use for: "LANGUAGE TEMPLATE ID: REASON", one a line, where ID may end in
`*`. Prints each other difference, and each line of that list that no longer holds.
"""
import pathlib
import re
import sys

TAG = re.compile(r'\{\{((?:"[^"\n]*"|\'[^\'\n]*\'|(?!\}\}).)*)\}\}', re.S)
TOKEN = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|[A-Za-z_]\w*|\S')
WORDS = {"if", "elif", "else", "end", "each", "in", "between", "let", "use", "insert", "define", "and", "or", "not",
         "true", "false", "nothing"}


def paths(tokens):
    """The members of each path in a tag, without the name that it begins with; a name alone as it is."""
    found, at = [], 0
    while at < len(tokens):
        token = tokens[at]
        if token == "|":  # a filter: how a value is written is a matter of the language
            if tokens[at + 1:at + 2] == ["name"]:
                found.append("name " + tokens[at + 2].strip("'\""))
            at += 2
            continue
        if not re.match(r"[A-Za-z_]", token) or token in WORDS or tokens[at + 1:at + 2] == ["="]:
            at += 1
            continue
        path, at = [token], at + 1
        while at < len(tokens) and tokens[at] in (".", "?", "["):
            if tokens[at] == "[":
                at = tokens.index("]", at)
            elif tokens[at] == ".":
                at += 1
                path.append(tokens[at])
            at += 1
        if path[0] != "loop":
            found.append("".join("." + member for member in path[1:]) or path[0])
    return found


def ids(file):
    """(part, id) of a template, with the local names left out."""
    source = re.sub(r"\{\{#.*?\}\}", "", file.read_text(encoding="utf-8"), flags=re.S)
    part, depth, found, local = file.stem, 0, set(), {"of"}
    for piece in re.split(f"({TAG.pattern})", source, flags=re.S)[::1]:
        if piece is None or not piece.startswith("{{"):
            continue
        tokens = TOKEN.findall(piece[2:-2])
        word = tokens[0] if tokens else ""
        if word == "define":
            part = f"{file.stem}.{tokens[1]}"
        elif word in ("each", "let"):
            local.add(tokens[1])
        elif word in ("use", "insert"):
            found.add((part, f"{word} " + tokens[1].strip("'\"")))
        depth += (word in ("if", "each", "define")) - (word == "end")
        found |= {(part, path) for path in paths(tokens[2 if word in ("define", "let", "each") else 0:])}
        if depth == 0:
            part = file.stem
    for part_source, name in parts(source, file.stem):
        found |= {(name, f"## {n}") for n in range(len(re.findall(r"^#+ ", part_source, re.M)))}
    return {(p, i) for p, i in found if i not in local}


def parts(source, stem):
    """The text of each part: of the template itself, and of what it defines."""
    pieces = re.split(r"^\{\{define (\w+)\}\}", source, flags=re.M)
    return [(pieces[0], stem)] + [(pieces[i + 1], f"{stem}.{pieces[i]}") for i in range(1, len(pieces), 2)]


def words(folder):
    """The words that names.yaml translates, as ids."""
    table, found = "", set()
    for line in (folder / "names.yaml").read_text(encoding="utf-8").splitlines():
        match = re.match(r'( *)("[^"]+"|[^\s#:][^:]*):', line)
        if match and not match.group(1):
            table = match.group(2)
        if match:
            found.add(("names", f"{table}.{match.group(2)}" if match.group(1) else table))
    return found


def find(listed, language, part, name):
    return [entry for entry in listed
            if entry[:2] == (language, part) and (entry[2] == name or entry[2][-1] == "*" and name.startswith(entry[2][:-1]))]


def read_differences(path):
    listed = {}
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\w+) (\S+) ([^:]+): (\S.*)", line)
        if not match:
            sys.exit(f"{path}:{number}: expected LANGUAGE TEMPLATE ID: REASON")
        listed[match.group(1, 2, 3)] = number
    return listed


def main():
    folders, listed = [pathlib.Path(name) for name in sys.argv[1:3]], read_differences(sys.argv[3])
    both = [{x for file in sorted(folder.glob("*.md")) for x in ids(file)} | words(folder) for folder in folders]
    used, faults = set(), []
    for own, other, folder in (*both, folders[0]), (*both[::-1], folders[1]):
        for part, name in sorted(own - other):
            known = find(listed, folder.name, part, name)
            used.update(known)
            if not known:
                faults.append(f"only in {folder}: {part}: {name}")
    faults += [f"{sys.argv[3]}:{number}: no longer a difference" for entry, number in listed.items() if entry not in used]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
