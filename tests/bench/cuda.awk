# SPDX-License-Identifier: MIT
# Converts the rounds of `make bench-cuda` to its tables: cuda-work.csv (a line per measurement) and
# cuda.csv (a line per goal).
#
#     awk -f median.awk -f cuda.awk -v works=cuda-work.csv -v verdicts=cuda.csv WORK GOALS NOTES ROUNDS
#
# NOTES has lines of "NAME|STATUS|NOTE", ROUNDS of "ROUND,NAME,SECONDS", with NAME-SIDE of cuda-work
# as name. WORK and GOALS are cuda-work and cuda-goals.

function trim(text) {
    gsub(/^ +| +$/, "", text)
    return text
}

# Returns a key's last value among KEY=VALUE words; a later one replaces an earlier one.
function argument(words, key, otherwise,    part, i, n) {
    n = split(words, part, " ")
    for (i = 1; i <= n; i++)
        if (index(part[i], key "=") == 1) otherwise = substr(part[i], length(key) + 2)
    return otherwise
}

function number(x) { return x == "" ? "" : sprintf("%.6g", x) }

# Returns a name's seconds per epoch, or the least of several; nothing if none was measured.
function least(names,    part, i, n, best) {
    n = split(names, part, ",")
    for (i = 1; i <= n; i++)
        if (seconds[part[i]] != "" && (best == "" || seconds[part[i]] < best)) best = seconds[part[i]]
    return best
}

function figure_of(text,    part, above, below) {
    split(text, part, " ")
    above = least(part[2])
    if (above == "") return ""
    if (part[1] == "step") return above * batch[part[2]] / epoch[part[2]] * 1e6
    if (part[1] == "epoch") return above * 1e3
    below = least(part[3])
    return below == "" || below <= 0 ? "" : above / below
}

function judge(figure, target,    part) {
    if (figure == "") return ""
    split(target, part, " ")
    return (part[1] == ">=" ? figure >= part[2] + 0 : figure <= part[2] + 0) ? "yes" : "no"
}

function summarise(name,    i, v, n, low, high) {
    n = rounds[name]
    for (i = 1; i <= n; i++) {
        v[i] = value[name, i]
        if (i == 1 || v[i] < low) low = v[i]
        if (i == 1 || v[i] > high) high = v[i]
    }
    seconds[name] = middle(v, n)
    print name, work[name], side[name], number(seconds[name]), number(low), number(high), batch[name],
        seconds[name] == "" ? "" : number(seconds[name] * batch[name] / epoch[name] * 1e6), n + 0,
        n ? "measured" : (name in status ? status[name] : "skipped"), note[name] > works
}

FNR == 1 { file++ }
/^ *(#|$)/ { next }
file <= 3 { n = split($0, part, "|"); for (i = 1; i <= n; i++) part[i] = trim(part[i]) }
file == 1 {
    n = split(part[4], sides, " ")
    for (i = 1; i <= n; i++) {
        sub(/=.*/, "", sides[i])
        order[++count] = name = part[1] "-" sides[i]
        work[name] = part[1]
        side[name] = sides[i]
        batch[name] = argument(part[3], "batch", 64)
        epoch[name] = argument(part[3], "epoch", 50000)
    }
}
file == 2 {
    goal[++goals] = part[1]
    target[goals] = part[3]
    figure[goals] = part[4]
}
file == 3 { status[part[1]] = part[2]; note[part[1]] = part[3] }
file == 4 { split($0, part, ","); value[part[2], ++rounds[part[2]]] = part[3] + 0 }
END {
    OFS = ","
    print "name,work,side,seconds,low,high,batch,us_per_step,rounds,status,note" > works
    for (i = 1; i <= count; i++) summarise(order[i])
    print "name,figure,target,met" > verdicts
    for (i = 1; i <= goals; i++) {
        f = figure_of(figure[i])
        print goal[i], number(f), target[i], judge(f, target[i]) > verdicts
    }
}
