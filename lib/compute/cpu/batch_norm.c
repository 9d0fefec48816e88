// SPDX-License-Identifier: MIT
#include "compute/cpu/batch_norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cpu/take.h"

typedef struct moments {
    double count, mean, m2;
} moments;

static moments merge(moments a, moments b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    double count = a.count + b.count, delta = b.mean - a.mean;
    return (moments){count, a.mean + delta * (b.count / count),
                     a.m2 + b.m2 + delta * delta * (a.count * b.count / count)};
}

// The left part of n leaves: the largest power of two below n.
static int left_part(int n) {
    int k = 1;
    while (2 * k < n) k *= 2;
    return k;
}

// The leaves of a tree: row i holds the values of a group or shard.
typedef struct rows {
    const double *a, *b;  // means and squares, or two sums; row i of a is at a + i·stride
    const float *fa, *fb; // or the same as floats
    size_t stride;
    const double *count; // elements that each row summarises
} rows;

static moments tree_moments(const rows *r, int first, int n) {
    if (n == 1) {
        size_t i = (size_t)first * r->stride;
        return (moments){r->count[first], r->a[i], r->b[i]};
    }
    int k = left_part(n);
    return merge(tree_moments(r, first, k), tree_moments(r, first + k, n - k));
}

typedef struct two_sums {
    double a, b;
} two_sums;

static two_sums tree_sums(const rows *r, int first, int n) {
    if (n == 1) {
        size_t i = (size_t)first * r->stride;
        return r->fa ? (two_sums){(double)r->fa[i], (double)r->fb[i]}
                     : (two_sums){r->a[i], r->b[i]};
    }
    int k = left_part(n);
    two_sums left = tree_sums(r, first, k), right = tree_sums(r, first + k, n - k);
    return (two_sums){left.a + right.a, left.b + right.b};
}

// ---- Rows and element counts ----

enum {
    MAX_ROWS = 1024
}; // groups of a shard, or shards, that fit on the stack; checked when the engine is opened

static slice_range part_of(const norm_step *n) {
    return slice_of((op_slice){n->member, team_size(n->team)}, n->u->layers->norm->out.channels);
}

static double positions(const unit *u) {
    return (double)u->z.size.height * u->z.size.width;
}

// Finds the first group of local shard s and the elements of each group; returns the number of
// groups.
static int groups_of(const norm_step *n, int s, int *first, double *count) {
    const ownership *o = n->owners;
    const int leaf = o->shard_leaves[o->first_shard + s];
    const int groups = o->shard_groups[o->first_shard + s];
    *first = leaf - o->first_leaf;
    for (int g = 0; g < groups; g++) count[g] = o->groups[*first + g].samples * positions(n->u);
    return groups;
}

static double elements_of(const norm_step *n, int s) {
    return n->owners->counts[n->owners->first_shard + s] * positions(n->u);
}

static bool is_sync(const norm_step *n) {
    return n->e->options.sync_batch_norm;
}

// ---- Exchange between engines, for sync_batch_norm ----

// Afterwards norm_state.all holds the rows of all shards. Member 0 exchanges, between two barriers.
static bool exchange(const norm_step *n) {
    const engine_options *o = &n->e->options;
    norm_state *norm = &n->e->norm;
    team_barrier(n->team);
    if (n->member == 0) {
        const size_t bytes = 2 * (size_t)n->u->layers->norm->out.channels * sizeof(double);
        if (o->exchange)
            norm->failed =
                o->exchange(o->exchange_context, norm->mine, bytes, norm->all, norm->failure);
        else
            memcpy(norm->all, norm->mine, bytes * (size_t)ownership_local_shards(n->owners));
    }
    team_barrier(n->team);
    return norm->failed == STATUS_OK;
}

static double *own_row(const norm_step *n, int s) {
    return n->e->norm.mine + (size_t)s * 2 * (size_t)n->u->layers->norm->out.channels;
}

static rows all_rows(const norm_step *n, int c, const double *count) {
    const size_t channels = (size_t)n->u->layers->norm->out.channels;
    return (rows){.a = n->e->norm.all + c,
                  .b = n->e->norm.all + channels + (size_t)c,
                  .stride = 2 * channels,
                  .count = count};
}

// Finds the elements of every shard; returns how many shards have any (they come first).
static int elements_of_all(const ownership *o, const unit *u, double *count) {
    int n = 0;
    while (n < o->shards && o->counts[n] > 0) {
        count[n] = o->counts[n] * positions(u);
        n++;
    }
    return n;
}

// ---- Forward ----

