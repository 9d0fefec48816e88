# SPDX-License-Identifier: MIT
# Converts the rounds of `load` to its table, a line for each load and row: medians of samples a
# second of each way, and the number that follows against the best fixed one, as the median of the
# rounds' ratios.
#
#     awk -F , -f median.awk -f load.awk -v csv=load.csv -v order=WAYS ROUNDS
#
# Exit code 4 if a ratio is below its goal.

function median_of(key, way,    i, v) {
    for (i = 1; i <= rounds; i++) v[i] = speed[key, way, i]
    return middle(v, rounds)
}

BEGIN { way_count = split(order, ways, " ") }

FNR > 1 {
    key = $1 "," $2
    if (!(key in seen)) { seen[key]; keys[++key_count] = key }
    if ($4 > rounds) rounds = $4
    speed[key, $3, $4] = $5
}

END {
    line = "load,row"
    for (w = 1; w <= way_count; w++) line = line "," ways[w]
    print line ",best,follows_to_best,goal" >csv
    for (k = 1; k <= key_count; k++) {
        key = keys[k]
        best = ""
        line = key
        for (w = 1; w <= way_count; w++) {
            value = median_of(key, ways[w])
            line = line "," sprintf("%.0f", value)
            if (ways[w] ~ /^[0-9]+$/ && (best == "" || value > most)) { best = ways[w]; most = value }
        }
        for (i = 1; i <= rounds; i++) ratio[i] = speed[key, "follows", i] / speed[key, best, i]
        share = middle(ratio, rounds)
        goal = key ~ /^idle/ ? 0.99 : 0.95
        missed += share < goal
        print line "," best "," sprintf("%.3f", share) "," (share < goal ? "missed" : "met") >csv
    }
    close(csv)
    while ((getline line <csv) > 0) {
        count = split(line, cell, ",")
        for (i = 1; i <= count; i++) printf "%-14s", cell[i]
        print ""
    }
    exit missed ? 4 : 0
}
