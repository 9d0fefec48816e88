// SPDX-License-Identifier: MIT
#include "audit/findings.h"

static const char *const kind_names[FINDING_KINDS] = {[FINDING_ARITHMETIC] = "arithmetic",
                                                      [FINDING_CONDITIONS] = "conditions",
                                                      [FINDING_UNSUPPORTED] = "unsupported",
                                                      [FINDING_STATED] = "stated"};

const char *finding_name(finding_kind kind) {
    return kind_names[kind];
}

void findings_release(findings *a) {
    yaml_free(a->list);
    *a = (findings){0};
}

size_t findings_counted(const findings *a) {
    size_t count = 0;
    for (int k = 0; k < FINDING_STATED; k++) count += a->counts[k];
    return count;
}
