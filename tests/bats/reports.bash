# What the bats files about reports share.
# shellcheck shell=bash

# a_run DIR [KEY=VALUE]...: a run whose numbers are known, as make_run.py takes them.
a_run() {
    "$PYTHON" "$ROOT/tests/fixtures/make_run.py" "$@"
}

# says FILE TEXT: the file has that text; lacks FILE TEXT: it has not.
says() {
    grep -qF -- "$2" "$1" || fail "$1 does not say: $2" "$(cat "$1")"
}

lacks() {
    ! grep -qF -- "$2" "$1" || fail "$1 says: $2"
}

# figure FILE ID: its value in report.csv.
figure() {
    awk -F, -v id="$2" '$1 == id { print $4; found = 1 } END { exit !found }' "$1"
}
