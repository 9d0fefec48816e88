// SPDX-License-Identifier: MIT
#include "experiment/experiment.h"

bool early_stopping_is_reached(const early_stopping *rule, double accuracy) {
    return rule->stop_at > 0 && accuracy >= rule->stop_at;
}

bool early_stopping_is_due(const early_stopping *rule, const double *accuracy, int epochs) {
    int best = 0;
    for (int i = 1; i < epochs; i++)
        if (accuracy[i] > accuracy[best] + rule->min_delta) best = i;
    return (rule->patience && epochs - 1 - best >= rule->patience) ||
           early_stopping_is_reached(rule, accuracy[epochs - 1]);
}
