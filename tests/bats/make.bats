#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The user's entry points: targets describe themselves, and report what a machine lacks.
load helpers

@test "make help lists the targets" {
    succeeds make -C "$ROOT" -s help
    local target
    for target in deps all emulation test quickstart experiment compare explain reproduce submission lint sanitize man completions install uninstall clean; do
        [[ $output =~ (^|$'\n')"  $target "+[A-Z] ]] || fail "$target is missing:" "$output"
    done
}

@test "make help lists every target that a part of the Makefile describes" {
    succeeds make -C "$ROOT" -s help
    local described
    described=$(cat "$ROOT"/Makefile "$ROOT"/make/*.mk "$ROOT"/pipelines/*.mk | grep -c '^[a-z0-9_.-]*:.*## ')
    [ "$(grep -c '^  [a-z]' <<<"$output")" -eq "$described" ] || fail "$described targets have a description:" "$output"
}

# bare_path: a PATH with Debian's essential programs, without compilers and libraries.
bare_path() {
    local program
    mkdir -p "$WORK/bare"
    for program in awk bash cat cmp cp echo env find git grep head ln make mkdir mv printf rm sh sort uname "$@"; do
        ln -sf "$(type -P "$program")" "$WORK/bare/$program"
    done
    echo "$WORK/bare"
}

@test "without a compiler or without libraries, one line gives the remedy" {
    run env PATH="$(bare_path)" make -C "$ROOT" -s BUILD="$WORK/build" objects
    [ "$status" -ne 0 ]
    [ "${lines[0]}" = "cannot build: 'gcc' is not installed: run 'make deps'" ] || fail "$output"
    run env PATH="$(bare_path gcc pkg-config)" PKG_CONFIG_LIBDIR="$WORK" make -C "$ROOT" -s BUILD="$WORK/build" objects
    [ "$status" -ne 0 ]
    [[ ${lines[0]} == "cannot build: missing libraries: libzstd "*": run 'make deps'" ]] || fail "$output"
}

# steps ARGUMENT...: what make would print at a terminal for each file that it builds anew.
steps() {
    (cd "$ROOT" && env -u MAKEFLAGS -u MAKELEVEL TERM=xterm script -qec "make -n BUILD='$WORK/build' CUDA=0 $*" "$WORK/typed" >/dev/null </dev/null)
    grep -E "^printf .*%-5s" "$WORK/typed" | tr -d '\r' >"$WORK/steps" || true
}

@test "at a terminal a build has one line that counts up to the number of its files" {
    steps
    local all
    all=$(wc -l <"$WORK/steps")
    [ "$all" -gt 300 ]
    grep -q "'\[1/$all\]' 'CC'" "$WORK/steps" || fail "$(head -n 1 "$WORK/steps")"
    grep -q "'\[$all/$all\]'" "$WORK/steps" || fail "$(tail -n 1 "$WORK/steps")"
    steps quickstart
    grep -q "'\[1/[0-9]*\]' 'CC'" "$WORK/steps" || fail "$(head -n 1 "$WORK/steps")"
    # Goals that print more, and files, have a line for each; V=1 prints the commands.
    steps test-unit
    grep -qx "printf '%-5s %s\\\\n' 'CC' 'tests/unit/test_cli.c'" "$WORK/steps" || fail "$(head -n 1 "$WORK/steps")"
    (cd "$ROOT" && env -u MAKEFLAGS -u MAKELEVEL make -n BUILD="$WORK/build" CUDA=0) >"$WORK/steps"
    grep -qx "printf '%-5s %s\\\\n' 'CC' 'lib/base/cli.c'" "$WORK/steps" || fail "$(head -n 1 "$WORK/steps")"
    steps V=1
    ! grep -q "'CC'" "$WORK/steps" || fail "$(head -n 1 "$WORK/steps")"
}

@test "make help and print-config need no compiler" {
    succeeds env PATH="$(bare_path)" make -C "$ROOT" -s help
    succeeds env PATH="$(bare_path)" make -C "$ROOT" -s print-config
    [[ $output == *"missing: make deps"* ]] || fail "$output"
}

@test "a build folder with a name that make cannot handle is refused in one line" {
    local name
    for name in '' 'a b' "$WORK/a folder" a:b a%b 'a#b' a=b "it's"; do
        run make -C "$ROOT" -s BUILD="$name" print-config
        [ "$status" -eq 2 ] || fail "BUILD='$name': $status" "$output"
        [ "${#lines[@]}" -eq 1 ] || fail "$output"
        [[ $output == *"BUILD='$name': expected a folder name without blanks"* ]] || fail "$output"
    done
    succeeds make -C "$ROOT" -s BUILD="$WORK/a+c,d_e-f@~" print-config
}

# cannot MESSAGE ARGUMENT...: the command fails, and prints only that line in addition to make's
# own.
cannot() {
    run "${@:2}"
    [ "$status" -ne 0 ] || fail "it succeeded: $output"
    [ "${lines[0]}" = "$1" ] || fail "expected: $1" "$output"
    [ "$(grep -vc '^make' <<<"$output")" -eq 1 ] || fail "$output"
}

@test "a checkout that cannot be written: one line names BUILD and ARTIFACTS" {
    need_read_only
    cannot "cannot build: '$ROOT' is not writable: choose a writable folder: make BUILD=FOLDER ARTIFACTS=FOLDER" \
        read_only "$ROOT" make -C "$ROOT" -s -j2 BUILD=none ARTIFACTS=none CUDA=0 MPI=0 all
    cannot "cannot build: '$ROOT' is not writable: choose a writable folder: make BUILD=FOLDER" \
        read_only "$ROOT" make -C "$ROOT" -s -j2 BUILD=none ARTIFACTS="$WORK/a" CUDA=0 MPI=0 all
    cannot "cannot keep results: '$ROOT' is not writable: choose a writable folder: make ARTIFACTS=FOLDER" \
        read_only "$ROOT" make -C "$ROOT" -s BIN="$BIN" ARTIFACTS=none/here experiment EXP=single
    # The folders named in the message are enough; nothing else writes to the checkout.
    succeeds read_only "$ROOT" make -C "$ROOT" -s BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$WORK/build/obj/release/flags"
    succeeds read_only "$ROOT" make -C "$ROOT" -s help
}

@test "a build folder of another user, and a file in its place, are reported in one line" {
    need_read_only
    mkdir -p "$WORK/build/obj/release"
    cannot "cannot build: '$WORK/build/obj' belongs to root and is not writable: remove it, or choose another folder: make BUILD=FOLDER" \
        read_only "$WORK/build/obj" make -C "$ROOT" -s -j2 BUILD="$WORK/build" ARTIFACTS="$WORK/a" CUDA=0 MPI=0 all
    mkdir -p "$WORK/manuals/man"
    succeeds read_only "$WORK/manuals/man" make -C "$ROOT" -s BUILD="$WORK/manuals" ARTIFACTS="$WORK/a" "$WORK/manuals/obj/release/flags"
    : >"$WORK/file"
    cannot "cannot build: '$WORK/file' is not a folder: choose a writable folder: make BUILD=FOLDER" \
        make -C "$ROOT" -s -j2 BUILD="$WORK/file/in" ARTIFACTS="$WORK/a" CUDA=0 MPI=0 all
}

@test "a build folder of another checkout is refused, unless that checkout is gone" {
    mkdir -p "$WORK/build" "$WORK/other"
    : >"$WORK/other/Makefile"
    echo "$WORK/other" >"$WORK/build/checkout"
    cannot "cannot build: '$WORK/build' belongs to the checkout in '$WORK/other': choose another folder: make BUILD=FOLDER" \
        make -C "$ROOT" -s -j2 BUILD="$WORK/build" ARTIFACTS="$WORK/a" CUDA=0 MPI=0 all
    [ "$(find "$WORK/build" -type f)" = "$WORK/build/checkout" ]
    rm "$WORK/other/Makefile"
    succeeds make -C "$ROOT" -s BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$WORK/build/obj/release/flags"
    [ "$(cat "$WORK/build/checkout")" = "$(cd -P "$ROOT" && pwd)" ]
}

@test "another version of the compiler triggers a rebuild" {
    mkdir "$WORK/bin"
    compiler() {
        printf '#!/bin/sh\necho "Target: x86_64-linux-gnu\ngcc version %s"\n' "$1" >"$WORK/bin/gcc"
        chmod +x "$WORK/bin/gcc"
    }
    local flags=$WORK/build/obj/release/flags
    compiler 12.2.0
    succeeds make -C "$ROOT" -s CC="$WORK/bin/gcc" BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$flags"
    touch -d 2001-01-01 "$flags"
    succeeds make -C "$ROOT" -s CC="$WORK/bin/gcc" BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$flags"
    [ "$(stat -c %Y "$flags")" -eq "$(date -d 2001-01-01 +%s)" ] || fail "the same compiler causes a rebuild"
    compiler 12.3.0
    succeeds make -C "$ROOT" -s CC="$WORK/bin/gcc" BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$flags"
    [ "$(stat -c %Y "$flags")" -ne "$(date -d 2001-01-01 +%s)" ] || fail "another compiler causes no rebuild"
}

@test "objects that passed with WERROR=1 serve a build without it, but not the other way round" {
    local flags=$WORK/build/obj/release/flags
    # kept SETTING...: the flags are the same.
    kept() {
        touch -d 2001-01-01 "$flags"
        succeeds make -C "$ROOT" -s BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$flags" "$@"
        [ "$(stat -c %Y "$flags")" -eq "$(date -d 2001-01-01 +%s)" ]
    }
    succeeds make -C "$ROOT" -s BUILD="$WORK/build" ARTIFACTS="$WORK/a" "$flags" WERROR=1
    kept && kept WERROR=1 || fail "a rebuild without a reason"
    ! kept CFLAGS=-g0 || fail "other flags cause no rebuild"
    ! kept CFLAGS=-g0 WERROR=1 || fail "warnings are not looked for"
}

# distclean in a separate checkout, with everything that is built.
distclean() {
    cp "$ROOT/Makefile" "$WORK/tree"
    make -C "$WORK/tree" -s BUILD=build ARTIFACTS=artifacts CUDA=0 MPI=0 "$@" distclean
}

a_tree() {
    mkdir -p "$WORK/tree/build/bin" "$1/runs/abc" "$1/data" "$1/single"
    cp -r "$ROOT/Makefile" "$ROOT/make" "$ROOT/pipelines" "$ROOT/scripts" "$WORK/tree"
    : >"$1/runs/abc/model.st.zst"
    : >"$1/data/train.st.zst"
    : >"$1/.hidden"
    ln -s ../runs/abc "$1/single/seed-1"
}

@test "build/bin has the programs of the mode that was made last, build/share the templates of today" {
    local mode
    a_tree "$WORK/tree/artifacts"
    mkdir "$WORK"/tree/{tools,share}
    : >"$WORK/tree/tools/a.c"
    echo one >"$WORK/tree/share/mirrors.yaml"
    for mode in release debug; do
        mkdir -p "$WORK/tree/build/obj/$mode/bin"
        echo "$mode" >"$WORK/tree/build/obj/$mode/bin/a"
    done
    # made MODE: what make puts there, without linking.
    made() {
        make -C "$WORK/tree" -s BUILD=build ARTIFACTS=artifacts CUDA=0 MPI=0 MODE="$1" -o "build/obj/$1/bin/a" \
            build/bin/a build/share/lockstep/mirrors.yaml
        cat "$WORK"/tree/build/{bin/a,share/lockstep/mirrors.yaml}
    }
    [ "$(made release)" = $'release\none' ]
    [ "$(made debug)" = $'debug\none' ]
    echo two >"$WORK/tree/share/mirrors.yaml"
    [ "$(made release)" = $'release\ntwo' ]
}

@test "distclean keeps runs, and prints how to remove them" {
    local tree=$WORK/tree
    a_tree "$tree/artifacts"
    run distclean
    [ "$status" -eq 0 ] || fail "$output"
    [ "${lines[-1]}" = "make distclean: the runs in 'artifacts/runs' are kept; to remove them: 'make clean-runs RUNS=\"KEY KEY\"' or 'rm -r artifacts/runs'" ] || fail "$output"
    [ ! -e "$tree/build" ]
    [ "$(cd "$tree/artifacts" && find . -mindepth 1 | sort | tr '\n' ' ')" = "./runs ./runs/abc ./runs/abc/model.st.zst " ]
    rm -r "$tree/artifacts/runs"
    run distclean
    [ "$status" -eq 0 ] && [[ $output != *kept* ]] || fail "$output"
    [ ! -e "$tree/artifacts" ]
    run distclean
    [ "$status" -eq 0 ] || fail "$output"
}

@test "distclean empties the folder that a link points to, and keeps the link and the runs" {
    local tree=$WORK/tree
    a_tree "$WORK/disk"
    ln -s ../disk "$tree/artifacts"
    run distclean
    [ "$status" -eq 0 ] || fail "$output"
    [ -L "$tree/artifacts" ]
    [ "$(ls -A "$WORK/disk")" = runs ]
    [ -e "$WORK/disk/runs/abc/model.st.zst" ]
}

@test "distclean refuses to remove a folder that contains the checkout" {
    a_tree "$WORK/tree/artifacts"
    local folder
    for folder in . .. "$WORK" /; do
        run distclean ARTIFACTS="$folder"
        [ "$status" -ne 0 ] || fail "ARTIFACTS=$folder: $output"
        [[ $output == *"ARTIFACTS='$folder' contains the checkout itself: nothing was removed"* ]] || fail "$output"
        [ -e "$WORK/tree/artifacts/data/train.st.zst" ] && [ -e "$WORK/tree/Makefile" ] && [ -e "$WORK/tree/build" ]
    done
}

# A dpkg-query that lists no package, and an apt-get that installs pkg-config: a bare machine.
@test "make deps and a target that needs them work in one command line" {
    local path
    path=$(bare_path id dirname true)
    cat >"$path/dpkg-query" <<SH
#!/bin/sh
[ -e "$WORK/bare/pkg-config" ] && echo installed
SH
    cat >"$path/apt-get" <<SH
#!/bin/sh
case " \$* " in *" install "*" pkg-config "*) ln -s "$(command -v pkg-config)" "$WORK/bare/pkg-config" ;; esac
SH
    # For a user other than root, sudo -n true first checks whether sudo needs a password.
    cat >"$path/sudo" <<'SH'
#!/bin/sh
[ "$1" != -n ] || shift
exec "$@"
SH
    chmod +x "$path"/{dpkg-query,apt-get,sudo}
    succeeds env PATH="$path" make -C "$ROOT" -s deps print-config
    [[ $output == *"make deps: installing "*"libzstd"* ]] || fail "$output"
    [[ $output != *"missing: make deps"* ]] || fail "$output"
    succeeds env PATH="$path" make -C "$ROOT" -s deps
    [[ $output == *"packages are installed" ]] || fail "$output"
}

@test "make deps lists the packages where it cannot install them" {
    run env PATH="$(bare_path)" make -C "$ROOT" -s deps
    [ "$status" -ne 0 ]
    [[ ${lines[0]} == "make deps: this is not Debian or Ubuntu; install the equivalents of these packages: gcc "* ]] || fail "$output"
}

@test "install writes every file, and uninstall leaves nothing behind" {
    need_tool manifest train-ddp evaluate report
    local build prefix=$WORK/root/opt/lockstep
    build=$(dirname "$BIN")
    succeeds make -C "$ROOT" -s -o all BUILD="$build" DESTDIR="$WORK/root" PREFIX=/opt/lockstep install
    # The front command and the tools of the design, as links into the folder of all tools.
    [ "$(find "$prefix/bin" -type l -printf '%f\n' | sort | tr '\n' ' ')" = "evaluate fetch-cifar lockstep report shard train-ddp train-dp train-single " ] ||
        fail "$(ls -l "$prefix/bin")"
    [ -z "$(find "$prefix/bin" -type f)" ]
    local name
    for name in "$prefix"/bin/*; do
        [ "$(readlink "$name")" = "../libexec/lockstep/${name##*/}" ] || fail "$name: $(readlink "$name")"
    done
    [ "$("$prefix/bin/lockstep" --exec-path)" = "$prefix/libexec/lockstep" ]
    [ "$(find "$prefix/libexec/lockstep" -type f -printf '%f\n' | sort)" = "$(basename -s .c "$ROOT"/tools/*.c | sort)" ]
    [ -s "$prefix/share/lockstep/experiments/models/lenet.yaml" ]
    [ -s "$prefix/share/doc/lockstep/formats.md" ]
    # A page for each tool, also under its own name where that is in bin.
    for name in "$prefix"/libexec/lockstep/*-* "$prefix/libexec/lockstep/plan"; do
        [ -s "$prefix/share/man/man1/lockstep-${name##*/}.1" ] || fail "no manual page: $name"
    done
    for name in "$prefix"/bin/*; do
        [ -s "$prefix/share/man/man1/${name##*/}.1" ] || fail "no manual page: $name"
        [ -s "$prefix/share/bash-completion/completions/${name##*/}" ] || fail "no completions: $name"
        [ -s "$prefix/share/fish/vendor_completions.d/${name##*/}.fish" ] || fail "no completions: $name"
    done
    [ -s "$prefix/share/zsh/site-functions/_lockstep" ]
    [ ! -e "$prefix/share/man/man1/plan.1" ]
    succeeds make -C "$ROOT" -s -o all BUILD="$build" DESTDIR="$WORK/root" PREFIX=/opt/lockstep uninstall
    [ -z "$(find "$WORK/root" ! -type d)" ] || fail "$(find "$WORK/root" ! -type d)"
    [ -z "$(find "$prefix" -mindepth 1 -name lockstep)" ] || fail "$(find "$prefix" -name lockstep)"
}

