# SPDX-License-Identifier: MIT
# Curves over whole epochs, or over seconds. Faint ones, raw values, lie under their mean.
load plots . '/common.gp'

entries = 0
columns = 2
do for [i = 1:items] {
    if (item_label_width[i] > 0) { entries = entries + 1 }
    if (item_label_width[i] > 18) { columns = 1 }
}
height = 290 + legend_height(entries, columns)
eval terminal(height)
if (entries) { eval legend(entries, columns, height) }

set ylabel y_title offset (chart_percent ? 0 : 1),0
if (chart_percent) { set format y '%g %%' }
stats $series using 1 nooutput
last = greater(STATS_max, chart_seconds ? 0 : 1)
if (chart_seconds) {
    set xrange [0:(last > 0 ? 1.02 * last : 1)]
    set xtics 0, tick_step((last > 0 ? last : 1) / 8.0)
} else {
    set xrange [0:ceil(last)]
    set xtics 0, greater(1, tick_step(last / 8.0))
}

# The points of a curve with few of them are marked: a single one would be invisible otherwise.
is_marked(i) = !item_faint[i] && item_points[i] <= 40
plot for [i = 1:items] $series index i - 1 using 1:2 with lines lw (item_faint[i] ? 0.6 : 2) \
        lc rgb (item_faint[i] ? pale_colour(item_colour[i], '99') : colour(item_colour[i])) \
        title item_label[i], \
    for [i = 1:items] $series index i - 1 using 1:(is_marked(i) ? $2 : NaN) with points pt 7 ps 0.6 \
        lc rgb colour(item_colour[i]) notitle
