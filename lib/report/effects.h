// effects.h - a step of a plan in words: what it changed, and what that did (private to
// lib/report).
#ifndef LOCKSTEP_REPORT_EFFECTS_H
#define LOCKSTEP_REPORT_EFFECTS_H

#include "base/text.h"
#include "report/report.h"
#include "results/planned.h"

// What came of a comparison, in time or in accuracy.
typedef enum effect {
    EFFECT_OPEN,      // not comparable, or too little to say
    EFFECT_NONE,      // the interval covers no difference; the test finds none
    EFFECT_IDENTICAL, // the same model: no effect on accuracy at all
    EFFECT_ONE_SEED,  // the two models differ, but one seed cannot tell the factor from chance
    EFFECT_SHOWN
} effect;

effect effect_on_time(const comparison *c);
effect effect_on_accuracy(const comparison *c);

// "1.52 times as fast [1.48, 1.57]", "no difference", or why nothing can be said.
void effect_append_time(const results *r, text *out, const comparison *c);
// "-7.01 points [-8.10, -5.92]".
void effect_append_points(const results *r, text *out, const comparison *c);

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
