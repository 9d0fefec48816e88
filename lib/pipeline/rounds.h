// rounds.h - how many executions each run of a plan gets, and the announcement to the user.
#ifndef LOCKSTEP_PIPELINE_ROUNDS_H
#define LOCKSTEP_PIPELINE_ROUNDS_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

// For a question about speed: as many rounds as fit into five minutes, 3 to 10. Fewer executions
// give no interval, more gain little. A reproduction executes runs of more than ROUNDS_LONG seconds
// once.
enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 10, ROUNDS_SECONDS = 300, ROUNDS_LONG = 60 };

// Decides the number of rounds and announces the runs and how long they take. EXECUTIONS wins, for
// all runs; an experiment or study has one; a plan that was carried out before keeps what was
// decided, so that a second make adds none. The number goes into the plan (`executions`), and which
// runs are executed once (`once`). What cannot get a verdict is said, too.
status rounds_decide(pipeline *p, planned_runs *runs, int *rounds, error *err) MUST_CHECK;

#endif
