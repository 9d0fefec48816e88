// SPDX-License-Identifier: MIT
#include "results/recall.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/manifest.h"
#include "results/origin.h"

// ---- The command line of the report ----

// The value of an option: in the same word, or in the next, which is then skipped.
static const char *value_at(const yaml_node *command, size_t *at) {
    const char *equals = strchr(command->items[*at]->text, '=');
    if (equals) return equals + 1;
    if (*at + 1 >= command->count) return NULL;
    return command->items[++*at]->text;
}

static bool is_option(const char *word, const char *name) {
    const size_t length = strlen(name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
           (word[2 + length] == 0 || word[2 + length] == '=');
}

// Sets what selects the runs, and *out, the report's folder; skips the other options.
static void read_command(recalled *r, const char **out) {
    const struct {
        const char *name, **value;
    } options[] = {{"baseline", &r->options.baseline},
                   {"plan", &r->options.plan},
                   {"collectives", &r->options.collectives},
                   {"test", &r->options.test},
                   {"out", out}};
    static const char *const others[] = {"figures", "title",      "author", "student",
                                         "lang",    "discussion", "check"};
    const yaml_node *command = yaml_find(r->manifest, "command");
    const size_t words = command && command->kind == YAML_SEQUENCE ? command->count : 0;
    r->folders = memory_new(words + 1, sizeof *r->folders);
    r->turns = memory_new(words + 1, sizeof *r->turns);
    for (size_t i = 1; i < words; i++) {
        if (command->items[i]->kind != YAML_SCALAR) continue;
        const char *word = command->items[i]->text;
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (is_option(word, options[k].name)) *options[k].value = value_at(command, &i);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            if (is_option(word, others[k])) (void)value_at(command, &i);
        const char *turns = is_option(word, "turns") ? value_at(command, &i) : NULL;
        if (turns) r->turns[r->options.turns_count++] = turns;
        if (*word != '-') r->folders[r->options.folder_count++] = word;
    }
    r->options.folders = r->folders;
    r->options.turns = r->turns;
}

// ---- Where it was made ----

// The folder above `folder` that `out` is relative to; NULL, without a failure, if that cannot be
// told.
static void find_base(const char *folder, const char *out, char **base) {
    char *tidy = origin_tidy_path(".", out), *up = memory_string(folder);
    const bool down = *tidy != '/' && strncmp(tidy, "..", 2) != 0;
    for (const char *part = down ? tidy : ""; *part;) {
        char *above = origin_tidy_path(up, "..");
        free(up);
        up = above;
        part += strcspn(part, "/");
        part += *part == '/';
    }
    free(tidy);
    if (!*up) {
        free(up);
        up = memory_string(".");
    }
    *base = up;
}

// Are all folders of the runs there?
static status check_runs(const recalled *r, const char *path, error *err) {
    for (size_t i = 0; i < r->options.folder_count; i++) {
        const char *folder = r->options.folders[i];
        char *place = paths_in(r->base, folder);
        const bool there = access(place, F_OK) == 0;
        free(place);
        if (!there)
            return error_set(err, STATUS_INPUT,
                             "cannot trace the figures of '%s': its run '%s' is not where it was: "
                             "name the folders of its runs instead: report DIR... --why FIGURE",
                             path, folder);
    }
    if (r->options.folder_count) return STATUS_OK;
    return error_set(err, STATUS_INPUT, "cannot trace the figures of '%s': it records no runs",
                     path);
}

// ---- The report ----

static char *folder_of(const char *path) {
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return memory_string(path);
    return slash ? memory_format("%.*s", (int)(slash - path), path) : memory_string(".");
}

status recall_report(const char *path, recalled *r, error *err) {
    error ignored;
    const char *out = "";
    *r = (recalled){0};
    char *folder = folder_of(path);
    status rc = STATUS_OK;
    // Without a manifest it is no report.
    if (manifest_read_in(&r->manifest, &ignored, "%s", folder) != STATUS_OK) goto out;
    r->found = strcmp(run_text(r->manifest, "tool"), "report") == 0;
    if (!r->found) goto out;
    read_command(r, &out);
    find_base(folder, out ? out : "", &r->base);
    rc = check_runs(r, path, err);
out:
    free(folder);
    return rc;
}

void recall_release(recalled *r) {
    yaml_free(r->manifest);
    free(r->folders);
    free(r->turns);
    free(r->base);
    *r = (recalled){0};
}
