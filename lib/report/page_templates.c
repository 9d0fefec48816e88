// SPDX-License-Identifier: MIT
#include "report/page_templates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plugin.h"
#include "base/printable.h"
#include "base/template.h"
#include "base/zstream.h"

enum { TEMPLATE_MAX = 1 << 18 };

struct page_templates {
    char *folder;    // of Lockstep's own, in the page's language
    const char *own; // that the user gave; NULL: none
    yaml_node *names;
    template_cache cache;
};

static status read_template(const char *path, char **content, error *err) {
    size_t bytes;
    status rc = zreader_read_file(path, TEMPLATE_MAX, content, &bytes, err);
    if (rc == STATUS_OK && (strlen(*content) != bytes || !printable_is_utf8(*content)))
        rc = error_set(err, STATUS_INPUT, "cannot read '%s': it is not UTF-8 text", path);
    return rc;
}

// Returns the path of a template: in the user's folder, in that of the language, or in the one
// above it, if it has no words. Names have no ".", and so lead to no other place. free() it.
static char *path_of(const page_templates *t, const char *name) {
    const char *const folders[] = {t->own, t->folder};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = folders[i] ? memory_format("%s/%s.md", folders[i], name) : NULL;
        if (path && access(path, F_OK) == 0) return path;
        free(path);
    }
    return memory_format("%s/../%s.md", t->folder, name);
}

static char *find(void *templates, const char *name, char **place, error *err) {
    char *path = path_of(templates, name), *content = NULL;
    if (read_template(path, &content, err) == STATUS_OK) {
        *place = path;
        return content;
    }
    free(content);
    free(path);
    return NULL;
}

status page_write(page_templates *t, const char *name, const yaml_node *root, const page_host *host,
                  text *out, error *err) {
    const template_host h = {.cache = &t->cache,
                             .find = find,
                             .folders = t,
                             .member = host->member,
                             .insert = host->insert,
                             .names = t->names,
                             .context = host->context};
    return template_render(&h, name, root, out, err);
}

status page_sentence(page_templates *t, const char *name, const yaml_node *root, text *out,
                     error *err) {
    const template_host h = {
        .cache = &t->cache, .find = find, .folders = t, .names = t->names, .plain = true};
    text line = {0};
    const status rc = template_render(&h, name, root, &line, err);
    text_bytes(out, text_string(&line), line.length ? line.length - 1 : 0);
    text_release(&line);
    return rc;
}

const char *page_word(void *templates, const char *words, const char *word) {
    const page_templates *t = templates;
    const yaml_node *names = yaml_find(t->names, words),
                    *found = names ? yaml_find(names, word) : NULL;
    return found && found->kind == YAML_SCALAR ? found->text : word;
}

status page_language_check(const char *language, error *err) {
    if (strcmp(language, "en") == 0 || strcmp(language, "zh") == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "bad --lang: '%s': expected en or zh", language);
}

status page_templates_open_folder(page_templates **made, const char *folder, const char *own,
                                  error *err) {
    page_templates *t = *made = memory_new(1, sizeof *t);
    char *names = memory_format("%s/names.yaml", folder);
    t->own = own;
    t->folder = memory_string(folder);
    const status rc = yaml_read_file(names, &t->names, err);
    free(names);
    return rc;
}

status page_templates_open(page_templates **made, const char *language, const char *own,
                           error *err) {
    char *file = memory_format("report/%s", language), *folder = NULL;
    status rc;
    *made = NULL;
    TRY(plugin_find(file, NULL, &folder, err));
    rc = access(folder, F_OK) == 0
             ? page_templates_open_folder(made, folder, own, err)
             : error_system(err, STATUS_FAILED, errno, "cannot find the templates '%s'", folder);
out:
    free(file);
    free(folder);
    return rc;
}

void page_templates_close(page_templates *t) {
    if (!t) return;
    template_cache_release(&t->cache);
    free(t->folder);
    yaml_free(t->names);
    free(t);
}
