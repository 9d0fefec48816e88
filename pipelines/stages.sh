# Stages: a tool, its arguments and the folder that it fills; each runs only when it is not done.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that other files of this folder set and read
#
# A stage is done when its manifest is there, whole, and carries the key that the tool prints for this command
# (--print-key): what it reads, by content, and the parameters that matter for what it writes. The manifest is
# removed before a stage runs and written by the tool at its end, so a stage that was killed is not done.

# fail CODE MESSAGE: one line, and the end.
fail() {
    echo "experiment: $2" >&2
    exit "$1"
}

# say STAGE WHICH WHAT
say() {
    printf '%-9s %s: %s\n' "$1" "$2" "$3"
}

# ---- Work of this call -----------------------------------------------------------------------------------------
# What is of no use behind this call lies in $work, a folder in ARTIFACTS; few calls need one. A call that is killed leaves
# it, and the next one removes it: $work/in-use is locked as long as the call, or a tool that it began, goes on.
work=

# with_work_locked COMMAND...: while no other call makes or removes such folders.
with_work_locked() {
    local guard
    { exec {guard}>"$ARTIFACTS/.work.lock"; } 2>/dev/null || return 1
    flock "$guard"
    "$@"
    exec {guard}>&-
}

# open_work: makes it.
open_work() {
    [ -z "$work" ] || return 0
    make_folder "$ARTIFACTS"
    with_work_locked make_work || fail 1 "cannot work in '$ARTIFACTS': it cannot be written"
}

make_work() {
    local in_use
    work=$(mktemp -d "$ARTIFACTS/.work-XXXXXX") || exit
    exec {in_use}>"$work/in-use"
    flock "$in_use"
}

remove_work() {
    [ -z "$work" ] || rm -rf "$work"
}

# remove_old_work: those of calls that were killed.
remove_old_work() {
    set -- "$ARTIFACTS"/.work-*
    [ ! -d "$1" ] || with_work_locked remove_unused_work || true
}

remove_unused_work() {
    local old
    for old in "$ARTIFACTS"/.work-*; do
        ! flock -n "$old/in-use" true 2>/dev/null || rm -rf "$old"
    done
}

# make_folder DIR
make_folder() {
    local why
    [ -d "$1" ] || why=$(mkdir -p "$1" 2>&1) || fail 1 "cannot make folder: '$1': ${why##*: }"
}

# ---- Stages --------------------------------------------------------------------------------------------------

# Is the stage in DIR done? Returns 0 when it is; 1, with the reason in $why, when it is not.
why=
fresh() {
    local dir=$1 key=$2 code=0
    why=$("$BIN/manifest" -v fresh "$dir" "key=$key" 2>&1) || code=$?
    case $code in
    0) return 0 ;;
    3 | 4)
        why=${why#*is stale: }
        case $why in
        *"manifest.yaml': No such file"*) why= ;;
        *"key is"*) why="other inputs or parameters than before" ;;
        esac
        return 1
        ;;
    *)
        printf '%s\n' "$why" >&2
        exit "$code"
        ;;
    esac
}

# The keys of stages, so that a stage that was looked at before it is run is asked once. What is made anew may change
# the keys of all that read it.
declare -A keys=()

# find_key DIR TOOL ARGUMENT...: sets $key, which the stage that TOOL fills DIR in has for these arguments.
key=
find_key() {
    local dir=$1 tool=$2
    shift 2
    [ -x "$BIN/$tool" ] || fail 1 "cannot fill '$dir': '$BIN/$tool' is not built"
    key=${keys[$dir]:-}
    case $key:$tool:${DEVICE:-auto} in
    :train-*:auto | :evaluate:auto) find_automatic_key "$tool" "$@" ;;
    :*) key=$("$BIN/$tool" "$@" --print-key) || exit ;;
    esac
    keys[$dir]=$key
}

# The same for --device auto. Only there a tool has to look for GPUs, and CUDA takes its time to start: so the first
# answer holds for all of this call. Which it was the key shows, as one for any GPU is found without looking.
automatic=
find_automatic_key() {
    local tool=$1 gpu
    shift
    key=$("$BIN/$tool" "$@" --device "${automatic:-auto}" --print-key) || exit
    [ -z "$automatic" ] || return 0
    gpu=$("$BIN/$tool" "$@" --device cuda --print-key) || exit
    automatic=cpu
    [ "$key" != "$gpu" ] || automatic=cuda
}

