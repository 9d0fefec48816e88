# What to hand in: one archive of the report, the commands, the manifests, the experiments, the figures and the models.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that other files of this folder set and read
# shellcheck disable=SC2016,SC2030,SC2031,SC2317 # text of another script; a subshell that keeps its changes to itself
#
# The archive is a function of the runs and of REPORT_FLAGS: files in the order of their names, with one time and one
# owner. It holds no data set, and no model of more than MODEL_LIMIT MiB.
MODEL_LIMIT=${MODEL_LIMIT:-4}

# The language that REPORT_FLAGS asks for.
report_language() {
    [[ " ${REPORT_FLAGS:-} " =~ \ --lang[=\ ]([a-z]+)\  ]] && echo "${BASH_REMATCH[1]}" || echo en
}

# ---- Experiments -----------------------------------------------------------------------------------------------

# top_key KEY: what stands below that key at the top of the YAML on standard input, as a document of its own.
top_key() {
    awk -v key="$1:" '/^[^ -]/ { inside = $1 == key; next } inside { sub(/^  /, ""); print }'
}

# write_experiment I: run number I as a file that needs no other settings, and its model beside it.
write_experiment() {
    local model
    open_run "$1"
    model=$(parameter architecture.name)
    mkdir -p "$folder/experiments/models"
    top_key architecture <<<"$resolved" >"$folder/experiments/models/$model.yaml"
    awk -v model="$model" '
        /^[^ -]/ { inside = $1 == "architecture:" }
        /^model:/ { print "model: " model; next }
        !inside' <<<"$resolved" >"$folder/experiments/$(parameter name).yaml"
}

# ---- Manifests, models, environment ----------------------------------------------------------------------------

# keep_manifest DIR WHERE
keep_manifest() {
    mkdir -p "$folder/manifests/$2"
    cp "$1/manifest.yaml" "$folder/manifests/$2/"
}

# below DIR: as it is called below ARTIFACTS.
below() {
    echo "${1#"$ARTIFACTS/"}"
}

