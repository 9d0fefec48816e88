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

// Sets the options of `tool` as they were given, and the folders.
static status read_command(recalled *r, const cli_tool *tool, error *err) {
    const yaml_node *command = yaml_find(r->manifest, "command");
    const size_t count = command && command->kind == YAML_SEQUENCE ? command->count : 0;
    logger log = {0};
    int words = 0;
    bool done;
    r->words = memory_new(count, sizeof *r->words);
    for (size_t i = 0; i < count; i++)
        if (command->items[i]->text) r->words[words++] = command->items[i]->text;
    return cli_parse(tool, words, r->words, &log, &r->folders, &done, err);
}

// ---- Where it was made ----

// Returns the folder above `folder` that `out` is relative to; where that cannot be told, the
// current one. free() it.
static char *find_base(const char *folder, const char *out) {
    char *tidy = origin_tidy_path(".", out);
    const bool down = *tidy != '/' && strncmp(tidy, "..", 2) != 0;
    char *up = memory_string(down ? folder : ".");
    for (const char *part = down ? tidy : ""; *part;) {
        char *above = origin_tidy_path(up, "..");
        free(up);
        up = above;
        part += strcspn(part, "/");
        part += *part == '/';
    }
    free(tidy);
    if (*up) return up;
    free(up);
    return memory_string(".");
}

// Are all folders of the runs there?
static status check_runs(const recalled *r, const char *path, error *err) {
    for (size_t i = 0; i < r->folders.count; i++) {
        const char *folder = r->folders.items[i];
        char *place = paths_in(r->base, folder);
        const bool there = access(place, F_OK) == 0;
        free(place);
        if (!there)
            return error_set(err, STATUS_INPUT,
                             "cannot trace the figures of '%s': its run '%s' is not where it was: "
                             "name the folders of its runs instead: report DIR... --why FIGURE",
                             path, folder);
    }
    if (r->folders.count) return STATUS_OK;
    return error_set(err, STATUS_INPUT, "cannot trace the figures of '%s': it records no runs",
                     path);
}

// ---- The report ----

static char *folder_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? paths_folder(path)
                                                           : memory_string(path);
}

status recall_report(const char *path, const cli_tool *tool, const char *const *out, recalled *r,
                     error *err) {
    error why;
    *r = (recalled){0};
    char *folder = folder_of(path);
    status rc = STATUS_OK;
    // Without a manifest it is no report.
    if (manifest_read_in(&r->manifest, NULL, "%s", folder) != STATUS_OK) goto out;
    r->found = strcmp(yaml_text_at(r->manifest, "tool"), "report") == 0;
    if (!r->found) goto out;
    if (read_command(r, tool, &why) != STATUS_OK) {
        rc = error_set(err, STATUS_INPUT,
                       "cannot trace the figures of '%s': the command in its manifest: %s", path,
                       why.message);
        goto out;
    }
    r->base = find_base(folder, *out ? *out : "");
    rc = check_runs(r, path, err);
out:
    free(folder);
    return rc;
}

void recall_release(recalled *r) {
    yaml_free(r->manifest);
    free(r->words);
    cli_list_release(&r->folders);
    free(r->base);
    *r = (recalled){0};
}
