// SPDX-License-Identifier: MIT
// tensor - inspects, compares, exports and imports tensor files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/named_files.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/text.h"
#include "data/tensor/tensor_diff.h"
#include "data/tensor/tensor_exchange.h"
#include "data/tensor/tensor_file.h"
#include "data/tensor/tensor_text.h"
#include "train/export/onnx.h"
#include "train/export/tensorboard.h"
#include "train/export/torch.h"
#include "train/run_series.h"

// The command line.
typedef struct arguments {
    int64_t max_bytes;
    double absolute, relative;
    const char *format, *type, *name, *out;
    const char *architecture, *mean, *std;
    const logger *log;
    bool json;
    cli_list operands;
} arguments;

static status run_info(const arguments *a, error *err) {
    status rc = STATUS_OK;
    tensor_file f = {0};
    text lines = {0};
    const char *path = a->operands.items[0];
    TRY(tensor_file_read(path, (uint64_t)a->max_bytes, &f, err));
    if (a->json) {
        rc = json_answer(tensor_describe_tree(&f, path), err);
        goto out;
    }
    tensor_describe(&f, path, &lines);
    rc = output_write_file("-", text_string(&lines), lines.length, err);
out:
    text_release(&lines);
    tensor_file_release(&f);
    return rc;
}

static status find(const tensor_file *f, const char *path, const char *name, const tensor **found,
                   error *err) {
    *found = tensor_file_find(f, name);
    if (*found) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "no such tensor: '%s': not in '%s' (see 'lockstep tensor info')", name, path);
}

// Nothing is written where one of the names is missing.
static status run_cat(const arguments *a, error *err) {
    const char *const *words = a->operands.items;
    status rc = STATUS_OK;
    tensor_file f = {0};
    output *out = NULL;
    const tensor *t;
    TRY(tensor_file_read(words[0], (uint64_t)a->max_bytes, &f, err));
    for (size_t i = 1; i < a->operands.count; i++) TRY(find(&f, words[0], words[i], &t, err));
    TRY(output_open("-", &out, err));
    for (size_t i = 1; i < a->operands.count; i++) {
        TRY(find(&f, words[0], words[i], &t, err));
        TRY(output_write(out, t->data, t->bytes, err));
    }
    TRY(output_commit(out, err));
out:
    output_free(out);
    tensor_file_release(&f);
    return rc;
}

static void add_hash(yaml_node *list, const tensor_file *f, const char *path) {
    yaml_node *entry = yaml_new(YAML_MAPPING);
    yaml_put(entry, "file", json_new_string(path));
    yaml_put(entry, "content", json_new_string(f->content));
    yaml_append(list, entry);
}

static status run_hash(const arguments *a, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    for (size_t i = 0; i < a->operands.count && rc == STATUS_OK; i++) {
        tensor_file f = {0};
        const char *path = a->operands.items[i];
        rc = tensor_file_read(path, (uint64_t)a->max_bytes, &f, err);
        if (rc == STATUS_OK && a->json)
            add_hash(list, &f, path);
        else if (rc == STATUS_OK)
            printf("%s  %s\n", f.content, path);
        tensor_file_release(&f);
    }
    if (rc == STATUS_OK && a->json) rc = json_print(list, err);
    yaml_free(list);
    return rc;
}

static status print_lines(const yaml_node *lines, error *err) {
    text out = {0};
    for (size_t i = 0; i < lines->count; i++) text_format(&out, "%s\n", lines->items[i]->text);
    const status rc = output_write_file("-", text_string(&out), out.length, err);
    text_release(&out);
    return rc;
}

static status print_differences(const yaml_node *lines, error *err) {
    yaml_node *answer = yaml_new(YAML_MAPPING), *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < lines->count; i++)
        yaml_append(list, json_new_string(lines->items[i]->text));
    yaml_put(answer, "differences", list);
    return json_answer(answer, err);
}

static status run_diff(const arguments *a, error *err) {
    const char *const *files = a->operands.items;
    tensor_tolerance tolerance = {.absolute = a->absolute, .relative = a->relative};
    yaml_node *lines = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    TRY(tensor_diff(files[0], files[1], tolerance, (uint64_t)a->max_bytes, lines, err));
    TRY(a->json ? print_differences(lines, err) : print_lines(lines, err));
    if (lines->count) rc = STATUS_FINDING;
out:
    yaml_free(lines);
    return rc;
}

static bool is_format(const arguments *a, const char *format) {
    return a->format && strcmp(a->format, format) == 0;
}

static status take_format(const arguments *a, bool *csv, error *err) {
    *csv = is_format(a, "csv");
    if (*csv || is_format(a, "npy")) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "bad option value: '--format': expected npy or csv, got '%s'",
                     a->format ? a->format : "nothing");
}

