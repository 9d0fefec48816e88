// Cells and heads that several sections share.
#include <math.h>
#include <stdio.h>

#include "report/sections.h"
#include "results/machine_use.h"

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

void cell_count(document *d, int64_t value) {
    if (value < 0)
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%lld", (long long)value);
}

void cell_appended(document *d, cell_style style, text *out) {
    document_cell(d, style, "%s", text_string(out));
    text_release(out);
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

static double mean_time_to(const group *g, double target) {
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) sum += run_time_to(g->runs[i], target);
    return sum / (double)g->count;
}

void cell_target(const results *r, document *d, const group *g) {
    const double target = run_target(g->runs[0]), seconds = mean_time_to(g, target);
    size_t reached = 0;
    char time[TIME_TEXT], mark[TIME_TEXT] = "";
    if (g->runs[0]->simulated) snprintf(mark, sizeof mark, " %s", say(r, "SIMULATED"));
    for (size_t i = 0; i < g->count; i++) reached += run_reaches(g->runs[i], target);
    snprintf(time, sizeof time, "%.*f", seconds_digits(seconds), seconds);
    if (!(target > 0))
        document_cell(d, CELL_TEXT, "%s", "");
    else if (!reached)
        document_cell(d, CELL_TEXT, say(r, "%.3g %% not reached"), 100 * target);
    else if (reached < g->count)
        document_cell(d, CELL_TEXT, say(r, "%.3g %% reached by %zu of %zu runs"), 100 * target,
                      reached, g->count);
    else if (isnan(seconds))
        document_cell(d, CELL_TEXT, say(r, "%.3g %% reached"), 100 * target);
    else
        document_cell(d, CELL_TEXT, say(r, "%s s to %.3g %%%s"), time, 100 * target, mark);
}

bool any_target(const results *r) {
    for (size_t i = 0; i < r->list.count; i++)
        if (run_target(&r->list.runs[i]) > 0) return true;
    return false;
}

int seconds_digits(double seconds) {
    return seconds < 1 ? 4 : 2;
}

void cell_time(const results *r, document *d, const run *of, double seconds) {
    const char *mark = of->simulated ? say(r, "SIMULATED") : "";
    const char *busy = machine_busy_executions(of) ? say(r, "BUSY") : "";
    if (isnan(seconds) || !run_has_time(of))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%.*f%s%s%s%s", seconds_digits(seconds), seconds,
                      *mark ? " " : "", mark, *busy ? " " : "", busy);
}

const char *label_run(const results *r, const run *one, char buffer[LABEL_TEXT]) {
    snprintf(buffer, LABEL_TEXT, "%s%s%s", one->name, one->simulated ? " " : "",
             one->simulated ? say(r, "SIMULATED") : "");
    return buffer;
}

void head_cells(const results *r, document *d, const wording *columns, size_t count) {
    for (size_t i = 0; i < count; i++) document_cell(d, CELL_TEXT, "%s", say(r, columns[i]));
}
