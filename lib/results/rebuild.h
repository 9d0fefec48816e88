// rebuild.h - a run as the files tell it that it wrote: what its manifest says of it is held
// against that.
#ifndef LOCKSTEP_RESULTS_REBUILD_H
#define LOCKSTEP_RESULTS_REBUILD_H

#include "base/error.h"
#include "results/run.h"

typedef struct rebuilt {
    run run;          // what the file does not say is that of the run; NAN what it lacks
    const char *file; // its name
    char recorded[SHA256_TEXT_BYTES], found[SHA256_TEXT_BYTES]; // its content hashes
} rebuilt;

// From steps.st.zst: steps, epochs with their phases and accuracies, the time of the whole, and
// what follows from those. From predictions.st.zst: accuracy, test loss and classes.
//
// STATUS_INPUT when the file is missing or damaged; a file that is whole but not the recorded one
// is no failure: compare the hashes.
status rebuild_from_steps(const run *r, rebuilt *b, error *err) MUST_CHECK;
status rebuild_from_predictions(const run *r, rebuilt *b, error *err) MUST_CHECK;
void rebuilt_release(rebuilt *b);

#endif
