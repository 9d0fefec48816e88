// SPDX-License-Identifier: MIT
// import-images - your own pictures, from a folder of class folders or from arrays to tensor files.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cli.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "data/base_rate.h"
#include "data/images/earlier_import.h"
#include "data/images/image.h"
#include "data/images/image_import.h"
#include "data/images/image_resize.h"
#include "data/images/image_source.h"
#include "data/images/starter.h"
#include "data/labels.h"
#include "data/source/archive.h"
#include "data/source/dataset_list.h"
#include "experiment/lookup.h"
#include "nn/model.h"

enum { BITS = 1 }; // raise when equal pictures give different outputs than before

static const double TEST_FRACTION = 0.2; // unless --test-fraction is given

typedef struct arguments {
    cli_list sources;
    const char *from; // the only one
    const char *name, *classes;
    int64_t size, channels, seed;
    double test_fraction;
    raw_output output;
    // Derived from them:
    bool fraction_given, seed_given;
    char *own_name;
    yaml_node *wanted;   // of --classes; NULL: all
    const char **chosen; // of arrays: their names
    image_source source;
} arguments;

static const char NOTES[] =
    "DIR contains one folder of .jpg, .jpeg and .png files per class; or it contains\n"
    "train/ and test/ (or val/), each with such folders, and then nothing is split.\n"
    "Pictures in folders inside a class folder belong to the class. An archive (such\n"
    "as .zip or .tar.gz) of such a folder is read as the folder is. Every picture is\n"
    "resized so that its shorter side is N, and cropped to the centre square.\n"
    "\n"
    "FILE.npz contains unsigned bytes x [N,H,W], [N,H,W,C] or [N,C,H,W] and labels y,\n"
    "or x_train, y_train, x_test and y_test (or such names as train_images). DIR, or\n"
    "an archive, may contain IDX files instead, such as train-images-idx3-ubyte of\n"
    "MNIST's like, plain or as .gz. Without --size, arrays are not resized.\n"
    "\n"
    "What is not imported is listed on standard error and in the manifest: unreadable\n"
    "pictures, other files, folders and arrays. DIR/NAME.yaml is an experiment to\n"
    "begin with, and DIR/models/NAME.yaml its model; those that you have edited stay.\n"
    "Other data in DIR, of an earlier import, are kept in DIR-KEY6 beside it.\n"
    "\n"
    "Examples:\n"
    "  lockstep import-images --from flowers --size 64 --out data/flowers\n"
    "  lockstep import-images --from digits.npz --name digits --out data/digits\n"
    "\n"
    "Exit codes: 0 done; 1 disk error; 2 usage; 3 the source was refused, or a class\n"
    "has no readable picture.";

// ---- The command line ----

// The base name, without .npz or .tar.gz.
static void default_name(arguments *a) {
    size_t end = strlen(a->from), begin;
    while (end > 1 && a->from[end - 1] == '/') end--;
    for (begin = end; begin > 0 && a->from[begin - 1] != '/';) begin--;
    const char *name = a->from + begin;
    size_t length = end - begin, cut;
    while (a->source.is_file && (cut = archive_ending(name, length))) length -= cut;
    if (a->source.is_file && length > 4 && strncasecmp(name + length - 4, ".npz", 4) == 0)
        length -= 4;
    a->own_name = memory_format("%.*s", (int)length, name);
    a->name = a->own_name;
}

static status check_name(arguments *a, error *err) {
    const bool given = a->name != NULL;
    if (!given) default_name(a);
    const char *namesake = dataset_namesake(a->name);
    if (namesake)
        return error_set(err, STATUS_USAGE,
                         "cannot name the data set '%s': it would pass for '%s', which experiments "
                         "%s: pass another name, such as --name my-%s",
                         a->name, namesake, dataset_find(namesake) ? "fetch" : "draw", a->name);
    if (paths_is_plain_name(a->name) && strlen(a->name) < DATASET_NAME_BYTES) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s '%.200s': the name of a data set has 1 to %d letters, digits, '.', '_' "
                     "and '-', and does not begin with '.' or '-'%s",
                     given ? "bad value of --name:" : "cannot name the data set", a->name,
                     DATASET_NAME_BYTES - 1, given ? "" : ": pass --name");
}

