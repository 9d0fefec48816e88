// SPDX-License-Identifier: MIT
#include "train/divergence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DESCRIPTION_BYTES = TENSOR_NAME_BYTES + 64 };

// "tensor 'bn1.running_var' holds nan": a model's tensors go without the prefix that they have in a
// state.
static void describe(const bad_place *bad, char text[DESCRIPTION_BYTES]) {
    const bool of_model = strcmp(bad->prefix, "model.") == 0;
    snprintf(text, DESCRIPTION_BYTES, "tensor '%s%s' holds %g", of_model ? "" : bad->prefix,
             bad->tensor->name, bad->value.value);
}

static status diverged(uint64_t step, uint64_t steps_per_epoch, const char *what, error *err) {
    return error_set(err, STATUS_FAILED,
                     "cannot continue: 'step %" PRIu64 "' (epoch %" PRIu64
                     "): %s; a lower learning rate may help",
                     step, step / steps_per_epoch + 1, what);
}

status divergence_of_loss(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch, float loss,
                          error *err) {
    char what[DESCRIPTION_BYTES + 64], where[DESCRIPTION_BYTES];
    bad_place bad;
    const double value = isnan(loss) ? (double)NAN : (double)loss;
    const bool found = checkpoint_find_bad(c, &bad);
    if (found) describe(&bad, where);
    snprintf(what, sizeof what, "the loss is %g%s%s", value, found ? ", " : "", found ? where : "");
    return diverged(step, steps_per_epoch, what, err);
}

status divergence_of_tensors(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch,
                             error *err) {
    char where[DESCRIPTION_BYTES];
    bad_place bad;
    if (!checkpoint_find_bad(c, &bad)) return STATUS_OK;
    describe(&bad, where);
    return diverged(step, steps_per_epoch, where, err);
}
