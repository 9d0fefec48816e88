// SPDX-License-Identifier: MIT
// fetch-mnist - MNIST or Fashion-MNIST, from IDX files to tensor files.
#include "data/source/fetch_tool.h"

int main(int argc, char **argv) {
    const fetch_tool tool = {
        .name = "fetch-mnist",
        .from_help = "a folder or archive, or the URL of a folder",
        .sources =
            "--from is a folder or an archive that contains the four IDX files, plain or as\n"
            ".gz, or the URL of a folder that contains the .gz files. A folder made by\n"
            "torchvision works too: the files are found in its MNIST/raw or FashionMNIST/raw.\n"
            "\n"
            "The files are known by their content, so other spellings of their names\n"
            "(train-images.idx3-ubyte) and folders of these names work too.\n",
        .examples = "  lockstep fetch-mnist --out artifacts/data/mnist\n"
                    "  lockstep fetch-mnist --dataset fashion-mnist --split test --out - |\n"
                    "      lockstep tensor info -\n",
    };
    return fetch_tool_main(&tool, argc, argv);
}
