// audit.h - holds a claim against its own figures: does the arithmetic work out, were the arms that
// it compares alike, and is there a figure that supports each statement?
//
// Only what cannot be true of any numbers that round to the printed ones is a finding. Conditions
// that neither of two compared rows gives (loader workers, learning rate) are taken as equal.
#ifndef LOCKSTEP_AUDIT_AUDIT_H
#define LOCKSTEP_AUDIT_AUDIT_H

#include "audit/findings.h"

// All findings, rows first, then statements, each in the order of the file. The claim must outlive
// them. Release also after a failure.
status audit_run(findings *a, const claim *c, language l, error *err) MUST_CHECK;

#endif
