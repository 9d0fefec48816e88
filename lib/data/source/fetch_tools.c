// SPDX-License-Identifier: MIT
// fetch_tools.c - what each of the fetch-* tools says of itself.
#include "data/source/fetch_tool.h"

static const fetch_tool cifar = {
    .name = "fetch-cifar",
    .from_help = "a URL, an archive or a folder",
    .sources = "Any packing works (tar or zip; gzip, bzip2, xz, zstd), and so does a folder of\n"
               "unpacked files: the SHA-256 of each file is checked. CIFAR's Python version,\n"
               "packed or unpacked as torchvision leaves it, gives the same files: its records\n"
               "must have these hashes.\n",
    .examples = "  fetch-cifar --out artifacts/data/cifar10\n"
                "  fetch-cifar --from cifar-10-binary.tar.gz --split train --out - |\n"
                "      shard --shards 4 --in - --out shards\n"
                "  fetch-cifar --classes cat,dog --out artifacts/data/cats-and-dogs\n",
};

status fetch_cifar_tool(int argc, char **argv, FILE *answers, error *err) {
    return fetch_tool_run(&cifar, argc, argv, answers, err);
}

static const fetch_tool mnist = {
    .name = "fetch-mnist",
    .from_help = "a folder or archive, or the URL of a folder",
    .sources = "--from is a folder or an archive that contains the four IDX files, plain or as\n"
               ".gz, or the URL of a folder that contains the .gz files. A folder made by\n"
               "torchvision works too: the files are found in its MNIST/raw or FashionMNIST/raw.\n"
               "\n"
               "The files are known by their content, so other spellings of their names\n"
               "(train-images.idx3-ubyte) and folders of these names work too.\n",
    .examples = "  lockstep fetch-mnist --out artifacts/data/mnist\n"
                "  lockstep fetch-mnist --dataset fashion-mnist --split test --out - |\n"
                "      lockstep tensor info -\n",
};

status fetch_mnist_tool(int argc, char **argv, FILE *answers, error *err) {
    return fetch_tool_run(&mnist, argc, argv, answers, err);
}
