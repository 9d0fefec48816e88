// SPDX-License-Identifier: MIT
#include "data/images/split.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sha256.h"

typedef struct ticket {
    uint32_t label;
    char hash[SHA256_TEXT_BYTES];
    size_t sample;
} ticket;

static int by_class_and_hash(const void *a, const void *b) {
    const ticket *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    return strcmp(x->hash, y->hash);
}

static void draw(ticket *t, const char *class_name, const char *key, uint64_t seed) {
    char *text = memory_format("%" PRIu64 "/%s/%s", seed, class_name, key);
    sha256_buffer(text, strlen(text), t->hash);
    free(text);
}

static size_t test_count(size_t count, double fraction) {
    const size_t wanted = (size_t)floor((double)count * fraction + 0.5);
    return wanted < 1 ? 1 : wanted > count - 1 ? count - 1 : wanted;
}

static status choose_of_class(const ticket *tickets, size_t count, const char *name,
                              double fraction, bool *test, error *err) {
    if (count < 2)
        return error_set(err, STATUS_INPUT,
                         "cannot split class '%s': it has %zu image, but needs one for training "
                         "and one for testing",
                         name, count);
    for (size_t i = 0; i < count; i++) test[tickets[i].sample] = i < test_count(count, fraction);
    return STATUS_OK;
}

status split_choose(const uint32_t *labels, const char *const *keys, size_t count,
                    const char *const *class_names, double fraction, uint64_t seed, bool *test,
                    error *err) {
    ticket *tickets = memory_new(count, sizeof *tickets);
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        tickets[i].label = labels[i];
        tickets[i].sample = i;
        draw(&tickets[i], class_names[labels[i]], keys[i], seed);
    }
    qsort(tickets, count, sizeof *tickets, by_class_and_hash);
    for (size_t first = 0, end; rc == STATUS_OK && first < count; first = end) {
        for (end = first; end < count && tickets[end].label == tickets[first].label;) end++;
        rc = choose_of_class(tickets + first, end - first, class_names[tickets[first].label],
                             fraction, test, err);
    }
    free(tickets);
    return rc;
}
