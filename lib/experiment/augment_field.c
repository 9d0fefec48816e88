// SPDX-License-Identifier: MIT
// Reads the list of augmentations: parses and checks it, and writes out defaults.
#include <string.h>

#include "base/elementary.h"
#include "base/hint.h"
#include "experiment/field_readers.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Reads one of two words; the first is the default.
static status augment_word(const yaml_node *options, const char *key, const char *const words[2],
                           bool *second, error *err) {
    const yaml_node *node = yaml_find(options, key);
    *second = false;
    if (!node) return STATUS_OK;
    if (node->kind == YAML_SCALAR && strcmp(node->text, words[0]) == 0) return STATUS_OK;
    *second = node->kind == YAML_SCALAR && strcmp(node->text, words[1]) == 0;
    return *second ? STATUS_OK
                   : yaml_error(node, err, "'%s': expected %s or %s", key, words[0], words[1]);
}

static status augment_crop(const yaml_node *options, shape image, augmentation *a, yaml_node *out,
                           error *err) {
    static const char *const keys[] = {"padding", "padding_mode"};
    static const char *const modes[] = {"constant", "reflect"};
    const yaml_node *node = yaml_find(options, "padding");
    int64_t padding;
    NEED(yaml_check_keys(options, keys, COUNT(keys), err));
    if (!node) return yaml_error(options, err, "'random_crop' needs 'padding'");
    NEED(yaml_integer(node, "padding", 0, AUGMENT_MAX_PADDING, &padding, err));
    NEED(augment_word(options, "padding_mode", modes, &a->reflect, err));
    if (a->reflect && (padding >= image.height || padding >= image.width))
        return yaml_error(node, err,
                          "'padding' is %d: to reflect, it must be below the height and the width "
                          "of the images, which are %d×%d",
                          (int)padding, image.height, image.width);
    a->padding = (int)padding;
    yaml_put(out, "padding", yaml_new_integer(padding));
    if (a->reflect) yaml_put(out, "padding_mode", yaml_new_string(modes[1]));
    return STATUS_OK;
}

static status augment_flip(const yaml_node *options, shape image, augmentation *a, yaml_node *out,
                           error *err) {
    static const char *const keys[] = {"p", "alternate"};
    const yaml_node *node = yaml_find(options, "p"), *alternate = yaml_find(options, "alternate");
    (void)image;
    a->p = 0.5;
    NEED(yaml_check_keys(options, keys, COUNT(keys), err));
    if (node) NEED(yaml_number(node, "p", &a->p, err));
    if (a->p < 0 || a->p > 1) return yaml_error(node, err, "'p' must be between 0 and 1");
    if (alternate) NEED(yaml_boolean(alternate, "alternate", &a->alternate, err));
    yaml_put(out, "p", yaml_new_number(a->p));
    if (a->alternate) yaml_put(out, "alternate", yaml_new_boolean(true));
    return STATUS_OK;
}

// Reads two numbers in [min, max], in order if `ordered`; the default if the key is absent.
static status augment_range(const yaml_node *options, const char *key, double min, double max,
                            bool ordered, const double otherwise[2], double values[2],
                            yaml_node *out, error *err) {
    const yaml_node *node = yaml_find(options, key);
    yaml_node *list = NULL;
    status rc = STATUS_OK;
    for (int i = 0; i < 2; i++) values[i] = otherwise[i];
    if (node) {
        rc = field_read_numbers(node, key, 2, 2, values, &list, err);
        yaml_free(list);
        if (rc != STATUS_OK) return rc;
    }
    for (int i = 0; i < 2; i++)
        if (values[i] < min || values[i] > max)
            return yaml_error(node, err, "'%s' must be between %g and %g", key, min, max);
    if (ordered && values[0] > values[1])
        return yaml_error(node, err, "'%s': expected [smallest, largest]", key);
    list = field_new_flow(YAML_SEQUENCE);
    for (int i = 0; i < 2; i++) yaml_append(list, yaml_new_number(values[i]));
    yaml_put(out, key, list);
    return STATUS_OK;
}