static status check_out(const arguments *a, const char *role, error *err) {
    const named_file in = {role, a->operands.items[0]}, out = {"--out", a->out};
    return named_files_check(&in, 1, &out, 1, err);
}

// Refuses an output that is one of the files from which a run is read.
static status check_series_out(const run_series *s, const char *path, error *err) {
    const named_file in[] = {{"FILE", s->steps}, {"FILE", s->manifest}}, out = {"--out", path};
    return named_files_check(in, 2, &out, 1, err);
}

static status write_series(const arguments *a, const run_series *runs, bool json, error *err) {
    text out = {0};
    (json ? run_series_json : run_series_csv)(runs, a->operands.count, &out);
    const status rc = output_write_file(a->out ? a->out : "-", text_string(&out), out.length, err);
    text_release(&out);
    return rc;
}

// --out is a folder.
static status need_folder(const arguments *a, error *err) {
    if (a->out && strcmp(a->out, "-") != 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "missing option: '--out': --format %s writes a folder: name it", a->format);
}

static status export_series(const arguments *a, error *err) {
    const size_t count = a->operands.count;
    const bool json = is_format(a, "json"), board = is_format(a, "tensorboard");
    if (!json && !board && !is_format(a, "csv"))
        return error_set(err, STATUS_USAGE,
                         "bad option value: '--format': expected csv, json or tensorboard for a "
                         "run, onnx or torch for a model, got '%s'",
                         a->format ? a->format : "nothing");
    run_series *runs = memory_new(count, sizeof *runs);
    status rc = STATUS_OK;
    if (board) TRY(need_folder(a, err));
    for (size_t i = 0; i < count; i++) {
        TRY(run_series_read(&runs[i], a->operands.items[i], (uint64_t)a->max_bytes, err));
        if (!board) TRY(check_series_out(&runs[i], a->out, err));
    }
    TRY(board ? tensorboard_write(runs, count, a->out, err) : write_series(a, runs, json, err));
out:
    for (size_t i = 0; i < count; i++) run_series_release(&runs[i]);
    free(runs);
    return rc;
}

// A file and a name mean one tensor; everything else means runs.
static bool means_series(const arguments *a) {
    return a->operands.count != 2 || is_format(a, "json") || is_format(a, "tensorboard") ||
           paths_is_folder(a->operands.items[0]);
}

static status write_onnx(const arguments *a, const trained_model *m, const char *path, error *err) {
    const named_file in = {"MODEL", path}, to = {"--out", a->out};
    const status rc = named_files_check(&in, 1, &to, 1, err);
    return rc == STATUS_OK ? onnx_write(m, path, a->out ? a->out : "-", err) : rc;
}

static status export_model(const arguments *a, error *err) {
    const bool torch = is_format(a, "torch");
    char *path = NULL;
    trained_model m = {0};
    status rc = STATUS_OK;
    if (a->operands.count != 1)
        return error_set(err, STATUS_USAGE, "too many arguments: '%s': expected one MODEL",
                         a->operands.items[1]);
    if (torch) TRY(need_folder(a, err));
    TRY(run_series_find_file(a->operands.items[0], "model.st.zst", &path, err));
    const model_source from = {.path = path,
                               .architecture = a->architecture,
                               .mean = a->mean,
                               .std = a->std,
                               .max_bytes = (uint64_t)a->max_bytes,
                               .log = a->log};
    TRY(trained_model_read(&m, &from, err));
    TRY(torch ? torch_write(&m, path, a->out, err) : write_onnx(a, &m, path, err));
out:
    trained_model_release(&m);
    free(path);
    return rc;
}

static status run_export(const arguments *a, error *err) {
    if (is_format(a, "onnx") || is_format(a, "torch")) return export_model(a, err);
    if (a->architecture || a->mean || a->std)
        return error_set(err, STATUS_USAGE, "bad option: '--%s': it is for --format onnx and torch",
                         a->architecture ? "architecture"
                         : a->mean       ? "mean"
                                         : "std");
    if (means_series(a)) return export_series(a, err);
    status rc = STATUS_OK;
    tensor_file f = {0};
    output *out = NULL;
    const tensor *t;
    bool csv;
    TRY(take_format(a, &csv, err));
    TRY(check_out(a, "FILE", err));
    TRY(tensor_file_read(a->operands.items[0], (uint64_t)a->max_bytes, &f, err));
    TRY(find(&f, a->operands.items[0], a->operands.items[1], &t, err));
    TRY(output_open(a->out ? a->out : "-", &out, err));
    TRY(csv ? tensor_write_csv(t, out, err) : tensor_write_npy(t, out, err));
    TRY(output_commit(out, err));
out:
    output_free(out);
    tensor_file_release(&f);
    return rc;
}

