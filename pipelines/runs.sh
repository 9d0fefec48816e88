# Runs: which there are, and all that is done for each, up to its evaluation.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that other files of this folder set and read

# ---- Experiments ---------------------------------------------------------------------------------------------

# Sets $file and $name of what was given by name or by path: an experiment or a study.
find_file() {
    case $1 in
    */* | *.yaml) file=$1 ;;
    *)
        file=experiments/$1.yaml
        for found in experiments/R*/"$1.yaml" experiments/studies/"$1.yaml"; do
            [ -e "$file" ] || [ ! -e "$found" ] || file=$found
        done
        ;;
    esac
    name=$(basename "$file" .yaml)
    [[ $file != *[$'\t\n']* ]] || fail 2 "cannot take experiment: '$1': a tab or a line break in its name"
    [ -e "$file" ] ||
        fail 3 "cannot find experiment: '$1': $file does not exist; there are: $(known_experiments)"
}

is_study() {
    [ "$("$BIN/manifest" get "$1" schema 2>/dev/null)" = lockstep.study/1 ]
}

# The same for an experiment alone.
find_experiment() {
    find_file "$1"
    ! is_study "$file" || fail 2 "cannot $command: '$1': it is a study, not an experiment"
}

known_experiments() {
    find experiments experiments/R* -maxdepth 1 -name '*.yaml' ! -name claim.yaml ! -name report.yaml | sed 's,.*/,,; s,\.yaml$,,' | LC_ALL=C sort | paste -sd ' '
}

# SET, EPOCHS and SEED as a list of assignments. Sets the array $given.
parse_set() {
    local -a assignments
    local assignment
    given=()
    IFS=';' read -ra assignments <<<"${SET:-}"
    for assignment in "${assignments[@]}" ${EPOCHS:+"epochs=$EPOCHS"} ${SEED:+"seed=$SEED"}; do
        assignment=${assignment#"${assignment%%[! ]*}"}
        assignment=${assignment%"${assignment##*[! ]}"}
        [ -z "$assignment" ] || given+=("$assignment")
    done
    [[ ${SEED:-0} =~ ^[0-9]+$ ]] || fail 2 "SEED: '$SEED': expected a whole number, 0 or more"
}

# ---- What is to run --------------------------------------------------------------------------------------------
# A line for each run, as `plan` prints them: its folder, the experiment file, the assignments; tabs between.
lines=()

# add_experiment NAME: the experiment with what was given.
add_experiment() {
    local file name
    find_experiment "$1"
    lines+=("$(printf '%s\t' "$name" "$file" "${given[@]}")")
}

# keep_plan FILE ARGUMENT...: what `plan ARGUMENT...` decides, as YAML, goes to FILE unless that holds it.
keep_plan() {
    local plan=$1
    shift
    ! print_plan "$@" | cmp -s - "$plan" || return 0
    make_folder "${plan%/*}"
    "$BIN/plan" -q "$@" --out "$plan" >/dev/null || exit
}

# print_plan ARGUMENT...: the plan as YAML.
print_plan() {
    "$BIN/plan" -q "$@" --out /dev/fd/3 3>&1 >/dev/null
}

# add_plan FOLDER ARGUMENT...: what `plan ARGUMENT...` decides.
add_plan() {
    local folder=$1 line planned
    local -a set=()
    shift
    for assignment in "${given[@]}"; do set+=(--set "$assignment"); done
    planned=$("$BIN/plan" "$@" "${set[@]}") || exit
    keep_plan "$ARTIFACTS/$folder/plan.yaml" "$@" "${set[@]}"
    while IFS= read -r line; do
        lines+=("$folder/$line")
        say run "$ARTIFACTS/$folder/${line%%$'\t'*}" planned
    done <<<"$planned"
}

# add_reproduction LIST: the runs of a list of reports. Sets $name, the folder of what is its own.
add_reproduction() {
    local line planned
    local -a set=()
    [ -e "$1" ] || fail 3 "cannot find the list of reports: '$1' does not exist"
    for assignment in "${given[@]}"; do set+=(--set "$assignment"); done
    case ${QUICK:-0} in 0) ;; *) set+=(--quick) ;; esac
    planned=$("$BIN/plan" reproduction "$1" "${set[@]}") || exit
    name=$(print_plan reproduction "$1" "${set[@]}" | "$BIN/manifest" get /dev/stdin name) || exit
    keep_plan "$ARTIFACTS/$name/plan.yaml" reproduction "$1" "${set[@]}"
    while IFS= read -r line; do lines+=("$line"); done <<<"$planned"
}

# What is asked of resolved experiments, and the answers by "I KEY". They are read once: a process for each question
# would be most of what a second make takes.
asked=(name dataset strategy seed repeats world_size virtual_shards shard_seed global_batch epochs
    architecture.name architecture.input.0 architecture.input.1 architecture.input.2)
declare -A answers=()

# read_parameters I: of $resolved.
read_parameters() {
    local text k
    local -a values
    text=$(printf '%s\n' "$resolved" | "$BIN/manifest" get /dev/stdin "${asked[@]}") || exit
    mapfile -t values <<<"$text"
    for k in "${!asked[@]}"; do answers[$1 ${asked[k]}]=${values[k]}; done
}

# One resolved parameter of the experiment at hand.
parameter() {
    echo "${answers[$opened $1]}"
}

