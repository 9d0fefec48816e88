// SPDX-License-Identifier: MIT
// The environment of the runs: machines, executions, data and commands.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell_words.h"
#include "report/sections.h"
#include "results/like_for_like.h"
#include "results/origin.h"

// A property of the machine or of the execution: a key of the manifest, or a kind that is computed
// from the run.
typedef enum property_kind {
    PROPERTY_RECORDED,
    PROPERTY_ISA,
    PROPERTY_DEVICE,
    PROPERTY_RANKS,
    PROPERTY_HOSTS,
    PROPERTY_THREADS,
    PROPERTY_LOADER_WORKERS,
    PROPERTY_EXECUTIONS
} property_kind;

typedef struct property {
    const char *label;
    const char *path; // NULL: see kind
    property_kind kind;
} property;

static const property properties[] = {
    {WORD("Host"), "run.host", 0},
    {WORD("CPU"), "run.cpu", 0},
    {WORD("Cores"), "run.cores", 0},
    {WORD("Instruction set"), NULL, PROPERTY_ISA},
    {WORD("Device"), NULL, PROPERTY_DEVICE},
    {WORD("Tool"), "tool", 0},
    {WORD("Ranks"), NULL, PROPERTY_RANKS},
    {WORD("Hosts"), NULL, PROPERTY_HOSTS},
    {WORD("Threads per rank"), NULL, PROPERTY_THREADS},
    {WORD("Loader workers"), NULL, PROPERTY_LOADER_WORKERS},
    {WORD("Build"), "version", 0},
    {WORD("Compiler"), "run.compiler", 0},
    {WORD("Started"), "run.start", 0},
    {WORD("Executions"), NULL, PROPERTY_EXECUTIONS},
};

enum { PROPERTIES = sizeof properties / sizeof *properties, COLUMN_RUNS_MAX = 6 };

typedef struct value {
    char text[40];
} value;

static const char *count_text(value *v, int64_t count) {
    v->text[0] = 0;
    if (count >= 0) snprintf(v->text, sizeof v->text, "%lld", (long long)count);
    return v->text;
}

// The text is valid until the next call with the same `v`.
static const char *property_text(const run *one, const property *p, value *v) {
    const yaml_node *root = one->train ? one->train : one->evaluate;
    switch (p->kind) {
    case PROPERTY_ISA: return one->isa;
    case PROPERTY_DEVICE:
        if (!*one->math) return one->device;
        snprintf(v->text, sizeof v->text, "%.15s, math: %.7s", one->device, one->math);
        return v->text;
    case PROPERTY_RANKS: return count_text(v, one->world_size);
    case PROPERTY_HOSTS: return count_text(v, one->hosts);
    case PROPERTY_THREADS: return count_text(v, one->threads);
    case PROPERTY_LOADER_WORKERS: return count_text(v, one->loader_workers);
    case PROPERTY_EXECUTIONS: return count_text(v, (int64_t)run_execution_count(one));
    case PROPERTY_RECORDED: break;
    }
    return run_text(root, p->path);
}

static void property_cell(document *d, const run *one, const property *p) {
    value v;
    document_cell(d, CELL_TEXT, "%s", property_text(one, p, &v));
}

static bool is_common(const run_list *list, const property *p) {
    value first, other;
    const char *shared = property_text(&list->runs[0], p, &first);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(property_text(&list->runs[i], p, &other), shared) != 0) return false;
    return true;
}

// Writes one column per run.
static void environment_columns(const results *r, document *d) {
    document_table(d, 1 + r->list.count, "");
    document_cell(d, CELL_TEXT, "%s", "");
    for (size_t i = 0; i < r->list.count; i++)
        document_cell(d, CELL_TEXT, "%s", r->list.runs[i].name);
    for (size_t k = 0; k < PROPERTIES; k++) {
        document_cell(d, CELL_STRONG, "%s", say(r, properties[k].label));
        for (size_t i = 0; i < r->list.count; i++)
            property_cell(d, &r->list.runs[i], &properties[k]);
    }
}

// Writes the properties shared by many runs once, and the others in one line per run.
static void environment_of_many(const results *r, document *d) {
    size_t rest = 0;
    document_table(d, 2, "");
    document_cell(d, CELL_TEXT, "%s", "");
    document_cell(d, CELL_TEXT, "%s", say(r, "All runs"));
    for (size_t k = 0; k < PROPERTIES; k++) {
        rest += !is_common(&r->list, &properties[k]);
        if (!is_common(&r->list, &properties[k])) continue;
        document_cell(d, CELL_STRONG, "%s", say(r, properties[k].label));
        property_cell(d, &r->list.runs[0], &properties[k]);
    }
    if (!rest) return;
    document_table(d, 1 + rest, "");
    document_cell(d, CELL_TEXT, "%s", say(r, "Run"));
    for (size_t k = 0; k < PROPERTIES; k++)
        if (!is_common(&r->list, &properties[k]))
            document_cell(d, CELL_TEXT, "%s", say(r, properties[k].label));
    for (size_t i = 0; i < r->list.count; i++) {
        document_cell(d, CELL_STRONG, "%s", r->list.runs[i].name);
        for (size_t k = 0; k < PROPERTIES; k++)
            if (!is_common(&r->list, &properties[k]))
                property_cell(d, &r->list.runs[i], &properties[k]);
    }
}

// Notes which executions do not count, and the reasons.
static void excluded_notes(const results *r, document *d, const run *one) {
    for (size_t i = 0; i < one->excluded_count; i++) {
        const run *other = &one->executions[one->execution_count + i];
        text why = {0};
        like_append_executed(other, one, r->options.language, &why);
        document_add(d, BLOCK_NOTE, say(r, "%s: the times of %s are excluded: %s."), one->name,
                     other->folder, text_string(&why));
        text_release(&why);
    }
}

