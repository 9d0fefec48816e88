# SPDX-License-Identifier: MIT
# Converts the rounds of `growth` to its two tables.
#
#     awk -f median.awk -f growth.awk -v points=growth.csv -v limits=growth-limits.csv SHARES ROUNDS
#
# SHARES: lines "AXIS POINT SHARE REFERENCE": the time at a point is proportional if it equals the
# reference's time multiplied by the ratio of the shares. ROUNDS: CSV of axis, point, round,
# seconds. `off` is a time's deviation from proportional, in per cent; beyond TOLERANCE the axis has
# stopped being proportional. The search starts at the reference and goes outward in both
# directions, because a cost may be proportional only in the middle.

BEGIN {
    TOLERANCE = 15
    FS = ","
}

# Also sets `low` and `high`.
function median(axis, point,    i, n, v, m) {
    n = count[axis, point]
    for (i = 1; i <= n; i++) v[i] = seconds[axis, point, i]
    m = middle(v, n)
    low = v[1]
    high = v[n]
    return m
}

# Returns the first point off, starting at place `at`, in steps of `step`, as two cells.
function first_off(axis, at, step,    k) {
    for (k = at + step; k in point_of; k += step) {
        if (axis_of[k] != axis) break
        if (!(k in off)) continue
        if (off[k] > TOLERANCE || off[k] < -TOLERANCE) return point_of[k] "," sprintf("%.1f", off[k])
    }
    return ","
}

NR == FNR {
    split($0, word, " ")
    n++
    axis_of[n] = word[1]; point_of[n] = word[2]; share[n] = word[3]; reference[n] = word[4]
    next
}
FNR > 1 { seconds[$1, $2, ++count[$1, $2]] = $4 + 0 }

END {
    print "axis,point,seconds,low,high,proportional,off_percent" >points
    print "axis,reference,first,last,first_off_below,off_percent_below,first_off_above,off_percent_above" >limits
    for (i = 1; i <= n; i++)
        if (point_of[i] == reference[i] && count[axis_of[i], point_of[i]]) {
            base[axis_of[i]] = median(axis_of[i], point_of[i]) / share[i]
            place[axis_of[i]] = i
        }
    for (i = 1; i <= n; i++) {
        axis = axis_of[i]
        if (!(axis in first)) { first[axis] = point_of[i]; order[++axes] = axis }
        last[axis] = point_of[i]
        if (!count[axis, point_of[i]] || !(axis in base)) continue
        time = median(axis, point_of[i])
        expected = base[axis] * share[i]
        off[i] = 100 * (time / expected - 1)
        printf "%s,%s,%.6g,%.6g,%.6g,%.6g,%.1f\n", axis, point_of[i], time, low, high, expected, off[i] >points
    }
    for (a = 1; a <= axes; a++) {
        axis = order[a]
        if (!(axis in base)) continue
        print axis "," reference[place[axis]] "," first[axis] "," last[axis] "," \
              first_off(axis, place[axis], -1) "," first_off(axis, place[axis], 1) >limits
    }
}
