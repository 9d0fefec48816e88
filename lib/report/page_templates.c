// SPDX-License-Identifier: MIT
#include "report/page_templates.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plugin.h"
#include "base/printable.h"
#include "base/template.h"
#include "base/zstream.h"

enum { TEMPLATE_MAX = 1 << 18 };

typedef struct file_text {
    char *name, *path, *content;
} file_text;

struct page_templates {
    char *folder;    // of Lockstep's own, in the page's language
    const char *own; // that the user gave; NULL: none
    yaml_node *names;
    file_text *files; // read so far
    size_t count, capacity;
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

// What is rendered: the context of a template_host.
typedef struct page_render {
    page_templates *templates;
    const facts *facts;
    page_insert insert;
    void *context;
} page_render;

static const char *find(void *context, const char *name, const char **place, error *err) {
    page_templates *t = ((page_render *)context)->templates;
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->files[i].name, name) != 0) continue;
        *place = t->files[i].path;
        return t->files[i].content;
    }
    char *path = path_of(t, name), *content = NULL;
    if (read_template(path, &content, err) != STATUS_OK) {
        free(path);
        return NULL;
    }
    void *files = t->files;
    memory_grow(&files, &t->capacity, t->count + 1, sizeof *t->files);
    t->files = files;
    t->files[t->count++] = (file_text){memory_string(name), path, content};
    *place = path;
    return content;
}

static const yaml_node *member(void *context, const yaml_node *mapping, const char *key,
                               bool *known) {
    return facts_figure(((page_render *)context)->facts, mapping, key, known);
}

static status insert(void *context, const yaml_node *root, const char *name, text *out,
                     error *err) {
    const page_render *r = context;
    return r->insert(r->context, root, name, out, err);
}

status page_write(page_templates *t, const char *name, const facts *f, page_insert inserts,
                  void *context, text *out, error *err) {
    page_render r = {t, f, inserts, context};
    const template_host host = {.find = find,
                                .member = member,
                                .insert = inserts ? insert : NULL,
                                .names = t->names,
                                .context = &r};
    return template_render(&host, name, f->root, out, err);
}

const char *page_word(void *templates, const char *words, const char *word) {
    const page_templates *t = templates;
    const yaml_node *names = yaml_find(t->names, words),
                    *found = names ? yaml_find(names, word) : NULL;
    return found && found->kind == YAML_SCALAR ? found->text : word;
}

status page_templates_open(page_templates **made, language l, const char *own, error *err) {
    page_templates *t = *made = memory_new(1, sizeof *t);
    char *file = memory_format("report/%s/names.yaml", language_name(l)), *names = NULL;
    status rc;
    TRY(plugin_find(file, NULL, &names, err));
    t->own = own;
    t->folder = memory_format("%.*s", (int)(strrchr(names, '/') - names), names);
    TRY(yaml_read_file(names, &t->names, err));
out:
    free(file);
    free(names);
    return rc;
}

void page_templates_close(page_templates *t) {
    if (!t) return;
    for (size_t i = 0; i < t->count; i++) {
        free(t->files[i].name);
        free(t->files[i].path);
        free(t->files[i].content);
    }
    free(t->files);
    free(t->folder);
    yaml_free(t->names);
    free(t);
}
