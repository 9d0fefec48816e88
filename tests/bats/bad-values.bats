# SPDX-License-Identifier: MIT
# NaN, infinities and variances below 0, in every tensor: every reader refuses them and names the
# tensor; a training in which they appear ends at that step. States of another revision of the
# arithmetic. tests/unit/test_bad_values.c has every value in every tensor; here each tensor has one.

load helpers
load training

# A model with every kind of tensor, trained for a few steps.
small() {
    cat >small.yaml <<'END'
schema: lockstep.model/1
name: small
input: [3, 32, 32]
layers: [conv: {out: 2, kernel: 4, stride: 4}, batch_norm, relu, max_pool: {size: 2}, flatten, linear: {out: 4},
         batch_norm, relu, linear: {out: 10}]
END
}

setup_file() {
    file_data 48 24
}

setup() {
    begin_training model=./small.yaml global_batch=24 epochs=1
    small
}

# plain FILE OUT: decompresses it.
plain() {
    zstd -dqc "$1" >"$2"
}

# poison IN OUT TENSOR VALUE: see tests/python/poison.py.
poison() {
    "$PYTHON" "$ROOT/tests/python/poison.py" "$@"
}

# bad_values TENSOR N: the values to put into the N-th tensor.
bad_values() {
    local values=(nan inf -inf)
    echo "${values[$2 % 3]}"
    case $1 in *running_var | *exp_avg_sq*) echo -1 ;; esac
}

# refused WHAT COMMAND...: the message names tensor $tensor.
refused() {
    fails_with 3 "'$tensor' holds $1" "${@:2}" || fail "$tensor: $1"
}

@test "a bad value in any tensor of a model: refused by --init and by evaluate" {
    local tensor value n=0 count=0
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out good
    plain good/model.st.zst good.st
    for tensor in $(poison good.st); do
        for value in $(bad_values "$tensor" "$n"); do
            poison good.st bad.st "$tensor" "$value"
            refused "$value" "$BIN/train-single" --experiment e.yaml --train "$train" --out out --init bad.st || return 1
            nothing_in out
            refused "$value" "$BIN/evaluate" --model bad.st --data "$test" --out out || return 1
            nothing_in out
            count=$((count + 1))
        done
        n=$((n + 1))
    done
    [ "$count" -eq $((14 + 2)) ] || fail "$count values"
    # The other tensors accept a variance of 0, and weights below 0.
    poison good.st zero.st bn1.running_var 0
    succeeds "$BIN/evaluate" -q --model zero.st --data "$test" --out out
    # Through a pipe, compressed, with another tool.
    tensor=fc2.weight
    poison good.st bad.st fc2.weight nan
    zstd -q bad.st -o bad.st.zst
    refused nan "$BIN/evaluate" --model bad.st.zst --data "$test" --out out2
    refused nan "$BIN/train-ddp" --world-size 2 --experiment e.yaml --train "$train" --out out2 --init bad.st.zst
    nothing_in out2
}

# state_of OPTIMIZER COUNT: bad values in every tensor of a state; COUNT combinations are tried.
state_of() {
    local tensor value n=0 count=0
    rm -rf run out
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --set "optimizer={kind: $1, lr: 0.01}" --stop-after-steps 1
    plain run/state.st.zst good.st
    for tensor in $(poison good.st); do
        for value in $(bad_values "$tensor" "$n"); do
            [ "$tensor.$value" != epochs.accuracy.nan ] || value=inf # NaN: it was not measured
            rm -rf out
            mkdir out
            poison good.st bad.st "$tensor" "$value"
            zstd -q bad.st -o out/state.st.zst
            cp out/state.st.zst before
            refused "$value" "$BIN/train-single" --experiment e.yaml --train "$train" --out out --resume \
                --set "optimizer={kind: $1, lr: 0.01}" || return 1
            cmp before out/state.st.zst
            unfinished out
            count=$((count + 1))
        done
        n=$((n + 1))
    done
    [ "$count" -eq "$2" ] || fail "$count values"
}

@test "a bad value in any tensor of a state: refused by --resume" {
    state_of sgd $((24 + 2 + 2))
    state_of adamw $((34 + 2 + 10 + 2))
}

@test "a loss that is not finite ends the run at that step, and the first bad tensor is named" {
    local tool
    for tool in "train-single" "train-ddp --world-size 2" "train-dp --world-size 2" "train-mp --world-size 2"; do
        rm -rf out
        # shellcheck disable=SC2086 # a tool and its option
        TOOL=${tool%% *} fails_with 1 "'step [0-9]+' \(epoch [0-9]+\): the loss is (nan|-?inf), tensor 'conv1.weight' holds -?(nan|inf)" \
            "$BIN/"${tool} -q --experiment e.yaml --train "$train" --out out --set epochs=10 --set optimizer.lr=1000000 \
            --set "model=$ROOT/experiments/models/lenet.yaml"
        unfinished out
    done
}

# A mean of 1.5e37, times 48 images, overflows a float, and this becomes the running mean; the sums
# of 16 images do not overflow, and the loss is a number.
@test "running statistics that are not finite end the run, even if the loss is finite" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out good
    plain good/model.st.zst good.st
    poison good.st large.st fc1.bias 1.5e37
    fails_with 1 "'step 0' \(epoch 1\): tensor 'bn2.running_mean' holds inf" \
        "$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test" --out out --init large.st \
        --set global_batch=48 --set virtual_shards=1
    unfinished out
    [ ! -e out/state.st.zst ]
}

