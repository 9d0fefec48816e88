# How long what is still to be done should take, from short trainings on this machine.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that other files of this folder set and read

# calculate EXPRESSION [NAME=VALUE]...: with the names as variables of awk.
calculate() {
    local expression=$1 pair
    local -a variables=()
    shift
    for pair; do variables+=(-v "$pair"); done
    awk "${variables[@]}" "BEGIN { printf \"%.9g\", $expression }"
}

# duration SECONDS: as people say it.
duration() {
    awk -v s="$1" 'BEGIN {
        s = int(s + 0.5)
        if (s < 60) printf "%d s", s
        else if (s < 3600) printf "%d min %d s", s / 60, s % 60
        else printf "%d h %d min", s / 3600, s % 3600 / 60
    }'
}

# data_sizes DATASET: how many samples it trains and tests with. Sets $train_samples and $test_samples.
data_sizes() {
    if [ -e "$data/manifest.yaml" ]; then
        train_samples=$("$BIN/manifest" get "$data/manifest.yaml" results.train_samples)
        test_samples=$("$BIN/manifest" get "$data/manifest.yaml" results.test_samples)
        return
    fi
    case $1 in
    mnist | fashion-mnist) train_samples=60000 test_samples=10000 ;;
    synthetic) train_samples=5000 test_samples=1000 ;;
    *) train_samples=50000 test_samples=10000 ;;
    esac
}

# draw SHAPE N: drawn images, N to train with and as many to test with. Sets $drawn.
draw() {
    drawn=$work/drawn-$1-$2
    [ -e "$drawn/manifest.yaml" ] ||
        "$BIN/synth-cifar" -q --shape "$1" --train "$2" --test "$2" --out "$drawn" || exit
}

# rates of a training by its key: seconds to train with a sample, and to test with one
declare -A train_rates=() test_rates=()

# try_run I N: two epochs on N drawn images; the first one only warms up. Sets $tried, the folder, and $key. Returns 1
# when the run takes other data than images can be drawn for.
try_run() {
    local shape
    open_run "$1"
    choose_devices "$1"
    shape=$(input_shape)
    draw "$shape" "$2"
    tried=$work/tried
    local -a short=("$BIN/train-${strategy[$1]}" -q --experiment "$file" "${set[@]}" --set name=tried --set epochs=2
        --train "$drawn/train.st.zst" --test "$drawn/test.st.zst" --out "$tried"
        "${on[@]}" ${THREADS:+--threads "$THREADS"})
    key=$("${short[@]}" --print-key 2>"$work/why") || return 1
    [ -z "${train_rates[$key]:-}" ] || return 0
    "${short[@]}" 2>"$work/why" || return 1
}

# measure_run I: sets $train_rate and $test_rate. A run with the work of one that was measured before is not measured
# again, and one that is over at once is measured for longer.
measure_run() {
    local n key seconds batch
    open_work
    open_run "$1"
    batch=$(parameter global_batch)
    for n in 512 8192; do
        [ "$n" -ge $((2 * batch)) ] || n=$((2 * batch))
        try_run "$1" "$n" || return 1
        [ -z "${train_rates[$key]:-}" ] || break
        seconds=$("$BIN/manifest" get "$tried/manifest.yaml" results.seconds_per_epoch)
        if [ "$n" -ge 8192 ] || [ "$(calculate 's < 0.2' "s=$seconds")" = 0 ]; then keep_rates "$n" "$seconds"; fi
    done
    train_rate=${train_rates[$key]} test_rate=${test_rates[$key]}
}

# keep_rates N SECONDS: of what was tried. What the whole took beyond its two epochs went to two tests.
keep_rates() {
    local total first second
    total=$("$BIN/manifest" get "$tried/manifest.yaml" results.total_seconds)
    first=$("$BIN/manifest" get "$tried/manifest.yaml" results.epochs.0.seconds)
    second=$("$BIN/manifest" get "$tried/manifest.yaml" results.epochs.1.seconds)
    train_rates[$key]=$(calculate 's / n' "s=$2" "n=$1")
    test_rates[$key]=$(calculate '(t > a + b ? t - a - b : 0) / 2 / n' "t=$total" "a=$first" "b=$second" "n=$1")
}

# share_left DIR BATCH EPOCHS: how much of a training is still to be done, where it was stopped. Prints a fraction.
share_left() {
    local key=$key step=0
    ! resumes "$1" train- || step=$("$BIN/tensor" info "$1/state.st.zst" | awk '$1 == "step:" { gsub("\"", "", $2); print $2 }')
    calculate '1 - k / (e * int((n + b - 1) / b))' "k=$step" "e=$3" "n=$train_samples" "b=$2"
}

# is_done DIR TOOL ARGUMENT...: without the data there is no key, and nothing is done.
is_done() {
    find_key "$@"
    fresh "$1" "$key"
}

# estimate_run I REPEAT: adds to $train_seconds and $test_seconds, and says what it is.
estimate_run() {
    local key='' dir where epochs left=1 seconds data train_samples test_samples train_rate test_rate
    training "$1" "$2"
    where=$dir
    epochs=$(parameter epochs)
    if [ -e "${train_on[$1]%/*.zst}/manifest.yaml" ] && [ -e "${test_on[$1]%/*}/manifest.yaml" ]; then
        if is_done "$dir/train" "${words[@]}"; then
            if is_done "$dir/evaluate" "${evaluation[@]}"; then
                finished=$((finished + 1))
                return
            fi
            left=0
        fi
    fi
    find_data "$(parameter dataset)"
    data_sizes "$(parameter dataset)"
    [ "$left" = 0 ] || left=$(share_left "$dir/train" "$(parameter global_batch)" "$epochs")
    if ! measure_run "$1"; then
        say estimate "$where" "$epochs epochs, not measured: $(head -n 1 "$work/why")"
        unknown=$((unknown + 1))
        return
    fi
    seconds=$(calculate 'l * e * (n * r + m * t)' "l=$left" "e=$epochs" "n=$train_samples" "r=$train_rate" \
        "m=$test_samples" "t=$test_rate")
    say estimate "$where" "$epochs epochs, $(duration "$seconds")$(calculate 'l' "l=$left" | grep -qx 1 || echo ' left')"
    train_seconds=$(calculate 'a + b' "a=$train_seconds" "b=$seconds")
    test_seconds=$(calculate 'a + m * t' "a=$test_seconds" "m=$test_samples" "t=$test_rate")
}

# estimate: what is left of every run, and of all of them.
estimate() {
    local i repeat train_seconds=0 test_seconds=0 unknown=0 finished=0 count=0
    for i in "${!lines[@]}"; do
        for ((repeat = 0; repeat < repeats[i]; repeat++)); do
            estimate_run "$i" "$repeat"
            count=$((count + 1))
        done
    done
    say estimate finished "$finished of $count runs"
    [ "$finished" -lt "$count" ] || return 0
    say estimate train "$(duration "$train_seconds")"
    say estimate evaluate "$(duration "$test_seconds")"
    [ "$unknown" -eq 0 ] || say estimate unknown "$unknown runs that could not be measured"
    say estimate all "about $(duration "$(calculate 'a + b' "a=$train_seconds" "b=$test_seconds")"), and what fetching the data takes"
}
