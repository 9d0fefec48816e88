# SPDX-License-Identifier: MIT
# Summarises bench.csv: a line on the targets, and a line with the rows that failed.

function join(list, name) { return list (list == "" ? "" : ", ") name }

BEGIN { FS = "," }

NR > 1 {
    if ($21 == "failed") failed = join(failed, $1)
    if ($10 == "") next
    if ($11 == "yes") met++
    else if ($11 == "no") missed = join(missed, $1)
    else open = join(open, $1)
}
END {
    printf "targets: %d met; missed: %s; not measured: %s\n", met, missed == "" ? "none" : missed, open == "" ? "none" : open
    if (failed != "") print "failed: " failed
}
