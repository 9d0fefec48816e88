// SPDX-License-Identifier: MIT
// Batch norm's statistics: combined from groups to a shard, along the reduction tree, in double.
//
// Means and squares are merged pairwise (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a
// pairwise algorithm for computing sample variances", 1979), so that no large sums cancel.
#include <math.h>
#include <string.h>

#include "compute/cpu/engine.h"

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

typedef struct channel_part {
    int first, end;
} channel_part;

static channel_part part_of(const engine *e, const unit *u, int member) {
    int channels = u->layers.norm->out.channels, members = team_size(e->team);
    return (channel_part){channels * member / members, channels * (member + 1) / members};
}

static double positions(const unit *u) {
    return (double)u->z.size.height * u->z.size.width;
}

// Finds the first group of local shard s and the elements of each group; returns the number of
// groups.
static int groups_of(const engine *e, const unit *u, int s, int *first, double *count) {
    int leaf = e->shard_leaves[e->counts_first + s], n = e->shard_groups[e->counts_first + s];
    *first = leaf - e->first_leaf;
    for (int g = 0; g < n; g++) count[g] = e->groups[*first + g].samples * positions(u);
    return n;
}

static int local_shards(const engine *e) {
    return e->counts_end - e->counts_first;
}

// ---- Exchange between engines, for sync_batch_norm ----

// Afterwards e->norm.all holds the rows of all shards. Member 0 exchanges, between two barriers.
static bool exchange(engine *e, const unit *u, int member) {
    team_barrier(e->team);
    if (member == 0) {
        const size_t bytes = 2 * (size_t)u->layers.norm->out.channels * sizeof(double);
        if (e->options.exchange)
            e->failed = e->options.exchange(e->options.exchange_context, e->norm.mine, bytes,
                                            e->norm.all, e->failure);
        else
            memcpy(e->norm.all, e->norm.mine, bytes * (size_t)local_shards(e));
    }
    team_barrier(e->team);
    return e->failed == STATUS_OK;
}

static double *own_row(engine *e, const unit *u, int s) {
    return e->norm.mine + (size_t)s * 2 * (size_t)u->layers.norm->out.channels;
}

static rows all_rows(const engine *e, const unit *u, int c, const double *count) {
    const size_t channels = (size_t)u->layers.norm->out.channels;
    return (rows){.a = e->norm.all + c,
                  .b = e->norm.all + channels + (size_t)c,
                  .stride = 2 * channels,
                  .count = count};
}

// Finds the elements of every shard; returns how many shards have any (they come first).
static int elements_of_all(const engine *e, const unit *u, double *count) {
    int n = 0;
    while (n < e->options.shards && e->counts[n] > 0) {
        count[n] = e->counts[n] * positions(u);
        n++;
    }
    return n;
}

// ---- Forward ----

static void set_forward(engine *e, const unit *u, int s, int c, moments m, double own_count) {
    const size_t at =
        (size_t)s * e->placement.list.norm_channels + u->layers.norm_channel + (size_t)c;
    const double variance = m.m2 / m.count, inv_std = 1.0 / sqrt(variance + u->layers.norm->eps);
    const float scale = e->parameters[u->layers.norm->weight + (size_t)c] * (float)inv_std;
    const float mean = (float)m.mean, rest = (float)(m.mean - (double)mean);
    e->norm.mean[at] = mean;
    e->norm.mean_rest[at] = rest;
    e->norm.inv_std[at] = (float)inv_std;
    e->norm.scale[at] = scale;
    e->norm.shift[at] = fmaf(-rest, scale, e->parameters[u->layers.norm->bias + (size_t)c]);
    // Weighted by the elements of this shard; a single element has no unbiased variance, so its
    // weight is 0.
    e->norm.weighted_mean[at] = (float)(m.mean * own_count);
    e->norm.weighted_variance[at] = m.count < 2 ? 0.0f : (float)(m.m2 / (m.count - 1) * own_count);
}

bool batch_norm_forward(engine *e, const unit *u, int member) {
    const channel_part part = part_of(e, u, member);
    const size_t stride = e->placement.list.norm_channels;
    double count[MAX_ROWS];
    for (int s = e->part.first_shard; s < e->part.end_shard; s++) {
        int first, n = groups_of(e, u, s, &first, count);
        double total = e->counts[e->counts_first + s] * positions(u);
        for (int c = part.first; c < part.end; c++) {
            const size_t at = (size_t)first * stride + u->layers.norm_channel + (size_t)c;
            const rows r = {.a = e->norm.group_mean + at,
                            .b = e->norm.group_m2 + at,
                            .stride = stride,
                            .count = count};
            const moments m = n ? tree_moments(&r, 0, n) : (moments){0};
            if (!e->options.sync_batch_norm) {
                if (n) set_forward(e, u, s, c, m, total);
                continue;
            }
            own_row(e, u, s)[c] = m.mean;
            own_row(e, u, s)[u->layers.norm->out.channels + c] = m.m2;
        }
    }
    if (e->options.sync_batch_norm) {
        if (!exchange(e, u, member)) return false;
        const int shards = elements_of_all(e, u, count);
        for (int c = part.first; c < part.end; c++) {
            const rows r = all_rows(e, u, c, count);
            const moments m = tree_moments(&r, 0, shards);
            for (int s = e->part.first_shard; s < e->part.end_shard; s++)
                set_forward(e, u, s, c, m, e->counts[e->counts_first + s] * positions(u));
        }
    }
    team_barrier(e->team);
    return true;
}

