# SPDX-License-Identifier: MIT
# make torture: its requirements are met. The batteries themselves are not part of make test.
load helpers

@test "every patch in tests/torture/bugs applies to the source, and its test exists" {
    needs git deps-packaging
    local patch test file name
    cd "$ROOT"
    for patch in tests/torture/bugs/*.patch; do
        git apply --check "$patch" || fail "$patch does not apply: update the patch"
        grep -q '^Bug: .' "$patch" || fail "$patch: no 'Bug: WHAT'"
        test=$(sed -n 's/^Test: //p' "$patch")
        file=${test%%: *}
        name=${test#"$file"}
        name=${name#: }
        if [ "$file" = "make check-races" ]; then # PROGRAM=FILTER
            file=tests/ops/${name%%=*}.c
            name=
        fi
        [ -f "$file" ] || fail "$patch: no test file '$file'"
        grep -qF -- "${name:-test}" "$file" || fail "$patch: no test '$name' in $file"
    done
}

@test "an unknown battery is named, and nothing runs" {
    run env BATTERIES="faults fautls" tests/torture/run
    [ "$status" -eq 2 ]
    [[ ${lines[0]} == "torture: no battery 'fautls': the batteries are seeded fuzzers "* ]] || fail "$output"
    [ "${#lines[@]}" -eq 1 ] || fail "$output"
}