# keep_run DIR: manifests, environment and, if it is small, the model of a run.
keep_run() {
    local stage where model=$1/train/model.st.zst bytes
    where=$(below "$1")
    for stage in train evaluate; do keep_manifest "$1/$stage" "$where/$stage"; done
    {
        echo "$where:"
        "$BIN/manifest" get "$1/train/manifest.yaml" run | sed 's/^/  /'
    } >>"$folder/environment.yaml"
    bytes=$(stat -c %s "$model")
    if [ "$bytes" -le $((MODEL_LIMIT * 1024 * 1024)) ]; then
        mkdir -p "$folder/models"
        cp "$model" "$folder/models/${where//\//-}.st.zst"
        models+="- \`models/${where//\//-}.st.zst\`: $bytes B"$'\n'
    else
        models+="- $where: $bytes B, > $MODEL_LIMIT MiB"$'\n'
    fi
    runs_table+="| $where | $("$BIN/manifest" get "$1/train/manifest.yaml" tool) | $(
        "$BIN/manifest" get "$1/evaluate/manifest.yaml" results.accuracy) | \`$(
        "$BIN/manifest" get "$1/train/manifest.yaml" results.model | cut -c -12)\` |"$'\n'
}

# keep_data I: the manifests of the data that run number I read.
keep_data() {
    local dir
    for dir in "${train_on[$1]%/*.zst}" "${test_on[$1]%/*}"; do keep_manifest "$dir" "$(below "$dir")"; done
}

# The drawings of a page, each as a file that is called after its id.
keep_figures() {
    mkdir -p "$folder/figures"
    awk -v folder="$folder/figures" '
        /<svg / {
            match($0, /aria-labelledby="[^"]*"/)
            name = substr($0, RSTART + 17, RLENGTH - 18)
            sub(/-title$/, "", name)
            file = folder "/" name ".svg"
            sub(/<svg /, "<svg font-family=\"sans-serif\" color=\"black\" ")
        }
        file { print > file }
        /<\/svg>/ { close(file); file = "" }' "$1"
    rmdir "$folder/figures" 2>/dev/null || true
}

# ---- Commands --------------------------------------------------------------------------------------------------

# The setting that says where a data set is to be found.
source_of() {
    case $1 in
    synthetic) ;;
    *) tr 'a-z-' 'A-Z_' <<<"${1}_FROM" ;;
    esac
}

# A word as a shell reads it.
quoted() {
    if [[ $1 =~ ^[A-Za-z0-9@%+=:,./_-]+$ ]]; then
        echo "$1"
    else
        echo "'${1//\'/\'\\\'\'}'"
    fi
}

# command_line TOOL ARGUMENT...: as it stands in the script, where what is made lies below $out and what is given below $here.
command_line() {
    local word line="run" from=''
    for word; do
        case $word in
        "$folder"/*) line+=" \"\$here/${word#"$folder/"}\"" ;;
        "$ARTIFACTS"/*) line+=" \"\$out/$(below "$word")\"" ;;
        *) line+=" $(quoted "$word")" ;;
        esac
    done
    case $1 in
    fetch-*)
        from=$(source_of "$3")
        line+=" \${$from:+--from \"\$$from\"}"
        ;;
    train-*) line+=' ${DEVICE:+--device "$DEVICE"} ${THREADS:+--threads "$THREADS"}' ;;
    evaluate) line+=' ${DEVICE:+--device "$DEVICE"}' ;;
    esac
    echo "$line"
}

# Every command that the runs are made by, in their order: the stages tell theirs instead of running. The experiments are
# those in the archive, which need no settings.
tell_commands() (
    unset CIFAR10_FROM CIFAR100_FROM MNIST_FROM FASHION_MNIST_FROM DEVICE THREADS LAUNCHER
    local -A told=()
    local -a flags
    read -ra flags <<<"${REPORT_FLAGS:-}"
    local -a as_given=("${lines[@]}") runs=()
    local -a lines=("${as_given[@]}")
    stage() {
        local dir=$2
        shift 2
        [ -z "${told[$dir]:-}" ] || return 0
        told[$dir]=1
        command_line "$@"
    }
    for i in "${!lines[@]}"; do
        open_run "$i"
        lines[i]=$(printf '%s\t%s' "$(below "$dir")" "$folder/experiments/$(parameter name).yaml")
    done
    make_runs
    command_line report "${runs[@]}" --baseline "${runs[0]}" --out "$ARTIFACTS/report" "${flags[@]}"
)

write_script() {
    local dir
    {
        cat <<'END'
#!/bin/sh
# Runs everything in this folder again and compares the models. Usage: sh run-again.sh [FOLDER]
#
# The tools are looked for on PATH, or in BIN=FOLDER; what is made goes below FOLDER (again). DEVICE and THREADS say where
# and how wide to train.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-again}
run() {
    name=$1
    shift
    echo "$name"
    "${BIN:+$BIN/}$name" "$@"
}

END
        tell_commands
        cat <<'END'

# Are they the same models, bit for bit?
failed=0
same() {
    if [ "$("${BIN:+$BIN/}manifest" get "$out/$1/train/manifest.yaml" results.model)" = "$2" ]; then
        echo "$1: the same model"
    else
        echo "$1: ANOTHER MODEL"
        failed=4
    fi
}
END
        for dir in "${runs[@]}"; do
            echo "same $(below "$dir") $("$BIN/manifest" get "$dir/train/manifest.yaml" results.model)"
        done
        echo "exit \$failed"
    } >"$folder/run-again.sh"
    chmod +x "$folder/run-again.sh"
}

# ---- The archive -----------------------------------------------------------------------------------------------

# write_readme LANGUAGE SOURCE_SETTINGS
write_readme() {
    local text first=${runs[0]}/train/manifest.yaml
    text=$(cat "$parts/submission/README.$1.md")
    text=${text//@NAME@/$submission}
    text=${text//@VERSION@/$("$BIN/manifest" get "$first" version)}
    text=${text//@COMMIT@/$("$BIN/manifest" get "$first" run.commit)}
    text=${text//@LIMIT@/$MODEL_LIMIT}
    text=${text//@RUNS@/${runs_table%$'\n'}}
    text=${text//@MODELS@/${models%$'\n'}}
    printf '%s\n' "${text//@SOURCES@/$2}" >"$folder/README.md"
}

# The columns of the table of runs, in the language of the report.
runs_head() {
    case $1 in
    zh) echo '| 运行 | 工具 | 测试准确率 | 模型 |' ;;
    *) echo '| run | tool | test accuracy | model |' ;;
    esac
    echo '|---|---|---|---|'
}

# pack REPORT: the archive of all runs and the report over them.
pack() {
    local i dir language submission folder models='' runs_table sources=''
    language=$(report_language)
    submission=submission$joined
    open_work
    folder=$work/$submission
    mkdir -p "$folder/report"
    cp "$1"/report.{html,md,csv,tex} "$folder/report/"
    keep_figures "$1/report.html"
    runs_table=$(runs_head "$language")$'\n'
    for i in "${!lines[@]}"; do
        write_experiment "$i"
        keep_data "$i"
        sources+=" $(source_of "$(parameter dataset)")"
    done
    for dir in "${runs[@]}"; do keep_run "$dir"; done
    [ "${#collectives[@]}" -eq 0 ] || keep_manifest "${collectives[1]}" "$(below "${collectives[1]}")"
    # When the report was written is no property of the runs.
    mkdir -p "$folder/manifests/report"
    awk '/^[^ -]/ { inside = $1 == "run:" } !inside' "$1/manifest.yaml" >"$folder/manifests/report/manifest.yaml"
    write_script
    sources=$(tr ' ' '\n' <<<"$sources" | grep . | sort -u | sed 's/.*/`&=`/' | paste -sd ' ' || true)
    write_readme "$language" "${sources:-—}"
    archive=$ARTIFACTS/$submission.tar.gz
    tar --create --directory "$work" --sort=name --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner \
        --mode='u=rwX,go=rX' "$submission" | gzip -n -9 >"$archive.new"
    mv -f "$archive.new" "$archive"
}