static status augment_affine(const yaml_node *options, shape image, augmentation *a, yaml_node *out,
                             error *err) {
    static const char *const keys[] = {"degrees", "translate", "scale", "interpolation"};
    static const double none[2] = {0, 0}, same[2] = {1, 1};
    const yaml_node *node = yaml_find(options, "degrees");
    const yaml_node *interpolation = yaml_find(options, "interpolation");
    const char *word = "nearest";
    (void)image;
    NEED(yaml_check_keys(options, keys, COUNT(keys), err));
    if (!node) return yaml_error(options, err, "'random_affine' needs 'degrees'");
    NEED(yaml_number(node, "degrees", &a->degrees, err));
    if (a->degrees < 0 || a->degrees > 180)
        return yaml_error(node, err, "'degrees' must be between 0 and 180");
    yaml_put(out, "degrees", yaml_new_number(a->degrees));
    NEED(augment_range(options, "translate", 0, 1, false, none, a->translate, out, err));
    NEED(augment_range(options, "scale", 0.01, 100, true, same, a->scale, out, err));
    if (interpolation) NEED(yaml_string(interpolation, "interpolation", &word, err));
    if (strcmp(word, "nearest") != 0)
        return yaml_error(interpolation, err, "'interpolation': only 'nearest' is supported");
    yaml_put(out, "interpolation", yaml_new_string(word));
    return STATUS_OK;
}

static status augment_cutout(const yaml_node *options, shape image, augmentation *a, yaml_node *out,
                             error *err) {
    static const char *const keys[] = {"size", "fill"};
    static const char *const fills[] = {"0", "mean"};
    const yaml_node *node = yaml_find(options, "size");
    const int most = image.height > image.width ? image.height : image.width;
    int64_t size;
    NEED(yaml_check_keys(options, keys, COUNT(keys), err));
    if (!node) return yaml_error(options, err, "'cutout' needs 'size'");
    NEED(yaml_integer(node, "size", 1, most, &size, err));
    NEED(augment_word(options, "fill", fills, &a->mean, err));
    a->size = (int)size;
    yaml_put(out, "size", yaml_new_integer(size));
    yaml_put(out, "fill", a->mean ? yaml_new_string("mean") : yaml_new_integer(0));
    return STATUS_OK;
}

// The logarithms are taken here, where they are needed once.
static status augment_resized_crop(const yaml_node *options, shape image, augmentation *a,
                                   yaml_node *out, error *err) {
    static const char *const keys[] = {"scale", "ratio"};
    static const double part[2] = {0.08, 1}, ratio[2] = {3.0 / 4, 4.0 / 3};
    (void)image;
    NEED(yaml_check_keys(options, keys, COUNT(keys), err));
    NEED(augment_range(options, keys[0], 1e-4, 1, true, part, a->scale, out, err));
    NEED(augment_range(options, keys[1], 0.01, 100, true, ratio, a->ratio, out, err));
    for (int i = 0; i < 2; i++) a->log_ratio[i] = elementary_log(a->ratio[i]);
    return STATUS_OK;
}

// Each range is 0 by default; without any, the entry would do nothing.
static status augment_jitter(const yaml_node *options, shape image, augmentation *a, yaml_node *out,
                             error *err) {
    static const char *const keys[COLOR_PROPERTIES] = {"brightness", "contrast", "saturation",
                                                       "hue"};
    NEED(yaml_check_keys(options, keys, COUNT(keys), err));
    if (image.channels != 1 && image.channels != 3)
        return yaml_error(options, err, "'color_jitter' needs images with 1 or 3 channels, not %d",
                          image.channels);
    if (options->count == 0)
        return yaml_error(options, err,
                          "'color_jitter' needs 'brightness', 'contrast', 'saturation' or 'hue'");
    for (int i = 0; i < COLOR_PROPERTIES; i++) {
        const yaml_node *node = yaml_find(options, keys[i]);
        const double most = i == COLOR_HUE ? 0.5 : 100;
        if (node) NEED(yaml_number(node, keys[i], &a->jitter[i], err));
        if (a->jitter[i] < 0 || a->jitter[i] > most)
            return yaml_error(node, err, "'%s' must be between 0 and %g", keys[i], most);
        yaml_put(out, keys[i], yaml_new_number(a->jitter[i]));
    }
    return STATUS_OK;
}

