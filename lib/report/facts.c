// SPDX-License-Identifier: MIT
#include "report/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"
#include "report/facts_parts.h"

// ---- Figures ----

static const yaml_node *node_of(const facts *f, const figure *found) {
    return found ? f->figures->items[found - f->results->figures.items] : NULL;
}

const yaml_node *facts_figure(const facts *f, const yaml_node *mapping, const char *key,
                              bool *known) {
    const figure_list *list = &f->results->figures;
    const yaml_node *name = yaml_find(mapping, "name"), *runs = yaml_find(mapping, "runs");
    *known = joint_metrics_find(key) != NULL;
    if (!*known || !name || name->kind != YAML_SCALAR) return NULL;
    const figure *found = figures_of(list, name->text, key);
    if (!found && runs && runs->kind == YAML_SEQUENCE) {
        char *mean = memory_format("mean_%s", key);
        found = figures_of(list, name->text, mean);
        if (!found && runs->count == 1) found = figures_of(list, runs->items[0]->text, key);
        free(mean);
    }
    return node_of(f, found);
}

// ---- Place and time ----

static bool on_several_machines(const run_list *list) {
    const run *first = &list->runs[0];
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->runs[i].host, first->host) != 0 ||
            strcmp(list->runs[i].cpu, first->cpu) != 0)
            return true;
    return false;
}

static yaml_node *machine_node(const run_list *list) {
    const run *first = &list->runs[0];
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "several", yaml_new_boolean(on_several_machines(list)));
    yaml_put(node, "cpu", json_new_text(first->cpu));
    yaml_put(node, "cores", json_new_count(first->cores > 0 ? first->cores : -1));
    yaml_put(node, "host", json_new_text(first->host));
    return node;
}

// The dates on which the first and the last run began.
static yaml_node *days_node(const run_list *list) {
    enum { DAY = 10 };
    const char *first = "", *last = "";
    char day[DAY + 1];
    yaml_node *node = yaml_new(YAML_MAPPING);
    for (size_t i = 0; i < list->execution_count; i++) {
        const run *one = &list->executions[i];
        const char *start = yaml_text_at(one->train ? one->train : one->evaluate, "run.start");
        if (strlen(start) < DAY) continue;
        if (!*first || strcmp(start, first) < 0) first = start;
        if (strcmp(start, last) > 0) last = start;
    }
    snprintf(day, sizeof day, "%s", first);
    yaml_put(node, "first", json_new_text(day));
    snprintf(day, sizeof day, "%s", last);
    yaml_put(node, "last", json_new_text(day));
    return node;
}

// ---- The whole ----

// Names and paths come from files of any content: what a terminal or a page must not show is
// replaced.
static void make_printable(yaml_node *node) {
    if (node->kind == YAML_SCALAR) {
        (void)printable(node->text, true);
        return;
    }
    for (size_t i = 0; i < node->count; i++) make_printable(node->items[i]);
}

// The charts of a reproduction are those of its reports, and the differences.
static status put_whole(yaml_node *root, const results *r, bool pictures, error *err) {
    status rc = facts_put_runs(root, r, err);
    if (rc == STATUS_OK) rc = facts_put_view(root, r, err);
    if (rc != STATUS_OK) return rc;
    facts_put_predictions(root, r);
    yaml_put(root, "environment", facts_environment(&r->list));
    yaml_put(root, "files", facts_files(&r->list));
    yaml_put(root, "commands", facts_commands(&r->list));
    if (r->reproduction)
        rc = facts_put_reproduction(root, r, err);
    else if (pictures)
        rc = facts_put_mistakes(root, r, err);
    return rc;
}

status facts_make(facts *f, const results *r, const facts_head *head, bool pictures, error *err) {
    yaml_node *root = yaml_new(YAML_MAPPING), *figures = facts_figures(r);
    *f = (facts){.results = r, .root = root, .figures = figures};
    yaml_put(root, "schema", json_new_text("lockstep.facts/1"));
    yaml_put(root, "lockstep", json_new_text(cli_version()));
    yaml_put(root, "language", json_new_text(head->language));
    yaml_put(root, "title", json_new_text(head->title));
    yaml_put(root, "author", json_new_text(head->author));
    yaml_put(root, "student", json_new_text(head->student));
    yaml_put(root, "discussed", yaml_new_boolean(false)); // by what has read the author's text
    yaml_put(root, "machine", machine_node(&r->list));
    yaml_put(root, "days", days_node(&r->list));
    const status rc = put_whole(root, r, pictures, err);
    yaml_put(root, "figures", figures);
    make_printable(root);
    if (rc != STATUS_OK) facts_release(f);
    return rc;
}

void facts_release(facts *f) {
    yaml_free(f->root);
    *f = (facts){0};
}

// ---- report.json ----

// A part of the page names its runs, and lacks what is the same everywhere.
static void refer_to_runs(yaml_node *view) {
    const yaml_node *runs = yaml_find(view, "runs");
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < runs->count; i++)
        yaml_append(names, yaml_copy(yaml_find(runs->items[i], "name")));
    yaml_put(view, "runs", names);
    yaml_remove(view, "activities");
    yaml_remove(view, "rules");
}

// Of the pictures, the files of the drawings have the pixels.
static void drop_pixels(const yaml_node *charts) {
    for (size_t i = 0; charts && i < charts->count; i++) {
        const yaml_node *chart = charts->items[i];
        if (chart->kind != YAML_MAPPING || strcmp(yaml_text_at(chart, "kind"), "pictures") != 0)
            continue;
        const yaml_node *items = yaml_find(chart, "items");
        for (size_t k = 0; k < items->count; k++) yaml_remove(items->items[k], "png");
    }
}

void facts_write(facts *f, text *json) {
    const yaml_node *reports = yaml_find(f->root, "reports");
    for (size_t i = 0; reports && i < reports->count; i++) {
        const yaml_node *studies = yaml_find(reports->items[i], "studies");
        for (size_t k = 0; k < studies->count; k++) refer_to_runs(studies->items[k]);
        refer_to_runs(reports->items[i]);
    }
    drop_pixels(yaml_find(f->root, "charts"));
    char *written = json_from_yaml(f->root);
    text_format(json, "%s\n", written);
    free(written);
}
