// SPDX-License-Identifier: MIT
#include "base/template_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPLATES_MAX = 100 };

static int is_template(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 3 && strcmp(entry->d_name + length - 3, ".md") == 0;
}

status template_folder_list(const char *folder, strvec *names, error *err) {
    struct dirent **found;
    const int count = scandir(folder, &found, is_template, alphasort);
    if (count < 0)
        return error_system(err, STATUS_INPUT, errno, "cannot read the templates in '%s'", folder);
    for (int i = 0; i < count; i++) {
        strvec_add(names, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    if (count == 0) return error_set(err, STATUS_INPUT, "no template (*.md) in '%s'", folder);
    if (count > TEMPLATES_MAX)
        return error_set(err, STATUS_INPUT, "more than %d templates (*.md) in '%s'", TEMPLATES_MAX,
                         folder);
    return STATUS_OK;
}
