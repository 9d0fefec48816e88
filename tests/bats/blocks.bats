#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The commands of the README and of docs/comparing.md, which train most.
# shellcheck disable=SC2154 # output and stderr are set by helpers.bash
load helpers
load blocks

setup_file() {
    checkout_file
}

setup() {
    begin_blocks
}

@test "the README" {
    draw_flowers
    mkdir -p handed-in/Li old
    ln -s "$box/build/bin" old/bin
    cp artifacts/submission-single-ddp4.tar.gz handed-in/Li/
    own_copies
    own_programs
    save_files README.md
    {
        page_blocks README.md
        # shellcheck disable=SC2016 # the backquotes are Markdown's
        grep '^|' "$ROOT/README.md" | grep -o '`\(make\|build/bin/[a-z-]*\) [^`]*`' | tr -d '`'
    } | sed "s/3f2a 91bc/${keys[0]%/} ${keys[1]%/}/; s|train-single …|train-single --experiment single --train train.st.zst|g
        s|time-runs|& --precision 50 --limit 2|" >lines
    rm -r one ./*.st.zst manifest.yaml
    commands lines
    grep -q '^cmp one' lines
    [ "$(wc -l <lines)" -ge 25 ] || fail "$(cat lines)"
}

@test "docs/comparing.md" {
    mkdir -p handed-in/Li 'group 1' 'group 2' data old
    cp artifacts/submission-single-ddp4.tar.gz .
    cp submission-single-ddp4.tar.gz handed-in/Li/
    cp submission-single-ddp4.tar.gz 'group 1/li.tar.gz'
    cp submission-single-ddp4.tar.gz 'group 2/wu.tar.gz'
    cp ./*.st.zst data/
    cp experiments/R001/single.yaml one.yaml
    cp experiments/R001/ddp4.yaml two.yaml
    ln -s "$box/build/bin" old/bin
    train-ddp -q --experiment two.yaml --train train.st.zst --test test.st.zst --out two
    awk '/^schema: lockstep.rubric/ { inside = 1 } /^```/ { inside = 0 } inside' "$ROOT/docs/formats.md" >points.yaml
    [ -s points.yaml ]
    own_programs
    # Of two runs that load the machine alike, three executions decide.
    blocks_work docs/comparing.md "s/3f2a 91bc/${keys[0]%/} ${keys[1]%/}/; s/time-runs/& --precision 50 --limit 2/
        s/single dp4\" WHOLE=1/ddp4-same-batch ddp4\" TIME=1 PRECISION=50 WHOLE=1/"
}
