#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Completions, tested in each shell.
load helpers

OWN_NAMES=$(sed -n 's/^ *{"\([a-z-]*\)".*OWN_NAME.*/\1/p' "$ROOT/lib/base/tool_list.c")

setup_file() {
    local tool
    [ -x "${BIN:-$BATS_TEST_DIRNAME/../../build/bin}/lockstep" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return
    mkdir zsh
    # shellcheck disable=SC2086
    {
        "$ROOT/scripts/make-completions" "$BIN" bash $OWN_NAMES >lockstep.bash
        "$ROOT/scripts/make-completions" "$BIN" zsh $OWN_NAMES >zsh/_lockstep
    }
    for tool in lockstep shard report; do "$ROOT/scripts/make-completions" "$BIN" fish "$tool" >"$tool.fish"; done
}

setup() {
    need_tool lockstep pipeline tensor plan manifest shard report train-ddp
    cd "$WORK" || return
    mkdir folder 'a folder'
    : >file.zst
}

# ---- bash ----

# completes LINE: the possible words at the end of LINE, sorted, as bash asks for them. Bash also
# divides words at '='.
completes() {
    # shellcheck disable=SC2016 # the inner shell's
    output=$(PATH=$BIN:$PATH bash --norc -c '
        . "$0"
        line=${1//=/ = }
        eval "COMP_WORDS=($line)"
        case $1 in *[\ =]) case $1 in *=) ;; *) COMP_WORDS+=("") ;; esac ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$1 COMP_POINT=${#1}
        _lockstep "${COMP_WORDS[0]}"
        printf "%s\n" "${COMPREPLY[@]}"' "$BATS_FILE_TMPDIR/lockstep.bash" "$1" 2>&1 | sort | tr '\n' ' ')
    output=${output% }
}

# expect LINE WORDS: completes LINE to exactly these.
expect() {
    completes "$1"
    [ "$output" = "$2" ] || fail "'$1' completes to '$output' instead of '$2'"
}

@test "bash: names of tools and commands after lockstep" {
    expect 'lockstep tr' 'train-ddp train-dp train-mp train-single'
    expect 'lockstep ex' 'experiment explain'
    expect 'lockstep help pl' 'plan'
    expect 'lockstep --e' '--exec-path'
    expect '/any/where/lockstep ru' 'runs'
    local all
    completes 'lockstep '
    all=$(sed -n '/^Experiments:$/,$s/^  \([a-z-]*\)  *[a-z].*/\1/p' < <("$BIN/lockstep"))
    [ "$output" = "$(printf '%s\nhelp\n' "$all" | sort | tr '\n' ' ' | sed 's/ $//')" ] || fail "$output"
}

@test "bash: every option of every tool, and no other" {
    local tool options
    for tool in "$BIN"/*; do
        tool=${tool##*/}
        [ "$tool" != lockstep ] || continue
        options=$("$BIN/$tool" --help | sed -n '/^Options:/,/^$/s/^  \(-., \)\?\(--[a-z-]*\).*/\2/p' | sort | tr '\n' ' ')
        expect "lockstep $tool --" "${options% }"
    done
    expect 'shard --s' '--seed --shards'
    expect 'shard --seed 3 --s' '--seed --shards'
}

@test "bash: commands of a tool, and the options of each" {
    expect 'lockstep tensor d' 'diff'
    expect 'lockstep tensor diff --a' '--atol'
    expect 'lockstep tensor cat --a' ''
    expect 'lockstep manifest ' 'diff fresh get verify'
    expect 'lockstep plan --data folder s' 'study'
    expect 'lockstep pipeline s' 'submission'
}

@test "bash: files, folders and choices, each only for options that take them" {
    expect 'shard --in ' 'a folder file.zst folder'
    expect 'shard --in f' 'file.zst folder'
    expect 'shard --in=f' 'file.zst folder'
    expect 'shard --in=' 'a folder file.zst folder'
    expect 'shard --out f' 'folder'
    expect 'lockstep shard --out f' 'folder'
    expect 'lockstep train-ddp --train f' 'file.zst folder'
    expect 'lockstep evaluate --model f' 'file.zst folder'
    expect 'report --lang ' 'en zh'
    expect 'report --lang=z' 'zh'
    expect 'lockstep train-mp --device ' 'auto cpu cuda'
    expect 'lockstep tensor export --format ' 'csv json npy onnx tensorboard torch'
    expect 'shard --shards ' ''
    expect 'report f' 'file.zst folder'
    expect 'lockstep manifest verify f' 'file.zst folder'
}

@test "bash: names of experiments, and settings" {
    cd "$ROOT" || return
    expect 'lockstep experiment ddp4-sam' 'ddp4-same-batch'
    expect 'lockstep explain mnist-ddp8 mnist-single-w' "$("$BIN/pipeline" --experiments | grep '^mnist-single-w' | sort | tr '\n' ' ' | sed 's/ $//')"
    expect 'lockstep pipeline compare quickst' 'quickstart'
    expect 'lockstep plan ladder quickst' 'quickstart'
    expect 'lockstep experiment EXP=quickst' 'quickstart'
    expect 'lockstep experiment ddp4 EPO' 'EPOCHS='
    expect 'lockstep clean-runs EPO' ''
    expect 'lockstep experiment ddp4 DATA=expe' 'experiments'
}

