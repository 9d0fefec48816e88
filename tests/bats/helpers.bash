# SPDX-License-Identifier: MIT
# Loaded by every bats file: the paths of the tools, and checks that report what went wrong.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BIN=${BIN:-$ROOT/build/bin}
WORK=$BATS_TEST_TMPDIR
PYTHON=${PYTHON:-/usr/bin/python3}
# Tests use the CPU, on any machine: --device auto finds no CUDA backend. Tests that need one set
# it.
LOCKSTEP_CUDA_LIBRARY=none
# How long the emulation waits for another rank, which a busy machine may suspend for many seconds.
LOCKSTEP_EMULATED_SECONDS=300
# Scripts under tests/ leave nothing in the checkout.
PYTHONDONTWRITEBYTECODE=1
# A comparison takes turns for two seconds.
PRECISION=50
# PyTorch's small matrices are multiplied by one thread: others that wait for it keep a processor busy.
OPENBLAS_NUM_THREADS=1
# The PDFs and the LaTeX of a report take longer than the report, and few tests read them: empty ones.
# real_files: the test needs those of the system's programs.
FIXTURE_BIN=$ROOT/tests/fixtures/bin
! command -v pandoc >/dev/null || PATH=$FIXTURE_BIN:$PATH
real_files() {
    PATH=${PATH//"$FIXTURE_BIN:"/}
}
export PRECISION OPENBLAS_NUM_THREADS ROOT BIN WORK PYTHON LOCKSTEP_CUDA_LIBRARY LOCKSTEP_EMULATED_SECONDS PYTHONDONTWRITEBYTECODE

# Prints its arguments on the test's error output and fails.
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# fails_with CODE PATTERN COMMAND...: the command ends with that exit code, and prints exactly one
# line on standard error: "TOOL: ...", matching PATTERN (an extended regular expression, anywhere in
# the line). TOOL is the base name of COMMAND's first word; set TOOL before the call if the command
# is a wrapper:
#     fails_with 3 "'x.st.zst'" "$BIN/shard" --shards 4 --in x.st.zst --out "$WORK/s"
#     TOOL=shard fails_with 3 'ends early' sh -c "head -c 100 x | '$BIN/shard' --in - ..."
# Standard output is left in $output, standard error in $stderr.
fails_with() {
    local -
    set +eET
    local code=$1 pattern=$2
    shift 2
    local tool=${TOOL:-${1##*/}}
    capture "$@"
    if [ "$status" -ne "$code" ]; then
        fail "exit code $status instead of $code: $*" "stderr: $stderr" "stdout: $output"
        return 1
    fi
    if [ "${#stderr_lines[@]}" -ne 1 ]; then
        fail "${#stderr_lines[@]} lines of error output instead of one: $*" "$stderr"
        return 1
    fi
    [[ $stderr == "$tool: "* ]] || { fail "the message does not begin with '$tool: ': $stderr"; return 1; }
    [[ $stderr =~ $pattern ]] || { fail "the message does not match '$pattern': $stderr"; return 1; }
}

# succeeds COMMAND...: exit code 0; standard output in $output, standard error in $stderr.
succeeds() {
    local -
    set +eET
    capture "$@"
    [ "$status" -eq 0 ] || fail "exit code $status: $*" "stderr: $stderr" "stdout: $output"
}

# capture COMMAND...: as bats's run --separate-stderr, whose bookkeeping takes longer than most tools. Called with
# set +eET: bats traces each command otherwise.
capture() {
    local errors=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/separate-stderr-$BASHPID
    status=0
    output=$("$@" 2>"$errors") || status=$?
    read -d '' -r stderr <"$errors"
    # shellcheck disable=SC2034 # for tests
    IFS=$'\n' read -d '' -r -a lines <<<"$output"
    IFS=$'\n' read -d '' -r -a stderr_lines <<<"$stderr"
}

# one_line: joins a tool's output, wrapped for a terminal, to one line.
# shellcheck disable=SC2154 # bats sets it
one_line() {
    output=$(tr '\n' ' ' <<<"$output")
}

# wider_than N: the lines with more characters, each of which may be several bytes, whatever the locale.
wider_than() {
    LC_ALL=C.UTF-8 grep -E ".{$(($1 + 1))}"
}

# nothing_in DIR: the folder is absent, or empty except for a lock file: no half-written file was
# left.
nothing_in() {
    [ -e "$1" ] || return 0
    local found
    found=$(find "$1" -mindepth 1 ! -name .lock | head -n 5)
    [ -z "$found" ] || fail "left behind: $found"
}

# wait_for FILE: waits until it exists, at most five minutes.
wait_for() {
    wait_until [ -e "$1" ]
}

# wait_until COMMAND...: waits until it succeeds. What the tests wait for comes at once, but on a
# busy machine that can be a minute: hence five, at most.
wait_until() {
    local tries=6000
    until "$@"; do
        ((tries--)) || { fail "still false after five minutes: $*"; return 1; }
        sleep 0.05
    done
}

# rank_process PARENT RANK: the process of that rank among several, by its name: their numbers are in any
# order, since they begin again at the lowest.
rank_process() {
    pgrep -P "$1" -x ".*:$2"
}

# all_ended WORD: does no process have WORD in its command line? For wait_until, where the process
# that was waited for ends a moment before those that it has started.
all_ended() {
    ! pgrep -f -- "$1" >/dev/null
}

# are_built TOOL...: are these tools of the project built? For setup_file, which cannot skip.
are_built() {
    local tool
    for tool in "$@"; do
        [ -x "$BIN/$tool" ] || return 1
    done
}

# small_model FILE: a model of images of 3x12x12, small enough for tests that train many times.
small_model() {
    cat >"$1" <<'YAML'
schema: lockstep.model/1
name: small
input: [3, 12, 12]
layers: [conv: {out: 4, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]
YAML
}

# measured ARTIFACTS: what make measures once on a machine, of 1, 2, 4 and 8 ranks, is there: it takes seconds. All
# files of a call of tests/run share it.
measured() {
    local shared=${TESTS_SHARED:-$BATS_RUN_TMPDIR} name=allreduce-1-2-4-8
    (
        flock 9
        [ -e "$shared/$name/manifest.yaml" ] || "$BIN/bench-allreduce" -q --world-size 1,2,4,8 --out "$shared/$name" >/dev/null
    ) 9>"$shared/measuring"
    mkdir -p "$1/machine"
    cp -r "$shared/$name" "$1/machine"
}

# serve DIR: a web server for it (tests/python/serve.py), at $URL until stop_serving, for teardown.
# shellcheck disable=SC2034 # for files that load this
serve() {
    "$PYTHON" "$ROOT/tests/python/serve.py" "$1" "$WORK/port" 3>&- &
    SERVER=$!
    wait_for "$WORK/port"
    URL=http://127.0.0.1:$(cat "$WORK/port")
}
stop_serving() {
    [ -z "${SERVER:-}" ] || kill "$SERVER"
}

# need_cifar10, need_mnist: skip unless CIFAR10_FROM (an archive or folder) or MNIST_FROM is set.
need_cifar10() {
    [ -n "${CIFAR10_FROM:-}" ] || skip "CIFAR10_FROM is not set"
    [ -e "$CIFAR10_FROM" ] || fail "CIFAR10_FROM: '$CIFAR10_FROM' does not exist"
}

need_mnist() {
    [ -n "${MNIST_FROM:-}" ] || skip "MNIST_FROM is not set"
    [ -e "$MNIST_FROM" ] || fail "MNIST_FROM: '$MNIST_FROM' does not exist"
}

# needs PROGRAM TARGET: skip without a program that `make TARGET` installs. What `make deps` installs is there,
# so a test without this line fails in `make bare` if it uses another program.
needs() {
    command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed (make $2)"
}

# need_tool NAME...: skip unless these tools of the project were built.
need_tool() {
    local tool
    for tool in "$@"; do
        [ -x "$BIN/$tool" ] || skip "$tool is not built"
    done
}

# read_only DIR COMMAND...: runs it with DIR read-only, for root as well. need_read_only: skip if
# that is impossible here.
read_only() {
    # shellcheck disable=SC2016 # the inner shell's
    unshare --user --map-root-user --mount \
        sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' "$@"
}

need_read_only() {
    read_only "$WORK" true 2>/dev/null || skip "read-only mounts are not possible on this machine (unshare --user --mount)"
}

# need_torch: skip unless $PYTHON has PyTorch, which takes a second to import. Other tests use Python's
# standard library only.
need_torch() {
    has_modules torch || skip "$PYTHON has no torch (make deps-torch)"
}

# with_torch SCRIPT ARGUMENT...: runs it in Python; the calls share one import of PyTorch, as in measured.
with_torch() {
    "$PYTHON" "$ROOT/tests/python/torch_server.py" "${TESTS_SHARED:-$BATS_RUN_TMPDIR}/torch" "$@"
}

# torch_python FILE: an interpreter whose scripts share that import.
torch_python() {
    cat >"$1" <<END
#!/bin/sh
case \$1 in
-*) exec "$PYTHON" "\$@" ;;
*) exec "$PYTHON" "$ROOT/tests/python/torch_server.py" "${TESTS_SHARED:-$BATS_RUN_TMPDIR}/torch" "\$@" ;;
esac
END
    chmod +x "$1"
}

# has_modules NAME...: does $PYTHON have them? Without importing them.
has_modules() {
    "$PYTHON" -c 'import sys; from importlib.util import find_spec
sys.exit(not all(map(find_spec, sys.argv[1:])))' "$@" 2>/dev/null
}

# training_of LOG: the folder of the training that runs.
training_of() {
    wait_until grep -q '^train .*running' "$1"
    sed -n 's/^train *\(.*\): running.*/\1/p' "$1"
}

# wait_for_epoch LOG: waits until the training that runs has saved, and trained an epoch itself. Where it
# continues a shorter run, there is a state before it can save one.
wait_for_epoch() {
    wait_for "$(training_of "$1")/state.st.zst" && wait_until grep -q '^train-.*: epoch ' "$1"
}

# each_allocation_fails CHECK COMMAND...: executes COMMAND once per allocation that it makes, which
# then fails. Calls CHECK with the exit code each time; standard output and standard error are in
# the files `printed` and `said`. The number of allocations is in `allocations`. EVERY=N: one in N.
each_allocation_fails() {
    local check=$1 n code compiler
    shift
    read -ra compiler <<<"${CC:-cc}"
    "${compiler[@]}" -D_GNU_SOURCE -shared -fPIC -o faults.so "$ROOT/tests/torture/faults.c" -ldl
    run env LD_PRELOAD=./faults.so FAULT_COUNT=counts "$@"
    allocations=$(sed -n "s/^${1##*/}.* malloc=//p" counts)
    for ((n = 1; n <= allocations; n += ${EVERY:-1})); do
        code=0
        LD_PRELOAD=./faults.so FAULT=malloc:$n "$@" >printed 2>said || code=$?
        "$check" "$code" || fail "allocation $n of $allocations: exit code $code" "$(cat said)" || return 1
    done
}