# open_run I: sets what run number I is: $dir, $file, the array $set, and $resolved, the whole experiment as
# YAML; `parameter` is about it.
open_run() {
    local -a words
    local assignment
    opened=$1
    IFS=$'\t' read -ra words <<<"${lines[$1]}"
    dir=$ARTIFACTS/${words[0]}
    file=${words[1]}
    set=()
    for assignment in "${words[@]:2}"; do set+=(--set "$assignment"); done
    resolved=${resolutions[$1]:-}
}

# check_run I: can it be run at all? Notes what training needs to know.
check_run() {
    open_run "$1"
    resolved=$("$BIN/train-single" --experiment "$file" "${set[@]}" ${DEVICE:+--device "$DEVICE"} \
        ${THREADS:+--threads "$THREADS"} --print-parameters) || exit
    resolutions[$1]=$resolved
    read_parameters "$1"
    strategy[$1]=$(parameter strategy)
    world[$1]=$(parameter world_size)
    seed[$1]=$(parameter seed)
    repeats[$1]=$(parameter repeats)
    [ "${seed[$1]}" -le $((largest_seed - repeats[$1] + 1)) ] ||
        fail 2 "cannot train '$dir': ${repeats[$1]} seeds from ${seed[$1]} on: the largest is $largest_seed"
    case ${strategy[$1]} in
    ddp | dp) worlds[${world[$1]}]=1 ;;
    esac
    [ -x "$BIN/train-${strategy[$1]}" ] ||
        fail 1 "cannot train '$dir': its strategy is ${strategy[$1]}, and '$BIN/train-${strategy[$1]}' is not built; another tool can run it: SET='strategy=single'"
}

# locate_run I: where its data lies, or will.
locate_run() {
    local data shards
    open_run "$1"
    shards=$(parameter virtual_shards)
    find_data "$(parameter dataset)"
    train_on[$1]=$data/train.st.zst
    test_on[$1]=$data/test.st.zst
    [ "$shards" -eq 1 ] || train_on[$1]=$data/shards-$shards-$(parameter shard_seed)
}

# prepare_run I: fetches and shards.
prepare_run() {
    local data shards
    open_run "$1"
    shards=$(parameter virtual_shards)
    fetch "$(parameter dataset)"
    [ "$shards" -eq 1 ] ||
        stage shard "${train_on[$1]}" shard --shards "$shards" --seed "$(parameter shard_seed)" \
            --in "$data/train.st.zst" --out "${train_on[$1]}"
}

# choose_devices I: DEVICE for this run, as the array $on. A list is dealt to as many ranks as the experiment has, so
# that it says where they compute and not how many they are.
choose_devices() {
    local -a list
    local ranks=1 dealt='' w
    on=(${DEVICE:+--device "$DEVICE"})
    case ${DEVICE:-} in *,*) ;; *) return 0 ;; esac
    IFS=, read -ra list <<<"$DEVICE"
    [ "${strategy[$1]}" = single ] || ranks=${world[$1]}
    for ((w = 0; w < ranks; w++)); do dealt+=,${list[w % ${#list[@]}]}; done
    on=(--device "${dealt#,}")
}

# training I REPEAT: sets $dir, the array $words, the tool and its arguments that fill $dir/train, and for $dir/evaluate
# the array $evaluation.
training() {
    local s=$((seed[$1] + $2))
    open_run "$1"
    choose_devices "$1"
    dir+=/seed-$s
    words=("train-${strategy[$1]}" --experiment "$file" "${set[@]}" --set "seed=$s" --train "${train_on[$1]}"
        --test "${test_on[$1]}" --out "$dir/train" "${on[@]}" ${THREADS:+--threads "$THREADS"})
    evaluation=(evaluate --model "$dir/train/model.st.zst" --data "${test_on[$1]}" --out "$dir/evaluate"
        ${DEVICE:+--device "$DEVICE"})
}

# train_run I REPEAT
train_run() {
    training "$1" "$2"
    if [ -n "${LAUNCHER:-}" ] && [ "${strategy[$1]}" = ddp ] && [ "${world[$1]}" -gt 1 ]; then
        read -ra launcher <<<"$LAUNCHER"
        launcher+=(-n "${world[$1]}")
    fi
    stage train "$dir/train" "${words[@]}"
    launcher=()
    stage evaluate "$dir/evaluate" "${evaluation[@]}"
}

# Of each run, by its number.
largest_seed=9223372036854775807
strategy=() world=() seed=() repeats=() train_on=() test_on=() resolutions=()
# Of the run at hand.
set=() on=() words=() evaluation=()

# check_runs: can they all be run?
check_runs() {
    local i
    for i in "${!lines[@]}"; do check_run "$i"; done
    for i in "${!lines[@]}"; do locate_run "$i"; done
}

# Everything from the data to the evaluations. Sets the array $runs: their folders.
make_runs() {
    local i repeat more=1
    for i in "${!lines[@]}"; do prepare_run "$i"; done
    for ((repeat = 0; more; repeat++)); do
        more=0
        for i in "${!lines[@]}"; do
            [ "$repeat" -ge "${repeats[i]}" ] || train_run "$i" "$repeat"
            [ $((repeat + 1)) -ge "${repeats[i]}" ] || more=1
        done
    done
    for i in "${!lines[@]}"; do
        open_run "$i"
        for ((repeat = 0; repeat < repeats[i]; repeat++)); do runs+=("$dir/seed-$((seed[i] + repeat))"); done
    done
}

run_all() {
    check_runs
    make_runs
}
