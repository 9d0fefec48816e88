# SPDX-License-Identifier: MIT
# --resume with more epochs: a run continues, and ends as if it had been that long from the start.

load helpers
load training

setup_file() {
    file_data 400 64
    file_shards
}

setup() {
    begin_training epochs=3
}

@test "more epochs continue a finished run, and give the bits of a run of that length" {
    local run=("$BIN/train-single" -q --experiment e.yaml --train "$train" --set epochs=4) go tool
    local rates='schedule={kind: multistep, milestones: [1, 3], warmup_epochs: 1}'
    "${run[@]}" --out whole --set "$rates"
    for tool in train-single train-dp train-ddp train-mp; do
        go=("$BIN/$tool" --experiment e.yaml --train "$train" --out "$tool" --set "$rates")
        [ "$tool" = train-single ] || go+=(--world-size 2)
        "${go[@]}" -q
        cp "$tool/model.st.zst" "$tool.model"
        succeeds "${go[@]}" --set epochs=4 --resume
        [[ $stderr == *"resuming from step 18 "* ]]
        cmp whole/model.st.zst "$tool/model.st.zst"
        ! cmp -s "$tool.model" "$tool/model.st.zst"
        [ "$("$BIN/manifest" get "$tool/manifest.yaml" run.execution.0.end_step)" = 18 ]
        [ "$("$BIN/manifest" get "$tool/manifest.yaml" run.execution.1.end_step)" = 24 ]
        [ "$("$BIN/manifest" get "$tool/manifest.yaml" results.steps)" = 24 ]
        [ "$("$BIN/manifest" get "$tool/manifest.yaml" parameters.epochs)" = 4 ]
        "$BIN/manifest" get "$tool/manifest.yaml" results.epochs.3.loss
        "$BIN/manifest" verify "$tool/manifest.yaml"
        "$BIN/tensor" cat "whole/steps.st.zst" loss | cmp - <("$BIN/tensor" cat "$tool/steps.st.zst" loss)
    done
    # Segments that end at points other than the tool's own.
    "${run[@]}" --set epochs=2 --set "$rates" --out mixed
    "$BIN/train-ddp" -q --experiment e.yaml --train "$data/shards" --world-size 2 --resume --out mixed --set "$rates"
    "$BIN/train-dp" -q --experiment e.yaml --train "$train" --world-size 4 --resume --out mixed --set "$rates" --set epochs=4
    cmp whole/model.st.zst mixed/model.st.zst
}

@test "a schedule of straight lines allows more epochs, one of a cycle does not" {
    local go=("$BIN/train-single" -q --experiment e.yaml --train "$train")
    local points='schedule={kind: linear, points: [[0, 0.2], [1.5, 1], [5, 0]]}' cycle='schedule={kind: one_cycle}'
    "${go[@]}" --out whole --set epochs=4 --set "$points"
    "${go[@]}" --out out --set "$points"
    succeeds "${go[@]}" --out out --set "$points" --set epochs=4 --resume
    cmp whole/model.st.zst out/model.st.zst
    "${go[@]}" --out cycle --set "$cycle"
    fails_with 3 "3 'epochs', not 4: in a one_cycle schedule" "${go[@]}" --out cycle --set "$cycle" --set epochs=4 --resume
}

@test "a moving average allows more epochs, lookahead does not" {
    local go=("$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test")
    local ema='average={kind: ema, decay: 0.8, every: 3}' ahead='average={kind: lookahead, decay: 0.8, every: 3}'
    "${go[@]}" --out whole --set epochs=4 --set "$ema"
    "${go[@]}" --out out --set "$ema"
    fails_with 3 "different 'average'" "${go[@]}" --out out --resume
    succeeds "${go[@]}" --out out --set "$ema" --set epochs=4 --resume
    cmp whole/model.st.zst out/model.st.zst
    [ "$("$BIN/manifest" get whole/manifest.yaml results.epochs.3.accuracy)" = "$("$BIN/manifest" get out/manifest.yaml results.epochs.3.accuracy)" ]
    # The accuracy is that of the model.
    "$BIN/evaluate" -q --model out/model.st.zst --data "$test" --out evaluated
    [ "$("$BIN/manifest" get evaluated/manifest.yaml results.accuracy)" = "$("$BIN/manifest" get out/manifest.yaml results.test_accuracy)" ]
    "${go[@]}" --out ahead --set "$ahead"
    fails_with 3 "3 'epochs', not 4: with lookahead" "${go[@]}" --out ahead --set "$ahead" --set epochs=4 --resume
}