@test "evaluate refuses logits that are not finite, even if all weights are finite" {
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out good
    plain good/model.st.zst good.st
    poison good.st large.st fc2.bias 3e38
    poison large.st larger.st fc2.weight 3e38
    poison larger.st largest.st bn2.weight 3e38
    fails_with 1 "'image [0-9]+': its logit of class [0-9] is (nan|-?inf)" \
        "$BIN/evaluate" --model largest.st --data "$test" --out out
    nothing_in out
}

@test "a state of another revision of the arithmetic is refused, with both revisions and the remedy" {
    local own
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run --stop-after-steps 1
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out ended
    own=$("$BIN/manifest" get ended/manifest.yaml bits)
    plain run/state.st.zst good.st
    poison good.st other.st "bits=$((own + 1))"
    poison good.st none.st bits=
    zstd -qf other.st -o run/state.st.zst
    fails_with 3 "run/state.st.zst'.*revision $((own + 1)) .*'bits'.*this version has $own: .*version.*without --resume" \
        "$BIN/train-single" --experiment e.yaml --train "$train" --out run --resume
    fails_with 3 "revision $((own + 1))" "$BIN/train-ddp" --world-size 2 --experiment e.yaml --train "$train" --out run --resume
    zstd -qf none.st -o run/state.st.zst
    fails_with 3 "run/state.st.zst'.* does not record .* revision $own: .*without --resume" \
        "$BIN/train-single" --experiment e.yaml --train "$train" --out run --resume
    # The same for a finished run, which would otherwise be left as it is.
    sed -i "s/^bits: .*/bits: $((own + 1))/" ended/manifest.yaml
    fails_with 3 "ended/manifest.yaml'.*revision $((own + 1)) .*this version has $own" \
        "$BIN/train-single" --experiment e.yaml --train "$train" --out ended --resume
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out ended
    succeeds "$BIN/train-single" -q --experiment e.yaml --train "$train" --out run
    [ "$(content run/model.st.zst)" = "$(content ended/model.st.zst)" ]
}

@test "the first epoch is excluded from the seconds per epoch" {
    local epochs
    for epochs in 1 2 4; do
        "$BIN/train-single" -q --experiment e.yaml --train "$train" --out "run$epochs" --set "epochs=$epochs"
        "$BIN/manifest" get "run$epochs/manifest.yaml" results.epochs | grep -o 'seconds: [0-9.e-]*' | cut -d ' ' -f 2 |
            awk -v all="$epochs" 'all == 1 || NR > 1' | sort -g >seconds
        awk -v said="$("$BIN/manifest" get "run$epochs/manifest.yaml" results.seconds_per_epoch)" '
            { s[NR] = $1 }
            END {
                middle = NR % 2 ? s[(NR + 1) / 2] : (s[NR / 2] + s[NR / 2 + 1]) / 2
                exit !(NR > 0 && middle > 0 && (said - middle) ^ 2 < (1e-6 * middle) ^ 2)
            }' seconds || fail "$epochs epochs: $("$BIN/manifest" get "run$epochs/manifest.yaml" results)"
    done
}

@test "more than 1,024 images, and not a multiple of it: every image is evaluated" {
    "$BIN/synth-cifar" -q --train 8 --test 1100 --seed 3 --out many
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out good --set "model=$ROOT/experiments/models/lenet.yaml"
    "$BIN/evaluate" -q --model good/model.st.zst --data many/test.st.zst --out out
    [ "$("$BIN/manifest" get out/manifest.yaml results.samples)" = 1100 ]
    "$BIN/tensor" export --format csv --out logits.csv out/predictions.st.zst logits
    "$PYTHON" - <<'END'
rows = [line.strip() for line in open("logits.csv") if line[0] in "-0123456789"]
assert len(rows) == 1100, len(rows)
assert len(set(rows[1024:])) == 76, "some images have equal logits: they were not evaluated"
END
}

# The ranges come from the tools' own tables, so that a new option is tested by itself. (Keys of experiments and models:
# tests/unit/test_ranges.c.)
@test "every numeric option of every tool: a value beside each end of its range is refused by name" {
    local tool word call option least most value count=0
    for tool in "$BIN"/*; do
        for word in "" $("$tool" --completions | awk -F '\t' '/^[a-z]/ && "'"${tool##*/}"'" ~ /^(tensor)$/ { print $1 }'); do
            call=("$tool")
            [ -z "$word" ] || call+=("$word")
            while IFS=$'\t' read -r option _ _ least most; do
                [ -n "$least" ] || continue
                [ "$least" -lt "$most" ] || fail "$tool $option: no range"
                count=$((count + 1))
                # 2^63 is beyond the arithmetic of the shell.
                for value in "$((least - 1))" "$([ "$most" = 9223372036854775807 ] && echo 1e999 || echo "$((most + 1))")"; do
                    run "${call[@]}" "$option" "$value"
                    [[ $status -eq 2 && $output == *"bad option value: '$option': expected "*", got '$value'"* ]] ||
                        fail "$tool $word $option $value: $status $output"
                done
            done < <("${call[@]}" --completions | grep '^--')
        done
    done
    [ "$count" -ge 30 ] || fail "$count options"
}
