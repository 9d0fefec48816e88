// SPDX-License-Identifier: MIT
#include "data/shard_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/recorded.h"
#include "data/shard_files.h"

enum { BITS = 1 }; // raise when equal inputs give different shards than before

typedef struct arguments {
    int64_t shards, seed;
    const char *in, *out;
    bool print_key;
} arguments;

static const char NOTES[] =
    "Writes DIR/shard-00000-of-0000V.st.zst ... and DIR/manifest.yaml; earlier shards\n"
    "in DIR are replaced. Training on DIR gives the same bits as training on FILE\n"
    "with virtual_shards: V and shard_seed: S.\n"
    "\n"
    "Example:\n"
    "  shard --shards 4 --in artifacts/data/cifar10/train.st.zst --out shards";

static status check(const arguments *a, error *err) {
    if (!a->shards) return error_set(err, STATUS_USAGE, "--shards is missing");
    if (!a->in)
        return error_set(err, STATUS_USAGE, "--in is missing: pass a data set file, or '-'");
    if (!a->print_key && (!a->out || !*a->out || strcmp(a->out, "-") == 0))
        return error_set(err, STATUS_USAGE, "--out is missing: pass a folder");
    return STATUS_OK;
}

static void describe_parameters(const arguments *a, manifest *m) {
    yaml_node *p = manifest_parameters(m);
    yaml_put(p, "shards", yaml_new_integer(a->shards));
    yaml_put(p, "shard_seed", yaml_new_integer(a->seed));
}

static void describe(const arguments *a, const dataset *d, manifest *m) {
    const tensor_file *f = &d->files[0];
    const manifest_file input = {
        .path = d->paths[0], .bytes = f->file_bytes, .sha256 = f->sha256, .content = f->content};
    describe_parameters(a, m);
    manifest_add_input(m, &input);
    yaml_put(manifest_results(m), "dataset", yaml_new_string(d->name));
    yaml_put(manifest_results(m), "split", yaml_new_string(d->split));
    yaml_put(manifest_results(m), "samples", yaml_new_integer(d->samples));
}

static status write_folder(const arguments *a, const dataset *d, const logger *log, manifest *m,
                           error *err) {
    char *path = memory_format("%s/manifest.yaml", a->out);
    status rc;
    TRY(manifest_remove_old(m, a->out, err));
    TRY(shard_files_write(d, (int)a->shards, (uint64_t)a->seed, a->out, log, m, err));
    TRY(manifest_write(m, path, err));
out:
    free(path);
    return rc;
}

static status read_unsharded(const arguments *a, dataset *d, error *err) {
    status rc = dataset_read(a->in, d, err);
    if (rc != STATUS_OK) return rc;
    if (d->shards)
        return error_set(err, STATUS_INPUT,
                         "cannot shard: '%s': already contains shards; pass the unsharded file",
                         a->in);
    if ((uint64_t)a->shards > d->samples)
        return error_set(err, STATUS_USAGE, "cannot shard: '%s': %d shards but only %u sample%s",
                         a->in, (int)a->shards, d->samples, d->samples == 1 ? "" : "s");
    return STATUS_OK;
}

// Does not read the input if the manifest next to it has its content hash.
static status print_key(const arguments *a, const cli_call *call, error *err) {
    manifest m = {0};
    status rc;
    TRY(check(a, err));
    TRY(manifest_begin(&m, call->log->tool, BITS, call->argc, call->argv, err));
    describe_parameters(a, &m);
    TRY(recorded_add_input(&m, a->in, err));
    TRY(manifest_print_key(&m, call->answers, err));
out:
    manifest_release(&m);
    return rc;
}

static status write_shards(const arguments *a, const cli_call *call, error *err) {
    dataset d = {0};
    manifest m = {0};
    int lock = -1;
    status rc;
    TRY(check(a, err));
    TRY(manifest_begin(&m, call->log->tool, BITS, call->argc, call->argv, err));
    // Done before reading: standard input may be the end of a long download.
    TRY(output_make_folder(a->out, err));
    TRY(output_lock_folder(a->out, call->log, &lock, err));
    TRY(read_unsharded(a, &d, err));
    describe(a, &d, &m);
    TRY(write_folder(a, &d, call->log, &m, err));
out:
    if (lock >= 0) output_unlock_folder(lock);
    dataset_release(&d);
    manifest_release(&m);
    return rc;
}

static status run(void *arguments_of_main, const cli_call *call, error *err) {
    const arguments *a = arguments_of_main;
    return (a->print_key ? print_key : write_shards)(a, call, err);
}

status shard_tool(int argc, char **argv, FILE *answers, error *err) {
    arguments a = {0};
    const cli_option options[] = {
        {"shards", CLI_INTEGER, &a.shards, "V", "number of shards", 1, SHARDS_MAX},
        {"seed", CLI_INTEGER, &a.seed, "S", "seed of the deal (default 0)", 0, INT64_MAX},
        {"in", CLI_STRING, &a.in, "FILE", "data set file, or - for standard input", 0, 0},
        {"out", CLI_STRING, &a.out, "DIR", "output folder", 0, 0},
        {"print-key", CLI_FLAG, &a.print_key, NULL, "print the stage key and exit", 0, 0},
        {0},
    };
    const cli_tool tool = {
        .name = "shard",
        .usage = "--shards V [--seed S] --in FILE|- --out DIR",
        .options = options,
        .notes = NOTES,
    };
    return cli_run(&tool, argc, argv, answers, run, &a, err);
}
