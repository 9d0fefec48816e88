// SPDX-License-Identifier: MIT
// Where the runs were made, the files that they read and wrote, and their commands, as data.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/shell_words.h"
#include "base/strvec.h"
#include "report/facts_parts.h"
#include "results/like_for_like.h"
#include "results/origin.h"

// ---- The environment ----

// A property of the machine or of the execution: a path in the manifest, or what is computed from
// the run.
typedef struct property {
    const char *key, *path;
    yaml_node *(*of)(const run *r);
} property;

#define OF_RUN(name, expression)           \
    static yaml_node *name(const run *r) { \
        return expression;                 \
    }
OF_RUN(isa, json_new_text(r->isa))
OF_RUN(device, json_new_text(r->device))
OF_RUN(math, json_new_text(r->math))
OF_RUN(ranks, json_new_count(r->world_size))
OF_RUN(hosts, json_new_count(r->hosts))
OF_RUN(threads, json_new_count(r->threads))
OF_RUN(loader_workers, json_new_count(r->loader_workers))
OF_RUN(executions, json_new_count((int64_t)run_execution_count(r)))

static const property properties[] = {
    {"host", "run.host", NULL},
    {"cpu", "run.cpu", NULL},
    {"cores", "run.cores", NULL},
    {"isa", NULL, isa},
    {"device", NULL, device},
    {"math", NULL, math},
    {"tool", "tool", NULL},
    {"ranks", NULL, ranks},
    {"hosts", NULL, hosts},
    {"threads", NULL, threads},
    {"loader_workers", NULL, loader_workers},
    {"version", "version", NULL},
    {"compiler", "run.compiler", NULL},
    {"start", "run.start", NULL},
    {"executions", NULL, executions},
};

enum { PROPERTIES = sizeof properties / sizeof *properties };

static yaml_node *property_of(const run *one, const property *p) {
    if (p->of) return p->of(one);
    return json_new_text(yaml_text_at(one->train ? one->train : one->evaluate, p->path));
}

// What all runs have in common, and the rest for each run.
yaml_node *facts_environment(const run_list *list) {
    yaml_node *node = yaml_new(YAML_MAPPING), *common = yaml_new(YAML_SEQUENCE);
    yaml_node *different = yaml_new(YAML_SEQUENCE), *runs = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < list->count; i++) {
        yaml_node *one = yaml_new(YAML_MAPPING);
        yaml_put(one, "run", json_new_text(list->runs[i].name));
        yaml_append(runs, one);
    }
    for (size_t k = 0; k < PROPERTIES; k++) {
        yaml_node *first = property_of(&list->runs[0], &properties[k]);
        bool same = true;
        for (size_t i = 0; i < list->count; i++) {
            yaml_node *own = property_of(&list->runs[i], &properties[k]);
            same &= yaml_equal(first, own);
            yaml_put(runs->items[i], properties[k].key, own);
        }
        yaml_append(same ? common : different, json_new_string(properties[k].key));
        yaml_free(first);
    }
    yaml_put(node, "common", common);
    yaml_put(node, "different", different);
    yaml_put(node, "runs", runs);
    return node;
}

// ---- Files ----

static void add_file(yaml_node *files, const char *name, const char *role, char *path,
                     const yaml_node *file) {
    const char *content = yaml_text_at(file, "content");
    int64_t bytes = -1;
    yaml_node *node = yaml_new(YAML_MAPPING);
    if (run_count(file, "bytes", &bytes, NULL) != STATUS_OK) bytes = -1;
    yaml_put(node, "run", json_new_text(name));
    yaml_put(node, "role", json_new_text(role));
    yaml_put(node, "path", json_new_text(path));
    yaml_put(node, "bytes", json_new_count(bytes));
    yaml_put(node, "hash", json_new_text(*content ? content : yaml_text_at(file, "sha256")));
    yaml_append(files, node);
    free(path);
}

// The manifest of a stage, and the files that it lists. The hash of the manifest's row is that of
// the stage's first output with a content: the model, the predictions, the turns.
static void add_stage(yaml_node *files, const char *name, const char *folder,
                      const yaml_node *root) {
    static const struct {
        const char *list, *role;
    } lists[] = {{"inputs", "input"}, {"outputs", "output"}};
    const yaml_node *outputs = root ? yaml_find(root, "outputs") : NULL, *main = NULL;
    if (!root) return;
    for (size_t i = 0; outputs && !main && i < outputs->count; i++)
        if (*yaml_text_at(outputs->items[i], "content")) main = outputs->items[i];
    add_file(files, name, "manifest", origin_tidy_path(folder, "manifest.yaml"), NULL);
    yaml_node *row = files->items[files->count - 1];
    yaml_put(row, "of", json_new_text(yaml_text_at(main, "path")));
    yaml_put(row, "hash", json_new_text(yaml_text_at(main, "content")));
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const yaml_node *list = yaml_find(root, lists[k].list);
        for (size_t i = 0; list && i < list->count; i++) {
            const yaml_node *file = list->items[i];
            add_file(files, name, lists[k].role,
                     origin_tidy_path(folder, yaml_text_at(file, "path")), file);
        }
    }
}

