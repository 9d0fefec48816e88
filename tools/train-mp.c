// SPDX-License-Identifier: MIT
// train-mp: trains an experiment with its layers cut into the stages of a pipeline.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    train_tool tool;
    error err = {0};
    train_tool_init(&tool, &strategy_mp, "train-mp");
    status rc = train_tool_run(&tool, argc, argv, &err);
    return train_tool_finish(&tool, rc, &err);
}
