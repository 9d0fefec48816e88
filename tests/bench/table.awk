# SPDX-License-Identifier: MIT
# Prints bench.csv as a table for a terminal, line by line.

function show(format, x) { return x == "" ? "-" : sprintf(format, x) }

BEGIN { FS = ","; line = "%-19s %9s %9s %7s %-10s %-4s %6s %6s %8s %6s %6s %8s %5s  %s\n" }

$1 == "name" {
    printf line, "row", "ours", "against", "ratio", "target", "met", "sgemm", "peak", "limit", "of it", "MiB", "against", "line", "note"
    next
}
{
    figure = $2 == "s" ? "%.3f" : "%.2f"
    printf line, $1, show(figure, $3), show(figure, $6), show("%.2f", $9), $10, $11 == "" ? "-" : $11, show("%.0f", $12),
        show("%.0f", $13), show("%.3f", $15), show("%.0f %%", $16), show("%d", $17), show("%d", $18), show("%.0f", $19),
        ($21 == "measured" ? "" : $21 ": ") $22
    fflush()
}
