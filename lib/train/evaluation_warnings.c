// SPDX-License-Identifier: MIT
#include "train/evaluation_warnings.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/printable.h"
#include "data/base_rate.h"
#include "data/labels.h"

// The predictions of a model by class.
typedef struct answers {
    yaml_node *names; // NULL: none
    int64_t *images;  // of each class
    int64_t *said;    // how often each was predicted
    int classes;
} answers;

static answers answers_of(const evaluation *v, const char *classes) {
    const size_t n = (size_t)v->classes;
    answers a = {.names = labels_names(classes, v->classes),
                 .images = memory_new(n, sizeof *a.images),
                 .said = memory_new(n, sizeof *a.said),
                 .classes = v->classes};
    for (size_t k = 0; k < n * n; k++) {
        a.images[k / n] += (int64_t)v->confusion[k];
        a.said[k % n] += (int64_t)v->confusion[k];
    }
    return a;
}

static void answers_release(answers *a) {
    yaml_free(a->names);
    free(a->images);
    free(a->said);
}

// Free() it.
static char *class_name(const answers *a, int label) {
    char *name =
        a->names ? memory_string(a->names->items[label]->text) : memory_format("%d", label);
    (void)printable(name, true);
    return name;
}

// Says which classes of the images the model never predicts.
static void warn_of_unused(const answers *a, const logger *log) {
    int unused = 0, first = 0, used = 0, last = 0;
    for (int k = 0; k < a->classes; k++) {
        if (a->said[k]) used++, last = k;
        if (!a->said[k] && a->images[k] && !unused++) first = k;
    }
    if (!unused) return;
    char *name = class_name(a, used == 1 ? last : first);
    if (used == 1)
        log_warn(log, "the model answers '%s' for every image", name);
    else if (unused == 1)
        log_warn(log, "the model never answers '%s'", name);
    else
        log_warn(log, "the model never answers %d of %d classes: the first is '%s'", unused,
                 a->classes, name);
    free(name);
}

void evaluation_warn(const evaluation *e, const char *classes, const logger *log) {
    answers a = answers_of(e, classes);
    const base_rate b = base_rate_find(a.images, a.classes);
    if (b.of && !base_rate_is_beaten(&b, (int64_t)e->right)) {
        char *name = class_name(&a, b.label);
        log_warn(log,
                 "always answering '%s' gives %.4f (%lld of %lld images): this accuracy is not "
                 "certainly higher",
                 name, base_rate_share(&b), (long long)b.samples, (long long)b.of);
        free(name);
    }
    warn_of_unused(&a, log);
    answers_release(&a);
}
