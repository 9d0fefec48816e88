// SPDX-License-Identifier: MIT
// import-images - your own pictures, from a folder of class folders or from arrays to tensor files.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cli.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/printable.h"
#include "data/images/image.h"
#include "data/images/image_import.h"
#include "data/images/image_resize.h"

enum { BITS = 1 }; // raise when equal pictures give different outputs than before

typedef struct arguments {
    const char *from, *name;
    int64_t size, channels, seed;
    double test_fraction;
    raw_output output;
    // Derived from them:
    bool arrays; // --from is a file
    uint64_t bytes;
    char *own_name;
    image_folder folder;
} arguments;

static const char NOTES[] =
    "DIR contains one folder of .jpg, .jpeg and .png files per class; or it contains\n"
    "train/ and test/ (or val/), each with such folders, and then nothing is split.\n"
    "Every picture is resized so that its shorter side is N, and cropped to the\n"
    "centre square. FILE.npz contains unsigned bytes x [N,H,W], [N,H,W,C] or\n"
    "[N,C,H,W] and labels y (or images and labels), or x_train, y_train, x_test and\n"
    "y_test; without --size they are not resized. Unreadable pictures are left out,\n"
    "and listed on standard error and in the manifest.\n"
    "\n"
    "Examples:\n"
    "  lockstep import-images --from flowers --size 64 --out data/flowers\n"
    "  lockstep import-images --from digits.npz --name digits --out data/digits\n"
    "\n"
    "Exit codes: 0 done; 1 disk error; 2 usage; 3 the source was refused, or a class\n"
    "has no readable picture.";

// ---- The command line ----

// The base name, without .npz.
static status default_name(arguments *a, error *err) {
    size_t end = strlen(a->from), begin;
    while (end > 1 && a->from[end - 1] == '/') end--;
    for (begin = end; begin > 0 && a->from[begin - 1] != '/';) begin--;
    if (a->arrays && end - begin > 4 && strncmp(a->from + end - 4, ".npz", 4) == 0) end -= 4;
    a->own_name = memory_format(err, "%.*s", (int)(end - begin), a->from + begin);
    a->name = a->own_name;
    return a->own_name ? STATUS_OK : STATUS_FAILED;
}

static status check_name(arguments *a, error *err) {
    const bool given = a->name != NULL;
    if (!given && default_name(a, err) != STATUS_OK) return STATUS_FAILED;
    if (name_is_plain(a->name) && strlen(a->name) < DATASET_NAME_BYTES) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s '%.200s': the name of a data set has 1 to %d letters, digits, '.', '_' "
                     "and '-', and does not begin with '.' or '-'%s",
                     given ? "bad value of --name:" : "cannot name the data set", a->name,
                     DATASET_NAME_BYTES - 1, given ? "" : ": pass --name");
}

static status check(arguments *a, error *err) {
    struct stat st;
    if (!a->from)
        return error_set(err, STATUS_USAGE,
                         "--from is missing: pass a folder of class folders, or a .npz file");
    if (a->channels == 2)
        return error_set(err, STATUS_USAGE, "bad value of --channels: expected 1 or 3");
    if (!(a->test_fraction > 0 && a->test_fraction < 1))
        return error_set(err, STATUS_USAGE,
                         "bad value of --test-fraction: %g: expected a number above 0 and below 1",
                         a->test_fraction);
    if (!a->output.print_key && raw_output_check(&a->output, err) != STATUS_OK) return STATUS_USAGE;
    if (stat(a->from, &st) != 0)
        return error_set(err, STATUS_INPUT, "cannot read: '%s': No such file or directory",
                         a->from);
    a->arrays = !S_ISDIR(st.st_mode);
    a->bytes = (uint64_t)st.st_size;
    if (!a->arrays && !a->size)
        return error_set(err, STATUS_USAGE,
                         "--size is missing: pass the width and height of the images in pixels");
    return check_name(a, err);
}

// ---- The manifest ----

static status describe_folder(const arguments *a, yaml_node *parameters, error *err) {
    char hash[SHA256_TEXT_BYTES];
    yaml_node *files = yaml_new(YAML_MAPPING, err);
    const int64_t count = (int64_t)(a->folder.lists[0].count + a->folder.lists[1].count);
    status rc = STATUS_FAILED;
    if (!files) return rc;
    TRY(image_folder_hash(&a->folder, hash, err));
    TRY(yaml_put(files, "count", yaml_new_integer(count, err), err));
    TRY(yaml_put(files, "sha256", yaml_new_string(hash, err), err));
    return yaml_put(parameters, "files", files, err);
out:
    yaml_free(files);
    return rc;
}

static status describe_file(const arguments *a, manifest *m, error *err) {
    char hash[SHA256_TEXT_BYTES];
    const manifest_file file = {.path = a->from, .bytes = a->bytes, .sha256 = hash};
    const status rc = sha256_file(a->from, hash, err);
    return rc == STATUS_OK ? manifest_add_input(m, &file, err) : rc;
}

