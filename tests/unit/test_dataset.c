// SPDX-License-Identifier: MIT
// Datasets: reading returns what was written, shard files agree with the partition in memory, and
// incomplete or inconsistent data is refused by name.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "data/labels.h"
#include "data/partition.h"
#include "data/shard_files.h"
#include "data/shard_tool.h"

enum { SAMPLES = 10, CHANNELS = 2, HEIGHT = 3, WIDTH = 1, BYTES = CHANNELS * HEIGHT * WIDTH };

typedef struct fixture {
    char folder[32], file[64];
    uint8_t images[SAMPLES * BYTES];
    uint32_t labels[SAMPLES];
    uint32_t ids[SAMPLES];
} fixture;

static int set_up(void **state) {
    fixture *x = calloc(1, sizeof *x);
    strcpy(x->folder, "/tmp/lockstep-XXXXXX");
    if (!mkdtemp(x->folder)) return -1;
    snprintf(x->file, sizeof x->file, "%s/train.st.zst", x->folder);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        memset(x->images + i * BYTES, (int)(i + 100), BYTES);
        x->labels[i] = (uint32_t)(i % 3);
        x->ids[i] = 1000 + i;
    }
    *state = x;
    return 0;
}

static int tear_down(void **state) {
    fixture *x = *state;
    DIR *dir = opendir(x->folder);
    for (struct dirent *e; dir && (e = readdir(dir));) (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir) closedir(dir);
    rmdir(x->folder);
    free(x);
    return 0;
}

static void describe(tensor_file *f, const fixture *x) {
    static const char *const names[] = {"0", "yes", "cat \"Tom\""};
    static const float mean[] = {0.25f, 0.1f}, std[] = {0.5f, 1};
    const dataset_info info = {"synthetic", "train", SAMPLES, CHANNELS, HEIGHT,
                               WIDTH,       names,   3,       mean,     std};
    assert_int_equal(dataset_describe(f, &info, x->images, x->labels, x->ids, NULL), STATUS_OK);
}

static void write_file(const fixture *x) {
    tensor_file f = {0};
    describe(&f, x);
    assert_int_equal(tensor_file_write(x->file, &f, NULL), STATUS_OK);
    tensor_file_release(&f);
}

static void write_shards(const fixture *x, int shards, uint64_t seed) {
    dataset d;
    manifest m;
    char *argv[] = {"test"};
    assert_int_equal(dataset_read(x->file, &d, NULL), STATUS_OK);
    assert_int_equal(manifest_begin(&m, "test", 1, 1, argv, NULL), STATUS_OK);
    assert_int_equal(shard_write(&d, shards, seed, x->folder, NULL, &m, NULL), STATUS_OK);
    manifest_release(&m);
    dataset_release(&d);
}

static void write_manifest(const fixture *x) {
    char path[96];
    char *argv[] = {"test"};
    tensor_file f = {0};
    manifest m;
    describe(&f, x);
    snprintf(path, sizeof path, "%s/manifest.yaml", x->folder);
    assert_int_equal(tensor_file_write(x->file, &f, NULL), STATUS_OK);
    const manifest_file written = {x->file, f.file_bytes, f.sha256, f.content};
    assert_int_equal(manifest_begin(&m, "test", 1, 1, argv, NULL), STATUS_OK);
    manifest_add_output(&m, &written);
    assert_int_equal(manifest_write(&m, path, NULL), STATUS_OK);
    manifest_release(&m);
    tensor_file_release(&f);
}

static void expect_refusal(const char *path, const char *which, const char *why) {
    dataset d;
    error err = {0};
    assert_int_equal(dataset_read(path, &d, &err), STATUS_INPUT);
    if (!strstr(err.message, which) || !strstr(err.message, why))
        fail_msg("'%s' lacks '%s', for '%s'", err.message, why, which);
    dataset_release(&d);
}

static void written_datasets_read_back(void **state) {
    fixture *x = *state;
    write_file(x);
    dataset d;
    assert_int_equal(dataset_read(x->file, &d, NULL), STATUS_OK);
    assert_string_equal(d.name, "synthetic");
    assert_string_equal(d.split, "train");
    assert_int_equal(d.samples, SAMPLES);
    assert_int_equal(d.channels, CHANNELS);
    assert_int_equal(d.height, HEIGHT);
    assert_int_equal(d.width, WIDTH);
    assert_int_equal(d.classes, 3);
    assert_true(d.mean[0] == 0.25f && d.mean[1] == 0.1f && d.std[0] == 0.5f && d.std[1] == 1);
    assert_int_equal(d.shards, 0);
    assert_string_equal(d.source, d.files[0].content);
    assert_string_equal(tensor_file_metadata(&d.files[0], "classes"),
                        "[\"0\",\"yes\",\"cat \\\"Tom\\\"\"]");
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_memory_equal(d.pixels[i], x->images + i * BYTES, BYTES);
        assert_int_equal(d.labels[i], x->labels[i]);
        assert_int_equal(d.ids[i], x->ids[i]);
    }
    dataset_release(&d);
}

