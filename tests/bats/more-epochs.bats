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
