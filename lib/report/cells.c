// Cells and heads that several sections share.
#include <math.h>
#include <stdio.h>

#include "report/sections.h"

void cell_number(document *d, const char *format, double value) {
    char number[64] = "";
    if (isfinite(value)) snprintf(number, sizeof number, format, value);
    document_cell(d, CELL_NUMBER, "%s", number);
}

void cell_count(document *d, int64_t value) {
    if (value < 0)
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%lld", (long long)value);
}

void cell_percent(document *d, double fraction) {
    cell_number(d, "%.2f %%", 100 * fraction);
}

void cell_range(document *d, interval range) {
    if (isnan(range.low))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "[%.2f, %.2f]", 100 * range.low, 100 * range.high);
}

int seconds_digits(double seconds) {
    return seconds < 1 ? 4 : 2;
}

void cell_time(const report *r, document *d, const run *of, double seconds) {
    const char *mark = of->simulated ? say(r, MESSAGE_SIMULATED) : "";
    if (isnan(seconds) || !run_has_time(of))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%.*f%s%s", seconds_digits(seconds), seconds,
                      *mark ? " " : "", mark);
}

void head_cells(const report *r, document *d, const message *columns, size_t count) {
    for (size_t i = 0; i < count; i++) document_cell(d, CELL_TEXT, "%s", say(r, columns[i]));
}