static void set_forward(const norm_step *n, int s, int c, moments m, double own_count) {
    execution *e = n->e;
    const unit *u = n->u;
    const size_t at =
        (size_t)s * e->placement.list.norm_channels + u->layers->norm_channel + (size_t)c;
    const double variance = m.m2 / m.count, inv_std = 1.0 / sqrt(variance + u->layers->norm->eps);
    const float scale = e->parameters[u->layers->norm->weight + (size_t)c] * (float)inv_std;
    const float mean = (float)m.mean, rest = (float)(m.mean - (double)mean);
    e->norm.mean[at] = mean;
    e->norm.mean_rest[at] = rest;
    e->norm.inv_std[at] = (float)inv_std;
    e->norm.scale[at] = scale;
    e->norm.shift[at] = fmaf(-rest, scale, e->parameters[u->layers->norm->bias + (size_t)c]);
    // Weighted by the elements of this shard; a single element has no unbiased variance, so its
    // weight is 0.
    e->norm.weighted_mean[at] = (float)(m.mean * own_count);
    e->norm.weighted_variance[at] = m.count < 2 ? 0.0f : (float)(m.m2 / (m.count - 1) * own_count);
}

bool batch_norm_forward(const norm_step *n) {
    const execution *e = n->e;
    const unit *u = n->u;
    const ownership *o = n->owners;
    const slice_range part = part_of(n);
    const size_t stride = e->placement.list.norm_channels;
    double count[MAX_ROWS];
    for (int s = o->run_first; s < o->run_end; s++) {
        int first;
        const int groups = groups_of(n, s, &first, count);
        for (int c = part.first; c < part.end; c++) {
            const size_t at = (size_t)first * stride + u->layers->norm_channel + (size_t)c;
            const rows r = {.a = e->norm.group_mean + at,
                            .b = e->norm.group_m2 + at,
                            .stride = stride,
                            .count = count};
            const moments m = groups ? tree_moments(&r, 0, groups) : (moments){0};
            if (!is_sync(n)) {
                if (groups) set_forward(n, s, c, m, elements_of(n, s));
                continue;
            }
            own_row(n, s)[c] = m.mean;
            own_row(n, s)[u->layers->norm->out.channels + c] = m.m2;
        }
    }
    if (is_sync(n)) {
        if (!exchange(n)) return false;
        const int shards = elements_of_all(o, u, count);
        for (int c = part.first; c < part.end; c++) {
            const rows r = all_rows(n, c, count);
            const moments m = tree_moments(&r, 0, shards);
            for (int s = o->run_first; s < o->run_end; s++)
                set_forward(n, s, c, m, elements_of(n, s));
        }
    }
    team_barrier(n->team);
    return true;
}

// ---- Backward ----

// dz = gamma·inv_std·(dy - mean(dy) - xhat·mean(dy·xhat)), xhat = (z - mean)·inv_std, as a·dy +
// b·(z - mean) + c. With b·z instead, c would be about -b·mean, and where the mean is a thousand
// deviations from zero, the two would cancel three of a float's seven digits. What rounding took
// from the mean is in c, too.
static void set_backward(const norm_step *n, int s, int c, two_sums sum, double count) {
    execution *e = n->e;
    const unit *u = n->u;
    const size_t at =
        (size_t)s * e->placement.list.norm_channels + u->layers->norm_channel + (size_t)c;
    const double inv_std = (double)e->norm.inv_std[at], rest = (double)e->norm.mean_rest[at];
    const double factor = (double)e->parameters[u->layers->norm->weight + (size_t)c] * inv_std;
    const float from_dy = (float)factor, from_z = (float)(-factor * inv_std * (sum.b / count));
    e->norm.from_dy[at] = from_dy;
    e->norm.from_z[at] = from_z;
    e->norm.from_one[at] = (float)(-(double)from_dy * (sum.a / count) - (double)from_z * rest);
}

