// SPDX-License-Identifier: MIT
// bench-allreduce - measures the all-reduce of train-ddp on this machine, between processes or
// GPUs, and fits α + β · bytes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/output_folder.h"
#include "data/manifest.h"
#include "dist/allreduce_bench.h"
#include "dist/allreduce_device.h"
#include "dist/cost_model.h"
#include "dist/launch_join.h"
#include "dist/shared_memory.h"
#include "train/run_segment.h"
#include "train/train_manifest.h"

// Raised when the tool measures something other than before.
enum { BITS = 1, WORLD_SIZES_MAX = 32 };

typedef struct arguments {
    const char *world_size, *reduce, *device, *out;
    int64_t min_bytes, max_bytes, iterations;
    bool print_key, json;
} arguments;

typedef struct bench {
    allreduce_options options; // world_size, fast: of the current measurement
    bool reduces[2];           // exactly, fast: which are measured
    int world_sizes[WORLD_SIZES_MAX];
    int count;
    launch_environment environment; // joined: its ranks are measured, and rank 0 reports
    devices devices;
    const char *device; // as given
    int64_t cores;
    bool json; // instead of the table
    manifest manifest;
    logger log;
} bench;

static const char NOTES[] =
    "Each rank is a process. A row is the exchange of one training step: a barrier,\n"
    "then the in-place all-reduce of one float32 vector per rank. Its time is the\n"
    "median over iterations of the mean over ranks. With one rank, one thread copies\n"
    "the vector. Bandwidths are those of nccl-tests: algorithm, bytes / time; bus,\n"
    "2 (W - 1) / W times as much. alpha and beta are fitted to the rows by least\n"
    "squares of relative errors. If there are more ranks than cores, the line with\n"
    "the fit says SIMULATED.\n"
    "\n"
    "Under mpirun, srun or torchrun, and without --world-size, it measures the ranks\n"
    "that the launcher started, on one host or several.\n"
    "\n"
    "--device LIST puts the vectors on GPUs, which are assigned to the ranks in turn,\n"
    "and measures how engines reduce there: by NCCL if every rank has its own GPU,\n"
    "otherwise by CUDA IPC. Sizes are then multiples of 64 bytes, at least 192, and\n"
    "more ranks than GPUs are SIMULATED.\n"
    "\n"
    "With --out DIR, DIR/manifest.yaml contains the table and the fit, for\n"
    "report --collectives DIR. --json prints {\"parameters\", \"results\"} of that\n"
    "manifest instead of the table.\n"
    "\n"
    "Examples:\n"
    "  lockstep bench-allreduce --world-size 1,2,4,8 --out artifacts/allreduce\n"
    "  lockstep bench-allreduce --device cuda:0,cuda:1 --world-size 2 --reduce both";

// ---- The command line ----

static status parse_world_sizes(const char *text, bench *b, error *err) {
    const char *at = text;
    for (char *end;; at = end + 1) {
        errno = 0;
        const long size = strtol(at, &end, 10);
        if (end == at || *at == '+' || *at == ' ' || errno || (*end && *end != ',') || size < 1 ||
            size > SHARED_MAX_RANKS || b->count == WORLD_SIZES_MAX)
            return error_set(err, STATUS_USAGE,
                             "bad --world-size: '%s': expected up to %d comma-separated world "
                             "sizes from 1 to %d",
                             text, WORLD_SIZES_MAX, SHARED_MAX_RANKS);
        b->world_sizes[b->count++] = (int)size;
        if (!*end) return STATUS_OK;
    }
}

static status check_reduce(const char *text, bench *b, error *err) {
    const bool both = strcmp(text, "both") == 0;
    b->reduces[false] = both || strcmp(text, "exact") == 0;
    b->reduces[true] = both || strcmp(text, "fast") == 0;
    if (b->reduces[false] || b->reduces[true]) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "bad --reduce: '%s': expected exact, fast or both", text);
}

