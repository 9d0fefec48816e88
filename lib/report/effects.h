// SPDX-License-Identifier: MIT
// effects.h - a step of a plan in words: the change, and published figures about it (private to
// lib/report).
#ifndef LOCKSTEP_REPORT_EFFECTS_H
#define LOCKSTEP_REPORT_EFFECTS_H

#include "base/text.h"
#include "report/report.h"
#include "results/planned.h"

// Append the factor of a step, "Global batch", and its changes, "global_batch 64 → 256".
void effect_append_factor(const results *r, text *out, const planned *one);
void effect_append_changes(text *out, const planned *one);

// Returns a factor, given by its name in a plan, as worded in a sentence: "loader workers"; a key
// unchanged.
const char *effect_factor_phrase(const results *r, const char *name);
// Returns the format of a published time, by its key: "%s s", "%s s an epoch".
const char *effect_published_unit(const char *key);
// Appends a published figure as written: "72.80", "55–65".
void effect_append_figure(text *out, const yaml_node *node);
// Appends all published times, or accuracies, of a run: "72.80 s (R004)".
void effect_append_published(const results *r, text *out, const planned *one, bool time);

// Appends "1.58 s", with the mark if it is simulated.
void effect_append_seconds(const results *r, text *out, const seed_group *g, double seconds);

#endif