bool batch_norm_backward(const norm_step *n) {
    const execution *e = n->e;
    const unit *u = n->u;
    const ownership *o = n->owners;
    const slice_range part = part_of(n);
    const size_t stride = e->placement.list.norm_channels;
    double count[MAX_ROWS];
    for (int s = o->run_first; s < o->run_end; s++) {
        int first;
        const int groups = groups_of(n, s, &first, count);
        for (int c = part.first; c < part.end; c++) {
            const size_t at = (size_t)first * stride + u->layers->norm_channel + (size_t)c;
            const rows r = {
                .fa = e->norm.group_dy + at, .fb = e->norm.group_dy_xhat + at, .stride = stride};
            const two_sums sum = groups ? tree_sums(&r, 0, groups) : (two_sums){0, 0};
            if (!is_sync(n)) {
                if (groups) set_backward(n, s, c, sum, elements_of(n, s));
                continue;
            }
            own_row(n, s)[c] = sum.a;
            own_row(n, s)[u->layers->norm->out.channels + c] = sum.b;
        }
    }
    if (is_sync(n)) {
        if (!exchange(n)) return false;
        const int shards = elements_of_all(o, u, count);
        double total = 0;
        for (int v = 0; v < shards; v++) total += count[v];
        for (int c = part.first; c < part.end; c++) {
            const rows r = all_rows(n, c, NULL);
            const two_sums sum = tree_sums(&r, 0, shards);
            for (int s = o->run_first; s < o->run_end; s++) set_backward(n, s, c, sum, total);
        }
    }
    team_barrier(n->team);
    return true;
}

// ---- Running statistics ----

void batch_norm_inference(execution *e) {
    for (int i = 0; i < e->placement.list.count; i++) {
        const unit *u = &e->placement.units[i];
        if (!u->layers->norm) continue;
        for (int c = 0; c < u->layers->norm->out.channels; c++) {
            const size_t at = u->layers->norm_channel + (size_t)c;
            const double variance = (double)e->buffers[u->layers->norm->variance + (size_t)c];
            const float inv_std = (float)(1.0 / sqrt(variance + u->layers->norm->eps));
            e->norm.run_scale[at] = e->parameters[u->layers->norm->weight + (size_t)c] * inv_std;
            e->norm.run_shift[at] =
                fmaf(-e->buffers[u->layers->norm->mean + (size_t)c], e->norm.run_scale[at],
                     e->parameters[u->layers->norm->bias + (size_t)c]);
        }
    }
}

static void follow(float *running, float statistic, double weight, double momentum) {
    if (weight > 0)
        *running =
            (float)((1.0 - momentum) * (double)*running + momentum * ((double)statistic / weight));
}

void batch_norm_update(const execution *e, const ownership *o, const float *reduced, op_slice s) {
    const float *statistics = reduced + e->program->parameters;
    for (int i = 0; i < e->placement.list.count; i++) {
        const unit *u = &e->placement.units[i];
        if (!u->layers->norm) continue;
        double count[MAX_ROWS], elements = 0, with_variance = 0;
        const int shards = elements_of_all(o, u, count);
        for (int v = 0; v < shards; v++) elements += count[v];
        for (int v = 0; v < shards; v++)
            if ((e->options.sync_batch_norm ? elements : count[v]) >= 2) with_variance += count[v];
        const slice_range own = slice_of(s, u->layers->norm->out.channels);
        for (int c = own.first; c < own.end; c++) {
            const size_t mean = u->layers->norm->mean + (size_t)c,
                         variance = u->layers->norm->variance + (size_t)c;
            follow(&e->buffers[mean], statistics[mean], elements, u->layers->norm->momentum);
            follow(&e->buffers[variance], statistics[variance], with_variance,
                   u->layers->norm->momentum);
        }
    }
}

// ---- Memory ----

status norm_state_init(norm_state *n, size_t channels, const engine_options *o, int most_groups,
                       size_t *taken, error *err) {
    const size_t groups = (size_t)most_groups * channels;
    const size_t own = (size_t)o->local_shards * channels, all = (size_t)o->shards * channels;
    float **of_shards[] = {&n->mean,          &n->mean_rest,        &n->inv_std, &n->scale,
                           &n->shift,         &n->from_dy,          &n->from_z,  &n->from_one,
                           &n->weighted_mean, &n->weighted_variance};
    TAKE(n->group_mean, groups);
    TAKE(n->group_m2, groups);
    TAKE(n->group_dy, groups);
    TAKE(n->group_dy_xhat, groups);
    for (size_t i = 0; i < sizeof of_shards / sizeof *of_shards; i++) TAKE(*of_shards[i], own);
    TAKE(n->run_scale, channels);
    TAKE(n->run_shift, channels);
    TAKE(n->mine, 2 * own);
    TAKE(n->all, 2 * all);
    return STATUS_OK;
}

void norm_state_release(norm_state *n) {
    void *own[] = {n->group_mean,    n->group_m2,          n->group_dy, n->group_dy_xhat,
                   n->mean,          n->mean_rest,         n->inv_std,  n->scale,
                   n->shift,         n->from_dy,           n->from_z,   n->from_one,
                   n->weighted_mean, n->weighted_variance, n->mine,     n->all,
                   n->run_scale,     n->run_shift};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
}
