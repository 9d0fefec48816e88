# SPDX-License-Identifier: MIT
# Prints rows of bench.csv as a Markdown table.
#
#     awk -f markdown.awk -v kind=KIND rows bench.csv
#
# KIND: pytorch, rows against PyTorch; own, against Lockstep itself; limits, values without a comparison; convolutions, a
# line for the three passes of each kind.

function show(format, x) { return x == "" ? "" : sprintf(format, x) }

# Returns a target as printed, and whether it was met.
function judged(target, met) {
    sub(/^>=/, "≥", target)
    sub(/^<=/, "≤", target)
    return target (met == "yes" ? ", met" : met == "no" ? ", **missed**" : target == "" ? "" : ", not measured")
}

function trim(text) {
    gsub(/^ +| +$/, "", text)
    return text
}

# Returns a row's title, with the reason if it was not measured.
function titled(name) { return title[name] ($21 == "measured" ? "" : " (" $21 ": " $22 ")") }

BEGIN {
    if (kind == "pytorch") {
        print "| work | Lockstep, s/epoch | PyTorch, s/epoch | ratio | target | GFLOP/s | sgemm | multiply-add peak | limit, s/epoch | of the limit | executed, of the peak | memory, MiB | PyTorch's | cache line, ns | what was best for PyTorch |"
        print "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    } else if (kind == "own") {
        print "| work | s/epoch | against, s/epoch | ratio | target | cache line, ns |"
        print "|---|---|---|---|---|---|"
    } else if (kind == "convolutions") {
        print "| convolution | forward, GFLOP/s | of the peak | weights | of the peak | input | of the peak | multiply-add peak |"
        print "|---|---|---|---|---|---|---|---|"
    } else {
        print "| what | measured | lowest to highest | target |"
        print "|---|---|---|---|"
    }
}

NR == FNR {
    FS = "," # from the next line on
    if ($0 ~ /^#/ || split($0, part, "|") < 5) next
    name = trim(part[1])
    title[name] = trim(part[2])
    against = trim(part[5])
    kinds[name] = part[4] ~ /^ *convolution / ? "convolutions" : against == "" ? "limits" : against ~ /^torch/ ? "pytorch" : "own"
    next
}
FNR == 1 { next }
kinds[$1] != kind { next }
kind == "pytorch" {
    note = $22
    sub(/^.*PyTorch: /, "", note)
    printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", titled($1), show("%.3f", $3), show("%.3f", $6),
        show("%.2f", $9), judged($10, $11), show("%.1f", $14), show("%.1f", $12), show("%.1f", $13), show("%.3f", $15),
        show("%.0f %%", $16), show("%.0f %%", $23), $17, $18, show("%.0f", $19), $21 == "measured" ? note : ""
}
kind == "own" {
    printf "| %s | %s | %s | %s | %s | %s |\n", titled($1), show("%.3f", $3), show("%.3f", $6), show("%.2f", $9), judged($10, $11), show("%.0f", $19)
}
kind == "convolutions" {
    line = line sprintf(" %s | %s |", show("%.1f", $14), show("%.0f %%", $23))
    if ($1 !~ /-input$/) next
    printf "| %s |%s %s |\n", titled($1), line, show("%.1f", $13)
    line = ""
}
kind == "limits" {
    format = $2 == "s" ? "%.3f" : "%.1f"
    printf "| %s | %s | %s | %s |\n", titled($1), $3 == "" ? "" : show(format, $3) " " $2, $3 == "" ? "" : show(format, $4) " to " show(format, $5), judged($10, $11)
}
