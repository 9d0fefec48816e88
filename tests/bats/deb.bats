#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# make deb: the Debian package, unpacked or installed into a separate folder, and run.
# shellcheck disable=SC2154 # output is set by helpers.bash
load helpers
load training
load packages

setup_file() {
    need_training
    command -v dpkg-shlibdeps >/dev/null || return 0
    file_package deb
}

setup() {
    need_training
    needs dpkg-shlibdeps deps-packaging
    deb=$(find "$BATS_FILE_TMPDIR/out" -name '*.deb')
    top=$WORK/root
    multiarch=$(gcc -print-multiarch)
    cd "$WORK" || return
}

# Without root the package is only unpacked.
install_deb() {
    mkdir -p "$top/var/lib/dpkg/info" "$top/var/lib/dpkg/updates"
    : >"$top/var/lib/dpkg/status"
    if [ "$(id -u)" -eq 0 ]; then
        dpkg --root="$top" --force-depends --force-script-chrootless --log=/dev/null -i "$deb" >"$WORK/said" 2>&1 ||
            fail "$(cat "$WORK/said")"
    else
        dpkg-deb -x "$deb" "$top"
    fi
}

# installed TOOL: its path.
installed() {
    find "$top/usr/libexec/lockstep/$1" "$top/usr/bin/$1" -maxdepth 0 2>/dev/null | head -n 1
}

@test "deb: its metadata and its files" {
    [ "${deb##*/}" = "lockstep_$(cat "$ROOT/VERSION")_$(dpkg --print-architecture).deb" ] || fail "$deb"
    local field listed path
    field=$(dpkg-deb -f "$deb" Depends)
    for path in libc6 libzstd1 libyaml-0-2 libarchive13 libjansson4 libcmark-gfm; do
        [[ $field == *"$path"* ]] || fail "Depends: $field"
    done
    [[ $field != *mpi* ]] || fail "Depends: $field"
    listed=$(dpkg-deb -c "$deb")
    for path in usr/bin/train-ddp usr/share/lockstep/mirrors.yaml usr/share/lockstep/experiments/R001/ddp4.yaml \
        usr/share/man/man1/train-ddp.1.gz usr/share/doc/lockstep/copyright usr/share/doc/lockstep/changelog.gz; do
        [[ $listed == *" ./$path"* ]] || fail "$path is missing:" "$listed"
    done
    [ ! -e "$BIN/../lib/lockstep-mpi.so" ] || [[ $listed == *" ./usr/lib/$multiarch/lockstep/lockstep-mpi.so"* ]] || fail "$listed"
    # Every file belongs to root, and only root can write it.
    run grep -v '^[-d]rwxr-xr-x root/root\|^-rw-r--r-- root/root\|^lrwxrwxrwx root/root' <<<"$listed"
    [ "$status" -eq 1 ] || fail "$output"
}

@test "deb: the installed package trains, and opens backends in the multiarch folder" {
    install_deb
    (cd "$top" && md5sum --quiet -c <(dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./md5sums))
    succeeds "$(installed synth-cifar)" -q --train 144 --test 32 --out data
    write_experiment e.yaml model="$top/usr/share/lockstep/experiments/models/lenet.yaml"
    succeeds "$top/usr/bin/train-ddp" -q --experiment e.yaml --set world_size=2 --train data/train.st.zst --out run
    succeeds "$(installed plan)" study "$top/usr/share/lockstep/experiments/R003/scaling.yaml"
    # The folder of backends exists if the package has backends. For a file that is not a library,
    # the message gives the path.
    [ -e "$BIN/../lib/lockstep-mpi.so" ] || return 0
    install -D -m 644 e.yaml "$top/usr/lib/$multiarch/lockstep/lockstep-cuda.so"
    unset LOCKSTEP_CUDA_LIBRARY
    [ "$(readlink -f "$top/usr/libexec/lockstep/lib")" = "$(readlink -f "$top/usr/lib/$multiarch/lockstep")" ]
    fails_with 1 "usr/libexec/lockstep/lib/lockstep-cuda.so" "$(installed train-single)" --device cuda \
        --experiment e.yaml --train data/train.st.zst --out gpu
}

@test "deb: equal installations give equal bytes" {
    same_package deb
}

@test "deb: lintian finds neither errors nor warnings" {
    needs lintian deps-packaging
    run lintian --fail-on error,warning --tag-display-limit 0 "$deb"
    [ "$status" -eq 0 ] || fail "$output"
}
