// SPDX-License-Identifier: MIT
// audit.h - checks a claim against its own figures: is the arithmetic right, were the compared rows
// alike, and does a figure support each statement?
//
// A contradiction counts only if no numbers that round to the printed ones resolve it. Conditions
// that neither of two compared rows gives (loader workers, learning rate) are assumed equal.
#ifndef LOCKSTEP_AUDIT_AUDIT_H
#define LOCKSTEP_AUDIT_AUDIT_H

#include "audit/findings.h"

// Collects all findings, rows first, then statements, each in file order. The claim must outlive
// them. Release *a also after a failure.
void audit_run(findings *a, const claim *c);

#endif
