// SPDX-License-Identifier: MIT
#include "data/views.h"

#include <string.h>

#include "data/augment.h"

static const struct {
    const char *word, *folder;
    int count;
} kinds[VIEWS_KINDS] = {
    [VIEWS_NONE] = {"none", "evaluate", 1},
    [VIEWS_MIRROR] = {"mirror", "evaluate-mirror", 2},
    [VIEWS_MIRROR_SHIFT] = {"mirror-shift", "evaluate-mirror-shift", 6},
};

const char *views_word(test_views kind) {
    return kinds[kind].word;
}

const char *views_folder(test_views kind) {
    return kinds[kind].folder;
}

int views_count(test_views kind) {
    return kinds[kind].count;
}

bool views_find(const char *word, test_views *kind) {
    for (int k = 0; k < VIEWS_KINDS; k++) {
        *kind = (test_views)k;
        if (strcmp(word, kinds[k].word) == 0) return true;
    }
    return false;
}

double views_weight(test_views kind, int view) {
    if (kind == VIEWS_MIRROR_SHIFT) return view < 2 ? 0.25 : 0.125;
    return 1.0 / views_count(kind);
}

bool views_fit(test_views kind, shape size) {
    return kind != VIEWS_MIRROR_SHIFT || (size.height > 1 && size.width > 1);
}

// Odd views are the mirror images of those before them.
void views_make(test_views kind, int view, shape size, const uint8_t *from, uint8_t *scratch,
                uint8_t *to) {
    static const crop_choice shifts[] = {{1, 1}, {0, 0}, {2, 2}};
    const bool mirror = view % 2 == 1;
    uint8_t *shifted = mirror ? scratch : to;
    if (kind == VIEWS_MIRROR_SHIFT)
        image_crop_reflect(size, 1, shifts[view / 2], from, shifted);
    else
        memcpy(shifted, from, shape_size(size));
    if (mirror) image_flip(size, shifted, to);
}
