# SPDX-License-Identifier: MIT
# What the drawings with a row an item share, the first at the top: `row(i)`, and the room for it.
load plots . '/common.gp'

row(i) = items + 1 - i

# Names are at the left of the rows, or above them if one is so long that it would leave no room.
names_above = 0
do for [i = 1:items] {
    if (item_label_width[i] > 22) { names_above = 1 }
}
row_height = names_above ? 44 : 34 # pixels
half = names_above ? 0.2 : 0.33    # a bar's height, of a row

# The name of a tick is a format of its number: "%" begins one, and "%%" is that character.
literal(name) = strstrt(name, '%') \
    ? name[1:strstrt(name, '%')] . '%' . literal(name[strstrt(name, '%') + 1:*]) : name

set yrange [0.4:items + 0.6]
if (names_above) {
    set lmargin at screen 0.03
    set rmargin at screen 0.96
    unset ytics
    do for [i = 1:items] {
        set label item_label[i] at graph 0, first row(i) + 0.41 left front
    }
} else {
    set ytics (literal(item_label[1]) row(1)) scale 0
    do for [i = 2:items] {
        set ytics add (literal(item_label[i]) row(i))
    }
}
unset key
unset grid
set grid xtics lt 1 lw 0.4 lc rgb GREY
set border 1
set style fill solid 1 noborder

# eval range(LOW, HIGH): the x axis shows these, with about four ticks, to leave room for their
# numbers.
span(low, high) = high > low ? high - low : abs(high) > 1 ? abs(high) : 1
margin(low, high) = (high > low ? high - low : tick_step(span(low, high) / 4.0)) / 20.0
range(low, high) = sprintf("set xrange [%.9g:%.9g]; set xtics %.9g", low - margin(low, high), \
    high + margin(low, high), tick_step(span(low, high) / 4.0))
