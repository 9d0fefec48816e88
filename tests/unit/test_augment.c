// SPDX-License-Identifier: MIT
// Augmentation: pixels against torchvision's and numpy's (tests/golden/augment.safetensors), the
// choices for a sample, the order of a list, and single pixels, as devices compute them, against
// whole images.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "data/augment.h"
#include "data/color_jitter.h"
#include "data/tensor/tensor_file.h"

static const char PATH[] = "tests/golden/augment.safetensors";
enum { IMAGE = 3 * 32 * 32 };

// ---- Pixels ----

// The value of a key in a case such as "affine image=odd angle=30.0 right=1 ...".
static double parameter(const char *description, const char *key) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(description, wanted);
    if (!at) fail_msg("no %s in '%s'", key, description);
    return strtod(at + strlen(wanted), NULL);
}

static const tensor *image_of(const tensor_file *f, const char *description) {
    char name[32];
    assert_int_equal(sscanf(strstr(description, " image="), " image=%31s", name), 1);
    const tensor *t = tensor_file_find(f, name);
    assert_non_null(t);
    return t;
}

static affine_choice affine_of(const char *description) {
    return (affine_choice){parameter(description, "angle"), (int)parameter(description, "right"),
                           (int)parameter(description, "down"), parameter(description, "scale")};
}

// "order=31 saturation=1.5 brightness=0.7": the properties, counted from 1, in their order.
static color_jitter_choice jitter_of(const char *description) {
    static const char *const names[COLOR_PROPERTIES] = {"brightness", "contrast", "saturation",
                                                        "hue"};
    color_jitter_choice c = {.count = 0};
    for (const char *p = strstr(description, " order=") + 7; *p >= '1' && *p <= '4'; p++)
        c.changes[c.count++] =
            (color_change){(color_property)(*p - '1'), parameter(description, names[*p - '1'])};
    return c;
}

// A large image, of a formula; the file has the box of the result that is not black.
static void check_far(const tensor *box, const char *name, const char *description) {
    const int height = (int)parameter(description, "height"),
              width = (int)parameter(description, "width"),
              top = (int)parameter(description, "top"), left = (int)parameter(description, "left");
    const size_t pixels = (size_t)height * (size_t)width;
    uint8_t *from = malloc(pixels), *got = malloc(pixels);
    const uint8_t *expected = box->data;
    int wrong = 0;
    assert_true(from && got);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) from[y * width + x] = (uint8_t)(1 + (31 * y + 7 * x) % 255);
    image_affine((shape){1, height, width}, affine_of(description), from, got);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int row = y - top, column = x - left;
            const bool inside =
                row >= 0 && row < (int)box->shape[1] && column >= 0 && column < (int)box->shape[2];
            wrong +=
                got[y * width + x] != (inside ? expected[row * (int)box->shape[2] + column] : 0);
        }
    free(from), free(got);
    if (wrong) fail_msg("%s: %d pixels differ: %s", name, wrong, description);
}

static void check_case(const tensor_file *f, const char *name, const char *description) {
    if (!strncmp(description, "far ", 4)) {
        check_far(tensor_file_find(f, name), name, description);
        return;
    }
    const tensor *from = image_of(f, description), *expected = tensor_file_find(f, name);
    const shape size = {(int)from->shape[0], (int)from->shape[1], (int)from->shape[2]};
    uint8_t got[IMAGE];
    assert_non_null(expected);
    assert_int_equal(expected->bytes, shape_size(size));
    memset(got, 0xee, sizeof got);
    if (!strncmp(description, "crop ", 5) || !strncmp(description, "reflect ", 8)) {
        const crop_choice c = {(int)parameter(description, "top"),
                               (int)parameter(description, "left")};
        (*description == 'c' ? image_crop : image_crop_reflect)(
            size, (int)parameter(description, "padding"), c, from->data, got);
    } else if (!strncmp(description, "cutout ", 7)) {
        const int side = (int)parameter(description, "size");
        const cutout_choice c = {(int)parameter(description, "row") - side / 2,
                                 (int)parameter(description, "column") - side / 2};
        uint8_t fill[3] = {(uint8_t)parameter(description, "fill")};
        if (fill[0]) fill[1] = (uint8_t)(fill[0] + 1), fill[2] = (uint8_t)(fill[0] + 2);
        image_cutout(size, side, c, fill, from->data, got);
    } else if (!strncmp(description, "resized ", 8)) {
        const resized_crop_choice c = {
            (int)parameter(description, "top"), (int)parameter(description, "left"),
            (int)parameter(description, "height"), (int)parameter(description, "width")};
        image_resized_crop(size, c, from->data, got);
    } else if (!strncmp(description, "jitter ", 7)) {
        const color_jitter_choice c = jitter_of(description);
        image_color_jitter(size, &c, from->data, got);
    } else if (!strncmp(description, "flip ", 5)) {
        image_flip(size, from->data, got);
    } else {
        image_affine(size, affine_of(description), from->data, got);
    }
    if (memcmp(got, expected->data, expected->bytes)) fail_msg("%s: %s", name, description);
    assert_true(expected->bytes == IMAGE || got[expected->bytes] == 0xee);
}

