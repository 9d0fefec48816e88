// fetch-mnist - MNIST or Fashion-MNIST, from IDX files to tensor files.
#include <stdio.h>

#include "base/cli.h"
#include "data/mnist.h"

enum { BITS = 1 }; // raise when equal members give other outputs than before

typedef struct arguments {
    const char *dataset;
    cli_list from;
    raw_output output;
    bool print_key;
} arguments;

static const char NOTES[] =
    "--from is a folder that holds the four IDX files, each as it is or as .gz, or the URL under\n"
    "which the .gz files lie. It may be given several times: the sources are tried in order.\n"
    "Without it the official address is used. MNIST is checked by the SHA-256 of the uncompressed\n"
    "files; Fashion-MNIST by that of the published .gz files, and uncompressed files of it by "
    "size\n"
    "and structure only, which is said as a warning.\n"
    "\n"
    "Examples:\n"
    "  fetch-mnist --out artifacts/data/mnist\n"
    "  fetch-mnist --dataset fashion-mnist --from ~/fashion --split test --out - > test.st.zst\n"
    "\n"
    "Exit codes: 1 the network or the disk failed, 2 usage, 3 a source or file was refused.\n";

static status fetch(arguments *a, const logger *log, int argc, char **argv, error *err) {
    raw_dataset raw = {0};
    member_origin origin;
    manifest m = {0};
    char key[SHA256_TEXT_BYTES];
    status rc;
    const mnist_kind *kind = mnist_find(a->dataset);
    if (!kind)
        return error_set(err, STATUS_USAGE,
                         "bad value of --dataset: '%s': expected mnist or fashion-mnist",
                         a->dataset);
    TRY(manifest_begin(&m, log->tool, BITS, argc, argv, err));
    TRY(members_describe_pins(mnist_members(kind), &m, err));
    TRY(raw_output_describe(&a->output, &m, err));
    if (a->print_key) {
        TRY(manifest_key(&m, key, err));
        printf("%s\n", key);
        goto out;
    }
    TRY(raw_output_open(&a->output, err));
    TRY(mnist_read(kind, a->from.items, a->from.count, log, &raw, &origin, err));
    TRY(members_describe_origin(mnist_members(kind), &origin, &m, err));
    TRY(raw_dataset_write(&raw, &a->output, &m, err));
out:
    raw_output_close(&a->output);
    raw_dataset_release(&raw);
    manifest_release(&m);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.dataset = "mnist", .output = {.lock = -1}};
    const cli_option options[] = {
        {"dataset", CLI_STRING, &a.dataset, "NAME", "mnist (default) or fashion-mnist", 0, 0},
        {"from", CLI_LIST, &a.from, "SOURCE", "a folder, or a URL under which the files lie", 0, 0},
        {"out", CLI_STRING, &a.output.out, "DIR", "the folder to write, or - with --split", 0, 0},
        {"split", CLI_STRING, &a.output.split, "NAME", "train or test: which one --out - gets", 0,
         0},
        {"manifest", CLI_STRING, &a.output.manifest, "FILE", "where the manifest of --out - goes",
         0, 0},
        {"print-key", CLI_FLAG, &a.print_key, NULL, "print the stage key and do nothing", 0, 0},
        {0},
    };
    const cli_tool tool = {
        .name = "fetch-mnist",
        .summary = "MNIST or Fashion-MNIST, checked, as tensor files",
        .usage = "[--dataset mnist|fashion-mnist] [--from SOURCE]... --out DIR\n"
                 "[--dataset mnist|fashion-mnist] [--from SOURCE]... --split train|test --out -",
        .options = options,
        .notes = NOTES,
    };
    logger log = {tool.name, LOG_NORMAL};
    error err = {0};
    bool done = false;
    cli_list operands = {0};
    status rc = cli_parse(&tool, argc, argv, &log, &operands, &done, &err);
    cli_list_release(&operands);
    if (rc == STATUS_OK && !done) rc = fetch(&a, &log, argc, argv, &err);
    cli_list_release(&a.from);
    return cli_finish(&tool, rc, &err);
}
