// SPDX-License-Identifier: MIT
#include "data/source/synth_tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/dataset_list.h"
#include "data/source/raw_dataset.h"
#include "data/source/synthetic.h"

enum { BITS = 1 }; // raise when equal parameters draw different images than before
enum { MAX_SAMPLES = 10000000 };

typedef struct arguments {
    int64_t train, test, seed, classes;
    const char *shape;
    bool noise;
    raw_output output;
} arguments;

static const char NOTES[] =
    "The class is the shape drawn: a disc, ring, square, triangle, cross, stripes of\n"
    "three kinds, a checkerboard or a gradient; with more than ten classes the shapes\n"
    "repeat. Equal options give equal bytes on every machine, and image number i does\n"
    "not depend on the number of images. The name of the data set is synthetic.\n"
    "\n"
    "Example:\n"
    "  lockstep synth-cifar --train 610 --test 100 --out artifacts/data/synthetic";

// "C,H,W".
static status parse_shape(const char *text, synthetic *s, error *err) {
    int used = 0;
    bool plain = strspn(text, "0123456789,") == strlen(text);
    if (!plain || sscanf(text, "%5d,%5d,%5d%n", &s->channels, &s->height, &s->width, &used) != 3 ||
        text[used] || s->channels < 1 || s->channels > DATASET_MAX_CHANNELS || s->height < 1 ||
        s->height > SYNTHETIC_MAX_SIDE || s->width < 1 || s->width > SYNTHETIC_MAX_SIDE)
        return error_set(err, STATUS_USAGE,
                         "bad value of --shape: '%s': expected C,H,W with C from 1 to %d, and H "
                         "and W from 1 to %d, such as 3,32,32",
                         text, DATASET_MAX_CHANNELS, SYNTHETIC_MAX_SIDE);
    return STATUS_OK;
}

static void describe(const arguments *a, const synthetic *s, manifest *m) {
    yaml_node *p = manifest_parameters(m), *shape = yaml_new(YAML_SEQUENCE);
    const int sizes[] = {s->channels, s->height, s->width};
    shape->flow = true;
    for (int i = 0; i < 3; i++) yaml_append(shape, yaml_new_integer(sizes[i]));
    yaml_put(p, "dataset", yaml_new_string(DATASET_SYNTHETIC));
    yaml_put(p, "train", yaml_new_integer(a->train));
    yaml_put(p, "test", yaml_new_integer(a->test));
    yaml_put(p, "seed", yaml_new_integer(a->seed));
    yaml_put(p, "noise", yaml_new_boolean(a->noise));
    if (a->classes != SYNTHETIC_SHAPES) yaml_put(p, "classes", yaml_new_integer(a->classes));
    yaml_put(p, "shape", shape);
    raw_output_describe(&a->output, m);
}

// The names of the classes: of the shapes, and numbers after them.
typedef struct class_names {
    char text[SYNTHETIC_MAX_CLASSES][24];
    const char *names[SYNTHETIC_MAX_CLASSES];
} class_names;

static void name_classes(class_names *c, int count) {
    for (int k = 0; k < count; k++) {
        snprintf(c->text[k], sizeof c->text[k], "shape %d", k);
        c->names[k] = k < SYNTHETIC_SHAPES ? synthetic_shape_names[k] : c->text[k];
    }
}

static status draw(const arguments *a, const synthetic *s, const class_names *names, raw_dataset *r,
                   error *err) {
    const int64_t samples[RAW_SPLITS] = {a->train, a->test};
    size_t stride = (size_t)s->channels * (size_t)s->height * (size_t)s->width;
    *r = (raw_dataset){.name = DATASET_SYNTHETIC,
                       .channels = s->channels,
                       .height = s->height,
                       .width = s->width,
                       .classes = s->classes,
                       .class_names = names->names};
    for (int split = 0; split < RAW_SPLITS; split++) {
        raw_split *to = &r->splits[split];
        to->samples = (uint32_t)samples[split];
        NEED(raw_dataset_allocate(r, split, err));
        for (uint32_t i = 0; i < to->samples; i++)
            to->labels[i] = synthetic_draw(s, split, i, to->images + i * stride);
    }
    return STATUS_OK;
}

static status synthesize(void *arguments_of_main, const cli_call *call, error *err) {
    arguments *a = arguments_of_main;
    synthetic s = {.seed = (uint64_t)a->seed, .classes = (int)a->classes, .noise = a->noise};
    raw_dataset raw = {0};
    class_names *names = memory_new(1, sizeof *names);
    manifest m = {0};
    status rc = STATUS_OK;
    name_classes(names, s.classes);
    TRY(parse_shape(a->shape, &s, err));
    TRY(manifest_begin(&m, call->log->tool, BITS, call->argc, call->argv, err));
    describe(a, &s, &m);
    if (a->output.print_key) {
        TRY(manifest_print_key(&m, call->answers, err));
        goto out;
    }
    TRY(raw_output_open(&a->output, NULL, NULL, 0, call->log, err));
    TRY(draw(a, &s, names, &raw, err));
    TRY(raw_dataset_write(&raw, &a->output, call->log, &m, err));
out:
    raw_output_close(&a->output, rc);
    raw_dataset_release(&raw);
    manifest_release(&m);
    free(names);
    return rc;
}

status synth_tool(int argc, char **argv, FILE *answers, error *err) {
    arguments a = {.train = 5000, .test = 1000, .classes = SYNTHETIC_SHAPES, .shape = "3,32,32"};
    const cli_option options[] = {
        {"train", CLI_INTEGER, &a.train, "N", "number of training images (default 5000)", 1,
         MAX_SAMPLES},
        {"test", CLI_INTEGER, &a.test, "N", "number of test images (default 1000)", 1, MAX_SAMPLES},
        {"seed", CLI_INTEGER, &a.seed, "S", "seed of the drawings (default 0)", 0, INT64_MAX},
        {"shape", CLI_STRING, &a.shape, "C,H,W", "channels, height, width (default 3,32,32)", 0, 0},
        {"classes", CLI_INTEGER, &a.classes, "N", "number of classes (default 10)", 2,
         SYNTHETIC_MAX_CLASSES},
        {"noise", CLI_FLAG, &a.noise, NULL,
         "random bytes and labels instead, with nothing to learn", 0, 0},
        RAW_OUTPUT_OPTIONS(a.output),
        {0},
    };
    const cli_tool tool = {
        .name = "synth-cifar",
        .usage =
            "[--train N] [--test N] [--seed S] [--shape C,H,W] [--classes N] [--noise] --out DIR\n"
            "[--train N] [--test N] ... --split train|test --out -",
        .options = options,
        .notes = NOTES,
    };
    return cli_run(&tool, argc, argv, answers, synthesize, &a, err);
}
