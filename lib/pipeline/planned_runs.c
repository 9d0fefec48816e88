// SPDX-License-Identifier: MIT
#include "pipeline/planned_runs.h"

#include <stdlib.h>

#include "base/memory.h"

status planned_seed_look(const pipeline *p, planned_seed *s, error *err) {
    store_release(&s->kept);
    return store_read(p->artifacts, s->key, &s->kept, err);
}

void planned_run_command(const pipeline *p, const planned_run *r, const planned_seed *s,
                         const char *file, bool complete, strvec *command) {
    strvec_add(command, r->tool);
    strvec_add_option(command, "--experiment", file);
    for (size_t i = 0; !complete && i < r->set.count; i++)
        strvec_add_option(command, "--set", r->set.items[i]);
    if (!complete) {
        strvec_add(command, "--set");
        strvec_format(command, "seed=%llu", (unsigned long long)s->seed);
    }
    strvec_add_option(command, "--init", r->e.weights_path);
    strvec_add_option(command, "--train", r->train);
    if (!r->e.validation.samples) strvec_add_option(command, "--test", r->test);
    strvec_add_all(command, &r->device);
    const char *threads = p->settings->values[SETTING_THREADS];
    strvec_add_option(command, "--threads", threads ? threads : p->settings->jobs > 1 ? "1" : NULL);
}

void planned_run_launcher(const pipeline *p, const planned_run *r, strvec *launcher) {
    const char *given = p->settings->values[SETTING_LAUNCHER];
    if (!given || r->e.strategy != STRATEGY_DDP || r->e.world_size == 1) return;
    strvec_split(launcher, given, " ");
    strvec_add(launcher, "-n");
    strvec_format(launcher, "%d", r->e.world_size);
}

void planned_run_evaluation(const planned_run *r, const char *folder, const char *out,
                            strvec *command) {
    strvec_add(command, "evaluate");
    strvec_add(command, "--model");
    strvec_format(command, "%s/train/model.st.zst", folder);
    strvec_add_option(command, "--data", r->test);
    if (r->e.tta != TTA_NONE) strvec_add_option(command, "--tta", tta_word(r->e.tta));
    strvec_add_option(command, "--out", out);
}

char *planned_run_shape(const planned_run *r) {
    const program *p = &r->e.model.program;
    return memory_format("%d,%d,%d", p->input.channels, p->input.height, p->input.width);
}

static void release(planned_run *r) {
    for (size_t i = 0; r->seeds && i < (size_t)r->e.repeats; i++) {
        free(r->seeds[i].place);
        free(r->seeds[i].own);
        store_release(&r->seeds[i].kept);
    }
    free(r->seeds);
    experiment_release(&r->e);
    strvec_release(&r->set);
    strvec_release(&r->device);
    free(r->tool);
    free(r->data);
    free(r->train);
    free(r->test);
}

void planned_runs_release(planned_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) release(&runs->items[i]);
    free(runs->items);
    yaml_free(runs->plan);
    free(runs->joined);
    free(runs->report);
    free(runs->file);
    owned_names_release(&runs->names);
    strvec_release(&runs->turns);
    *runs = (planned_runs){0};
}
