// SPDX-License-Identifier: MIT
#include "data/source/fetch_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plugin.h"
#include "base/text.h"
#include "data/labels.h"
#include "data/source/dataset_readers.h"
#include "data/source/download.h"

enum { BITS = 1 }; // raise when equal members give other outputs than before

static const char COMMON_NOTES[] =
    "--from may be repeated: the sources are tried in order. Without --from, the tool\n"
    "tries the addresses in the file that --mirrors or LOCKSTEP_MIRRORS names, or in\n"
    "the mirrors.yaml that came with the tools. https_proxy in the environment sets a\n"
    "proxy.\n"
    "\n"
    "With --classes the data set has another name, such as cifar10-2-classes.\n";
static const char EXIT_CODES[] =
    "Exit codes: 0 done; 1 network or disk error; 2 usage; 3 a source or a file was\n"
    "refused.";

// In the order of dataset_list.
static dataset_reader *const readers[DATASETS] = {
#define DATASET(reader, ...) reader,
#include "data/source/datasets.inc"
#undef DATASET
};

// What each of the tools says of itself.
typedef struct fetch_tool {
    const char *name;
    const char *from_help;          // of --from
    const char *sources, *examples; // for --help: what a source may be; lines of at most 80 columns
} fetch_tool;

typedef struct arguments {
    const fetch_tool *tool;
    const char *names; // of its data sets: "cifar10|cifar100"
    const char *dataset, *mirrors, *classes;
    cli_list from;
    raw_output output;
} arguments;

// ---- Mirrors ----

// Where a data set is published: a small file of addresses (share/mirrors.yaml), which users
// extend. Downloads are checked by pins in the tools, from whatever address they come.
typedef struct mirrors {
    yaml_node *root;
    const char **urls; // in file order; owned by `root`
    size_t count;      // 0: the file has no entry for the data set
} mirrors;

static const char MIRRORS_SCHEMA[] = "lockstep.mirrors/1";
static const char MIRRORS_VARIABLE[] = "LOCKSTEP_MIRRORS";

static status check_mirrors(const yaml_node *root, const yaml_node **lists, error *err) {
    static const char *const known[] = {"schema", "mirrors"};
    const char *schema;
    *lists = yaml_find(root, "mirrors");
    if (!yaml_find(root, "schema") || !*lists || (*lists)->kind != YAML_MAPPING)
        return yaml_error(root, err, "expected 'schema' (%s) and 'mirrors' (a list per data set)",
                          MIRRORS_SCHEMA);
    const char *sets[DATASETS];
    for (size_t i = 0; i < DATASETS; i++) sets[i] = dataset_list[i].name;
    status rc = yaml_check_keys(root, known, sizeof known / sizeof *known, err);
    if (rc == STATUS_OK) rc = yaml_check_keys(*lists, sets, DATASETS, err);
    if (rc == STATUS_OK) rc = yaml_string(yaml_find(root, "schema"), "schema", &schema, err);
    if (rc == STATUS_OK && strcmp(schema, MIRRORS_SCHEMA) != 0)
        rc = yaml_error(yaml_find(root, "schema"), err, "'schema': expected %s, got '%s'",
                        MIRRORS_SCHEMA, schema);
    return rc;
}

