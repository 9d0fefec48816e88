# SPDX-License-Identifier: MIT
# Before a training all its inputs and outputs are checked, and a refused start leaves old files
# unchanged.

load helpers
load training

setup_file() {
    file_data 400 64
    file_digits
    file_shards
}

setup() {
    begin_training epochs=1
    mkdir here
    mv e.yaml here
    cd here
}

# inodes DIR: its files, with their change times.
inodes() {
    find "$1" -printf '%p %i %s %T@ %C@\n' | sort
}

@test "--dry-run checks the start and writes nothing" {
    local before tool
    before=$(inodes .)
    for tool in train-single train-dp train-ddp train-mp; do
        succeeds "$BIN/$tool" --dry-run --experiment e.yaml --train "$train" --test "$test" --out new/out \
            --trace trace.json --dump-order order
        [ -z "$output" ]
        [[ $stderr == *"ready to train 1 epoch of 6 steps"* ]] || fail "$stderr"
    done
    succeeds "$BIN/train-ddp" -q --dry-run --experiment e.yaml --train "$data/shards" --world-size 4 --out new
    [ -z "$stderr" ]
    [ "$before" = "$(inodes .)" ] || fail "$(inodes .)"
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out --stop-after-steps 3
    before=$(inodes .)
    succeeds "$BIN/train-single" --dry-run --experiment e.yaml --train "$train" --out out
    succeeds "$BIN/train-single" --dry-run --experiment e.yaml --train "$train" --out out --resume
    fails_with 3 "'seed'" "$BIN/train-single" --dry-run --experiment e.yaml --train "$train" --out out --resume --set seed=3
    [ "$before" = "$(inodes .)" ] || fail "$(inodes .)"
}

# refused CODE PATTERN OPTION...: for a dry run and for a real one; both leave `out` unchanged.
refused() {
    fails_with "$1" "$2" "$BIN/$tool" --dry-run --experiment e.yaml --out out "${@:3}" || return 1
    fails_with "$1" "$2" "$BIN/$tool" --experiment e.yaml --out out "${@:3}" || return 1
    [ "$before" = "$(inodes out)" ] || fail "the output folder changed: $*"
}

@test "a refused start leaves a finished run unchanged" {
    local tool=train-single before
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out out
    before=$(inodes out)
    head -c 10000 "$train" >cut.st.zst
    cp out/model.st.zst other.st.zst
    touch file
    refused 3 "'missing.st.zst'" --train missing.st.zst
    refused 3 "'cut.st.zst'" --train cut.st.zst
    refused 3 "'cut.st.zst'" --train "$train" --test cut.st.zst
    refused 3 "28.*32" --train "$data/small/train.st.zst"
    refused 3 "28.*32" --train "$train" --test "$data/small/test.st.zst"
    refused 3 "shards" --train "$data/shards" --set virtual_shards=2
    refused 2 "500 shards for 400 samples" --train "$train" --set virtual_shards=500 --set global_batch=500
    refused 1 "'cuda'.*no CUDA backend" --train "$train" --device cuda
    refused 3 "other.st.zst.*bn1.weight" --train "$train" --init other.st.zst --set "$LENET_BN"
    refused 1 "'missing/trace.json'" --train "$train" --trace missing/trace.json
    refused 1 "'file/order'" --train "$train" --dump-order file/order
    tool="train-ddp"
    refused 3 "'missing.st.zst'" --train missing.st.zst --world-size 2
    refused 2 "3" --train "$train" --world-size 3
    tool="train-mp"
    refused 2 "too few convolutions" --train "$train" --world-size 9
    # Only ranks that open an engine detect this.
    for tool in train-single train-dp train-ddp; do
        TOOL=$tool fails_with 2 "instruction set 'v9'" env LOCKSTEP_ISA=v9 "$BIN/$tool" --experiment e.yaml --train "$train" --out out
        [ "$before" = "$(inodes out)" ]
    done
}