static bool on_gpus(const bench *b) {
    return devices_have(&b->devices, DEVICE_CUDA);
}

// Further checks for vectors on devices.
static status check_device(const arguments *a, bench *b, error *err) {
    const int64_t step = DEVICE_VECTOR_STEP * (int64_t)sizeof(float);
    const int64_t least = DEVICE_VECTOR_LEAST * (int64_t)sizeof(float);
    NEED(devices_parse(&b->devices, a->device, err));
    b->device = a->device;
    if (devices_have(&b->devices, DEVICE_AUTO))
        return error_set(err, STATUS_USAGE, "bad --device: 'auto': expected cpu, cuda or a list");
    if (devices_mixed(&b->devices))
        return error_set(err, STATUS_USAGE,
                         "bad --device: '%s': expected the cpu alone, or GPUs alone", a->device);
    if (!on_gpus(b)) return STATUS_OK;
    b->options.devices = &b->devices;
    if (a->min_bytes % step != 0 || a->min_bytes < least)
        return error_set(err, STATUS_USAGE,
                         "bad --min-bytes: '%lld': on a device it must be a multiple of %lld, at "
                         "least %lld",
                         (long long)a->min_bytes, (long long)step, (long long)least);
    for (int i = 0; i < b->count; i++)
        if (b->world_sizes[i] == 1)
            return error_set(err, STATUS_USAGE,
                             "bad --world-size: '%s': one rank has nothing to reduce on a device",
                             a->world_size);
    return STATUS_OK;
}

static const char *world_sizes_of(const arguments *a) {
    if (a->world_size) return a->world_size;
    return strncmp(a->device, "cuda", 4) == 0 ? "2,4,8" : "1,2,4,8";
}

static bool is_rank_zero(const bench *b) {
    return b->environment.rank == 0;
}

// If a launcher has started the ranks, the world size is their number.
static status find_world_sizes(const arguments *a, bench *b, error *err) {
    if (!a->world_size) {
        status rc = launch_detect(&b->environment, err);
        if (rc != STATUS_OK) return rc;
    }
    if (!b->environment.joined) {
        status rc = a->print_key ? STATUS_OK : launch_check_alone(err);
        return rc == STATUS_OK ? parse_world_sizes(world_sizes_of(a), b, err) : rc;
    }
    b->world_sizes[b->count++] = b->environment.size;
    return STATUS_OK;
}

static status check(const arguments *a, bench *b, error *err) {
    b->json = a->json;
    b->options.iterations = (int)a->iterations;
    b->options.min_bytes = (size_t)a->min_bytes;
    b->options.max_bytes = (size_t)a->max_bytes;
    NEED(check_reduce(a->reduce, b, err));
    if (a->min_bytes % (int64_t)sizeof(float) != 0)
        return error_set(
            err, STATUS_USAGE,
            "bad --min-bytes: '%lld': it must be a multiple of %zu, the size of a float",
            (long long)a->min_bytes, sizeof(float));
    if (a->max_bytes / 2 < a->min_bytes)
        return error_set(
            err, STATUS_USAGE,
            "bad --max-bytes: '%lld': the fit needs two sizes: pass at least twice --min-bytes, "
            "which is %lld",
            (long long)a->max_bytes, (long long)a->min_bytes);
    if (a->out && (!*a->out || strcmp(a->out, "-") == 0))
        return error_set(err, STATUS_USAGE, "bad --out: '%s': expected a folder", a->out);
    NEED(find_world_sizes(a, b, err));
    return check_device(a, b, err);
}

// ---- The manifest ----

static void describe_gpus(const bench *b, yaml_node *machine) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < b->devices.gpu_count; i++)
        yaml_append(list, yaml_new_string(b->devices.gpus[i].name));
    yaml_put(machine, "gpus", list);
}

