// SPDX-License-Identifier: MIT
// report.csv: one figure per line.
#include <math.h>

#include "base/text.h"
#include "results/figures.h"

static void write_number(text *out, double value) {
    if (isfinite(value)) text_format(out, "%.9g", value);
}

void figures_to_csv(const figure_list *list, text *out) {
    text_append(out, "id,owner,metric,value,low,high,unit,note,source,model\n");
    for (size_t i = 0; i < list->count; i++) {
        const figure *f = &list->items[i];
        const char *head[] = {f->id, f->owner, f->metric};
        for (int k = 0; k < 3; k++) {
            text_csv(out, head[k]);
            text_append(out, ",");
        }
        write_number(out, f->value);
        text_append(out, ",");
        write_number(out, f->low);
        text_append(out, ",");
        write_number(out, f->high);
        const char *tail[] = {f->row->unit, f->note, f->source,
                              f->run ? f->run->model_content : ""};
        for (int k = 0; k < 4; k++) {
            text_append(out, ",");
            text_csv(out, tail[k]);
        }
        text_append(out, "\n");
    }
}
