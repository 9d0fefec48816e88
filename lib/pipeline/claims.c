// SPDX-License-Identifier: MIT
#include "pipeline/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "pipeline/copy.h"

enum { HASH_DIGITS = 4 };

static char *record_of(const pipeline *p, const char *name, error *err) {
    return memory_format(err, "%s/.names/%s", p->artifacts, name);
}

static void append_line(text *lines, const char *path) {
    char *real = realpath(path, NULL);
    text_format(lines, "%s\n", real ? real : path);
    free(real);
}

// Returns the absolute paths of the files and of DATA, one per line.
static char *lines_of(const pipeline *p, const words *files, error *err) {
    const char *data = p->settings->values[SETTING_DATA];
    text lines;
    text_init(&lines, err);
    for (size_t i = 0; i < files->count; i++) append_line(&lines, files->items[i]);
    if (data) append_line(&lines, data);
    return text_take(&lines);
}

// Returns the same of the recorded owner; NULL if the name has none, or if one of its files is
// gone.
static char *owner_of(const pipeline *p, const char *name) {
    char *record = record_of(p, name, NULL), *recorded = NULL;
    words paths = {0};
    text lines;
    bool there = record && read_file(record, &recorded, NULL) == STATUS_OK &&
                 words_split(&paths, recorded, "\n", NULL) == STATUS_OK;
    text_init(&lines, NULL);
    for (size_t i = 0; there && i < paths.count; i++) {
        char *path = memory_format(NULL, "%s/%s", p->artifacts, paths.items[i]);
        there = path && access(path, F_OK) == 0;
        if (there) append_line(&lines, path);
        free(path);
    }
    char *owner = there ? text_take(&lines) : NULL;
    text_release(&lines);
    words_release(&paths);
    free(recorded);
    free(record);
    return owner;
}

// Adds a note if the name was changed; "" if not.
static status add_note(const pipeline *p, claims *c, const char *name, const char *own,
                       const char *owner, error *err) {
    if (strcmp(own, name) == 0) return words_add(&c->notes, "", err);
    return words_format(&c->notes, err, "not %s/%s, which belongs to %.*s", p->artifacts, name,
                        (int)strcspn(owner, "\n"), owner);
}

char *claims_take(const pipeline *p, claims *c, char *name, const words *files, error *err) {
    char hash[SHA256_TEXT_BYTES], *own = NULL;
    char *lines = name ? lines_of(p, files, err) : NULL, *owner = name ? owner_of(p, name) : NULL;
    if (!lines || sha256_buffer(lines, strlen(lines), hash, err) != STATUS_OK) goto out;
    if (owner && strcmp(owner, lines) != 0)
        own = memory_format(err, "%s-%.*s", name, HASH_DIGITS, hash);
    else
        own = memory_string(name, err);
    if (!own || words_has(&c->names, own)) goto out;
    if (words_add(&c->names, own, err) != STATUS_OK ||
        words_add(&c->sources, lines, err) != STATUS_OK ||
        add_note(p, c, name, own, owner, err) != STATUS_OK) {
        free(own);
        own = NULL;
    }
out:
    free(owner);
    free(lines);
    free(name);
    return own;
}

// ---- Recording ----

// Returns the lines relative to ARTIFACTS.
static char *relative_lines(const pipeline *p, const char *lines) {
    char below[PATH_MAX + 1];
    words paths = {0};
    text out;
    char *inside = memory_format(NULL, "%s/.names", p->artifacts);
    text_init(&out, NULL);
    if (inside) paths_real_folder(inside, below);
    bool good = inside && words_split(&paths, lines, "\n", NULL) == STATUS_OK;
    for (size_t i = 0; good && i < paths.count; i++) {
        char *path = paths_relative(paths.items[i], below, NULL);
        good = path != NULL;
        if (good) text_format(&out, "%s\n", path);
        free(path);
    }
    char *relative = good ? text_take(&out) : NULL;
    text_release(&out);
    words_release(&paths);
    free(inside);
    return relative;
}

static void keep(const pipeline *p, const char *name, const char *lines) {
    char *owner = owner_of(p, name), *relative = NULL, *record = NULL;
    error ignored;
    if (owner && strcmp(owner, lines) == 0) goto out;
    relative = relative_lines(p, lines);
    record = record_of(p, name, NULL);
    if (relative && record) (void)!output_write_file(record, relative, strlen(relative), &ignored);
out:
    free(record);
    free(relative);
    free(owner);
}

void claims_keep(const pipeline *p, const claims *c) {
    char *folder = memory_format(NULL, "%s/.names", p->artifacts);
    error ignored;
    const bool there = folder && output_make_folder(folder, &ignored) == STATUS_OK;
    for (size_t i = 0; i < c->names.count; i++) {
        char *place = memory_format(NULL, "%s/%s", p->artifacts, c->names.items[i]);
        if (place && *c->notes.items[i]) p->say("note", place, c->notes.items[i]);
        if (there) keep(p, c->names.items[i], c->sources.items[i]);
        free(place);
    }
    free(folder);
}

void claims_release(claims *c) {
    words_release(&c->names);
    words_release(&c->sources);
    words_release(&c->notes);
}
