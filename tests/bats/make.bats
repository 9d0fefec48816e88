#!/usr/bin/env bats
# The front door: targets that say what they do, and what happens on a machine that lacks something.
load helpers

@test "make help lists the targets" {
    succeeds make -C "$ROOT" -s help
    local target
    for target in deps all emulation test quickstart experiment compare explain reproduce submission lint sanitize man install clean; do
        [[ $output =~ (^|$'\n')"  $target "+[A-Z] ]] || fail "$target is missing:" "$output"
    done
}

@test "make help lists what every part of the Makefile describes" {
    succeeds make -C "$ROOT" -s help
    local described
    described=$(cat "$ROOT"/Makefile "$ROOT"/make/*.mk "$ROOT"/pipelines/*.mk | grep -c '^[a-z_.-]*:.*## ')
    [ "$(grep -c '^  [a-z]' <<<"$output")" -eq "$described" ] || fail "$described are described:" "$output"
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

@test "a build folder that make cannot name is refused in one line" {
    local name
    for name in '' 'a b' "$WORK/a folder" a:b a%b 'a#b' a=b "it's"; do
        run make -C "$ROOT" -s BUILD="$name" print-config
        [ "$status" -eq 2 ] || fail "BUILD='$name': $status" "$output"
        [ "${#lines[@]}" -eq 1 ] || fail "$output"
        [[ $output == *"BUILD='$name': expected the name of a folder, without blanks"* ]] || fail "$output"
    done
    succeeds make -C "$ROOT" -s BUILD="$WORK/a+c,d_e-f@~" print-config
}

# An installed dpkg-query that knows of nothing, and an apt-get that installs pkg-config: a bare machine.
@test "one command line can install and go on" {
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
    # Whoever is not root has it asked first whether it wants a password: sudo -n true.
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
    # A report's folder finds its models and bases there, too.
    succeeds "$prefix/bin/plan" study "$prefix/share/lockstep/experiments/R003/scaling.yaml"
    [ -s "$prefix/share/doc/lockstep/formats.md" ]
    [ "$(find "$prefix/share/man/man1" -name '*.1' -size +0 | wc -l)" -eq "$(find "$prefix/bin" -type f | wc -l)" ]
    succeeds make -C "$ROOT" -s -o all BUILD="$build" DESTDIR="$WORK/root" PREFIX=/opt/lockstep uninstall
    [ -z "$(find "$WORK/root" -type f)" ] || fail "$(find "$WORK/root" -type f)"
}

@test "a manual page has all that --help says" {
    need_tool train-ddp manifest
    local tool option page=$WORK/page.1
    for tool in "$BIN"/*; do
        "$ROOT/scripts/make-man" "$tool" >"$page" || fail "$tool"
        # Every option, and the last line of the notes.
        while read -r option; do
            grep -qxF -- ".B ${option//-/\\-}" "$page" || fail "$tool: $option"
        done < <("$tool" --help | sed -n '/^Options:/,/^$/s/^  \(-[^ ]*\(, --[a-z]*\)\?\( [^ ]\+\)\?\).*/\1/p')
        tail -n 4 "$page" | grep -qF -- "$("$tool" --help | tail -n 1 | sed 's/-/\\-/g')" || fail "$tool: the end is missing"
        command -v groff >/dev/null || continue
        run --separate-stderr groff -ww -man -Tascii "$page"
        [ -z "$stderr" ] || fail "$tool: $stderr"
    done
}

@test "an unknown mode is refused" {
    run make -C "$ROOT" -s MODE=fast
    [ "$status" -ne 0 ]
    [[ $output == *"MODE=fast: one of release, debug, asan, tsan"* ]]
}

# A folder as CUDA's, whose nvcc runs the given shell commands.
cuda_home() {
    mkdir -p "$WORK/cuda/bin"
    printf '#!/bin/sh\n%s\n' "$1" >"$WORK/cuda/bin/nvcc"
    chmod +x "$WORK/cuda/bin/nvcc"
    echo "$WORK/cuda"
}

@test "CUDA=0 and a machine without nvcc build without it; CUDA=1 does not" {
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
    succeeds make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" CUDA_ARCHS="80 90" all
    [[ $output == *"-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90 "* ]]
    [[ $output == *"$home/bin/nvcc"*"lib/compute/cuda/norm.cu"* ]]
}

# architectures: those that nvcc would build for, where nvidia-smi says $1.
architectures() {
    echo "echo '$1'" >"$home/bin/nvidia-smi"
    chmod +x "$home/bin/nvidia-smi"
    PATH=$home/bin:$PATH make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" "${@:2}" all |
        grep 'lib/compute/cuda/norm.cu ' | grep -o 'code=sm_[0-9]*' | sed 's/.*_//' | paste -sd ' '
}

@test "nvcc builds for the GPUs of the machine, and for all where there is none" {
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
    succeeds make -C "$ROOT" -n CUDA_HOME="$home" BUILD="$WORK/build" quickstart
    [[ $output != *.cu\ * && $output == *train-single* ]] || fail "$output"
}

@test "what nvcc refuses is no backend" {
    local home
    home=$(cuda_home "echo 'nvcc fatal: Unsupported gpu architecture' >&2; exit 1")
    run make -C "$ROOT" -s -j1 CUDA_HOME="$home" BUILD="$WORK/build" "$WORK/build/lib/lockstep-cuda.so"
    [ "$status" -ne 0 ]
    [[ $output == *"nvcc fatal: Unsupported gpu architecture"* ]] || fail "$output"
    [ -z "$(find "$WORK/build" -name '*.so')" ]
}

# As newer versions of cmocka do.
@test "the line that says which TAP a test program speaks is no result" {
    printf '#!/bin/sh\nprintf "TAP version 13\\n1..1\\nok 1 - works\\n"\n' >"$WORK/test_thing"
    chmod +x "$WORK/test_thing"
    succeeds "$ROOT/tests/run" "$WORK/test_thing"
    [ "$output" = "ok      test_thing: works"$'\n'"1 passed, 0 failed, 0 skipped" ] || fail "$output"
}
