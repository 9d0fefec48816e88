# SPDX-License-Identifier: MIT
# A bar each of parts behind each other; those of simulated times are hatched.
load plots . '/rows.gp'

bar(i) = items - int(i) # the row of a line of $values, from 0
begin(part) = part > 1 ? (sum [k = 1:part - 1] column(k)) : 0
whole(i) = item_simulated[int(i) + 1] ? (sum [k = 1:parts] column(k)) : NaN

columns = 3
longest = 0
do for [k = 1:parts] {
    if (part_label_width[k] > 11) { columns = 2 }
}
do for [i = 1:items] {
    length = 0
    do for [k = 1:parts] { length = length + word($values[i], k) }
    longest = greater(longest, length)
}

height = 80 + legend_height(parts, columns) + items * row_height
eval terminal(height)
eval legend(parts, columns, height)
step = tick_step((longest > 0 ? longest : 1) / 5.0)
set xrange [0:step * greater(1, ceil(longest / step - 1e-6))]
set xtics step
plot for [k = 1:parts] $values using (begin(k)):(bar($0)):(begin(k)):(begin(k) + column(k)) \
        :(bar($0) - half):(bar($0) + half) with boxxyerror lw 0 lc rgb colour(part_colour[k]) \
        title part_label[k], \
    $values using (whole($0)):(bar($0)):(0):(whole($0)):(bar($0) - half):(bar($0) + half) \
        with boxxyerror lw 0 lc rgb hatch notitle
