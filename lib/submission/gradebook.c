// SPDX-License-Identifier: MIT
// The table of `make grade` as a gradebook takes it.
#include <math.h>

#include "base/output.h"
#include "base/text.h"
#include "submission/grading.h"

static void append_field(text *out, const char *string) {
    text_append(out, ",");
    text_csv(out, string ? string : "");
}

static void append_row(text *out, const grading *g, size_t row) {
    static const verification none;
    const verification *v = row < g->count ? &g->items[row] : &none;
    const double points = grading_points(g, row);
    text found = {0};
    grading_append_found(g, row, &found);
    text_csv(out, g->names.items[row]);
    append_field(out, v->author);
    append_field(out, v->student);
    append_field(out, grading_verdict(g, row));
    text_append(out, ",");
    if (v->accuracies && !v->recorded) text_format(out, "%.4f", v->highest);
    append_field(out, text_string(&found));
    if (g->rubric) text_append(out, ",");
    if (!isnan(points)) text_format(out, "%.6g", points);
    text_append(out, "\n");
    text_release(&found);
}

status grading_write_csv(const grading *g, const char *path, error *err) {
    text out = {0};
    text_format(&out, "student,author,number,verdict,accuracy,findings%s\n",
                g->rubric ? ",points" : "");
    for (size_t i = 0; i < grading_rows(g); i++) append_row(&out, g, i);
    const status rc = output_write_file(path, out.data, out.length, err);
    text_release(&out);
    return rc;
}
