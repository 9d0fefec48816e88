// SPDX-License-Identifier: MIT
// shard - deals a dataset file to V shard files.
#include "data/shard_tool.h"

int main(int argc, char **argv) {
    return cli_main_of("shard", shard_tool, argc, argv);
}