static status run_import(const arguments *a, error *err) {
    status rc = STATUS_OK;
    tensor_file f = {0};
    tensor_type type = TENSOR_F32;
    const char *path = a->operands.items[0];
    const uint64_t limit = a->max_bytes ? (uint64_t)a->max_bytes : UINT64_C(4) << 30;
    bool csv;
    TRY(take_format(a, &csv, err));
    if (!a->name || !a->out)
        TRY(error_set(err, STATUS_USAGE, "missing option: '%s': import requires --name and --out",
                      a->name ? "--out" : "--name"));
    if (!tensor_type_parse(a->type, &type) || type == TENSOR_F16 || type == TENSOR_BF16)
        TRY(error_set(
            err, STATUS_USAGE,
            "bad option value: '--dtype': expected U8, U32, U64, I64, F32 or F64, got '%s'",
            a->type));
    TRY(check_out(a, "IN", err));
    TRY(csv ? tensor_read_csv(path, limit, a->name, type, &f, err)
            : tensor_read_npy(path, limit, a->name, &f, err));
    TRY(tensor_file_write(a->out, &f, err));
out:
    tensor_file_release(&f);
    return rc;
}

typedef struct command {
    const char *name, *usage, *summary;
    const char *takes[6]; // names of its options
    size_t operands_min, operands_max;
    status (*run)(const arguments *a, error *err);
} command;

