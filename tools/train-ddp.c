// SPDX-License-Identifier: MIT
// train-ddp: trains an experiment in several processes, each with its own shards of every batch.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    train_tool tool;
    error err = {0};
    train_tool_init(&tool, &strategy_ddp, "train-ddp");
    status rc = train_tool_run(&tool, argc, argv, &err);
    return train_tool_finish(&tool, rc, &err);
}