@test "install leaves out experiments that git does not know, and names them" {
    needs git deps-packaging
    [ "$(git -C "$ROOT" rev-parse --show-toplevel 2>/dev/null)" = "$ROOT" ] || skip "this is not a git checkout"
    local own="experiments/R000/a b.yaml"
    cd "$WORK" || return
    git clone -q -s "$ROOT" tree
    cp "$ROOT"/scripts/* tree/scripts/
    cp "$ROOT"/make/* tree/make/
    printf 'schema: lockstep.experiment/1\nname: mine\nbase: single\n' | tee tree/experiments/mine.yaml "tree/$own" >tree/experiments/models/own.yaml
    # installs FOLDER: its experiments, as paths in a checkout.
    installs() {
        succeeds make -C tree -s -o all BUILD="$(dirname "$BIN")" DESTDIR="$WORK/$1" PREFIX=/p install
        (cd "$1/p/share/lockstep" && find experiments -type f | LC_ALL=C sort >"$WORK/installed")
    }
    installs of-git
    diff <(git -C tree ls-files -- 'experiments/*.yaml' | LC_ALL=C sort) installed
    [ "$stderr" = "not installed, as git does not know them: $own experiments/mine.yaml experiments/models/own.yaml" ] || fail "$stderr"
    # Sources without git have no others.
    rm -rf tree/.git
    installs of-an-archive
    grep -qx experiments/mine.yaml installed && grep -qx "$own" installed || fail "$(cat installed)"
    [ -z "$stderr" ] || fail "$stderr"
}

# has_all FOLDER OF-LIBRARIES: the tools installed below FOLDER find each other and their files.
has_all() {
    # A report's folder finds its models and bases there, too.
    succeeds "$1/bin/lockstep" plan study "$1/share/lockstep/experiments/R003/scaling.yaml"
    succeeds "$1/bin/lockstep" pipeline --experiments
    [[ $output == *ddp4-same-batch* ]] || fail "$output"
    TOOL=pipeline fails_with 3 "cannot find experiment: 'nope'.*single" "$1/bin/lockstep" experiment nope ARTIFACTS="$WORK/a"
    # The file is not a library: it only has to be found.
    LOCKSTEP_CUDA_LIBRARY='' TOOL=bench-allreduce fails_with 1 "cannot be loaded: $1/.*/lockstep/lib/lockstep-cuda.so: file too short" \
        "$1/bin/lockstep" bench-allreduce --device cuda
}

