#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make dist: the archive of the sources.
# shellcheck disable=SC2154 # output is set by helpers.bash
load helpers

setup() {
    needs git deps-packaging
    [ "$(git -C "$ROOT" rev-parse --show-toplevel 2>/dev/null)" = "$ROOT" ] || skip "this is not a git checkout"
    version=$(git -C "$ROOT" show HEAD:VERSION)
    from=$ROOT
    cd "$WORK" || return
}

# dist CHECKOUT FOLDER: standard output is the path of the archive.
dist() {
    succeeds make -C "$1" -s BUILD="$2" dist
    [ "$output" = "$2/dist/lockstep-$version.tar.xz" ] || fail "$output"
}

# A clone, of $from, has what is committed; the scripts are those of this tree.
clone() {
    git clone -q -s --no-checkout "$from" "$1"
    git -C "$1" checkout -q --detach "$(git -C "$from" rev-parse HEAD)"
    cp "$ROOT"/scripts/* "$1/scripts/"
    cp "$ROOT"/make/* "$1/make/"
    cp "$ROOT/Makefile" "$1"
}

# As Git for Windows clones by default; no shell of Linux, such as WSL's, runs scripts with CRLF.
@test "a clone with core.autocrlf has LF" {
    git clone -q -s -c core.autocrlf=true "$from" windows
    run ! grep -rI --exclude-dir .git $'\r$' windows
}

@test "make dist: the same bytes in another folder, on another day, with another umask" {
    # Every archive of all sources takes xz seconds.
    clone few
    git -C few rm -rq lib tests docs
    git -C few -c user.name=x -c user.email=x@example.org commit -qm 'few files'
    from=$WORK/few
    clone one
    dist "$WORK/one" "$WORK/a"
    (
        umask 077
        export TZ=Asia/Shanghai TAR_OPTIONS=--format=pax XZ_OPT=-9
        mkdir "$WORK/a deeper folder"
        clone "$WORK/a deeper folder/two"
        find "$WORK/a deeper folder/two" -name '*.md' -exec touch -d 2001-01-01 {} +
        git -C "$WORK/a deeper folder/two" config tar.umask 0
        dist "$WORK/a deeper folder/two" "$WORK/b"
    )
    cmp "a/dist/lockstep-$version.tar.xz" "b/dist/lockstep-$version.tar.xz"
    (
        export SOURCE_DATE_EPOCH=86400
        dist "$WORK/one" "$WORK/c"
    )
    [[ $(TZ=UTC tar -tvf "c/dist/lockstep-$version.tar.xz" | head -n 1) == *"root/root"*"1970-01-02"* ]] ||
        [[ $(TZ=UTC tar -tvf "c/dist/lockstep-$version.tar.xz" | head -n 1) == *"0/0"*"1970-01-02"* ]] ||
        fail "$(tar -tvf "c/dist/lockstep-$version.tar.xz" | head -n 1)"
    [ ! -e "$(find a b c -name '.dist.*' | head -n 1)" ]
}

@test "make dist: the archive has the files of the commit, and builds and passes tests without git" {
    clone one
    echo "not committed" >>one/README.md
    echo "not known" >one/new-file
    # Not compressed, which takes seconds: tar finds out by itself.
    mkdir bin
    # shellcheck disable=SC2016 # the script's
    printf '#!/bin/sh\nfor file; do :; done\nmv "$file" "$file.xz"\n' >bin/xz
    chmod +x bin/xz
    export PATH=$WORK/bin:$PATH
    run --separate-stderr make -C one -s BUILD="$WORK/a" dist
    [ "$status" -eq 0 ]
    [[ $stderr == *"uncommitted changes are left out"* ]] || fail "$stderr"
    tar -xf "a/dist/lockstep-$version.tar.xz"
    diff <(git -C one ls-tree -r --name-only HEAD | LC_ALL=C sort) \
        <(cd "lockstep-$version" && find . -type f -o -type l | sed 's|^\./||' | LC_ALL=C sort)
    diff <(git -C one show HEAD:README.md) "lockstep-$version/README.md"

    printf '#!/bin/sh\nexit 127\n' >bin/git
    chmod +x bin/git
    cd "lockstep-$version" || return
    [ "$(scripts/version)" = "$version" ]
    succeeds make -s build/generated/version.h build/obj/release/lib/base/error.o
    grep -q "\"$version\"" build/generated/version.h
    succeeds tests/run -j 1 tests/bats/layers.bats
    [[ ${lines[-1]} == *" passed, 0 failed, "* ]] || fail "$output"
}

@test "make dist: a folder that is not a git checkout is refused" {
    clone one
    rm -rf one/.git
    run --separate-stderr make -C one -s BUILD="$WORK/a" dist
    [ "$status" -ne 0 ]
    [[ $stderr == "make dist: cannot pack: this is not a git checkout"* ]] || fail "$stderr"
    [ ! -e a/dist ]
}
