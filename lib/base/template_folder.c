// SPDX-License-Identifier: MIT
#include "base/template_folder.h"
#include "base/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPLATES_MAX = 100 };

static bool is_template(const char *name) {
    const size_t length = strlen(name);
    return *name != '.' && length > 3 && strcmp(name + length - 3, ".md") == 0;
}

status template_folder_list(const char *folder, strvec *names, error *err) {
    if (!paths_list(folder, is_template, false, names))
        return error_system(err, STATUS_INPUT, errno, "cannot read the templates in '%s'", folder);
    if (names->count == 0)
        return error_set(err, STATUS_INPUT, "no template (*.md) in '%s'", folder);
    if (names->count > TEMPLATES_MAX)
        return error_set(err, STATUS_INPUT, "more than %d templates (*.md) in '%s'", TEMPLATES_MAX,
                         folder);
    return STATUS_OK;
}