static status check(arguments *a, error *err) {
    if (a->sources.count != 1)
        return error_set(
            err, STATUS_USAGE, "--from is %s: pass %s",
            a->sources.count ? "given twice" : "missing",
            a->sources.count
                ? "one folder or file; several make several data sets"
                : "a folder of class folders or of IDX files, an archive of it, or a .npz file");
    a->from = a->sources.items[0];
    if (a->channels == 2)
        return error_set(err, STATUS_USAGE, "bad value of --channels: expected 1 or 3");
    a->fraction_given = !isnan(a->test_fraction);
    a->seed_given = a->seed >= 0;
    if (!a->fraction_given) a->test_fraction = TEST_FRACTION;
    if (!a->seed_given) a->seed = 0;
    if (!(a->test_fraction > 0 && a->test_fraction < 1))
        return error_set(err, STATUS_USAGE,
                         "bad value of --test-fraction: %g: expected a number above 0 and below 1",
                         a->test_fraction);
    if (!a->output.print_key && raw_output_check(&a->output, err) != STATUS_OK) return STATUS_USAGE;
    NEED(image_source_open(a->from, &a->source, err));
    if (a->source.kind == SOURCE_PICTURES && !a->size)
        return error_set(err, STATUS_USAGE,
                         "--size is missing: pass the width and height of the images in pixels");
    if (a->classes) {
        a->wanted = labels_split(a->classes);
        a->chosen = memory_new(a->wanted->count, sizeof *a->chosen);
    }
    return check_name(a, err);
}

// ---- The manifest ----

static void describe_folder(const image_folder *f, yaml_node *parameters) {
    char hash[SHA256_TEXT_BYTES];
    yaml_node *files = yaml_new(YAML_MAPPING);
    image_folder_hash(f, hash);
    yaml_put(files, "count", yaml_new_integer((int64_t)(f->lists[0].count + f->lists[1].count)));
    yaml_put(files, "sha256", yaml_new_string(hash));
    yaml_put(parameters, "files", files);
}

static status describe_file(const char *path, manifest *m, error *err) {
    char hash[SHA256_TEXT_BYTES];
    struct stat st;
    if (stat(path, &st) != 0)
        return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
    const manifest_file file = {.path = path, .bytes = (uint64_t)st.st_size, .sha256 = hash};
    NEED(sha256_file(path, hash, err));
    manifest_add_input(m, &file);
    return STATUS_OK;
}

static status describe_source(const arguments *a, manifest *m, error *err) {
    const image_source *s = &a->source;
    status rc = STATUS_OK;
    if (s->is_file) return describe_file(a->from, m, err);
    if (s->kind == SOURCE_PICTURES) describe_folder(&s->folder, manifest_parameters(m));
    for (size_t i = 0; rc == STATUS_OK && i < s->idx.names.count; i++) {
        char *path = memory_format("%s/%s", a->from, s->idx.names.items[i]);
        rc = describe_file(path, m, err);
        free(path);
    }
    return rc;
}

static status describe(const arguments *a, manifest *m, error *err) {
    yaml_node *p = manifest_parameters(m);
    yaml_put(p, "dataset", yaml_new_string(a->name));
    yaml_put(p, "size", yaml_new_integer(a->size));
    yaml_put(p, "channels", yaml_new_integer(a->channels));
    if (a->wanted) yaml_put(p, "classes", yaml_copy(a->wanted));
    if (!a->source.folder.is_split) {
        yaml_put(p, "test_fraction", yaml_new_number(a->test_fraction));
        yaml_put(p, "seed", yaml_new_integer(a->seed));
    }
    NEED(describe_source(a, m, err));
    raw_output_describe(&a->output, m);
    return STATUS_OK;
}

// Appends what was left out. A manifest is UTF-8; names of files may be anything.
static void append_left(yaml_node *list, const image_left *left) {
    yaml_node *one = yaml_new(YAML_MAPPING);
    char *path = text_escaped(left->path);
    char *why = text_escaped(left->why ? left->why : "?");
    yaml_append(list, one);
    yaml_put(one, "path", yaml_new_string(path));
    if (left->files) {
        yaml_put(one, "files", yaml_new_integer((int64_t)left->files));
        yaml_put(one, "pictures", yaml_new_integer((int64_t)left->pictures));
    }
    yaml_put(one, "why", yaml_new_string(why));
    free(path);
    free(why);
}

