# SPDX-License-Identifier: MIT
# From one value to another, a row each step: a bar from the value before it to its own, green to the
# good side, red to the bad one. A total, and a step that changes nothing, is a point.
load plots . '/rows.gp'

GOOD = 2
BAD = 4
better(i) = (item_to[i] > item_from[i]) == chart_more_is_better ? GOOD : BAD

least = NaN
most = NaN
array point[items]
do for [i = 1:items] {
    least = lesser(lesser(least, item_from[i]), item_to[i])
    least = lesser(lesser(least, item_low[i]), item_high[i])
    most = greater(greater(most, item_from[i]), item_to[i])
    most = greater(greater(most, item_low[i]), item_high[i])
    point[i] = item_total[i] || item_from[i] == item_to[i] ? item_to[i] : NaN
}

eval terminal(75 + items * row_height)
eval range(least, most)
do for [i = 1:items] {
    if (!is_known(point[i])) {
        set object rectangle from item_from[i], first row(i) - half to item_to[i], \
            first row(i) + half fillcolor rgb \
            (item_pale[i] ? pale_colour(better(i), 'aa') : colour(better(i))) \
            fillstyle solid noborder behind
    }
    if (i < items) { # to the next row
        set arrow from item_to[i], first row(i) to item_to[i], first row(i) - 1 nohead lw 0.8 \
            dt 3 lc rgb 'black'
    }
    if (is_known(item_low[i]) && is_known(item_high[i])) {
        set arrow from item_low[i], first row(i) to item_high[i], first row(i) nohead lw 1.4 \
            lc rgb 'black'
    }
}
plot point using 2:(row(int($1))) with points pt 7 ps 1 lc rgb colour(0) notitle
