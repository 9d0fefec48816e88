// SPDX-License-Identifier: MIT
// findings_text.h - the findings of an audit as text: their sentences are templates (audit.md).
#ifndef LOCKSTEP_REPORT_FINDINGS_TEXT_H
#define LOCKSTEP_REPORT_FINDINGS_TEXT_H

#include "audit/findings.h"
#include "base/text.h"
#include "report/page_templates.h"

// Writes the findings of one claim for people, or "NAME: no findings".
status findings_print(page_templates *t, const findings *a, text *out, error *err) MUST_CHECK;

// Appends the findings of one claim to a list, for --json.
status findings_to_json(page_templates *t, const findings *a, yaml_node *list,
                        error *err) MUST_CHECK;

// Writes the tool's last line: the numbers of findings of all claims.
status findings_print_tally(page_templates *t, const size_t counts[FINDING_KINDS], size_t claims,
                            text *out, error *err) MUST_CHECK;

#endif