// Appends the arrays and files that are left out.
static void describe_unused(const strvec *names, yaml_node *results) {
    if (!names->count) return;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < names->count && i < IMAGE_IMPORT_NAMED; i++)
        append_left(
            list, &(image_left){.path = names->items[i], .why = "in no pair of images and labels"});
    yaml_put(results, "left_out", list);
}

static void describe_left(const image_left *left, size_t count, const char *key,
                          yaml_node *results) {
    if (!count) return;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < count && i < IMAGE_IMPORT_NAMED; i++) append_left(list, &left[i]);
    yaml_put(results, key, list);
}

// The images of each class in a split.
static int64_t *count_classes(const raw_dataset *d, int split) {
    int64_t *counts = memory_new((size_t)d->classes, sizeof *counts);
    for (uint32_t i = 0; i < d->splits[split].samples; i++) counts[d->splits[split].labels[i]]++;
    return counts;
}

static void describe_classes(const raw_dataset *d, int split, const char *key, yaml_node *results) {
    int64_t *counts = count_classes(d, split);
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    list->flow = true;
    for (int k = 0; k < d->classes; k++) yaml_append(list, yaml_new_integer(counts[k]));
    yaml_put(results, key, list);
    free(counts);
}

static void describe_result(const arguments *a, const import_result *r, const raw_dataset *kept,
                            manifest *m) {
    yaml_node *results = manifest_results(m), *run = manifest_run(m);
    yaml_node *decoders = yaml_new(YAML_MAPPING);
    yaml_put(run, "decoders", decoders);
    yaml_put(decoders, "libjpeg", yaml_new_string(image_jpeg_version()));
    yaml_put(decoders, "libpng", yaml_new_string(image_png_version()));
    yaml_put(results, "classes", yaml_new_integer(kept->classes));
    describe_classes(kept, RAW_TRAIN, "train_per_class", results);
    describe_classes(kept, RAW_TEST, "test_per_class", results);
    yaml_put(results, "unreadable_count", yaml_new_integer((int64_t)r->unreadable));
    describe_left(r->named, r->unreadable, "unreadable", results);
    if (r->faulty) yaml_put(results, "faulty_count", yaml_new_integer((int64_t)r->faulty));
    yaml_put(results, "passed_over",
             yaml_new_integer((int64_t)image_folder_left(&a->source.folder) + r->left_out));
    describe_left(a->source.folder.left, a->source.folder.left_count, "left_out", results);
    describe_unused(&r->unused, results);
}

// ---- The work ----

// Says which folders were taken, unless they are the ones that --from and --help name.
static void log_parts(const image_folder *f, const logger *log) {
    if (f->is_split && (strcmp(f->parts[0], "train") != 0 || strcmp(f->parts[1], "test") != 0))
        log_info(log, "training images: '%s'; test images: '%s'", f->parts[0], f->parts[1]);
    else if (!f->is_split && f->parts[0] && *f->parts[0])
        log_info(log, "all images: '%s', the only folder of class folders", f->parts[0]);
    if (f->alike[0])
        log_warn(log,
                 "classes '%s' and '%s' differ in case or blanks alone: if they are one, put "
                 "their pictures into one folder",
                 f->alike[0], f->alike[1]);
    if (f->inner)
        log_info(log,
                 "pictures in folders inside a class folder, which belong to the class: %zu, "
                 "first '%s'",
                 f->inner, f->first_inner);
}

// How many images a class has and, where that differs, what always answering one class gives.
static void log_classes(const raw_dataset *d, const logger *log) {
    int64_t *train = count_classes(d, RAW_TRAIN), *test = count_classes(d, RAW_TEST);
    const base_rate b = base_rate_find(test, d->classes);
    int least = 0, most = 0;
    for (int k = 0; k < d->classes; k++) {
        if (train[k] + test[k] < train[least] + test[least]) least = k;
        if (train[k] + test[k] > train[most] + test[most]) most = k;
    }
    const long long few = train[least] + test[least], many = train[most] + test[most];
    if (few == many)
        log_info(log, "images of each class: %lld", many);
    else
        log_info(
            log,
            "images of a class: from %lld ('%s') to %lld ('%s'); always answering '%s' is right "
            "for %.2f %% of the test images",
            few, d->class_names[least], many, d->class_names[most], d->class_names[b.label],
            100 * base_rate_share(&b));
    free(train);
    free(test);
}

