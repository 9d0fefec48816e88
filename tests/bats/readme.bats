#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The commands in the README and the pages of docs/, and their links.

load helpers

setup() {
    cd "$ROOT" || return
}

# blocks FILE: the commands in its shell blocks, without comments.
blocks() {
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$1" | sed 's/ *# .*//; /^$/d'
}

# table_commands FILE: the commands in its tables.
table_commands() {
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    grep '^|' "$1" | grep -o '`\(make\|build/bin/[a-z-]*\) [^`]*`' | tr -d '`'
}

@test "every linked file exists" {
    local page link
    for page in README.md README.zh.md CONTRIBUTING.md docs/*.md; do
        while read -r link; do
            [ -e "$(dirname "$page")/${link%%#*}" ] || fail "$page: $link"
        done < <(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^http\|^#\|^mailto')
    done
}

@test "every make target and every experiment that the pages name exists" {
    local targets page line word name
    targets=" $(make -s help | awk '{ print $1 }' | tr '\n' ' ') "
    for page in README.md README.zh.md docs/*.md; do
        while read -r line; do
            for word in ${line#make }; do
                case $word in
                EXP=mine | EXP=flowers | EXP=flowers-small | EXP=wide) ;; # the reader's own
                EXP=* | A=* | B=*)
                    name=${word#*=}
                    [ -n "$(find experiments -name "$name.yaml")" ] || fail "$page: no experiment '$name': $line"
                    ;;
                *=*) ;;
                *) [[ $targets == *" $word "* ]] || fail "$page: no target '$word': $line" ;;
                esac
            done
        done < <({ blocks "$page"; table_commands "$page"; } | grep '^make ' | sed "s/\"[^\"]*\"//g; s/'[^']*'//g")
    done
}

@test "docs/differences.md says of every key of an experiment how it is compared with PyTorch" {
    local section key file
    section=$(sed -n '/^## Compared with PyTorch/,$p' docs/differences.md)
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    sed -n '/^## Experiments$/,/^###/s/^| `\([a-z_]*\)` |.*/\1/p' docs/formats.md >"$WORK/keys"
    [ "$(wc -l <"$WORK/keys")" -ge 28 ]
    while read -r key; do
        # shellcheck disable=SC2016
        grep -q '`'"$key"'[`:]' <<<"$section" || fail "no word about '$key'"
    done <"$WORK/keys"
    # shellcheck disable=SC2016
    for file in $(grep -o '`[a-z/-]*\.\(bats\|safetensors\)`' <<<"$section" | tr -d '`'); do
        [ -e "$file" ] || [ -e "tests/bats/$file" ] || fail "no $file"
    done
}

@test "both READMEs have the same commands" {
    { blocks README.md; table_commands README.md; } >"$WORK/en"
    { blocks README.zh.md; table_commands README.zh.md; } | sed 's/ REPORT_FLAGS="--lang zh"//' >"$WORK/zh"
    diff "$WORK/en" "$WORK/zh" || fail "the commands of the two READMEs differ"
    [ "$(wc -l <"$WORK/en")" -ge 20 ]
}

# quoted FILE: the text of its first quotation, without blanks.
quoted() {
    awk '/^> / { print substr($0, 3); found = 1; next } found { exit }' "$1" | tr -d ' \n'
}

