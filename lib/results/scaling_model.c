// SPDX-License-Identifier: MIT
#include "results/scaling_model.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t scaling_cores(const scaling_place *place) {
    return smaller(place->ranks * place->threads, place->cores);
}

epoch_parts scaling_predict(scaling_strategy strategy, const epoch_parts *one,
                            const scaling_place *from, const scaling_place *to,
                            double communication) {
    const double before = (double)scaling_cores(from), spread = before / (double)scaling_cores(to);
    epoch_parts e = {.compute = one->compute * spread, .communication = communication};
    switch (strategy) {
    case SCALING_DDP:
        e.load = one->load / (double)smaller(to->ranks, to->cores);
        e.update = one->update * (double)to->ranks * spread;
        break;
    case SCALING_DP:
        e.load = one->load;
        e.update = one->update * before / (double)smaller(to->threads, to->cores);
        break;
    }
    return e;
}
