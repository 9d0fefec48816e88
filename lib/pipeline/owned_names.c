// SPDX-License-Identifier: MIT
#include "pipeline/owned_names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"

enum { HASH_DIGITS = 4 };

static char *record_of(const pipeline *p, const char *name) {
    return memory_format("%s/.names/%s", p->artifacts, name);
}

static void append_line(text *lines, const char *path) {
    char *real = realpath(path, NULL);
    text_format(lines, "%s\n", real ? real : path);
    free(real);
}

// Returns the absolute paths of the files and of DATA, one per line.
static char *lines_of(const pipeline *p, const strvec *files) {
    const char *data = p->settings->values[SETTING_DATA];
    text lines = {0};
    for (size_t i = 0; i < files->count; i++) append_line(&lines, files->items[i]);
    if (data) append_line(&lines, data);
    return text_take(&lines);
}

// Returns the same of the recorded owner; NULL if the name has none, or if one of its files is
// gone.
static char *owner_of(const pipeline *p, const char *name) {
    char *record = record_of(p, name), *recorded = NULL;
    strvec paths = {0};
    text lines = {0};
    bool there = read_file(record, &recorded, NULL) == STATUS_OK;
    if (there) strvec_split(&paths, recorded, "\n");
    for (size_t i = 0; there && i < paths.count; i++) {
        char *path = memory_format("%s/%s", p->artifacts, paths.items[i]);
        there = access(path, F_OK) == 0;
        if (there) append_line(&lines, path);
        free(path);
    }
    char *owner = there ? text_take(&lines) : NULL;
    text_release(&lines);
    strvec_release(&paths);
    free(recorded);
    free(record);
    return owner;
}

// Adds a note if the name was changed; "" if not.
static void add_note(const pipeline *p, owned_names *c, const char *name, const char *own,
                     const char *owner) {
    if (strcmp(own, name) == 0) {
        strvec_add(&c->notes, "");
        return;
    }
    strvec_format(&c->notes, "not %s/%s, which belongs to %.*s", p->artifacts, name,
                  (int)strcspn(owner, "\n"), owner);
}

char *owned_names_take(const pipeline *p, owned_names *c, char *name, const strvec *files) {
    char hash[SHA256_TEXT_BYTES], *own = NULL;
    char *lines = lines_of(p, files), *owner = owner_of(p, name);
    sha256_buffer(lines, strlen(lines), hash);
    if (owner && strcmp(owner, lines) != 0)
        own = memory_format("%s-%.*s", name, HASH_DIGITS, hash);
    else
        own = memory_string(name);
    if (strvec_has(&c->names, own)) goto out;
    strvec_add(&c->names, own);
    strvec_add(&c->sources, lines);
    add_note(p, c, name, own, owner);
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
    strvec paths = {0};
    text out = {0};
    char *inside = memory_format("%s/.names", p->artifacts);
    paths_real_folder(inside, below);
    strvec_split(&paths, lines, "\n");
    for (size_t i = 0; i < paths.count; i++) {
        char *path = paths_relative(paths.items[i], below);
        text_format(&out, "%s\n", path);
        free(path);
    }
    strvec_release(&paths);
    free(inside);
    return text_take(&out);
}

static void keep(const pipeline *p, const char *name, const char *lines) {
    char *owner = owner_of(p, name), *relative = NULL, *record = NULL;
    if (owner && strcmp(owner, lines) == 0) goto out;
    relative = relative_lines(p, lines);
    record = record_of(p, name);
    if (output_make_parent(record, NULL) == STATUS_OK)
        (void)!output_write_file(record, relative, strlen(relative), NULL);
out:
    free(record);
    free(relative);
    free(owner);
}

void owned_names_keep(const pipeline *p, const owned_names *c) {
    char *folder = memory_format("%s/.names", p->artifacts);
    const bool there = output_make_folder(folder, NULL) == STATUS_OK;
    for (size_t i = 0; i < c->names.count; i++) {
        char *place = memory_format("%s/%s", p->artifacts, c->names.items[i]);
        if (*c->notes.items[i]) p->say("note", place, c->notes.items[i]);
        if (there) keep(p, c->names.items[i], c->sources.items[i]);
        free(place);
    }
    free(folder);
}

void owned_names_release(owned_names *c) {
    strvec_release(&c->names);
    strvec_release(&c->sources);
    strvec_release(&c->notes);
}
