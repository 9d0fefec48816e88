// fetch-cifar - CIFAR-10 or CIFAR-100, from its archive to tensor files.
#include "data/source/cifar.h"
#include "data/source/fetch_tool.h"

static const char NOTES[] =
    "--from may be given several times: the sources are tried in order. Without it the addresses\n"
    "of --mirrors are: of the file in LOCKSTEP_MIRRORS, or the one that came with the tools. A\n"
    "proxy is taken from the environment (https_proxy). Any packing will do (tar or zip, gzip,\n"
    "bzip2, xz, zstd), and a folder with the unpacked .bin files: each member is checked by its\n"
    "SHA-256. The Python version, packed or unpacked as torchvision leaves it, gives the same\n"
    "files: its records must have these hashes.\n"
    "\n"
    "Examples:\n"
    "  fetch-cifar --out artifacts/data/cifar10\n"
    "  fetch-cifar --from cifar-10-binary.tar.gz --split train --out - |\n"
    "      shard --shards 4 --in - --out shards\n"
    "\n"
    "Exit codes: 1 the network or the disk failed, 2 usage, 3 a source or member was refused.\n";

int main(int argc, char **argv) {
    const fetch_tool tool = {
        .name = "fetch-cifar",
        .usage = "[--dataset cifar10|cifar100] [--from SOURCE]... --out DIR\n"
                 "[--dataset cifar10|cifar100] [--from SOURCE]... --split train|test --out -",
        .notes = NOTES,
        .dataset = "cifar10",
        .datasets = "cifar10 or cifar100",
        .dataset_help = "cifar10 (default) or cifar100",
        .from_help = "a URL, an archive or a folder",
        .find = cifar_find,
        .read = cifar_read,
    };
    return fetch_tool_main(&tool, argc, argv);
}
