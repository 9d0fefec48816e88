// SPDX-License-Identifier: MIT
#include "data/tta.h"

#include <string.h>

#include "data/augment.h"

static const struct {
    const char *word, *folder;
    int count;
} kinds[TTA_KINDS] = {
    [TTA_NONE] = {"none", "evaluate", 1},
    [TTA_MIRROR] = {"mirror", "evaluate-mirror", 2},
    [TTA_MIRROR_SHIFT] = {"mirror-shift", "evaluate-mirror-shift", 6},
};

const char *tta_word(tta_kind kind) {
    return kinds[kind].word;
}

const char *tta_folder(tta_kind kind) {
    return kinds[kind].folder;
}

int tta_count(tta_kind kind) {
    return kinds[kind].count;
}

bool tta_find(const char *word, tta_kind *kind) {
    for (int k = 0; k < TTA_KINDS; k++) {
        *kind = (tta_kind)k;
        if (strcmp(word, kinds[k].word) == 0) return true;
    }
    return false;
}

double tta_weight(tta_kind kind, int view) {
    if (kind == TTA_MIRROR_SHIFT) return view < 2 ? 0.25 : 0.125;
    return 1.0 / tta_count(kind);
}

bool tta_fits(tta_kind kind, shape size) {
    return kind != TTA_MIRROR_SHIFT || (size.height > 1 && size.width > 1);
}

// Odd views are the mirror images of those before them.
void tta_make(tta_kind kind, int view, shape size, const uint8_t *from, uint8_t *scratch,
              uint8_t *to) {
    static const crop_choice shifts[] = {{1, 1}, {0, 0}, {2, 2}};
    const bool mirror = view % 2 == 1;
    uint8_t *shifted = mirror ? scratch : to;
    if (kind == TTA_MIRROR_SHIFT)
        image_crop_reflect(size, 1, shifts[view / 2], from, shifted);
    else
        memcpy(shifted, from, shape_size(size));
    if (mirror) image_flip(size, shifted, to);
}
