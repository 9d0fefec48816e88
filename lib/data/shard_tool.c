// SPDX-License-Identifier: MIT
#include "data/shard_tool.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "base/progress.h"
#include "data/partition.h"
#include "data/recorded.h"
#include "data/shard_files.h"

enum { BITS = 1 }; // raise when equal inputs give different shards than before

// ---- Writing ----

// Room for the largest shard.
typedef struct gather {
    uint8_t *images;
    uint32_t *labels, *ids;
} gather;

static status gather_init(gather *g, const dataset *d, uint32_t samples, error *err) {
    g->images = memory_try_new(samples, dataset_sample_bytes(d), err);
    g->labels = memory_try_new(samples, sizeof *g->labels, err);
    g->ids = memory_try_new(samples, sizeof *g->ids, err);
    return g->images && g->labels && g->ids ? STATUS_OK : STATUS_FAILED;
}

static void gather_release(gather *g) {
    free(g->images);
    free(g->labels);
    free(g->ids);
}

static void describe_shard(tensor_file *f, const dataset *d, int shards, int shard,
                           uint64_t shard_seed) {
    static const char *const keys[] = {"dataset", "split", "classes", "mean", "std"};
    char text[24];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        tensor_file_add_metadata(f, keys[i], tensor_file_metadata(&d->files[0], keys[i]));
    snprintf(text, sizeof text, "%d", shards);
    tensor_file_add_metadata(f, "shards", text);
    snprintf(text, sizeof text, "%d", shard);
    tensor_file_add_metadata(f, "shard", text);
    snprintf(text, sizeof text, "%" PRIu64, shard_seed);
    tensor_file_add_metadata(f, "shard_seed", text);
    tensor_file_add_metadata(f, "source", d->source);
}

static status write_shard(const dataset *d, const partition *p, int v, uint64_t shard_seed,
                          gather *g, const char *path, manifest *m, error *err) {
    size_t stride = dataset_sample_bytes(d);
    uint32_t size = p->size[v];
    for (uint32_t k = 0; k < size; k++) {
        uint32_t i = p->sample[v][k];
        memcpy(g->images + k * stride, d->pixels[i], stride);
        g->labels[k] = d->labels[i];
        g->ids[k] = d->ids[i];
    }
    tensor_file f = {0};
    status rc;
    TRY(dataset_add_tensors(&f, size, d->channels, d->height, d->width, d->classes, g->images,
                            g->labels, g->ids, err));
    describe_shard(&f, d, p->shards, v, shard_seed);
    TRY(tensor_file_write(path, &f, err));
    const manifest_file written = {
        .path = path, .bytes = f.file_bytes, .sha256 = f.sha256, .content = f.content};
    manifest_add_output(m, &written);
out:
    tensor_file_release(&f);
    return rc;
}

// Removes the shards in `folder` of every partition but one into `keep` files (0: removes all).
// Failure is harmless: a reader of the folder refuses a mixture.
static void remove_others(const char *folder, int keep) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int shard, shards;
        if (shard_files_parse_name(entry->d_name, &shard, &shards) && shards != keep)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}

status shard_write(const dataset *d, int shards, uint64_t shard_seed, const char *folder,
                   const logger *log, manifest *m, error *err) {
    partition parts = {0};
    gather g = {0};
    progress shown;
    char name[SHARD_NAME_BYTES], *path = NULL;
    status rc;
    progress_begin(&shown, log, "writing", "shards");
    TRY(partition_init(&parts, d, NULL, shards, shard_seed, err));
    TRY(gather_init(&g, d, parts.size[0], err));
    for (int v = 0; v < shards; v++) {
        shard_files_name(v, shards, name);
        free(path);
        path = memory_format("%s/%s", folder, name);
        rc = write_shard(d, &parts, v, shard_seed, &g, path, m, err);
        if (rc != STATUS_OK) {
            remove_others(folder, 0);
            goto out;
        }
        progress_show(&shown, (uint64_t)v + 1, (uint64_t)shards);
    }
    remove_others(folder, shards);
out:
    progress_end(&shown);
    free(path);
    gather_release(&g);
    partition_release(&parts);
    return rc;
}

// ---- The tool ----

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
    NEED(manifest_remove_old(m, a->out, err));
    NEED(shard_write(d, (int)a->shards, (uint64_t)a->seed, a->out, log, m, err));
    return manifest_write_in(m, a->out, err);
}

static status read_unsharded(const arguments *a, dataset *d, error *err) {
    NEED(dataset_read(a->in, d, err));
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
    output_folder folder = {0};
    status rc;
    TRY(check(a, err));
    TRY(manifest_begin(&m, call->log->tool, BITS, call->argc, call->argv, err));
    // Done before reading: standard input may be the end of a long download.
    TRY(output_folder_open(a->out, call->log, &folder, err));
    TRY(read_unsharded(a, &d, err));
    describe(a, &d, &m);
    TRY(write_folder(a, &d, call->log, &m, err));
out:
    output_folder_close(&folder, rc);
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