@test "bash: the file registers every command" {
    # shellcheck disable=SC2016 # the inner shell's
    succeeds bash --norc -c '. "$0"; complete -p' "$BATS_FILE_TMPDIR/lockstep.bash"
    local name
    for name in lockstep $OWN_NAMES; do
        [[ $'\n'$output$'\n' == *$'\n'"complete -F _lockstep $name"$'\n'* ]] || fail "$name: $output"
    done
    [ "${#lines[@]}" -eq 8 ] || fail "$output"
    if command -v shellcheck >/dev/null; then
        succeeds shellcheck -s bash "$BATS_FILE_TMPDIR/lockstep.bash"
    fi
}

# ---- zsh ----

# becomes LINE RESULT: an interactive zsh completes LINE to RESULT after a tab.
becomes() {
    rm -f buffer
    # shellcheck disable=SC2016 # zsh's
    PATH=$BIN:$PATH TERM=dumb timeout 300 zsh -f -c '
        zmodload zsh/zpty
        zpty -b child zsh -f -i
        zpty -w child "PS1= PROMPT= RPROMPT=; unsetopt beep; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
        zpty -w child "show() { print -r -- \"\$BUFFER\" >buffer.new; mv buffer.new buffer }; zle -N show; bindkey \"^X\" show; bindkey \"^I\" complete-word"
        zpty -w child "print -r -- ready >ready"
        for ((i = 0; i < 2400; i++)); do [[ -e ready ]] && break; sleep 0.05; done
        zpty -n -w child "$2"$'"'\\t\\x18'"'
        for ((i = 0; i < 2400; i++)); do [[ -e buffer ]] && break; sleep 0.05; done
        zpty -d child' zsh "$BATS_FILE_TMPDIR/zsh" "$1"
    rm -f ready
    [ "$(cat buffer 2>/dev/null)" = "$2" ] || fail "'$1' becomes '$(cat buffer)' instead of '$2'"
}

@test "zsh: tools, options, choices, folders, experiments" {
    needs zsh deps-shells
    becomes 'lockstep sha' 'lockstep shard '
    becomes 'lockstep help eval' 'lockstep help evaluate '
    becomes 'lockstep shard --sha' 'lockstep shard --shards='
    becomes 'shard --sha' 'shard --shards='
    becomes 'report --lang=z' 'report --lang=zh '
    becomes 'shard --out fol' 'shard --out folder/'
    becomes 'shard --in fil' 'shard --in file.zst '
    becomes 'lockstep tensor dif' 'lockstep tensor diff '
    becomes 'lockstep tensor diff --at' 'lockstep tensor diff --atol='
    ln -s "$ROOT/experiments" experiments
    becomes 'lockstep experiment ddp4-sam' 'lockstep experiment ddp4-same-batch '
    becomes 'lockstep plan ladder quickst' 'lockstep plan ladder quickstart '
    becomes 'lockstep experiment ddp4 EPO' 'lockstep experiment ddp4 EPOCHS='
    becomes 'lockstep experiment EXP=quickst' 'lockstep experiment EXP=quickstart '
}

# ---- fish ----

# offers LINE WORDS: the words that fish completes LINE to.
offers() {
    # shellcheck disable=SC2016 # fish's
    output=$(PATH=$BIN:$PATH HOME=$WORK/.home env -u XDG_CONFIG_HOME -u XDG_DATA_HOME fish --no-config -c '
        for file in $argv[2..]; source $file; end
        complete -C $argv[1]' "$1" "$BATS_FILE_TMPDIR"/*.fish 2>&1 | cut -f 1 | sort | tr '\n' ' ')
    [ "${output% }" = "$2" ] || fail "'$1' completes to '$output' instead of '$2'"
}

@test "fish: tools, options, choices, folders, experiments" {
    needs fish deps-shells
    offers 'lockstep sha' 'shard'
    offers 'lockstep ex' 'experiment explain'
    offers 'lockstep help eval' 'evaluate'
    offers 'lockstep shard --s' '--seed --shards'
    offers 'shard --s' '--seed --shards'
    offers 'report --lang ' 'en zh'
    offers 'shard --out fol' 'folder/'
    offers 'shard --in fi' 'file.zst'
    offers 'lockstep tensor d' 'diff'
    offers 'lockstep tensor diff --a' '--atol'
    ln -s "$ROOT/experiments" experiments
    offers 'lockstep experiment ddp4-sam' 'ddp4-same-batch'
    offers 'lockstep plan ladder quickst' 'quickstart'
    offers 'lockstep experiment ddp4 EPO' 'EPOCHS='
}
