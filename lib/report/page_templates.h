// SPDX-License-Identifier: MIT
// page_templates.h - a page in Markdown, from facts and templates (share/report).
#ifndef LOCKSTEP_REPORT_PAGE_TEMPLATES_H
#define LOCKSTEP_REPORT_PAGE_TEMPLATES_H

#include "base/text.h"
#include "report/facts.h"

// The templates of a language, read as they are used.
typedef struct page_templates page_templates;

// Opens the templates of a language. `own`: a folder whose files take the place of those of the
// same name; NULL: none. STATUS_FAILED if Lockstep's are not installed.
status page_templates_open(page_templates **t, language l, const char *own, error *err) MUST_CHECK;
void page_templates_close(page_templates *t);

// Returns the word for `word` in a table of the language's names.yaml; `word` itself if there is
// none. A chart_word (charts.h).
const char *page_word(void *templates, const char *table, const char *word);

// Writes Markdown for {{insert "NAME"}} in `root`: the facts, or those of a part of them.
typedef status (*page_insert)(void *context, const yaml_node *root, const char *name, text *out,
                              error *err);

// Renders the template `name` over the facts.
status page_write(page_templates *t, const char *name, const facts *f, page_insert insert,
                  void *context, text *out, error *err) MUST_CHECK;

#endif
