// cost_model.h - the time of a collective by its size: α + β · bytes (the model of Hockney, 1994).
//
// α is what the smallest message costs, β the inverse of the bandwidth that large ones reach. Both
// are of one collective, one number of ranks and one machine.
#ifndef LOCKSTEP_DIST_COST_MODEL_H
#define LOCKSTEP_DIST_COST_MODEL_H

#include <stddef.h>

typedef struct cost_model {
    double alpha; // seconds
    double beta;  // seconds a byte
    double error; // of the fit: root mean square of (model - measured) / measured, a fraction
} cost_model;

double cost_model_seconds(const cost_model *m, double bytes);

// The model with the least squares of relative errors, so that a size of microseconds counts as
// much as one of milliseconds, under α ≥ 0 and β ≥ 0. bytes[0 … n) and seconds[0 … n) are the
// measured points, n ≥ 1, seconds above 0. Where all sizes are one, it is all α.
cost_model cost_model_fit(const double *bytes, const double *seconds, size_t n);

#endif
