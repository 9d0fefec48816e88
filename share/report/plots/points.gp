# SPDX-License-Identifier: MIT
# Points with intervals in both directions, each with its name; or joined by a line.
load plots . '/common.gp'

least_x = NaN
most_x = NaN
least_y = NaN
most_y = NaN
do for [i = 1:items] {
    least_x = lesser(lesser(lesser(least_x, item_x_value[i]), item_x_low[i]), item_x_high[i])
    most_x = greater(greater(greater(most_x, item_x_value[i]), item_x_low[i]), item_x_high[i])
    least_y = lesser(lesser(lesser(least_y, item_y_value[i]), item_y_low[i]), item_y_high[i])
    most_y = greater(greater(greater(most_y, item_y_value[i]), item_y_low[i]), item_y_high[i])
}
# What the drawing shows: all of that, with room for names.
wide = most_x - least_x
high = most_y > least_y ? most_y - least_y : 1.0
left = chart_log ? least_x / 1.5 : chart_joined ? least_x - wide / 20 : 0.0
right = chart_log ? most_x * 1.5 : wide > 0 ? most_x + wide / 20 : 1.05 * most_x
bottom = least_y - high / 20
top = most_y + high / 8

eval terminal(290)
unset key
if (strlen(chart_key)) { set xlabel chart_key offset 0,0.4 } # of an experiment
set ylabel y_title
set yrange [bottom:top]
set ytics tick_step((top - bottom) / 6)
if (chart_percent) { set format y '%g %%' }
if (chart_log) {
    set logscale x
} else {
    set xtics tick_step((right - left) / 6)
}
set xrange [left:right]

# Each point has a colour of its own, unless a line joins them.
own(i) = chart_joined ? 0 : i - 1
do for [i = 1:items] {
    shade = item_pale[i] ? pale_colour(own(i), '88') : colour(own(i))
    thick = item_pale[i] ? 3.0 : 1.6
    if (is_known(item_x_low[i]) && is_known(item_x_high[i])) {
        set arrow from item_x_low[i], first item_y_value[i] to item_x_high[i], \
            first item_y_value[i] nohead lw thick lc rgb shade
    }
    if (is_known(item_y_low[i]) && is_known(item_y_high[i])) {
        set arrow from item_x_value[i], first item_y_low[i] to item_x_value[i], \
            first item_y_high[i] nohead lw thick lc rgb shade
    }
}

# A name is beside its point: to the right of it, or to the left of one in the right half. It moves
# down and up, one line further each time, until it meets none of those before it. In characters of
# a drawing on a narrow page:
LETTERS = 44
LINES = 14
GAP = 0.7
array name_left[items]
array name_line[items]
place(x) = chart_log ? log(x / left) / log(right / left) : (x - left) / (right - left)
meet(i, k) = name_left[i] < name_left[k] + item_label_width[k] \
    && name_left[k] < name_left[i] + item_label_width[i] && abs(name_line[i] - name_line[k]) < 1.1
do for [i = 1:items] {
    before = place(item_x_value[i]) > 0.5
    name_left[i] = LETTERS * place(item_x_value[i]) + (before ? -GAP - item_label_width[i] : GAP)
    line = LINES * (item_y_value[i] - bottom) / (top - bottom)
    moved = 0.0
    do for [try = 1:20] {
        name_line[i] = line + moved
        free = 1
        do for [k = 1:i - 1] {
            if (meet(i, k)) { free = 0 }
        }
        if (free) { break }
        moved = (try % 2 ? -1.2 : 1.2) * ((try + 1) / 2)
    }
    if (before) {
        set label item_label[i] at item_x_value[i], first item_y_value[i] right \
            offset -GAP,0.6 + moved front
    } else {
        set label item_label[i] at item_x_value[i], first item_y_value[i] left \
            offset GAP,0.6 + moved front
    }
}

plot NaN notitle, \
    item_x_value using (chart_joined ? $2 : NaN):(item_y_value[int($1)]) with lines lw 2 \
        lc rgb colour(0) notitle, \
    for [i = 1:items] item_x_value every ::i - 1::i - 1 \
        using (item_pale[i] ? NaN : $2):(item_y_value[i]) with points pt 7 ps 1 \
        lc rgb colour(own(i)) notitle