@test "the output of another kind of tool is not overwritten" {
    local tool=train-single before
    cp -r "$data/shards" out
    touch out/.lock
    before=$(inodes out)
    refused 2 "holds the output of 'shard'" --train "$train"
}

@test "a folder that cannot be written is an error" {
    touch file
    fails_with 1 "'file'|'file/out'" "$BIN/train-single" --dry-run --experiment e.yaml --train "$train" --out file/out
    need_read_only
    mkdir closed
    TOOL=train-single fails_with 1 "'closed/a/out'.*Read-only" read_only closed "$BIN/train-single" --dry-run \
        --experiment e.yaml --train "$train" --out closed/a/out
}

@test "--dry-run finds names that are too long, a lock file that is none, a trace that is a folder, and a full disk" {
    local long before tool=train-single
    long=$(printf '%0300d' 0)
    fails_with 1 "$long/out'.*name too long" "$BIN/$tool" --dry-run --experiment e.yaml --train "$train" --out "new/$long/out"
    fails_with 1 "$long'.*name too long" "$BIN/$tool" --experiment e.yaml --train "$train" --out "other/$long/out"
    mkdir -p out/.lock folder
    before=$(inodes out)
    refused 1 "cannot lock folder: 'out': Is a directory" --train "$train"
    rmdir out/.lock
    touch out/.lock
    before=$(inodes out)
    refused 1 "cannot write: 'folder': Is a directory" --train "$train" --trace folder
    cat >full.c <<'C'
#include <sys/statvfs.h>
int statvfs(const char *path, struct statvfs *info) {
    (void)path;
    *info = (struct statvfs){.f_blocks = 1000};
    return 0;
}
C
    read -ra compiler <<<"${CC:-cc}"
    "${compiler[@]}" -shared -fPIC -o full.so full.c
    LD_PRELOAD=$PWD/full.so fails_with 1 "'new/out': No space left" "$BIN/$tool" --dry-run --experiment e.yaml --train "$train" --out new/out
    [ ! -e new ]
}

@test "a file system without flock: another lock; without any lock: a warning, also of --dry-run" {
    # Lustre and NFS without locks fail with the first two, FUSE with the third.
    cat >locks.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int flock(int file, int operation) {
    (void)file, (void)operation;
    errno = atoi(getenv("FLOCK_ERRNO"));
    return -1;
}
int fcntl(int file, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (!getenv("NO_FCNTL") || (command != F_OFD_SETLK && command != F_OFD_SETLKW))
        return (int)syscall(SYS_fcntl, file, command, argument);
    errno = ENOLCK;
    return -1;
}
int fcntl64(int file, int command, ...) __attribute__((alias("fcntl")));
C
    local code start=("$BIN/train-single" -q --experiment e.yaml --train "$train" --out) others
    read -ra compiler <<<"${CC:-cc}"
    "${compiler[@]}" -shared -fPIC -o locks.so locks.c
    export LD_PRELOAD=$PWD/locks.so
    for code in 38 37 95; do # ENOSYS, ENOLCK, EOPNOTSUPP
        export FLOCK_ERRNO=$code
        succeeds "${start[@]}" "out-$code" --dry-run
        [ -z "$stderr" ] || fail "$stderr"
        succeeds "${start[@]}" "out-$code"
        [ -z "$stderr" ] || fail "$stderr"
    done
    # The other lock excludes a second writer, too.
    mkdir held
    exec {others}<>held/.lock
    python3 -c 'import fcntl, struct, sys; fcntl.fcntl(int(sys.argv[1]), 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))' "$others"
    fails_with 1 "'held': another process holds the lock" "${start[@]}" held {others}>&-
    exec {others}>&-
    export NO_FCNTL=1
    for code in --dry-run --threads=1; do
        succeeds "${start[@]}" unlocked "$code"
        [[ $stderr == "train-single: cannot lock folder: '"*"': its file system has no locks: "* ]] || fail "$stderr"
    done
    [ -s unlocked/model.st.zst ]
}