@test "installed tools find each other, the experiments and the plugins, also after a move" {
    need_tool plan pipeline bench-allreduce
    local build
    build=$(dirname "$BIN")
    : >"$WORK/lockstep-cuda.so"
    cd "$WORK" || return
    succeeds make -C "$ROOT" -s -o all -o "$WORK/lockstep-cuda.so" BUILD="$build" PREFIX="$WORK/plain" CUDA_SO="$WORK/lockstep-cuda.so" install
    has_all "$WORK/plain"
    mv plain moved
    has_all "$WORK/moved"
    # As distributions have it: a folder of libraries for each architecture, and another one for tools.
    succeeds make -C "$ROOT" -s -o all -o "$WORK/lockstep-cuda.so" BUILD="$build" DESTDIR="$WORK/root" PREFIX=/usr \
        LIBEXECDIR=/usr/lib/programs LIBDIR=/usr/lib/x86_64-linux-gnu CUDA_SO="$WORK/lockstep-cuda.so" install
    [ -e root/usr/lib/x86_64-linux-gnu/lockstep/lockstep-cuda.so ]
    [ "$(root/usr/bin/lockstep --exec-path)" = "$WORK/root/usr/lib/programs/lockstep" ]
    has_all "$WORK/root/usr"
}

@test "installed: own experiments stand beside the shipped ones, in a folder experiments or in any other" {
    need_tool plan pipeline train-single
    cd "$WORK" || return
    succeeds make -C "$ROOT" -s -o all BUILD="$(dirname "$BIN")" PREFIX="$WORK/i" CUDA_SO= install
    local tool=$WORK/i/bin/lockstep place name='lockstep.experiment/1' installed=$WORK/i/libexec/lockstep/share/experiments
    mkdir -p experiments exps empty
    for place in experiments exps; do
        printf '%s\n' "schema: $name" 'name: mine' 'base: single' 'epochs: 1' >"$place/mine.yaml"
        printf '%s\n' "schema: $name" 'name: own' 'base: mine' 'model: lenet-bn' >"$place/own.yaml"
    done
    # `plan runs` resolves all of an experiment: its bases, and the model.
    succeeds "$tool" plan runs mine own ddp4
    [[ $output == *"experiments/mine.yaml"* && $output == *"experiments/own.yaml"* && $output == *"$installed/R001/ddp4.yaml"* ]] || fail "$output"
    succeeds "$tool" plan runs exps/mine.yaml exps/own.yaml
    succeeds "$tool" pipeline --experiments
    [[ $'\n'$output$'\n' == *$'\nmine\n'* && $'\n'$output$'\n' == *$'\nddp4\n'* ]] || fail "$output"
    succeeds "$tool" synth-cifar --train 64 --test 8 --out data
    for name in mine ddp4 exps/own.yaml; do
        succeeds "$tool" train-single --experiment "$name" --set dataset=synthetic --train data/train.st.zst --out run --dry-run
    done
    # One of the same name hides the shipped one; its base is sought beside it.
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: ddp4' 'base: mine' >experiments/ddp4.yaml
    succeeds "$tool" plan runs ddp4
    [[ $output == *$'\texperiments/ddp4.yaml'* ]] || fail "$output"
    # A name that no folder has: the nearest of all, and where it was sought.
    sed 's/base: single/base: singel/' exps/mine.yaml >exps/wrong.yaml
    TOOL=plan fails_with 3 "exps/wrong.yaml:3:7: 'base': .*'singel': did you mean 'single'\? 'experiments' and '$installed' have these: .* mine .* single" \
        "$tool" plan runs exps/wrong.yaml
    TOOL=pipeline fails_with 3 "'mien': did you mean 'mine'\? 'experiments' and '$installed' have these" "$tool" experiment mien
    sed 's/lenet-bn/lenet-nb/' exps/own.yaml >exps/wrong.yaml
    TOOL=plan fails_with 3 "did you mean 'lenet-bn'" "$tool" plan runs exps/wrong.yaml
    # A folder of a run that has the name of an experiment is not its file.
    mkdir -p single
    succeeds "$tool" train-single --experiment single --set dataset=synthetic --train data/train.st.zst --out run --dry-run
    cd empty || return
    succeeds "$tool" plan runs single
    succeeds "$tool" reproduce --help
    succeeds "$tool" plan reproduction "$installed/reproductions/reproduce.yaml"
}

