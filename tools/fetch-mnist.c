// SPDX-License-Identifier: MIT
// fetch-mnist - MNIST or Fashion-MNIST, from IDX files to tensor files.
#include "data/source/fetch_tool.h"
#include "data/source/mnist.h"

static const char NOTES[] =
    "--from is a folder or an archive that contains the four IDX files, plain or as\n"
    ".gz, or the URL of a folder that contains the .gz files. It may be repeated: the\n"
    "sources are tried in order. Without --from, the tool tries the addresses in the\n"
    "file that --mirrors or LOCKSTEP_MIRRORS names, or in the mirrors.yaml that came\n"
    "with the tools. https_proxy in the environment sets a proxy.\n"
    "\n"
    "The files are known by their content, so other spellings of their names\n"
    "(train-images.idx3-ubyte) and folders of these names work too.\n"
    "\n"
    "MNIST is verified by the SHA-256 of the uncompressed files. Fashion-MNIST is\n"
    "verified by the SHA-256 of the published .gz files, which are preferred; its\n"
    "uncompressed files are checked only by size and structure, and a warning and the\n"
    "manifest say so. A folder made by torchvision works too: the files are found in\n"
    "its MNIST/raw or FashionMNIST/raw.\n"
    "\n"
    "Examples:\n"
    "  lockstep fetch-mnist --out artifacts/data/mnist\n"
    "  lockstep fetch-mnist --dataset fashion-mnist --split test --out - |\n"
    "      lockstep tensor info -\n"
    "\n"
    "Exit codes: 0 done; 1 network or disk error; 2 usage; 3 a source or a file was\n"
    "refused.";

int main(int argc, char **argv) {
    const fetch_tool tool = {
        .name = "fetch-mnist",
        .usage = "[--dataset mnist|fashion-mnist] [--from SOURCE]... --out DIR\n"
                 "[--dataset mnist|fashion-mnist] [--from SOURCE]... --split train|test --out -",
        .notes = NOTES,
        .dataset = "mnist",
        .datasets = "mnist or fashion-mnist",
        .dataset_help = "mnist (default) or fashion-mnist",
        .from_help = "a folder or archive, or the URL of a folder",
        .find = mnist_find,
        .class_names = mnist_class_names,
        .read = mnist_read,
    };
    return fetch_tool_main(&tool, argc, argv);
}
