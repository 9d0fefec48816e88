# SPDX-License-Identifier: MIT
# Converts a row's rounds, lines of "WHAT VALUE KIB", to its line of bench.csv. With -v head=yes:
# the head of that file.
#
#     awk -f median.awk -f summarise.awk -v name=… ROUNDS
#
# Variables: name, unit, target (">= 4", "<= 5 %" or nothing), against ("yes": the figure is a
# ratio), flop (counted per sample; nothing: arithmetic is not a limit), executed (likewise), epoch
# (images), rounds, status, note.
#
# Every figure is the median of its rounds; a ratio is the ratio of the medians. A figure that was
# not measured is an empty cell.

function median(what, column,    i, v) {
    for (i = 1; i <= count[what]; i++) v[i] = value[what, i, column]
    return middle(v, count[what] + 0) # gawk 5.2.1 fails if given an element that was never set
}

function extreme(what, sign,    i, best) {
    for (i = 1; i <= count[what]; i++)
        if (i == 1 || sign * value[what, i, 1] > sign * best) best = value[what, i, 1]
    return best
}

function add(cell) {
    line = line separator cell
    separator = ","
}

function number(x) {
    add(x == "" ? "" : sprintf("%.6g", x))
}

function mebibytes(kib) {
    add(kib == "" ? "" : sprintf("%.0f", kib / 1024))
}

# Returns "yes", "no", or nothing without a figure or a target.
function judge(figure,    part) {
    if (figure == "" || target == "") return ""
    split(target, part, " ")
    return (part[1] == ">=" ? figure >= part[2] + 0 : figure <= part[2] + 0) ? "yes" : "no"
}

BEGIN {
    if (head) {
        print "name,unit,ours,ours_low,ours_high,against,against_low,against_high,ratio,target,met,sgemm_gflops," \
              "fma_peak_gflops,gflops,limit_seconds,percent_of_limit,ours_mib,against_mib,cache_line_ns,rounds,status,note,executed_percent"
        exit
    }
}
{
    n = ++count[$1]
    value[$1, n, 1] = $2 + 0
    value[$1, n, 2] = $3 + 0
}
END {
    if (head) exit
    ours = median("ours", 1)
    theirs = median("against", 1)
    peak = median("peak", 1)
    ratio = ours != "" && theirs != "" && ours > 0 ? theirs / ours : ""
    limit = flop != "" && peak != "" && peak > 0 ? flop * epoch / peak * 1e-9 : ""
    add(name)
    add(unit)
    number(ours); number(extreme("ours", -1)); number(extreme("ours", 1))
    number(theirs); number(extreme("against", -1)); number(extreme("against", 1))
    number(ratio)
    add(target)
    add(judge(against ? ratio : ours))
    number(median("sgemm", 1))
    number(peak)
    number(flop != "" && ours != "" && ours > 0 ? flop * epoch / ours * 1e-9 : "")
    number(limit)
    number(limit != "" && ours != "" && ours > 0 ? 100 * limit / ours : "")
    mebibytes(median("ours", 2)); mebibytes(median("against", 2))
    number(median("cache-line", 1))
    add(rounds)
    add(status)
    add(note)
    number(limit != "" && ours != "" && ours > 0 ? 100 * executed * epoch / peak * 1e-9 / ours : "")
    print line
}
