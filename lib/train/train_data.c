// SPDX-License-Identifier: MIT
#include "train/train_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/train_manifest.h"
#include "train/trainer_lengths.h"

// The message suggests an option of the command that was typed: make and `pipeline` have SET.
static status other_dataset(const train_settings *s, const experiment *e, const dataset *d,
                            const char *path, error *err) {
    const bool set = s->command;
    return error_set(err, STATUS_INPUT,
                     "cannot use dataset: '%s': it is '%s', experiment '%s' needs '%s': pass other "
                     "data, or %sdataset=%s%s",
                     path, d->name, e->name, e->dataset, set ? "SET=\"" : "--set ", d->name,
                     set ? "\"" : "");
}

static status check_fit(const train_settings *s, const experiment *e, const dataset *d,
                        const char *path, error *err) {
    const program *p = &e->model.program;
    if (strcmp(e->dataset, d->name) != 0) return other_dataset(s, e, d, path, err);
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
static void warn_if_far(const train_data *d, const logger *log) {
    const normalization *n = &d->normalization;
    for (int c = 0; c < n->channels; c++) {
        const float given[] = {n->mean[c], n->std[c]}, own[] = {d->train.mean[c], d->train.std[c]};
        if (!pixel_statistics_are_far(given, own)) continue;
        log_warn(log,
                 "'normalize' is far from the data: channel %d has mean %.4g and standard "
                 "deviation %.4g, of pixels from 0 to 1, and not %.4g and %.4g",
                 c, (double)own[0], (double)own[1], (double)given[0], (double)given[1]);
        return;
    }
}

static status set_normalization(train_data *d, const train_settings *s, const experiment *e,
                                error *err) {
    normalization *n = &d->normalization;
    const float *mean = e->has_normalize ? e->mean : d->train.mean;
    const float *std = e->has_normalize ? e->std : d->train.std;
    n->channels = d->train.channels;
    if (e->has_normalize && e->normalize_channels != n->channels)
        return error_set(err, STATUS_INPUT,
                         "cannot normalise: '%s': 'normalize' has %d channels, the images have %d",
                         e->name, e->normalize_channels, n->channels);
    memcpy(n->mean, mean, (size_t)n->channels * sizeof *mean);
    memcpy(n->std, std, (size_t)n->channels * sizeof *std);
    char why[NORMALIZATION_WHY_BYTES];
    if (!normalization_check(n, why))
        return error_set(err, STATUS_INPUT, "cannot normalise: '%s': %s",
                         e->has_normalize ? e->name : s->train, why);
    if (train_settings_lead(s)) warn_if_far(d, s->log);
    return STATUS_OK;
}

// An erased square that is filled with the mean is, after normalisation, as near to 0 as a byte
// allows.
static void set_augmentation(train_data *d, const experiment *e) {
    _Static_assert((int)AUGMENT_MAX_CHANNELS >= (int)ENGINE_MAX_CHANNELS,
                   "a mean for each channel");
    d->augment = e->augment;
    for (int c = 0; c < d->normalization.channels; c++)
        d->augment.mean[c] =
            (uint8_t)rint(255 * fmin(fmax((double)d->normalization.mean[c], 0), 1));
}

static status leave_out(train_data *d, const experiment *e, error *err) {
    const validation *v = &e->validation;
    return holdout_choose(&d->left_out, &d->train, (uint32_t)v->samples, v->seed, err);
}

static status check_size(const train_data *d, const char *path, const experiment *e, error *err) {
    const uint32_t samples = train_data_samples(d);
    if (trainer_steps_per_epoch(e, samples)) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot train with 'drop_last': '%s': %" PRIu32
                     " samples do not fill a global batch of %d",
                     path, samples, e->global_batch);
}

status train_data_read(train_data *d, const train_settings *s, const experiment *e, manifest *m,
                       error *err) {
    status (*const read)(const char *, dataset *, error *) =
        s->dry_run ? dataset_read_header : dataset_read;
    NEED(read(s->train, &d->train, err));
    NEED(check_fit(s, e, &d->train, s->train, err));
    train_manifest_dataset(m, &d->train);
    NEED(set_normalization(d, s, e, err));
    set_augmentation(d, e);
    NEED(leave_out(d, e, err));
    NEED(check_size(d, s->train, e, err));
    if (s->test) {
        NEED(read(s->test, &d->test, err));
        NEED(check_fit(s, e, &d->test, s->test, err));
        train_manifest_dataset(m, &d->test);
    }
    return STATUS_OK;
}

void train_data_release(train_data *d) {
    dataset_release(&d->train);
    dataset_release(&d->test);
    holdout_release(&d->left_out);
}
