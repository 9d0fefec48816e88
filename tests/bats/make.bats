#!/usr/bin/env bats
# The front door: targets that say what they do, and what happens on a machine that lacks something.
load helpers

@test "make help lists the targets" {
    succeeds make -C "$ROOT" -s help
    local target
    for target in deps all test quickstart experiment compare explain reproduce submission lint sanitize install clean; do
        [[ $output =~ (^|$'\n')"  $target "+[A-Z] ]] || fail "$target is missing:" "$output"
    done
}

# A PATH with what Debian always has, and without compilers and libraries.
bare_path() {
    local program
    mkdir -p "$WORK/bare"
    for program in awk bash cat cmp cp echo env find git grep head ln make mkdir mv printf rm sh sort uname "$@"; do
        ln -sf "$(type -P "$program")" "$WORK/bare/$program"
    done
    echo "$WORK/bare"
}

@test "without a compiler, or without libraries, one line says what to do" {
    run env PATH="$(bare_path)" make -C "$ROOT" -s BUILD="$WORK/build" objects
    [ "$status" -ne 0 ]
    [ "${lines[0]}" = "cannot build: 'gcc' is not installed: run 'make deps'" ] || fail "$output"
    run env PATH="$(bare_path gcc pkg-config)" PKG_CONFIG_LIBDIR="$WORK" make -C "$ROOT" -s BUILD="$WORK/build" objects
    [ "$status" -ne 0 ]
    [[ ${lines[0]} == "cannot build: missing libraries: libzstd "*": run 'make deps'" ]] || fail "$output"
}

@test "make help and print-config need no compiler" {
    succeeds env PATH="$(bare_path)" make -C "$ROOT" -s help
    succeeds env PATH="$(bare_path)" make -C "$ROOT" -s print-config
    [[ $output == *"missing: make deps"* ]] || fail "$output"
}

# An installed dpkg-query that knows of nothing, and an apt-get that installs pkg-config: a bare machine.
@test "one command line can install and go on" {
    local path
    path=$(bare_path id dirname)
    cat >"$path/dpkg-query" <<SH
#!/bin/sh
[ -e "$WORK/bare/pkg-config" ] && echo installed
SH
    cat >"$path/apt-get" <<SH
#!/bin/sh
case " \$* " in *" install "*" pkg-config "*) ln -s "$(command -v pkg-config)" "$WORK/bare/pkg-config" ;; esac
SH
    printf '#!/bin/sh\nexec "$@"\n' >"$path/sudo"
    chmod +x "$path"/{dpkg-query,apt-get,sudo}
    succeeds env PATH="$path" make -C "$ROOT" -s deps print-config
    [[ $output == *"make deps: installing "*"libzstd"* ]] || fail "$output"
    [[ $output != *"missing: make deps"* ]] || fail "$output"
    succeeds env PATH="$path" make -C "$ROOT" -s deps
    [[ $output == *"packages are installed" ]] || fail "$output"
}

@test "installing says what to do where it cannot" {
    run env PATH="$(bare_path)" make -C "$ROOT" -s deps
    [ "$status" -ne 0 ]
    [[ ${lines[0]} == "make deps: this is not Debian or Ubuntu; install what these packages hold: gcc "* ]] || fail "$output"
}

@test "install and uninstall leave nothing behind" {
    need_tool manifest train-ddp evaluate report
    local build prefix=$WORK/root/opt/lockstep
    build=$(dirname "$BIN")
    succeeds make -C "$ROOT" -s -o all BUILD="$build" DESTDIR="$WORK/root" PREFIX=/opt/lockstep install
    "$prefix/bin/manifest" --version
    [ -s "$prefix/share/lockstep/experiments/models/lenet.yaml" ]
    succeeds make -C "$ROOT" -s -o all BUILD="$build" DESTDIR="$WORK/root" PREFIX=/opt/lockstep uninstall
    [ -z "$(find "$WORK/root" -type f)" ] || fail "$(find "$WORK/root" -type f)"
}

@test "an unknown mode is refused" {
    run make -C "$ROOT" -s MODE=fast
    [ "$status" -ne 0 ]
    [[ $output == *"MODE=fast: one of release, debug, asan, tsan"* ]]
}