void section_environment(const results *r, document *d) {
    document_fold(d, say(r, "Environment"));
    if (r->list.count > COLUMN_RUNS_MAX)
        environment_of_many(r, d);
    else
        environment_columns(r, d);
    for (size_t i = 0; i < r->list.count; i++) excluded_notes(r, d, &r->list.runs[i]);
}

static void file_row(document *d, const char *name, const char *role, const char *folder,
                     const yaml_node *file) {
    const char *content = run_text(file, "content");
    char *path = origin_tidy_path(folder, run_text(file, "path"));
    document_cell(d, CELL_STRONG, "%s", name);
    document_cell(d, CELL_TEXT, "%s", role);
    document_cell(d, CELL_CODE, "%s", path);
    document_cell(d, CELL_NUMBER, "%s", run_text(file, "bytes"));
    document_cell(d, CELL_CODE, "%s", *content ? content : run_text(file, "sha256"));
    free(path);
}

static void stage_rows(const results *r, document *d, const char *name, const char *folder,
                       const yaml_node *root) {
    static const struct {
        const char *key;
        const char *role;
    } lists[] = {{"inputs", WORD("input")}, {"outputs", WORD("output")}};
    if (!root) return;
    document_cell(d, CELL_STRONG, "%s", name);
    document_cell(d, CELL_TEXT, "%s", say(r, "manifest"));
    document_cell(d, CELL_CODE, "%s/manifest.yaml", folder);
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_CODE, "%s", "");
    for (size_t k = 0; k < 2; k++) {
        const yaml_node *files = yaml_find(root, lists[k].key);
        for (size_t i = 0; files && i < files->count; i++)
            file_row(d, name, say(r, lists[k].role), folder, files->items[i]);
    }
}

// The first run of the list that this folder times lists it.
static bool is_first(const results *r, size_t at) {
    const timed_arms *t = r->list.runs[at].timing;
    for (size_t i = 0; i < at; i++)
        if (r->list.runs[i].timing == t) return false;
    return t != NULL;
}

void section_files(const results *r, document *d) {
    static const wording head[] = {"Run", "Role", "Path", "Bytes", "SHA-256"};
    document_fold(d, say(r, "Files"));
    document_add(d, BLOCK_PARAGRAPH, "%s",
                 say(r, "No number without its files. The hash of a tensor file is that of its "
                        "content (uncompressed bytes), the hash of any other file that of the file "
                        "itself."));
    document_table(d, 5, "");
    head_cells(r, d, head, 5);
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        for (size_t k = 0; k < run_execution_count(one); k++) {
            const run *execution = run_execution(one, k);
            stage_rows(r, d, one->name, execution->folder, execution->train);
            stage_rows(r, d, one->name, execution->evaluation, execution->evaluate);
        }
        if (is_first(r, i)) stage_rows(r, d, one->name, one->timing->folder, one->timing->manifest);
    }
    document_add(d, BLOCK_NOTE, "%s",
                 say(r, "report DIR... --why FIGURE traces a figure back to its files and "
                        "recomputes it; the names of all figures are in report.csv."));
}

void section_manifests(const results *r, document *d) {
    static const wording head[] = {"Run", "manifest", "SHA-256"};
    document_fold(d, say(r, "Files"));
    document_table(d, 3, "");
    head_cells(r, d, head, 3);
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        for (size_t k = 0; k < run_execution_count(one); k++) {
            const run *execution = run_execution(one, k);
            document_cell(d, CELL_STRONG, "%s", one->name);
            document_cell(d, CELL_CODE, "%s/manifest.yaml",
                          execution->folder ? execution->folder : execution->evaluation);
            document_cell(d, CELL_CODE, "%s", execution->model_content);
        }
        if (!is_first(r, i)) continue;
        document_cell(d, CELL_STRONG, "%s", one->name);
        document_cell(d, CELL_CODE, "%s/manifest.yaml", one->timing->folder);
        document_cell(d, CELL_CODE, "%s", one->timing->content);
    }
    document_add(d, BLOCK_NOTE, "%s",
                 say(r, "The hash is that of the content of the model, or of turns.st.zst. Each "
                        "manifest lists all files "
                        "that its run read and wrote, with their hashes, and its command."));
    document_add(d, BLOCK_NOTE, "%s",
                 say(r, "report DIR... --why FIGURE traces a figure back to its files and "
                        "recomputes it; the names of all figures are in report.csv."));
}

static void append_quoted(text *out, const char *word) {
    char *quoted = shell_quote(word);
    text_append(out, quoted);
    free(quoted);
}

// In manifests, a command is a string or a list of words.
static void append_command(text *out, const yaml_node *root) {
    const yaml_node *command = root ? yaml_find(root, "command") : NULL;
    if (!command || command->kind == YAML_MAPPING) return;
    if (out->length) text_append(out, "\n");
    if (command->kind == YAML_SCALAR) text_append(out, command->text);
    for (size_t i = 0; i < command->count; i++) {
        if (i) text_append(out, " ");
        if (command->items[i]->kind == YAML_SCALAR) append_quoted(out, command->items[i]->text);
    }
}

void section_commands(const results *r, document *d) {
    text lines = {0};
    for (size_t i = 0; i < r->list.count; i++) {
        append_command(&lines, r->list.runs[i].train);
        append_command(&lines, r->list.runs[i].evaluate);
        if (is_first(r, i)) append_command(&lines, r->list.runs[i].timing->manifest);
    }
    if (lines.length) {
        document_fold(d, say(r, "Commands"));
        document_add(d, BLOCK_CODE, "%s", text_string(&lines));
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "As recorded in the manifests, in the order of the runs."));
    }
    text_release(&lines);
}
