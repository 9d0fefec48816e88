// SPDX-License-Identifier: MIT
#include "pipeline/stage_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/manifest.h"

enum { WIDEST_CURVE = 16 };

static double loss_of(const yaml_node *epochs, size_t i) {
    return yaml_number_at(epochs->items[i], "loss");
}

// One block for each epoch, or for every so many of them.
static void append_curve(const yaml_node *epochs, text *to) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t width = epochs->count < WIDEST_CURVE ? epochs->count : WIDEST_CURVE;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < epochs->count; i++) {
        low = fmin(low, loss_of(epochs, i));
        high = fmax(high, loss_of(epochs, i));
    }
    for (size_t k = 0; k < width; k++) {
        const double loss = loss_of(epochs, k * (epochs->count - 1) / (width - 1));
        const double share = high > low ? (loss - low) / (high - low) : 0;
        text_append(to, blocks[isfinite(share) ? (size_t)lround(share * 7) : 0]);
    }
}

static void append_loss(const yaml_node *epochs, size_t columns, text *to) {
    const double last = loss_of(epochs, epochs->count - 1);
    text course = {0};
    if (epochs->count > 1) {
        text_format(&course, "%.3g ", loss_of(epochs, 0));
        append_curve(epochs, &course);
        text_append(&course, " ");
    }
    text_format(&course, "%.3g", last);
    text_append(to, ", loss ");
    if (text_columns(text_string(to)) + text_columns(text_string(&course)) <= columns)
        text_append(to, text_string(&course));
    else
        text_format(to, "%.3g", last);
    text_release(&course);
}

void stage_result_append(const char *folder, size_t columns, text *to) {
    yaml_node *root = NULL;
    if (manifest_read_in(&root, NULL, "%s", folder) == STATUS_OK) {
        const yaml_node *epochs = yaml_get(root, "results.epochs");
        const bool trained = epochs && epochs->kind == YAML_SEQUENCE && epochs->count;
        const double accuracy = trained
                                    ? yaml_number_at(epochs->items[epochs->count - 1], "accuracy")
                                    : yaml_number_at(root, "results.accuracy");
        if (isfinite(accuracy)) text_format(to, ", accuracy %.4f", accuracy);
        if (trained) append_loss(epochs, columns, to);
    }
    yaml_free(root);
}
