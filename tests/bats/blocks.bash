# SPDX-License-Identifier: MIT
# Shared by the bats files on the blocks of commands in the README and in docs/: each runs, as a reader types it in a checkout,
# with build/bin in PATH. The data sets are small drawn ones, and experiments have one epoch. Where a command would train many
# runs, make plans them only; of targets that install, pack and test, which have tests of their own, names and settings are
# checked.
# shellcheck shell=bash disable=SC2154 # output and stderr are set by helpers.bash

# checkout_file: for setup_file: the checkout: links, but for what a reader changes. $box/build/bin has the tools, of which those that download draw.
checkout_file() {
    are_built pipeline lockstep synth-cifar fetch-cifar fetch-mnist train-single || return 0
    box=$BATS_FILE_TMPDIR/box
    mkdir -p "$box/build/bin" "$box/build/share/lockstep" "$box/programs" "$box/artifacts"
    cd "$box" || return
    cp "$BIN"/* build/bin/
    built=$(cd "$BIN/.." && pwd)
    ln -s "$built/lib" build/lib
    ln -s "$built"/share/lockstep/[!e]* build/share/lockstep/
    ln -s ../../../experiments build/share/lockstep/experiments
    ln -s "$ROOT"/{Makefile,VERSION,lib,make,pipelines,python,scripts,share,tests,tools} .
    cp -r "$ROOT/experiments" .
    find experiments -name '*.yaml' -exec sed -i 's/^epochs: .*/epochs: 1/' {} +
    draw_instead fetch-cifar cifar10 3,32,32
    draw_instead fetch-mnist mnist 1,28,28
    write_programs
    measured artifacts
    PATH=$box/build/bin:$PATH
    fetch-cifar -q --out .
    train-single -q --experiment experiments/R001/ddp4.yaml --train train.st.zst --test test.st.zst --out one
    pipeline submission single ddp4 TIME=0 >log 2>&1 || cat log
}

# draw_instead TOOL DATASET SHAPE: the tool draws images, under the name of the data set.
draw_instead() {
    mv "build/bin/$1" "build/bin/real-$1"
    cat >"build/bin/$1" <<END
#!/bin/bash
set -e
out=. split=
for ((i = 1; i <= \$#; i++)); do
    next=\$((i + 1))
    case \${!i} in
    --print-key) exec "$box/build/bin/real-$1" "\$@" ;;
    --out) out=\${!next} ;;
    --out=*) out=\${!i#--out=} ;;
    --split) split=\${!next} ;;
    esac
done
to=\$out
[ "\$out" != - ] || to=\$(mktemp -d)
mkdir -p "\$to"
key=\$("$box/build/bin/real-$1" "\$@" --print-key 2>/dev/null) || key=
"$box/build/bin/synth-cifar" -q --train 512 --test 32 --shape $3 --out "\$to"
"$PYTHON" "$box/programs/rename.py" "\$to" $2 "\$key" "$1"
[ "\$out" != - ] || { cat "\$to/\$split.st.zst"; rm -r "\$to"; }
END
    chmod +x "build/bin/$1"
}

write_programs() {
    # rename.py FOLDER DATASET KEY TOOL: the drawn images get another name, and their manifest this key.
    cat >programs/rename.py <<'END'
import hashlib, json, os, re, subprocess, sys
folder, dataset, key, tool = sys.argv[1:]
def plain(path):
    return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
text = open(folder + "/manifest.yaml").read()
for split in "train", "test":
    path = "%s/%s.st.zst" % (folder, split)
    old = plain(path)
    start = 8 + int.from_bytes(old[:8], "little")
    header = json.loads(old[8:start])
    header["__metadata__"]["dataset"] = dataset
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    new = len(head).to_bytes(8, "little") + head + old[start:]
    subprocess.run(["zstd", "-qf", "-", "-o", path + ".new"], input=new, check=True)
    os.replace(path + ".new", path)
    packed = open(path, "rb").read()
    entry = '- path: %s.st.zst\n  bytes: %d\n  sha256: "%s"\n  content: "%s"' % (
        split, len(packed), hashlib.sha256(packed).hexdigest(), hashlib.sha256(new).hexdigest())
    text = re.sub(r"- path: %s.st.zst\n  bytes: \d+\n  sha256: \S+\n  content: \S+" % split, entry, text)
text = re.sub(r"^tool: .*", "tool: " + tool, text, flags=re.M)
text = re.sub(r"^key: .*", 'key: "%s"' % key, text, flags=re.M)
head = text[:text.rindex("digest: ")]
open(folder + "/manifest.new", "w").write(head + "digest: " + hashlib.sha256(head.encode()).hexdigest() + "\n")
os.replace(folder + "/manifest.new", folder + "/manifest.yaml")
END
    cat >programs/make <<END
#!/bin/bash
set -e
settings=() goals=()
for word; do
    case \$word in *=*) settings+=("\$word") ;; *) goals+=("\$word") ;; esac
