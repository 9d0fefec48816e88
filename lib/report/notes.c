// SPDX-License-Identifier: MIT
#include "report/notes.h"

#include <stdlib.h>
#include <string.h>

#include "report/facts_parts.h"

// Takes ownership of `of`.
static status say(page_templates *t, const char *sentence, yaml_node *of, text *out, error *err) {
    yaml_node *root = yaml_new(YAML_MAPPING);
    yaml_put(root, "of", of);
    yaml_put(root, "rules", facts_rules());
    const status rc = page_sentence(t, sentence, root, out, err);
    yaml_free(root);
    return rc;
}

status notes_say(page_templates *t, const char *sentence, const comparison *c, text *out,
                 error *err) {
    return say(t, sentence, facts_comparison(c, NULL), out, err);
}

static status write_note(page_templates *t, figure *f, error *err) {
    const bool accuracy = f->compared && strcmp(f->part, "accuracy") == 0;
    text note = {0};
    status rc = STATUS_OK;
    if (f->compared)
        rc = notes_say(t, accuracy ? "notes.accuracy" : "notes.time", f->compared, &note, err);
    else if (f->predicted && f->predicted->reason.count)
        rc = say(t, "reasons", facts_reasons(&f->predicted->reason), &note, err);
    else
        return STATUS_OK;
    if (rc == STATUS_OK) {
        free(f->note);
        f->note = text_take(&note);
    }
    text_release(&note);
    return rc;
}

status notes_write(figure_list *figures, error *err) {
    page_templates *t = NULL;
    status rc;
    TRY(page_templates_open(&t, "en", NULL, err));
    for (size_t i = 0; rc == STATUS_OK && i < figures->count; i++)
        rc = write_note(t, &figures->items[i], err);
out:
    page_templates_close(t);
    return rc;
}
