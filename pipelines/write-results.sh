#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts the tables of the last `make reproduce` into docs/results.md, so that no figure there is typed by hand.
#
#     make reproduce-docs
#     write-results.sh            DOCS=FILE, REPORT=FILE, EXPLAINED=FILE: another document, other reports
#
# Fills the blocks `rows` (every experiment next to its published figures), `machine`, `predicted`
# (next to measured) and `compared` (like for like, a table for each published report). Refuses the
# shortened run that QUICK=1 makes. Fills the block `explained` if there is the report of
# `make explain A=single B=ddp4`.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
report=${REPORT:-${ARTIFACTS:-artifacts}/reproduce/report/report.md}
explained=${EXPLAINED:-${ARTIFACTS:-artifacts}/explain-single-ddp4/report/report.md}
docs=${DOCS:-$root/docs/results.md}
work=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-results.XXXXXX")
trap 'rm -rf "$work"' EXIT

refuse() {
    echo "write-results.sh: $report: $1" >&2
    exit 1
}
[ -e "$report" ] || refuse "it does not exist: run make reproduce first"
! grep -q '^SHORTENED' "$report" || refuse "a shortened or changed run, which the documents do not accept"

# section HEADING [FILE]: the text after that line, up to the next heading of the same or a higher
# level.
section() {
    awk -v wanted="$1" '
        /^#+ / { level = index($0, " ") - 1; if (inside && level <= own) exit }
        inside { print }
        $0 == wanted { inside = 1; own = index($0, " ") - 1 }' "${2:-$report}"
}

# table N: the N-th table of standard input, without links to drawings.
table() {
    awk -v wanted="$1" '/^\|/ { if (!before) n++; before = 1; if (n == wanted) print; next } { before = 0 }'
}

table 1 <"$report" >"$work/rows"
section '## Environment' | table 1 >"$work/machine"
section '## Predicted and measured' | table 1 >"$work/predicted"
grep '^## [A-Z][0-9]*: ' "$report" | while IFS= read -r heading; do
    printf '### %s\n\n' "${heading#\#\# }"
    section "$heading" | sed -n '/^### Like for like/,/^\(###\|\[\)/p' | table 1
    echo
done | sed '$d' >"$work/compared"
if [ -e "$explained" ]; then
    grep -m 1 '^The accuracy was lost' "$explained" | fold -s -w 100 | sed 's/ *$//'
    echo
    section '## Effect of each step on accuracy' "$explained" | table 1
fi >"$work/explained"
[ -s "$work/explained" ] || rm "$work/explained"
"$root/scripts/fill-blocks" reproduce "$work" "$docs"
echo "written: $docs"