// ---- Backward ----

// dz = gamma·inv_std·(dy - mean(dy) - xhat·mean(dy·xhat)), xhat = (z - mean)·inv_std, as a·dy +
// b·(z - mean) + c. With b·z instead, c would be about -b·mean, and where the mean is a thousand
// deviations from zero, the two would cancel three of a float's seven digits. What rounding took
// from the mean is in c, too.
static void set_backward(engine *e, const unit *u, int s, int c, two_sums sum, double count) {
    const size_t at =
        (size_t)s * e->placement.list.norm_channels + u->layers.norm_channel + (size_t)c;
    const double inv_std = (double)e->norm.inv_std[at], rest = (double)e->norm.mean_rest[at];
    const double factor = (double)e->parameters[u->layers.norm->weight + (size_t)c] * inv_std;
    const float from_dy = (float)factor, from_z = (float)(-factor * inv_std * (sum.b / count));
    e->norm.from_dy[at] = from_dy;
    e->norm.from_z[at] = from_z;
    e->norm.from_one[at] = (float)(-(double)from_dy * (sum.a / count) - (double)from_z * rest);
}

bool batch_norm_backward(engine *e, const unit *u, int member) {
    const channel_part part = part_of(e, u, member);
    const size_t stride = e->placement.list.norm_channels;
    double count[MAX_ROWS];
    for (int s = e->part.first_shard; s < e->part.end_shard; s++) {
        int first, n = groups_of(e, u, s, &first, count);
        for (int c = part.first; c < part.end; c++) {
            const size_t at = (size_t)first * stride + u->layers.norm_channel + (size_t)c;
            const rows r = {
                .fa = e->norm.group_dy + at, .fb = e->norm.group_dy_xhat + at, .stride = stride};
            const two_sums sum = n ? tree_sums(&r, 0, n) : (two_sums){0, 0};
            if (!e->options.sync_batch_norm) {
                if (n) set_backward(e, u, s, c, sum, e->counts[e->counts_first + s] * positions(u));
                continue;
            }
            own_row(e, u, s)[c] = sum.a;
            own_row(e, u, s)[u->layers.norm->out.channels + c] = sum.b;
        }
    }
    if (e->options.sync_batch_norm) {
        if (!exchange(e, u, member)) return false;
        const int shards = elements_of_all(e, u, count);
        double total = 0;
        for (int v = 0; v < shards; v++) total += count[v];
        for (int c = part.first; c < part.end; c++) {
            const rows r = all_rows(e, u, c, NULL);
            const two_sums sum = tree_sums(&r, 0, shards);
            for (int s = e->part.first_shard; s < e->part.end_shard; s++)
                set_backward(e, u, s, c, sum, total);
        }
    }
    team_barrier(e->team);
    return true;
}

// ---- Running statistics ----

void batch_norm_inference(engine *e) {
    for (int i = 0; i < e->placement.list.count; i++) {
        const unit *u = &e->placement.units[i];
        if (!u->layers.norm) continue;
        for (int c = 0; c < u->layers.norm->out.channels; c++) {
            const size_t at = u->layers.norm_channel + (size_t)c;
            const double variance = (double)e->buffers[u->layers.norm->variance + (size_t)c];
            const float inv_std = (float)(1.0 / sqrt(variance + u->layers.norm->eps));
            e->norm.run_scale[at] = e->parameters[u->layers.norm->weight + (size_t)c] * inv_std;
            e->norm.run_shift[at] =
                fmaf(-e->buffers[u->layers.norm->mean + (size_t)c], e->norm.run_scale[at],
                     e->parameters[u->layers.norm->bias + (size_t)c]);
        }
    }
}

static void follow(float *running, float statistic, double weight, double momentum) {
    if (weight > 0)
        *running =
            (float)((1.0 - momentum) * (double)*running + momentum * ((double)statistic / weight));
}

void batch_norm_update(engine *e) {
    const float *statistics = e->reduced + e->program->parameters;
    for (int i = 0; i < e->placement.list.count; i++) {
        const unit *u = &e->placement.units[i];
        if (!u->layers.norm) continue;
        double count[MAX_ROWS], elements = 0, with_variance = 0;
        const int shards = elements_of_all(e, u, count);
        for (int v = 0; v < shards; v++) elements += count[v];
        for (int v = 0; v < shards; v++)
            if ((e->options.sync_batch_norm ? elements : count[v]) >= 2) with_variance += count[v];
        for (int c = 0; c < u->layers.norm->out.channels; c++) {
            const size_t mean = u->layers.norm->mean + (size_t)c,
                         variance = u->layers.norm->variance + (size_t)c;
            follow(&e->buffers[mean], statistics[mean], elements, u->layers.norm->momentum);
            follow(&e->buffers[variance], statistics[variance], with_variance,
                   u->layers.norm->momentum);
        }
    }
}