static void shards_match_the_partition_in_memory(void **state) {
    fixture *x = *state;
    write_file(x);
    for (int shards = 1; shards <= SAMPLES; shards++) {
        write_shards(x, shards, 7);
        dataset whole, sharded;
        partition a, b;
        assert_int_equal(dataset_read(x->file, &whole, NULL), STATUS_OK);
        assert_int_equal(dataset_read(x->folder, &sharded, NULL), STATUS_OK);
        assert_int_equal(sharded.shards, shards);
        assert_string_equal(sharded.source, whole.source);
        assert_int_equal(partition_init(&a, &whole, NULL, shards, 7, NULL), STATUS_OK);
        assert_int_equal(partition_init(&b, &sharded, NULL, shards, 7, NULL), STATUS_OK);
        for (int v = 0; v < shards; v++) {
            assert_int_equal(a.size[v], b.size[v]);
            for (uint32_t k = 0; k < a.size[v]; k++) {
                uint32_t i = a.sample[v][k], j = b.sample[v][k];
                assert_int_equal(whole.ids[i], sharded.ids[j]);
                assert_int_equal(whole.labels[i], sharded.labels[j]);
                assert_memory_equal(whole.pixels[i], sharded.pixels[j], BYTES);
            }
        }
        partition_release(&a);
        partition_release(&b);
        dataset_release(&whole);
        dataset_release(&sharded);
    }
}

// The samples of a partition without `left`: their ids, shard after shard.
static void ids_of_partition(const dataset *d, const holdout *left, int shards, uint32_t *ids,
                             uint32_t *sizes) {
    partition made;
    assert_int_equal(partition_init(&made, d, left, shards, 7, NULL), STATUS_OK);
    for (int v = 0; v < shards; v++) {
        sizes[v] = made.size[v];
        for (uint32_t k = 0; k < made.size[v]; k++) *ids++ = d->ids[made.sample[v][k]];
    }
    partition_release(&made);
}

// From the unsharded file and from shard files: the same samples are left out, and the others are
// the permutation without them, divided.
static void check_left_out(fixture *x, int shards, uint32_t count) {
    dataset whole, files;
    holdout a, b;
    uint32_t order[SAMPLES], mine[SAMPLES], theirs[SAMPLES], sizes[2][SAMPLES], place = 0;
    const random_stream stream = {7, RANDOM_PARTITION, 0, 0, 0};
    random_permutation(&stream, order, SAMPLES);
    write_shards(x, shards, 7);
    assert_int_equal(dataset_read(x->file, &whole, NULL), STATUS_OK);
    assert_int_equal(dataset_read(x->folder, &files, NULL), STATUS_OK);
    assert_int_equal(holdout_choose(&a, &whole, count, 3, NULL), STATUS_OK);
    assert_int_equal(holdout_choose(&b, &files, count, 3, NULL), STATUS_OK);
    assert_int_equal(a.samples.samples, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(a.samples.ids[i], b.samples.ids[i]);
        assert_int_equal(a.samples.labels[i], b.samples.labels[i]);
        assert_memory_equal(a.samples.pixels[i], b.samples.pixels[i], BYTES);
        assert_true(i == 0 || a.samples.ids[i - 1] < a.samples.ids[i]);
    }
    ids_of_partition(&whole, &a, shards, mine, sizes[0]);
    ids_of_partition(&files, &b, shards, theirs, sizes[1]);
    assert_memory_equal(mine, theirs, (SAMPLES - count) * sizeof *mine);
    for (int v = 0; v < shards; v++) {
        const uint32_t left = SAMPLES - count, all = (uint32_t)shards;
        assert_int_equal(sizes[0][v], left / all + ((uint32_t)v < left % all));
        assert_int_equal(sizes[0][v], sizes[1][v]);
        for (uint32_t k = 0; k < sizes[0][v]; k++, place++) {
            uint32_t p = 0, seen = 0;
            for (;; p++)
                if (!a.out[order[p]] && seen++ == k * all + (uint32_t)v) break;
            assert_int_equal(mine[place], whole.ids[order[p]]);
        }
    }
    holdout_release(&a);
    holdout_release(&b);
    dataset_release(&whole);
    dataset_release(&files);
}

