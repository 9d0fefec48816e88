// tensor - look into tensor files, compare them, take tensors out and put them in.
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "base/named_files.h"
#include "base/output.h"
#include "data/tensor_diff.h"
#include "data/tensor_exchange.h"
#include "data/tensor_file.h"
#include "data/tensor_text.h"

// What the command line says.
typedef struct arguments {
    int64_t max_bytes;
    double absolute, relative;
    const char *format, *type, *name, *out;
    cli_list operands;
} arguments;

static status run_info(const arguments *a, error *err) {
    status rc = STATUS_OK;
    tensor_file f = {0};
    output *out = NULL;
    const char *path = a->operands.items[0];
    TRY(tensor_file_read(path, (uint64_t)a->max_bytes, &f, err));
    TRY(output_open("-", &out, err));
    TRY(tensor_describe(&f, path, out, err));
    TRY(output_commit(out, err));
out:
    output_free(out);
    tensor_file_release(&f);
    return rc;
}

static status find(const tensor_file *f, const arguments *a, const tensor **found, error *err) {
    const char *path = a->operands.items[0], *name = a->operands.items[1];
    *found = tensor_file_find(f, name);
    if (*found) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "no such tensor: '%s': '%s' does not hold it (see 'tensor info')", name, path);
}

static status run_cat(const arguments *a, error *err) {
    status rc = STATUS_OK;
    tensor_file f = {0};
    const tensor *t;
    TRY(tensor_file_read(a->operands.items[0], (uint64_t)a->max_bytes, &f, err));
    TRY(find(&f, a, &t, err));
    TRY(output_write_file("-", t->data, t->bytes, err));
out:
    tensor_file_release(&f);
    return rc;
}

