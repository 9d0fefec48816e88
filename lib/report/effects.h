// effects.h - a step of a plan in words: what it changed, and what was published about it (private
// to lib/report).
#ifndef LOCKSTEP_REPORT_EFFECTS_H
#define LOCKSTEP_REPORT_EFFECTS_H

#include "base/text.h"
#include "report/report.h"
#include "results/planned.h"

// What a step is about, "Global batch", and what it changes, "global_batch 64 → 256".
void effect_append_factor(const results *r, text *out, const planned *one);
void effect_append_changes(text *out, const planned *one);

// A factor by its name in a plan, as it stands in a sentence: "loader workers"; a key as it is.
const char *effect_said_factor(const results *r, const char *name);
// The format of a published time by its key: "%s s", "%s s an epoch".
const char *effect_published_unit(const char *key);
// A published figure as it was written: "72.80", "55–65".
void effect_append_figure(text *out, const yaml_node *node);
// All that was published about a run, its times or its accuracy: "72.80 s (R004)".
void effect_append_published(const results *r, text *out, const planned *one, bool time);

// "1.58 s", with the mark where it is simulated.
void effect_append_seconds(const results *r, text *out, const group *g, double seconds);

#endif
