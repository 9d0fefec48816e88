#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the Python wheel, with the standard library only.

    wheel_backend.py PREFIX VERSION FOLDER

PREFIX is an installation of the tools (`make wheel` creates one). It becomes lockstep/prefix/ in the wheel. Prints the
path of the wheel. Equal installations give equal wheels: names are sorted, and every file has the time SOURCE_DATE_EPOCH.

It is also the build backend of `pip install ./python` (PEP 517), which runs `make wheel`.
"""
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
METADATA = """\
Metadata-Version: 2.1
Name: lockstep
Version: %s
Summary: Reproducible data-parallel training experiments
License: MIT
Requires-Python: >=3.8
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: lockstep
Root-Is-Purelib: false
Tag: %s
"""
# ZIP has no time before 1980.
FIRST_TIME = 315532800


def files_below(folder, base):
    """(name, path) of each file, sorted by name, with "/" as separator; links to folders are not followed."""
    found = []
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            inside = os.path.relpath(os.path.join(path, name), folder)
            found.append((base + "/" + inside.replace(os.sep, "/"), os.path.join(path, name)))
    return sorted(found)


def replace_links(prefix):
    """A wheel has no links. A linked folder moves to the place of its link, and a link to a file becomes
    a copy. Links in bin/ are removed, because commands are scripts. Returns the names in bin/."""
    commands = os.listdir(os.path.join(prefix, "bin"))
    for path, folders, names in os.walk(prefix):
        for name in folders + names:
            link = os.path.join(path, name)
            if not os.path.islink(link):
                continue
            target = os.path.realpath(link)
            os.remove(link)
            if os.path.isdir(target):
                shutil.move(target, link)
            elif path != os.path.join(prefix, "bin"):
                shutil.copy2(target, link)
    return commands


def add(archive, record, name, data, mode, when):
    entry = zipfile.ZipInfo(name, when)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = (0o100000 | mode) << 16
    archive.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record.append("%s,sha256=%s,%d" % (name, digest, len(data)))


def make_wheel(prefix, version, folder):
    """Writes the wheel into the folder, and returns its path. The installation is changed."""
    tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    when = time.gmtime(max(FIRST_TIME, int(os.environ.get("SOURCE_DATE_EPOCH", FIRST_TIME))))[:6]
    information = "lockstep-%s.dist-info" % version
    # The other tools are called by `lockstep`, or lockstep.run().
    commands = replace_links(prefix)
    path = os.path.join(folder, "lockstep-%s-%s.whl" % (version, tag))
    record = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in files_below(os.path.join(HERE, "lockstep"), "lockstep") + files_below(prefix, "lockstep/prefix"):
            with open(file, "rb") as opened:
                mode = 0o755 if os.access(file, os.X_OK) else 0o644
                add(archive, record, name, opened.read(), mode, when)
        scripts = "".join("%s = lockstep._tools:main\n" % name for name in sorted(commands))
        for name, text in [
            ("METADATA", METADATA % version),
            ("WHEEL", WHEEL % tag),
            ("entry_points.txt", "[console_scripts]\n" + scripts),
        ]:
            add(archive, record, information + "/" + name, text.encode(), 0o644, when)
        with open(os.path.join(HERE, "..", "LICENSE"), "rb") as license:
            add(archive, record, information + "/LICENSE", license.read(), 0o644, when)
        record.append(information + "/RECORD,,\n")
        add(archive, record, information + "/RECORD", "\n".join(record).encode(), 0o644, when)
    return path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Called by pip: runs `make wheel`, and returns the name of the wheel."""
    made = os.path.join(os.path.abspath(wheel_directory), ".made")
    subprocess.run(["make", "-C", os.path.join(HERE, ".."), "wheel", "DIST=" + made], check=True, stdout=sys.stderr)
    (name,) = os.listdir(made)
    os.replace(os.path.join(made, name), os.path.join(wheel_directory, name))
    os.rmdir(made)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("`make dist` packs the sources")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(make_wheel(*sys.argv[1:]))
