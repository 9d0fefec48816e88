// SPDX-License-Identifier: MIT
// A claim, and the audit of it.
#include <stdlib.h>

#include "audit/audit.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *claimed = fuzz_text(data, bytes);
    claim c = {0};
    findings found = {0};
    error err;
    if (claim_read_text(claimed, "claim", &c, &err) == STATUS_OK) audit_run(&found, &c);
    findings_release(&found);
    claim_release(&c);
    free(claimed);
    return 0;
}