# note_file DIR: what the unfinished outputs in DIR belong to. Sets $note.
note_file() {
    note=${1%/*}/.${1##*/}.unfinished
}

# A training that was stopped has left its state. With resume=auto it goes on from there, if the state is of this key.
resume=${RESUME:+always}
resumes() {
    local note
    note_file "$1"
    case $2:$resume in
    train-*:always) return 0 ;;
    train-*:auto) [ -n "$key" ] && [ -e "$1/state.st.zst" ] && [ "$(cat "$note" 2>/dev/null)" = "$key" ] ;;
    *) return 1 ;;
    esac
}

# A shell that is ended leaves the program that it waits for running, for hours, and nobody knows. The kernel ends the
# tool instead, with SIGTERM: a training saves its state.
ends_with_shell=()
if setpriv --pdeathsig TERM true 2>/dev/null; then ends_with_shell=(setpriv --pdeathsig TERM --); fi

# In front of the tool of the stage at hand: what starts it as several processes, or nothing.
launcher=()

# Folders that stages of this call have seen to: runs share fetch and shard.
declare -A seen=()

# stage NAME DIR TOOL ARGUMENT...: runs TOOL, which fills DIR, unless that is done. Whoever else wants the same
# stage at the same time waits, and then finds it done.
stage() {
    local name=$1 dir=$2 tool=$3 key lock lock_file note
    shift 3
    [ -z "${seen[$dir]:-}" ] || return 0
    seen[$dir]=1
    find_key "$dir" "$tool" "$@"

    make_folder "${dir%/*}"
    lock_file=${dir%/*}/.${dir##*/}.lock
    { exec {lock}>"$lock_file"; } 2>/dev/null || {
        # Nobody here can make it. It may have been made before the folder became read-only.
        fresh "$dir" "$key" || fail 1 "cannot lock stage: '$dir': '$lock_file' cannot be written${why:+ ($why)}"
        say "$name" "$dir" "up to date"
        return 0
    }
    flock -n "$lock" || {
        say "$name" "$dir" "waiting for another run of this stage"
        flock "$lock"
    }
    if fresh "$dir" "$key"; then
        say "$name" "$dir" "up to date"
    else
        say "$name" "$dir" "running${why:+ ($why)}"
        rm -f "$dir/manifest.yaml"
        if resumes "$dir" "$tool"; then set -- "$@" --resume; fi
        note_file "$dir"
        echo "$key" >"$note"
        "${ends_with_shell[@]}" "${launcher[@]}" "$BIN/$tool" "$@" || exit
        rm -f "$note"
        case $name in fetch | shard) keys=() ;; esac
        fresh "$dir" "$key" || fail 1 "stage $name is not done though $tool ended well: '$dir': $why"
    fi
    exec {lock}>&-
}

# The shape of the images that the model at hand takes: "3,32,32".
input_shape() {
    echo "$(parameter architecture.input.0),$(parameter architecture.input.1),$(parameter architecture.input.2)"
}

# find_data DATASET: where it lies, or will. Sets $data.
find_data() {
    local shape
    data=$ARTIFACTS/data/$1
    [ "$1" = synthetic ] || return 0
    shape=$(input_shape)
    [ "$shape" = 3,32,32 ] || data+=-${shape//,/x}
}

# fetch DATASET: the official data, or drawn images in the model's input shape. Sets $data.
fetch() {
    local dataset=$1 from=
    find_data "$dataset"
    case $dataset in
    cifar10) from=${CIFAR10_FROM:-} ;;
    cifar100) from=${CIFAR100_FROM:-} ;;
    mnist) from=${MNIST_FROM:-} ;;
    fashion-mnist) from=${FASHION_MNIST_FROM:-} ;;
    esac
    case $dataset in
    cifar10 | cifar100)
        stage fetch "$data" fetch-cifar --dataset "$dataset" ${from:+--from "$from"} --out "$data"
        ;;
    mnist | fashion-mnist)
        stage fetch "$data" fetch-mnist --dataset "$dataset" ${from:+--from "$from"} --out "$data"
        ;;
    synthetic)
        stage fetch "$data" synth-cifar --shape "$(input_shape)" --out "$data"
        ;;
    *) fail 3 "no stage fetches the data set '$dataset'" ;;
    esac
}
