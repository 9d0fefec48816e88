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

@test "the proof in the README works on synthetic images" {
    need_tool synth-cifar shard train-single train-ddp
    sed -n '/^## Proof/,/^## /p' README.md >"$WORK/proof.md"
    blocks "$WORK/proof.md" | sed "s|^fetch-cifar --out .*|synth-cifar -q --train 512 --test 32 --out .|
        s|experiments/|$ROOT/experiments/|
        s|^train-[a-z]* |& -q --set dataset=synthetic --set epochs=1 |" >"$WORK/proof.sh"
    cd "$WORK" || return
    PATH=$BIN:$PATH succeeds sh -e proof.sh
    [[ $output == *identical* ]] || fail "$output"
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
