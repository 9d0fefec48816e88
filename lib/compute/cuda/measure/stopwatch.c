// SPDX-License-Identifier: MIT
// Device time of a piece of work: captured as a graph between two events, many times in a row if it
// is short, so that neither the host nor the graph's launch counts.
#include <stdlib.h>

#include "base/memory.h"
#include "compute/cuda/measure/measure.h"

enum {
    GRAPH_US = 300, // target time of a graph: events resolve half microseconds
    TIMES_MOST = 64 // of the work in a graph
};

typedef struct stopwatch {
    engine *e;
    cuda_work *work;
    const void *task;
    int times; // of the work in the graph
    cudaEvent_t begin, end;
    cudaGraphExec_t graph;
} stopwatch;

static status check(const stopwatch *w, cudaError_t code, error *err) {
    return cuda_check(&w->e->device, code, "timing an operation", err);
}

// `flags`: External in a capture, where the events become nodes of the graph.
static status enqueue(const stopwatch *w, int times, unsigned flags, error *err) {
    const cuda_device *d = &w->e->device;
    cuda_launch_afresh(d);
    NEED(check(w, cudaEventRecordWithFlags(w->begin, d->stream, flags), err));
    for (int i = 0; i < times; i++) NEED(w->work(w->e, w->task, err));
    NEED(check(w, cudaEventRecordWithFlags(w->end, d->stream, flags), err));
    cuda_launch_afresh(d);
    return STATUS_OK;
}

static status elapsed(const stopwatch *w, double *us, error *err) {
    float ms = 0;
    NEED(cuda_sync(w->e, err));
    NEED(check(w, cudaEventElapsedTime(&ms, w->begin, w->end), err));
    *us = (double)ms * 1e3;
    return STATUS_OK;
}

// Counts the graph's nodes except the two events.
static status count_launches(const stopwatch *w, cudaGraph_t graph, int *launches, error *err) {
    size_t nodes = 0;
    NEED(check(w, cudaGraphGetNodes(graph, NULL, &nodes), err));
    *launches = ((int)nodes - 2) / w->times;
    return STATUS_OK;
}

static status capture(stopwatch *w, int *launches, error *err) {
    cudaGraph_t graph = NULL;
    status rc;
    TRY(check(w, cudaStreamBeginCapture(w->e->device.stream, cudaStreamCaptureModeThreadLocal),
              err));
    rc = enqueue(w, w->times, cudaEventRecordExternal, err);
    const cudaError_t code = cudaStreamEndCapture(w->e->device.stream, &graph);
    TRY(rc);
    TRY(check(w, code, err));
    TRY(count_launches(w, graph, launches, err));
    TRY(check(w, cudaGraphInstantiate(&w->graph, graph, 0), err));
out:
    if (graph) (void)cudaGraphDestroy(graph);
    return rc;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The first launch of a graph does not count.
static status measure(const stopwatch *w, int repeats, double *sample, double *us, error *err) {
    for (int r = -1; r < repeats; r++) {
        NEED(check(w, cudaGraphLaunch(w->graph, w->e->device.stream), err));
        NEED(elapsed(w, &sample[r < 0 ? 0 : r], err));
    }
    qsort(sample, (size_t)repeats, sizeof *sample, compare);
    *us = (sample[(repeats - 1) / 2] + sample[repeats / 2]) / 2 / w->times;
    return STATUS_OK;
}

status cuda_time(engine *e, cuda_work *work, const void *task, int repeats, double *us,
                 int *launches, error *err) {
    stopwatch w = {.e = e, .work = work, .task = task};
    double first;
    status rc = STATUS_OK;
    double *sample = memory_new((size_t)repeats, sizeof *sample);
    TRY(check(&w, cudaEventCreate(&w.begin), err));
    TRY(check(&w, cudaEventCreate(&w.end), err));
    // Libraries load what they need on the first run; only the second run is representative.
    for (int i = 0; i < 2; i++) {
        TRY(enqueue(&w, 1, cudaEventRecordDefault, err));
        TRY(elapsed(&w, &first, err));
    }
    const double fit = (double)GRAPH_US / first;
    w.times = fit > (double)TIMES_MOST ? (int)TIMES_MOST : (int)fit + 1;
    TRY(capture(&w, launches, err));
    TRY(measure(&w, repeats, sample, us, err));
out:
    if (w.graph) (void)cudaGraphExecDestroy(w.graph);
    if (w.begin) (void)cudaEventDestroy(w.begin);
    if (w.end) (void)cudaEventDestroy(w.end);
    free(sample);
    return rc;
}