// The machine is a parameter: on another machine the stage is stale.
static status describe_machine(bench *b, yaml_node *parameters, error *err) {
    static const char *const keys[] = {"host", "cpu", "cores"};
    const yaml_node *run = manifest_run(&b->manifest);
    yaml_node *machine = yaml_new(YAML_MAPPING);
    status rc = STATUS_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        yaml_put(machine, keys[i], yaml_copy(yaml_find(run, keys[i])));
    TRY(yaml_integer(yaml_find(run, "cores"), "cores", 1, INT64_MAX, &b->cores, err));
    if (on_gpus(b)) describe_gpus(b, machine);
    yaml_put(parameters, "machine", machine);
    return STATUS_OK;
out:
    yaml_free(machine);
    return rc;
}

static status describe(const arguments *a, bench *b, error *err) {
    yaml_node *p = manifest_parameters(&b->manifest), *sizes = yaml_new(YAML_SEQUENCE);
    sizes->flow = true;
    for (int i = 0; i < b->count; i++) yaml_append(sizes, yaml_new_integer(b->world_sizes[i]));
    yaml_put(p, "world_sizes", sizes);
    yaml_put(p, "reduce", yaml_new_string(a->reduce));
    yaml_put(p, "devices", train_manifest_device_list(&b->devices));
    yaml_put(p, "min_bytes", yaml_new_integer(a->min_bytes));
    yaml_put(p, "max_bytes", yaml_new_integer(a->max_bytes));
    yaml_put(p, "iterations", yaml_new_integer(a->iterations));
    NEED(describe_machine(b, p, err));
    train_manifest_gpus(&b->manifest, &b->devices);
    yaml_put(manifest_results(&b->manifest), "world_sizes", yaml_new(YAML_SEQUENCE));
    return STATUS_OK;
}

static void record_row(const bench *b, const allreduce_time *row, yaml_node *list) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    item->flow = true;
    const double algorithm = allreduce_algorithm_bandwidth(row),
                 bus = allreduce_bus_bandwidth(row, b->options.world_size);
    yaml_put(item, "bytes", yaml_new_integer((int64_t)row->bytes));
    yaml_put(item, "iterations", yaml_new_integer(row->iterations));
    yaml_put(item, "seconds", yaml_new_number(row->seconds));
    yaml_put(item, "algorithm_bandwidth", yaml_new_number(algorithm));
    yaml_put(item, "bus_bandwidth", yaml_new_number(bus));
    yaml_append(list, item);
}

static int ranks_here(const bench *b) {
    return b->environment.joined ? b->environment.local_size : b->options.world_size;
}

// Counts the places on which this host's ranks run: GPUs, which they take in turn, or cores.
static int64_t count_places(const bench *b) {
    int64_t count = 0;
    if (!on_gpus(b)) return b->cores;
    for (int r = 0; r < ranks_here(b); r++) {
        int same = 0;
        while (devices_index(&b->devices, same) != devices_index(&b->devices, r)) same++;
        count += same == r;
    }
    return count;
}

static bool is_simulated(const bench *b) {
    return ranks_here(b) > count_places(b);
}

static const char *reduce_name(const bench *b) {
    return b->options.fast ? "fast" : "exact";
}

static void record(bench *b, const allreduce_time *rows, size_t count, const cost_model *fit) {
    yaml_node *item = yaml_new(YAML_MAPPING), *list = yaml_new(YAML_SEQUENCE);
    yaml_node *all = (yaml_node *)yaml_find(manifest_results(&b->manifest), "world_sizes");
    yaml_put(item, "world_size", yaml_new_integer(b->options.world_size));
    yaml_put(item, "reduce", yaml_new_string(reduce_name(b)));
    yaml_put(item, "transport", yaml_new_string(rows->transport));
    yaml_put(item, "simulated", yaml_new_boolean(is_simulated(b)));
    yaml_put(item, "alpha_seconds", yaml_new_number(fit->alpha));
    yaml_put(item, "beta_seconds_per_byte", yaml_new_number(fit->beta));
    yaml_put(item, "relative_error", yaml_new_number(fit->error));
    for (size_t i = 0; i < count; i++) record_row(b, &rows[i], list);
    yaml_put(item, "sizes", list);
    yaml_append(all, item);
}

