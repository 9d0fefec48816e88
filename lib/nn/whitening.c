// SPDX-License-Identifier: MIT
#include "nn/whitening.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const double SMALLEST = 5e-4; // added to eigenvalues: noise is not amplified without bound

// ---- Moments ----

// A patch of n values; value a lies in a channel, `shift` bytes after the patch's first pixel
// there.
typedef struct patches {
    const whitening_images *images;
    int n, rows, columns; // the places of patches in an image
    int channel[WHITENING_MAX_VALUES];
    size_t shift[WHITENING_MAX_VALUES];
} patches;

static void describe_patches(patches *p, const whitening_images *images, int kernel_h,
                             int kernel_w) {
    const size_t row = (size_t)images->width, plane = row * (size_t)images->height;
    *p = (patches){.images = images,
                   .rows = images->height - kernel_h + 1,
                   .columns = images->width - kernel_w + 1};
    for (int c = 0; c < images->channels; c++)
        for (int y = 0; y < kernel_h; y++)
            for (int x = 0; x < kernel_w; x++) {
                p->channel[p->n] = c;
                p->shift[p->n++] = (size_t)c * plane + (size_t)y * row + (size_t)x;
            }
}

// Sums value a · value b over all patches of an image. A row's sum fits 32 bits: images have at
// most 2^14 columns.
static uint64_t sum_of_products(const patches *p, const uint8_t *image, int a, int b) {
    uint64_t sum = 0;
    for (int y = 0; y < p->rows; y++) {
        const uint8_t *line = image + (size_t)y * (size_t)p->images->width;
        const uint8_t *u = line + p->shift[a], *v = line + p->shift[b];
        uint32_t products = 0;
        for (int x = 0; x < p->columns; x++) products += (uint32_t)u[x] * v[x];
        sum += products;
    }
    return sum;
}

static uint64_t sum_of_values(const patches *p, const uint8_t *image, int a) {
    uint64_t sum = 0;
    for (int y = 0; y < p->rows; y++) {
        const uint8_t *u = image + (size_t)y * (size_t)p->images->width + p->shift[a];
        for (int x = 0; x < p->columns; x++) sum += u[x];
    }
    return sum;
}

// Writes the second moments of the normalised values, from the integer sums of the bytes.
static void normalise_moments(const patches *p, const uint64_t *products, const uint64_t *values,
                              double *moments) {
    const whitening_images *in = p->images;
    const double patch_count = (double)in->count * p->rows * p->columns;
    for (int a = 0; a < p->n; a++)
        for (int b = a; b < p->n; b++) {
            const double deviation_a = (double)in->std[p->channel[a]];
            const double deviation_b = (double)in->std[p->channel[b]];
            const double mean_a = (double)in->mean[p->channel[a]];
            const double mean_b = (double)in->mean[p->channel[b]];
            const double product = (double)products[a * p->n + b] / patch_count / (255.0 * 255.0);
            const double value_a = (double)values[a] / patch_count / 255.0;
            const double value_b = (double)values[b] / patch_count / 255.0;
            const double moment = product - mean_a * value_b - mean_b * value_a + mean_a * mean_b;
            moments[a * p->n + b] = moments[b * p->n + a] = moment / deviation_a / deviation_b;
        }
}

static void find_moments(const patches *p, double *moments) {
    const size_t n = (size_t)p->n;
    uint64_t *products = memory_new(n * n, sizeof *products);
    uint64_t *values = memory_new(n, sizeof *values);
    for (size_t i = 0; i < p->images->count; i++) {
        const uint8_t *image = p->images->pixels[i];
        for (int a = 0; a < p->n; a++) {
            values[a] += sum_of_values(p, image, a);
            for (int b = a; b < p->n; b++)
                products[a * p->n + b] += sum_of_products(p, image, a, b);
        }
    }
    normalise_moments(p, products, values, moments);
    free(products);
    free(values);
}

// ---- Eigenvectors ----

static void rotate(double *x, double *y, double c, double s) {
    const double was = *x;
    *x = c * was - s * *y;
    *y = s * was + c * *y;
}

// Makes a[p][q] zero by a rotation in the plane of p and q, which is applied to the rows of
// `vectors` as well (G. H. Golub and C. F. Van Loan, Matrix Computations, 8.5).
static void rotate_plane(double *a, double *vectors, int n, int p, int q) {
    const double off = a[p * n + q];
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    const double root = sqrt(theta * theta + 1);
    const double t = theta >= 0 ? 1 / (theta + root) : 1 / (theta - root);
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) rotate(&a[k * n + p], &a[k * n + q], c, s);
    for (int k = 0; k < n; k++) rotate(&a[p * n + k], &a[q * n + k], c, s);
    for (int k = 0; k < n; k++) rotate(&vectors[p * n + k], &vectors[q * n + k], c, s);
    a[p * n + q] = a[q * n + p] = 0;
}

// Leaves the eigenvalues on the diagonal of the symmetric matrix `a`, and the eigenvectors in the
// rows of `vectors`. Convergence is quadratic: a dozen sweeps are more than enough.
static void diagonalise(double *a, double *vectors, int n) {
    enum { SWEEPS = 60 };
    double trace = 0;
    for (int i = 0; i < n; i++) {
        trace += fabs(a[i * n + i]);
        vectors[i * n + i] = 1;
    }
    const double negligible = trace * 0x1p-60;
    bool again = true;
    for (int sweep = 0; again && sweep < SWEEPS; sweep++) {
        again = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                if (!(fabs(a[p * n + q]) > negligible)) continue;
                rotate_plane(a, vectors, n, p, q);
                again = true;
            }
    }
}

// ---- Filters ----

// Writes an eigenvector with the sign that the header describes, times `scale`.
static void write_filter(const double *vector, int n, double scale, float *filter) {
    int largest = 0;
    for (int k = 1; k < n; k++)
        if (fabs(vector[k]) > fabs(vector[largest])) largest = k;
    if (vector[largest] < 0) scale = -scale;
    for (int k = 0; k < n; k++) filter[k] = (float)(scale * vector[k]);
}

static void write_filters(const double *values, const double *vectors, int n, int outputs,
                          float *weight) {
    bool taken[WHITENING_MAX_VALUES] = {false};
    for (int rank = 0; rank < n; rank++) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || values[i * n + i] > values[best * n + best])) best = i;
        taken[best] = true;
        const double scale = 1 / sqrt(values[best * n + best] + SMALLEST);
        const double *vector = vectors + (size_t)best * (size_t)n;
        if (rank < outputs) write_filter(vector, n, scale, weight + (size_t)rank * (size_t)n);
        if (n + rank < outputs)
            write_filter(vector, n, -scale, weight + (size_t)(n + rank) * (size_t)n);
    }
}

void whitening_filters(const whitening_images *images, int kernel_h, int kernel_w, int outputs,
                       float *weight) {
    patches p;
    describe_patches(&p, images, kernel_h, kernel_w);
    const size_t n = (size_t)p.n;
    double *moments = memory_new(n * n, sizeof *moments);
    double *vectors = memory_new(n * n, sizeof *vectors);
    find_moments(&p, moments);
    diagonalise(moments, vectors, p.n);
    write_filters(moments, vectors, p.n, outputs, weight);
    free(moments);
    free(vectors);
}
