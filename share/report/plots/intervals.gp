# SPDX-License-Identifier: MIT
# A row each: a point with its interval, or if it is undecided only that. `chart_reference`: the
# dashed line of no difference.
load plots . '/rows.gp'

least = chart_reference
most = chart_reference
do for [i = 1:items] {
    item_value[i] = chart_scale * item_value[i]
    item_low[i] = chart_scale * item_low[i]
    item_high[i] = chart_scale * item_high[i]
    least = lesser(lesser(lesser(least, item_value[i]), item_low[i]), item_high[i])
    most = greater(greater(greater(most, item_value[i]), item_low[i]), item_high[i])
    if (item_pale[i]) { item_value[i] = NaN }
}

eval terminal(75 + items * row_height)
eval range(least, most)
if (is_known(chart_reference)) {
    set arrow from chart_reference, graph 0 to chart_reference, graph 1 nohead dt 2 lw 1 \
        lc rgb 'black'
}
do for [i = 1:items] {
    if (is_known(item_low[i]) && is_known(item_high[i])) {
        set arrow from item_low[i], first row(i) to item_high[i], first row(i) nohead \
            lw (item_pale[i] ? 5.0 : 3.0) lc rgb (item_pale[i] ? pale_colour(0, '88') : colour(0))
    }
}
plot NaN notitle, item_value using 2:(row(int($1))) with points pt 7 ps 1 lc rgb colour(0) notitle