@test "the story: what README quotes is what its command prints, before anything that was measured" {
    need_tool plan report
    local page language command answer quote a b run
    for page in README.md README.zh.md; do
        command=$(sed -n '/^make explain A=/{p;q}' "$page")
        a=$(sed -n 's/.* A=\([^ ]*\).*/\1/p' <<<"$command") b=$(sed -n 's/.* B=\([^ ]*\).*/\1/p' <<<"$command")
        language=$(sed -n 's/.*--lang \([a-z]*\).*/\1/p' <<<"$command")
        succeeds "$BIN/plan" ladder experiments/*/"$a.yaml" experiments/*/"$b.yaml" -q --out "$WORK/plan.yaml"
        while read -r run; do
            [ -e "$WORK/$run" ] || "$PYTHON" tests/fixtures/make_run.py "$WORK/$run" name="$run"
        done < <(cut -f 1 <<<"$output")
        # shellcheck disable=SC2046 # the names of runs
        (cd "$WORK" && "$BIN/report" $(cut -f 1 <<<"$output") --plan plan.yaml --answer --lang "${language:-en}") >"$WORK/answer"
        quote=$(quoted "$page") answer=$(sed -n '/mnist-single-w0.*mnist-ddp8.*[?？]$/,$p' "$WORK/answer" | tail -n +2 | tr -d ' \n')
        [ ${#quote} -gt 40 ] || fail "$page quotes: $quote"
        [[ $answer == "$quote"* ]] || fail "$page quotes: $quote" "the command prints: $answer"
    done
}

# setting COMMAND NAME: the value of NAME="..." in it.
setting() {
    sed -n "s/.* $2=\"\([^\"]*\)\".*/\1/p" <<<"$1"
}

@test "README's first comparison ends in one model; without its V the page says what batch norm averages over" {
    need_tool pipeline synth-cifar shard train-single train-dp train-ddp evaluate report
    local page first
    for page in README.md README.zh.md; do
        first=$(table_commands "$page" | head -1)
        [ "$first" = 'make compare EXPS="single dp4 ddp4-same-batch" SET="virtual_shards=4"' ] || fail "$page: $first"
    done
    "$BIN/synth-cifar" -q --train 128 --test 64 --out "$WORK/data"
    compare() {
        # shellcheck disable=SC2046 # names are separated by blanks
        succeeds "$BIN/pipeline" compare $(setting "$first" EXPS) EPOCHS=1 DATA="$WORK/data" ARTIFACTS="$WORK/artifacts" "$@"
        one_line
    }
    compare SET="dataset=synthetic; $(setting "$first" SET)"
    [ "$(grep -o 'the model is the same, bit for bit' <<<"$output" | wc -l)" -eq 2 ] || fail "$output"
    [ "$(sha256sum "$WORK"/artifacts/*/seed-42/train/model.st.zst | cut -d ' ' -f 1 | sort -u | wc -l)" -eq 1 ]
    compare SET="dataset=synthetic"
    [[ $output == *"With one V, "*"all three are the same model, bit for bit: SET=\"virtual_shards=4\" shows it."* ]] || fail "$output"
    [[ $output != *"the model is the same, bit for bit"* ]] || fail "$output"
}

# yaml_block FILE LINE: the first block of YAML in a page that has this line.
yaml_block() {
    awk -v wanted="$2" '
        /^```yaml$/ { inside = 1; block = ""; next }
        /^```/ && index(block, wanted "\n") { printf "%s", block; exit }
        /^```/ { inside = 0 }
        inside { block = block $0 "\n" }' "$1"
}

@test "docs/transfer.md: the last layer learns alone for three epochs, then all layers do" {
    need_tool synth-cifar train-single tensor
    mkdir -p "$WORK/experiments"
    cd "$WORK" || return
    "$BIN/synth-cifar" -q --train 64 --test 8 --out data
    cat >net.yaml <<'END'
schema: lockstep.model/1
name: net
input: [3, 32, 32]
layers: [conv: {name: conv1, out: 4, kernel: 3}, relu, max_pool: {size: 2}, flatten, linear: {name: fc, out: 10}]
END
    printf '%s\n' 'schema: lockstep.experiment/1' 'name: flowers-resnet' 'dataset: synthetic' "model: $WORK/net.yaml" \
        'global_batch: 64' 'epochs: 1' 'optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}' >experiments/flowers-resnet.yaml
    yaml_block "$ROOT/docs/transfer.md" "name: flowers-transfer" >experiments/flowers-transfer.yaml
    go() {
        succeeds "$BIN/train-single" -q --experiment "experiments/$1.yaml" --train data/train.st.zst --out "$2" "${@:3}"
    }
    go flowers-resnet weights --set seed=7
    mkdir experiments/models
    cp weights/model.st.zst experiments/models/flowers-resnet.safetensors
    go flowers-transfer three --set epochs=3
    go flowers-transfer four --set epochs=4
    values() { "$BIN/tensor" cat "$1/model.st.zst" "$2" | sha256sum; }
    [ "$(values three conv1.weight)" = "$(values weights conv1.weight)" ]
    [ "$(values four conv1.weight)" != "$(values weights conv1.weight)" ]
    [ "$(values three fc.weight)" != "$(values weights fc.weight)" ]
    yaml_block "$ROOT/docs/transfer.md" "name: flowers-scratch" >experiments/flowers-scratch.yaml
    go flowers-scratch scratch --set epochs=1
    [ "$(values scratch fc.weight)" != "$(values three fc.weight)" ]
}

@test "the model and the experiment of docs/models.md work on synthetic images" {
    need_tool pipeline synth-cifar shard train-single evaluate report
    mkdir -p "$WORK/experiments/models"
    yaml_block docs/models.md "schema: lockstep.model/1" >"$WORK/experiments/models/wide.yaml"
    yaml_block docs/models.md "schema: lockstep.experiment/1" | sed "s|^base: single|base: $ROOT/experiments/R001/single.yaml|" >"$WORK/experiments/wide.yaml"
    yaml_block docs/models.md "- residual:" >"$WORK/block"
    "$BIN/synth-cifar" -q --train 192 --test 64 --out "$WORK/data"
    cd "$WORK" || return
    succeeds "$BIN/pipeline" experiment experiments/wide.yaml DATA=data ARTIFACTS=artifacts EPOCHS=1 SET=dataset=synthetic
    [ -s "${lines[-1]#report: }" ] || fail "$output"
    awk '/^- flatten/ { while ((getline line <"block") > 0) print line } { print }' experiments/models/wide.yaml >branch.yaml
    succeeds "$BIN/pipeline" experiment experiments/wide.yaml DATA=data ARTIFACTS=artifacts EPOCHS=1 \
        SET="dataset=synthetic; model=$WORK/branch.yaml"
    [ -s "${lines[-1]#report: }" ] || fail "$output"
    sed -i 's/^- relu/- ReLU/' experiments/models/wide.yaml
    fails_with 3 "wide.yaml:.*ReLU.*relu" "$BIN/pipeline" experiment experiments/wide.yaml DATA=data ARTIFACTS=artifacts \
        EPOCHS=1 SET=dataset=synthetic
}

# ---- What texts name ----

# joined: continued lines as one line each.
joined() {
    sed -e ':join; /\\$/ { N; s/ *\\\n */ /; b join; }'
}

# commands_of PAGE: the lines of its shell blocks and its inline code, one a line.
commands_of() {
    blocks "$1" | joined
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    awk '/^ *```/ { inside = !inside; next } !inside' "$1" |
        awk 'BEGIN { RS = "" } /^\|/ { print; next } { gsub(/\n */, " "); print }' | grep -o '`[^`]*`' | tr -d '`'
}

# settings_in: of lines that begin with a command of the pipeline, "COMMAND NAME" for each setting.
settings_in() {
    grep -oE '(make|lockstep|pipeline) +(experiment|compare|explain|reproduce|submission|verify|grade|runs|clean-runs) .*' |
        while read -r _ command rest; do
            grep -oE '(^|[ [])[A-Z][A-Z0-9_]*=' <<<"$rest" | tr -d ' [=' | sed "s/^/$command /"
        done
}

# is_read NAME: is it a setting of pipeline or make, or a variable that a program reads or sets?
is_read() {
    grep -qx "$1" "$WORK/own" || grep -qE "^(.*\\\$\\()?$1( *[?:]?=|\\))" Makefile make/*.mk pipelines/*.mk ||
        grep -rqE "[\"'\${]$1\\b" --include='*.[ch]' --include='*.cu' --include='*.py' --include='*.bats' --include='*.bash' lib tools python tests ||
        grep -rqE "\\\$\\{?$1\\b" scripts pipelines tests/run tests/bench
}

@test "every setting that a page, help or a manual page names is one, and of its command" {
    need_tool pipeline lockstep
    local command setting page
    for page in README.md README.zh.md CONTRIBUTING.md docs/*.md; do commands_of "$page"; done >"$WORK/lines"
    {
        sed 's/^# *//' pipelines/experiment.mk
        for page in pipeline lockstep; do "$BIN/$page" --help; done
        scripts/make-man "$BIN" pipeline | sed 's/\\//g'
    } >>"$WORK/lines"
    settings_in <"$WORK/lines" >"$WORK/settings"
    # "runs [KEY...] [NAME=...]" of a usage is a command, too, and so is a target with a description.
    "$BIN/pipeline" --help | sed -nE 's/^ +pipeline ([a-z|-]+) (.*)/\1 \2/p' | while read -r commands page; do
        for command in ${commands//|/ }; do echo "make $command $page"; done
    done | settings_in >>"$WORK/settings"
    make -s help | sed -nE 's/^  ([a-z-]+) +(.*)/make \1 \2/p' | settings_in >>"$WORK/settings"
    sort -u "$WORK/settings" -o "$WORK/settings"
    [ "$(wc -l <"$WORK/settings")" -ge 30 ] || fail "$(cat "$WORK/settings")"
    while read -r command setting; do
        run "$BIN/pipeline" "$command" "$setting=?" ARTIFACTS="$WORK/none"
        [[ $output != *"unknown setting"* && $output != *"does not accept $setting"* ]] || fail "$command $setting: $output"
    done <"$WORK/settings"
    "$BIN/pipeline" --help | sed -n '/^Settings/,$s/^  \([A-Z][A-Z0-9_]*\) .*/\1/p' >"$WORK/own"
    {
        grep -oE '^\[?[A-Z][A-Z0-9_]+=' "$WORK/lines" | tr -d '[='
        make -s help | sed -n 's/^Experiment settings: \(.*\), and where.*/\1/p; s/^General settings: \(.*\); .*/\1/p' | tr ' ' '\n' | sed 's/=.*//'
    } | sort -u >"$WORK/named"
    [ "$(wc -l <"$WORK/named")" -ge 40 ] || fail "$(cat "$WORK/named")"
    while read -r setting; do
        case $setting in MKL_* | NVIDIA_* | CUBLAS_* | PYTORCH_*) continue ;; esac # libraries read them
        is_read "$setting" || fail "nothing reads $setting: $(grep -m 1 "$setting=" "$WORK/lines")"
    done <"$WORK/named"
}

@test "every setting of pipeline --help is completed" {
    need_tool pipeline lockstep
    "$BIN/pipeline" --help | sed -n '/^Settings/,$s/^  \([A-Z][A-Z0-9_]*\) .*/\1/p' >"$WORK/settings"
    [ "$(wc -l <"$WORK/settings")" -ge 30 ] || fail "$(cat "$WORK/settings")"
    scripts/make-completions "$BIN" bash >"$WORK/bash"
    while read -r setting; do
        grep -qw "$setting" "$WORK/bash" || fail "no completion of $setting"
    done <"$WORK/settings"
}

# options_of TOOL [COMMAND]: those that its help lists.
options_of() {
    "$BIN/$1" ${2:+"$2"} --help | sed -n '/^Options:/,/^$/s/^  \(-., \)\?\(--[a-z0-9-]*\).*/\2/p'
}

@test "every option that a page or an example of --help names after a tool is one of the tool" {
    need_tool pipeline lockstep tensor train-single
    local tool line option known tools command
    tools=$(cd "$BIN" && printf '%s\n' * | paste -sd '|')
    {
        for tool in README.md README.zh.md CONTRIBUTING.md docs/*.md; do commands_of "$tool"; done
        for tool in "$BIN"/*; do "$tool" --help; done | joined | sed 's/^ *//'
    } | sed 's/"[^"]*"//g; s/[|;]/\n/g' | sed -E 's/^ +//; s#^([A-Z]+=[^ ]* )*((lockstep|time) )?([^ ]*/)?##' | grep -E "^($tools)( .*)? --[a-z]" | sort -u >"$WORK/commands"
    [ "$(wc -l <"$WORK/commands")" -ge 60 ] || fail "$(cat "$WORK/commands")"
    while read -r line; do
        read -r tool command _ <<<"$line"
        [[ $command =~ ^[a-z]+$ ]] || command=
        known=" $({ options_of "$tool"; options_of "$tool" ${command:+"$command"}; } 2>/dev/null | tr '\n' ' ')--help --version "
        for option in $(grep -oE -- '(^| |\[)--[a-z][a-z0-9-]*' <<<"$line" | tr -d ' ['); do
            [[ $known == *" $option "* ]] || fail "$tool has no $option: $line"
        done
    done <"$WORK/commands"
}

@test "docs/formats.md names the tools that have --json, and no other" {
    local tool section with=
    section=$(sed -n '/^## JSON on standard output/,/^## /p' docs/formats.md)
    for tool in "$BIN"/*; do
        tool=${tool##*/}
        case $tool in
        tensor | manifest) "$BIN/$tool" --help | grep -q -- --json && with=1 || with= ;;
        *) options_of "$tool" | grep -qx -- --json && with=1 || with= ;;
        esac
        # shellcheck disable=SC2016 # the backquotes are Markdown's
        if grep -q '`'"$tool\\b" <<<"$section"; then
            [ -n "$with" ] || fail "$tool has no --json"
        else
            [ -z "$with" ] || fail "--json of $tool is not named"
        fi
    done
}

