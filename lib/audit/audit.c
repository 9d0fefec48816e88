// SPDX-License-Identifier: MIT
#include "audit/audit.h"

#include "audit/checks.h"

void audit_run(findings *a, const claim *c, language l) {
    *a = (findings){.claim = c, .language = l};
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
}