@test "a manual page contains all of --help" {
    need_tool train-ddp manifest
    local tool option page=$WORK/page.1
    for tool in "$BIN"/*; do
        "$ROOT/scripts/make-man" "$BIN" "${tool##*/}" >"$page" || fail "$tool"
        # Every option, and the last line of the notes.
        while read -r option; do
            grep -qxF -- ".B ${option//-/\\-}" "$page" || fail "$tool: $option"
        done < <("$tool" --help | sed -n '/^Options:/,/^$/s/^  \(-[^ ]*\(, --[a-z]*\)\?\( [^ ]\+\)\?\).*/\1/p')
        tail -n 6 "$page" | grep -qF -- "$("$tool" --help | tail -n 1 | sed 's/-/\\-/g')" || fail "$tool: the last line of the notes is missing"
        command -v groff >/dev/null || continue
        run --separate-stderr groff -ww -man -Tascii "$page"
        [ -z "$stderr" ] || fail "$tool: $stderr"
    done
    # A page calls a tool as it can be typed once it is installed.
    succeeds "$ROOT/scripts/make-man" "$BIN" manifest
    [[ $output == *$'\n'"lockstep\-manifest \- read, verify"*$'\n'"lockstep manifest verify FILE..."$'\n'* ]] || fail "$output"
    succeeds "$ROOT/scripts/make-man" "$BIN" train-ddp own
    [[ $output == *$'\n'"lockstep\-train\-ddp, train\-ddp \- train in"*$'\n'"train\-ddp "* ]] || fail "$output"
}