done
for goal in "\${goals[@]}"; do
    case \$goal in
    reproduce) "$box/build/bin/plan" reproduction experiments/reproductions/reproduce.yaml >/dev/null ;;
    quickstart | experiment | compare | explain | submission | verify | grade | runs | clean-runs)
        case "\$goal \${settings[*]}" in
        explain* | *EXP=workers* | *EXP=scaling*) settings+=(DRY_RUN=1) ;;
        esac
        $(type -P make) -s BIN="$box/build/bin" "\$goal" "\${settings[@]}" ;;
    *)
        $(type -P make) -s help | grep -q "^  \$goal " || { echo "make: no target '\$goal'" >&2; exit 2; }
        for setting in "\${settings[@]}"; do
            grep -qw "\${setting%%=*}" Makefile make/*.mk || { echo "make: no setting '\$setting'" >&2; exit 2; }
        done ;;
    esac
done
END
    # tests/bats/mpi.bats and slurm.bats have the real ones.
    cat >programs/mpirun <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
    train-*) exec "$@" ;;
    *.sbatch) exec bash -n "$1" ;;
    esac
    shift
done
exit 2
END
    chmod +x programs/*
    ln programs/mpirun programs/srun
    ln programs/mpirun programs/sbatch
    ln -s /bin/true programs/pip
    ln -s /bin/true programs/sudo
    ln -s /bin/true programs/tensorboard
    # A module that other programs bring along.
    mkdir -p modules/safetensors
    : >modules/safetensors/__init__.py
    cat >modules/safetensors/torch.py <<'END'
import json
def load_file(path):
    data = open(path, "rb").read()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return {name: None for name in header if name != "__metadata__"}
END
}

begin_blocks() {
    need_tool pipeline lockstep synth-cifar fetch-cifar fetch-mnist train-single
    box=$BATS_FILE_TMPDIR/box
    # No turns for times: tests/bats/time-runs.bats has them.
    export PATH=$box/programs:$box/build/bin:$PATH YES=1 PYTHONPATH=modules TIME=0
    cp -a "$box"/[!b]* "$WORK/"
    cd "$WORK" || return
    ln -s "$box/build" build
    # The first digits of the keys of both runs.
    keys=(artifacts/runs/*/)
    keys=("${keys[@]#artifacts/runs/}")
}

# page_blocks PAGE [sh]: the commands in its blocks, with continued lines joined, without comments.
page_blocks() {
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$ROOT/$1" |
        sed -e ':join; /\\$/ { N; s/ *\\\n */ /; b join; }' -e 's/ *# .*//' | grep .
}

# save_files PAGE: what it tells to save under a name.
save_files() {
    awk '/[Ss]ave this as/ || name { text = text " " $0 }
        !name && match(text, /`[^`]*`/) { name = substr(text, RSTART + 1, RLENGTH - 2) }
        /^```(yaml|python)$/ && name { inside = 1; next }
        /^```/ && inside { inside = 0; name = text = ""; next }
        inside { print name "\t" $0 }' "$ROOT/$1" >saved
    local name
    while read -r name; do
        mkdir -p "$(dirname "$name")"
        sed -n "s|^$name	||p" saved >"$name"
    done < <(cut -f 1 saved | sort -u)
}

# commands COMMAND-FILE: each succeeds, or ends with a finding where its answer may be "no".
commands() {
    local line code environment=
    while IFS= read -r line; do
        code=0
        [[ ! $line =~ ^(export\ )?[A-Za-z]+= ]] || environment+=$line$'\n'
        bash -c "$environment$line" >printed 2>said </dev/null || code=$?
        case "$code $line" in
        0\ * | 4\ *audit\ * | 4\ *"tensor diff"\ *) ;;
        *) fail "exit code $code: $line" "$(cat said printed)" ;;
        esac
    done <"$1"
}

# blocks_work PAGE [SED-SCRIPT]: saves its files and runs its blocks. The script names the reader's own files.
blocks_work() {
    save_files "$1"
    page_blocks "$1" | sed "${2:-}" >lines
    [ -s lines ] || fail "no commands in $1"
    commands lines
}

# Pictures of five classes.
draw_flowers() {
    "$PYTHON" "$ROOT/tests/python/make_images.py" classes flowers 5 20 32
    cp "$(find flowers -name '*.png' | head -n 1)" cat.jpg
    cp cat.jpg dog.png
    cp cat.jpg rose.jpg
}
# own_copies: experiments of the names that from_torch gives.
own_copies() {
    sed 's/^name: .*/name: net/' experiments/R001/single.yaml >experiments/net.yaml
    sed 's/^name: .*/name: net-ddp4/' experiments/R001/ddp4.yaml >experiments/net-ddp4.yaml
}

# own_programs: single.py and ddp.py, and what starts them.
own_programs() {
    touch single.py ddp.py
    printf '#!/bin/sh\nexec true\n' | tee "$box/programs/torchrun" >"$box/programs/python"
    chmod +x "$box"/programs/{torchrun,python}
}
