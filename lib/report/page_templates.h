// SPDX-License-Identifier: MIT
// page_templates.h - a page in Markdown, or a sentence, from facts and templates (share/report).
#ifndef LOCKSTEP_REPORT_PAGE_TEMPLATES_H
#define LOCKSTEP_REPORT_PAGE_TEMPLATES_H

#include "base/error.h"
#include "base/text.h"
#include "base/yaml_tree.h"

// STATUS_USAGE unless there are templates in that language: "en", "zh".
status page_language_check(const char *language, error *err) MUST_CHECK;

// The templates of a language, read as they are used.
typedef struct page_templates page_templates;

// Opens the templates of a language. `own`: a folder whose files take the place of those of the
// same name; NULL: none. STATUS_FAILED if Lockstep's are not installed.
status page_templates_open(page_templates **t, const char *language, const char *own,
                           error *err) MUST_CHECK;
// The same with Lockstep's in a folder, such as share/report/en.
status page_templates_open_folder(page_templates **t, const char *folder, const char *own,
                                  error *err) MUST_CHECK;
void page_templates_close(page_templates *t);

// Returns the word for `word` in a table of the language's names.yaml; `word` itself if there is
// none. A chart_word (charts.h).
const char *page_word(void *templates, const char *table, const char *word);

// What a page has besides the tree of its facts, as in a template_host.
typedef struct page_host {
    const yaml_node *(*member)(void *context, const yaml_node *mapping, const char *key,
                               bool *known);
    status (*insert)(void *context, const yaml_node *root, const char *name, text *out, error *err);
    void *context;
} page_host;

// Renders the template `name` over the facts `root`.
status page_write(page_templates *t, const char *name, const yaml_node *root, const page_host *host,
                  text *out, error *err) MUST_CHECK;
// Renders a sentence as plain text in one line, without a line feed.
status page_sentence(page_templates *t, const char *name, const yaml_node *root, text *out,
                     error *err) MUST_CHECK;

#endif