static status describe(const arguments *a, manifest *m, error *err) {
    yaml_node *p = manifest_parameters(m);
    status rc;
    TRY(yaml_put(p, "dataset", yaml_new_string(a->name, err), err));
    TRY(yaml_put(p, "size", yaml_new_integer(a->size, err), err));
    TRY(yaml_put(p, "channels", yaml_new_integer(a->channels, err), err));
    if (!a->folder.is_split) {
        TRY(yaml_put(p, "test_fraction", yaml_new_number(a->test_fraction, err), err));
        TRY(yaml_put(p, "seed", yaml_new_integer(a->seed, err), err));
    }
    TRY(a->arrays ? describe_file(a, m, err) : describe_folder(a, p, err));
    TRY(raw_output_describe(&a->output, m, err));
out:
    return rc;
}

static status describe_unreadable(const import_result *r, yaml_node *results, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = STATUS_FAILED;
    if (!list) return rc;
    for (size_t i = 0; i < r->unreadable && i < IMAGE_IMPORT_NAMED; i++) {
        // A manifest is UTF-8; file names may be anything.
        const char *path = r->named[i].path, *why = r->named[i].why;
        yaml_node *one = yaml_new(YAML_MAPPING, err);
        TRY(yaml_append(list, one, err));
        TRY(yaml_put(one, "path", yaml_new_string(printable_is_utf8(path) ? path : "?", err), err));
        TRY(yaml_put(one, "why", yaml_new_string(why && printable_is_utf8(why) ? why : "?", err),
                     err));
    }
    return yaml_put(results, "unreadable", list, err);
out:
    yaml_free(list);
    return rc;
}

static status describe_result(const arguments *a, const import_result *r, manifest *m, error *err) {
    yaml_node *results = manifest_results(m), *run = manifest_run(m);
    yaml_node *decoders = yaml_new(YAML_MAPPING, err);
    status rc;
    TRY(yaml_put(run, "decoders", decoders, err));
    TRY(yaml_put(decoders, "libjpeg", yaml_new_string(image_jpeg_version(), err), err));
    TRY(yaml_put(decoders, "libpng", yaml_new_string(image_png_version(), err), err));
    TRY(yaml_put(results, "classes", yaml_new_integer(r->data.classes, err), err));
    TRY(yaml_put(results, "unreadable_count", yaml_new_integer((int64_t)r->unreadable, err), err));
    if (r->unreadable) TRY(describe_unreadable(r, results, err));
    TRY(yaml_put(results, "passed_over", yaml_new_integer((int64_t)a->folder.passed_over, err),
                 err));
out:
    return rc;
}

// ---- The work ----

static void log_summary(const arguments *a, const import_result *r, const logger *log) {
    if (a->folder.passed_over)
        log_warn(log, "files skipped, neither .jpg, .jpeg nor .png: %zu, first '%s'",
                 a->folder.passed_over, a->folder.first_passed_over);
    if (r->unreadable) log_warn(log, "unreadable files left out: %zu", r->unreadable);
    log_info(log, "'%s': %d classes, %u training images, %u test images", a->name, r->data.classes,
             r->data.splits[RAW_TRAIN].samples, r->data.splits[RAW_TEST].samples);
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
    if (!a->arrays) TRY(image_folder_list(a->from, &a->folder, err));
    if (!a->output.print_key) TRY(raw_output_open(&a->output, NULL, &a->from, 1, err));
    TRY(manifest_begin(&m, call->log->tool, BITS, call->argc, call->argv, err));
    TRY(describe(a, &m, err));
    if (a->output.print_key) {
        TRY(manifest_print_key(&m, err));
        goto out;
    }
    TRY(a->arrays ? import_arrays(a->from, &settings, &r, err)
                  : import_folder(&a->folder, &settings, call->log, &r, err));
    TRY(describe_result(a, &r, &m, err));
    TRY(raw_dataset_write(&r.data, &a->output, &m, err));
    log_summary(a, &r, call->log);
out:
    raw_output_close(&a->output);
    import_release(&r);
    image_folder_release(&a->folder);
    manifest_release(&m);
    free(a->own_name);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.test_fraction = 0.2, .output = {.lock = -1}};
    const cli_option options[] = {
        {"from", CLI_STRING, &a.from, "DIR|FILE.npz", "folder of class folders, or file of arrays",
         0, 0},
        {"size", CLI_INTEGER, &a.size, "N", "width and height of the images, in pixels", 1,
         IMAGE_RESIZE_MAX},
        {"channels", CLI_INTEGER, &a.channels, "C",
         "3: red, green, blue; 1: grey (default 3; arrays: unchanged)", 1, 3},
        {"test-fraction", CLI_NUMBER, &a.test_fraction, "F",
         "fraction of each class kept for testing (default 0.2)", 0, 1},
        {"seed", CLI_INTEGER, &a.seed, "S", "seed of the split (default 0)", 0, INT64_MAX},
        {"name", CLI_STRING, &a.name, "NAME",
         "name of the data set in experiments (default: the base name of --from)", 0, 0},
        RAW_OUTPUT_OPTIONS(a.output),
        {0},
    };
    const cli_tool tool = {
        .name = "import-images",
        .usage =
            "--from DIR --size N [--test-fraction F] [--seed S] [--name NAME] --out DIR\n"
            "--from FILE.npz [--size N] [--test-fraction F] [--seed S] [--name NAME] --out DIR",
        .options = options,
        .notes = NOTES,
    };
    return cli_main(&tool, argc, argv, import, &a);
}
