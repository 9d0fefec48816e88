// SPDX-License-Identifier: MIT
// fetch-cifar - CIFAR-10 or another data set, from its archive to tensor files.
#include "data/source/fetch_tool.h"

int main(int argc, char **argv) {
    return cli_main_of("fetch-cifar", fetch_cifar_tool, argc, argv);
}