// Indexed by augment_kind.
static const struct {
    const char *word;
    status (*read)(const yaml_node *options, shape image, augmentation *a, yaml_node *out,
                   error *err);
} augmentations[] = {
    [AUGMENT_RANDOM_CROP] = {"random_crop", augment_crop},
    [AUGMENT_HORIZONTAL_FLIP] = {"horizontal_flip", augment_flip},
    [AUGMENT_RANDOM_AFFINE] = {"random_affine", augment_affine},
    [AUGMENT_CUTOUT] = {"cutout", augment_cutout},
    [AUGMENT_RESIZED_CROP] = {"random_resized_crop", augment_resized_crop},
    [AUGMENT_COLOR_JITTER] = {"color_jitter", augment_jitter},
};

static status unknown_augmentation(const yaml_node *item, const char *word, error *err) {
    const char *words[COUNT(augmentations)];
    char hint[HINT_BYTES];
    for (size_t i = 0; i < COUNT(augmentations); i++) words[i] = augmentations[i].word;
    hint_about(word, words, COUNT(words), HINT_FUNCTIONS, hint);
    hint_list("the augmentations are", words, COUNT(words), hint);
    return yaml_error(item, err, "unknown augmentation '%.60s'%s", word, hint);
}

// Reads an item, `horizontal_flip` or {horizontal_flip: {p: 0.5}}, and appends it to `list`, with
// defaults written out.
static status read_augmentation(const yaml_node *item, shape image, augmentation *a,
                                yaml_node *list, error *err) {
    yaml_node none = *item; // for the place in messages
    none.kind = YAML_MAPPING;
    none.count = 0;
    const yaml_node *options = &none;
    const char *word;
    status rc = STATUS_OK;
    if (item->kind == YAML_MAPPING && item->count == 1) {
        word = item->keys[0];
        options = item->items[0];
    } else {
        TRY(yaml_string(item, "augment", &word, err));
    }
    size_t k = 0;
    while (k < COUNT(augmentations) && strcmp(word, augmentations[k].word) != 0) k++;
    if (k == COUNT(augmentations)) return unknown_augmentation(item, word, err);
    a->kind = (augment_kind)k;
    yaml_node *entry = field_new_flow(YAML_MAPPING), *out = field_new_flow(YAML_MAPPING);
    yaml_put(entry, word, out);
    rc = augmentations[k].read(options, image, a, out, err);
    if (rc == STATUS_OK) {
        yaml_append(list, entry);
        return STATUS_OK;
    }
    yaml_free(entry);
out:
    return rc;
}

status field_read_augment(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    *resolved = yaml_new(YAML_SEQUENCE);
    if (!node) return STATUS_OK;
    status rc = field_need_list(node, "augment", r->err);
    if (rc == STATUS_OK && node->count > AUGMENT_MAX)
        return yaml_error(node, r->err, "'augment': more than %d entries", AUGMENT_MAX);
    augment_list *list = &r->e->augment;
    bool resampled = false;
    for (size_t i = 0; rc == STATUS_OK && i < node->count; i++) {
        augmentation *a = &list->items[list->count++];
        rc = read_augmentation(node->items[i], r->e->model.program.input, a, *resolved, r->err);
        if (rc != STATUS_OK || a->kind != AUGMENT_RESIZED_CROP) continue;
        if (resampled)
            rc = yaml_error(node->items[i], r->err, "'random_resized_crop' is there twice");
        resampled = true;
    }
    return rc;
}
