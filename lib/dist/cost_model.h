// SPDX-License-Identifier: MIT
// cost_model.h - the time of a collective by its size: α + β · bytes (the model of Hockney, 1994).
//
// α is the cost of the smallest message, β the inverse of the bandwidth that large messages reach.
// Both belong to one collective, one number of ranks and one machine.
#ifndef LOCKSTEP_DIST_COST_MODEL_H
#define LOCKSTEP_DIST_COST_MODEL_H

#include <stddef.h>

typedef struct cost_model {
    double alpha; // seconds
    double beta;  // seconds per byte
    double error; // of the fit: root mean square of (model - measured) / measured, a fraction
} cost_model;

double cost_model_seconds(const cost_model *m, double bytes);

// Fits the model by least squares of relative errors, so that a size of microseconds counts as much
// as one of milliseconds, with α ≥ 0 and β ≥ 0. bytes[0 … n) and seconds[0 … n) are the measured
// points, n ≥ 1, seconds above 0. If all sizes are equal, only α is fitted.
cost_model cost_model_fit(const double *bytes, const double *seconds, size_t n);

#endif