// The first run that took turns in a folder lists its files.
static bool is_first(const run_list *list, const run *one) {
    for (const run *other = list->runs; other < one; other++)
        if (other->timing == one->timing) return false;
    return one->timing != NULL;
}

yaml_node *facts_files(const run_list *list) {
    yaml_node *files = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < list->count; i++) {
        const run *one = &list->runs[i];
        for (size_t k = 0; k < run_execution_count(one); k++) {
            const run *execution = run_execution(one, k);
            add_stage(files, one->name, execution->folder, execution->train);
            add_stage(files, one->name, execution->evaluation, execution->evaluate);
        }
        if (is_first(list, one))
            add_stage(files, one->name, one->timing->folder, one->timing->manifest);
    }
    return files;
}

// ---- Commands ----

static void append_quoted(text *out, const char *word) {
    char *quoted = shell_quote(word);
    text_append(out, quoted);
    free(quoted);
}

// In manifests, a command is a string or a list of words.
static void add_command(yaml_node *commands, const yaml_node *root) {
    const yaml_node *command = root ? yaml_find(root, "command") : NULL;
    text out = {0};
    if (!command || command->kind == YAML_MAPPING) return;
    if (command->kind == YAML_SCALAR) text_append(&out, command->text);
    for (size_t i = 0; i < command->count; i++) {
        if (i) text_append(&out, " ");
        if (command->items[i]->kind == YAML_SCALAR) append_quoted(&out, command->items[i]->text);
    }
    yaml_append(commands, json_new_string(text_string(&out)));
    text_release(&out);
}

yaml_node *facts_commands(const run_list *list) {
    yaml_node *commands = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < list->count; i++) {
        const run *one = &list->runs[i];
        add_command(commands, one->train);
        add_command(commands, one->evaluate);
        if (is_first(list, one)) add_command(commands, one->timing->manifest);
    }
    return commands;
}

// ---- Commands that give what a report by hand lacks ----

// Is it an option of a training that writes, which one that takes turns refuses or has no use for?
static bool is_of_output(const char *word, bool *with_value) {
    static const struct {
        const char *name;
        bool with_value;
    } options[] = {{"--out", true},         {"--resume", false},      {"--keep-states", true},
                   {"--tensorboard", true}, {"--max-restarts", true}, {"--trace", true},
                   {"--dump-order", true}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const size_t length = strlen(options[i].name);
        if (strncmp(word, options[i].name, length) != 0) continue;
        *with_value = options[i].with_value && !word[length];
        if (!word[length] || word[length] == '=') return true;
    }
    return false;
}

// The command of a training, without its outputs; NULL: its manifest has none. free() it.
static char *turn_command(const run *r) {
    const yaml_node *command = r->train ? yaml_find(r->train, "command") : NULL;
    strvec words = {0};
    bool with_value = false;
    if (!command || command->kind != YAML_SEQUENCE) return NULL;
    for (size_t i = 0; i < command->count; i++) {
        const yaml_node *word = command->items[i];
        if (word->kind != YAML_SCALAR) continue;
        if (is_of_output(word->text, &with_value))
            i += with_value;
        else
            strvec_add(&words, word->text);
    }
    char *line = shell_join(words.items, words.count);
    strvec_release(&words);
    return line;
}

static char *join(const char *const *words, size_t count) {
    strvec copy = {0};
    for (size_t i = 0; i < count; i++) strvec_add(&copy, words[i]);
    char *line = shell_join(copy.items, copy.count);
    strvec_release(&copy);
    return line;
}

// Adds words, after a blank; frees them.
static void add_words(text *line, char *words) {
    if (line->length) text_append(line, " ");
    text_append(line, words);
    free(words);
}

yaml_node *facts_by_hand(const results *r) {
    const results_options *o = &r->options;
    const char *const start[] = {"time-runs", "--out", "turns"};
    const char *const end[] = {"--baseline", o->baseline, "--turns",
                               "turns",      "--out",     "with-turns"};
    text time = {0}, again = {0};
    bool all = true;
    if (o->plan || !o->baseline) return json_new_text(NULL);
    add_words(&time, join(start, sizeof start / sizeof *start));
    for (size_t i = 0; i < r->group_count; i++) {
        char *command = turn_command(r->groups[i].runs[0]);
        all = all && command;
        if (command) add_words(&time, shell_quote(command));
        free(command);
    }
    add_words(&again, memory_string("report"));
    add_words(&again, join(o->folders, o->folder_count));
    add_words(&again, join(end, sizeof end / sizeof *end));
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "time", json_new_text(all ? text_string(&time) : NULL));
    yaml_put(node, "report", json_new_string(text_string(&again)));
    text_release(&time);
    text_release(&again);
    return node;
}