static status take_list(mirrors *m, const yaml_node *list, const char *name, error *err) {
    if (!list) return STATUS_OK;
    if (list->kind != YAML_SEQUENCE || !list->count)
        return yaml_error(list, err, "'%s': expected a list of URLs", name);
    m->urls = memory_new(list->count, sizeof *m->urls);
    for (; m->count < list->count; m->count++) {
        const yaml_node *item = list->items[m->count];
        status rc = yaml_string(item, name, &m->urls[m->count], err);
        if (rc == STATUS_OK && !download_is_url(item->text))
            rc = yaml_error(item, err, "'%s': expected a URL, got '%s'", name, item->text);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// Reads the addresses of the data set in the file at `path`. If `path` is NULL, the file is
// $LOCKSTEP_MIRRORS, else the one installed with the tools (../share/lockstep/mirrors.yaml), else
// none. STATUS_INPUT, with line and column, for an invalid file or an address that is not a URL.
// Call mirrors_release in any case.
static status mirrors_read(mirrors *m, const char *path, const char *name, error *err) {
    *m = (mirrors){0};
    char *found = NULL;
    const yaml_node *lists;
    const char *named = getenv(MIRRORS_VARIABLE);
    status rc = STATUS_OK;
    if (!path) {
        TRY(plugin_find("mirrors.yaml", MIRRORS_VARIABLE, &found, err));
        if ((!named || !*named) && access(found, F_OK)) goto out;
        path = found;
    }
    TRY(yaml_read_file(path, &m->root, err));
    TRY(check_mirrors(m->root, &lists, err));
    TRY(take_list(m, yaml_find(lists, name), name, err));
out:
    free(found);
    return rc;
}

static void mirrors_release(mirrors *m) {
    free(m->urls);
    yaml_free(m->root);
    *m = (mirrors){0};
}

// ---- The tool ----

// The classes of --classes. They are looked for before anything is downloaded.
typedef struct choice {
    yaml_node *wanted; // NULL: all
    const char **names;
    char dataset[DATASET_NAME_BYTES];
} choice;

static status choose(const arguments *a, const dataset_entry *d, choice *c, error *err) {
    size_t *chosen = NULL;
    if (!a->classes) return STATUS_OK;
    c->wanted = labels_split(a->classes);
    c->names = memory_new(c->wanted->count, sizeof *c->names);
    chosen = memory_new(c->wanted->count, sizeof *chosen);
    status rc = labels_choose(c->wanted, d->class_names, (size_t)d->classes, chosen, err);
    // Results on a part of the classes must not pass for results on all.
    snprintf(c->dataset, sizeof c->dataset, "%s-%zu-classes", a->dataset, c->wanted->count);
    free(chosen);
    return rc;
}

static void choice_release(choice *c) {
    yaml_free(c->wanted);
    free(c->names);
}

static void describe(const arguments *a, const dataset_entry *d, const choice *c, manifest *m) {
    members_describe_pins(d, m);
    if (c->wanted) yaml_put(manifest_parameters(m), "classes", yaml_copy(c->wanted));
    raw_output_describe(&a->output, m);
}

static bool fetches(const fetch_tool *t, const dataset_entry *d) {
    return strcmp(d->tool, t->name) == 0;
}

static status refuse_name(const arguments *a, error *err) {
    const char *others = NULL;
    for (size_t i = 0; i < DATASETS && !others; i++)
        if (fetches(a->tool, &dataset_list[i])) others = dataset_list[i].others;
    return error_set(err, STATUS_USAGE, "bad value of --dataset: '%s': expected %s%s", a->dataset,
                     a->names, others ? others : "");
}

static status fetch(void *arguments_of_main, const cli_call *call, error *err) {
    arguments *a = arguments_of_main;
    const dataset_entry *d = dataset_find(a->dataset);
    raw_dataset raw = {0};
    member_origin origin;
    manifest m = {0};
    mirrors mirrored = {0};
    choice c = {0};
    const char *const *sources = a->from.items;
    size_t source_count = a->from.count;
    status rc;
    if (!d || !fetches(a->tool, d)) return refuse_name(a, err);
    if (a->mirrors && source_count)
        return error_set(err, STATUS_USAGE, "--mirrors and --from exclude each other");
    TRY(choose(a, d, &c, err));
    TRY(manifest_begin(&m, a->tool->name, BITS, call->argc, call->argv, err));
    describe(a, d, &c, &m);
    if (a->output.print_key) {
        TRY(manifest_print_key(&m, call->answers, err));
        goto out;
    }
    if (!source_count) {
        TRY(mirrors_read(&mirrored, a->mirrors, a->dataset, err));
        sources = mirrored.urls;
        source_count = mirrored.count;
    }
    TRY(raw_output_open(&a->output, a->mirrors, a->from.items, a->from.count, call->log, err));
    raw = (raw_dataset){.name = d->name,
                        .channels = d->channels,
                        .height = d->height,
                        .width = d->width,
                        .classes = d->classes,
                        .class_names = d->class_names};
    TRY(readers[d - dataset_list](d, sources, source_count, call->log, &raw, &origin, err));
    TRY(raw_dataset_check_labels(&raw, err));
    members_describe_origin(d, &origin, &m);
    if (c.wanted) {
        TRY(raw_dataset_keep(&raw, c.wanted, c.names, err));
        raw.name = c.dataset;
    }
    TRY(raw_dataset_write(&raw, &a->output, call->log, &m, err));
out:
    mirrors_release(&mirrored);
    raw_output_close(&a->output, rc);
    raw_dataset_release(&raw);
    choice_release(&c);
    manifest_release(&m);
    return rc;
}

// Return the names of its data sets, the first of which is the default, and the lines after the
// options; free() them.
static char *make_names(const fetch_tool *t, const char **first) {
    text names = {0};
    for (size_t i = 0; i < DATASETS; i++) {
        const dataset_entry *d = &dataset_list[i];
        if (!fetches(t, d)) continue;
        if (!names.length) *first = d->name;
        text_format(&names, "%s%s", names.length ? "|" : "", d->name);
    }
    return text_take(&names);
}

static char *make_notes(const fetch_tool *t) {
    text notes = {0};
    text_format(&notes, "%s\n", t->sources);
    for (size_t i = 0; i < DATASETS; i++)
        if (fetches(t, &dataset_list[i]) && dataset_list[i].note)
            text_format(&notes, "%s\n\n", dataset_list[i].note);
    text_format(&notes, "%s\nExamples:\n%s\n%s", COMMON_NOTES, t->examples, EXIT_CODES);
    return text_take(&notes);
}

static status run_tool(const fetch_tool *t, int argc, char **argv, FILE *answers, error *err) {
    arguments a = {.tool = t};
    char *names = make_names(t, &a.dataset), *notes = make_notes(t);
    const cli_option options[] = {
        {"dataset", CLI_STRING, &a.dataset, names, "which one (default: the first)", 0, 0},
        {"from", CLI_LIST, &a.from, "SOURCE", t->from_help, 0, 0},
        {"mirrors", CLI_STRING, &a.mirrors, "FILE",
         "addresses to try without --from (default: the tools' mirrors.yaml)", 0, 0},
        {"classes", CLI_STRING, &a.classes, "A,B,C",
         "keep only these classes, with labels in this order", 0, 0},
        RAW_OUTPUT_OPTIONS(a.output),
        {0},
    };
    const cli_tool tool = {.name = t->name,
                           .usage =
                               "[--dataset NAME] [--from SOURCE]... --out DIR\n"
                               "[--dataset NAME] [--from SOURCE]... --split train|test --out -",
                           .options = options,
                           .notes = notes};
    a.names = names;
    const status rc = cli_run(&tool, argc, argv, answers, fetch, &a, err);
    cli_list_release(&a.from);
    free(names);
    free(notes);
    return rc;
}

// ---- Each of the tools ----

static const fetch_tool cifar = {
    .name = "fetch-cifar",
    .from_help = "a URL, an archive or a folder",
    .sources = "Any packing works (tar or zip; gzip, bzip2, xz, zstd), and so does a folder of\n"
               "unpacked files: the SHA-256 of each file is checked. CIFAR's Python version,\n"
               "packed or unpacked as torchvision leaves it, gives the same files: its records\n"
               "must have these hashes.\n",
    .examples = "  fetch-cifar --out artifacts/data/cifar10\n"
                "  fetch-cifar --from cifar-10-binary.tar.gz --split train --out - |\n"
                "      shard --shards 4 --in - --out shards\n"
                "  fetch-cifar --classes cat,dog --out artifacts/data/cats-and-dogs\n",
};

status fetch_cifar_tool(int argc, char **argv, FILE *answers, error *err) {
    return run_tool(&cifar, argc, argv, answers, err);
}

static const fetch_tool mnist = {
    .name = "fetch-mnist",
    .from_help = "a folder or archive, or the URL of a folder",
    .sources = "--from is a folder or an archive that contains the four IDX files, plain or as\n"
               ".gz, or the URL of a folder that contains the .gz files. A folder made by\n"
               "torchvision works too: the files are found in its MNIST/raw or FashionMNIST/raw.\n"
               "\n"
               "The files are known by their content, so other spellings of their names\n"
               "(train-images.idx3-ubyte) and folders of these names work too.\n",
    .examples = "  lockstep fetch-mnist --out artifacts/data/mnist\n"
                "  lockstep fetch-mnist --dataset fashion-mnist --split test --out - |\n"
                "      lockstep tensor info -\n",
};

status fetch_mnist_tool(int argc, char **argv, FILE *answers, error *err) {
    return run_tool(&mnist, argc, argv, answers, err);
}
