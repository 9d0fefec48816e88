// SPDX-License-Identifier: MIT
#include "train/state_check.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sha256.h"

// ---- Values that are not finite ----

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

status state_check_loss(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch, float loss,
                        error *err) {
    char what[DESCRIPTION_BYTES + 64], where[DESCRIPTION_BYTES];
    bad_place bad;
    const double value = isnan(loss) ? (double)NAN : (double)loss;
    const bool found = checkpoint_find_bad(c, &bad);
    if (found) describe(&bad, where);
    snprintf(what, sizeof what, "the loss is %g%s%s", value, found ? ", " : "", found ? where : "");
    return diverged(step, steps_per_epoch, what, err);
}

status state_check_tensors(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch,
                           error *err) {
    char where[DESCRIPTION_BYTES];
    bad_place bad;
    if (!checkpoint_find_bad(c, &bad)) return STATUS_OK;
    describe(&bad, where);
    return diverged(step, steps_per_epoch, where, err);
}

// ---- Ranks that hold different numbers ----

enum { PARAMETERS, STATISTICS, OPTIMIZER, AVERAGE, AVERAGE_STATISTICS, PARTS, HOST_BYTES = 256 };

static const char *const part_names[PARTS] = {"parameters", "running statistics", "optimizer state",
                                              "average of the weights",
                                              "average of the running statistics"};

// What a rank tells the others.
typedef struct holding {
    char parts[PARTS][SHA256_TEXT_BYTES];
    char host[HOST_BYTES];
} holding;

static_assert(sizeof(holding) <= STATE_CHECK_BYTES, "it is gathered at once");

static void hash_parts(const checkpoint *c, holding *h) {
    const program *p = &c->model->program;
    const struct {
        const float *values;
        size_t count;
    } arenas[PARTS] = {{c->parameters, p->parameters},
                       {c->buffers, p->buffers},
                       {c->optimizer, p->parameters * (size_t)optimizer_states(c->kind)},
                       {c->average, p->parameters},
                       {c->average_buffers, p->buffers}};
    for (int i = 0; i < PARTS; i++)
        if (arenas[i].values)
            sha256_buffer(arenas[i].values, arenas[i].count * sizeof(float), h->parts[i]);
}

static bool agree(const holding *a, const holding *b) {
    return memcmp(a->parts, b->parts, sizeof a->parts) == 0;
}

static int count_like(const holding *all, int ranks, int rank) {
    int same = 0;
    for (int r = 0; r < ranks; r++) same += agree(&all[r], &all[rank]);
    return same;
}

// Returns the first rank that holds what most ranks do.
static int find_usual(const holding *all, int ranks, int *most) {
    int usual = 0;
    *most = count_like(all, ranks, 0);
    for (int r = 1; r < ranks && *most <= ranks / 2; r++) {
        const int same = count_like(all, ranks, r);
        if (same > *most) {
            *most = same;
            usual = r;
        }
    }
    return usual;
}

// Finds the first step since which the digests of two ranks' parameters differ. If none does, the
// step after which they were compared.
static status find_step(comm *ranks, const checkpoint *c, uint64_t since, int usual, int parted,
                        uint64_t *step, error *err) {
    enum { CHUNK = STATE_CHECK_BYTES / sizeof(uint64_t) };
    status rc = STATUS_OK;
    bool found = false;
    uint64_t *all = memory_new((size_t)ranks->size * CHUNK, sizeof *all);
    *step = c->step ? c->step - 1 : 0;
    for (uint64_t first = since; rc == STATUS_OK && !found && first < c->step; first += CHUNK) {
        const size_t n = c->step - first < CHUNK ? c->step - first : CHUNK;
        rc = ranks->ops->all_gather(ranks, c->timeline.digest + first, n * sizeof *all, all, err);
        for (size_t i = 0; rc == STATUS_OK && !found && i < n; i++) {
            found = all[(size_t)usual * n + i] != all[(size_t)parted * n + i];
            if (found) *step = first + i;
        }
    }
    free(all);
    return rc;
}

static status report(comm *ranks, const checkpoint *c, const holding *all, uint64_t since,
                     uint64_t steps_per_epoch, int usual, int most, error *err) {
    int parted = 0, part = 0;
    uint64_t step;
    char others[64];
    while (agree(&all[parted], &all[usual])) parted++;
    while (strcmp(all[parted].parts[part], all[usual].parts[part]) == 0) part++;
    NEED(find_step(ranks, c, since, usual, parted, &step, err));
    if (most > 1)
        snprintf(others, sizeof others, "%d of %d ranks", most, ranks->size);
    else
        snprintf(others, sizeof others, "rank %d", usual);
    return error_set(
        err, STATUS_FINDING,
        "cannot continue: 'rank %d' (host %s): from step %" PRIu64 " (epoch %" PRIu64
        ") on, its %s differ from those of %s: a processor, memory or program computes "
        "wrongly; nothing was saved since",
        parted, all[parted].host, step, step / steps_per_epoch + 1, part_names[part], others);
}

status state_check_ranks(comm *ranks, const checkpoint *c, uint64_t since, uint64_t steps_per_epoch,
                         error *err) {
    if (ranks->size == 1) return STATUS_OK;
    holding mine = {0}, *all = memory_new((size_t)ranks->size, sizeof *all);
    status rc = STATUS_OK;
    (void)gethostname(mine.host, sizeof mine.host - 1);
    hash_parts(c, &mine);
    TRY(ranks->ops->all_gather(ranks, &mine, sizeof mine, all, err));
    int most;
    const int usual = find_usual(all, ranks->size, &most);
    if (most < ranks->size) rc = report(ranks, c, all, since, steps_per_epoch, usual, most, err);
out:
    free(all);
    return rc;
}
