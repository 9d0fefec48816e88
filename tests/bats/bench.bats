# SPDX-License-Identifier: MIT
# make bench, except the speed: it measures, counts, judges and writes, at sizes that say nothing
# about speed.

load helpers

setup() {
    need_tool synth-cifar train-single train-ddp evaluate tensor manifest
    export ARTIFACTS=$WORK/artifacts QUICK=1 ROUNDS=1 IMAGES=512 TMPDIR=$WORK CC=cc
    unset CIFAR10_FROM MNIST_FROM ROWS WRITE_DOCS
    csv=$ARTIFACTS/bench/bench.csv
}

# cell ROW COLUMN: a cell of the CSV, by the names of both.
cell() {
    awk -F , -v row="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i } $1 == row { print $k }' "$csv"
}

# bench_awk NAME ARGUMENT...: runs a script of the bench as the bench does.
bench_awk() {
    local name=$1
    shift
    awk -f "$ROOT/tests/bench/median.awk" -f "$ROOT/tests/bench/$name.awk" "$@"
}

# is_positive NUMBER
is_positive() {
    awk -v x="$1" 'BEGIN { exit !(x > 0 && x < 1e9) }' || fail "'$1' is not a positive number"
}

# A failing train-ddp, and no PyTorch.
@test "rows become a table and a CSV; a row that fails or lacks PyTorch gives the reason, and the others run" {
    mkdir "$WORK/bin"
    ln -s "$BIN"/* "$WORK/bin"
    rm "$WORK/bin/train-ddp"
    printf '#!/bin/sh\necho "train-ddp: no, not today" >&2\nexit 1\n' >"$WORK/bin/train-ddp"
    chmod +x "$WORK/bin/train-ddp"
    export BIN=$WORK/bin PYTHON=$WORK/no-python ROWS="ddp-against evaluate lenet-64-1t v4-against"
    [ "$(nproc)" -gt 1 ] || skip "some rows need two cores"
    run --separate-stderr "$ROOT/tests/bench/run"
    [ "$status" -eq 1 ] || fail "exit code $status: $stderr"
    [ "$(wc -l <"$csv")" -eq 5 ] || fail "$(cat "$csv")"
    [ "$(awk -F , '{ print NF }' "$csv" | sort -u)" = 23 ] || fail "$(cat "$csv")"
    [ "$(cell ddp-against-single status),$(cell ddp-against-single note)" = "failed,train-ddp: no; not today" ] || fail "$(cat "$csv")"
    is_positive "$(cell v4-against-v1 ours)"
    is_positive "$(cell v4-against-v1 against)"
    is_positive "$(cell v4-against-v1 percent_of_limit)"
    is_positive "$(cell v4-against-v1 ours_mib)"
    [ "$(cell v4-against-v1 target)" = ">= 0.9" ]
    [ "$(cell evaluate unit),$(cell evaluate ratio),$(cell evaluate note)" = "s,,512 images" ]
    is_positive "$(cell lenet-64-1t ours)"
    [ "$(cell lenet-64-1t status),$(cell lenet-64-1t ratio),$(cell lenet-64-1t met)" = measured,, ]
    [[ $(cell lenet-64-1t note) == *"has no torch (make deps-torch)" ]] || fail "$(cat "$csv")"
    [[ ${lines[0]} == "row "*" ours "*" against "* ]] || fail "$output"
    [[ $output == *$'\n'"targets: "*"; not measured: lenet-64-1t, ddp-against-single"$'\n'"failed: ddp-against-single"* ]] || fail "$output"
    grep -q '^cores: [1-9]' "$ARTIFACTS/bench/machine.txt"
    [ -z "$(find "$WORK" -name 'lockstep-bench.*')" ]
}

# pytorch FILE VERSION SECONDS: a Python whose PyTorch says that it has this version and takes so long.
pytorch() {
    cat >"$1" <<END
#!/bin/sh
case "\$*" in
*__version__*) echo $2 ;;
*torch_step.py*compile*) exit 1 ;;
*torch_step.py*) echo $3 ;;
*torch_sgemm.py*) echo 100 ;;
*) exec "$PYTHON" "\$@" ;;
esac
END
    chmod +x "$1"
}

@test "PyTorch trains a chain and a graph; of two versions the faster one counts, and is named" {
    need_torch
    export ROWS=lenet-64-1t
    torch_python "$WORK/imported"
    PYTHON=$WORK/imported TORCH_PYTHON='' succeeds "$ROOT/tests/bench/run"
    is_positive "$(cell lenet-64-1t ratio)"
    is_positive "$(cell lenet-64-1t executed_percent)"
    [[ $(cell lenet-64-1t note) == "PyTorch: "[12].*" 1 thread" ]] || fail "$(cat "$csv")"
    pytorch "$WORK/older" 8.8 0.002
    pytorch "$WORK/newer" 9.9 0.001
    PYTHON=$WORK/older TORCH_PYTHON=$WORK/newer succeeds "$ROOT/tests/bench/run"
    [[ $(cell lenet-64-1t note) == "PyTorch: 9.9 "*"1 thread" ]] || fail "$(cat "$csv")"
    # A network with a branch.
    cat >"$WORK/graph.yaml" <<'END'
schema: lockstep.model/1
name: graph
input: [3, 8, 8]
layers: [conv: {out: 4, kernel: 1}, residual: {body: [conv: {out: 4, kernel: 3, padding: 1}, batch_norm, relu]}, flatten, linear: {out: 10}]
END
    "$BIN/synth-cifar" -q --train 32 --test 8 --shape 3,8,8 --out "$WORK/data"
    "$BIN/train-single" -q --experiment "$ROOT/experiments/R001/single.yaml" --set "model=$WORK/graph.yaml" --set dataset=synthetic \
        --set normalize=null --set epochs=1 --set global_batch=32 --train "$WORK/data/train.st.zst" --out "$WORK/run"
    for name in images labels; do "$BIN/tensor" cat "$WORK/data/train.st.zst" "$name" >"$WORK/$name"; done
    succeeds with_torch "$ROOT/tests/bench/torch_step.py" --model "$WORK/run/model.st.zst" --images "$WORK/images" --labels "$WORK/labels" \
        --shape 3,8,8 --batch 8 --seconds 0.1
    is_positive "$output"
}

@test "medians, ratios and verdicts follow from the rounds" {
    printf '%s\n' 'ours 2 2048' 'against 9 4096' 'ours 4 2048' 'against 8 4096' 'ours 3 1024' 'against 1 4096' 'peak 200 1' |
        bench_awk summarise -v name=x -v unit=s -v target='>= 2.5' -v against=yes -v flop=3000000 -v executed=1000000 \
            -v epoch=50000 -v rounds=3 -v status=measured -v note=n >"$WORK/line"
    [ "$(<"$WORK/line")" = "x,s,3,2,4,8,1,9,2.66667,>= 2.5,yes,,200,50,0.75,25,2,4,,3,measured,n,8.33333" ] || fail "$(<"$WORK/line")"
    echo 'ours 6 1024' | bench_awk summarise -v name=x -v unit=% -v target='<= 5 %' >"$WORK/line"
    [[ $(<"$WORK/line") == "x,%,6,6,6,,,,,<= 5 %,no,"* ]] || fail "$(<"$WORK/line")"
}

@test "operations are counted layer by layer" {
    count() {
        "$BIN/train-single" --experiment "$ROOT/experiments/R001/single.yaml" "$@" --print-parameters | awk -f "$ROOT/tests/bench/flop.awk"
    }
    # Multiply-adds forward: 28·28·6·75 + 10·10·16·150 + 400·120 + 120·84 + 84·10; times three,
    # minus the first layer's once; two operations each.
    [ "$(count)" = "3204720 3204720" ]
    # With padding and stride: 16·16·8·27, then 2·(8·8·8)·10 in the linear layer after the pool.
    cat >"$WORK/m.yaml" <<'END'
schema: lockstep.model/1
name: m
input: [3, 32, 32]
layers: [conv: {out: 8, kernel: 3, stride: 2, padding: 1}, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]
END
    local direct=$((2 * (2 * 16 * 16 * 8 * 27 + 3 * 8 * 8 * 8 * 10))) winograd
    [ "$(count --set "model=$WORK/m.yaml")" = "$direct $direct" ]
    # Winograd's algorithm from 16 to 20 channels of 32×32: 64 tiles of 36 multiply-adds each.
    cat >"$WORK/w.yaml" <<'END'
schema: lockstep.model/1
name: w
input: [3, 32, 32]
layers: [conv: {out: 16, kernel: 1}, conv: {out: 20, kernel: 3, padding: 1}, relu, max_pool: {size: 8}, flatten, linear: {out: 10}]
END
    direct=$((2 * (2 * 32 * 32 * 16 * 3 + 3 * 32 * 32 * 16 * 20 * 9 + 3 * 320 * 10)))
    winograd=$((2 * (2 * 32 * 32 * 16 * 3 + 3 * 64 * 36 * 16 * 20 + 3 * 320 * 10)))
    [ "$(count --set "model=$WORK/w.yaml")" = "$direct $winograd" ] || fail "$(count --set "model=$WORK/w.yaml")"
    # 30×30: the eighth tiles have two rows, or columns, and need five of six points.
    sed -i 's/kernel: 1/kernel: 3/; s/size: 8/size: 15/' "$WORK/w.yaml"
    direct=$((2 * (2 * 30 * 30 * 16 * 27 + 3 * 30 * 30 * 16 * 20 * 9 + 3 * 80 * 10)))
    winograd=$((2 * (2 * 30 * 30 * 16 * 27 + 3 * 47 * 47 * 16 * 20 + 3 * 80 * 10)))
    [ "$(count --set "model=$WORK/w.yaml")" = "$direct $winograd" ] || fail "$(count --set "model=$WORK/w.yaml")"
    sed -i 's/kernel: 3/kernel: [3, 1]/' "$WORK/m.yaml"
    run count --set "model=$WORK/m.yaml"
    [[ $status -ne 0 && $output == *"only squares are counted"* ]] || fail "$output"
}

@test "the passes of a convolution" {
    export CONVOLUTION=$BIN/../obj/release/tests/bench/convolution ROWS="conv-3x3-f conv-1x1-stride-2-i conv-depthwise-w"
    [ -x "$CONVOLUTION" ] || skip "convolution is not built for $BIN"
    succeeds "$ROOT/tests/bench/run"
    [ "$(wc -l <"$csv")" -eq 4 ] || fail "$(cat "$csv")"
    local row
    for row in 3x3-forward 1x1-stride-2-input depthwise-weights; do
        is_positive "$(cell "conv-$row" gflops)"
        is_positive "$(cell "conv-$row" executed_percent)"
    done
    # 36 of 144 multiply-adds for a tile of Winograd's algorithm.
    awk -v all="$(cell conv-3x3-forward percent_of_limit)" -v executed="$(cell conv-3x3-forward executed_percent)" \
        'BEGIN { exit !(all > 3.99 * executed && all < 4.01 * executed) }' || fail "$(cat "$csv")"
    TOOL=convolution fails_with 2 "'first': not a convolution" "$CONVOLUTION" "$ROOT/experiments/models/lenet.yaml" first forward 8 1
    TOOL=convolution fails_with 2 "no such pass" "$CONVOLUTION" "$ROOT/experiments/models/lenet.yaml" conv1 input 8 1
    unset CONVOLUTION
    ROWS=conv-5x5-f succeeds "$ROOT/tests/bench/run"
    [ "$(cell conv-5x5-forward status)" = skipped ]
}

@test "growth: the first point more than 15 % off, on both sides of the reference" {
    cd "$WORK"
    # Proportional from 2 to 4; 50 % more at 1, and at 8 and 16; in the median of three rounds.
    printf 'a %s %s 2\n' 1 1 2 2 4 4 8 8 16 16 >shares
    {
        echo axis,point,round,seconds
        for round in 1 2 3; do printf "a,%s,$round,%s\n" 1 1.5 2 2 4 4.4 8 $((round == 2 ? 99 : 12)) 16 24; done
    } >rounds
    bench_awk growth -v points=points -v limits=limits shares rounds
    [ "$(sed -n 2p limits)" = a,2,1,16,1,50.0,8,50.0 ] || fail "$(cat limits)"
    [ "$(sed -n '2p;4p' points | paste -sd ' ')" = "a,1,1.5,1.5,1.5,1,50.0 a,4,4.4,4.4,4.4,4,10.0" ] || fail "$(cat points)"
}

@test "growth draws its measurements" {
    ROWS=ranks succeeds "$ROOT/tests/bench/growth"
    [ "$(cut -d , -f 1,2 "$ARTIFACTS/bench/growth.csv" | paste -sd ' ')" = "axis,point ranks,1 ranks,2 ranks,4" ]
    grep -q '</svg>' "$ARTIFACTS/bench/cost-growth.svg"
}

@test "write-docs replaces the text between its markers, and refuses incomplete or short measurements" {
    cd "$WORK"
    mkdir -p "$ARTIFACTS/bench"
    printf '%s\n' 'cores: 2' 'rounds: 5' 'quick: no' "compiler: gcc with $(printf 'words %.0s' {1..30})" >"$ARTIFACTS/bench/machine.txt"
    {
        bench_awk summarise -v head=yes </dev/null
        sed -n 's/^\([a-z][^ |]*\) *|.*/\1/p' "$ROOT/tests/bench/rows" |
            sed 's/$/,s,1,0.9,1.1,4.5,4.4,4.6,4.5,>= 4,yes,150,300,160,0.5,53,200,800,119,5,measured,PyTorch: 2.9 2 threads,33/'
    } >"$csv"
    export DOCS=$WORK/docs.md
    for name in machine pytorch own limits convolutions-machine convolutions; do printf 'before %s\n<!-- bench: %s -->\nold\n<!-- end -->\n' "$name" "$name"; done >docs.md
    succeeds "$ROOT/tests/bench/write-docs"
    run ! grep -q '^old$' docs.md
    [ "$(grep -c '^before ' docs.md)" -eq 6 ]
    grep -qF '| 1×1, 64 to 64 channels | 160.0 | 33 % | 160.0 | 33 % | 160.0 | 33 % | 300.0 |' docs.md || fail "$(cat docs.md)"
    grep -qF '| lenet, batch 64, 1 thread | 1.000 | 4.500 | 4.50 | ≥ 4, met |' docs.md || fail "$(cat docs.md)"
    grep -qF '| 53 % | 33 % | 200 | 800 | 119 | 2.9 2 threads |' docs.md || fail "$(cat docs.md)"
    # A paragraph of Markdown has lines of up to 100 columns.
    ! sed '/^<!-- bench: pytorch/,/^before/d; /^|/d' docs.md | wider_than 100 || fail "$(cat docs.md)"
    cp docs.md once.md
    succeeds "$ROOT/tests/bench/write-docs"
    cmp docs.md once.md
    # The convolutions can be measured alone.
    sed -i.all '/^conv-/!{2,$d}' "$csv"
    sed -i '/^| 1×1/s/160.0/old/' docs.md
    succeeds "$ROOT/tests/bench/write-docs"
    cmp docs.md once.md
    sed -i '/^conv-5x5-weights,/d' "$csv"
    fails_with 1 "'conv-5x5-weights' is missing" "$ROOT/tests/bench/write-docs"
    mv "$csv.all" "$csv"
    sed -i '/^lenet-64-1t,/d' "$csv"
    fails_with 1 "'lenet-64-1t' is missing" "$ROOT/tests/bench/write-docs"
    sed -i 's/rounds: 5/rounds: 4/' "$ARTIFACTS/bench/machine.txt"
    fails_with 1 'medians of 4 rounds' "$ROOT/tests/bench/write-docs"
    cmp docs.md once.md
}

@test "the prediction in docs/hosts.md follows from docs/hosts.csv" {
    cp "$ROOT/docs/hosts.md" "$WORK/hosts.md"
    DOCS=$WORK/hosts.md "$ROOT/tests/bench/hosts-docs"
    cmp "$ROOT/docs/hosts.md" "$WORK/hosts.md"
    printf '%s\n' 'alpha,4e-5' 'beta,1e-9' 'network,small,R9,100,900,1000000,0.08' >"$WORK/other.csv"
    DOCS=$WORK/hosts.md "$ROOT/tests/bench/hosts-docs" "$WORK/other.csv"
    # 8 ranks: 10 ms of work, and 2 steps of 5 to 17 messages of 40/3 us and of 1.75 MB at 1 ns.
    grep -qxF '| 8 | 0.014 s, 73 to 72 % |' "$WORK/hosts.md"
}
