// checkpoint.h - state.st.zst: everything that is needed to go on, alone in one file.
#ifndef LOCKSTEP_TRAIN_CHECKPOINT_H
#define LOCKSTEP_TRAIN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"
#include "compute/backend.h"
#include "nn/model_values.h"
#include "train/timeline.h"

// What a run is, apart from who computes it. A state may only go on as the run that it was of.
typedef struct run_identity {
    const yaml_node *parameters; // the resolved experiment
    const char *data;            // content hash of the unsharded training data
    const char *init;            // content hash of the --init checkpoint; "" without
    int bits;                    // revision of the arithmetic that makes the steps
} run_identity;

// A run so far.
typedef struct checkpoint {
    const model *model;                      // not owned
    update_kind kind;                        // which optimizer state it holds
    uint64_t step;                           // steps done, over all epochs
    float *parameters, *buffers, *optimizer; // arenas; optimizer: update_state_arrays of them
    timeline timeline;                       // of the steps done
    int epochs;
    double *accuracy;     // test accuracy after each epoch; NaN where it was not measured
    uint64_t total_ns;    // wall time of all segments so far
    yaml_node *execution; // a list: who computed, segment after segment
} checkpoint;

// The key of a segment that --max-restarts began: how many restarts there were behind the segment
// before it, those included of which nothing was saved.
#define CHECKPOINT_RESTARTS "restarts"

// An empty run with room for `epochs` of `steps_per_epoch` steps; the arenas are zero.
status checkpoint_init(checkpoint *c, const model *m, update_kind kind, int epochs,
                       uint64_t steps_per_epoch, error *err) MUST_CHECK;
// A zeroed struct is fine.
void checkpoint_release(checkpoint *c);

// Writes `path`, whole or not at all. The hashes of the file go to `f`, which may be NULL; release
// it.
status checkpoint_write(const checkpoint *c, const run_identity *run, const char *path,
                        tensor_file *f, error *err) MUST_CHECK;

// Fills `c`, which checkpoint_init prepared. STATUS_INPUT saying why when the state is of a run
// that this one cannot go on from: it may have been made for fewer epochs (experiment_continues).
// Likewise, naming the tensor, when a value in it is none that a training leaves.
status checkpoint_read(checkpoint *c, const run_identity *run, const char *path,
                       error *err) MUST_CHECK;

// A place of a run so far that no training goes on from: a value that is not finite, or a running
// variance or a second moment below 0.
typedef struct bad_place {
    const char *prefix; // of the tensor's name in a state: "model.", "optimizer.momentum."
    const model_tensor *tensor;
    bad_value value;
} bad_place;

// The first of them, in the order of parameters and buffers, then of the optimizer. False: there is
// none.
bool checkpoint_find_bad(const checkpoint *c, bad_place *bad);

// STATUS_INPUT where steps of revision `theirs` (0: nobody knows), saved in `path`, would be
// followed by steps of revision `mine`: no run, and no key, has the bits of such a mixture.
status checkpoint_check_bits(int mine, int64_t theirs, const char *path, error *err) MUST_CHECK;

// Of all segments together.
int64_t checkpoint_restarts(const checkpoint *c);

// STATUS_INPUT saying why `mine` cannot go on from `theirs` (experiment_continues); `path` is that
// of `theirs`.
status checkpoint_check_parameters(const yaml_node *mine, const yaml_node *theirs, const char *path,
                                   error *err) MUST_CHECK;
// `epochs` of a resolved experiment; 0 where it has none.
int checkpoint_epochs(const yaml_node *parameters);

#endif