// Names what is left out; --classes says itself which classes are.
static void log_left(const image_folder *f, const logger *log) {
    for (size_t i = 0; i < f->left_count && i < IMAGE_IMPORT_NAMED; i++) {
        const image_left *left = &f->left[i];
        if (left->kind == LEFT_FOLDER)
            log_warn(log, "left out folder '%s', pictures in it: %zu: %s", left->path,
                     left->pictures, left->why);
        else if (left->kind != LEFT_UNCHOSEN)
            log_warn(log, "files left out: %zu, first '%s': %s", left->files, left->path,
                     left->why);
    }
    if (f->left_count > IMAGE_IMPORT_NAMED)
        log_warn(log, "left out, and not named here: %zu more folders",
                 f->left_count - IMAGE_IMPORT_NAMED);
}

// Says which options the source's own split leaves without a use.
static void log_idle(const arguments *a, bool split, const logger *log) {
    const bool fraction = a->fraction_given, seed = a->seed_given;
    if (split && (fraction || seed))
        log_warn(log, "%s%s%s: without effect, since the source has its own split",
                 fraction ? "--test-fraction" : "", fraction && seed ? " and " : "",
                 seed ? "--seed" : "");
}

static void log_summary(const arguments *a, const import_result *r, const raw_dataset *kept,
                        const logger *log) {
    log_parts(&a->source.folder, log);
    log_idle(a, r->split, log);
    log_left(&a->source.folder, log);
    if (r->faulty)
        log_warn(log, "pictures with faults that cost no pixels: %zu, first '%s': %s", r->faulty,
                 r->first_faulty, r->fault);
    if (r->unreadable) log_warn(log, "unreadable files left out: %zu", r->unreadable);
    log_info(log, "'%s': %d classes, %u training images, %u test images", a->name, kept->classes,
             kept->splits[RAW_TRAIN].samples, kept->splits[RAW_TEST].samples);
    log_classes(kept, log);
}

// Says how to train by the experiment at `path`: by its name, unless that finds none or another.
static void log_command(const char *name, const char *path, const logger *log) {
    char *found = NULL;
    const bool by_name = lookup_word(name, &found, NULL) == STATUS_OK && paths_same(found, path);
    char *quoted = shell_quote(by_name ? name : path);
    if (found && !by_name)
        log_warn(log, "'%s' alone is the name of '%s': type the path of yours", name, found);
    log_info(log, "to train on these images: %s%s",
             cli_front() ? "lockstep experiment " : "make experiment EXP=", quoted);
    free(quoted);
    free(found);
}

// The model that was left may be for other images.
static void check_model(const char *folder, const raw_dataset *d, const logger *log) {
    char *path = memory_format("%s/models/%s.yaml", folder, d->name);
    model m = {0};
    if (model_read(&m, path, NULL) == STATUS_OK) {
        const shape *in = &m.program.input;
        if (in->channels != d->channels || in->height != d->height || in->width != d->width ||
            m.program.classes != d->classes)
            log_warn(log,
                     "'%s' is for %d classes of %d×%d×%d, and the images are %d classes of "
                     "%d×%d×%d: edit it, or remove it and import again",
                     path, m.program.classes, in->channels, in->height, in->width, d->classes,
                     d->channels, d->height, d->width);
    }
    model_release(&m);
    free(path);
}

// After a data set for training, the next command is to train.
static status begin_experiment(const arguments *a, const earlier_import *e, const raw_dataset *data,
                               const logger *log, error *err) {
    const dataset *d = &e->training;
    const raw_dataset before = {.name = d->name,
                                .channels = d->channels,
                                .height = d->height,
                                .width = d->width,
                                .classes = d->classes,
                                .splits[RAW_TRAIN].samples = d->samples};
    char *path = NULL;
    bool kept = false;
    const status rc =
        starter_write(data, d->samples ? &before : NULL, a->output.out, &path, &kept, err);
    if (kept) {
        log_info(log, "'%s' and its model: files that were there are left as they are", path);
        check_model(a->output.out, data, log);
    }
    if (rc == STATUS_OK) log_command(a->name, path, log);
    free(path);
    return rc;
}

