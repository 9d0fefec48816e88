// SPDX-License-Identifier: MIT
#include "data/source/fetch_tool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cli.h"
#include "base/memory.h"
#include "data/labels.h"
#include "data/source/mirrors.h"

enum { BITS = 1 }; // raise when equal members give other outputs than before

typedef struct arguments {
    const fetch_tool *tool;
    const char *dataset, *mirrors, *classes;
    cli_list from;
    raw_output output;
} arguments;

// The classes of --classes. They are looked for before anything is downloaded.
typedef struct choice {
    yaml_node *wanted; // NULL: all
    const char **names;
    char dataset[DATASET_NAME_BYTES];
} choice;

static status choose(const arguments *a, const member_set *set, choice *c, error *err) {
    size_t count, *chosen = NULL;
    const char *const *names = a->tool->class_names(set, &count);
    if (!a->classes) return STATUS_OK;
    status rc = STATUS_OK;
    c->wanted = labels_split(a->classes);
    c->names = memory_new(c->wanted->count, sizeof *c->names);
    chosen = memory_new(c->wanted->count, sizeof *chosen);
    rc = labels_choose(c->wanted, names, count, chosen, err);
    // Results on a part of the classes must not pass for results on all.
    snprintf(c->dataset, sizeof c->dataset, "%s-%zu-classes", a->dataset, c->wanted->count);
    free(chosen);
    return rc;
}

static void choice_release(choice *c) {
    yaml_free(c->wanted);
    free(c->names);
}

static void describe(const arguments *a, const member_set *set, const choice *c, manifest *m) {
    members_describe_pins(set, m);
    if (c->wanted) yaml_put(manifest_parameters(m), "classes", yaml_copy(c->wanted));
    raw_output_describe(&a->output, m);
}

static status fetch(void *arguments_of_main, const cli_call *call, error *err) {
    arguments *a = arguments_of_main;
    const fetch_tool *t = a->tool;
    raw_dataset raw = {0};
    member_origin origin;
    manifest m = {0};
    mirrors mirrored = {0};
    choice c = {0};
    const char *const *sources = a->from.items;
    size_t source_count = a->from.count;
    status rc;
    const member_set *set = t->find(a->dataset);
    if (!set)
        return error_set(err, STATUS_USAGE, "bad value of --dataset: '%s': expected %s", a->dataset,
                         t->datasets);
    if (a->mirrors && source_count)
        return error_set(err, STATUS_USAGE, "--mirrors and --from exclude each other");
    TRY(choose(a, set, &c, err));
    TRY(manifest_begin(&m, t->name, BITS, call->argc, call->argv, err));
    describe(a, set, &c, &m);
    if (a->output.print_key) {
        TRY(manifest_print_key(&m, err));
        goto out;
    }
    if (!source_count) {
        TRY(mirrors_read(&mirrored, a->mirrors, a->dataset, err));
        sources = mirrored.urls;
        source_count = mirrored.count;
    }
    TRY(raw_output_open(&a->output, a->mirrors, a->from.items, a->from.count, call->log, err));
    TRY(t->read(set, sources, source_count, call->log, &raw, &origin, err));
    members_describe_origin(set, &origin, &m);
    if (c.wanted) {
        TRY(raw_dataset_keep(&raw, c.wanted, c.names, err));
        raw.name = c.dataset;
    }
    TRY(raw_dataset_write(&raw, &a->output, call->log, &m, err));
out:
    mirrors_release(&mirrored);
    raw_output_close(&a->output);
    raw_dataset_release(&raw);
    choice_release(&c);
    manifest_release(&m);
    return rc;
}

int fetch_tool_main(const fetch_tool *t, int argc, char **argv) {
    arguments a = {.tool = t, .dataset = t->dataset, .output = {.lock = -1}};
    const cli_option options[] = {
        {"dataset", CLI_STRING, &a.dataset, "NAME", t->dataset_help, 0, 0},
        {"from", CLI_LIST, &a.from, "SOURCE", t->from_help, 0, 0},
        {"mirrors", CLI_STRING, &a.mirrors, "FILE",
         "addresses to try without --from (default: the tools' mirrors.yaml)", 0, 0},
        {"classes", CLI_STRING, &a.classes, "A,B,C",
         "keep only these classes, with labels in this order", 0, 0},
        RAW_OUTPUT_OPTIONS(a.output),
        {0},
    };
    const cli_tool tool = {
        .name = t->name, .usage = t->usage, .options = options, .notes = t->notes};
    const int code = cli_main(&tool, argc, argv, fetch, &a);
    cli_list_release(&a.from);
    return code;
}
