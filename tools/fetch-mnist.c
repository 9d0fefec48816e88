// SPDX-License-Identifier: MIT
// fetch-mnist - MNIST or Fashion-MNIST, from IDX files to tensor files.
#include "data/source/fetch_tool.h"

int main(int argc, char **argv) {
    return cli_main_of("fetch-mnist", fetch_mnist_tool, argc, argv);
}