@test "docs/architecture.md names all who read every kept run" {
    local file paragraph
    paragraph=$(sed -n '/^\*\*The run store has no index\*\*/,/^$/p' docs/architecture.md)
    while read -r file; do
        [ "$file" = lib/pipeline/store.c ] || grep -q "${file##*/}" <<<"$paragraph" || fail "$file calls store_keys"
    done < <(grep -l 'store_keys(' lib/*/*.c)
}

# documented SECTION COLUMN: the keys in the first table of a section of docs/formats.md.
documented() {
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    sed -n "/^## $1\$/,/^## /p" docs/formats.md | sed -n "/$2/,/^\$/p" | sed -n 's/^| \(`[^|]*\)|.*/\1/p' | grep -o '`[a-z_]*`' | tr -d '`' | sort -u
}

# keys_known: those that a message about an unknown one lists.
keys_known() {
    sed -n 's/.*the keys are: //p' <<<"$output" | tr -d ' ' | tr ',' '\n' | sort -u
}

@test "docs/formats.md has the keys of experiments and of claims, and no other" {
    need_tool train-single audit
    printf 'schema: lockstep.experiment/1\nname: x\nzzzzzz: 1\n' >"$WORK/e.yaml"
    run "$BIN/train-single" --experiment "$WORK/e.yaml" --train x --dry-run --out "$WORK/x"
    keys_known | grep -vx published >"$WORK/known" # of earlier versions
    [ "$(wc -l <"$WORK/known")" -ge 28 ] || fail "$output"
    documented Experiments '^| key' >"$WORK/documented"
    diff "$WORK/known" "$WORK/documented"
    printf 'schema: lockstep.claim/1\nname: x\nrows: [{name: a, zzzzzz: 1}]\n' >"$WORK/c.yaml"
    run "$BIN/audit" "$WORK/c.yaml"
    keys_known >"$WORK/known"
    [ "$(wc -l <"$WORK/known")" -ge 40 ] || fail "$output"
    documented Claims '^| key of a row' >"$WORK/documented"
    diff "$WORK/known" "$WORK/documented"
}
