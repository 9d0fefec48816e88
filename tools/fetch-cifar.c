// SPDX-License-Identifier: MIT
// fetch-cifar - CIFAR-10 or CIFAR-100, from its archive to tensor files.
#include "data/source/cifar.h"
#include "data/source/fetch_tool.h"

static const char NOTES[] =
    "--from may be repeated: the sources are tried in order. Without --from, the tool\n"
    "tries the addresses in the file that --mirrors or LOCKSTEP_MIRRORS names, or in\n"
    "the mirrors.yaml that came with the tools. https_proxy in the environment sets a\n"
    "proxy.\n"
    "\n"
    "Any packing works (tar or zip; gzip, bzip2, xz, zstd), and so does a folder of\n"
    "unpacked .bin files: the SHA-256 of each member is checked. The Python version,\n"
    "packed or unpacked as torchvision leaves it, gives the same files: its records\n"
    "must have these hashes.\n"
    "\n"
    "With --classes the data set has another name, such as cifar10-2-classes.\n"
    "\n"
    "Examples:\n"
    "  fetch-cifar --out artifacts/data/cifar10\n"
    "  fetch-cifar --from cifar-10-binary.tar.gz --split train --out - |\n"
    "      shard --shards 4 --in - --out shards\n"
    "  fetch-cifar --classes cat,dog --out artifacts/data/cats-and-dogs\n"
    "\n"
    "Exit codes: 0 done; 1 network or disk error; 2 usage; 3 a source or a member was\n"
    "refused.";

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
        .class_names = cifar_class_names,
        .read = cifar_read,
    };
    return fetch_tool_main(&tool, argc, argv);
}
