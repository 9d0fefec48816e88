// SPDX-License-Identifier: MIT
#include "audit/audit.h"

#include "audit/checks.h"

static status text_failures(const findings *a) {
    for (size_t i = 0; i < a->count; i++) {
        const finding *f = &a->items[i];
        const text *texts[] = {&f->what, &f->where, &f->sums, &f->so};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (text_status(texts[k]) != STATUS_OK) return text_status(texts[k]);
    }
    return STATUS_OK;
}

status audit_run(findings *a, const claim *c, language l, error *err) {
    *a = (findings){.claim = c, .language = l, .err = err};
    check_sources(a);
    check_sums(a);
    for (size_t i = 0; i < c->statement_count; i++) {
        const claim_statement *s = &c->statements[i];
        check_names(a, s);
        check_times(a, s);
        check_arms(a, s);
        check_accuracy(a, s);
        check_parts(a, s);
        check_projection(a, s);
        check_effective_batch(a, s);
        check_code(a, s);
    }
    return a->rc != STATUS_OK ? a->rc : text_failures(a);
}
