// SPDX-License-Identifier: MIT
// fetch-cifar - CIFAR-10 or another data set, from its archive to tensor files.
#include "data/source/fetch_tool.h"

int main(int argc, char **argv) {
    const fetch_tool tool = {
        .name = "fetch-cifar",
        .from_help = "a URL, an archive or a folder",
        .sources =
            "Any packing works (tar or zip; gzip, bzip2, xz, zstd), and so does a folder of\n"
            "unpacked files: the SHA-256 of each file is checked. CIFAR's Python version,\n"
            "packed or unpacked as torchvision leaves it, gives the same files: its records\n"
            "must have these hashes.\n",
        .examples = "  fetch-cifar --out artifacts/data/cifar10\n"
                    "  fetch-cifar --from cifar-10-binary.tar.gz --split train --out - |\n"
                    "      shard --shards 4 --in - --out shards\n"
                    "  fetch-cifar --classes cat,dog --out artifacts/data/cats-and-dogs\n",
    };
    return fetch_tool_main(&tool, argc, argv);
}