static void samples_left_out_are_not_dealt(void **state) {
    fixture *x = *state;
    write_file(x);
    for (uint32_t count = 1; count < SAMPLES; count++)
        for (int shards = 1; shards <= SAMPLES - (int)count; shards++)
            check_left_out(x, shards, count);
}

// The choice is part of the guarantee of equal bits: the smallest numbers of (seed, purpose, id).
static void samples_are_left_out_by_their_ids(void **state) {
    fixture *x = *state;
    dataset d;
    holdout h;
    partition made;
    error err;
    write_file(x);
    assert_int_equal(dataset_read(x->file, &d, NULL), STATUS_OK);
    assert_int_equal(holdout_choose(&h, &d, 4, 11, NULL), STATUS_OK);
    uint64_t largest_out = 0, smallest_in = UINT64_MAX;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const random_stream s = {11, RANDOM_VALIDATION, 0, 0, d.ids[i]};
        const uint64_t rank = (uint64_t)random_bits(&s, 0) << 32 | random_bits(&s, 1);
        if (h.out[i] && rank > largest_out) largest_out = rank;
        if (!h.out[i] && rank < smallest_in) smallest_in = rank;
    }
    assert_true(largest_out < smallest_in);
    assert_int_equal(partition_init(&made, &d, &h, SAMPLES - 3, 7, &err), STATUS_USAGE);
    holdout_release(&h);
    assert_int_equal(holdout_choose(&h, &d, SAMPLES, 11, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "'validation.samples' is 10"));
    holdout_release(&h);
    dataset_release(&d);
}

static void partition_follows_the_permutation(void **state) {
    fixture *x = *state;
    write_file(x);
    dataset d;
    partition made;
    uint32_t order[SAMPLES];
    const random_stream stream = {99, RANDOM_PARTITION, 0, 0, 0};
    random_permutation(&stream, order, SAMPLES);
    assert_int_equal(dataset_read(x->file, &d, NULL), STATUS_OK);
    assert_int_equal(partition_init(&made, &d, NULL, 4, 99, NULL), STATUS_OK);
    for (uint32_t p = 0; p < SAMPLES; p++) assert_int_equal(made.sample[p % 4][p / 4], order[p]);
    assert_int_equal(made.size[0], 3);
    assert_int_equal(made.size[1], 3);
    assert_int_equal(made.size[2], 2);
    partition_release(&made);
    dataset_release(&d);
}

static void partition_refuses_another_one(void **state) {
    fixture *x = *state;
    write_file(x);
    dataset d;
    partition made;
    error err;
    assert_int_equal(dataset_read(x->file, &d, NULL), STATUS_OK);
    assert_int_equal(partition_init(&made, &d, NULL, SAMPLES + 1, 0, &err), STATUS_USAGE);
    assert_int_equal(partition_init(&made, &d, NULL, 0, 0, &err), STATUS_USAGE);
    dataset_release(&d);
    write_shards(x, 4, 7);
    assert_int_equal(dataset_read(x->folder, &d, NULL), STATUS_OK);
    assert_int_equal(partition_init(&made, &d, NULL, 2, 7, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "4 shards"));
    assert_int_equal(partition_init(&made, &d, NULL, 4, 8, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "seed 8"));
    dataset_release(&d);
}

// Changes one shard of four, and expects the folder to be refused.
static void shard_path(const fixture *x, int shard, int shards, char path[96]) {
    char name[SHARD_NAME_BYTES];
    shard_files_name(shard, shards, name);
    snprintf(path, 96, "%s/%s", x->folder, name);
}

static void refuses_incomplete_shards(void **state) {
    fixture *x = *state;
    char one[96], two[96], other[96];
    write_file(x);
    expect_refusal(x->folder, x->folder, "no shard-");
    write_shards(x, 4, 7);
    shard_path(x, 1, 4, one);
    shard_path(x, 2, 4, two);
    expect_refusal(one, "shard-00001-of-00004", "one of several shards");
    unlink(two);
    expect_refusal(x->folder, "shard-00002-of-00004", "missing");
    assert_int_equal(link(one, two), 0);
    expect_refusal(x->folder, "shard-00002-of-00004", "contrary to its name");
    unlink(two);
    assert_int_equal(link(x->file, two), 0);
    expect_refusal(x->folder, "shard-00002-of-00004", "'shards'");
    write_shards(x, 4, 7);
    shard_path(x, 0, 5, other);
    assert_int_equal(link(one, other), 0);
    expect_refusal(x->folder, x->folder, "two deals, 4-way and 5-way");
}

