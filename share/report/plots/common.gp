# SPDX-License-Identifier: MIT
# What all drawings share. A kind of chart is a script here: lib/report/plot.h says how a chart
# becomes variables for it. Each script ends with one plot command.

# Of medium lightness, to be readable on white and on near-black.
colours = '3b82c4 d9762b 2f9e6e b05fb4 c9504a a5823a 1c9cb0 9aa3ab'
colour(i) = '#' . word(colours, int(i) % 8 + 1)
# Pale: `alpha` is two hexadecimal digits; "ff" is invisible.
pale_colour(i, alpha) = '#' . alpha . word(colours, int(i) % 8 + 1)
GREY = '#999999'

is_known(v) = v == v # not NaN
lesser(a, b) = !is_known(a) || b < a ? b : a
greater(a, b) = !is_known(a) || b > a ? b : a

# 1, 2 or 5 times a power of ten, at least `rough` but for rounding: a distance between ticks.
unit(rough) = 10.0 ** floor(log10(rough))
factor(units) = units < 1.000001 ? 1 : units < 2.000001 ? 2 : units < 5.000001 ? 5 : 10
tick_step(rough) = factor(rough / unit(rough)) * unit(rough)

# eval terminal(HEIGHT): the drawing begins; in pixels.
terminal(height) = sprintf("set terminal svg size %d,%d dynamic noenhanced font 'sans,13' linewidth 1", \
    width, height)

# A legend above the drawing, centred on its whole width: gnuplot would centre it over the axes and
# let long entries run out of the picture.
legend_height(entries, columns) = int(ceil(1.0 * entries / columns)) * 20
legend(entries, columns, height) = sprintf("set key at screen 0.5, screen 0.99 center top \
    horizontal Left reverse samplen 1.2 maxcols %d; set tmargin at screen %.4f", \
    columns, 1 - (legend_height(entries, columns) + 6.0) / height)

set encoding utf8
set border 3 lw 0.6
set tics nomirror out scale 0.5
set grid ytics lt 1 lw 0.4 lc rgb GREY
set xlabel x_title offset 0,0.4
