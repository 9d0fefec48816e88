// What the figures of a published report say about each other.
#include "report/reproduction.h"
#include "report/sections.h"

static message kind_message(finding_kind kind) {
    static const message messages[FINDING_KINDS] = {
        [FINDING_ARITHMETIC] = MESSAGE_FINDING_ARITHMETIC,
        [FINDING_ARMS] = MESSAGE_FINDING_ARMS,
        [FINDING_NOISE] = MESSAGE_FINDING_NOISE,
        [FINDING_UNSUPPORTED] = MESSAGE_FINDING_UNSUPPORTED,
        [FINDING_CONDITION] = MESSAGE_FINDING_CONDITION};
    return messages[kind];
}

// `d` is a part of a page: a heading here is one below that of the report.
void section_findings(const report *r, document *d, const reproduced *one) {
    const audit *a = &one->audit;
    if (!*one->claim_path) return;
    document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_FINDINGS));
    if (!a->count) document_add(d, BLOCK_PARAGRAPH, "%s", say(r, MESSAGE_NO_FINDINGS));
    for (size_t i = 0; i < a->count; i++) {
        text reasons;
        text_init(&reasons, d->err);
        audit_reasons(a, &a->items[i], &reasons);
        document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LABELLED),
                     say(r, kind_message(a->items[i].kind)), text_string(&a->items[i].what));
        document_add(d, BLOCK_NOTE, "%s", text_string(&reasons));
        text_release(&reasons);
    }
    document_add(d, BLOCK_NOTE, say(r, MESSAGE_FINDINGS_NOTE), one->claim_path);
}
