// Where it ran, on what, and by which commands.
#include <stdlib.h>
#include <string.h>

#include "report/origin.h"
#include "report/sections.h"

static void text_count(document *d, int64_t value) {
    if (value < 0)
        document_cell(d, CELL_TEXT, "%s", "");
    else
        document_cell(d, CELL_TEXT, "%lld", (long long)value);
}

// A property of the machine or of the execution: a key of the manifest, or a field of the run.
typedef struct property {
    message label;
    const char *path;
} property;

static void property_cell(document *d, const run *one, const property *p) {
    const yaml_node *root = one->train ? one->train : one->evaluate;
    switch ((int)p->label) {
    case MESSAGE_ISA: document_cell(d, CELL_TEXT, "%s", one->isa); break;
    case MESSAGE_DEVICE: document_cell(d, CELL_TEXT, "%s", one->device); break;
    case MESSAGE_WORLD_SIZE: text_count(d, one->world_size); break;
    case MESSAGE_THREADS: text_count(d, one->threads); break;
    case MESSAGE_LOADER_WORKERS: text_count(d, one->loader_workers); break;
    default: document_cell(d, CELL_TEXT, "%s", run_text(root, p->path)); break;
    }
}

void section_environment(const report *r, document *d) {
    static const property properties[] = {
        {MESSAGE_HOST, "run.host"},
        {MESSAGE_CPU, "run.cpu"},
        {MESSAGE_CORES, "run.cores"},
        {MESSAGE_ISA, NULL},
        {MESSAGE_DEVICE, NULL},
        {MESSAGE_TOOL, "tool"},
        {MESSAGE_WORLD_SIZE, NULL},
        {MESSAGE_THREADS, NULL},
        {MESSAGE_LOADER_WORKERS, NULL},
        {MESSAGE_BUILD, "version"},
        {MESSAGE_COMPILER, "run.compiler"},
        {MESSAGE_STARTED, "run.start"},
    };
    document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_ENVIRONMENT));
    document_table(d, 1 + r->list.count, "");
    document_cell(d, CELL_TEXT, "%s", "");
    for (size_t i = 0; i < r->list.count; i++)
        document_cell(d, CELL_TEXT, "%s", r->list.runs[i].name);
    for (size_t k = 0; k < sizeof properties / sizeof *properties; k++) {
        document_cell(d, CELL_STRONG, "%s", say(r, properties[k].label));
        for (size_t i = 0; i < r->list.count; i++)
            property_cell(d, &r->list.runs[i], &properties[k]);
    }
}

static void file_row(document *d, const run *one, const char *role, const char *folder,
                     const yaml_node *file) {
    const char *content = run_text(file, "content");
    char *path = origin_tidy_path(folder, run_text(file, "path"), d->err);
    if (!path) d->rc = STATUS_FAILED;
    document_cell(d, CELL_STRONG, "%s", one->name);
    document_cell(d, CELL_TEXT, "%s", role);
    document_cell(d, CELL_CODE, "%s", path ? path : "");
    document_cell(d, CELL_NUMBER, "%s", run_text(file, "bytes"));
    document_cell(d, CELL_CODE, "%s", *content ? content : run_text(file, "sha256"));
    free(path);
}

static void stage_rows(const report *r, document *d, const run *one, const char *folder,
                       const yaml_node *root) {
    static const struct {
        const char *key;
        message role;
    } lists[] = {{"inputs", MESSAGE_INPUT}, {"outputs", MESSAGE_OUTPUT}};
    if (!root) return;
    document_cell(d, CELL_STRONG, "%s", one->name);
    document_cell(d, CELL_TEXT, "%s", say(r, MESSAGE_MANIFEST));
    document_cell(d, CELL_CODE, "%s/manifest.yaml", folder);
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_CODE, "%s", "");
    for (size_t k = 0; k < 2; k++) {
        const yaml_node *files = yaml_find(root, lists[k].key);
        for (size_t i = 0; files && i < files->count; i++)
            file_row(d, one, say(r, lists[k].role), folder, files->items[i]);
    }
}

void section_files(const report *r, document *d) {
    static const message head[] = {MESSAGE_RUN, MESSAGE_ROLE, MESSAGE_PATH, MESSAGE_BYTES,
                                   MESSAGE_CONTENT_HASH};
    document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_FILES));
    document_add(d, BLOCK_PARAGRAPH, "%s", say(r, MESSAGE_FILES_NOTE));
    document_table(d, 5, "");
    head_cells(r, d, head, 5);
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        stage_rows(r, d, one, one->folder, one->train);
        stage_rows(r, d, one, one->evaluation, one->evaluate);
    }
    document_add(d, BLOCK_NOTE, "%s", say(r, MESSAGE_WHY_NOTE));
}

static void append_quoted(text *out, const char *word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "@%+=:,./_-";
    if (*word && strspn(word, safe) == strlen(word)) {
        text_append(out, word);
        return;
    }
    text_append(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            text_append(out, "'\\''");
        else
            text_bytes(out, word, 1);
    }
    text_append(out, "'");
}

// The command is a string or a list of words.
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

void section_commands(const report *r, document *d) {
    text lines;
    text_init(&lines, d->err);
    for (size_t i = 0; i < r->list.count; i++) {
        append_command(&lines, r->list.runs[i].train);
        append_command(&lines, r->list.runs[i].evaluate);
    }
    if (lines.length) {
        document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_REPRODUCE));
        document_add(d, BLOCK_CODE, "%s", text_string(&lines));
        document_add(d, BLOCK_NOTE, "%s", say(r, MESSAGE_REPRODUCE_NOTE));
    }
    text_release(&lines);
}
