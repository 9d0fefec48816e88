// SPDX-License-Identifier: MIT
#include "report/findings_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

// Writes the sentence with this id, filled from `root`.
static status say(page_templates *t, const char *id, const yaml_node *root, text *out, error *err) {
    char *name = memory_format("audit.%s", id);
    const status rc = page_sentence(t, name, root, out, err);
    free(name);
    return rc;
}

// The same as a line of its own.
static status say_line(page_templates *t, const char *indent, const char *id, const yaml_node *root,
                       text *out, error *err) {
    text_append(out, indent);
    const status rc = say(t, id, root, out, err);
    text_append(out, "\n");
    return rc;
}

// ---- For people ----

static status print_head(page_templates *t, const claim *c, const char *id,
                         const yaml_node *finding, text *out, error *err) {
    yaml_node *root = yaml_new(YAML_MAPPING);
    yaml_put(root, "claim", json_new_string(c->name));
    if (finding) yaml_put(root, "finding", yaml_copy(finding));
    const status rc = say_line(t, "", id, root, out, err);
    yaml_free(root);
    return rc;
}

static status print_finding(page_templates *t, const claim *c, const yaml_node *f, text *out,
                            error *err) {
    static const char indent[] = "    ";
    const yaml_node *sums = yaml_find(f, "sums");
    NEED(print_head(t, c, "head", f, out, err));
    if (yaml_find(f, "places")->count) NEED(say_line(t, indent, "places", f, out, err));
    for (size_t i = 0; i < sums->count; i++)
        NEED(say_line(t, indent, yaml_text_at(sums->items[i], "id"), sums->items[i], out, err));
    return say_line(t, indent, "conclusion", f, out, err);
}

status findings_print(page_templates *t, const findings *a, text *out, error *err) {
    status rc = STATUS_OK;
    if (!a->list->count) return print_head(t, a->claim, "no_findings", NULL, out, err);
    for (size_t i = 0; rc == STATUS_OK && i < a->list->count; i++)
        rc = print_finding(t, a->claim, a->list->items[i], out, err);
    return rc;
}

status findings_print_tally(page_templates *t, const size_t counts[FINDING_KINDS], size_t claims,
                            text *out, error *err) {
    yaml_node *root = yaml_new(YAML_MAPPING);
    yaml_put(root, "claims", yaml_new_integer((int64_t)claims));
    for (int k = 0; k < FINDING_KINDS; k++)
        yaml_put(root, finding_name((finding_kind)k), yaml_new_integer((int64_t)counts[k]));
    const status rc = say_line(t, "", "tally", root, out, err);
    yaml_free(root);
    return rc;
}

// ---- For programs ----

// What --json calls a kind, in every language.
static const char *kind_in_json(const char *kind) {
    static const char *const names[FINDING_KINDS] = {
        [FINDING_ARITHMETIC] = "arithmetic error",
        [FINDING_CONDITIONS] = "unlike arms",
        [FINDING_UNSUPPORTED] = "unsupported statement",
        [FINDING_STATED] = "stated by the report itself",
        [FINDING_REMARK] = "remark",
    };
    int k = 0;
    while (strcmp(finding_name((finding_kind)k), kind) != 0) k++;
    return names[k];
}

static status put_sentence(page_templates *t, const char *id, const yaml_node *root,
                           yaml_node *entry, const char *key, error *err) {
    text sentence = {0};
    const status rc = say(t, id, root, &sentence, err);
    yaml_put(entry, key, json_new_string(text_string(&sentence)));
    text_release(&sentence);
    return rc;
}

static status put_sums(page_templates *t, const yaml_node *f, yaml_node *entry, error *err) {
    const yaml_node *sums = yaml_find(f, "sums");
    text lines = {0};
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < sums->count; i++)
        rc = say_line(t, "", yaml_text_at(sums->items[i], "id"), sums->items[i], &lines, err);
    yaml_put(entry, "arithmetic", json_new_lines(text_string(&lines)));
    text_release(&lines);
    return rc;
}

static status append_finding(page_templates *t, const yaml_node *f, yaml_node *items, error *err) {
    yaml_node *entry = yaml_new(YAML_MAPPING);
    const bool answered = yaml_find(f, "answer")->kind == YAML_MAPPING;
    yaml_append(items, entry);
    yaml_put(entry, "kind", json_new_string(kind_in_json(yaml_text_at(f, "kind"))));
    NEED(put_sentence(t, yaml_text_at(f, "id"), f, entry, "what", err));
    NEED(put_sentence(t, "places", f, entry, "where", err));
    NEED(put_sums(t, f, entry, err));
    return put_sentence(t, answered ? "answer" : yaml_text_at(f, "so"), f, entry, "so", err);
}

status findings_to_json(page_templates *t, const findings *a, yaml_node *list, error *err) {
    yaml_node *entry = yaml_new(YAML_MAPPING), *items = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    yaml_put(entry, "claim", json_new_string(a->claim->name));
    yaml_put(entry, "findings", items);
    yaml_append(list, entry);
    for (size_t i = 0; rc == STATUS_OK && i < a->list->count; i++)
        rc = append_finding(t, a->list->items[i], items, err);
    return rc;
}