// ---- The table ----

static void print_head(const bench *b) {
    if (on_gpus(b))
        printf("# all-reduce of float32, %s, on %s (%s)\n", reduce_name(b), b->device,
               b->devices.gpus[0].name);
    else
        printf("# all-reduce of float32, %s, %s; %lld core%s; 1 rank: a copy by one thread\n",
               reduce_name(b), b->options.group ? b->options.group->transport : "shared memory",
               (long long)b->cores, b->cores == 1 ? "" : "s");
    printf("#%7s %12s %11s %14s %13s %13s\n", "ranks", "bytes", "iterations", "time (us)",
           "algbw (GB/s)", "busbw (GB/s)");
}

static void print_rows(const bench *b, const allreduce_time *rows, size_t count,
                       const cost_model *fit) {
    for (size_t i = 0; i < count; i++)
        printf("%8d %12zu %11d %14.2f %13.3f %13.3f\n", b->options.world_size, rows[i].bytes,
               rows[i].iterations, rows[i].seconds * 1e6,
               allreduce_algorithm_bandwidth(&rows[i]) / 1e9,
               allreduce_bus_bandwidth(&rows[i], b->options.world_size) / 1e9);
    printf("# ranks %d: alpha %.3f us, beta %.4f ns/byte, relative error %.1f %%",
           b->options.world_size, fit->alpha * 1e6, fit->beta * 1e9, 100 * fit->error);
    if (on_gpus(b)) printf("; %s", rows->transport);
    if (is_simulated(b))
        printf("; SIMULATED: %d ranks on %lld %s", ranks_here(b), (long long)count_places(b),
               on_gpus(b)             ? count_places(b) == 1 ? "GPU" : "GPUs"
               : count_places(b) == 1 ? "core"
                                      : "cores");
    printf("\n");
}

static status print_json(bench *b, error *err) {
    yaml_node *answer = yaml_new(YAML_MAPPING);
    yaml_put(answer, "parameters", yaml_copy(manifest_parameters(&b->manifest)));
    yaml_put(answer, "results", yaml_copy(manifest_results(&b->manifest)));
    return json_answer(answer, err);
}

// ---- Measuring ----

static cost_model fit_rows(const allreduce_time *rows, double *bytes, double *seconds,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (double)rows[i].bytes;
        seconds[i] = rows[i].seconds;
    }
    return cost_model_fit(bytes, seconds, count);
}

// Measures all world sizes with the current reduction.
static status measure_all(bench *b, allreduce_time *rows, double *points, error *err) {
    const size_t count = allreduce_bench_sizes(&b->options);
    if (is_rank_zero(b) && !b->json) print_head(b);
    for (int i = 0; i < b->count; i++) {
        b->options.world_size = b->world_sizes[i];
        NEED(allreduce_bench(&b->options, rows, &b->log, err));
        if (!is_rank_zero(b)) continue;
        const cost_model fit = fit_rows(rows, points, points + count, count);
        if (!b->json) print_rows(b, rows, count, &fit);
        record(b, rows, count, &fit);
    }
    return STATUS_OK;
}

static status join(bench *b, error *err) {
    NEED(allreduce_bench_join(&b->options, &b->environment, err));
    return run_segment_describe_hosts(b->options.group, NULL, 0, manifest_run(&b->manifest), err);
}

