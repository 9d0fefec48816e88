// SPDX-License-Identifier: MIT
#include "data/source/member_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"

static char plain_letter(char c) {
    return c == '-' || c == '.' ? '_' : (char)tolower((unsigned char)c);
}

// Is `name`, of `length` bytes, the published name but for its spelling?
static bool same_name(const char *name, size_t length, const char *published) {
    size_t i = 0;
    while (i < length && published[i] && plain_letter(name[i]) == plain_letter(published[i])) i++;
    return i == length && !published[i];
}

static bool has_form(const dataset_member *m, member_form form, const char *name) {
    static const char packed[] = ".gz";
    const size_t length = strlen(name), end = sizeof packed - 1;
    if (form == MEMBER_OTHER_FORM) return m->alias && same_name(name, length, m->alias);
    if (form == MEMBER_PLAIN) return same_name(name, length, m->name);
    return length > end && same_name(name + length - end, end, packed) &&
           same_name(name, length - end, m->name);
}

int member_find(const dataset_entry *d, const char *path, member_form *form) {
    const char *name = paths_name(path);
    for (size_t i = 0; i < d->member_count; i++)
        for (int k = 0; k < MEMBER_FORMS; k++)
            if (has_form(&d->members[i], (member_form)k, name)) {
                *form = (member_form)k;
                return (int)i;
            }
    return -1;
}

static status find_form(const dataset_member *m, member_form form, const char *folder, bool inner,
                        char **path, error *err) {
    status rc = STATUS_OK;
    *path = NULL;
    DIR *entries = opendir(folder);
    if (!entries && errno != ENOENT && errno != ENOTDIR)
        return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", folder);
    for (struct dirent *e; rc == STATUS_OK && entries && (e = readdir(entries));) {
        if (!has_form(m, form, e->d_name)) continue;
        char *found = memory_format("%s/%s", folder, e->d_name);
        if (paths_is_folder(found)) {
            // An unrelated folder may have such a name: train, test.
            char *in = NULL;
            if (!inner) rc = find_form(m, form, found, true, &in, err);
            free(found);
            found = in;
        }
        if (found && (!*path || strcmp(found, *path) < 0)) {
            char *other = *path;
            *path = found;
            found = other;
        }
        free(found);
    }
    if (entries) closedir(entries);
    return rc;
}

status member_find_file(const dataset_member *m, member_form form, const char *folder, char **path,
                        error *err) {
    return find_form(m, form, folder, false, path, err);
}
