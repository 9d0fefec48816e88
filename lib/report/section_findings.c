// SPDX-License-Identifier: MIT
// The audit of a published report: contradictions between its figures.
#include "report/sections.h"
#include "results/reproduction.h"

static const char *kind_message(finding_kind kind) {
    static const wording messages[FINDING_KINDS] = {[FINDING_ARITHMETIC] = "Arithmetic error",
                                                    [FINDING_CONDITIONS] = "Unlike arms",
                                                    [FINDING_UNSUPPORTED] = "Unsupported statement",
                                                    [FINDING_STATED] =
                                                        "Stated by the report itself"};
    return messages[kind];
}

// `d` is a part of a page: its headings become subheadings of the report.
void section_findings(const results *r, document *d, const reproduced *one) {
    const findings *a = &one->audit;
    if (!*one->claim_path) return;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Consistency of its own figures"));
    if (!findings_counted(a))
        document_add(d, BLOCK_PARAGRAPH, "%s", say(r, "Its figures do not contradict each other."));
    for (size_t i = 0; i < a->count; i++) {
        text reasons = {0};
        finding_reasons(a, &a->items[i], &reasons);
        document_add(d, BLOCK_PARAGRAPH, say(r, "%s: %s"), say(r, kind_message(a->items[i].kind)),
                     text_string(&a->items[i].what));
        document_add(d, BLOCK_NOTE, "%s", text_string(&reasons));
        text_release(&reasons);
    }
    document_add(d, BLOCK_NOTE,
                 say(r, "By audit, from %s: the published figures, compared with each other. "
                        "Differences within the rounding of the printed digits are not findings."),
                 one->claim_path);
}