@test "a run that ended within an epoch continues, and its results are those of one run" {
    local go=("$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test") one key
    "${go[@]}" --out whole
    "${go[@]}" --out out --set epochs=1.4
    [ "$("$BIN/manifest" get out/manifest.yaml results.steps)" = 9 ]
    [ "$("$BIN/manifest" get out/manifest.yaml results.steps_per_epoch)" = 6 ]
    [ "$("$BIN/manifest" get out/manifest.yaml parameters.epochs)" = 1.4 ]
    succeeds "$BIN/manifest" verify out/manifest.yaml
    # The loss of the short epoch is over the samples of its three steps of 72.
    one=$("$BIN/tensor" export --format csv out/steps.st.zst loss | tail -n 3 | awk '{ sum += $1 } END { printf "%.5f", sum / 3 }')
    [ "$("$BIN/manifest" get out/manifest.yaml results.epochs.1.loss | awk '{ printf "%.5f", $1 }')" = "$one" ]
    # And its time is no time of an epoch.
    [ "$("$BIN/manifest" get out/manifest.yaml results.seconds_per_epoch)" = "$("$BIN/manifest" get out/manifest.yaml results.epochs.0.seconds)" ]
    "${go[@]}" --out out --set epochs=2.5 --resume
    "${go[@]}" --out out --resume
    cmp whole/model.st.zst out/model.st.zst
    for key in epochs.0.accuracy epochs.1.accuracy epochs.2.accuracy epochs.1.loss epochs.2.loss steps; do
        [ "$("$BIN/manifest" get whole/manifest.yaml "results.$key")" = "$("$BIN/manifest" get out/manifest.yaml "results.$key")" ] ||
            fail "results.$key"
    done
    succeeds "$BIN/manifest" verify out/manifest.yaml
    fails_with 3 steps_per_epoch "$BIN/manifest" get out/manifest.yaml results.steps_per_epoch
}

@test "a report, a table and a figure of a run that ended within an epoch" {
    need_tool report
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --test "$test" --out run/train --set epochs=2.5
    "$BIN/evaluate" -q --model run/train/model.st.zst --data "$test" --out run/evaluate
    succeeds "$BIN/report" run --out report
    grep -q 'after 2.5 epochs' report/report.md
    succeeds "$BIN/report" run --why tiny.seconds_per_epoch
    [[ $output == *agrees* ]] || fail "$output"
    "$BIN/tensor" export --format csv run/train --out steps.csv
    [ "$(tail -n 1 steps.csv | cut -d, -f 3)" = 3 ]
    [ -n "$(tail -n 1 steps.csv | awk -F, '{ print $(NF) }')" ]
}

@test "a run that continues with more epochs loses nothing when it stops" {
    local go=("$BIN/train-single" -q --experiment e.yaml --train "$train" --out out)
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out whole --set epochs=5
    "${go[@]}"
    cp out/model.st.zst three.model
    "${go[@]}" --resume --set epochs=5 --stop-after-steps 20
    [ ! -e out/manifest.yaml ]
    cmp three.model out/model.st.zst
    fails_with 3 "more 'epochs': 5, not 3" "${go[@]}" --resume
    # A stopped state may continue to even more epochs.
    "${go[@]}" --resume --set epochs=5
    cmp whole/model.st.zst out/model.st.zst
    # Nothing new was saved yet: both continue.
    "${go[@]}" --set epochs=2 --out half
    rm half/manifest.yaml
    succeeds "${go[@]}" --set epochs=2 --out half --resume
    [ -e half/manifest.yaml ]
    rm half/manifest.yaml
    succeeds "${go[@]}" --set epochs=5 --out half --resume
    cmp whole/model.st.zst half/model.st.zst
}

@test "numbers of epochs that cannot continue are refused, and no file changes" {
    local go=("$BIN/train-single" -q --experiment e.yaml --train "$train" --out out) before
    "${go[@]}" --set 'schedule={kind: cosine}'
    before=$(stat -c %Y.%i out/*)
    fails_with 3 "3 'epochs', not 5: .*cosine" "${go[@]}" --resume --set 'schedule={kind: cosine}' --set epochs=5
    fails_with 3 "more 'epochs': 3, not 2" "${go[@]}" --resume --set 'schedule={kind: cosine}' --set epochs=2
    fails_with 3 "schedule.kind" "${go[@]}" --resume --set epochs=5
    [ "$before" = "$(stat -c %Y.%i out/*)" ]
    # A finished run without its state is not replaced by a run that starts over.
    "${go[@]}" --out stateless
    rm stateless/state.st.zst
    fails_with 3 "'stateless/state.st.zst': it is missing" "${go[@]}" --out stateless --resume --set epochs=5
    [ -e stateless/model.st.zst ] && [ -e stateless/manifest.yaml ]
}
