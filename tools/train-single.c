// SPDX-License-Identifier: MIT
// train-single: trains an experiment in one process on one device.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    train_tool tool;
    error err = {0};
    train_tool_init(&tool, &strategy_single, "train-single");
    status rc = train_tool_run(&tool, argc, argv, &err);
    return train_tool_finish(&tool, rc, &err);
}