static const command commands[] = {
    {"info",
     "[--json] [--max-bytes N] FILE",
     "List tensors and metadata as YAML.",
     {"json", "max-bytes"},
     1,
     1,
     run_info},
    {"cat",
     "[--max-bytes N] FILE NAME...",
     "Write the raw bytes of tensors, one after the other.",
     {"max-bytes"},
     2,
     SIZE_MAX,
     run_cat},
    {"hash",
     "[--json] [--max-bytes N] FILE...",
     "Print the content hash: the SHA-256 of the uncompressed bytes.",
     {"json", "max-bytes"},
     1,
     SIZE_MAX,
     run_hash},
    {"diff",
     "[--atol X] [--rtol X] [--json] [--max-bytes N] A B",
     "Show the differences between two tensor files, or two folders of training runs.",
     {"atol", "rtol", "json", "max-bytes"},
     2,
     2,
     run_diff},
    {"export",
     "--format npy|csv [--out FILE] [--max-bytes N] FILE NAME\n"
     "--format csv|json [--out FILE] [--max-bytes N] RUN...\n"
     "--format tensorboard --out DIR [--max-bytes N] RUN...\n"
     "--format onnx [--out FILE] [OPTION]... MODEL\n"
     "--format torch --out DIR [OPTION]... MODEL",
     "Write a tensor, the series of runs, or a trained model for another program.",
     {"format", "out", "architecture", "mean", "std", "max-bytes"},
     1,
     SIZE_MAX,
     run_export},
    {"import",
     "--name NAME --format npy|csv [--dtype TYPE] --out FILE.st.zst [--max-bytes N] IN",
     "Make a tensor file from another program's array.",
     {"name", "format", "dtype", "out", "max-bytes"},
     1,
     1,
     run_import},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const cli_tool top = {
    .name = "tensor",
    .usage = "info FILE\ncat FILE NAME...\nhash FILE...\ndiff [--atol X] [--rtol X] A B\n"
             "export --format npy|csv [--out FILE] FILE NAME\n"
             "export --format csv|json [--out FILE] RUN...\n"
             "export --format tensorboard --out DIR RUN...\n"
             "export --format onnx [--out FILE] MODEL\n"
             "export --format torch --out DIR MODEL\n"
             "import --name NAME --format npy|csv [--dtype TYPE] --out FILE.st.zst IN\n"
             "COMMAND --help",
    .notes =
        "FILE and IN may be '-', standard input.\n"
        "\n"
        "diff prints the first differing element and the largest difference of each\n"
        "tensor. For step series (steps.st.zst) and for two run folders it names the\n"
        "first step at which the runs diverge. Exit code 4 if they differ.\n"
        "\n"
        "A CSV file of a tensor has one line per index of the first dimension, with the\n"
        "other dimensions flattened. RUN is a training folder, a folder that contains\n"
        "train/, or a steps.st.zst. Its CSV has one line per step: loss, learning rate\n"
        "and the seconds of its phases, and in the last step of an epoch that epoch's\n"
        "loss, accuracy and seconds. Its JSON is {\"runs\": [{\"run\", \"steps\", \"epochs\"}]}.\n"
        "\n"
        "tensorboard writes an event file for each RUN, in a folder of its name in DIR.\n"
        "MODEL is a model.st.zst, or a run folder: onnx writes one file, from the bytes\n"
        "of images to logits; torch writes DIR/model.py and DIR/model.safetensors. A\n"
        "PyTorch checkpoint needs --architecture, --mean and --std, as for evaluate.\n"
        "\n"
        "--json prints for info {\"file\", \"bytes\", \"sha256\", \"content\", \"metadata\",\n"
        "\"tensors\": [{\"name\", \"dtype\", \"shape\", \"bytes\"}]}, for hash\n"
        "[{\"file\", \"content\"}], and for diff {\"differences\"}.",
    .operands_max = SIZE_MAX,
};

static status no_command(int argc, char **argv, arguments *a, error *err) {
    const char *names[COMMANDS];
    cli_word words[COMMANDS + 1] = {0};
    cli_tool tool = top;
    bool done;
    logger log = {.tool = top.name, .level = LOG_NORMAL};
    for (size_t i = 0; i < COMMANDS; i++)
        words[i] = (cli_word){commands[i].name, NULL, commands[i].summary};
    tool.words = words;
    status rc = cli_parse(&tool, argc, argv, &log, &a->operands, &done, err);
    if (rc != STATUS_OK || done) return rc;
    if (!a->operands.count) return error_set(err, STATUS_USAGE, "missing command (see --help)");
    for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
    const char *word = a->operands.items[0];
    char hint[HINT_BYTES];
    return error_set(err, STATUS_USAGE, "unknown command: '%s'%s (see --help)", word,
                     hint_about(word, names, COMMANDS, HINT_KEYS, hint));
}

static status run(const command *c, int argc, char **argv, arguments *a, error *err) {
    const cli_option all[] = {
        {"atol", CLI_NUMBER, &a->absolute, "X", "absolute tolerance per element (default 0)", 0,
         INT64_MAX},
        {"rtol", CLI_NUMBER, &a->relative, "X",
         "relative tolerance: add X times the element of B (default 0)", 0, INT64_MAX},
        {"name", CLI_STRING, &a->name, "NAME", "name of the new tensor", 0, 0},
        {"format", CLI_STRING, &a->format, "npy|csv|json|tensorboard|onnx|torch",
         "format of the other program", 0, 0},
        {"architecture", CLI_STRING, &a->architecture, "MODEL.yaml",
         "the model, if the checkpoint does not contain it", 0, 0},
        {"mean", CLI_STRING, &a->mean, "LIST", "mean of each channel, likewise", 0, 0},
        {"std", CLI_STRING, &a->std, "LIST", "standard deviation of each channel, likewise", 0, 0},
        {"json", CLI_FLAG, &a->json, NULL, "print the answer as one line of JSON", 0, 0},
        {"dtype", CLI_STRING, &a->type, "TYPE", "type of the numbers in a CSV file (default F32)",
         0, 0},
        {"out", CLI_STRING, &a->out, "FILE",
         "output file, for tensorboard and torch a folder; - is standard output", 0, 0},
        {"max-bytes", CLI_INTEGER, &a->max_bytes, "N",
         "limit of uncompressed bytes (default: 256 MiB plus 200 times the file; import: 4 GiB)", 1,
         INT64_MAX},
    };
    cli_option options[sizeof c->takes / sizeof *c->takes + 1] = {0};
    for (size_t i = 0, n = 0; i < sizeof c->takes / sizeof *c->takes && c->takes[i]; i++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (strcmp(all[k].name, c->takes[i]) == 0) options[n++] = all[k];
    char name[32];
    snprintf(name, sizeof name, "%s %s", top.name, c->name);
    const cli_tool tool = {.name = name,
                           .summary = c->summary,
                           .usage = c->usage,
                           .options = options,
                           .operands_min = c->operands_min,
                           .operands_max = c->operands_max};
    logger log = {.tool = top.name, .level = LOG_NORMAL};
    bool done;
    a->log = &log;
    status rc = cli_parse(&tool, argc - 1, argv + 1, &log, &a->operands, &done, err);
    return rc != STATUS_OK || done ? rc : c->run(a, err);
}

int main(int argc, char **argv) {
    error err = {0};
    arguments a = {.max_bytes = TENSOR_FILE_DEFAULT_MAX, .type = "F32"};
    const command *c = NULL;
    for (size_t i = 0; argc > 1 && i < COMMANDS; i++)
        if (strcmp(commands[i].name, argv[1]) == 0) c = &commands[i];
    status rc = c ? run(c, argc, argv, &a, &err) : no_command(argc, argv, &a, &err);
    cli_list_release(&a.operands);
    return cli_finish(&top, rc, &err);
}
