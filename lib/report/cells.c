// SPDX-License-Identifier: MIT
// Cells and heads shared by several sections.
#include <math.h>
#include <stdio.h>

#include "report/sections.h"

const char *say_count(const results *r, double n, const char *one, const char *many,
                      char buffer[COUNT_TEXT]) {
    snprintf(buffer, COUNT_TEXT, say(r, n == 1 ? one : many), n);
    return buffer;
}

void cell_number(document *d, const char *format, double value) {
    char number[64] = "";
    if (isfinite(value)) snprintf(number, sizeof number, format, value);
    document_cell(d, CELL_NUMBER, "%s", number);
}

void cell_appended(document *d, cell_style style, text *out) {
    document_cell(d, style, "%s", text_string(out));
    text_release(out);
}

int seconds_digits(double seconds) {
    return seconds < 0.99995 ? 4 : 2; // a value that rounds to 1 is shown as 1.00
}

void head_cells(const results *r, document *d, const wording *columns, size_t count) {
    for (size_t i = 0; i < count; i++) document_cell(d, CELL_TEXT, "%s", say(r, columns[i]));
}

// ---- Figures ----

void cell_shows(document *d, size_t back, const figure *f) {
    if (f) document_cell_id(d, back, f->id);
}

// Formats a value in the style of its metric, without the sign; "" if it is unknown.
static void write_number(char number[TIME_TEXT], double value, const metric_style *style) {
    const double shown = value * style->scale;
    *number = 0;
    if (isfinite(shown) && style->format)
        snprintf(number, TIME_TEXT, style->format, shown);
    else if (isfinite(shown))
        snprintf(number, TIME_TEXT, "%.*f", seconds_digits(shown), shown);
}

static void show(document *d, const figure *f, const metric_style *style, bool mark) {
    char number[TIME_TEXT];
    const bool marked = mark && f && f->simulated;
    write_number(number, f ? f->value : NAN, style);
    if (*number)
        document_cell(d, CELL_NUMBER, "%s%s%s", number, style->sign, marked ? SIMULATED_MARK : "");
    else
        document_cell(d, CELL_NUMBER, "%s", "");
    cell_shows(d, 0, f);
}

void cell_figure(const results *r, document *d, const char *owner, const char *metric) {
    const metric_style *style = &joint_metrics_find(metric)->style;
    show(d, results_figure(r, owner, metric), style, !style->format);
}

void cell_group(const results *r, document *d, const seed_group *g, const char *metric) {
    show(d, results_group_figure(r, g, metric), &joint_metrics_find(metric)->style, true);
}

void cell_figure_range(const results *r, document *d, const char *owner, const char *metric) {
    const figure *f = results_figure(r, owner, metric);
    const metric_style *style = &joint_metrics_find(metric)->style;
    char low[TIME_TEXT] = "", high[TIME_TEXT];
    if (f) write_number(low, f->low, style);
    if (f) write_number(high, f->high, style);
    if (*low)
        document_cell(d, CELL_NUMBER, "[%s, %s]", low, high);
    else
        document_cell(d, CELL_NUMBER, "%s", "");
    cell_shows(d, 0, f);
}