// Writes the data set, and keeps another one that is in the folder.
static status write_all(const arguments *a, const raw_dataset *data, const import_result *r,
                        manifest *m, const logger *log, error *err) {
    earlier_import e = {0};
    status rc = STATUS_OK;
    if (!a->output.split) TRY(earlier_import_keep(a->output.out, m, &e, err));
    TRY(raw_dataset_write(data, &a->output, log, m, err));
    earlier_import_settle(&e, m);
    log_summary(a, r, data, log);
    if (e.kept)
        log_info(log, "'%s' held another data set, which is kept in '%s'", a->output.out, e.kept);
    if (!a->output.split) rc = begin_experiment(a, &e, data, log, err);
out:
    earlier_import_release(&e);
    return rc;
}

static status import(void *arguments_of_main, const cli_call *call, error *err) {
    arguments *a = arguments_of_main;
    import_result r = {0};
    manifest m = {0};
    status rc;
    TRY(check(a, err));
    const image_import settings = {.name = a->name,
                                   .size = (int)a->size,
                                   .channels = (int)a->channels,
                                   .test_fraction = a->test_fraction,
                                   .seed = (uint64_t)a->seed};
    TRY(image_source_list(a->from, a->wanted, &a->source, err));
    if (!a->output.print_key) TRY(raw_output_open(&a->output, NULL, &a->from, 1, call->log, err));
    TRY(manifest_begin(&m, call->log->tool, BITS, call->argc, call->argv, err));
    TRY(describe(a, &m, err));
    if (a->output.print_key) {
        TRY(manifest_print_key(&m, call->answers, err));
        goto out;
    }
    const bool arrays = a->source.kind != SOURCE_PICTURES;
    const idx_files *idx = a->source.kind == SOURCE_IDX ? &a->source.idx : NULL;
    TRY(arrays ? import_arrays(a->from, idx, &settings, call->log, &r, err)
               : import_folder(&a->source.folder, &settings, call->log, &r, err));
    raw_dataset kept = r.data; // r owns its memory
    if (arrays && a->wanted) TRY(raw_dataset_keep(&kept, a->wanted, a->chosen, err));
    describe_result(a, &r, &kept, &m);
    rc = write_all(a, &kept, &r, &m, call->log, err);
out:
    raw_output_close(&a->output, rc);
    import_release(&r);
    image_source_release(&a->source);
    manifest_release(&m);
    yaml_free(a->wanted);
    free(a->chosen);
    free(a->own_name);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.test_fraction = (double)NAN, .seed = -1};
    const cli_option options[] = {
        {"from", CLI_LIST, &a.sources, "DIR|FILE",
         "folder of class folders, archive of it, or file of arrays", 0, 0},
        {"size", CLI_INTEGER, &a.size, "N", "width and height of the images, in pixels", 1,
         IMAGE_RESIZE_MAX},
        {"channels", CLI_INTEGER, &a.channels, "C",
         "3: red, green, blue; 1: grey (default 3; arrays: unchanged)", 1, 3},
        {"test-fraction", CLI_NUMBER, &a.test_fraction, "F",
         "fraction of each class kept for testing (default 0.2)", 0, 1},
        {"seed", CLI_INTEGER, &a.seed, "S", "seed of the split (default 0)", 0, INT64_MAX},
        {"classes", CLI_STRING, &a.classes, "A,B,C",
         "keep only these classes, with labels in this order", 0, 0},
        {"name", CLI_STRING, &a.name, "NAME",
         "name of the data set in experiments (default: the base name of --from)", 0, 0},
        RAW_OUTPUT_OPTIONS(a.output),
        {0},
    };
    const cli_tool tool = {
        .name = "import-images",
        .usage =
            "--from DIR|ARCHIVE --size N [--test-fraction F] [--seed S] [--name NAME] --out DIR\n"
            "--from FILE.npz|DIR [--size N] [--test-fraction F] [--seed S] [--name NAME] --out DIR",
        .options = options,
        .notes = NOTES,
    };
    const int code = cli_main(&tool, argc, argv, import, &a);
    cli_list_release(&a.sources);
    return code;
}
