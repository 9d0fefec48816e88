# SPDX-License-Identifier: MIT
# Shared by the bats files on packages.
# shellcheck shell=bash

# private_build FOLDER: a build folder with the tools of $BIN, so that no other test sees the packages.
private_build() {
    local part
    mkdir -p "$1"
    for part in bin lib share; do
        [ ! -e "$BIN/../$part" ] || ln -s "$(cd "$BIN/../$part" && pwd)" "$1/$part"
    done
}

# make_package TARGET BUILD [VARIABLE=VALUE]...: builds a package without CUDA, whose libraries belong to no Debian
# package. The package is in out/ in the parent folder of BUILD. make is given a relative path, like its default.
# Compressed quickly, by gzip instead of xz: what these tests check does not depend on it.
make_package() {
    local target=$1 build path=$PATH dpkg_deb
    export DPKG_DEB_COMPRESSOR_LEVEL=1
    private_build "$2"
    if dpkg_deb=$(type -P dpkg-deb); then
        mkdir -p "$2/programs"
        # shellcheck disable=SC2016 # the script's
        printf '#!/bin/bash\nexec %q "${@/#-Zxz/-Zgzip}"\n' "$dpkg_deb" >"$2/programs/dpkg-deb"
        chmod +x "$2/programs/dpkg-deb"
        path=$2/programs:$PATH
    fi
    build=$(realpath --relative-to="$ROOT" "$2")
    shift 2
    PATH=$path succeeds make -C "$ROOT" -s -o all BUILD="$build" DIST="$build/../out" CUDA=0 "$@" "$target"
}

# For setup_file: file_package TARGET [VARIABLE=VALUE]...: builds a package with a fixed date in out/.
file_package() {
    SOURCE_DATE_EPOCH=1700000000 make_package "$1" "$BATS_FILE_TMPDIR/build" "${@:2}"
}

# same_package TARGET [VARIABLE=VALUE]...: a package with the same date, built in other folders with another umask and
# time zone, has the same bytes.
same_package() {
    local made
    (
        umask 077
        export TZ=Asia/Shanghai LC_ALL=C.UTF-8
        SOURCE_DATE_EPOCH=1700000000 make_package "$1" "$WORK/another/build" "${@:2}"
    )
    made=$(find "$WORK/another/out" -type f)
    cmp "$made" "$BATS_FILE_TMPDIR/out/${made##*/}"
}