static void test_pixels_match_torchvision(void **state) {
    (void)state;
    tensor_file f = {0};
    error err = {0};
    int cases = 0;
    if (tensor_file_read(PATH, TENSOR_FILE_DEFAULT_MAX, &f, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < f.metadata_count; i++) {
        const tensor_pair *pair = &f.metadata[i];
        if (strncmp(pair->key, "case.", 5) != 0) continue;
        check_case(&f, pair->key + 5, pair->value);
        cases++;
    }
    assert_true(cases > 248);
    tensor_file_release(&f);
}

// ---- Choices ----

static const augment_key key0 = {.seed = 42, .epoch = 3, .id = 12345};

static void test_crops_reach_every_position(void **state) {
    (void)state;
    const augmentation a = {.kind = AUGMENT_RANDOM_CROP, .padding = 4};
    int seen[9][9] = {{0}};
    augment_key key = key0;
    for (key.id = 0; key.id < 8100; key.id++) {
        const crop_choice c = augment_choose_crop(&a, &key, 0);
        assert_in_range(c.top, 0, 8);
        assert_in_range(c.left, 0, 8);
        seen[c.top][c.left]++;
    }
    for (int i = 0; i < 81; i++) assert_in_range(seen[i / 9][i % 9], 50, 150); // 100, deviation 10
}

static void test_flips_with_the_given_probability(void **state) {
    (void)state;
    augment_key key = key0;
    for (int quarter = 0; quarter <= 4; quarter++) {
        const augmentation a = {.kind = AUGMENT_HORIZONTAL_FLIP, .p = 0.25 * quarter};
        int flips = 0;
        for (key.id = 0; key.id < 10000; key.id++) flips += augment_choose_flip(&a, &key, 0);
        assert_in_range(flips, quarter == 0 ? 0 : 2500 * quarter - 250,
                        quarter == 0 ? 0 : 2500 * quarter + 250);
        if (quarter == 4) assert_int_equal(flips, 10000);
    }
}

// At random in the first epoch, then every sample the other way round than in the epoch before. Not
// alternating: at random in every epoch.
static void test_alternating_flips(void **state) {
    (void)state;
    const augmentation every = {.kind = AUGMENT_HORIZONTAL_FLIP, .p = 0.3, .alternate = true};
    const augmentation plain = {.kind = AUGMENT_HORIZONTAL_FLIP, .p = 0.3};
    augment_key key = key0;
    int flips = 0, changes = 0;
    for (key.id = 0; key.id < 2000; key.id++) {
        key.epoch = 0;
        bool before = augment_choose_flip(&every, &key, 2);
        assert_int_equal(before, augment_choose_flip(&plain, &key, 2));
        flips += before;
        for (key.epoch = 1; key.epoch < 6; key.epoch++) {
            const bool now = augment_choose_flip(&every, &key, 2);
            assert_int_equal(now, !before);
            before = now;
            changes += now != augment_choose_flip(&plain, &key, 2);
        }
    }
    assert_in_range(flips, 500, 700);
    assert_in_range(changes, 4000, 6000);
}

// Every pixel is the centre equally often.
static void test_cutouts_reach_every_centre(void **state) {
    (void)state;
    const augmentation a = {.kind = AUGMENT_CUTOUT, .size = 3};
    const shape size = {1, 4, 6};
    int seen[4][6] = {{0}};
    augment_key key = key0;
    for (key.id = 0; key.id < 2400; key.id++) {
        const cutout_choice c = augment_choose_cutout(&a, &key, 0, size);
        assert_in_range(c.top + 1, 0, 3);
        assert_in_range(c.left + 1, 0, 5);
        seen[c.top + 1][c.left + 1]++;
    }
    for (int i = 0; i < 24; i++) assert_in_range(seen[i / 6][i % 6], 50, 150);
}

static void test_affine_ranges(void **state) {
    (void)state;
    const augmentation a = {.kind = AUGMENT_RANDOM_AFFINE,
                            .degrees = 10,
                            .translate = {0.1, 0.25},
                            .scale = {0.9, 1.1}};
    const shape size = {1, 20, 28};
    int right[7] = {0}, down[11] = {0};
    double low = 0, high = 0, small = 1, large = 1;
    augment_key key = key0;
    for (key.id = 0; key.id < 5000; key.id++) {
        const affine_choice c = augment_choose_affine(&a, &key, 1, size);
        assert_true(c.angle >= -10 && c.angle < 10 && c.scale >= 0.9 && c.scale < 1.1);
        assert_true(c.right >= -3 && c.right <= 3 && c.down >= -5 && c.down <= 5); // 2.8 and 5
        right[c.right + 3]++;
        down[c.down + 5]++;
        if (c.angle < low) low = c.angle;
        if (c.angle > high) high = c.angle;
        if (c.scale < small) small = c.scale;
        if (c.scale > large) large = c.scale;
    }
    for (int i = 0; i < 7; i++) assert_true(right[i] > 100);
    for (int i = 0; i < 11; i++) assert_true(down[i] > 100);
    assert_true(low < -9.9 && high > 9.9 && small < 0.901 && large > 1.099);
}

// The counter is part of the guarantee of equal bits: (purpose << 24 | place, epoch, id, element /
// 4).
static void test_choices_are_keyed(void **state) {
    (void)state;
    const augmentation crop = {.kind = AUGMENT_RANDOM_CROP, .padding = 50};
    const random_stream s = {42, RANDOM_CROP, 2, 3, 12345};
    const crop_choice c = augment_choose_crop(&crop, &key0, 2);
    assert_int_equal(c.top, random_below(&s, 0, 101));
    assert_int_equal(c.left, random_below(&s, 1, 101));

    const augmentation flip = {.kind = AUGMENT_HORIZONTAL_FLIP, .p = 0.5};
    augment_key key = key0;
    for (key.id = 0; key.id < 100; key.id++) {
        const random_stream r = {42, RANDOM_FLIP, 0, 3, key.id};
        assert_int_equal(augment_choose_flip(&flip, &key, 0), random_uniform(&r, 0) < 0.5f);
    }

    const augmentation affine = {
        .kind = AUGMENT_RANDOM_AFFINE, .degrees = 90, .translate = {1, 1}, .scale = {0.5, 2}};
    const shape size = {1, 1000, 2000};
    const augmentation cutout = {.kind = AUGMENT_CUTOUT, .size = 8};
    const random_stream u = {42, RANDOM_CUTOUT, 3, 3, 12345};
    const cutout_choice square = augment_choose_cutout(&cutout, &key0, 3, size);
    assert_int_equal(square.top, (int)random_below(&u, 0, 1000) - 4);
    assert_int_equal(square.left, (int)random_below(&u, 1, 2000) - 4);
    const random_stream t = {42, RANDOM_AFFINE, 1, 3, 12345};
    const affine_choice d = augment_choose_affine(&affine, &key0, 1, size);
    assert_true(d.angle == -90 + 180 * (double)random_uniform(&t, 0));
    assert_true(abs(d.right - (int)(-2000 + 4000 * (double)random_uniform(&t, 1))) <= 1);
    assert_true(abs(d.down - (int)(-1000 + 2000 * (double)random_uniform(&t, 2))) <= 1);
    assert_true(d.scale == 0.5 + 1.5 * (double)random_uniform(&t, 3));
}

// A resized crop's area and ratio are in their ranges but for the rounding of its sides, it is
// within the image, and it reaches all of it.
static void test_resized_crops(void **state) {
    (void)state;
    const augmentation a = {.kind = AUGMENT_RESIZED_CROP,
                            .scale = {0.25, 0.5},
                            .ratio = {0.5, 2},
                            .log_ratio = {-log(2), log(2)}};
    const shape size = {3, 300, 200};
    augment_key key = key0;
    double least = 1, most = 0, narrow = 2, wide = 0;
    int bottom = 0, right = 0;
    for (key.id = 0; key.id < 10000; key.id++) {
        const resized_crop_choice c = augment_choose_resized_crop(&a, &key, 0, size);
        const double area = (double)c.height * c.width / 60000, ratio = (double)c.width / c.height;
        assert_true(c.top >= 0 && c.left >= 0 && c.height > 0 && c.width > 0);
        assert_true(c.top + c.height <= 300 && c.left + c.width <= 200);
        least = fmin(least, area), most = fmax(most, area);
        narrow = fmin(narrow, ratio), wide = fmax(wide, ratio);
        if (c.top + c.height == 300) bottom++;
        if (c.left + c.width == 200) right++;
    }
    assert_true(least > 0.24 && least < 0.26 && most > 0.49 && most < 0.51);
    assert_true(narrow > 0.49 && narrow < 0.51 && wide > 1.9 && wide < 2.02);
    assert_true(bottom > 10 && right > 10);
}

// The elements of the stream; and the middle of the image, if no try fits.
static void test_resized_crops_are_keyed(void **state) {
    (void)state;
    augmentation a = {
        .kind = AUGMENT_RESIZED_CROP, .scale = {0.2, 0.3}, .ratio = {1, 1}, .log_ratio = {0, 0}};
    const random_stream s = {42, RANDOM_RESIZED_CROP, 2, 3, 12345};
    resized_crop_choice c = augment_choose_resized_crop(&a, &key0, 2, (shape){3, 100, 100});
    const int side = (int)rint(100 * sqrt(0.2 + (0.3 - 0.2) * (double)random_uniform(&s, 0)));
    assert_true(c.height == side && c.width == side);
    assert_int_equal(c.top, random_below(&s, 2, (uint32_t)(101 - side)));
    assert_int_equal(c.left, random_below(&s, 3, (uint32_t)(101 - side)));
    a.scale[0] = a.scale[1] = 1; // a square of 141 × 141
    c = augment_choose_resized_crop(&a, &key0, 2, (shape){3, 100, 200});
    assert_true(c.top == 0 && c.left == 50 && c.height == 100 && c.width == 100);
    c = augment_choose_resized_crop(&a, &key0, 2, (shape){3, 200, 100});
    assert_true(c.top == 50 && c.left == 0 && c.height == 100 && c.width == 100);
    // The second try fits where the first does not.
    a.scale[0] = 0.25;
    int later = 0;
    for (augment_key key = key0; key.id < 12445; key.id++) {
        const random_stream t = {42, RANDOM_RESIZED_CROP, 2, 3, key.id};
        c = augment_choose_resized_crop(&a, &key, 2, (shape){3, 100, 200});
        const double first = 0.25 + 0.75 * (double)random_uniform(&t, 0);
        const double next = 0.25 + 0.75 * (double)random_uniform(&t, 4);
        if (first < 0.51 || next > 0.49) continue;
        later++;
        assert_int_equal(c.height, (int)rint(sqrt(20000 * next)));
        assert_int_equal(c.top, random_below(&t, 6, (uint32_t)(101 - c.height)));
    }
    assert_true(later > 5);
}

// All orders and the whole of the ranges, which end at 0; what has no range is left out.
static void test_color_jitters(void **state) {
    (void)state;
    const augmentation a = {.kind = AUGMENT_COLOR_JITTER, .jitter = {0.2, 1.5, 0.3, 0.1}};
    const double low[] = {0.8, 0, 0.7, -0.1}, high[] = {1.2, 2.5, 1.3, 0.1};
    double least[] = {9, 9, 9, 9}, most[] = {-9, -9, -9, -9};
    int orders[256] = {0};
    augment_key key = key0;
    for (key.id = 0; key.id < 4800; key.id++) {
        const color_jitter_choice c = color_jitter_choose(&a, &key, 1);
        int order = 0;
        assert_int_equal(c.count, 4);
        for (int i = 0; i < 4; i++) {
            const color_property p = c.changes[i].property;
            order = 4 * order + (int)p;
            least[p] = fmin(least[p], c.changes[i].amount);
            most[p] = fmax(most[p], c.changes[i].amount);
        }
        orders[order]++;
    }
    int seen = 0;
    for (int i = 0; i < 256; i++)
        if (orders[i]) assert_in_range(orders[i], 130, 270), seen++;
    assert_int_equal(seen, 24);
    for (int p = 0; p < 4; p++) {
        const double rest = (high[p] - low[p]) / 500;
        assert_true(least[p] >= low[p] && least[p] < low[p] + rest);
        assert_true(most[p] < high[p] && most[p] > high[p] - rest);
    }
}

static void test_color_jitters_are_keyed(void **state) {
    (void)state;
    augmentation a = {.kind = AUGMENT_COLOR_JITTER, .jitter = {0.5, 0, 0, 0.25}};
    const random_stream s = {42, RANDOM_COLOR_JITTER, 2, 3, 12345};
    uint32_t order[4];
    random_permutation(&s, order, 4);
    const color_jitter_choice c = color_jitter_choose(&a, &key0, 2);
    assert_int_equal(c.count, 2);
    for (int i = 0, k = 0; i < 4; i++) {
        if (order[i] != COLOR_BRIGHTNESS && order[i] != COLOR_HUE) continue;
        const bool hue = order[i] == COLOR_HUE;
        const double u = (double)random_uniform(&s, 4 + order[i]);
        assert_int_equal(c.changes[k].property, order[i]);
        assert_true(c.changes[k++].amount == (hue ? -0.25 + 0.5 * u : 0.5 + u));
    }
    a.jitter[COLOR_BRIGHTNESS] = a.jitter[COLOR_HUE] = 0;
    assert_int_equal(color_jitter_choose(&a, &key0, 2).count, 0);
}

// ---- Lists ----

static void fill_image(uint8_t *image, size_t n) {
    const random_stream s = {.seed = 1, .purpose = RANDOM_SYNTHETIC};
    for (size_t i = 0; i < n; i++) image[i] = (uint8_t)(1 + random_below(&s, i, 255));
}

static void test_a_list_is_applied_in_order(void **state) {
    (void)state;
    const augment_list list = {
        .count = 4,
        .items = {{.kind = AUGMENT_RANDOM_CROP, .padding = 3},
                  {.kind = AUGMENT_HORIZONTAL_FLIP, .p = 1},
                  {.kind = AUGMENT_RANDOM_AFFINE, .degrees = 30, .scale = {0.5, 1.5}},
                  {.kind = AUGMENT_RANDOM_CROP, .padding = 2}}};
    const shape size = {2, 9, 13};
    const size_t n = shape_size(size);
    uint8_t from[IMAGE], before[IMAGE], scratch[IMAGE], got[IMAGE], a[IMAGE], b[IMAGE];
    fill_image(from, n);
    memcpy(before, from, n);
    for (int count = 0; count <= list.count; count++) {
        augment_list part = list;
        part.count = count;
        memset(got, 0, sizeof got);
        augment_sample(&part, &key0, size, from, scratch, got);
        memcpy(a, from, n);
        if (count > 0) {
            image_crop(size, 3, augment_choose_crop(&list.items[0], &key0, 0), from, a);
        }
        if (count > 1) {
            image_flip(size, a, b);
            memcpy(a, b, n);
        }
        if (count > 2) {
            image_affine(size, augment_choose_affine(&list.items[2], &key0, 2, size), a, b);
            memcpy(a, b, n);
        }
        if (count > 3) {
            image_crop(size, 2, augment_choose_crop(&list.items[3], &key0, 3), a, b);
            memcpy(a, b, n);
        }
        assert_memory_equal(got, a, n);
        assert_memory_equal(from, before, n);
    }
}

// The same item at two places of a list, in two epochs, for two samples: different choices.
static void test_places_epochs_and_samples_differ(void **state) {
    (void)state;
    const augmentation a = {.kind = AUGMENT_RANDOM_CROP, .padding = 64};
    augment_key other = key0;
    const crop_choice c = augment_choose_crop(&a, &key0, 0);
    crop_choice d = augment_choose_crop(&a, &key0, 1);
    assert_true(c.top != d.top || c.left != d.left);
    other.epoch++;
    d = augment_choose_crop(&a, &other, 0);
    assert_true(c.top != d.top || c.left != d.left);
    other = key0;
    other.id++;
    d = augment_choose_crop(&a, &other, 0);
    assert_true(c.top != d.top || c.left != d.left);
    other = key0;
    other.seed++;
    d = augment_choose_crop(&a, &other, 0);
    assert_true(c.top != d.top || c.left != d.left);
}

// ---- Pixel by pixel ----

// Numbers of one stream, in order.
typedef struct dice {
    random_stream stream;
    uint64_t thrown;
} dice;

static int below(dice *d, int n) {
    return (int)random_below(&d->stream, d->thrown++, (uint32_t)n);
}

static double part(dice *d) {
    return (double)random_uniform(&d->stream, d->thrown++);
}

// Any augmentation that experiment files allow, with the ends of the ranges more often. `kinds`: 4,
// without resized crops, or 5.
static augmentation any_augmentation(dice *d, int kinds, shape size) {
    static const double angles[] = {0, 45, 90, 180};
    const int least = size.height < size.width ? size.height : size.width;
    augmentation a = {.kind = (augment_kind)below(d, kinds)};
    a.padding = below(d, below(d, 3) ? 9 : AUGMENT_MAX_PADDING + 1);
    a.reflect = below(d, 2) && a.padding < least;
    a.alternate = below(d, 2);
    a.mean = below(d, 2);
    a.size = 1 + below(d, least);
    a.p = part(d);
    a.degrees = below(d, 2) ? angles[below(d, 4)] : 180 * part(d);
    for (int i = 0; i < 2; i++) a.translate[i] = below(d, 2) ? part(d) : 0;
    a.scale[0] = below(d, 3) == 0 ? 1 : below(d, 4) ? 0.5 + part(d) : 1e-4 + part(d);
    a.scale[1] = a.scale[0] + (below(d, 3) ? part(d) : 0);
    if (a.kind == AUGMENT_RESIZED_CROP) {
        a.scale[1] = below(d, 3) ? 1 : 0.01 + 0.99 * part(d);
        a.scale[0] = a.scale[1] * part(d);
        a.ratio[0] = below(d, 4) ? 0.3 + part(d) : 0.05;
        a.ratio[1] = a.ratio[0] * (1 + 3 * part(d));
        for (int i = 0; i < 2; i++) a.log_ratio[i] = log(a.ratio[i]);
    }
    return a;
}

// Checks the pixel of each plane that the maps lead to.
static void check_pixel(const augment_list *list, const augment_map *maps, shape size, int y, int x,
                        const uint8_t *from, const uint8_t *augmented) {
    const int plane = size.height * size.width, at = y * size.width + x;
    bool resampled = false;
    for (int k = 0; k < list->count; k++) resampled |= maps[k].kind == MAP_RESAMPLE;
    for (int c = 0; c < size.channels; c++) {
        const augment_plane p = {list, maps, size, c, from + c * plane};
        assert_int_equal(augmented[c * plane + at], augment_pixel(&p, y, x));
        if (!resampled)
            assert_int_equal(augmented[c * plane + at], augment_moved(&p, list->count, y, x));
    }
}

static void test_pixels_match_whole_images(void **state) {
    (void)state;
    static const shape sizes[] = {{3, 32, 32}, {1, 28, 28}, {2, 7, 9}, {3, 13, 20}, {1, 1, 1}};
    dice d = {{.seed = 8, .purpose = RANDOM_SYNTHETIC}, 0};
    uint8_t from[IMAGE], scratch[IMAGE], got[IMAGE];
    fill_image(from, IMAGE);
    for (uint32_t round = 0; round < 1000; round++) {
        const shape size = sizes[round % 5];
        const augment_key key = {.seed = round / 7, .epoch = round % 7, .id = 11 * round};
        augment_list list = {.count = round < 5 ? AUGMENT_MAX : below(&d, 5),
                             .mean = {100, 110, 120}};
        augment_map maps[AUGMENT_MAX];
        int kinds = 5;
        for (int k = 0; k < list.count; k++) {
            list.items[k] = any_augmentation(&d, kinds, size);
            if (list.items[k].kind == AUGMENT_RESIZED_CROP) kinds = 4;
            maps[k] = augment_map_of(&list.items[k], &key, k, size);
        }
        augment_sample(&list, &key, size, from, scratch, got);
        for (int y = 0; y < size.height; y++)
            for (int x = 0; x < size.width; x++) check_pixel(&list, maps, size, y, x, from, got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels_match_torchvision),
        cmocka_unit_test(test_crops_reach_every_position),
        cmocka_unit_test(test_flips_with_the_given_probability),
        cmocka_unit_test(test_alternating_flips),
        cmocka_unit_test(test_cutouts_reach_every_centre),
        cmocka_unit_test(test_affine_ranges),
        cmocka_unit_test(test_choices_are_keyed),
        cmocka_unit_test(test_resized_crops),
        cmocka_unit_test(test_resized_crops_are_keyed),
        cmocka_unit_test(test_color_jitters),
        cmocka_unit_test(test_color_jitters_are_keyed),
        cmocka_unit_test(test_a_list_is_applied_in_order),
        cmocka_unit_test(test_places_epochs_and_samples_differ),
        cmocka_unit_test(test_pixels_match_whole_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