# narrow COMMAND...: its --help fits a terminal of 80 columns.
narrow() {
    local wide
    wide=$("$@" --help | awk 'length > 80')
    [ -z "$wide" ] || fail "$*:" "$wide"
}

@test "--help fits a terminal of 80 columns; a long usage line is broken before an option" {
    need_tool tensor train-single
    local tool command
    for tool in "$BIN"/*; do
        narrow "$tool"
    done
    for command in info cat hash diff export import; do
        narrow "$BIN/tensor" "$command"
    done
    succeeds "$BIN/train-single" --help
    [ "${lines[0]}" = "Usage: train-single --experiment FILE --train FILE|DIR|- [--test FILE] --out DIR" ] || fail "$output"
    [ "${lines[1]}" = "                    [OPTION]..." ] || fail "$output"
}

@test "train tools load no libraries for downloads, archives, XML and pictures" {
    local tool
    need_tool train-single train-dp train-ddp train-mp
    for tool in train-single train-dp train-ddp train-mp; do
        succeeds ldd "$BIN/$tool"
        ! grep -E 'lib(curl|archive|xml2|jpeg|png)' <<<"$output" || fail "$tool loads them"
    done
}

@test "an unknown mode is refused" {
    run make -C "$ROOT" -s MODE=fast
    [ "$status" -ne 0 ]
    [[ $output == *"MODE=fast: one of release, debug, asan, tsan"* ]]
}

# A folder like CUDA's, whose nvcc runs the given shell commands.
cuda_home() {
    mkdir -p "$WORK/cuda/bin"
    printf '#!/bin/sh\n%s\n' "$1" >"$WORK/cuda/bin/nvcc"
    chmod +x "$WORK/cuda/bin/nvcc"
    echo "$WORK/cuda"
}

@test "CUDA=0 and a machine without nvcc build without CUDA; CUDA=1 requires nvcc" {
    succeeds make -C "$ROOT" -n BUILD="$WORK/build" CUDA=0 all
    [[ $output == *"/bin/train-single"* ]]
    [[ $output != *"lockstep-cuda.so"* ]] || fail "$output"
    succeeds make -C "$ROOT" -n BUILD="$WORK/build" CUDA_HOME="$WORK/none" all
    [[ $output != *"lockstep-cuda.so"* ]] || fail "$output"
    succeeds make -C "$ROOT" -s CUDA_HOME="$WORK/none" print-config
    [[ $output == *"not found in $WORK/none"* ]] || fail "$output"
    run make -C "$ROOT" -s CUDA=1 CUDA_HOME="$WORK/none" no-nvcc
    [ "$status" -ne 0 ]
    [[ $output == "cannot build with CUDA=1: no nvcc "* ]] || fail "$output"
    succeeds make -C "$ROOT" -n BUILD="$WORK/build" CUDA=1 CUDA_HOME="$WORK/none" all
    [[ $output == *"cannot build with CUDA=1"* ]] || fail "$output"
}

@test "nvcc is found in CUDA_HOME or on the PATH, and gets each of CUDA_ARCHS" {
    local home
    home=$(cuda_home "echo 'release 99.0'")
    succeeds make -C "$ROOT" -s CUDA_HOME="$home" print-config
    [[ $output == *"$home/bin/nvcc"*"release 99.0"* ]] || fail "$output"
    if [ ! -e /usr/local/cuda/bin/nvcc ]; then
        succeeds env PATH="$home/bin:$PATH" make -C "$ROOT" -s print-config
        [[ $output == *"$home/bin/nvcc"* ]] || fail "$output"
    fi
    succeeds make -C "$ROOT" -n CUDA=1 CUDA_HOME="$home" BUILD="$WORK/build" CUDA_ARCHS="80 90" all
    [[ $output == *"-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90 "* ]]
    [[ $output == *"$home/bin/nvcc"*"lib/compute/cuda/kernels/norm.cu"* ]]
}

@test "without a driver the CUDA backend is left out, and make says so once" {
    local home
    [ ! -e /proc/driver/nvidia ] || skip "this machine has a driver"
    home=$(cuda_home :)
    PATH=$(tr ':' '\n' <<<"$PATH" | while read -r folder; do [ -e "$folder/nvidia-smi" ] || echo "$folder"; done | paste -sd :)
    succeeds make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" all
    [[ $output != *".cu "* && $output == *"no NVIDIA driver: the CUDA backend is left out; CUDA=1 builds it"* ]] || fail "$output"
    succeeds make -C "$ROOT" -s CUDA_HOME="$home" BUILD="$WORK/build" "$WORK/build/obj/release/cuda-left-out"
    succeeds make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" all
    [[ $output != *"no NVIDIA driver"* ]] || fail "$output"
    succeeds make -C "$ROOT" -s CUDA_HOME="$home" BUILD="$WORK/build" print-config
    [[ $output == *"nvcc: not used without an NVIDIA driver: CUDA=1 builds the backend"* ]] || fail "$output"
    # A driver, a request, or a backend that CUDA=1 has built.
    for word in CUDA=1 driver backend; do
        case $word in
        driver) printf '#!/bin/sh\n' >"$home/bin/nvidia-smi" && chmod +x "$home/bin/nvidia-smi" ;;
        backend) rm "$home/bin/nvidia-smi" && mkdir -p "$WORK/build/lib" && touch "$WORK/build/lib/lockstep-cuda.so" ;;
        esac
        PATH=$home/bin:$PATH succeeds make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" CUDA="${word#CUDA=}" all
        [[ $output == *"lib/compute/cuda/kernels/norm.cu "* ]] || fail "$word: $output"
    done
}

# jobs ARGUMENT...: the -j that make's recipes get.
jobs_of() {
    # shellcheck disable=SC2016 # make expands it
    make -C "$ROOT" -s --eval 'print-it print-more: ; @echo "$$MAKEFLAGS"' "$@" | grep -oE ' -j[0-9]+' | tr -d ' ' || true
}

@test "make uses all processors, unless -j or several goals are typed" {
    local all
    all=-j$(nproc)
    [ "$(jobs_of print-it)" = "$all" ]
    [ "$(jobs_of -j3 print-it)" = -j3 ]
    [ "$(jobs_of -j1 print-it)" = -j1 ]
    [ -z "$(jobs_of print-it print-more)" ]
    [ "$(jobs_of -j3 print-it print-more | sort -u)" = -j3 ]
    # A make below it shares the jobs.
    # shellcheck disable=SC2016
    succeeds make -C "$ROOT" -s --eval 'print-it: ; +@$(MAKE) -s help' print-it
    [ -z "$stderr" ] || fail "$stderr"
}

@test "a misspelt goal gets a hint, and make's exit code" {
    local goal
    for goal in experimnt=experiment lnit=lint quick-start=quickstart experiments=experiment tests=test tets=test dep=deps deps-tor=deps-torch; do
        run --separate-stderr make -C "$ROOT" "${goal%=*}"
        [[ $status -eq 2 && $stderr == *"no target '${goal%=*}': did you mean '${goal#*=}'? "* ]] || fail "$status $stderr"
    done
    run --separate-stderr make -C "$ROOT" zzzzzz
    [[ $status -eq 2 && $stderr == "make: *** No rule to make target 'zzzzzz'."* ]] || fail "$status $stderr"
}

# architectures: those that nvcc would build for, if nvidia-smi prints $1.
architectures() {
    echo "echo '$1'" >"$home/bin/nvidia-smi"
    chmod +x "$home/bin/nvidia-smi"
    PATH=$home/bin:$PATH make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" "${@:2}" all |
        grep 'lib/compute/cuda/kernels/norm.cu ' | grep -o 'code=sm_[0-9]*' | sed 's/.*_//' | paste -sd ' '
}

@test "nvcc builds for the GPUs of the machine, and for all architectures without a GPU" {
    local home
    home=$(cuda_home true)
    [ "$(architectures 9.0)" = 90 ]
    [ "$(architectures $'9.0\n8.0\n9.0')" = "80 90" ]
    [ "$(architectures 9.0 CUDA_ARCHS=all)" = "75 80 86 89 90" ]
    [ "$(architectures 9.0 CUDA_ARCHS=75)" = 75 ]
    [ "$(architectures 12.0)" = "75 80 86 89 90" ]
    [ "$(architectures '')" = "75 80 86 89 90" ]
    [ "$(architectures "NVIDIA-SMI has failed because it could not communicate with the driver.")" = "75 80 86 89 90" ]
}

@test "quickstart does not wait for nvcc" {
    local home
    home=$(cuda_home true)
    succeeds make -C "$ROOT" -n CUDA=1 CUDA_HOME="$home" BUILD="$WORK/build" quickstart
    [[ $output != *.cu\ * && $output == *train-single* ]] || fail "$output"
}

@test "a failed nvcc leaves no backend" {
    local home
    home=$(cuda_home "echo 'nvcc fatal: Unsupported gpu architecture' >&2; exit 1")
    run make -C "$ROOT" -s -j1 CUDA=1 CUDA_HOME="$home" BUILD="$WORK/build" "$WORK/build/lib/lockstep-cuda.so"
    [ "$status" -ne 0 ]
    [[ $output == *"nvcc fatal: Unsupported gpu architecture"* ]] || fail "$output"
    [ -z "$(find "$WORK/build" -name '*.so')" ]
}

# As newer versions of cmocka do.
@test "the TAP version line of a test program does not count as a result" {
    printf '#!/bin/sh\nprintf "TAP version 13\\n1..1\\nok 1 - works\\n"\n' >"$WORK/test_thing"
    chmod +x "$WORK/test_thing"
    succeeds "$ROOT/tests/run" "$WORK/test_thing"
    [[ $output == "ok      test_thing: works"$'\n'"time    test_thing: "[0-9]*" s, "[0-9]*" of processor time"$'\n'"1 passed, 0 failed, 0 skipped" ]] || fail "$output"
}

@test "quotes in a variable do not run a command" {
    local name bad="x'; touch $WORK/made; echo '"
    for name in MODE PREFIX DESTDIR BINDIR LIBDIR DATADIR DOCDIR MANDIR PYTHON CUDA_HOME CUDA_ARCHS MPICC BUILD; do
        run make -C "$ROOT" -s print-config "$name=$bad"
        [ "$status" -eq 2 ] || fail "$name: exit code $status" "$output"
        [[ $output == *"$name="*"expected"* ]] || fail "$output"
        [ ! -e "$WORK/made" ] || fail "$name ran a command"
    done
    run make -C "$ROOT" -s print-config ARTIFACTS="$bad"
    [ ! -e "$WORK/made" ] || fail "ARTIFACTS ran a command"
    run make -C "$ROOT" -s -n bench ARTIFACTS="$bad"
    [[ $output != *"; touch $WORK/made; echo ''"* ]]
}

@test "a test program that crashes is reported with the test that crashed" {
    cat >"$WORK/test_thing.c" <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
static void works(void **state) { (void)state; }
static void fails(void **state) { (void)state; assert_int_equal(1, 2); }
static void is_left_out(void **state) { (void)state; skip(); }
static void crashes(void **state) { (void)state; abort(); }
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works),   cmocka_unit_test(fails), cmocka_unit_test(is_left_out),
        cmocka_unit_test(crashes), cmocka_unit_test(works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
END
    read -ra compiler <<<"${CC:-cc}"
    "${compiler[@]}" "$WORK/test_thing.c" -lcmocka -o "$WORK/test_thing"
    run "$ROOT/tests/run" "$WORK/test_thing"
    [ "$status" -eq 1 ]
    local line
    for line in 'ok      test_thing: works' 'not ok  test_thing: fails' 'skipped test_thing: is_left_out' \
        "not ok  test_thing: exit code 134 in 'crashes' after 3 of 5 tests" '1 passed, 2 failed, 1 skipped'; do
        grep -Fqx "$line" <<<"$output" || fail "missing line: $line" "$output"
    done
}

@test "the version names the commit of this checkout, not of an enclosing project" {
    needs git deps-packaging
    local number other=$WORK/other
    number=$(cat "$ROOT/VERSION")
    [[ $number =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "VERSION: $number"
    mkdir -p "$other/lockstep/scripts"
    cp "$ROOT/VERSION" "$other/lockstep"
    cp "$ROOT/scripts/version" "$other/lockstep/scripts"
    [ "$("$other/lockstep/scripts/version")" = "$number" ]
    git -C "$other" init -q
    git -C "$other" -c user.name=x -c user.email=x@x commit -q --allow-empty -m x
    [ "$("$other/lockstep/scripts/version")" = "$number" ]
    git -C "$other/lockstep" init -q
    git -C "$other/lockstep" -c user.name=x -c user.email=x@x commit -q --allow-empty -m x
    [ "$("$other/lockstep/scripts/version")" = "$number+$(git -C "$other/lockstep" rev-parse --short HEAD)" ]
    grep -q "^version: $number\$" "$ROOT/CITATION.cff"
    grep -q "^## $number " "$ROOT/CHANGELOG.md"
}

# shellcheck disable=SC2016 # Markdown
@test "check-sass: a kernel that spills registers is marked, and no kernels are an error" {
    cd "$WORK"
    cat >one.log <<'END'
ptxas info    : Compiling entry function '_Z4sumsPf' for 'sm_90'
ptxas info    : Function properties for _Z4sumsPf
    72 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers, 72 bytes cumulative stack size
END
    succeeds "$ROOT/scripts/check-sass" .
    [[ $output == *'| one.cu | `sums` | 18 | 72 | 0 |'* ]] || fail "$output"
    sed 's/sums/more/; s/0 bytes spill stores, 0/40 bytes spill stores, 44/' one.log >two.log
    run "$ROOT/scripts/check-sass" .
    [ "$status" -eq 1 ]
    [[ $output == *'| two.cu | `more` | 18 | 72 | 84 **spills** |'*"2 kernels, 1 spill registers" ]] || fail "$output"
    rm ./*.log
    run "$ROOT/scripts/check-sass" .
    [ "$status" -eq 1 ]
}

# shellcheck disable=SC2016 # Markdown
@test "check-sass: instructions of a kernel around its wait, and of a step" {
    cd "$WORK"
    mkdir steps
    cat >disassemble <<'END'
echo 'Function : _Z4sumsPf'
echo '/*0000*/ LDC R1, c[0x0][0x28] ; /*0010*/'
echo '/*0010*/ IMAD R6, R6, 0x40, R7 ;'
echo '/*0020*/ ACQBULK ;'
echo '/*0030*/ IMAD.WIDE R2, R9, 0x4, R2 ;'
echo '/*0040*/ @!P0 LDG.E R2, desc[UR4][R2.64] ;'
echo '/*0050*/ EXIT ;'
END
    chmod +x disassemble
    cat >one.log <<'END'
ptxas info    : Compiling entry function '_Z4sumsPf' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers
END
    printf '4 32 0 0 0 sums\n1 32 0 0 0 (sums<KIND>)\n' >'steps/lenet exact'
    succeeds "$ROOT/scripts/check-sass" . ./disassemble steps
    [[ $output == *'| one.cu | `sums` | 18 | 0 | 0 | 6 | 2 | 2 |'* ]] || fail "$output"
    [[ $output == *'| lenet | exact | 2 | 12 | 4 | 4 |'* ]] || fail "$output"
    echo '1 32 0 0 0 others' >>'steps/lenet exact'
    run "$ROOT/scripts/check-sass" . ./disassemble steps
    [ "$status" -eq 1 ]
    [[ $output == *'no compiled kernel: others'* ]] || fail "$output"
}