static status measure(bench *b, error *err) {
    const size_t count = allreduce_bench_sizes(&b->options);
    allreduce_time *rows = memory_new(count, sizeof *rows);
    double *points = memory_new(2 * count, sizeof *points);
    status rc = b->environment.joined ? join(b, err) : STATUS_OK;
    for (int fast = 0; fast < 2 && rc == STATUS_OK; fast++) {
        b->options.fast = fast;
        if (b->reduces[fast]) rc = measure_all(b, rows, points, err);
    }
    if (rc == STATUS_OK && b->json && is_rank_zero(b)) rc = print_json(b, err);
    if (b->options.group && rc != STATUS_OK) log_error(&b->log, err); // launchers kill its ranks
    comm_free(b->options.group);
    free(rows);
    free(points);
    return rc;
}

static status take_folder(const bench *b, const char *folder, output_folder *taken, error *err) {
    status rc;
    TRY(output_folder_open(folder, &b->log, taken, err));
    TRY(manifest_remove_old(&b->manifest, folder, err));
out:
    if (rc != STATUS_OK) launch_abort(&b->environment, &b->log, err);
    return rc;
}

static status measure_into(bench *b, const char *folder, error *err) {
    output_folder taken = {0};
    status rc = STATUS_OK;
    TRY(take_folder(b, folder, &taken, err));
    TRY(measure(b, err));
    TRY(manifest_write_in(&b->manifest, folder, err));
out:
    output_folder_close(&taken, rc);
    return rc;
}

static status run_tool(void *arguments_of_main, const cli_call *call, error *err) {
    const arguments *a = arguments_of_main;
    bench measured = {.log = *call->log}, *b = &measured;
    status rc;
    TRY(check(a, b, err));
    rc = devices_open(&b->devices, b->devices.count, &b->log, err);
    if (rc != STATUS_OK) {
        if (!a->print_key) launch_abort(&b->environment, &b->log, err); // other hosts may succeed
        goto out;
    }
    TRY(manifest_begin(&b->manifest, b->log.tool, BITS, call->argc, call->argv, err));
    TRY(describe(a, b, err));
    if (a->print_key)
        rc = manifest_print_key(&b->manifest, call->answers, err);
    else
        rc = a->out && is_rank_zero(b) ? measure_into(b, a->out, err) : measure(b, err);
out:
    manifest_release(&b->manifest);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.reduce = "exact", .device = "cpu", .min_bytes = 1 << 10, .max_bytes = 1 << 24};
    const cli_option options[] = {
        {"world-size", CLI_STRING, &a.world_size, "LIST",
         "world sizes to measure (default 1,2,4,8; on GPUs 2,4,8)", 0, 0},
        {"reduce", CLI_STRING, &a.reduce, "exact|fast|both",
         "exact (default): the same bits for every world size; fast: as train-ddp --reduce fast", 0,
         0},
        {"device", CLI_STRING, &a.device, "cpu|cuda|LIST",
         "where the vectors lie (default cpu: shared memory); LIST such as cuda:0,cuda:1", 0, 0},
        {"min-bytes", CLI_INTEGER, &a.min_bytes, "N", "smallest vector, in bytes (default 1024)", 4,
         INT64_C(1) << 32},
        {"max-bytes", CLI_INTEGER, &a.max_bytes, "N",
         "largest vector; sizes double up to it (default 16777216)", 8, INT64_C(1) << 32},
        {"iterations", CLI_INTEGER, &a.iterations, "N",
         "timed iterations per size (default: 7 to 1000, in about 30 ms)", 1, 100000},
        {"out", CLI_STRING, &a.out, "DIR", "output folder for manifest.yaml", 0, 0},
        {"json", CLI_FLAG, &a.json, NULL, "print one line of JSON instead of the table", 0, 0},
        {"print-key", CLI_FLAG, &a.print_key, NULL, "print the stage key and exit", 0, 0},
        {0},
    };
    const cli_tool tool = {
        .name = "bench-allreduce",
        .usage = "[--world-size LIST] [--reduce exact|fast|both] [--device LIST] [--out DIR] "
                 "[OPTION]...",
        .options = options,
        .notes = NOTES,
    };
    return cli_main(&tool, argc, argv, run_tool, &a);
}
