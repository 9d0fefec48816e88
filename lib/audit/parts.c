// SPDX-License-Identifier: MIT
// Parts of a step: the causes of a difference in time, and the ratio of loading to the update.
#include <math.h>

#include "audit/checks.h"

// The named cause is the whole difference (overhead), or one of several causes (part).
static void check_overhead(findings *a, const claim_statement *s) {
    const stated *of = &s->of->values[QUANTITY_BATCH_MS], *ms = &s->values[QUANTITY_MS];
    const stated *than = &s->than->values[QUANTITY_BATCH_MS];
    if (!of->given || !than->given) {
        finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_MS, s),
                    "'%s': the rows give no time per batch to compare", s->of->name);
        finding_arithmetic(a, "stated %s ms", ms->text);
        finding_consequence(a, "the overhead cannot be checked");
        return;
    }
    const double difference = of->value - than->value;
    const interval all = interval_subtract(of->range, than->range);
    const bool left = difference > ms->value;
    if (interval_meet(all, ms->range) || (left && s->kind == STATEMENT_PART)) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(QUANTITY_MS, s),
                "'%s': the stated overhead is not the difference from '%s'", s->of->name,
                s->than->name);
    finding_arithmetic(a,
                       left ? "%s - %s = %.4g ms per batch, stated %s ms: %.4g ms unexplained"
                            : "%s - %s = %.4g ms per batch, stated %s ms: %.4g ms too much",
                       of->text, than->text, difference, ms->text, fabs(difference - ms->value));
    finding_consequence(a, "the named cause does not account for the time");
}

static void check_load(findings *a, const claim_statement *s) {
    const stated *load = &s->of->values[QUANTITY_LOAD_SECONDS], *ratio = &s->values[QUANTITY_RATIO];
    const stated *update = &s->of->values[QUANTITY_UPDATE_SECONDS];
    if (!load->given || !update->given) {
        finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_LOAD_SECONDS, s),
                    "'%s': the times of load and update are not given", s->of->name);
        finding_consequence(a, "the statement cannot be checked");
        return;
    }
    if (interval_meet(interval_divide(load->range, update->range), ratio->range)) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(QUANTITY_LOAD_SECONDS, s),
                "'%s': the ratio of loading to update is different", s->of->name);
    finding_arithmetic(a, "%s / %s = %.3g, stated %s", load->text, update->text,
                       load->value / update->value, ratio->text);
    finding_consequence(a, "the figure does not follow from the row");
}

void check_parts(findings *a, const claim_statement *s) {
    if (s->kind == STATEMENT_LOAD_TO_UPDATE && s->of) check_load(a, s);
    if ((s->kind == STATEMENT_OVERHEAD || s->kind == STATEMENT_PART) && s->of && s->than)
        check_overhead(a, s);
}
