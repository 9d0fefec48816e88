// SPDX-License-Identifier: MIT
#include "train/train_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/train_manifest.h"
#include "train/train_start.h"
#include "train/trainer_lengths.h"

// The message suggests an option of the command that was typed: make and `pipeline` have SET.
static status other_dataset(const train_run *r, const dataset *d, const char *path, error *err) {
    const bool set = r->settings->command;
    return error_set(err, STATUS_INPUT,
                     "cannot use dataset: '%s': it is '%s', experiment '%s' needs '%s': pass other "
                     "data, or %sdataset=%s%s",
                     path, d->name, r->experiment->name, r->experiment->dataset,
                     set ? "SET=\"" : "--set ", d->name, set ? "\"" : "");
}

static status check_fit(const train_run *r, const dataset *d, const char *path, error *err) {
    const experiment *e = r->experiment;
    const program *p = &e->model.program;
    if (strcmp(e->dataset, d->name) != 0) return other_dataset(r, d, path, err);
    if (d->channels != p->input.channels || d->height != p->input.height ||
        d->width != p->input.width)
        return error_set(err, STATUS_INPUT,
                         "cannot use dataset: '%s': its images are %d×%d×%d, model '%s' takes "
                         "%d×%d×%d: import the images at that size, or write 'input: [%d, %d, %d]' "
                         "in the model",
                         path, d->channels, d->height, d->width, e->model.name, p->input.channels,
                         p->input.height, p->input.width, d->channels, d->height, d->width);
    if (d->classes != p->classes)
        return error_set(err, STATUS_INPUT,
                         "cannot use dataset: '%s': it has %d classes, model '%s' has %d: its last "
                         "layer must be 'linear: {out: %d}'",
                         path, d->classes, e->model.name, p->classes, d->classes);
    return STATUS_OK;
}

// Warns of the first channel of which 'normalize' cannot be a mean and deviation.
static void warn_if_far(const train_run *r) {
    const normalization *n = &r->normalization;
    for (int c = 0; c < n->channels; c++) {
        const float given[] = {n->mean[c], n->std[c]}, own[] = {r->train.mean[c], r->train.std[c]};
        if (!pixel_statistics_are_far(given, own)) continue;
        log_warn(r->settings->log,
                 "'normalize' is far from the data: channel %d has mean %.4g and standard "
                 "deviation %.4g, of pixels from 0 to 1, and not %.4g and %.4g",
                 c, (double)own[0], (double)own[1], (double)given[0], (double)given[1]);
        return;
    }
}

static status set_normalization(train_run *r, error *err) {
    const experiment *e = r->experiment;
    normalization *n = &r->normalization;
    const float *mean = e->has_normalize ? e->mean : r->train.mean;
    const float *std = e->has_normalize ? e->std : r->train.std;
    n->channels = r->train.channels;
    if (e->has_normalize && e->normalize_channels != n->channels)
        return error_set(err, STATUS_INPUT,
                         "cannot normalise: '%s': 'normalize' has %d channels, the images have %d",
                         e->name, e->normalize_channels, n->channels);
    memcpy(n->mean, mean, (size_t)n->channels * sizeof *mean);
    memcpy(n->std, std, (size_t)n->channels * sizeof *std);
    char why[NORMALIZATION_WHY_BYTES];
    if (!normalization_check(n, why))
        return error_set(err, STATUS_INPUT, "cannot normalise: '%s': %s",
                         e->has_normalize ? e->name : r->settings->train, why);
    if (train_start_leads(r->settings)) warn_if_far(r);
    return STATUS_OK;
}

// An erased square that is filled with the mean is, after normalisation, as near to 0 as a byte
// allows.
static void set_augmentation(train_run *r) {
    _Static_assert((int)AUGMENT_MAX_CHANNELS >= (int)ENGINE_MAX_CHANNELS,
                   "a mean for each channel");
    r->augment = r->experiment->augment;
    for (int c = 0; c < r->normalization.channels; c++)
        r->augment.mean[c] =
            (uint8_t)rint(255 * fmin(fmax((double)r->normalization.mean[c], 0), 1));
}

static status leave_out(train_run *r, error *err) {
    const validation *v = &r->experiment->validation;
    return holdout_choose(&r->left_out, &r->train, (uint32_t)v->samples, v->seed, err);
}

static status check_size(const train_run *r, error *err) {
    const uint32_t samples = train_run_samples(r);
    if (trainer_steps_per_epoch(r->experiment, samples)) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot train with 'drop_last': '%s': %" PRIu32
                     " samples do not fill a global batch of %d",
                     r->settings->train, samples, r->experiment->global_batch);
}

status train_data_read(train_run *r, error *err) {
    const train_settings *s = r->settings;
    status (*const read)(const char *, dataset *, error *) =
        s->dry_run ? dataset_read_header : dataset_read;
    status rc;
    TRY(read(s->train, &r->train, err));
    TRY(check_fit(r, &r->train, s->train, err));
    train_manifest_dataset(r->manifest, &r->train);
    TRY(set_normalization(r, err));
    set_augmentation(r);
    TRY(leave_out(r, err));
    TRY(check_size(r, err));
    if (s->test) {
        TRY(read(s->test, &r->test, err));
        TRY(check_fit(r, &r->test, s->test, err));
        train_manifest_dataset(r->manifest, &r->test);
    }
out:
    return rc;
}