static void refuses_mixed_deals(void **state) {
    fixture *x = *state;
    char path[96], kept[96];
    write_file(x);
    write_shards(x, 4, 7);
    shard_path(x, 3, 4, path);
    snprintf(kept, sizeof kept, "%s/kept", x->folder);
    assert_int_equal(rename(path, kept), 0);
    write_shards(x, 4, 8);
    assert_int_equal(rename(kept, path), 0);
    expect_refusal(x->folder, "shard-00003", "shard_seed");
    write_shards(x, 4, 7);
    assert_int_equal(rename(path, kept), 0);
    x->images[0]++; // another source
    write_file(x);
    write_shards(x, 4, 7);
    assert_int_equal(rename(kept, path), 0);
    expect_refusal(x->folder, "shard-00003", "source");
}

// A file as dataset_describe writes it, except for one thing.
static void refuses_bad_metadata(void **state) {
    fixture *x = *state;
    static const struct {
        const char *key, *value, *why;
    } cases[] = {
        {"mean", "[0.5]", "1 values for 2 channels"},
        {"mean", "[0.5,nan]", "mean"},
        {"mean", "[0.5,\"x\"]", "mean"},
        {"mean", "0.5", "mean"},
        {"mean", "[0.5,", "mean"},
        {"mean", "[0.5,125.3]", "of bytes: 125.3 / 255 = 0.4914"},
        {"mean", "[-0.5,0.5]", "at least 0"},
        {"std", "[0.5,0]", "above 0"},
        {"std", "[0.5,-1]", "above 0"},
        {"std", "[63,0.5]", "of bytes: 63 / 255 = 0.2471"},
        {"std", NULL, "no 'std'"},
        {"classes", "[]", "0 classes"},
        {"classes", "[\"a\",\"b\"]", "label 2 of sample 2: there are 2 classes"},
        {"classes", "{\"a\":1}", "not a list"},
        {"dataset", "", "1 to 31 bytes"},
        {"split", "a-name-of-more-than-15-bytes", "1 to 15 bytes"},
        {"split", NULL, "no 'split'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tensor_file good = {0}, f = {0};
        describe(&good, x);
        assert_int_equal(dataset_add_tensors(&f, SAMPLES, CHANNELS, HEIGHT, WIDTH, 3, x->images,
                                             x->labels, x->ids, NULL),
                         STATUS_OK);
        for (size_t k = 0; k < good.metadata_count; k++) {
            bool changed = strcmp(good.metadata[k].key, cases[i].key) == 0;
            const char *value = changed ? cases[i].value : good.metadata[k].value;
            if (value) tensor_file_add_metadata(&f, good.metadata[k].key, value);
        }
        assert_int_equal(tensor_file_write(x->file, &f, NULL), STATUS_OK);
        tensor_file_release(&f);
        tensor_file_release(&good);
        expect_refusal(x->file, x->file, cases[i].why);
    }
}

static void refuses_bad_tensors(void **state) {
    fixture *x = *state;
    const int64_t flat[] = {SAMPLES, BYTES}, four[] = {SAMPLES, CHANNELS, HEIGHT, WIDTH};
    const int64_t count[] = {SAMPLES}, fewer[] = {SAMPLES - 1}, none[] = {0, 1, 1, 1};
    static const struct {
        int what;
        const char *why;
    } cases[] = {{0, "images"}, {1, "images"}, {2, "labels"},
                 {3, "ids"},    {4, "ids"},    {5, "nothing reads its tensor 'weights'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int bad = cases[i].what;
        tensor_file f = {0};
        tensor_file_add(&f, "images", TENSOR_U8, bad == 0 ? 2 : 4,
                        bad == 0   ? flat
                        : bad == 1 ? none
                                   : four,
                        x->images);
        tensor_file_add(&f, "labels", TENSOR_U8, 1, bad == 2 ? fewer : count, x->labels);
        if (bad != 3)
            tensor_file_add(&f, "ids", bad == 4 ? TENSOR_U8 : TENSOR_U32, 1, count, x->ids);
        if (bad == 5) tensor_file_add(&f, "weights", TENSOR_U8, 1, count, x->labels);
        assert_int_equal(tensor_file_write(x->file, &f, NULL), STATUS_OK);
        tensor_file_release(&f);
        expect_refusal(x->file, x->file, cases[i].why);
    }
}

// Writes a dataset of `classes` classes whose last sample has the last class.
static void write_classes(fixture *x, int classes) {
    static char text[LABELS_MAX_CLASSES + 1][16];
    static const char *names[LABELS_MAX_CLASSES + 1];
    static const float mean[CHANNELS], std[CHANNELS] = {1, 1};
    for (int k = 0; k < classes; k++) {
        snprintf(text[k], sizeof text[k], "%d", k);
        names[k] = text[k];
    }
    const dataset_info info = {"synthetic", "train", SAMPLES, CHANNELS, HEIGHT,
                               WIDTH,       names,   classes, mean,     std};
    tensor_file f = {0};
    x->labels[SAMPLES - 1] = (uint32_t)classes - 1;
    assert_int_equal(dataset_describe(&f, &info, x->images, x->labels, x->ids, NULL), STATUS_OK);
    assert_int_equal(tensor_file_write(x->file, &f, NULL), STATUS_OK);
    tensor_file_release(&f);
}

static void label_width_follows_the_class_count(void **state) {
    fixture *x = *state;
    static const int cases[] = {2, 256, 257, LABELS_MAX_CLASSES};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int classes = cases[i];
        dataset d;
        x->labels[2] = 1;
        for (size_t k = 0; k < SAMPLES; k++) x->labels[k] %= 2;
        write_classes(x, classes);
        assert_int_equal(dataset_read(x->file, &d, NULL), STATUS_OK);
        assert_int_equal(d.classes, classes);
        assert_int_equal(d.labels[SAMPLES - 1], classes - 1);
        assert_int_equal(tensor_file_find(&d.files[0], "labels")->type,
                         classes > 256 ? TENSOR_U32 : TENSOR_U8);
        dataset_release(&d);
        write_shards(x, 2, 5);
        assert_int_equal(dataset_read(x->folder, &d, NULL), STATUS_OK);
        uint32_t largest = 0;
        for (uint32_t k = 0; k < d.samples; k++)
            if (d.labels[k] > largest) largest = d.labels[k];
        assert_int_equal(largest, classes - 1);
        dataset_release(&d);
    }
    write_classes(x, LABELS_MAX_CLASSES + 1);
    expect_refusal(x->file, x->file, "1001 classes in the metadata, expected 1 to 1000");
}

static void names_of_shards(void **state) {
    (void)state;
    int shard, shards;
    assert_true(shard_files_parse_name("shard-00002-of-00004.st.zst", &shard, &shards));
    assert_int_equal(shard, 2);
    assert_int_equal(shards, 4);
    static const char *const bad[] = {
        "shard-00004-of-00004.st.zst",
        "shard-2-of-4.st.zst",
        "train.st.zst",
        "shard-00002-of-00004.st.zst~",
        "shard-00000-of-00000.st.zst",
        "shard--0001-of-00004.st.zst",
        "shard-00000-of-09999.st.zst",
        "shard-00002-of-00004",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(shard_files_parse_name(bad[i], &shard, &shards));
}

// With a manifest the samples need not be read; a file that no longer matches it is read whole.
static void header_alone_is_read(void **state) {
    const fixture *x = *state;
    dataset whole, d;
    write_manifest(x);
    assert_int_equal(dataset_read(x->file, &whole, NULL), STATUS_OK);
    assert_int_equal(dataset_read_header(x->file, &d, NULL), STATUS_OK);
    assert_null(d.pixels);
    assert_null(d.files[0].tensors[0].data);
    assert_int_equal(d.samples, whole.samples);
    assert_int_equal(d.classes, whole.classes);
    assert_int_equal(d.height, HEIGHT);
    assert_string_equal(d.source, whole.source);
    dataset_release(&d);
    write_file(x); // after the manifest
    assert_int_equal(dataset_read_header(x->file, &d, NULL), STATUS_OK);
    assert_int_equal(d.labels[4], whole.labels[4]);
    dataset_release(&d);
    dataset_release(&whole);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(written_datasets_read_back),
        IN_FOLDER(shards_match_the_partition_in_memory),
        IN_FOLDER(samples_left_out_are_not_dealt),
        IN_FOLDER(samples_are_left_out_by_their_ids),
        IN_FOLDER(partition_follows_the_permutation),
        IN_FOLDER(partition_refuses_another_one),
        IN_FOLDER(refuses_incomplete_shards),
        IN_FOLDER(refuses_mixed_deals),
        IN_FOLDER(refuses_bad_metadata),
        IN_FOLDER(refuses_bad_tensors),
        IN_FOLDER(header_alone_is_read),
        IN_FOLDER(label_width_follows_the_class_count),
        cmocka_unit_test(names_of_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