static status run_hash(const arguments *a, error *err) {
    for (size_t i = 0; i < a->operands.count; i++) {
        tensor_file f = {0};
        status rc = tensor_file_read(a->operands.items[i], (uint64_t)a->max_bytes, &f, err);
        if (rc == STATUS_OK) printf("%s  %s\n", f.content, a->operands.items[i]);
        tensor_file_release(&f);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status run_diff(const arguments *a, error *err) {
    status rc = STATUS_OK;
    output *out = NULL;
    bool equal = false;
    tensor_tolerance tolerance = {.absolute = a->absolute, .relative = a->relative};
    if (!(a->absolute >= 0 && a->relative >= 0))
        TRY(error_set(err, STATUS_USAGE, "bad option value: '--atol', '--rtol': below 0"));
    TRY(output_open("-", &out, err));
    TRY(tensor_diff(a->operands.items[0], a->operands.items[1], tolerance, (uint64_t)a->max_bytes,
                    out, &equal, err));
    TRY(output_commit(out, err));
    rc = equal ? STATUS_OK : STATUS_FINDING;
out:
    output_free(out);
    return rc;
}

static status take_format(const arguments *a, bool *csv, error *err) {
    *csv = a->format && strcmp(a->format, "csv") == 0;
    if (*csv || (a->format && strcmp(a->format, "npy") == 0)) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "bad option value: '--format': expected npy or csv, got '%s'",
                     a->format ? a->format : "nothing");
}

static status check_out(const arguments *a, const char *role, error *err) {
    const named_file in = {role, a->operands.items[0]}, out = {"--out", a->out};
    return named_files_check(&in, 1, &out, 1, err);
}

static status run_export(const arguments *a, error *err) {
    status rc = STATUS_OK;
    tensor_file f = {0};
    output *out = NULL;
    const tensor *t;
    bool csv;
    TRY(take_format(a, &csv, err));
    TRY(check_out(a, "FILE", err));
    TRY(tensor_file_read(a->operands.items[0], (uint64_t)a->max_bytes, &f, err));
    TRY(find(&f, a, &t, err));
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
    uint64_t limit = (uint64_t)a->max_bytes;
    bool csv;
    TRY(take_format(a, &csv, err));
    if (!a->name || !a->out)
        TRY(error_set(err, STATUS_USAGE, "missing option: '%s': import needs --name and --out",
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
    const char *takes[5]; // names of its options
    size_t operands_min, operands_max;
    status (*run)(const arguments *a, error *err);
} command;

static const command commands[] = {
    {"info",
     "[--max-bytes N] FILE",
     "List tensors and metadata as YAML.",
     {"max-bytes"},
     1,
     1,
     run_info},
    {"cat",
     "[--max-bytes N] FILE NAME",
     "Write the raw bytes of one tensor.",
     {"max-bytes"},
     2,
     2,
     run_cat},
    {"hash",
     "[--max-bytes N] FILE...",
     "Print the SHA-256 of the uncompressed bytes: the content hash.",
     {"max-bytes"},
     1,
     SIZE_MAX,
     run_hash},
    {"diff",
     "[--atol X] [--rtol X] [--max-bytes N] A B",
     "Say what differs between two tensor files, or between the folders of two training runs.",
     {"atol", "rtol", "max-bytes"},
     2,
     2,
     run_diff},
    {"export",
     "--format npy|csv [--out FILE] [--max-bytes N] FILE NAME",
     "Write one tensor for another program.",
     {"format", "out", "max-bytes"},
     2,
     2,
     run_export},
    {"import",
     "--name NAME --format npy|csv [--dtype TYPE] --out FILE.st.zst [--max-bytes N] IN",
     "Make a tensor file of another program's array.",
     {"name", "format", "dtype", "out", "max-bytes"},
     1,
     1,
     run_import},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const cli_tool top = {
    .name = "tensor",
    .summary =
        "look into tensor files (safetensors, plain or inside zstd), compare and convert them",
    .usage = "info FILE\ncat FILE NAME\nhash FILE...\ndiff [--atol X] [--rtol X] A B\n"
             "export --format npy|csv [--out FILE] FILE NAME\n"
             "import --name NAME --format npy|csv [--dtype TYPE] --out FILE.st.zst IN\n"
             "COMMAND --help",
    .notes = "FILE and IN may be '-', standard input.\n"
             "diff prints the first differing element and the largest difference of each tensor. "
             "Of step\n"
             "series (steps.st.zst) and of the folders of two runs it names the first step at "
             "which the\n"
             "runs part. Exit code 4: they differ.\n"
             "CSV: one line for each index of the first dimension, the rest flattened.\n",
    .operands_max = SIZE_MAX,
};

static status no_command(int argc, char **argv, arguments *a, error *err) {
    const char *names[COMMANDS];
    bool done;
    logger log = {.tool = top.name, .level = LOG_NORMAL};
    status rc = cli_parse(&top, argc, argv, &log, &a->operands, &done, err);
    if (rc != STATUS_OK || done) return rc;
    if (!a->operands.count)
        return error_set(err, STATUS_USAGE, "missing command (see 'tensor --help')");
    for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
    const char *word = a->operands.items[0], *nearest = cli_nearest(word, names, COMMANDS);
    return error_set(err, STATUS_USAGE, "unknown command: '%s'%s%s%s (see 'tensor --help')", word,
                     nearest ? ": did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?" : "");
}

static status run(const command *c, int argc, char **argv, arguments *a, error *err) {
    const cli_option all[] = {
        {"atol", CLI_NUMBER, &a->absolute, "X", "elements may differ by X (default 0)", 0, 0},
        {"rtol", CLI_NUMBER, &a->relative, "X", "and by X times the element of B (default 0)", 0,
         0},
        {"name", CLI_STRING, &a->name, "NAME", "the name that the tensor gets", 0, 0},
        {"format", CLI_STRING, &a->format, "npy|csv", "the other program's format", 0, 0},
        {"dtype", CLI_STRING, &a->type, "TYPE", "type of the numbers of a CSV file (default F32)",
         0, 0},
        {"out", CLI_STRING, &a->out, "FILE", "write there; '-' is standard output", 0, 0},
        {"max-bytes", CLI_INTEGER, &a->max_bytes, "N",
         "refuse more uncompressed bytes (default 4 GiB)", 1, INT64_MAX},
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
    status rc = cli_parse(&tool, argc - 1, argv + 1, &log, &a->operands, &done, err);
    return rc != STATUS_OK || done ? rc : c->run(a, err);
}

int main(int argc, char **argv) {
    error err = {0};
    arguments a = {.max_bytes = (int64_t)4 << 30, .type = "F32"};
    const command *c = NULL;
    for (size_t i = 0; argc > 1 && i < COMMANDS; i++)
        if (strcmp(commands[i].name, argv[1]) == 0) c = &commands[i];
    status rc = c ? run(c, argc, argv, &a, &err) : no_command(argc, argv, &a, &err);
    cli_list_release(&a.operands);
    return cli_finish(&top, rc, &err);
}
